//go:build race

package daemon

// underRace is whether the race detector makes everything ten times as slow.
const underRace = true
