package curve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
)

// LeastRuns is how many replicate runs of each side a comparison takes to show a difference. With fewer the variation
// between runs, which is what a difference is held against, is not known.
const LeastRuns = 4

// Warnings of a comparison, for errors.Is. ErrClient is one, too.
var (
	ErrFewRuns  = errors.New("too few runs for an interval")                       // fewer than LeastRuns on a side
	ErrArrivals = errors.New("the two did not have the same arrivals")             // they differ by more than a tenth
	ErrLengths  = errors.New("the two did not have the same lengths")              // of prompts or of answers, by more than a tenth
	ErrWindows  = errors.New("whole runs and steady states are compared")          // what it took to fill and to empty the system is in some only
	ErrSameRun  = errors.New("runs that are there more than once, and count once") // on one side
	ErrDisagree = errors.New("requests and tokens do not say the same")            // they have different winners
)

// Winner says which of two systems has more of a figure.
type Winner string

// The answers.
const (
	A            Winner = "a"
	B            Winner = "b"
	NoDifference Winner = "no difference shown" // the interval of the difference has 0 in it: it is not shown that they are equal
	TooFewRuns   Winner = "too few runs"        // there is no interval
)

// Difference is one figure of two systems: its means over the runs of each, and the difference b − a with Welch's interval
// (B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
// Biometrika 34 (1947)).
type Difference struct {
	Figure string  // "goodput", "token goodput", "throughput", "output-token throughput"
	Unit   string  // "requests/s" or "tokens/s"
	A, B   float64 // NaN: a run has no such rate
	Diff   float64 // B − A
	Lo, Hi float64 // interval of it; NaN: none
	Winner Winner
}

// Comparison is which of two systems has the greater goodput.
type Comparison struct {
	Goodput         Difference // requests/s; decides
	TokenGoodput    Difference
	Throughput      Difference
	TokenThroughput Difference // of output tokens
	RunsA, RunsB    int
	Confidence      float64 // of the intervals
	Warnings        []error
}

// Winner is that by goodput.
func (c Comparison) Winner() Winner { return c.Goodput.Winner }

// Compare compares two systems, or two configurations of one, from the reports of replicate runs: at least LeastRuns of
// each, made one after the other and best by turns, for what varies between runs is what a difference has to exceed. Without
// as many there are means and no interval. The confidence is goodput.DefaultConfidence for each figure by itself.
//
// It refuses reports that are not of one SLO (ErrSLO).
func Compare(a, b []*goodput.Report) (*Comparison, error) {
	if len(a) == 0 || len(b) == 0 {
		return nil, errors.New("curve: a comparison needs reports of either side: give at least four each")
	}
	for i, side := range [][]*goodput.Report{a, b} {
		for j, r := range side {
			switch {
			case r == nil:
				return nil, fmt.Errorf("curve: report %d of side %s is nil", j, sideName(i))
			case r.Fingerprint != a[0].Fingerprint:
				return nil, fmt.Errorf("curve: %w: %s and %s: goodput by one is not goodput by the other", ErrSLO, a[0].SLO, r.SLO)
			}
		}
	}
	c := &Comparison{Confidence: goodput.DefaultConfidence}
	a, b = c.different(a, A), c.different(b, B)
	c.RunsA, c.RunsB = len(a), len(b)
	if min(len(a), len(b)) < LeastRuns {
		c.warn(ErrFewRuns, "%d and %d, of at least %d each", len(a), len(b), LeastRuns)
	}
	diff := func(name, unit string, of func(*goodput.Report) float64) Difference {
		return difference(name, unit, values(a, of), values(b, of), c.Confidence)
	}
	c.Goodput = diff("goodput", "requests/s", func(r *goodput.Report) float64 { return r.GoodputRPS })
	c.TokenGoodput = diff("token goodput", "tokens/s", func(r *goodput.Report) float64 { return r.TokenGoodputTPS })
	c.Throughput = diff("throughput", "requests/s", func(r *goodput.Report) float64 { return r.ThroughputRPS })
	c.TokenThroughput = diff("output-token throughput", "tokens/s", func(r *goodput.Report) float64 { return r.OutputTPS })
	if x, y := c.Goodput.Winner, c.TokenGoodput.Winner; (x == A || x == B) && (y == A || y == B) && x != y {
		c.warn(ErrDisagree, "by goodput in requests/s the winner is %s, in tokens/s it is %s", x, y)
	}
	c.sameClient(a, b)
	c.sameWindows(slices.Concat(a, b))
	c.sameArrivals(a, b)
	c.sameLengths(a, b)
	return c, nil
}

func sideName(i int) Winner { return []Winner{A, B}[i] }

func (c *Comparison) warn(err error, format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Errorf("%w: %s", err, fmt.Sprintf(format, args...)))
}

func values(reports []*goodput.Report, of func(*goodput.Report) float64) []float64 {
	v := make([]float64, len(reports))
	for i, r := range reports {
		v[i] = of(r)
	}
	return v
}

// difference is Welch's: the standard error is √(sₐ²/nₐ + s_b²/n_b), and its degrees of freedom are those of Welch and
// Satterthwaite.
func difference(name, unit string, a, b []float64, confidence float64) Difference {
	d := Difference{Figure: name, Unit: unit, Lo: math.NaN(), Hi: math.NaN(), Winner: TooFewRuns}
	var va, vb float64
	d.A, va = stat.MeanVariance(a, nil)
	d.B, vb = stat.MeanVariance(b, nil)
	d.Diff = d.B - d.A
	if min(len(a), len(b)) < LeastRuns || math.IsNaN(d.Diff) {
		return d
	}
	na, nb := float64(len(a)), float64(len(b))
	ea, eb := va/na, vb/nb
	half := 0.0
	if e := ea + eb; e > 0 {
		free := e * e / (ea*ea/(na-1) + eb*eb/(nb-1))
		half = math.Sqrt(e) * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: free}.Quantile(1-(1-confidence)/2)
	}
	d.Lo, d.Hi = d.Diff-half, d.Diff+half
	switch {
	case d.Lo > 0:
		d.Winner = B
	case d.Hi < 0:
		d.Winner = A
	default:
		d.Winner = NoDifference
	}
	return d
}

// alike is how far two means may be apart, as a share of the greater.
const alike = 0.10

func apartBy(a, b float64) bool { return math.Abs(a-b) > alike*max(math.Abs(a), math.Abs(b)) }

func (c *Comparison) sameClient(a, b []*goodput.Report) {
	for i, side := range [][]*goodput.Report{a, b} {
		n := 0
		for _, r := range side {
			if r.Health != nil && r.Health.Verdict == goodput.Invalid {
				n++
			}
		}
		if n > 0 {
			c.warn(ErrClient, "%d of the %d runs of %s", n, len(side), sideName(i))
		}
	}
}

// different are the reports of one side, each run once: the same file twice is no second run. Two runs do not begin and end at the
// same nanosecond, and in virtual time, where they may, another seed makes other counts.
func (c *Comparison) different(side []*goodput.Report, name Winner) (all []*goodput.Report) {
	for _, r := range side {
		if !slices.ContainsFunc(all, func(o *goodput.Report) bool {
			return r.Window.From.Equal(o.Window.From) && r.Window.To.Equal(o.Window.To) && r.Offered == o.Offered && r.Good == o.Good && r.Flow == o.Flow
		}) {
			all = append(all, r)
		}
	}
	if n := len(side) - len(all); n > 0 {
		c.warn(ErrSameRun, "%d of the %d of %s", n, len(side), name)
	}
	return all
}

func (c *Comparison) sameWindows(all []*goodput.Report) {
	n := 0
	for _, r := range all {
		if r.Window.Kind == goodput.WholeRun {
			n++
		}
	}
	if n > 0 && n < len(all) {
		c.warn(ErrWindows, "%d of %d are whole runs", n, len(all))
	}
}

func (c *Comparison) sameArrivals(a, b []*goodput.Report) {
	closed := func(r *goodput.Report) bool { return r.Health != nil && r.Health.Load != nil && r.Health.Load.Closed }
	if x, y := closed(a[0]), closed(b[0]); x != y {
		c.warn(ErrArrivals, "one is a closed loop, the other is not")
		return
	} else if x { // a closed loop's arrivals are its system's doing
		if p, q := a[0].Health.Load.Plan, b[0].Health.Load.Plan; p != q {
			c.warn(ErrArrivals, "%s and %s", figure.Clean(p, 80), figure.Clean(q, 80))
		}
		return
	}
	rate := func(r *goodput.Report) float64 { return r.ArrivalRPS }
	if x, y := stat.Mean(values(a, rate), nil), stat.Mean(values(b, rate), nil); apartBy(x, y) {
		c.warn(ErrArrivals, "%s and %s requests/s", figure.Number(x), figure.Number(y))
	}
}

// sameLengths compares means and percentiles of input and output tokens: 16 tokens against 500 is no comparison.
func (c *Comparison) sameLengths(a, b []*goodput.Report) {
	for _, name := range []string{"input_tokens", "output_tokens"} {
		for _, q := range []struct {
			name string
			of   func(goodput.Distribution) float64
		}{
			{"mean", func(d goodput.Distribution) float64 { return d.Mean }},
			{"P50", func(d goodput.Distribution) float64 { return d.P50 }},
			{"P95", func(d goodput.Distribution) float64 { return d.P95 }},
		} {
			of := func(r *goodput.Report) float64 {
				if d, ok := r.Percentiles[name]; ok {
					return q.of(d)
				}
				return math.NaN()
			}
			if x, y := stat.Mean(values(a, of), nil), stat.Mean(values(b, of), nil); apartBy(x, y) {
				c.warn(ErrLengths, "%s of %s is %s and %s", q.name, strings.ReplaceAll(name, "_", " "), figure.Number(x), figure.Number(y))
				break // one line says it
			}
		}
	}
}

// String is the comparison for people: who wins by goodput, a row for each figure, and the warnings.
func (c Comparison) String() string {
	var b strings.Builder
	b.WriteString(figure.Wrap(label("By goodput"), c.winnerText(c.Goodput), textWidth))
	b.WriteString(figure.Wrap(label("By throughput"), c.winnerText(c.Throughput), textWidth))
	var t figure.Table
	t.Left = map[int]bool{5: true}
	t.Row("mean", "a", "b", "b − a", figure.Percent(c.Confidence)+" interval", "winner")
	for _, d := range []Difference{c.Goodput, c.TokenGoodput, c.Throughput, c.TokenThroughput} {
		ci := figure.Absent
		if !math.IsNaN(d.Lo) {
			ci = figure.Number(d.Lo) + " to " + figure.Number(d.Hi)
		}
		t.Row(d.Figure+", "+d.Unit, figure.Number(d.A), figure.Number(d.B), figure.Number(d.Diff), ci, string(d.Winner))
	}
	fmt.Fprintf(&b, "%s%d of a, %d of b\n\n%s", label("Runs"), c.RunsA, c.RunsB, t.String())
	if len(c.Warnings) > 0 {
		b.WriteString("\nWarnings\n")
		for _, w := range c.Warnings {
			b.WriteString(figure.Wrap("  - ", figure.Clean(w.Error(), 1000), textWidth))
		}
	}
	return b.String()
}

func (c *Comparison) winnerText(d Difference) string {
	switch d.Winner {
	case A, B:
		more, less := d.A, d.B
		if d.Winner == B {
			more, less = d.B, d.A
		}
		return fmt.Sprintf("%s wins, %s against %s %s", strings.ToUpper(string(d.Winner)), figure.Number(more), figure.Number(less), d.Unit)
	case NoDifference:
		return fmt.Sprintf("no difference shown: %s and %s %s", figure.Number(d.A), figure.Number(d.B), d.Unit)
	}
	return fmt.Sprintf("not shown: %s and %s %s, without an interval", figure.Number(d.A), figure.Number(d.B), d.Unit)
}

type differenceJSON struct {
	A        *float64    `json:"a"`
	B        *float64    `json:"b"`
	Diff     *float64    `json:"difference"`
	Interval [2]*float64 `json:"interval"`
	Winner   Winner      `json:"winner"`
}

// MarshalJSON writes null for what there is not.
func (d Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(differenceJSON{figure.OrNull(d.A), figure.OrNull(d.B), figure.OrNull(d.Diff), numbers([2]float64{d.Lo, d.Hi}), d.Winner})
}

// MarshalJSON writes the winner by goodput first.
func (c Comparison) MarshalJSON() ([]byte, error) {
	warnings := []string{}
	for _, w := range c.Warnings {
		warnings = append(warnings, w.Error())
	}
	return json.Marshal(struct {
		Winner          Winner     `json:"winner"`
		Confidence      float64    `json:"confidence"`
		RunsA           int        `json:"runs_a"`
		RunsB           int        `json:"runs_b"`
		Goodput         Difference `json:"goodput_rps"`
		TokenGoodput    Difference `json:"token_goodput_tps"`
		Throughput      Difference `json:"throughput_rps"`
		TokenThroughput Difference `json:"output_tps"`
		Warnings        []string   `json:"warnings"`
	}{c.Winner(), c.Confidence, c.RunsA, c.RunsB, c.Goodput, c.TokenGoodput, c.Throughput, c.TokenThroughput, warnings})
}
