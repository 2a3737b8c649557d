package goodputtest

import (
	"fmt"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Epoch is when a record starts that says nothing else.
var Epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// An Option says something of a synthetic record.
type Option func(*spec)

type spec struct {
	r          goodput.Record
	ttft, tpot time.Duration // < 0: not said
	e2e        time.Duration
	tokens     int
}

// Class is the record's class.
func Class(name string) Option { return func(s *spec) { s.r.Class = name } }

// Start is when the request was meant to begin; without it Epoch.
func Start(at time.Time) Option { return func(s *spec) { s.r.Start = at } }

// Outcome is how the request ended; without it a success.
func Outcome(o goodput.Outcome) Option { return func(s *spec) { s.r.Outcome = o } }

// TTFT is when the first token came. Without it nobody saw the steps: there are no token events.
func TTFT(d time.Duration) Option { return func(s *spec) { s.ttft = notNegative("TTFT", d) } }

// TPOT is the time between two tokens; without it they come at once. It needs a TTFT.
func TPOT(d time.Duration) Option { return func(s *spec) { s.tpot = notNegative("TPOT", d) } }

// Tokens is how many output tokens there are; without it 1 where there is a TTFT, and else nobody knows.
func Tokens(n int) Option { return func(s *spec) { s.tokens = notNegative("Tokens", n) } }

// InputTokens is how many tokens the request has.
func InputTokens(n int) Option {
	return func(s *spec) { s.r.InputTokens = notNegative("InputTokens", n) }
}

// E2E is when the request ended; without it with its last token.
func E2E(d time.Duration) Option { return func(s *spec) { s.e2e = notNegative("E2E", d) } }

// Lag is when the request was really sent.
func Lag(d time.Duration) Option { return func(s *spec) { s.r.Sent = notNegative("Lag", d) } }

// Limit is a threshold that the request brings along, in the metric's base unit.
func Limit(m slo.Metric, v float64) Option {
	return func(s *spec) {
		if s.r.Limits == nil {
			s.r.Limits = map[slo.Metric]float64{}
		}
		s.r.Limits[m] = v
	}
}

// Record is one synthetic record:
//
//	goodputtest.Record(goodputtest.TTFT(200*time.Millisecond), goodputtest.TPOT(20*time.Millisecond), goodputtest.Tokens(50))
//
// It panics of what cannot be meant: negative times and counts, a TPOT without a TTFT, an end before the last token.
func Record(opts ...Option) *goodput.Record {
	s := spec{r: goodput.Record{Start: Epoch, Outcome: goodput.Success}, ttft: -1, tpot: -1, e2e: -1, tokens: -1}
	for _, o := range opts {
		o(&s)
	}
	r := &s.r
	var last time.Duration
	switch {
	case s.ttft >= 0:
		if s.tokens < 0 {
			s.tokens = 1
		}
		if s.tokens == 0 {
			panic("goodputtest: Record: a TTFT with no Tokens")
		}
		r.Tokens = make([]goodput.Token, s.tokens)
		for i := range r.Tokens {
			last = s.ttft + time.Duration(i)*max(s.tpot, 0)
			r.Tokens[i] = goodput.Token{At: last, N: 1}
		}
		r.FirstByte = s.ttft
	case s.tpot >= 0:
		panic("goodputtest: Record: a TPOT without a TTFT")
	}
	r.OutputTokens = max(s.tokens, 0)
	if r.End = s.e2e; s.e2e < 0 {
		r.End = max(last, r.Sent)
	}
	switch {
	case r.End < last:
		panic(fmt.Sprintf("goodputtest: Record: it ends at %v, before its last token at %v", r.End, last))
	case !r.Outcome.Valid():
		panic("goodputtest: Record: no such outcome: " + r.Outcome.String())
	}
	return r
}

// Records are n records alike that start every so often, the first at Start. It panics where Record does.
func Records(n int, every time.Duration, opts ...Option) []*goodput.Record {
	all := make([]*goodput.Record, notNegative("Records", n))
	for i := range all {
		all[i] = Record(opts...)
		all[i].Start = all[i].Start.Add(time.Duration(i) * every)
	}
	return all
}

// Report is what an SLO makes of records. It panics of an SLO that is invalid, as [goodput.NewAccumulator] does.
func Report(s slo.SLO, records ...*goodput.Record) *goodput.Report {
	acc := goodput.NewAccumulator(s)
	for _, r := range records {
		acc.Observe(r)
	}
	return acc.Report()
}

func notNegative[N ~int | ~int64](what string, n N) N {
	if n < 0 {
		panic(fmt.Sprintf("goodputtest: %s: %v is negative", what, n))
	}
	return n
}
