package treetest

import (
	"runtime/debug"
	"slices"
)

// UnderRace reports whether the race detector makes everything ten times as
// slow, so that long sweeps had better be shorter.
func UnderRace() bool {
	b, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(b.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
