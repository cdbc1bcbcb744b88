package tuner

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"airtuned/recording"
	"airtuned/tree"
)

// BenchmarkWindowRecorded compares a window of the loop on real files with one
// that is recorded.
func BenchmarkWindowRecorded(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "recorded"}[recorded]
		b.Run(name, func(b *testing.B) {
			root := b.TempDir()
			if err := os.CopyFS(root, os.DirFS("../testdata/trees/"+twoRadios)); err != nil {
				b.Fatal(err)
			}
			env := Env{
				Sys: tree.Dir(root + "/sys"), Debug: tree.Dir(root + "/debug"), Proc: tree.Dir(root + "/proc"),
				StateDir: b.TempDir(), Log: slog.New(slog.DiscardHandler),
			}
			d, err := Detect(env, choose("observe"))
			if err != nil {
				b.Fatal(err)
			}
			now := time.Unix(1000, 0)
			loop := New(env, d.Radios[0], testSettings("observe"), now)
			w := recording.NewWriter()
			if recorded {
				if err := loop.Record(w, "", now); err != nil {
					b.Fatal(err)
				}
			}
			window := func() {
				for range 10 {
					now = now.Add(20 * time.Millisecond)
					loop.lastLook = now // listing is not compared
					loop.Step(now)
				}
				for {
					select {
					case block := <-w.Blocks():
						w.Recycle(block)
						continue
					default:
					}
					break
				}
			}
			for range 20 {
				window()
			}
			b.ReportAllocs()
			for b.Loop() {
				window()
			}
		})
	}
}
