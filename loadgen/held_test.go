package loadgen

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

// randomTokens are events of which some are simultaneous, some have many tokens, and in one case of ten some have what they
// cannot have.
func randomTokens(r *rand.Rand) []goodput.Token {
	ts := make([]goodput.Token, r.IntN(30))
	at := time.Duration(0)
	for i := range ts {
		at += time.Duration(r.IntN(4)) * ms
		ts[i] = goodput.Token{At: at, N: 1 + r.IntN(3)}
	}
	if len(ts) > 0 && r.IntN(10) == 0 {
		t := &ts[r.IntN(len(ts))]
		t.At, t.N = []time.Duration{-1, 0, time.Hour, 1 << 62}[r.IntN(4)], []int{-1, 0, 1, 1 << 31, 1 << 40}[r.IntN(5)]
	}
	return ts
}

// What is kept of the steps of a request in the warm-up is judged as all of them are, by whatever objective.
func TestEssential(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	var good, fewer int
	n := fewerIfRace(3000)
	for range n {
		s := slo.MustParse(pick("ttft p95 < 5ms", "tpot p95 < 1ms", "tpot p95 < 700us", "itl p95 < 3ms", "itl p95 < 1ms", "itl p95 < 1500us", "speed p95 >= 1000tokens/s", "ttfo p95 < 6ms", "e2e p95 < 10ms + 1ms/token"))
		rec := goodput.Record{Start: time.Unix(1, 0), Outcome: goodput.Success, Tokens: randomTokens(r), FirstOutput: time.Duration(r.IntN(8)-1) * ms, OutputTokens: r.IntN(60)}
		if k := len(rec.Tokens); k > 0 {
			rec.End = max(0, rec.Tokens[k-1].At+time.Duration(r.IntN(3)-1)*ms)
		}
		held := heldRecord(&rec, true)
		assert.LessOrEqual(t, len(held.Tokens), len(rec.Tokens))
		if len(held.Tokens) < len(rec.Tokens) {
			require.LessOrEqual(t, len(held.Tokens), 4)
			fewer++
		}
		var reports [2]string
		for i, r := range []*goodput.Record{&rec, held} {
			a := goodput.NewAccumulator(s, goodput.WithWindow(rec.Start.Add(time.Nanosecond), time.Time{})) // which it ends in, at most
			a.Observe(r)
			a.EndWindow(rec.Start.Add(time.Minute))
			b, err := json.Marshal(a.Report())
			require.NoError(t, err)
			reports[i] = string(b)
		}
		require.Equal(t, reports[0], reports[1], "%v: %+v", s, rec)
		if goodput.NewJudge(s, nil).Good(&rec) {
			good++
		}
	}
	assert.Greater(t, good, n/5)
	assert.Less(t, good, n*4/5)
	assert.Greater(t, fewer, n/2)
}

// spoken ends each request as its first token events say.
type spoken struct {
	*delays
	r *rand.Rand
}

func (s spoken) Step(now time.Time, end func(*Call, *goodput.Record)) {
	s.delays.Step(now, func(c *Call, rec *goodput.Record) {
		rec.Tokens, rec.OutputTokens = rec.Tokens[:0], 0
		for at := time.Duration(0); at < rec.End; at += time.Duration(s.r.IntN(9)) * ms {
			rec.Tokens = append(rec.Tokens, goodput.Token{At: at, N: 1 + s.r.IntN(2)})
		}
		end(c, rec)
	})
}

// A run whose warm-up ends by count gives the report that its records give, of which none was held.
func TestWarmupByCountForgetsSteps(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		file, err := os.Create(filepath.Join(t.TempDir(), "records.jsonl"))
		require.NoError(t, err)
		p := Plan{SLO: slo.MustParse("itl p95 < 7ms, tpot p95 < 4ms, ttft p95 < 50ms, e2e p95 < 1s"), WarmupRequests: 1 + r.IntN(400), Requests: 300, Records: file}
		if p.Concurrency = 20; seed%2 > 0 {
			p.Concurrency, p.Arrivals = 0, Poisson{Rate: 100, Seed: seed}
		}
		res, err := Simulate(t.Context(), p, Description{Tokens: true}, spoken{&delays{do: func(int) (time.Duration, goodput.Outcome) {
			return time.Duration(r.IntN(300)) * ms, goodput.Success
		}}, r})
		require.NoError(t, err)
		again, err := goodput.ReadReport(file)
		require.NoError(t, err)
		want, err := json.Marshal(again)
		require.NoError(t, err)
		got, err := json.Marshal(res.Report)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got))
		require.Positive(t, res.Report.Good)
		require.Positive(t, res.Report.Late)
		require.NoError(t, file.Close())
	}
}

// What a warm-up by count holds does not grow with the tokens of its requests.
func TestWarmupByCountHoldsLittle(t *testing.T) {
	if race.Enabled {
		t.Skip("it counts bytes, of which the race detector has its own")
	}
	const n = 20_000
	var before, after uint64
	i := 0
	long := make([]goodput.Token, 500)
	for i := range long {
		long[i] = goodput.Token{At: time.Duration(i) * time.Microsecond, N: 1}
	}
	s := &delays{do: func(int) (time.Duration, goodput.Outcome) {
		switch i++; i {
		case 100:
			before = heap.Live()
		case n:
			after = heap.Live()
		}
		return ms, goodput.Success
	}}
	_, err := Simulate(t.Context(), Plan{SLO: e2e, Concurrency: 4, WarmupRequests: n, Requests: 10}, Description{}, steps{s, long})
	require.NoError(t, err)
	each := (int64(after) - int64(before)) / n
	t.Logf("%d bytes each", each)
	assert.Less(t, each, int64(400), "500 events take 8,000 bytes")
}

// steps gives each request the same token events.
type steps struct {
	*delays
	tokens []goodput.Token
}

func (s steps) Step(now time.Time, end func(*Call, *goodput.Record)) {
	s.delays.Step(now, func(c *Call, rec *goodput.Record) {
		rec.Tokens = s.tokens
		end(c, rec)
	})
}
