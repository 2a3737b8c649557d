package figure

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Table aligns its columns: the first to the left, all others to the right, or as Left says.
type Table struct {
	Left map[int]bool // columns beside the first that are aligned to the left
	rows [][]string
}

// Row adds a row. Rows need not be equally long.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Rows is the number of rows.
func (t *Table) Rows() int { return len(t.rows) }

// String is the table, two spaces between its columns and none at the ends of its lines. A column in which every cell is
// empty is left out.
func (t *Table) String() string {
	var widths []int
	for _, row := range t.rows {
		for i, c := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(c))
		}
	}
	var b, line strings.Builder
	for _, row := range t.rows {
		line.Reset()
		for i, c := range row {
			if widths[i] == 0 {
				continue
			}
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-Width(c))
			if i == 0 || t.Left[i] {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Width is how many columns of a terminal s takes.
func Width(s string) (n int) {
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// wide are the scripts and symbols that take two columns each (Unicode's East Asian Width W and F, nearly).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0xa4cf, 1}, {0xac00, 0xd7a3, 1},
		{0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff00, 0xff60, 1}, {0xffe0, 0xffe6, 1}},
	R32: []unicode.Range32{{0x1f300, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, r):
		return 2
	}
	return 1
}

// Clean makes a text from outside fit for a line of at most max columns: what does not print becomes "?", so that no
// terminal takes it for an order, and what is too long ends in "…".
func Clean(s string, max int) string {
	var b strings.Builder
	n := 0
	for i, r := range s {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			r = '?'
		}
		w := runeWidth(r)
		if n+w > max-1 && Width(s[i:]) > max-n {
			return b.String() + "…"
		}
		n += w
		b.WriteRune(r)
	}
	return b.String()
}

// Wrap breaks text at spaces into lines of at most width columns. The first begins with first, the others are indented
// as far. A word that is too long has a line of its own.
func Wrap(first, text string, width int) string { return WrapWords(first, strings.Fields(text), width) }

// WrapWords is Wrap of words that may have spaces in them.
func WrapWords(first string, words []string, width int) string {
	indent := Width(first)
	var b strings.Builder
	b.WriteString(first)
	at, empty := indent, true
	for _, word := range words {
		w := Width(word)
		switch {
		case empty:
		case at+1+w > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += w
		empty = false
	}
	b.WriteByte('\n')
	return b.String()
}

// ByCount are the keys, that of the greatest count first.
func ByCount(counts map[string]uint64) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
