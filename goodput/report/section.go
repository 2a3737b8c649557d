package report

import (
	"errors"
	"fmt"
	"math"
)

// Section is a part of a document below its head: words, charts and tables. The sections of runs and of a curve are made
// here; what other packages find out comes as Document.Sections.
type Section struct {
	Title  string
	Label  string   // a mark beside the title that must not be overlooked: "chosen after the run"
	Text   []string // paragraphs, plain text
	Charts []Chart
	Tables []Table
}

// Table is a table of texts. The first column names the rows.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string // each at most as long as Head
	Words   []int      // columns beside the first that are words and not numbers: they are aligned to the left
	Folded  bool       // HTML shows it behind its caption, which opens it
}

// Unit is what the values of an axis are counted in. It decides how they are printed.
type Unit string

// The units. Any other text is one that is printed behind the number.
const (
	Number     Unit = ""
	Seconds    Unit = "s"     // printed in s, ms, µs
	Share      Unit = "ratio" // printed in percent
	PerSecond  Unit = "/s"
	Percentile Unit = "percentile" // of an X axis: a percentile in percent, 50 … below 100; the axis has equal steps for equally many nines
	Category   Unit = "category"   // of an X axis: the index of one of Axis.Names
)

// Axis is one of the two of a chart.
type Axis struct {
	Label string
	Unit  Unit
	Log   bool     // logarithmic; what is not above 0 is then not drawn
	Names []string // of a Category axis
	Ticks []float64
}

// Chart is figures over one variable, drawn in HTML; their table stands beneath it.
type Chart struct {
	Title    string
	Sentence string // what it shows, in words: read out where nobody sees it, and printed beneath the title
	X, Y     Axis
	At       []float64 // x of every point, rising
	Series   []Series
	Lines    []Mark // across the whole chart, at one value
	Bands    []Band
	Points   []Point
	Stacked  bool // each series on top of the one before it, as bars
	Small    bool // several stand side by side
}

// Series is one figure. What is NaN or infinite is not there: it is not drawn, and a dash in the table.
type Series struct {
	Name   string
	Values []float64 // as many as Chart.At
	Lo, Hi []float64 // the ends of intervals; nil: none. As many as Values
	Role   Role      // decides the colour, for figures that look the same wherever they are shown
	Dashed bool      // and
	Steps  bool      // a value holds up to the next x
}

// Role is what a series is, where that has a colour of its own.
type Role string

// The roles. A series without one has the next colour of the palette.
const (
	Good       Role = "good"       // goodput
	Throughput Role = "throughput" // all that was done
	Offered    Role = "offered"    // all that was asked for
	Ramp       Role = "ramp"       // one of a sequence, such as the steps of a sweep: from pale to strong
)

// Mark is a line across a chart: a threshold, a limit.
type Mark struct {
	Name string
	At   float64
	X    bool // at a value of x, from top to bottom; else at one of y
}

// Band is a stretch of x that is shaded.
type Band struct {
	Name     string
	From, To float64
	Interval bool // of a figure, and not of the load: it has another colour
}

// Point is a single value that is marked: an objective at its percentile.
type Point struct {
	Name string
	X, Y float64
}

func (s *Section) check() error {
	if s.Title == "" {
		return errors.New("it has no title")
	}
	for _, t := range s.Tables {
		for i, row := range t.Rows {
			if len(row) > len(t.Head) {
				return fmt.Errorf("table %.80q: row %d has %d cells, and the header %d", t.Caption, i, len(row), len(t.Head))
			}
		}
	}
	for _, c := range s.Charts {
		if err := c.check(); err != nil {
			return fmt.Errorf("chart %.80q: %w", c.Title, err)
		}
	}
	return nil
}

func (c *Chart) check() error {
	if len(c.At) == 0 || len(c.Series) == 0 {
		return errors.New("it has nothing to draw: give At and Series")
	}
	if c.Sentence == "" {
		return errors.New("it has no Sentence, which is all that somebody hears of it")
	}
	for i, x := range c.At {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("point %d of At is %v", i, x)
		case i > 0 && x < c.At[i-1]:
			return fmt.Errorf("point %d of At is %v, below the %v before it", i, x, c.At[i-1])
		case c.X.Unit == Percentile && !(x >= 0 && x < 100):
			return fmt.Errorf("point %d of At is %v, which is no percentile from 0 to below 100", i, x)
		case c.X.Unit == Category && (x != math.Trunc(x) || x < 0 || int(x) >= len(c.X.Names)):
			return fmt.Errorf("point %d of At is %v, which is the index of no name", i, x)
		}
	}
	for _, s := range c.Series {
		if len(s.Values) != len(c.At) || len(s.Lo) != len(s.Hi) || s.Lo != nil && len(s.Lo) != len(c.At) {
			return fmt.Errorf("series %.80q has %d values (and %d and %d of intervals), and the chart %d points", s.Name, len(s.Values), len(s.Lo), len(s.Hi), len(c.At))
		}
	}
	return nil
}
