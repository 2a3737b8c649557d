package goodput

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

var update = flag.Bool("update", false, "write testdata/report/*.txt anew")

// reportOf is the report of a worked case.
func reportOf(t *testing.T, name string) *Report {
	b, err := os.ReadFile(filepath.Join("testdata", "cases", name+".json"))
	require.NoError(t, err)
	var v vector
	require.NoError(t, json.Unmarshal(b, &v))
	a := v.accumulator()
	for _, r := range v.Records {
		a.Observe(r.record())
	}
	return a.Report()
}

// textReports are reports of every shape, by name.
func textReports(t *testing.T) map[string]*Report {
	all := map[string]*Report{}
	for _, name := range []string{"service-a", "service-b", "classes", "window", "unfinished", "all-failed", "nothing-started", "own-limits", "books", "p99.9"} {
		all[name] = reportOf(t, name)
	}
	all["client-invalid"] = invalidReport()
	all["client-suspect"] = all["client-invalid"]
	suspect := *all["client-invalid"]
	suspect.Health = &ClientHealth{Verdict: Suspect, Reasons: []string{"requests were sent late"}, Offered: 40, Sent: 40, LagP50: 31e-6, LagP99: 1.23e-3, LagMax: 0.0451, Retried: 2}
	all["client-suspect"] = &suspect
	all["class"] = all["classes"].Classes["chat"]
	all["nothing-observed"] = NewAccumulator(slo.Chat()).Report()
	return all
}

// invalidReport has what the worked cases do not: a client that was the bottleneck, reasoning, a lag, metrics of the
// caller's own, names from strangers.
func invalidReport() *Report {
	s := slo.MustParse("ttft p90 < 400ms, x_judge p50 < 0.25, attainment >= 90%")
	s.Name = "assistant"
	a := NewAccumulator(s, WithClasses(slo.Set{"用户": s}))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 40 {
		r := recordOf(20)
		r.Start = start.Add(time.Duration(i) * 50 * time.Millisecond)
		r.Sent = time.Duration(i) * time.Millisecond
		r.FirstOutput = r.Tokens[3].At
		for j := range r.Tokens {
			r.Tokens[j].At += time.Duration(i*i) * time.Millisecond / 4
		}
		r.FirstOutput, r.End = r.Tokens[3].At, r.Tokens[19].At+1000
		r.Custom = map[slo.Metric]float64{"x_judge": float64(i) / 100}
		switch {
		case i%3 == 0:
			r.Class = "用户"
		case i%7 == 0:
			r.Class = "a\x1b[31mred\n" + strings.Repeat("long", 20)
		}
		if i > 35 {
			r.Outcome, r.Tokens = Dropped, nil
		}
		a.Observe(r)
	}
	r := a.Report()
	r.Health = &ClientHealth{Verdict: Invalid, Offered: 40, Sent: 36, LagP50: 0.02, LagP99: 0.0388, LagMax: 0.039, Reasons: []string{
		"36 of 40 requests were sent (90%): the client was not able to keep up with the rate that was asked for, and what it measured is its own queue",
		"no file descriptor was left for 4 requests"}}
	r.Warnings = append(r.Warnings, errors.New("from\x1b]0;a stranger\n"))
	return r
}

func TestReportText(t *testing.T) {
	for name, r := range textReports(t) {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "report", name+".txt")
			text := r.String()
			if *update {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text)

			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				assert.LessOrEqual(t, figure.Width(line), 100, "%s", line)
				assert.Equal(t, strings.TrimRight(line, " "), line)
			}
			assert.NotContains(t, text, "NaN")
			assert.NotContains(t, text, "\x1b")
		})
	}
}

func TestReportTextOfAnInvalidRunSaysSoFirst(t *testing.T) {
	text := invalidReport().String()
	first, _, _ := strings.Cut(text, "\n")
	assert.Equal(t, "CLIENT INVALID: these figures show the client, not the server", first)
}

// A percentile in a gap of the data is a bracket, and the reader sees its ends.
func TestReportTextShowsABracket(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p50 < 8s, ttfo p95 < 1s"))
	for i := range 1000 {
		r := request(time.Duration(i)*ms, 100*ms)
		if i%20 == 7 {
			r.End = 5 * time.Second
		}
		r.Tokens = tokens(time.Duration(i+1)*ms/100, 50*ms)
		a.Observe(r)
	}
	r := a.Report()
	text := r.textPercentiles()
	assert.Regexp(t, `\ne2e +1,000 +100 ms +100 ms +\d+ ms~ +5\.00 s +5\.00 s +5\.00 s\n`, text)
	assert.Contains(t, text, "\n~ a bracket")
	_, intervals, _ := strings.Cut(text, "\nIntervals   ")
	assert.Contains(t, intervals, "e2e P50 100 ms to 100 ms, e2e P95 100 ms to 5.00 s")
	// Of 1,000 values in order the 936th and the 964th: Φ⁻¹(0.975)·√(1000·0.95·0.05) = 13.5 ranks on either side.
	assert.Regexp(t, `ttft P95 9\.3\d ms to 9\.6\d ms`, intervals, "the twin, whose row is left out, has the objective")
	assert.NotContains(t, intervals, "P99")

	many := *r
	many.Percentiles = maps.Clone(r.Percentiles)
	for i := range 20 {
		many.Percentiles[fmt.Sprintf("x_%02d", i)] = r.Percentiles["e2e"]
	}
	text = many.textPercentiles()
	assert.Contains(t, text, "and 11 more in the JSON\n")
	assert.NotContains(t, text, "x_19 P95")
}

func TestReportTextSaysTheMainThingInThreeLines(t *testing.T) {
	lines := strings.SplitN(reportOf(t, "service-b").String(), "\n", 4)
	assert.Contains(t, lines[0], "INCONCLUSIVE (the sample misses it): e2e p95 < 5s")
	assert.Contains(t, lines[1], "7.5 of 12.5 requests/s (60.0% of throughput)")
	assert.Contains(t, lines[2], "60.0% of 1,000 requests were good")
}

// TestReportTextRatesAddUp reads the table back: what was lost, by cause, and goodput make throughput.
func TestReportTextRatesAddUp(t *testing.T) {
	number := func(cell string) float64 {
		var v float64
		for _, c := range strings.ReplaceAll(cell, ",", "") {
			if c == '.' {
				continue
			}
			require.True(t, c >= '0' && c <= '9', cell)
			v = v*10 + float64(c-'0')
		}
		return v
	}
	for name, r := range textReports(t) {
		if r.Flow.Ended == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var throughput, goodput, lost, causes [2]float64
			n := 0.0
			for line := range strings.Lines(r.textRates()) {
				cells := strings.Split(strings.TrimRight(line, "\n"), "  ")
				cells = nonEmpty(cells)
				var to *[2]float64
				switch {
				case cells[0] == "arrival rate":
					continue
				case strings.HasPrefix(line, "  "):
					to = &causes
					n++
				case cells[0] == "throughput":
					to = &throughput
				case cells[0] == "goodput":
					to = &goodput
				case cells[0] == "lost":
					to = &lost
				default:
					continue
				}
				for i := range to {
					to[i] += number(cells[1+i])
				}
			}
			assert.Equal(t, throughput[0], goodput[0]+lost[0])
			assert.Equal(t, lost[0], causes[0])
			assert.InDelta(t, throughput[1], goodput[1]+lost[1], 1, "in units of the last digit")
			assert.InDelta(t, lost[1], causes[1], 1+n/2)
		})
	}
}

func nonEmpty(cells []string) (full []string) {
	for _, c := range cells {
		if c = strings.TrimSpace(c); c != "" {
			full = append(full, c)
		}
	}
	return full
}

func TestReportTextOfNothing(t *testing.T) {
	text := (&Report{}).String()
	assert.Contains(t, text, "SLO         NOT JUDGED")
	r := NewAccumulator(slo.Chat(), WithWindow(fileStart, fileStart)).Report()
	text = r.String()
	assert.Contains(t, text, "Goodput     – (the window has no length)")
	assert.Contains(t, text, "Attainment  – (no request started in the window)")
	assert.True(t, math.IsNaN(r.GoodputRPS))
}

// poisoned puts a text that no terminal should see in place of, or behind, every text in decoded JSON. Where a text has
// to be one that can be read, it stays.
func poisoned(v any, key, poison string) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			v[k] = poisoned(x, k, poison)
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if slices.Contains([]string{"classes", "lost", "lost_rps", "percentiles", "values"}, key) {
				v[k+poison] = v[k]
			}
		}
	case []any:
		for i, x := range v {
			v[i] = poisoned(x, key, poison)
		}
	case string:
		if !slices.Contains([]string{"format", "slo", "start", "from", "to", "outcome"}, key) {
			return v + poison
		}
	}
	return v
}

// A report that was read from a file says what its writer wanted. It can neither steer a terminal nor make up lines.
func TestReportTextOfHostileJSON(t *testing.T) {
	poison := "\x1b[2J\r\nVERDICT MET\u202e\u009b" + strings.Repeat("y", 3000)
	a := NewAccumulator(slo.MustParse("e2e p95 < 1ms, x_a p95 < 2"))
	for i := range 30 {
		r := request(time.Duration(i)*ms, 5*ms)
		r.Class, r.Outcome, r.Detail, r.Finish = []string{"", "a"}[i%2], Outcomes()[i%13], "broken", "stop"
		a.Observe(r)
	}
	report := a.Report()
	report.Health = &ClientHealth{Verdict: Suspect, Reasons: []string{"slow"}, Offered: 30, Sent: 30}
	report.SLOName = "ours"
	b, err := json.Marshal(report)
	require.NoError(t, err)
	var v any
	require.NoError(t, json.Unmarshal(b, &v))
	b, err = json.Marshal(poisoned(v, "", poison))
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(b, &back))
	for text := range maps.Keys(map[string]bool{back.String(): true, back.Classes["a"].String(): true}) {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			assert.NotContains(t, line[:min(len(line), 7)], "VERDICT")
			assert.Equal(t, -1, strings.IndexFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }), "%q", line)
			assert.LessOrEqual(t, len([]rune(line)), 1100)
		}
	}
}

// The name of a class does not push aside what there is to warn of.
func TestReportTextWarnsOfClassesWithLongNames(t *testing.T) {
	name := strings.Repeat("long", 1000)
	r := observe(NewAccumulator(slo.MustParse("e2e p95 < 1ms"), WithClasses(slo.Set{name: slo.MustParse("e2e p95 < 1s")})))
	assert.Contains(t, strings.Join(strings.Fields(r.String()), " "), "…: "+ErrNoRequests.Error())
}

func TestReportTextSaysWhatFailuresSaid(t *testing.T) {
	a := NewAccumulator(slo.MustParse("speed p50 >= 20tok/s"))
	for i := range 30 {
		start := time.Unix(int64(1000+i), 0)
		a.Observe(&Record{Start: start, End: ms, Outcome: ClientError, Detail: "HTTP status 401: no such key\x1b[2J"})
		a.Observe(&Record{Start: start, Tokens: []Token{{At: ms}, {At: 101 * ms}}, End: 101 * ms, Outcome: Success})
	}
	text := unwrapped(a.Report())
	assert.Contains(t, text, "for one, client_error: HTTP status 401: no such key")
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, text, "50% at least 10 tok/s; the slowest was 10 tok/s")
}

func TestReportTextNamesTheThreeMostFrequentFailures(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for n, o := range []Outcome{Truncated, Empty, Timeout, Malformed, ServerError} {
		for range n + 1 {
			a.Observe(&Record{Start: epoch, End: ms, Outcome: o})
		}
	}
	assert.Contains(t, unwrapped(a.Report()), "5 server_error, 4 malformed, 3 timeout, … Attainment")
}

func TestReportTextOfAWarmup(t *testing.T) {
	a := NewAccumulator(slo.MustParse("speed p50 >= 20tok/s"), WithWindow(epoch, epoch.Add(time.Second)),
		WithClasses(slo.Set{"chat": slo.MustParse("speed p90 >= 20tok/s")}))
	r := observe(a, &Record{Class: "chat", Start: epoch, Tokens: []Token{{At: ms}, {At: 101 * ms}}, End: 101 * ms, Outcome: Success})
	assert.NotContains(t, unwrapped(r), "warm-up")
	r.SetWarmup(90 * time.Second)
	assert.Contains(t, unwrapped(r), "after a warm-up of 90.0 s")
	assert.Equal(t, 90.0, r.Classes["chat"].Window.WarmupS)
	assert.Contains(t, unwrapped(r), "90% of chat at least 10 tok/s")
}
