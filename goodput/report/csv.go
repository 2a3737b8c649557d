package report

import (
	"encoding/csv"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/slo"
)

// column is one of CSV's: its name in the header, and what stands in it.
type column struct {
	name string
	cell func(row) string
}

// row is what a line of CSV is about.
type row struct {
	Run
	axis curve.Axis
	load float64
	*goodput.Report
}

// columns are those of CSV, in their order.
var columns = func() []column {
	number := func(name string, f func(*goodput.Report) float64) column {
		return column{name, func(r row) string { return decimal(f(r.Report)) }}
	}
	count := func(name string, f func(*goodput.Report) uint64) column {
		return column{name, func(r row) string { return strconv.FormatUint(f(r.Report), 10) }}
	}
	all := []column{
		{"name", func(r row) string { return cell(r.Name) }},
		{"axis", func(r row) string { return string(r.axis) }},
		{"load", func(r row) string { return decimal(r.load) }},
		{"slo", func(r row) string { return cell(r.SLO.String()) }},
		{"fingerprint", func(r row) string { return cell(r.Fingerprint) }},
		{"verdict", func(r row) string { return cell(string(r.Verdict)) }},
		{"client", func(r row) string {
			if r.Health == nil {
				return ""
			}
			return cell(string(r.Health.Verdict))
		}},
		number("window_s", func(r *goodput.Report) float64 { return r.WindowS }),
		count("offered", func(r *goodput.Report) uint64 { return r.Offered }),
		count("good", func(r *goodput.Report) uint64 { return r.Good }),
		count("late", func(r *goodput.Report) uint64 { return r.Late }),
	}
	for _, o := range goodput.Outcomes() {
		all = append(all, count(o.String(), func(r *goodput.Report) uint64 { return r.Outcomes[o] }))
	}
	all = append(all,
		number("error_rate", failed),
		number("attainment", func(r *goodput.Report) float64 { return r.Attainment }),
		number("attainment_ci_lo", func(r *goodput.Report) float64 { return r.AttainmentCI[0] }),
		number("attainment_ci_hi", func(r *goodput.Report) float64 { return r.AttainmentCI[1] }),
		number("offered_rps", func(r *goodput.Report) float64 { return r.OfferedRPS }),
		number("throughput_rps", func(r *goodput.Report) float64 { return r.ThroughputRPS }),
		number("success_rps", func(r *goodput.Report) float64 { return r.SuccessRPS }),
		number("goodput_rps", func(r *goodput.Report) float64 { return r.GoodputRPS }),
		number("output_tps", func(r *goodput.Report) float64 { return r.OutputTPS }),
		number("token_goodput_tps", func(r *goodput.Report) float64 { return r.TokenGoodputTPS }),
	)
	for _, m := range []slo.Metric{slo.TTFT, slo.TPOT, slo.ITL, slo.E2E, slo.ServiceTTFT, slo.ServiceE2E, slo.Lag} {
		for _, p := range percentiles {
			all = append(all, number(string(m)+"_"+p.key()+"_s", func(r *goodput.Report) float64 {
				d, ok := r.Percentiles[string(m)]
				if !ok {
					return math.NaN()
				}
				return p.of(&d)
			}))
		}
	}
	return all
}()

// CSVHeader are the names of CSV's columns, in their order. New ones are added at the end; none changes its meaning.
//
//	name, axis, load           of the step or the run; axis is "rate" (requests/s) or "concurrency", and both are empty of a run
//	slo, fingerprint, verdict  the SLO's canonical text (of a report by classes: the default one), and what the sample says of the system
//	client                     what the client says of itself; empty: nobody measured it
//	window_s                   length of the window, s
//	offered, good, late        requests of the cohort, then one column for each outcome there is
//	error_rate, attainment, …  shares from 0 to 1, with the ends of attainment's interval
//	…_rps, …_tps               rates, requests/s and output tokens/s
//	ttft_p50_s, …              percentiles of successful requests, s (tpot and itl: s/token)
func CSVHeader() []string {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// CSV writes a line for each step of the curve and for each run, below a header (CSVHeader), as RFC 4180 has it: lines end in CR LF.
// Numbers are in base units, with all digits that they have. A number that does not exist is an empty field, never 0. A text that
// a spreadsheet would take for a formula, as it begins with =, +, - or @, has a ' before it. What has no place
// in a table of one shape (objectives, classes, custom metrics, the time line, the search's limit) is in JSON.
func CSV(w io.Writer, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	var rows []row
	for i, r := range d.steps() {
		rows = append(rows, row{r, d.Curve.Axis, d.Curve.Points[i].Load, r.Report})
	}
	for _, r := range d.runs() {
		rows = append(rows, row{r, "", math.NaN(), r.Report})
	}
	if len(rows) == 0 {
		return ErrNothing
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	lines := [][]string{CSVHeader()}
	for _, r := range rows {
		var cells []string
		for _, c := range columns {
			cells = append(cells, c.cell(r))
		}
		lines = append(lines, cells)
	}
	return out.WriteAll(slices.Clip(lines))
}

// cell is a text from outside that no spreadsheet computes.
func cell(s string) string {
	if s = clean(s); s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}

// decimal is a number with all its digits; "" is one that does not exist.
func decimal(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
