package posthoc

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// The second reading: another run, judged from the start by thresholds that were scaled in rational numbers.

// byHand is a threshold at a scale, which is given as its digits.
func byHand(m slo.Metric, t slo.Threshold, scale string) slo.Threshold {
	f, ok := new(big.Rat).SetString(scale)
	if !ok {
		panic(scale)
	}
	if f.Cmp(big.NewRat(1, 1)) == 0 || m.Population() {
		return t
	}
	if m.Custom() {
		v, _ := f.Float64()
		if t.Limit < 0 {
			v = 1 / v
		}
		return slo.Threshold{Limit: t.Limit * v}
	}
	if m == slo.Speed {
		f.Inv(f)
	}
	round := func(v float64) float64 { // whole billionths, a half rounded up
		if v == 0 {
			return 0
		}
		n := new(big.Rat).Mul(big.NewRat(int64(math.Round(v*1e9)), 1), f)
		n.Add(n, big.NewRat(1, 2))
		whole := new(big.Int).Div(n.Num(), n.Denom())
		return float64(max(whole.Int64(), 1)) / 1e9
	}
	return slo.Threshold{Limit: round(t.Limit), PerToken: round(t.PerToken)}
}

func scaledSLO(s slo.SLO, scale string) slo.SLO {
	s.Objectives = slices.Clone(s.Objectives)
	for i, o := range s.Objectives {
		s.Objectives[i].Threshold = byHand(o.Metric, o.Threshold, scale)
	}
	return s
}

// scaled is the run as if it had been judged by scaled thresholds from the start.
func (v run) scaled(scale string) run {
	v.slo = scaledSLO(v.slo, scale)
	if v.set != nil {
		v.set = maps.Clone(v.set)
		for class, s := range v.set {
			v.set[class] = scaledSLO(s, scale)
		}
	}
	v.records = slices.Clone(v.records)
	for i, r := range v.records {
		if len(r.Limits) == 0 {
			continue
		}
		other := *r
		other.Limits = map[slo.Metric]float64{}
		for m, limit := range r.Limits {
			other.Limits[m] = byHand(m, slo.Threshold{Limit: limit}, scale).Limit
		}
		v.records[i] = &other
	}
	return v
}

func same(t *testing.T, want, got float64, what string) {
	t.Helper()
	if math.IsNaN(want) {
		require.True(t, math.IsNaN(got), "%s: %v", what, got)
		return
	}
	require.Equal(t, want, got, what) // to the last bit
}

// requireStep requires a step's figures to be a report's.
func requireStep(t *testing.T, want *goodput.Report, got Step) {
	t.Helper()
	require.Equal(t, want.Good, got.Good)
	same(t, want.Attainment, got.Attainment, "attainment")
	same(t, want.GoodputRPS, got.GoodputRPS, "goodput")
	same(t, want.TokenGoodputTPS, got.TokenGoodputTPS, "token goodput")
	require.Len(t, got.Objectives, len(want.Objectives))
	for i, o := range want.Objectives {
		s := got.Objectives[i]
		require.Equal(t, o.N, s.N)
		same(t, o.Share, s.Share, o.Objective.String())
		require.Equal(t, o.Holds, s.Holds)
		if !o.Objective.Metric.Population() {
			require.Equal(t, o.Within, s.Count)
		}
	}
	require.Equal(t, sampleHolds(want), got.Holds)
}

// sampleHolds reports whether a sample meets its SLO or, where classes have their own, those of all that had requests.
func sampleHolds(r *goodput.Report) bool {
	if r.Offered == 0 {
		return false
	}
	for _, o := range r.Objectives {
		if !o.Holds {
			return false
		}
	}
	for _, c := range r.Classes {
		if len(r.Objectives) == 0 && c.Offered > 0 && !sampleHolds(c) {
			return false
		}
	}
	return true
}

func at(t *testing.T, v View, scale float64) Step {
	i := slices.IndexFunc(v.Curve, func(s Step) bool { return s.Scale == scale })
	require.GreaterOrEqual(t, i, 0)
	return v.Curve[i]
}

func views(a *Analysis) []View { return append([]View{a.Total}, a.Classes...) }

func (v run) reportOf(r *goodput.Report, class string) *goodput.Report {
	if class == "" {
		return r
	}
	return r.Classes[class]
}

func allRuns(t *testing.T, random int) []run { return append(vectors(t), randomRuns(random)...) }

func TestScaleOneIsTheReport(t *testing.T) {
	for _, v := range allRuns(t, 25) {
		t.Run(v.name, func(t *testing.T) {
			want, a := v.report(), v.analysis(t)
			assert.Equal(t, want.String(), a.Report.String())
			require.Len(t, a.Classes, len(want.Classes))
			for _, view := range views(a) {
				r := v.reportOf(want, view.Class)
				require.NotNil(t, r)
				require.Equal(t, r.Offered, view.Offered)
				requireStep(t, r, at(t, view, 1))
				if s := view.Surface; s != nil && s.Own[0] >= 0 && s.Own[1] >= 0 {
					i, j := s.Own[0], s.Own[1]
					require.Equal(t, r.Good, s.Good[i][j])
					same(t, r.Attainment, s.Attainment[i][j], "surface")
					same(t, r.GoodputRPS, s.GoodputRPS[i][j], "surface")
				}
			}
		})
	}
}

func TestScaleCurveAgainstOtherRuns(t *testing.T) {
	for _, v := range allRuns(t, 25) {
		t.Run(v.name, func(t *testing.T) {
			a := v.analysis(t, WithScales(0.001, 0.4, 0.7, 0.9999, 1.001, 1.5, 2, 12.34, 99.99))
			for scale, text := range map[float64]string{0.001: "0.001", 0.4: "0.4", 0.7: "0.7", 0.9999: "0.9999", 1.001: "1.001", 1.5: "1.5", 2: "2", 12.34: "12.34", 99.99: "99.99"} {
				want := v.scaled(text).report()
				for _, view := range views(a) {
					requireStep(t, v.reportOf(want, view.Class), at(t, view, scale))
				}
			}
		})
	}
}

// neighbour is the scale below one, in its digits.
func neighbour(t *testing.T, scale float64) string {
	s, err := scaleOf(scale)
	require.NoError(t, err)
	return text((s - 1).float())
}

func TestTightestHoldsAndTheNextDoesNot(t *testing.T) {
	found := 0
	for _, v := range allRuns(t, 12) {
		t.Run(v.name, func(t *testing.T) {
			a := v.analysis(t, WithAttainment(0.6))
			check := func(b Bound, holds func(*goodput.Report) bool, class, what string) {
				r := func(scale string) *goodput.Report { return v.reportOf(v.scaled(scale).report(), class) }
				switch b.State {
				case Found:
					found++
					assert.True(t, holds(r(text(b.Scale))), "%s at %v", what, b.Scale)
					assert.False(t, holds(r(neighbour(t, b.Scale))), "%s below %v", what, b.Scale)
				case AtMost:
					assert.True(t, holds(r("0.001")), what)
				case Never:
					assert.False(t, holds(r("99.99")), what)
				case NoData:
					assert.False(t, holds(r("1")), what)
				}
			}
			for _, view := range views(a) {
				check(view.Tightest, sampleHolds, view.Class, "SLO")
				check(view.Attains, func(r *goodput.Report) bool { return 10*r.Good >= 6*r.Offered && r.Offered > 0 }, view.Class, "60 %")
				for i, o := range view.Objectives {
					check(o.Bound, func(r *goodput.Report) bool { return r.Objectives[i].Holds }, view.Class, o.Objective.String())
					if o.State == Found && !o.Objective.Metric.Population() && !o.Objective.Metric.Custom() {
						assert.Equal(t, byHand(o.Objective.Metric, o.Objective.Threshold, text(o.Scale)), o.At.Threshold)
						if o.At.Threshold.Limit < slo.MaxSpeed {
							assert.NoError(t, o.At.Validate())
						}
					}
				}
			}
		})
	}
	assert.Greater(t, found, 100)
}

// withThresholds is s with these on ttft and tpot, in place of all it had or beside what it has.
func withThresholds(s slo.SLO, ttft, tpot float64) slo.SLO {
	var objectives []slo.Objective
	for _, o := range s.Objectives {
		if o.Metric != slo.TTFT && o.Metric != slo.TPOT {
			objectives = append(objectives, o)
		}
	}
	s.Objectives = append(objectives, slo.Objective{Metric: slo.TTFT, Percentile: 50, Threshold: slo.Threshold{Limit: ttft}},
		slo.Objective{Metric: slo.TPOT, Percentile: 50, Threshold: slo.Threshold{Limit: tpot}})
	return s
}

func TestSurfaceAgainstOtherRuns(t *testing.T) {
	seen := 0
	for _, v := range allRuns(t, 25) {
		if v.set != nil {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			ttft := []time.Duration{30 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, time.Second}
			tpot := []time.Duration{10 * time.Millisecond, 3333333, 5 * time.Millisecond}
			s := v.analysis(t, WithTTFT(ttft...), WithTPOT(tpot...)).Total.Surface
			if s == nil {
				_, any := v.report().Percentiles["ttft"]
				require.False(t, any)
				return
			}
			seen++
			require.True(t, slices.IsSorted(s.TTFT))
			require.True(t, slices.IsSorted(s.TPOT))
			other := v
			other.records = nil
			for _, r := range v.records { // one that was no threshold of the SLO would be one of the other's
				r := *r
				r.Limits = maps.Clone(r.Limits)
				for m, own := range map[slo.Metric]int{slo.TTFT: s.Own[0], slo.TPOT: s.Own[1]} {
					if own < 0 {
						delete(r.Limits, m)
					}
				}
				other.records = append(other.records, &r)
			}
			for i, x := range s.TTFT {
				for j, y := range s.TPOT {
					other.slo = withThresholds(v.slo, x, y)
					want := other.report()
					require.Equal(t, want.Good, s.Good[i][j], "ttft %v, tpot %v", x, y)
					same(t, want.Attainment, s.Attainment[i][j], "attainment")
					same(t, want.GoodputRPS, s.GoodputRPS[i][j], "goodput")
				}
			}
		})
	}
	assert.Greater(t, seen, 30)
}

func TestMonotone(t *testing.T) {
	up := func(t *testing.T, row []float64) {
		for i := 1; i < len(row); i++ {
			require.False(t, row[i] < row[i-1], "%v", row)
		}
	}
	for _, v := range allRuns(t, 25) {
		for _, view := range views(v.analysis(t)) {
			columns := map[string][]float64{}
			for _, s := range view.Curve {
				columns["attainment"] = append(columns["attainment"], s.Attainment)
				columns["goodput"] = append(columns["goodput"], s.GoodputRPS)
				columns["tokens"] = append(columns["tokens"], s.TokenGoodputTPS)
				for i, o := range s.Objectives {
					if view.SLO.Objectives[i].Metric != slo.ErrorRate {
						columns[view.SLO.Objectives[i].String()] = append(columns[view.SLO.Objectives[i].String()], o.Share)
					}
				}
			}
			if s := view.Surface; s != nil {
				for i := range s.Attainment {
					up(t, s.Attainment[i])
					up(t, s.GoodputRPS[i])
				}
				for j := range s.TPOT {
					var column []float64
					for i := range s.TTFT {
						column = append(column, s.Attainment[i][j])
					}
					up(t, column)
				}
			}
			for _, column := range columns {
				up(t, column)
			}
		}
	}
}

// Every scale there is has its four digits, and thresholds never fall as it rises.
func TestScales(t *testing.T) {
	require.Equal(t, 1.0, one.float())
	require.Equal(t, MinScale, scale(0).float())
	require.Equal(t, MaxScale, scale(scales-1).float())
	times := []slo.Threshold{{Limit: 1e-9}, {Limit: 0.8}, {Limit: 3600 * 720}, {Limit: 1, PerToken: 0.0400001}, {PerToken: 1e-9}, {Limit: 1e-12}, {Limit: 4e9}}
	for s := scale(1); s < scales; s++ {
		back, err := scaleOf(s.float())
		if err != nil || back != s || s.float() <= (s-1).float() {
			require.Fail(t, "scale", "%v: %v, %v", s.float(), back, err)
		}
		for m, limits := range map[slo.Metric][]slo.Threshold{
			slo.E2E:   times,
			slo.Speed: {{Limit: 1e-9}, {Limit: 25}, {Limit: slo.MaxSpeed}, {Limit: 1e-12}, {Limit: 1e9}},
		} {
			for _, limit := range limits { // as requests are compared with it
				a, perA := (s - 1).threshold(m, limit).Billionths()
				b, perB := s.threshold(m, limit).Billionths()
				if m == slo.Speed {
					a, b = b, a
				}
				if a > b || perA > perB {
					require.Fail(t, "threshold", "%v at %v: %v %v, %v %v", limit, s.float(), a, perA, b, perB)
				}
			}
		}
		for _, limit := range []float64{-math.MaxFloat64, -3, 0, 3, math.MaxFloat64} {
			if a, b := (s-1).threshold("x_a", slo.Threshold{Limit: limit}), s.threshold("x_a", slo.Threshold{Limit: limit}); a.Limit > b.Limit {
				require.Fail(t, "threshold", "%v at %v", limit, s.float())
			}
		}
	}
	_, err := Scaled(slo.Chat(), 0.12345)
	require.ErrorContains(t, err, "more than four digits: 0.1235 has not")
	half, err := Scaled(slo.MustParse("ttft p95 < 1s, speed p90 >= 20tok/s, e2e p95 < 1s + 41ms/token, x_a p50 < -3, error_rate < 1%, undefined ttft: holds"), 0.5)
	require.NoError(t, err)
	assert.Equal(t, "ttft p95 < 500ms, speed p90 >= 40tok/s, e2e p95 < 500ms + 20.5ms/token, x_a p50 < -6, error_rate < 1%, undefined ttft: holds", half.String())
}
