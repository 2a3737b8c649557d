package report_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/slo"
)

// capacity is what the queue of the fixtures can take, requests/s.
const capacity = 70.0

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// queueReport is the report of two minutes, and half a minute of warm-up before, of a queue with one server that is offered so many
// requests a second: the first token comes when the service begins, the others follow one after the other. Who would wait for more
// than 4 s gives up, and one in a thousand fails.
func queueReport(rate float64, by slo.SLO, opts ...goodput.Option) *goodput.Report {
	rnd := rand.New(rand.NewPCG(uint64(rate*1000), 7))
	window := goodput.WithWindow(begin.Add(30*time.Second), begin.Add(150*time.Second))
	a := goodput.NewAccumulator(by, append([]goodput.Option{window}, opts...)...)
	var now, free float64
	for now < 150 {
		now += rnd.ExpFloat64() / rate
		wait := math.Max(free-now, 0)
		r := goodput.Record{Start: begin.Add(seconds(now)), Sent: seconds(20e-6 * rnd.ExpFloat64()), InputTokens: 200, Outcome: goodput.Success}
		switch {
		case wait > 4:
			r.Outcome, r.End, r.Detail = goodput.Timeout, seconds(4), "deadline exceeded"
		case rnd.IntN(1000) == 0:
			r.Outcome, r.End, r.Detail = goodput.ServerError, seconds(wait+0.01), "HTTP 500"
		default:
			service := rnd.ExpFloat64() / capacity
			free = now + wait + service
			first, n := wait+service+0.02, 20+rnd.IntN(60)
			step := 0.012 + 0.0002*rate*rnd.Float64()
			for i := range n {
				r.Tokens = append(r.Tokens, goodput.Token{At: seconds(first + float64(i)*step), N: 1})
			}
			r.OutputTokens, r.End = n, seconds(first+float64(n-1)*step)
		}
		a.Observe(&r)
	}
	out := a.Report()
	out.SetWarmup(30 * time.Second)
	out.Health = &goodput.ClientHealth{Verdict: goodput.Valid, Offered: out.Offered, Sent: out.Offered, LagP50: 14e-6, LagP99: 92e-6, LagMax: 1.2e-3,
		InFlight: &goodput.InFlight{Mean: 12.5, Little: 12.4}, Load: &goodput.Load{Plan: "poisson, seed 7"}}
	return out
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

var chat = slo.MustParse("ttft p95 < 500ms, tpot p99 < 50ms, error_rate < 1%")

// sweep is a curve of twelve steps.
func sweep(t testing.TB) *curve.Curve {
	var points []curve.Point
	for _, load := range []float64{2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80} {
		points = append(points, curve.Point{Load: load, Report: queueReport(load, chat)})
	}
	c, err := curve.New(curve.Rate, points)
	require.NoError(t, err)
	require.Equal(t, curve.Crosses, c.Limit.State)
	return c
}

func one(name string, r *goodput.Report) report.Document {
	return report.Document{Title: name, Runs: []report.Run{{Report: r}}}
}

// evil is a name that would like to be more.
const evil = `</script><script>pwned=1</script>"'><img src=x onerror=pwned=1>|@octocat #1 https://evil.example [a](javascript:pwned=1) ` + "`x` \u2028\x1b[31m"

// hostile is a document whose texts are all from an enemy.
func hostile() report.Document {
	by := chat
	by.Name = evil
	r := queueReport(72, by, goodput.WithClasses(slo.Set{evil: slo.MustParse("ttft p95 < 200ms"), "chat": chat}))
	a := goodput.NewAccumulator(by)
	for i := range 40 {
		a.Observe(&goodput.Record{Class: evil, Start: begin.Add(time.Duration(i) * time.Second), End: time.Second, Outcome: goodput.ServerError, Detail: evil, Finish: evil})
	}
	failed := a.Report()
	failed.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{evil, "a second " + evil}, Load: &goodput.Load{Plan: evil}}
	failed.Verdict = goodput.Verdict(evil)
	return report.Document{Title: evil, Runs: []report.Run{{Name: evil, Report: r}, {Name: evil, Report: failed}}, Sections: []report.Section{{
		Title: evil, Label: evil, Text: []string{evil},
		Tables: []report.Table{{Caption: evil, Head: []string{evil, evil}, Rows: [][]string{{evil, evil}}, Folded: true}},
		Charts: []report.Chart{{Title: evil, Sentence: evil, X: report.Axis{Label: evil, Unit: report.Category, Names: []string{evil}}, Y: report.Axis{Label: evil, Unit: report.Unit(evil)},
			At: []float64{0}, Series: []report.Series{{Name: evil, Values: []float64{1}}}, Lines: []report.Mark{{Name: evil, At: 1}}, Bands: []report.Band{{Name: evil, From: 0, To: 1}}}},
	}}}
}

// nothing is a report of nobody.
func nothing() *goodput.Report { return goodput.NewAccumulator(chat).Report() }
