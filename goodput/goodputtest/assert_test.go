package goodputtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

const ms = time.Millisecond

// recorder is a TestingT that keeps what it is told.
type recorder struct{ said []string }

func (r *recorder) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	_, text, _ = strings.Cut(text, "Error:")
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, strings.TrimPrefix(strings.TrimLeft(line, "\t"), "            \t"))
	}
	r.said = append(r.said, strings.TrimSpace(strings.Join(lines, "\n")))
}

// holds says that an assertion holds, fails that it does not and what it says.
func holds(t *testing.T, f func(TestingT) bool) {
	t.Helper()
	var r recorder
	require.True(t, f(&r), "%q", r.said)
	require.Empty(t, r.said)
}

func fails(t *testing.T, f func(TestingT) bool) string {
	t.Helper()
	var r recorder
	require.False(t, f(&r))
	require.Len(t, r.said, 1, "it fails once")
	return r.said[0]
}

// blamer is a TestingT that finds the line to blame as a *testing.T does: the first one up the stack in a function that has not
// called Helper.
type blamer struct {
	helpers map[string]bool
	blamed  []string
}

func (b *blamer) Helper() {
	var pc [1]uintptr
	runtime.Callers(2, pc[:])
	frame, _ := runtime.CallersFrames(pc[:]).Next()
	b.helpers[frame.Function] = true
}

func (b *blamer) Errorf(string, ...any) {
	pc := make([]uintptr, 50)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	for {
		frame, more := frames.Next()
		if !b.helpers[frame.Function] {
			b.blamed = append(b.blamed, fmt.Sprintf("%s:%d", filepath.Base(frame.File), frame.Line))
			return
		}
		if !more {
			return
		}
	}
}

// A failure is the test's line, whichever way the assertion went.
func TestFailuresNameTheTestsLine(t *testing.T) {
	bad := twenty()
	bad.Good++
	for name, assertion := range map[string]func(TestingT) (int, bool){
		"Meets":              func(t TestingT) (int, bool) { return line(), Meets(t, twenty(), "ttft p95 < 2s") },
		"Meets, bad text":    func(t TestingT) (int, bool) { return line(), Meets(t, twenty(), "ttft") },
		"Meets, no report":   func(t TestingT) (int, bool) { return line(), Meets(t, nil, "ttft p95 < 2s") },
		"MeetsSurely":        func(t TestingT) (int, bool) { return line(), MeetsSurely(t, twenty(), "ttft p95 < 2s") },
		"GoodputAtLeast":     func(t TestingT) (int, bool) { return line(), GoodputAtLeast(t, twenty(), 1e6) },
		"GoodputAtLeast nil": func(t TestingT) (int, bool) { return line(), GoodputAtLeast(t, nil, 1) },
		"BooksClose":         func(t TestingT) (int, bool) { return line(), BooksClose(t, bad) },
		"BooksClose nil":     func(t TestingT) (int, bool) { return line(), BooksClose(t, nil) },
	} {
		b := &blamer{helpers: map[string]bool{}}
		at, ok := assertion(b)
		require.False(t, ok, name)
		require.Equal(t, []string{fmt.Sprintf("assert_test.go:%d", at)}, b.blamed, name)
	}
}

// line is that of its caller.
func line() int {
	_, _, n, _ := runtime.Caller(1)
	return n
}

// twenty are 18 that are in time, one that is late and one that timed out.
func twenty() *goodput.Report {
	records := Records(20, time.Second, TTFT(200*ms))
	records[9] = Record(Start(records[9].Start), TTFT(3*time.Second))
	records[19] = Record(Start(records[19].Start), Outcome(goodput.Timeout), E2E(30*time.Second))
	return Report(slo.MustParse("ttft p95 < 2s, error_rate < 10%"), records...)
}

func TestMeets(t *testing.T) {
	r := twenty()
	meets := func(text string) func(TestingT) bool { return func(t TestingT) bool { return Meets(t, r, text) } }
	holds(t, meets("ttft p90 < 2s")) // 18 of 20, of the threshold that was counted
	holds(t, meets("ttft p90 < 2s, error_rate < 5%, attainment >= 90%"))
	holds(t, meets("error_rate < 5%")) // 1 of 20, whatever the SLO's own limit is

	require.Equal(t, `ttft p95 < 2s does not hold: 90.0% of 20 requests are in time, 95% have to be: 1 more
  interval  67.5% to 97.5% (95% confidence), verdict inconclusive; worth 18 independent requests
  the rest  1 late, 1 failed: 1 timeout
  ttft      P50 200 ms, P95 480 ms, at most 3.00 s, of 19 successes
  worst     2026-01-01T00:00:09Z success, ttft 3.00 s, e2e 3.00 s, 1 token
            2026-01-01T00:00:19Z timeout, e2e 30.0 s`, fails(t, meets("ttft p95 < 2s")))

	require.Contains(t, fails(t, meets("error_rate < 4%")), "error_rate < 4% does not hold: 5.0% of 20 requests failed, at most 4% may: 1 fewer\n")
	require.Contains(t, fails(t, meets("attainment >= 99%")), "attainment >= 99% does not hold: 90.0% of 20 requests are good, 99% have to be: 2 more\n")
	both := fails(t, meets("ttft p95 < 2s, error_rate < 4%"))
	require.Contains(t, both, "ttft p95 < 2s does not hold")
	require.Contains(t, both, "\nerror_rate < 4% does not hold")
}

// The documentation shows a message as it is.
func TestDocumentedMessage(t *testing.T) {
	page, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	r := twenty()
	for line := range strings.SplitSeq(fails(t, func(t TestingT) bool { return Meets(t, r, "ttft p95 < 2s") }), "\n") {
		require.Contains(t, string(page), "//\t"+line+"\n")
	}
}

// What was not counted is no pass, and the message says what to do.
func TestNotCounted(t *testing.T) {
	r := twenty()
	for text, want := range map[string]string{
		"ttft p95 < 1s": "ttft p95 < 1s was not counted: the report's SLO is ttft p95 < 2s, error_rate < 10%, and a share of any other threshold " +
			"cannot be had from it afterwards; judge the run by an SLO that has ttft p95 < 1s",
		"e2e p95 < 2s": "e2e p95 < 2s was not counted",
		"ttft p95 < 2s, undefined ttft: excluded": "ttft p95 < 2s was not counted with that rule for undefined values",
	} {
		require.Contains(t, fails(t, func(t TestingT) bool { return Meets(t, r, text) }), want)
		require.Contains(t, fails(t, func(t TestingT) bool { return MeetsSurely(t, r, text) }), want)
	}
	r = Report(slo.MustParse("ttft p95 < 2s"))
	require.Equal(t, "ttft p95 < 2s: no data is no pass: no request started in the window, or the rule for undefined values excludes all of them",
		fails(t, func(t TestingT) bool { return Meets(t, r, "ttft p95 < 2s") }))
	require.Contains(t, fails(t, func(t TestingT) bool { return Meets(t, r, "error_rate < 1%") }), "no data is no pass")
	require.Contains(t, fails(t, func(t TestingT) bool { return MeetsSurely(t, r, "ttft p95 < 2s") }), "no data is no pass")
	require.Equal(t, "there is no report: nil", fails(t, func(t TestingT) bool { return Meets(t, nil, "ttft p95 < 2s") }))
}

// A text that is no SLO fails the test with what is wrong with it.
func TestBadText(t *testing.T) {
	r := twenty()
	for _, text := range []string{"", "ttft < 2s", "avg(ttft) < 2s", "tttf p95 < 2s", "ttft p95 < 2"} {
		_, err := slo.Parse(text)
		var parse *slo.ParseError
		require.True(t, errors.As(err, &parse))
		for _, f := range []func(TestingT, *goodput.Report, string) bool{Meets, MeetsSurely} {
			require.Equal(t, err.Error(), fails(t, func(t TestingT) bool { return f(t, r, text) }))
		}
	}
}

func TestMeetsSurely(t *testing.T) {
	judged := func(r *goodput.Report, text string) func(TestingT) bool {
		return func(t TestingT) bool { return MeetsSurely(t, r, text) }
	}
	promise := slo.MustParse("ttft p95 < 2s, error_rate < 10%")
	enough := Report(promise, Records(2000, time.Second, TTFT(200*ms))...)
	holds(t, judged(enough, "ttft p95 < 2s"))
	holds(t, judged(enough, promise.String()))
	require.Contains(t, fails(t, judged(enough, "ttft p90 < 2s")), "ttft p90 < 2s was not judged: the report's SLO is ttft p95 < 2s, error_rate < 10%")
	require.Contains(t, fails(t, judged(enough, "error_rate < 1%")), "error_rate < 1% was not judged")

	few := Report(promise, Records(10, time.Second, TTFT(200*ms))...)
	message := fails(t, judged(few, "ttft p95 < 2s"))
	require.Contains(t, message, "ttft p95 < 2s holds of the sample, and that does not show that the system meets it: 100% of 10 requests")
	require.Contains(t, message, "\n  interval  72.2% to 100% (95% confidence), verdict inconclusive")
	require.Contains(t, message, "\n  warning   ")
	holds(t, func(t TestingT) bool { return Meets(t, few, "ttft p95 < 2s") })
	require.Contains(t, fails(t, judged(twenty(), "ttft p95 < 2s")), "does not hold: 90.0% of 20 requests")

	enough.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{"it left late"}}
	require.Equal(t, "ttft p95 < 2s: the report shows the client and not the system: it left late", fails(t, judged(enough, "ttft p95 < 2s")))
}

// A report that comes from a file is asserted alike, and so is one class.
func TestOtherReports(t *testing.T) {
	b, err := json.Marshal(twenty())
	require.NoError(t, err)
	var r goodput.Report
	require.NoError(t, json.Unmarshal(b, &r))
	holds(t, func(t TestingT) bool { return Meets(t, &r, "ttft p90 < 2s") })
	require.Contains(t, fails(t, func(t TestingT) bool { return Meets(t, &r, "ttft p95 < 2s") }), "90.0% of 20 requests")

	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s"), goodput.WithClasses(slo.Set{"chat": slo.MustParse("ttft p95 < 2s")}))
	for _, one := range append(Records(3, time.Second, Class("chat"), TTFT(200*ms)), Records(2, time.Second, Class("batch"), E2E(time.Hour))...) {
		acc.Observe(one)
	}
	classes := acc.Report()
	require.Equal(t, "ttft p95 < 2s was not counted over all classes, each of which has an SLO of its own: assert it of one (batch, chat) by Report.Classes",
		fails(t, func(t TestingT) bool { return Meets(t, classes, "ttft p95 < 2s") }))
	holds(t, func(t TestingT) bool { return Meets(t, classes.Classes["chat"], "ttft p95 < 2s") })
	holds(t, func(t TestingT) bool { return Meets(t, classes, "error_rate < 1%") })
	holds(t, func(t TestingT) bool { return BooksClose(t, classes) })
	message := fails(t, func(t TestingT) bool { return Meets(t, classes.Classes["batch"], "e2e p95 < 1s") })
	require.Contains(t, message, "0% of 2 requests are in time, 95% have to be: 2 more")
	require.Contains(t, message, "  worst     batch 2026-01-01T00:00:00Z success, e2e 3,600 s")
}

// Where a metric is undefined, what is wrong is not that anything was late, and the message says so, once.
func TestUndefinedIsNotLate(t *testing.T) {
	r := Report(slo.MustParse("ttft p95 < 2s, e2e p95 < 1s"), Records(30, time.Second, E2E(2*time.Second))...)
	const warning = "\n  warning   metric undefined: none of 30 successes had a token event (was nothing streamed?), so none has a ttft; each counts as a miss of ttft p95 < 2s"
	for _, f := range []func(TestingT, *goodput.Report, string) bool{Meets, MeetsSurely} {
		message := fails(t, func(t TestingT) bool { return f(t, r, "ttft p95 < 2s") })
		require.Equal(t, 1, strings.Count(message, warning), message)
		require.NotContains(t, fails(t, func(t TestingT) bool { return f(t, r, "e2e p95 < 1s") }), "undefined")
	}
	surely := Report(slo.MustParse("ttft p95 < 2s, undefined ttft: holds"), Records(30, time.Second, E2E(2*time.Second))...)
	message := fails(t, func(t TestingT) bool { return MeetsSurely(t, surely, "ttft p95 < 2s, undefined ttft: holds") })
	require.Equal(t, 1, strings.Count(message, "metric undefined"), message)
}

// An empty report is none: nobody judged anything in it.
func TestAnEmptyReportIsNone(t *testing.T) {
	empty := &goodput.Report{}
	for _, f := range []func(TestingT) bool{
		func(t TestingT) bool { return Meets(t, empty, "error_rate < 1%") },
		func(t TestingT) bool { return MeetsSurely(t, empty, "error_rate < 1%") },
		func(t TestingT) bool { return GoodputAtLeast(t, empty, 1) },
		func(t TestingT) bool { return BooksClose(t, empty) },
	} {
		require.Equal(t, "there is no report: it is empty, and no SLO has judged anything in it", fails(t, f))
	}
}

// Exactly at the edge: 999 of 1,000 reaches P99.9, and one less does not.
func TestEdge(t *testing.T) {
	at := func(late int) *goodput.Report {
		records := append(Records(1000-late, ms, E2E(time.Second)), Records(late, ms, E2E(2*time.Second))...)
		return Report(slo.MustParse("e2e p99.9 < 1s, error_rate < 1%"), records...)
	}
	holds(t, func(t TestingT) bool { return Meets(t, at(1), "e2e p99.9 < 1s") })
	require.Contains(t, fails(t, func(t TestingT) bool { return Meets(t, at(2), "e2e p99.9 < 1s") }), "99.8% of 1,000 requests are in time, 99.9% have to be: 1 more")
	for n := uint64(1); n < 300; n++ {
		for _, text := range []string{"e2e p95 < 1s", "e2e p99.9 < 1s", "attainment >= 99%"} {
			c := counted{objective: slo.MustParse(text).Objectives[0], n: n}
			k := c.edge()
			require.True(t, c.objective.Reached(k, n))
			require.False(t, k > 0 && c.objective.Reached(k-1, n))
		}
		c := counted{objective: slo.MustParse("error_rate < 1.5%").Objectives[0], n: n}
		require.True(t, c.objective.Reached(c.edge(), n))
		require.False(t, c.objective.Reached(c.edge()+1, n))
	}
}

func TestGoodputAtLeast(t *testing.T) {
	// 11 in 10 s, of which the one in the middle is late.
	records := Records(11, time.Second, E2E(0))
	records[5] = Record(Start(records[5].Start), E2E(2*time.Second))
	r := Report(slo.MustParse("e2e p95 < 1s"), records...)
	require.InDelta(t, 1, r.GoodputRPS, 1e-9)
	at := func(r *goodput.Report, rps float64) func(TestingT) bool {
		return func(t TestingT) bool { return GoodputAtLeast(t, r, rps) }
	}
	holds(t, at(r, 1))
	message := fails(t, at(r, 1.25))
	require.True(t, strings.HasPrefix(message, "goodput is 1.000 requests/s, at least 1.250 were asked for: 20.0% short\n  sample    10 of 11 requests that ended in 10.0 s were good; throughput 1.100/s, attainment 90.9%"), message)
	require.Contains(t, message, "\n  lost      1 e2e p95 < 1s\n  worst     2026-01-01T00:00:05Z success, e2e 2.00 s")

	require.Contains(t, fails(t, at(Report(slo.MustParse("e2e p95 < 1s"), Record()), 1)), "no goodput: the window has no length")
	require.Contains(t, fails(t, at(r, 0)), "asks for nothing")
	require.Equal(t, "there is no report: nil", fails(t, at(nil, 1)))
}

func TestBooksClose(t *testing.T) {
	books := func(r *goodput.Report) func(TestingT) bool { return func(t TestingT) bool { return BooksClose(t, r) } }
	holds(t, books(twenty()))
	require.Equal(t, "no data is no pass: no request started in the window, and none ended in it", fails(t, books(Report(slo.MustParse("e2e p95 < 1s")))))
	r := twenty()
	r.Offered++
	require.Equal(t, "the books do not close\n  offered is 21, and good + late + failed is 20", fails(t, books(r)))
	r = twenty()
	r.Lost["timeout"]--
	require.Contains(t, fails(t, books(r)), "throughput is 20, and goodput + lost is 19")
	r = twenty()
	r.Flow.Success = 30
	require.Contains(t, fails(t, books(r)), "goodput 18 ≤ success 30 ≤ throughput 20 does not hold")
	require.Equal(t, "there is no report: nil", fails(t, books(nil)))
}

func TestRecord(t *testing.T) {
	value := func(r *goodput.Record, m slo.Metric) float64 {
		v, ok := r.Value(m)
		require.True(t, ok)
		return v
	}
	r := Record(Class("chat"), TTFT(200*ms), TPOT(20*ms), Tokens(51), InputTokens(7), Lag(50*ms), E2E(2*time.Second), Limit(slo.TTFT, 1))
	require.InDelta(t, 0.2, value(r, slo.TTFT), 1e-12)
	require.InDelta(t, 0.02, value(r, slo.TPOT), 1e-12)
	require.InDelta(t, 50, value(r, slo.Speed), 1e-9)
	require.InDelta(t, 2, value(r, slo.E2E), 1e-12)
	require.InDelta(t, 0.05, value(r, slo.Lag), 1e-12)
	require.Equal(t, []any{"chat", 7, 51, Epoch, goodput.Success, 1.0}, []any{r.Class, r.InputTokens, r.OutputTokens, r.Start, r.Outcome, r.Limits[slo.TTFT]})

	require.Equal(t, 1200*ms, Record(TTFT(200*ms), TPOT(20*ms), Tokens(51)).End, "with its last token")
	unseen := Record(Tokens(51), E2E(time.Second))
	require.Empty(t, unseen.Tokens, "nobody saw the steps")
	require.Equal(t, 51, unseen.OutputTokens)
	_, ok := Record(Outcome(goodput.Timeout)).Value(slo.TTFT)
	require.False(t, ok)

	all := Records(3, time.Minute, Start(Epoch.Add(time.Hour)))
	require.Equal(t, Epoch.Add(time.Hour+2*time.Minute), all[2].Start)

	for _, bad := range []func(){
		func() { Record(TPOT(ms)) }, func() { Record(TTFT(-1)) }, func() { Record(Tokens(-1)) }, func() { Record(TTFT(1), Tokens(0)) },
		func() { Record(TTFT(time.Second), E2E(ms)) }, func() { Record(Outcome(99)) }, func() { Record(Lag(-1)) },
	} {
		require.Panics(t, bad)
	}
	require.PanicsWithValue(t, "goodputtest: Records: -1 is negative", func() { Records(-1, time.Second) })
}
