package compat

import (
	"fmt"
	"math"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Kind says which rule a [Difference] comes from.
type Kind string

// The kinds of difference, in the order in which they are taken.
const (
	Objectives  Kind = "objectives"  // objectives that the tool does not judge
	Limits      Kind = "limits"      // thresholds that requests brought along
	Success     Kind = "success"     // what is a success
	Clock       Kind = "clock"       // from the send or from the arrival
	End         Kind = "end"         // with the last chunk or with the end
	PerToken    Kind = "per token"   // how time per output token is computed
	Undefined   Kind = "undefined"   // answers of one token, and those whose steps nobody saw
	Denominator Kind = "denominator" // who is in it
	Duration    Kind = "duration"    // what rates divide by
	Tokens      Kind = "tokens"      // whose output tokens are in the rates
	Steps       Kind = "steps"       // what a step between tokens is
	Percentiles Kind = "percentiles" // how a percentile is taken, and of what
	Search      Kind = "search"      // a figure that needs more than one run
	Validity    Kind = "validity"    // a condition of a valid run
)

// A Difference is one rule by which a tool departs from ours, where it makes one here.
type Difference struct {
	Kind     Kind
	Text     string  // a clause, with its figures
	Requests uint64  // that are judged differently for it
	Points   float64 // by which it moves attainment, from the rules before it: 0.021 for 2.1 points; NaN: not about that
	Rate     float64 // by which it moves every rate: 0.05 for 5 % more; NaN: not about that
}

func (d Difference) String() string {
	text := d.Text
	if !math.IsNaN(d.Points) && d.Points != 0 {
		text += ": attainment " + points(d.Points)
	}
	if !math.IsNaN(d.Rate) {
		text += ": rates " + relative(d.Rate)
	}
	return text
}

// points is a difference of shares: "+2.1 points".
func points(p float64) string {
	if p *= 100; math.Abs(p) < 0.05 {
		return fmt.Sprintf("%+.2g points", p)
	}
	return fmt.Sprintf("%+.1f points", p)
}

func relative(r float64) string { return fmt.Sprintf("%+.1f%%", 100*r) }

func counted(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return figure.Count(n) + " " + more
}

// A step is one rule that a tool has in place of ours.
type step struct {
	kind Kind
	take func(u, theirs *rules) // takes that rule over
	text func(s *Scorer, before, after *rules, changed uint64) string
}

// steps lead from our rules to another tool's. The order matters to what each of them makes, and not to their sum.
var steps = []step{
	{Objectives, func(u, t *rules) { u.known = t.known }, func(s *Scorer, _, u *rules, _ uint64) string {
		var names []string
		for i := range s.limits {
			if !u.judges(&s.limits[i]) {
				names = append(names, s.slo.Objectives[i].String())
			}
		}
		if len(names) == 0 {
			return ""
		}
		return "does not judge " + strings.Join(names, ", ")
	}},
	{Limits, func(u, t *rules) { u.noLimits = t.noLimits }, func(s *Scorer, _, _ *rules, changed uint64) string {
		return counted(changed, "request is", "requests are") + " not judged by the threshold that it brought along"
	}},
	{Success, func(u, t *rules) { u.stream = t.stream }, func(s *Scorer, _, u *rules, _ uint64) string {
		errored := s.count(func(w *row) bool { return u.success(w) && !w.isSuccess() })
		silent := s.count(func(w *row) bool { return !u.success(w) && w.isSuccess() })
		var parts []string
		if errored > 0 {
			parts = append(parts, counted(errored, "stream that ended in an error after its first chunk is a success", "streams that ended in an error after their first chunk are successes"))
		}
		if silent > 0 {
			parts = append(parts, counted(silent, "answer without a chunk is a failure", "answers without a chunk are failures"))
		}
		return strings.Join(parts, ", ")
	}},
	{Clock, func(u, t *rules) { u.fromSend = t.fromSend }, func(s *Scorer, _, u *rules, _ uint64) string {
		waited, most := uint64(0), int64(0)
		for i := range s.rows {
			if w := &s.rows[i]; u.counted(w) && w.wasSent() && w.sent > 0 {
				waited++
				most = max(most, w.sent)
			}
		}
		return fmt.Sprintf("counts from the send: %s waited in the client, %s at most", counted(waited, "request had", "requests had"), figure.Seconds(float64(most)/1e9))
	}},
	{End, func(u, t *rules) { u.toLast = t.toLast }, func(*Scorer, *rules, *rules, uint64) string {
		return "a request ends with its last chunk, not with the end of the answer"
	}},
	{PerToken, func(u, t *rules) { u.tpot, u.chunks = t.tpot, t.chunks }, func(s *Scorer, _, _ *rules, _ uint64) string {
		return "tpot divides by the tokens less 1, however many the first chunk carried"
	}},
	{Undefined, func(u, t *rules) { u.undefined, u.oneToken = t.undefined, t.oneToken }, func(s *Scorer, b, u *rules, changed uint64) string {
		who := counted(changed, "answer", "answers") + " of one token, or whose steps are not to be seen,"
		is, of := "is", "counts"
		if changed != 1 {
			is, of = "are", "count"
		}
		switch {
		case u.undefined == undefinedHolds:
			return who + " " + of + " as in time"
		case u.undefined == undefinedExcluded:
			return who + " " + is + " left out"
		case u.oneToken:
			return who + " " + of + " as late, having neither ttft nor tpot"
		}
		return who + " " + of + " as late"
	}},
	{Denominator, func(u, t *rules) { u.noTokenless = t.noTokenless }, leftOut("answer without a token", "answers without a token")},
	{Denominator, func(u, t *rules) { u.noDropped = t.noDropped }, leftOut("request that was never sent", "requests that were never sent")},
	{Denominator, func(u, t *rules) { u.noCutOff = t.noCutOff }, leftOut("request that was cut off or cancelled", "requests that were cut off or cancelled")},
	{Denominator, func(u, t *rules) { u.noFailed = t.noFailed }, leftOut("failed request", "failed requests")},
}

func leftOut(one, more string) func(*Scorer, *rules, *rules, uint64) string {
	return func(_ *Scorer, _, _ *rules, changed uint64) string {
		return counted(changed, one, more) + " left out of the denominator"
	}
}

// differences are what a tool's rules make of the records, compared with ours.
func (s *Scorer) differences(theirs *rules, score, ours *Score) (all []Difference) {
	add := func(k Kind, text string) {
		all = append(all, Difference{Kind: k, Text: text, Points: math.NaN(), Rate: math.NaN()})
	}
	if score.shares {
		all = s.chain(theirs)
	} else if len(score.NotJudged) > 0 {
		add(Objectives, steps[0].text(s, nil, theirs, 0))
	}
	all = append(all, s.durations(score, ours)...)
	all = append(all, s.tokenDifferences(theirs)...)
	all = append(all, s.stepDifferences(score, ours)...)
	all = append(all, s.percentileDifferences(score)...)
	switch {
	case score.Tool == DistServe:
		add(Search, "its goodput is the rate at which attainment reaches 90 %, found over several runs: one run has an attainment alone")
	case score.Tool == MLPerf:
		add(Search, "its result is the highest rate of a valid run: one run is valid or not")
		if score.Completed == 0 {
			add(Validity, "not valid: there is no complete answer of two tokens or more")
			break
		}
		for _, text := range score.Server.says() {
			add(Validity, text)
		}
	case score.Tool == VLLM && s.pooling():
		add(Search, "prints no goodput of requests that do not stream")
	}
	if n := s.count(func(w *row) bool { return w.outcome != goodput.Success }); n > 0 && score.Tool == MLPerf {
		add(Denominator, "it does not know of requests without a complete answer, and there are "+figure.Count(n)+": its run would not end")
	}
	return all
}

// chain takes over one rule after the other and says what each makes.
func (s *Scorer) chain(theirs *rules) (all []Difference) {
	var at rules
	n, ok := s.share(&at)
	for _, st := range steps {
		next := at
		st.take(&next, theirs)
		nn, nok := s.share(&next)
		changed := s.changed(&at, &next)
		if changed > 0 || st.kind == Objectives {
			if text := st.text(s, &at, &next, changed); text != "" {
				d := Difference{Kind: st.kind, Text: text, Requests: changed, Points: ratio(nok, nn) - ratio(ok, n), Rate: math.NaN()}
				all = append(all, d)
			}
		}
		at, n, ok = next, nn, nok
	}
	return all
}

func ratio(a, b uint64) float64 { return float64(a) / float64(b) }

// Differences that are too small to be worth a line.
const (
	leastRate    = 0.001 // of a rate
	leastLatency = 0.01  // of a percentile
)

func (s *Scorer) durations(score, ours *Score) (all []Difference) {
	if score.Tool == InferencePerf {
		alone := s.span((*row).isSuccess, atSent, atEnd)
		if rate := score.DurationS/alone - 1; rate >= leastRate {
			all = append(all, Difference{Kind: Duration, Points: math.NaN(), Rate: math.NaN(), Text: fmt.Sprintf(
				"goodput divides by the %s in which there were successes, throughput by %s: goodput %s", figure.Seconds(alone), figure.Seconds(score.DurationS), relative(rate))})
		}
	}
	rate := ours.DurationS/score.DurationS - 1
	if math.IsNaN(rate) || math.Abs(rate) < leastRate {
		return all
	}
	what := map[Tool]string{
		VLLM:          "from the first arrival to the last end",
		AIPerf:        "from the first send to the last content of a success",
		GuideLLM:      "from the first send to the last end",
		InferencePerf: "from the first send to the last end",
		DistServe:     "from the first arrival to the last answer",
		MLPerf:        "until the sample that was issued last was done",
	}[score.Tool]
	if score.Tool == VLLM && s.vllmDuration > 0 {
		what = "as its own clock says"
	}
	return append(all, Difference{Kind: Duration, Points: math.NaN(), Rate: rate,
		Text: fmt.Sprintf("its run takes %s, %s, and ours %s", figure.Seconds(score.DurationS), what, figure.Seconds(ours.DurationS))})
}

// tokenDifferences: ours are the output tokens of all that ended, those before a failure too.
func (s *Scorer) tokenDifferences(u *rules) []Difference {
	var lost uint64
	for i := range s.rows {
		if w := &s.rows[i]; w.wasSent() && w.outcome != goodput.Unfinished && !(u.counted(w) && u.success(w)) {
			lost += uint64(w.ownCount())
		}
	}
	if lost == 0 {
		return nil
	}
	return []Difference{{Kind: Tokens, Points: math.NaN(), Rate: math.NaN(),
		Text: counted(lost, "output token that came before a failure is", "output tokens that came before a failure are") + " in no rate"}}
}

func (s *Scorer) stepDifferences(score, ours *Score) (all []Difference) {
	what := map[Tool]string{
		VLLM:          "a chunk is one step, however many tokens it carries",
		AIPerf:        "steps are those between chunks (its inter_chunk_latency)",
		InferencePerf: "the tokens of a chunk are steps of 0 but for the first",
	}[score.Tool]
	for _, q := range []struct {
		name         string
		theirs, ours float64
	}{{"P99", score.ITL.P99, ours.ITL.P99}, {"P50", score.ITL.P50, ours.ITL.P50}} {
		if d := math.Abs(q.theirs/q.ours - 1); d >= leastLatency && !math.IsInf(d, 0) {
			return []Difference{{Kind: Steps, Points: math.NaN(), Rate: math.NaN(),
				Text: fmt.Sprintf("%s: itl %s %s, where it is %s per token", what, q.name, figure.Seconds(q.theirs), figure.Seconds(q.ours))}}
		}
	}
	return nil
}

// percentileDifferences hold a tool's percentiles of ttft, tpot and e2e against those that interpolate between the same
// values, one for each metric.
func (s *Scorer) percentileDifferences(score *Score) (all []Difference) {
	if score.Tool != GuideLLM && score.Tool != MLPerf {
		return nil
	}
	u := s.rulesOf(score.Tool)
	var plain Score
	s.latencies("", &u, func(w *row) bool { return u.counted(w) && u.success(w) && (score.Tool != MLPerf || w.n > 1) }, &plain)
	texts := map[string][]string{}
	for _, m := range []struct {
		name      slo.Metric
		got, want Distribution
	}{{slo.TTFT, score.TTFT, plain.TTFT}, {slo.TPOT, score.TPOT, plain.TPOT}, {slo.E2E, score.E2E, plain.E2E}} {
		for _, q := range []struct {
			name      string
			got, want float64
		}{{"P99", m.got.P99, m.want.P99}, {"P95", m.got.P95, m.want.P95}, {"P50", m.got.P50, m.want.P50}} {
			if d := math.Abs(q.got/q.want - 1); !(d >= leastLatency) || math.IsInf(d, 0) {
				continue
			}
			what := whatPercentile
			switch {
			case score.Tool == GuideLLM && m.name == slo.TPOT:
				what = whatWeighted
			case score.Tool == GuideLLM && m.got.N != m.want.N:
				what = whatZero
			}
			texts[what] = append(texts[what], fmt.Sprintf("%s %s is %s and not %s", m.name, q.name, figure.Seconds(q.got), figure.Seconds(q.want)))
			break
		}
	}
	for _, what := range []string{whatPercentile, whatZero, whatWeighted} {
		if len(texts[what]) > 0 {
			all = append(all, Difference{Kind: Percentiles, Points: math.NaN(), Rate: math.NaN(), Text: what + ": " + strings.Join(texts[what], ", ")})
		}
	}
	return all
}

const (
	whatPercentile = "a percentile is one of the values, with no interpolation"
	whatZero       = "a value that there is not is 0"
	whatWeighted   = "a request's tpot counts as often as it has tokens less 1"
)

// says is what keeps the run from being a valid one.
func (r *ServerRun) says() (all []string) {
	if !r.Constraints {
		all = append(all, "not valid: a P99 is above its limit")
	}
	if !r.EarlyStopping {
		all = append(all, "not valid: too few samples for as many as are above a limit; "+counted(r.MoreSamples, "more, within it, would do", "more, all within it, would do"))
	}
	if !r.Duration {
		all = append(all, "not valid: the last sample has to be scheduled 600 s after the first")
	}
	if r.OneToken > 0 {
		all = append(all, "not valid: "+counted(r.OneToken, "answer of one token or none is an error", "answers of one token or none are errors"))
	}
	return all
}
