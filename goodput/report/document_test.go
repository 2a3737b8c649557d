package report_test

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/slo"
)

var writers = map[string]func(io.Writer, report.Document) error{"text": report.Text, "markdown": report.Markdown, "csv": report.CSV, "json": report.JSON, "html": report.HTML}

func write(t testing.TB, how string, d report.Document) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, writers[how](&b, d))
	return b.String()
}

func TestDocumentsThatCannotBeMeant(t *testing.T) {
	chart := func(change func(*report.Chart)) report.Document {
		c := report.Chart{Title: "a chart", Sentence: "It shows something.", At: []float64{1, 2}, Series: []report.Series{{Name: "a", Values: []float64{1, 2}}}}
		change(&c)
		return report.Document{Sections: []report.Section{{Title: "a section", Charts: []report.Chart{c}}}}
	}
	require.NoError(t, report.HTML(io.Discard, chart(func(*report.Chart) {})))
	for want, d := range map[string]report.Document{
		"nothing to show": {}, "run 0 \"x\"": {Runs: []report.Run{{Name: "x"}}}, "point 0": {Curve: &curve.Curve{Points: []curve.Point{{Load: 1}}}},
		"it has no title":     {Sections: []report.Section{{}}},
		"row 0 has 2 cells":   {Sections: []report.Section{{Title: "s", Tables: []report.Table{{Caption: "t", Head: []string{"a"}, Rows: [][]string{{"1", "2"}}}}}}},
		"nothing to draw":     chart(func(c *report.Chart) { c.At = nil }),
		"no Sentence":         chart(func(c *report.Chart) { c.Sentence = "" }),
		"1 of At is NaN":      chart(func(c *report.Chart) { c.At[1] = math.NaN() }),
		"below the 1":         chart(func(c *report.Chart) { c.At[1] = 0.5 }),
		"no percentile":       chart(func(c *report.Chart) { c.X.Unit, c.At[1] = report.Percentile, 100 }),
		"index of no name":    chart(func(c *report.Chart) { c.X.Unit = report.Category }),
		"has 1 values":        chart(func(c *report.Chart) { c.Series[0].Values = c.Series[0].Values[:1] }),
		"and 1 and 0 of inte": chart(func(c *report.Chart) { c.Series[0].Lo = []float64{1} }),
	} {
		for how, w := range writers {
			var b strings.Builder
			err := w(&b, d)
			require.Error(t, err, "%s: %s", how, want)
			assert.ErrorContains(t, err, want, how)
			assert.Empty(t, b.String(), "%s: an error writes nothing", how)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	err := report.HTML(io.Discard, report.Document{})
	assert.ErrorIs(t, err, report.ErrNothing)
	assert.ErrorIs(t, report.JSON(io.Discard, chart(func(*report.Chart) {})), report.ErrNothing, "sections are not in JSON")
	assert.ErrorIs(t, report.CSV(io.Discard, chart(func(*report.Chart) {})), report.ErrNothing)
	assert.ErrorIs(t, report.Text(io.Discard, report.Document{Runs: []report.Run{{}}}), report.ErrNoReport)
}

// An error of the writer below comes back.
func TestAWriterThatIsFull(t *testing.T) {
	full := errors.New("full")
	for how, w := range writers {
		assert.ErrorIs(t, w(writerFunc(func([]byte) (int, error) { return 0, full }), one("", queueReport(8, chat))), full, how)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Of a report of nobody every figure is absent, and none of them becomes 0 or NaN.
func TestWhatIsAbsentStaysAbsent(t *testing.T) {
	d := one("nobody", nothing())
	text := regexp.MustCompile(`\bNaN\b|Inf\b|∞`)
	for how := range writers {
		out := write(t, how, d)
		if how == "html" { // uPlot speaks of NaN
			out = out[:strings.Index(out, "<style>")] + out[strings.Index(out, "</style>"):strings.LastIndex(out, "<script>")]
		}
		assert.Empty(t, text.FindAllString(out, -1), how)
	}
	rows := readCSV(t, write(t, "csv", d))
	for name, cell := range rows[0] {
		switch {
		case name == "slo" || name == "fingerprint" || name == "verdict" || name == "name":
		case name == "offered" || name == "good" || name == "late":
			assert.Equal(t, "0", cell, name)
		default:
			if _, err := goodput.ParseOutcome(name); err == nil {
				assert.Equal(t, "0", cell, name)
				continue
			}
			if name != "window_s" {
				assert.Empty(t, cell, name)
			}
		}
	}
	page := write(t, "html", d)
	assert.Contains(t, page, "NO DATA")
	assert.Contains(t, page, `<p class="figure">–`)
	assert.NotContains(t, charts(t, page), "0,0")
	assert.Contains(t, write(t, "markdown", d), "| ttft p95 < 500ms | – | ≥ 95% | – | 0 | – | no data |")
}

// charts is what the page's script draws from.
func charts(t testing.TB, page string) string {
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="charts">`)
	require.True(t, ok)
	data, _, _ := strings.Cut(rest, "</script>")
	require.True(t, json.Valid([]byte(data)))
	return data
}

// A chart has the numbers of the report, and null where there is none.
func TestChartsHaveTheReportsNumbers(t *testing.T) {
	c := sweep(t)
	var all []struct {
		X, Y   struct{ Label, Unit string }
		At     []float64
		Series []struct {
			Name   string
			Values []*float64
			Lo, Hi []*float64
		}
		Lines []struct {
			Name string
			At   float64
			X    bool
		}
		Bands []struct {
			Name     string
			From, To float64
		}
		Points  []struct{ X, Y float64 }
		Stacked bool
	}
	require.NoError(t, json.Unmarshal([]byte(charts(t, write(t, "html", report.Document{Curve: c}))), &all))
	latency, rates, attainment, lost, percentiles := all[0], all[2], all[3], all[4], all[5]
	require.Equal(t, "ttft", latency.Y.Label)
	require.Len(t, latency.At, 12)
	require.Equal(t, []string{"P50", "P95", "P99"}, []string{latency.Series[0].Name, latency.Series[1].Name, latency.Series[2].Name})
	assert.Equal(t, 0.5, latency.Lines[1].At)
	assert.False(t, latency.Lines[1].X)
	assert.InDelta(t, c.Limit.Load, latency.Lines[0].At, 1e-4)
	assert.InDelta(t, c.Bloat[0], latency.Bands[0].From, 1e-4)
	assert.Equal(t, c.Bloat[1], latency.Bands[0].To)
	require.True(t, lost.Stacked)
	for i, p := range c.Points {
		assert.Equal(t, p.Load, latency.At[i])
		assert.InEpsilon(t, p.Report.Percentiles["ttft"].P95, *latency.Series[1].Values[i], 1e-6)
		assert.InDelta(t, p.Report.ThroughputRPS, *rates.Series[1].Values[i], 1e-4)
		assert.InDelta(t, p.Report.GoodputRPS, *rates.Series[2].Values[i], 1e-4)
		assert.InDelta(t, p.Report.Attainment, *attainment.Series[0].Values[i], 1e-6)
		if lo := p.Report.AttainmentCI[0]; math.IsNaN(lo) {
			assert.Nil(t, attainment.Series[0].Lo[i])
		} else {
			assert.InDelta(t, lo, *attainment.Series[0].Lo[i], 1e-6)
		}
		sum := 0.0
		for _, s := range lost.Series {
			sum += *s.Values[i]
		}
		assert.InDelta(t, p.Report.ThroughputRPS, sum, 1e-4, "goodput and all that was lost is throughput")
	}
	require.Equal(t, []float64{0, 50, 90, 95, 99, 99.9}, percentiles.At)
	assert.Nil(t, percentiles.Series[0].Values[5], "fewer than 1,000 requests carry no P99.9")
	assert.Equal(t, 95.0, percentiles.Points[0].X)
	assert.Equal(t, 0.5, percentiles.Points[0].Y)

	// A time line is rates by slice, whose sum is what there was.
	line := all[9]
	require.Equal(t, "s", line.X.Unit)
	total, r := 0.0, c.Points[0].Report
	for i := 0; i+1 < len(line.At); i++ {
		total += *line.Series[2].Values[i] * (line.At[i+1] - line.At[i])
	}
	var good uint64
	for _, s := range r.Timeline.Slices {
		good += s.Good
	}
	assert.InEpsilon(t, float64(good), total, 1e-4)
	assert.Equal(t, "before the window", line.Bands[0].Name)
	assert.InDelta(t, r.Window.From.Sub(r.Timeline.From).Seconds(), line.Bands[0].To, 1e-4)
}

func readCSV(t testing.TB, text string) (rows []map[string]string) {
	require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"), "every line ends in CR LF")
	all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, report.CSVHeader(), all[0])
	for _, line := range all[1:] {
		row := map[string]string{}
		for i, cell := range line {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// The header is stable: columns are added at its end, and none of these moves.
func TestCSVHeaderIsStable(t *testing.T) {
	want := strings.Fields(`name axis load slo fingerprint verdict client window_s offered good late
		success timeout rate_limited rejected server_error client_error connection_error cancelled truncated empty malformed dropped unfinished
		error_rate attainment attainment_ci_lo attainment_ci_hi offered_rps throughput_rps success_rps goodput_rps output_tps token_goodput_tps`)
	for _, m := range strings.Fields("ttft tpot itl e2e service_ttft service_e2e lag") {
		for _, p := range strings.Fields("p50 p90 p95 p99 p99_9") {
			want = append(want, m+"_"+p+"_s")
		}
	}
	assert.Equal(t, want, report.CSVHeader())
}

// A name is no formula for a spreadsheet to compute, and a negative number stays one.
func TestCSVHasNoFormulas(t *testing.T) {
	for _, name := range []string{"=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)"} {
		r := *queueReport(40, chat)
		r.AttainmentCI[0], r.Verdict = -0.5, goodput.Verdict(name)
		rows := readCSV(t, write(t, "csv", report.Document{Runs: []report.Run{{Name: name, Report: &r}}}))
		assert.Equal(t, "'"+name, rows[0]["name"])
		assert.Equal(t, "'"+name, rows[0]["verdict"])
		assert.Equal(t, "-0.5", rows[0]["attainment_ci_lo"])
	}
}

func TestCSVHasTheReportsNumbers(t *testing.T) {
	c := sweep(t)
	rows := readCSV(t, write(t, "csv", report.Document{Curve: c, Runs: []report.Run{{Name: "a, \"quoted\"\nname", Report: queueReport(40, chat)}}}))
	require.Len(t, rows, 13)
	number := func(i int, name string) float64 {
		v, err := strconv.ParseFloat(rows[i][name], 64)
		require.NoError(t, err, name)
		return v
	}
	for i, p := range c.Points {
		r := p.Report
		assert.Equal(t, p.Load, number(i, "load"))
		assert.Equal(t, "rate", rows[i]["axis"])
		assert.Equal(t, r.GoodputRPS, number(i, "goodput_rps"))
		assert.Equal(t, r.ThroughputRPS, number(i, "throughput_rps"))
		assert.Equal(t, r.Percentiles["tpot"].P99, number(i, "tpot_p99_s"))
		assert.Equal(t, string(r.Verdict), rows[i]["verdict"])
		assert.Equal(t, "valid", rows[i]["client"])
		books := number(i, "good") + number(i, "late")
		for _, o := range goodput.Outcomes()[1:] {
			books += number(i, o.String())
		}
		assert.Equal(t, number(i, "offered"), books)
	}
	assert.Empty(t, rows[12]["load"])
	assert.Empty(t, rows[12]["axis"])
	assert.Equal(t, `a, "quoted"?name`, rows[12]["name"])
	assert.Empty(t, rows[0]["ttft_p99_9_s"], "fewer than 1,000 requests carry no P99.9")
}

func TestJSONComesBack(t *testing.T) {
	limit := &report.Limit{State: "at least", Rate: math.NaN(), Lo: 80, Hi: math.Inf(1), Confidence: 0.95, Recommended: math.NaN(), Headroom: 0.2, Warnings: []error{errors.New("a warning")}}
	d := report.Document{Title: "a title", Limit: limit, Curve: sweep(t), Runs: []report.Run{{Name: "x", Report: queueReport(40, chat)}}}
	text := write(t, "json", d)
	again, err := report.ReadJSON(strings.NewReader(text))
	require.NoError(t, err)
	assert.Equal(t, text, write(t, "json", again))
	assert.True(t, math.IsNaN(again.Limit.Rate) && math.IsInf(again.Limit.Hi, 1))
	for _, bad := range []string{``, `{}`, `{"format":"goodput-document/0"}`, `[]`, `{"format":"goodput-document/1"}`, `{"format":"goodput-document/1","runs":[{}]}`} {
		_, err := report.ReadJSON(strings.NewReader(bad))
		require.Error(t, err, bad)
	}
	_, err = report.ReadJSON(strings.NewReader(`{"format":"goodput-document/1","runs":[{"name":"x"}]}`))
	assert.ErrorIs(t, err, report.ErrNoReport)
}

// A comment on a pull request has the verdict first, then the objectives, what was lost, the client and the curve.
func TestMarkdownOfASweep(t *testing.T) {
	out := write(t, "markdown", report.Document{Title: "Engine A", Curve: sweep(t)})
	order := []string{"## Engine A", "✅ GOODPUT LIMIT: 63.2 requests/s", "**Falls**", "| load | throughput/s |", "| Goodput limit at |", "<details><summary>The share of requests",
		"| load | lost to |", "<details><summary>What was judged by"}
	at := 0
	for _, want := range order {
		i := strings.Index(out[at:], want)
		require.GreaterOrEqual(t, i, 0, "%s in its place in\n%s", want, out)
		at += i
	}
	assert.Less(t, len(out), 65536, "as much as a comment on GitHub can have")
	tables := 0
	for line := range strings.Lines(out) {
		if strings.HasPrefix(line, "|") {
			tables++
		}
	}
	assert.Greater(t, tables, 60)
	out = write(t, "markdown", one("", queueReport(64, chat)))
	assert.Contains(t, out, "### ❓ INCONCLUSIVE: 61.0 requests/s of goodput")
	assert.Contains(t, out, "Client: valid; 7,774 of 7,774 requests sent")
}

// unsound is a curve whose client was not sound at the higher of two loads.
func unsound(t *testing.T) *curve.Curve {
	t.Helper()
	bad := queueReport(64, chat)
	bad.Health.Verdict, bad.Health.Reasons = goodput.Invalid, []string{"its CPUs were full"}
	c, err := curve.New(curve.Rate, []curve.Point{{Load: 8, Report: queueReport(8, chat)}, {Load: 64, Report: bad}})
	require.NoError(t, err)
	return c
}

func TestCards(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	c := sweep(t)
	for want, l := range map[string]report.Limit{
		"62.5 requests/s, 95% interval 61.2 to 63.9 requests/s": {State: "found", Rate: 62.5, Lo: 61.2, Hi: 63.9, Confidence: 0.95, Recommended: 50},
		"62.5 requests/s, 95% interval 61.2 requests/s or more": {State: "found", Rate: 62.5, Lo: 61.2, Hi: inf, Confidence: 0.95, Recommended: nan},
		"62.5 requests/s, 95% interval 63.9 requests/s or less": {State: "found", Rate: 62.5, Lo: 0, Hi: 63.9, Confidence: 0.95, Recommended: nan},
		"met at 80 requests/s, and was missed at no rate":       {State: "at least", Rate: nan, Lo: 80, Hi: inf},
		"missed at 0.500 requests/s, the lowest rate":           {State: "never met", Rate: nan, Lo: 0, Hi: 0.5},
		"the probes do not show where the limit is":             {State: "unknown", Rate: nan, Lo: 0, Hi: inf},
		"the goodput limit less 20%":                            {State: "found", Rate: 62.5, Lo: 61.2, Hi: 63.9, Confidence: 0.95, Recommended: 50, Headroom: 0.2},
	} {
		for _, how := range []string{"html", "text", "markdown"} {
			out := write(t, how, report.Document{Limit: &l, Curve: c})
			assert.Contains(t, strings.Join(strings.Fields(out), " "), want, how)
		}
	}
	out := write(t, "markdown", report.Document{Limit: &report.Limit{State: "unknown", Rate: nan, Hi: 80, Recommended: nan}, Curve: c})
	assert.Contains(t, strings.ReplaceAll(out, "&lt;", "<"), "❓ GOODPUT LIMIT: < 80 requests/s")
	x60 := report.Document{Limit: &report.Limit{State: "at least", Rate: nan, Lo: 8, Hi: inf, Recommended: nan}, Curve: unsound(t)}
	for _, how := range []string{"html", "text", "markdown"} {
		assert.Contains(t, strings.Join(strings.Fields(write(t, how, x60)), " "), "above it there is no verdict at 64/s (the client was not sound)", how)
	}
	for want, l := range map[string]report.Limit{ // too wide for one figure
		"? GOODPUT LIMIT: 32 to 72 requests/s": {State: "found", Rate: 64.4, Lo: 32, Hi: 72, Confidence: 0.95, Recommended: 32, Headroom: 0.2},
		"? GOODPUT LIMIT: ≥ 32 requests/s":     {State: "found", Rate: 64.4, Lo: 32, Hi: inf, Confidence: 0.95, Recommended: 32, Headroom: 0.2},
		"? GOODPUT LIMIT: < 72 requests/s":     {State: "found", Rate: 64.4, Lo: 0, Hi: 72, Confidence: 0.95, Recommended: nan, Headroom: 0.2},
		"✓ GOODPUT LIMIT: 64.4 requests/s":     {State: "found", Rate: 64.4, Lo: 58, Hi: 70.8, Confidence: 0.95, Recommended: 51.5, Headroom: 0.2},
	} {
		symbol, figure, _ := strings.Cut(want, " ")
		out := write(t, "markdown", report.Document{Limit: &l, Curve: c})
		assert.Contains(t, strings.ReplaceAll(out, "&lt;", "<"), map[string]string{"?": "❓ ", "✓": "✅ "}[symbol]+figure)
		assert.Equal(t, l.Recommended == 32, strings.Contains(out, "32 requests/s: the lower bound of the interval, which is less than the goodput limit less 20%"))
	}
	bad := queueReport(72, chat)
	bad.Health.Verdict, bad.Health.Reasons = goodput.Invalid, []string{"its CPUs were full"}
	for _, how := range []string{"html", "markdown"} {
		out := write(t, how, one("", bad))
		before, _, ok := strings.Cut(out, "its CPUs were full")
		require.True(t, ok)
		assert.Contains(t, before, "these figures show the client, not the server")
		assert.NotContains(t, before, "MISSED", "the client's fault comes before the verdict")
	}
	a := []*goodput.Report{hundred(0), hundred(1), hundred(2), hundred(3)}
	b := []*goodput.Report{hundred(14), hundred(13), hundred(12), hundred(11)}
	x, err := curve.Compare(a, b)
	require.NoError(t, err)
	mean := func(runs []*goodput.Report) (sum float64) {
		for _, r := range runs {
			sum += r.GoodputRPS / float64(len(runs))
		}
		return sum
	}
	want := fmt.Sprintf("(?i)a has the greater goodput|a wins, %.2f against %.2f", mean(a), mean(b))
	for _, how := range []string{"html", "markdown", "text"} {
		assert.Regexp(t, want, write(t, how, report.Document{Comparison: x}), how)
	}
}

func TestSectionsOfOthers(t *testing.T) {
	d := one("", queueReport(40, chat))
	d.Sections = []report.Section{{Title: "The surface", Label: "chosen after the run", Text: []string{"Read with care."},
		Charts: []report.Chart{{Title: "Attainment", Sentence: "It rises.", X: report.Axis{Label: "threshold", Unit: report.Seconds}, Y: report.Axis{Label: "attainment", Unit: report.Share},
			At: []float64{0.1, 0.2}, Series: []report.Series{{Name: "ttft", Values: []float64{0.25, math.NaN()}}}}},
		Tables: []report.Table{{Caption: "A table", Head: []string{"rule", "good"}, Rows: [][]string{{"vLLM", "17"}}}}}}
	for _, how := range []string{"text", "markdown", "html"} {
		out := write(t, how, d)
		for _, want := range []string{"The surface", "chosen after the run", "Read with care.", "A table", "vLLM", "17", "100 ms", "25.0%"} {
			assert.Contains(t, out, want, how)
		}
	}
}

// Classes with SLOs of their own have theirs named, and their objectives.
func TestClasses(t *testing.T) {
	r := queueReport(64, chat, goodput.WithClasses(slo.Set{"batch": slo.MustParse("e2e p90 < 30s")}))
	out := write(t, "markdown", one("", r))
	assert.Contains(t, out, "| batch | e2e p90 < 30s |")
	assert.Contains(t, out, "no data")
	assert.Contains(t, out, "each class by its own")
	assert.Contains(t, write(t, "html", one("", r)), "Each class of traffic by itself")
}

// The library in the page is the one that VERSION says, unchanged, and its licence is in the page, too.
func TestVendoredLibrary(t *testing.T) {
	text, err := os.ReadFile("assets/uplot/VERSION")
	require.NoError(t, err)
	sums := regexp.MustCompile(`(?m)^([0-9a-f]{64})  (\S+)$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, sums, 3)
	for _, s := range sums {
		file, err := os.ReadFile(filepath.Join("assets/uplot", s[2]))
		require.NoError(t, err)
		sum := sha256.Sum256(file)
		assert.Equal(t, s[1], hex.EncodeToString(sum[:]), s[2])
	}
	page := write(t, "html", one("", queueReport(8, chat)))
	assert.True(t, strings.Contains(page, "Copyright (c) 2022 Leon Sorokin"))
	assert.True(t, strings.Contains(page, "The above copyright notice and this permission notice shall be included"))
	assert.Empty(t, regexp.MustCompile(`(src|href)="?(https?:)?//|url\(|@import`).FindAllString(page, -1), "nothing is fetched")
}

// No text from outside stands in a page but escaped.
func TestHostileTextsAreEscaped(t *testing.T) {
	page := write(t, "html", hostile())
	assert.False(t, strings.Contains(page, "<script>pwned"))
	assert.False(t, strings.Contains(page, "<img"))
	assert.Equal(t, 2, strings.Count(page, "</script>"))
	assert.False(t, strings.ContainsAny(page, "\x1b\u2028"))
	for _, how := range []string{"text", "markdown", "csv"} {
		out := write(t, how, hostile())
		assert.False(t, strings.ContainsAny(out, "\x1b\u2028"), how)
	}
}

func TestSchemasAreThere(t *testing.T) {
	for _, name := range []string{"document.json", "report.json", "curve.json", "records.json"} {
		text, err := fs.ReadFile(report.Schemas(), name)
		require.NoError(t, err)
		var s struct {
			Schema string `json:"$schema"`
			ID     string `json:"$id"`
		}
		require.NoError(t, json.Unmarshal(text, &s), name)
		assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", s.Schema)
		assert.Equal(t, "https://github.com/goodputkit/goodputkit/goodput/report/schema/"+name, s.ID)
	}
}
