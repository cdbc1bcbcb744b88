package term

import (
	"math"
	"strings"
)

// unicodeLevels and asciiLevels are a cell filled to 0, 1/8, ... 8/8.
var (
	unicodeLevels = [9]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	asciiLevels   = [9]string{" ", "_", "_", ".", ".", ":", ":", "|", "|"}
)

// Columns draws values as columns from a common base line: one column of
// characters per value, rows lines high, full at top. A NaN is a gap. The
// smallest value above zero still shows as a thin line.
func (t Terminal) Columns(values []float64, rows int, top float64) []string {
	levels := &unicodeLevels
	if !t.Unicode {
		levels = &asciiLevels
	}
	lines := make([]string, rows)
	for row := range lines {
		var b strings.Builder
		below := 8 * (rows - 1 - row) // eighths in the lines under this one
		for _, v := range values {
			eighths := 0
			if !math.IsNaN(v) && v > 0 && top > 0 {
				eighths = int(math.Round(min(v/top, 1) * float64(8*rows)))
				eighths = max(eighths, 1)
			}
			b.WriteString(levels[min(max(eighths-below, 0), 8)])
		}
		lines[row] = b.String()
	}
	return lines
}

// NiceTop returns a round number at or above v for the top of a scale: 1, 2,
// 2.5 or 5 times a power of ten.
func NiceTop(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 1
	}
	base := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= m*base*(1+1e-9) {
			return m * base
		}
	}
	return 10 * base
}
