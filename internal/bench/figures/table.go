package figures

import (
	"fmt"
	"io"
	"math"
	"strings"

	"golang.org/x/exp/stats"
)

// A Goal is a figure and what it is to be at most.
type Goal struct {
	What      string
	Got, Most float64
	Unit      string
}

// AtMost is a Goal; unit, if not empty, begins with a space.
func AtMost(what string, got, most float64, unit string) Goal { return Goal{what, got, most, unit} }

// Holds is false for a figure that is none.
func (g Goal) Holds() bool { return g.Got <= g.Most }

// WriteGoals prints a Markdown table of them and returns how many are missed.
func WriteGoals(w io.Writer, goals []Goal) (missed int) {
	Row(w, "", "figure", "at most", "")
	Row(w, "---", "---: | ---: | ---")
	for _, g := range goals {
		verdict := "holds"
		if !g.Holds() {
			verdict = "**missed**"
			missed++
		}
		Row(w, g.What, Figure(g.Got)+g.Unit, Figure(g.Most)+g.Unit, verdict)
	}
	return missed
}

// Row prints one of a Markdown table.
func Row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

// Head prints the first two rows of a Markdown table: the first column is of words, the others are of figures.
func Head(w io.Writer, cells ...string) {
	Row(w, cells...)
	Row(w, "---", strings.Repeat("---: | ", len(cells)-2)+"---:")
}

// Median is NaN of nothing.
func Median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	return stats.Median(x)
}

// Figure has three digits.
func Figure(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x >= 99.5:
		return Thousands(int(math.Round(x)))
	case x >= 9.95:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

// Thousands is n in groups of three digits.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
