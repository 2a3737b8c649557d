package goodput

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// The answers to what-if questions are those of the Judge and of the report, of every vector and of random records.
func TestHoldsAgreesWithTheReport(t *testing.T) {
	for _, v := range readVectors(t) {
		a := v.accumulator()
		judge := NewJudge(a.slo, a.set)
		type counts struct{ cohort, good, flow, tokens uint64 }
		byClass := map[string]counts{}
		var total counts
		for _, rec := range v.Records {
			r := rec.record()
			a.Observe(r)
			v := r.Measure()
			class, cohort, flow := a.Place(r, &v)
			good := judge.Good(r)
			c := byClass[class]
			if cohort {
				c.cohort++
				if good {
					c.good++
				}
			}
			if flow && good {
				c.flow++
				c.tokens += uint64(v.OutputTokens())
			}
			byClass[class] = c
			requireSameJudgement(t, judge, r, &v)
		}
		report := a.Report()
		for class, c := range byClass {
			of := report
			if len(report.Classes) > 0 {
				of = report.Classes[class]
			}
			require.NotNil(t, of, "%s: %s", v.Name, class)
			assert.Equal(t, counts{of.Offered, of.Good, of.Flow.Good, of.Flow.GoodOutputTokens}, c, "%s: %s", v.Name, class)
			total = counts{total.cohort + c.cohort, total.good + c.good, total.flow + c.flow, total.tokens + c.tokens}
		}
		assert.Equal(t, report.Offered, total.cohort, v.Name)
	}
	rng := rand.New(rand.NewPCG(4, 2))
	for range 300 {
		judge := NewJudge(randomRefSLO(rng).slo(), nil)
		for range 20 {
			r := randomRefRecord(rng)
			v := r.Measure()
			requireSameJudgement(t, judge, r, &v)
		}
	}
}

func requireSameJudgement(t *testing.T, judge *Judge, r *Record, v *Values) {
	t.Helper()
	if r.Outcome != Success {
		return
	}
	s, want := judge.SLO(r.Class), judge.Judge(r)
	for i, o := range s.Objectives {
		if own, ok := r.Limit(o.Metric); ok {
			o.Threshold = own
		}
		holds, excluded := v.Holds(o, s.Undefined[o.Metric])
		if o.Metric.Population() {
			require.False(t, holds || excluded)
			continue
		}
		require.Equal(t, want.Misses(i), !holds && !excluded, "%v of %v", o, r)
		require.Equal(t, want.Undefined(i) && s.Undefined[o.Metric] == slo.UndefinedExcluded, excluded)
	}
}

func TestHoldsOfWhatCannotBeMeant(t *testing.T) {
	r := &Record{Outcome: Success, Limits: map[slo.Metric]float64{slo.TTFT: -1, slo.Attainment: 0.5, "y": 1, slo.E2E: 2}}
	v := r.Measure()
	for _, m := range []slo.Metric{slo.TTFT, slo.Attainment, "y", slo.TPOT} {
		_, ok := r.Limit(m)
		assert.False(t, ok, m)
	}
	own, ok := r.Limit(slo.E2E)
	assert.True(t, ok)
	assert.Equal(t, slo.Threshold{Limit: 2}, own)
	holds, excluded := v.Holds(slo.Objective{Metric: "y"}, "")
	assert.False(t, holds || excluded)
	a := NewAccumulator(slo.Chat())
	a.Observe(r)
	_, cohort, flow := a.Place(r, &v)
	assert.False(t, cohort || flow, "it has no Start, and was refused")
}

func TestEachIsCalledOncePerRecord(t *testing.T) {
	var b bytes.Buffer
	w, err := NewRecordWriter(&b, RecordsHeader{Start: time.Unix(0, 0), SLO: slo.Chat()})
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, w.Write(&Record{Start: time.Unix(int64(i), 0), Outcome: Success, End: time.Second}))
	}
	require.NoError(t, w.Close(RecordsFooter{Complete: true}))
	n := uint64(0)
	r, err := ReadReport(bytes.NewReader(b.Bytes()), Each(func(a *Accumulator, r *Record) {
		n++
		assert.Equal(t, n, a.Report().Offered, "it has been observed")
	}))
	require.NoError(t, err)
	assert.Equal(t, r.Offered, n)
}
