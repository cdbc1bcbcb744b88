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
	eighths := make([]int, len(values))
	for i, v := range values {
		if !math.IsNaN(v) && v > 0 && top > 0 {
			eighths[i] = max(int(math.Round(min(v/top, 1)*float64(8*rows))), 1)
		}
	}
	return t.columns(eighths, rows)
}

// Bars is Columns of whole numbers, which nothing below zero shows.
func (t Terminal) Bars(values []int64, rows int, top int64) []string {
	eighths := make([]int, len(values))
	for i, v := range values {
		if v > 0 && top > 0 {
			eighths[i] = max(int((min(v, top)*int64(8*rows)+top/2)/top), 1)
		}
	}
	return t.columns(eighths, rows)
}

func (t Terminal) columns(eighths []int, rows int) []string {
	levels := &unicodeLevels
	if !t.Unicode {
		levels = &asciiLevels
	}
	lines := make([]string, rows)
	for row := range lines {
		var b strings.Builder
		below := 8 * (rows - 1 - row) // eighths in the lines under this one
		for _, n := range eighths {
			b.WriteString(levels[min(max(n-below, 0), 8)])
		}
		lines[row] = b.String()
	}
	return lines
}

// NiceTopInt is NiceTop of whole numbers.
func NiceTopInt(v int64) int64 {
	for base := int64(1); ; base *= 10 {
		for _, m := range [...]int64{10, 15, 20, 25, 30, 40, 50, 60, 80} {
			if v*10 <= m*base {
				return m * base / 10
			}
		}
	}
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
