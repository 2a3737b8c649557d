package goodput

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// A second reading of the definitions, in rational numbers and with no care for speed. It shares nothing with what it
// checks but the types of a Record. Random records lie on a grid so coarse that ties, thresholds hit exactly and
// instants on the edges of windows are common.

// refObjective is an objective of the reference: times in ns, a speed in tokens/s, a share in percent.
type refObjective struct {
	metric   string
	ppm      int64
	limit    int64
	perToken int64
	rule     string // for undefined values; "": the default
}

func (o refObjective) text() string {
	switch o.metric {
	case "error_rate":
		return fmt.Sprintf("error_rate < %d%%", o.limit)
	case "attainment":
		return fmt.Sprintf("attainment >= %d%%", o.limit)
	}
	percentile := fmt.Sprintf("p%d", o.ppm/10000)
	switch {
	case o.metric == "speed":
		return fmt.Sprintf("speed %s >= %dtok/s", percentile, o.limit)
	case strings.HasPrefix(o.metric, "x_"):
		return fmt.Sprintf("%s %s < %d", o.metric, percentile, o.limit)
	case o.perToken > 0 && o.limit > 0:
		return fmt.Sprintf("%s %s < %dns + %dns/token", o.metric, percentile, o.limit, o.perToken)
	case o.perToken > 0:
		return fmt.Sprintf("%s %s < %dns/token", o.metric, percentile, o.perToken)
	}
	return fmt.Sprintf("%s %s < %dns", o.metric, percentile, o.limit)
}

func (o refObjective) population() bool { return o.metric == "error_rate" || o.metric == "attainment" }

type refSLO []refObjective

func (s refSLO) slo() slo.SLO {
	var parts []string
	ruled := map[string]bool{}
	for _, o := range s {
		parts = append(parts, o.text())
		if o.rule != "" && !ruled[o.metric] {
			parts = append(parts, "undefined "+o.metric+": "+o.rule)
			ruled[o.metric] = true
		}
	}
	return slo.MustParse(strings.Join(parts, ", "))
}

// ref is one record as the definitions read it. A nil metric is undefined.
type ref struct {
	*Record
	n, seen int64
	value   map[string]*big.Rat // s, s/token, tokens/s
	steps   []*big.Rat          // s, each as often as it carries tokens
	events  int
	atOnce  bool // speed: t_k = t₁
}

func rat(ns time.Duration) *big.Rat { return big.NewRat(int64(ns), 1e9) }

func newRef(rec *Record) *ref {
	v := &ref{Record: rec, value: map[string]*big.Rat{}, events: len(rec.Tokens)}
	tokens := func(i int) int64 { return int64(max(rec.Tokens[i].N, 1)) }
	for i := range rec.Tokens {
		v.seen += tokens(i)
	}
	v.n = max(int64(rec.OutputTokens), v.seen)
	v.value["e2e"], v.value["lag"] = rat(rec.End), rat(rec.Sent)
	v.value["service_e2e"] = rat(rec.End - rec.Sent)
	for m, x := range rec.Custom {
		v.value[string(m)] = new(big.Rat).SetFloat64(x)
	}
	if v.events == 0 {
		return v
	}
	first, last := rec.Tokens[0].At, rec.Tokens[v.events-1].At
	v.value["ttft"], v.value["service_ttft"] = rat(first), rat(first-rec.Sent)
	switch {
	case rec.FirstOutput > 0:
		v.value["ttfo"] = rat(rec.FirstOutput)
	case rec.FirstOutput == 0:
		v.value["ttfo"] = rat(first)
	}
	if v.events < 2 {
		return v
	}
	for i := 1; i < v.events; i++ {
		one := new(big.Rat).Quo(rat(rec.Tokens[i].At-rec.Tokens[i-1].At), big.NewRat(tokens(i), 1))
		for range tokens(i) {
			v.steps = append(v.steps, one)
		}
		if worst := v.value["itl"]; worst == nil || one.Cmp(worst) > 0 {
			v.value["itl"] = one
		}
	}
	if later := v.n - tokens(0); later >= 1 {
		v.value["tpot"] = new(big.Rat).Quo(rat(last-first), big.NewRat(later, 1))
		if last > first {
			v.value["speed"] = new(big.Rat).Quo(big.NewRat(later, 1), rat(last-first))
		} else {
			v.atOnce = true
		}
	}
	return v
}

// threshold is the record's own, or its class's, in the metric's unit.
func (v *ref) threshold(o refObjective) *big.Rat {
	if own, ok := v.Limits[slo.Metric(o.metric)]; ok {
		if strings.HasPrefix(o.metric, "x_") || o.metric == "speed" {
			return new(big.Rat).SetFloat64(own)
		}
		return big.NewRat(int64(math.Round(own*1e9)), 1e9) // rounded to whole nanoseconds
	}
	if strings.HasPrefix(o.metric, "x_") || o.metric == "speed" {
		return big.NewRat(o.limit, 1)
	}
	return big.NewRat(o.limit+o.perToken*v.n, 1e9)
}

// judge says whether an objective holds, whether its metric is undefined, and whether the request left the share.
func (v *ref) judge(o refObjective) (holds, undefined, excluded bool) {
	x := v.value[o.metric]
	switch {
	case o.metric == "speed" && v.atOnce:
		return true, false, false
	case x == nil:
		switch o.rule {
		case "holds":
			return true, true, false
		case "misses":
			return false, true, false
		case "excluded":
			return false, true, true
		}
		ofSteps := o.metric == "tpot" || o.metric == "itl" || o.metric == "speed"
		return ofSteps && v.n == 1, true, false
	case o.metric == "speed":
		return x.Cmp(v.threshold(o)) >= 0, false, false
	}
	return x.Cmp(v.threshold(o)) <= 0, false, false
}

// first objective that a success misses; −1: good.
func (v *ref) first(s refSLO) int {
	for i, o := range s {
		if o.population() {
			continue
		}
		if holds, _, excluded := v.judge(o); !holds && !excluded {
			return i
		}
	}
	return -1
}

// undecided: no threshold has passed yet.
func (v *ref) undecided(s refSLO) bool {
	for _, o := range s {
		_, own := v.Limits[slo.Metric(o.metric)]
		limit := v.threshold(o)
		awaited := o.rule != "holds" && o.rule != "excluded"
		above := func(x *big.Rat) bool { return x != nil && x.Cmp(limit) > 0 }
		passed := false
		switch o.metric {
		case "ttft", "ttfo":
			passed = above(v.value[o.metric]) || v.value[o.metric] == nil && awaited && above(v.value["e2e"])
		case "service_ttft":
			passed = above(v.value[o.metric]) || v.value[o.metric] == nil && awaited && above(v.value["service_e2e"])
		case "e2e", "service_e2e":
			passed = (o.perToken == 0 || own) && above(v.value[o.metric])
		case "lag", "itl":
			passed = above(v.value[o.metric])
		}
		if passed {
			return false
		}
	}
	return true
}

// refWindow is [from, to), or [from, to] where included; whole takes everything.
type refWindow struct {
	whole, open, included bool
	from, to              time.Time
}

func (w refWindow) has(t time.Time) bool {
	return w.whole || !t.Before(w.from) && (w.open || t.Before(w.to) || w.included && t.Equal(w.to))
}

func (w refWindow) length(records []*Record) float64 {
	from, to := w.from, w.to
	if w.whole || w.open {
		to = from
		for i, r := range records {
			end := r.Start.Add(r.End)
			if w.whole && (i == 0 || r.Start.Before(from)) {
				from = r.Start
			}
			if end.After(to) {
				to = end
			}
		}
		if to.Before(from) {
			to = from
		}
	}
	return to.Sub(from).Seconds()
}

// arrivals is the inverse of the mean gap between the Starts in the window, sorted; NaN where there is none.
func arrivals(records []*Record, w refWindow) float64 {
	var starts []time.Time
	for _, rec := range records {
		if w.has(rec.Start) {
			starts = append(starts, rec.Start)
		}
	}
	slices.SortFunc(starts, time.Time.Compare)
	var sum time.Duration
	for i := 1; i < len(starts); i++ {
		sum += starts[i].Sub(starts[i-1])
	}
	if sum == 0 {
		return math.NaN()
	}
	return 1 / (sum.Seconds() / float64(len(starts)-1))
}

// refCheck compares a report with what the reference counts of the records. s is nil for a total that no SLO judges.
func refCheck(t *testing.T, name string, r *Report, records []*Record, w refWindow, length float64, sloOf func(class string) refSLO, s refSLO) {
	t.Helper()
	var offered, good, undecided uint64
	outcomes := map[Outcome]uint64{}
	lost := map[string]uint64{}
	var f Flow
	samples := map[string][]float64{}
	objectives := make(Objectives, len(s))
	flowMissed := make([]uint64, len(s))
	for _, rec := range records {
		v := newRef(rec)
		own := sloOf(rec.Class)
		first := v.first(own)
		isGood := rec.Outcome == Success && first < 0
		if w.has(rec.Start) {
			offered++
			outcomes[rec.Outcome]++
			if isGood {
				good++
			}
			if rec.Outcome == Unfinished && v.undecided(own) {
				undecided++
			}
			if rec.Outcome == Success {
				for m, x := range v.value {
					if m != "itl" {
						f, _ := x.Float64()
						samples[m] = append(samples[m], f)
					}
				}
				for _, x := range v.steps {
					f, _ := x.Float64()
					samples["itl"] = append(samples["itl"], f)
				}
				if rec.InputTokens > 0 {
					samples["input_tokens"] = append(samples["input_tokens"], float64(rec.InputTokens))
				}
				if v.n > 0 {
					samples["output_tokens"] = append(samples["output_tokens"], float64(v.n))
				}
			}
			for i, o := range s {
				objectives[i].N++
				if o.population() || rec.Outcome != Success {
					continue
				}
				holds, undefined, excluded := v.judge(o)
				switch {
				case excluded:
					objectives[i].N--
					objectives[i].Excluded++
				case holds:
					objectives[i].Within++
				default:
					objectives[i].Missed++
				}
				if undefined {
					objectives[i].Undefined++
				}
			}
		}
		if !w.has(rec.Start.Add(rec.End)) {
			continue
		}
		switch rec.Outcome {
		case Dropped:
			f.Dropped++
			continue
		case Unfinished:
			f.Unfinished++
			continue
		}
		f.Ended++
		f.InputTokens += uint64(rec.InputTokens)
		f.OutputTokens += uint64(v.n)
		if rec.Outcome != Success {
			lost[rec.Outcome.String()]++
			continue
		}
		f.Success++
		if isGood {
			f.Good++
			f.GoodInputTokens += uint64(rec.InputTokens)
			f.GoodOutputTokens += uint64(v.n)
		} else {
			lost[own.slo().Objectives[first].String()]++
		}
		for i, o := range s {
			if holds, _, excluded := v.judge(o); !o.population() && !holds && !excluded {
				flowMissed[i]++
			}
		}
	}

	assert.Equal(t, offered, r.Offered, name)
	assert.Equal(t, good, r.Good, name)
	assert.Equal(t, outcomes[Success]-good, r.Late, name)
	assert.Equal(t, undecided, r.Undecided, name)
	assert.Equal(t, outcomes, r.Outcomes, name)
	assert.Equal(t, f, r.Flow, name)
	assert.Equal(t, lost, r.Lost, name)
	share := func(n, of uint64) float64 {
		if of == 0 {
			return math.NaN()
		}
		return float64(n) / float64(of)
	}
	rate := func(n uint64) float64 {
		if length == 0 {
			return math.NaN()
		}
		return float64(n) / length
	}
	equal := func(want, got float64, what string) {
		t.Helper()
		if math.IsNaN(want) || math.IsNaN(got) {
			assert.Equal(t, math.IsNaN(want), math.IsNaN(got), "%s: %s: want %v, got %v", name, what, want, got)
			return
		}
		assert.InDelta(t, want, got, 1e-12*math.Abs(want), "%s: %s", name, what)
	}
	equal(share(good, offered), r.Attainment, "attainment")
	equal(share(good, offered), r.AttainmentBounds[0], "lower bound")
	equal(share(good+undecided, offered), r.AttainmentBounds[1], "upper bound")
	equal(length, r.WindowS, "window")
	equal(rate(offered), r.OfferedRPS, "offered")
	equal(arrivals(records, w), r.ArrivalRPS, "arrival rate")
	equal(rate(f.Ended), r.ThroughputRPS, "throughput")
	equal(rate(f.Success), r.SuccessRPS, "success")
	equal(rate(f.Good), r.GoodputRPS, "goodput")
	equal(rate(f.OutputTokens), r.OutputTPS, "output")
	equal(rate(f.GoodOutputTokens), r.TokenGoodputTPS, "token goodput")
	equal(rate(f.InputTokens+f.OutputTokens), r.TotalTPS, "total tokens")
	equal(rate(f.GoodInputTokens+f.GoodOutputTokens), r.TotalGoodputTPS, "total token goodput")
	equal(rate(f.Dropped), r.DroppedRPS, "dropped")
	equal(rate(f.Unfinished), r.UnfinishedRPS, "unfinished")
	for cause, n := range lost {
		equal(rate(n), r.LostRPS[cause], "lost to "+cause)
	}
	require.Len(t, r.Objectives, len(s), name)
	for i, o := range s {
		got, want := r.Objectives[i], objectives[i]
		what := name + ": " + o.text()
		count := want.Within
		switch o.metric {
		case "error_rate":
			count = offered - outcomes[Success]
		case "attainment":
			count = good
		}
		assert.Equal(t, want.N, got.N, what)
		assert.Equal(t, want.Within, got.Within, what)
		assert.Equal(t, want.Missed, got.Missed, what)
		assert.Equal(t, want.Undefined, got.Undefined, what)
		assert.Equal(t, want.Excluded, got.Excluded, what)
		equal(share(count, want.N), got.Share, what)
		holds := want.N > 0
		if x := new(big.Rat); holds {
			x.SetFrac64(int64(count), int64(want.N))
			switch o.metric {
			case "error_rate":
				holds = x.Cmp(big.NewRat(o.limit, 100)) <= 0
			case "attainment":
				holds = x.Cmp(big.NewRat(o.limit, 100)) >= 0
			default:
				holds = x.Cmp(big.NewRat(o.ppm, 1e6)) >= 0
			}
		}
		assert.Equal(t, holds, got.Holds, what)
		if want.N == 0 {
			assert.Equal(t, NoData, got.Verdict, what)
		}
		if got.Verdict == Met || got.Verdict == Missed && got.Batches > 0 {
			assert.Equal(t, holds, got.Verdict == Met, "%s: a verdict agrees with its sample", what)
		}
		if !o.population() {
			equal(rate(flowMissed[i]), got.MissedRPS, what)
		}
	}
	assert.Len(t, r.Percentiles, len(samples), name)
	for m, x := range samples {
		slices.Sort(x)
		d, what := r.Percentiles[m], name+": "+m
		require.EqualValues(t, len(x), d.N, what)
		near := func(want, got float64) { assert.InDelta(t, want, got, 1e-9*max(want, 1), what) }
		near(x[0], d.Min)
		near(x[len(x)-1], d.Max)
		for q, got := range map[float64]float64{0.5: d.P50, 0.9: d.P90, 0.95: d.P95, 0.99: d.P99} {
			h := q * float64(len(x)-1)
			k := int(h)
			want := x[k]
			if k+1 < len(x) {
				want += (h - float64(k)) * (x[k+1] - x[k])
			}
			near(want, got)
		}
	}
	assert.LessOrEqual(t, r.Flow.Good, r.Flow.Success, name)
	assert.LessOrEqual(t, r.Flow.Success, r.Flow.Ended, name)
}
