package compat

import (
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"

	"github.com/goodputkit/goodputkit/slo"
)

// A Score is what one tool makes of the records. A figure that the tool does not have is NaN.
type Score struct {
	Tool      Tool   // "" : ours
	Requests  uint64 // in the denominator of Attainment
	Completed uint64 // what the tool calls successful
	Failed    uint64 // what it knows of that is not; MLPerf and DistServe know of none
	Good      uint64

	// Attainment is Good / Requests. vLLM prints only the rate, GoodputRPS, and MLPerf only whether the run is valid.
	Attainment float64

	DurationS     float64 // that the rates divide by, s
	ThroughputRPS float64 // completed requests/s
	GoodputRPS    float64 // good requests/s
	OutputTPS     float64 // output tokens/s
	TotalTPS      float64 // input and output tokens/s

	TTFT, TPOT, ITL, E2E Distribution

	NotJudged   []slo.Objective // objectives that the tool does not know
	Server      *ServerRun      // of MLPerf alone
	Differences []Difference    // that its rules make here

	shares bool // the tool judges requests one by one
}

// ServerRun is whether MLPerf's server scenario would take the run. Limits are those of the SLO on ttft and tpot or, where
// it has neither, on e2e, each held against the P99 whatever the objective's percentile.
type ServerRun struct {
	Constraints   bool   // the P99s are within their limits
	EarlyStopping bool   // enough samples for as many as were above a limit
	MoreSamples   uint64 // how many more it would take if all of them were within
	Duration      bool   // the last sample was scheduled at least 600 s after the first
	OneToken      uint64 // answers of one token or of none, which are errors
}

// Valid reports whether all conditions hold.
func (r ServerRun) Valid() bool {
	return r.Constraints && r.EarlyStopping && r.Duration && r.OneToken == 0
}

// A Comparison is one run by everybody's rules.
type Comparison struct {
	SLO      slo.SLO
	Report   *goodput.Report // ours, whole
	Ours     Score           // the part of it that others have too
	Scores   []Score         // in the order of Tools
	Warnings []error         // ErrRefused, and those of the report
}

// rulesOf are a tool's rules for one run. In a run in which no request has a token event, nothing streamed: vLLM then has
// its rules for pooling.
func (s *Scorer) rulesOf(t Tool) rules {
	latencies := []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E}
	u := rules{known: latencies, noLimits: true, fromSend: true, tpot: tpotMinusOne, noDropped: true}
	switch t {
	case VLLM:
		u.stream, u.toLast, u.undefined, u.noFailed = true, true, undefinedHolds, true
		if s.pooling() {
			u.stream, u.known = false, []slo.Metric{}
		}
	case AIPerf:
		u.toLast, u.undefined = true, undefinedMisses
	case GuideLLM:
		u.chunks, u.undefined, u.noCutOff = true, undefinedExcluded, true
	case InferencePerf:
		u.known = append(latencies, slo.ITL)
		u.undefined, u.oneToken, u.noFailed = undefinedMisses, true, true
	case DistServe:
		u.known = []slo.Metric{slo.TTFT, slo.TPOT}
		u.undefined, u.noTokenless, u.noFailed = undefinedHolds, true, true
	case MLPerf:
		u.known = []slo.Metric{slo.TTFT, slo.TPOT}
		if !slices.ContainsFunc(s.limits, func(l limit) bool { return u.knows(l.metric) }) {
			u.known = []slo.Metric{slo.E2E}
		}
		u.fromSend, u.tpot, u.noTokenless, u.noFailed = false, tpotToEnd, true, true
	}
	return u
}

// pooling: no request has a token event.
func (s *Scorer) pooling() bool { return s.count(func(w *row) bool { return w.events > 0 }) == 0 }

// Compare scores what was observed. Observing may go on afterwards.
func (s *Scorer) Compare() *Comparison {
	c := &Comparison{SLO: s.slo, Report: s.acc.Report()}
	c.Warnings = append(c.Warnings, c.Report.Warnings...)
	if s.refused > 0 {
		c.Warnings = append(c.Warnings, &refusedError{s.refused})
	}
	c.Ours = s.ours(c.Report)
	for _, t := range Tools() {
		u := s.rulesOf(t)
		score := s.score(t, &u)
		score.Differences = s.differences(&u, &score, &c.Ours)
		c.Scores = append(c.Scores, score)
	}
	return c
}

func (s *Scorer) ours(r *goodput.Report) Score {
	of := func(m slo.Metric) Distribution { d, ok := r.Percentiles[string(m)]; return ofReport(d, ok) }
	ok := r.Outcomes[goodput.Success]
	return Score{Requests: r.Offered, Completed: ok, Failed: r.Offered - ok, Good: r.Good, Attainment: r.Attainment, DurationS: r.WindowS,
		ThroughputRPS: r.SuccessRPS, GoodputRPS: r.GoodputRPS, OutputTPS: r.OutputTPS, TotalTPS: r.TotalTPS,
		TTFT: of(slo.TTFT), TPOT: of(slo.TPOT), ITL: of(slo.ITL), E2E: of(slo.E2E)}
}

func (s *Scorer) score(t Tool, u *rules) Score {
	out := Score{Tool: t, Attainment: math.NaN(), GoodputRPS: math.NaN()}
	for i := range s.limits {
		if !u.judges(&s.limits[i]) {
			out.NotJudged = append(out.NotJudged, s.slo.Objectives[i])
		}
	}
	done := func(w *row) bool { return u.counted(w) && u.success(w) && (t != MLPerf || w.n > 1) }
	tokens, total := uint64(0), uint64(0)
	for i := range s.rows {
		if w := &s.rows[i]; done(w) {
			out.Completed++
			tokens += uint64(u.tokens(w))
			total += uint64(u.tokens(w)) + uint64(w.in)
		}
	}
	if !u.noFailed || t == VLLM || t == InferencePerf {
		out.Failed = s.count(func(w *row) bool { return u.counted(w) && !u.success(w) })
	}
	s.latencies(t, u, done, &out)

	sent := func(w *row) bool { return w.wasSent() }
	rated := float64(out.Completed)
	switch t {
	case VLLM:
		if out.DurationS = s.vllmDuration; out.DurationS <= 0 {
			out.DurationS = s.span(sent, atStart, atEnd)
		}
	case AIPerf:
		out.DurationS = s.span(done, atSent, func(w *row) int64 { return w.sent + u.e2e(w) })
	case GuideLLM, InferencePerf:
		out.DurationS = s.span(sent, atSent, atEnd)
	case DistServe:
		out.DurationS = s.span(done, atStart, atEnd)
	case MLPerf:
		out.DurationS, rated = s.untilLastIssued(done), rated-1
	}
	out.ThroughputRPS, out.OutputTPS, out.TotalTPS = rated/out.DurationS, float64(tokens)/out.DurationS, float64(total)/out.DurationS
	if rated < 0 {
		out.ThroughputRPS = math.NaN()
	}
	if t == MLPerf {
		out.Server = s.serverRun(&out)
		out.Requests = out.Completed
		return out
	}
	if t == VLLM && s.pooling() { // it prints no goodput of what does not stream
		out.Requests = out.Completed
		return out
	}
	out.shares = true
	if out.Requests, out.Good = s.share(u); out.Requests == 0 {
		return out
	}
	out.Attainment = float64(out.Good) / float64(out.Requests)
	switch t {
	case InferencePerf:
		out.GoodputRPS = float64(out.Good) / s.span(done, atSent, atEnd)
	case DistServe: // a rate found by a search over runs
	default:
		out.GoodputRPS = float64(out.Good) / out.DurationS
	}
	return out
}

// latencies are the distributions of what a tool calls done.
func (s *Scorer) latencies(t Tool, u *rules, done func(*row) bool, out *Score) {
	m := map[Tool]method{GuideLLM: inverse, MLPerf: cut}[t]
	var ttft, tpot, e2e []value
	for i := range s.rows {
		w := &s.rows[i]
		if !done(w) {
			continue
		}
		switch v := u.ttft(w); {
		case v >= 0:
			ttft = append(ttft, value{float64(v) / 1e9, 1})
		case t == GuideLLM:
			ttft = append(ttft, value{0, 1})
		}
		e2e = append(e2e, value{float64(u.e2e(w)) / 1e9, 1})
		dt, n := u.tpotOf(w)
		switch {
		case n == 0 && t == DistServe && w.n == 1:
			tpot = append(tpot, value{0, 1})
		case n == 0:
		case t == MLPerf:
			tpot = append(tpot, value{float64(dt/n) / 1e9, 1})
		case t == GuideLLM:
			tpot = append(tpot, value{float64(dt) / float64(n) / 1e9, float64(n)})
		default:
			tpot = append(tpot, value{float64(dt) / float64(n) / 1e9, 1})
		}
	}
	out.TTFT, out.TPOT, out.E2E, out.ITL = distributionOf(ttft, m), distributionOf(tpot, m), distributionOf(e2e, m), noDistribution()
	switch t {
	case VLLM:
		all := s.chunks.Clone()
		all.Merge(s.errored)
		out.ITL = stepsOf(all)
	case AIPerf:
		out.ITL = stepsOf(s.chunks)
	case InferencePerf:
		out.ITL = stepsOf(s.tokens)
	}
}

// untilLastIssued is MLPerf's duration: from the first scheduled instant until the sample that was issued last was done, s.
func (s *Scorer) untilLastIssued(done func(*row) bool) float64 {
	if s.untimed {
		return s.span(done, atStart, atEnd)
	}
	begin, last := int64(math.MaxInt64), -1
	for i := range s.rows {
		w := &s.rows[i]
		begin = min(begin, w.start)
		if done(w) && (last < 0 || w.start > s.rows[last].start) {
			last = i
		}
	}
	if last < 0 {
		return math.NaN()
	}
	if ns := s.rows[last].start + s.rows[last].end - begin; ns > 0 {
		return float64(ns) / 1e9
	}
	return math.NaN()
}

type refusedError struct{ n uint64 }

func (e *refusedError) Error() string {
	return counted(e.n, "record has", "records have") + " no usable start, and so are in no figure"
}
func (e *refusedError) Unwrap() error { return ErrRefused }
