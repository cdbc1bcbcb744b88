package term

import "strings"

// Table lines up columns. A column whose heading starts with '>' is aligned to
// the right. The last column may be long: it is not padded.
type Table struct {
	Head []string
	Rows [][]string
}

// Lines returns the table's text, heading first, without trailing blanks.
func (tb Table) Lines(t Terminal) []string {
	n := len(tb.Head)
	widths := make([]int, n)
	right := make([]bool, n)
	head := make([]string, n)
	for i, h := range tb.Head {
		head[i], right[i] = strings.CutPrefix(h, ">")
		widths[i] = Width(head[i])
	}
	for _, r := range tb.Rows {
		for i, c := range r {
			widths[i] = max(widths[i], Width(c))
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, c := range cells {
			if i > 0 {
				b.WriteString("  ")
			}
			if right[i] {
				b.WriteString(PadLeft(c, widths[i]))
			} else {
				b.WriteString(Pad(c, widths[i]))
			}
		}
		return strings.TrimRight(b.String(), " ")
	}
	lines := []string{t.Paint(Dim, line(head))}
	for _, r := range tb.Rows {
		lines = append(lines, line(r))
	}
	return lines
}
