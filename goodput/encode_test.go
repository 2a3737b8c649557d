package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/wire"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

func encoded(t testing.TB, records int, opts ...Option) []byte {
	a := NewAccumulator(slo.MustParse("ttft p95 < 100ms, e2e p99 < 1s, error_rate < 1%, x_a p90 < 1, undefined x_a: excluded"), opts...)
	rng := rand.New(rand.NewPCG(uint64(records), 4))
	for range records {
		a.Observe(hostile(rng))
		r := request(time.Duration(rng.IntN(1e6))*ms, time.Duration(rng.IntN(3000))*ms)
		r.Tokens = tokens(r.End/3, r.End/2)
		r.Custom = map[slo.Metric]float64{"x_a": float64(rng.IntN(3)), "x_b": 1}
		a.Observe(r)
	}
	b, err := a.MarshalBinary()
	require.NoError(t, err)
	return b
}

func TestBinaryRoundTrip(t *testing.T) {
	for name, opts := range map[string][]Option{
		"whole run": nil,
		"window":    {WithWindow(epoch, epoch.Add(time.Minute)), WithConfidence(0.9)},
		"open":      {WithWindow(epoch, time.Time{}), WithClasses(slo.Set{"a": slo.MustParse("e2e p50 < 1s"), "idle": slo.MustParse("lag p50 < 1s")})},
	} {
		for _, n := range []int{0, 1, 500} {
			b := encoded(t, n, opts...)
			var a Accumulator
			require.NoError(t, a.UnmarshalBinary(b), name)
			again, err := a.MarshalBinary()
			require.NoError(t, err)
			if n <= 1 {
				assert.True(t, bytes.Equal(b, again), name)
			}
			var c Accumulator
			require.NoError(t, c.UnmarshalBinary(again))
			x, err := json.Marshal(a.Report())
			require.NoError(t, err)
			y, err := json.Marshal(c.Report())
			require.NoError(t, err)
			assert.JSONEq(t, string(x), string(y), name)
			a.Observe(request(time.Second, time.Second))
			assert.Equal(t, c.Report().Offered+1, a.Report().Offered, "it goes on")
		}
	}
}

func TestBinaryRefusesEveryCut(t *testing.T) {
	b := encoded(t, 20)
	for n := 0; n < len(b); n += 1 + n/100 {
		var a Accumulator
		require.ErrorIs(t, a.UnmarshalBinary(b[:n]), ErrEncoding, "%d bytes", n)
	}
	var a Accumulator
	require.ErrorIs(t, a.UnmarshalBinary(append(b, 0)), ErrEncoding)
	for i := 0; i < len(b); i += 1 + i/100 { // damage anywhere
		bad := slices.Clone(b)
		bad[i] ^= 1 << (i % 8)
		require.ErrorIs(t, a.UnmarshalBinary(bad), ErrEncoding, "byte %d", i)
	}

	whole := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	whole.Observe(request(0, time.Second))
	require.Error(t, whole.UnmarshalBinary(b[:len(b)-1]))
	assert.EqualValues(t, 1, whole.Report().Offered, "left as it was")
}

func TestBinaryRefusesBooksThatDoNotClose(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for i := range 10 {
		a.Observe(request(time.Duration(i)*time.Second, time.Second))
	}
	one := func(change func(*worstOne)) func(*classSnapshot) {
		return func(c *classSnapshot) {
			c.late = []worstOne{{outcome: Success}}
			change(&c.late[0])
		}
	}
	for says, spoils := range map[string][]func(*classSnapshot){
		"": {
			func(*classSnapshot) {}, one(func(*worstOne) {}),
			func(c *classSnapshot) { c.failed = slices.Repeat([]worstOne{{outcome: Timeout}}, worstKept) },
			func(c *classSnapshot) { c.name = strings.Repeat("x", 128) },
		},
		"the books do not close": {
			func(c *classSnapshot) { c.books.good = 11 },
			func(c *classSnapshot) { c.books.flow.Ended = 11 },
			func(c *classSnapshot) { c.books.flowFirst[0] = 1 },
		},
		"the books of e2e p95 < 1s do not close": {
			func(c *classSnapshot) { c.books.within[0] = 3 },
			func(c *classSnapshot) { c.books.undefined[0] = 11 },
			func(c *classSnapshot) { c.books.flowMissed[0] = 11 },
		},
		"the time slices do not add up": {
			func(c *classSnapshot) { c.books.slices.add(0, nCohort, 1) },
			func(c *classSnapshot) { c.books.slices.add(0, nGood, 1) },
			func(c *classSnapshot) { c.books.slices.add(0, nFailed, 1) },
		},
		"2⁵⁶": {
			func(c *classSnapshot) { c.books.offered = 1 << 60 },
			func(c *classSnapshot) { c.books.slices.add(0, cTokens, maxCounted); c.books.slices.add(1, cTokens, 1) },
		},
		"damaged time slices": {
			func(c *classSnapshot) { c.books.slices.width = 3 * firstWidth },
			func(c *classSnapshot) { c.books.slices.width++ },
			func(c *classSnapshot) {
				s := c.books.slices
				s.n, s.counts = maxSlices+1, append(s.counts, make([]uint64, maxSlices*s.stride())...)
			},
			func(c *classSnapshot) { c.books.slices.lo = math.MinInt64 },
			func(c *classSnapshot) { c.books.slices.lo = math.MaxInt64 },
		},
		"bad starts": {func(c *classSnapshot) { c.books.starts.first = c.books.starts.last + 1 }},
		"bad class name": {
			func(c *classSnapshot) { c.name = "" },
			func(c *classSnapshot) { c.name = strings.Repeat("x", 129) },
		},
		"too many custom metrics": {func(c *classSnapshot) {
			c.books.customs = map[slo.Metric]*percentile.Digest{}
			for _, m := range []slo.Metric{"x_a", "x_b", "x_c", "x_d", "x_e"} {
				c.books.customs[m] = percentile.New()
				c.books.customs[m].Add(1)
			}
		}},
		"too many worst requests": {func(c *classSnapshot) { c.failed = slices.Repeat([]worstOne{{outcome: Timeout}}, worstKept+1) }},
		"bad worst request": {
			one(func(w *worstOne) { w.outcome = 0 }), one(func(w *worstOne) { w.score = -1 }), one(func(w *worstOne) { w.score = math.NaN() }),
			one(func(w *worstOne) { w.score = math.Inf(1) }), one(func(w *worstOne) { w.excess = math.Inf(1) }), one(func(w *worstOne) { w.s.gap = -2 }),
			one(func(w *worstOne) { w.s.last = maxOffset + 1 }),
		},
	} {
		for i, spoil := range spoils {
			s := a.snapshot()
			spoil(&s.classes[0])
			e := encoder{}
			e.class(&s.classes[0])
			d := decoder{wire.NewDecoder(e.Encoder)}
			d.class(a)
			if says == "" {
				require.NoError(t, d.Err(), i)
			} else {
				require.ErrorContains(t, d.Err(), says, i)
			}
		}
	}
}

// What is sealed and still cannot be meant.
func TestBinaryRefusesWhatIsNoAccumulator(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"), WithClasses(slo.Set{"own": slo.MustParse("lag p95 < 1s")}))
	for _, class := range []string{"twice", "twins"} {
		r := request(0, time.Second)
		r.Class = class
		a.Observe(r)
	}
	b, err := a.MarshalBinary()
	require.NoError(t, err)
	body := b[:len(b)-4]
	for says, body := range map[string][]byte{
		"1 bytes too many":    append(slices.Clone(body), 0),
		`class "twice" twice`: bytes.Replace(body, []byte("\x05twins"), []byte("\x05twice"), 1),
		"slo: ":               bytes.Replace(body, []byte("e2e p95 < 1s"), []byte("e2e p95 < 0s"), 1),
	} {
		err := new(Accumulator).UnmarshalBinary(wire.Encoder(body).Seal())
		require.ErrorIs(t, err, ErrEncoding)
		require.ErrorContains(t, err, says)
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	for _, n := range []int{0, 1, 3, 30} {
		for _, b := range [][]byte{encoded(f, n), encoded(f, n, WithWindow(epoch, time.Time{}), WithClasses(slo.Set{"a": slo.MustParse("e2e p50 < 1s")}))} {
			f.Add(b[:len(b)-4])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		data := wire.Encoder(append([]byte(encodingMagic), body[min(len(encodingMagic), len(body)):]...)).Seal()
		var a Accumulator
		if err := a.UnmarshalBinary(data); err != nil {
			require.ErrorIs(t, err, ErrEncoding)
			return
		}
		r := a.Report()
		_, err := json.Marshal(r)
		require.NoError(t, err)
		requireBooksClose(t, r)
		a.Observe(request(time.Second, time.Second))
		most := func() uint64 {
			s := a.snapshot()
			return s.most()
		}
		if err := a.Merge(&a); err != nil {
			require.ErrorIs(t, err, errCounted)
			require.Greater(t, most(), uint64(maxCounted/2))
		}
		requireBooksClose(t, a.Report())
		b, err := a.MarshalBinary()
		if err != nil {
			require.ErrorIs(t, err, errCounted)
			require.Greater(t, most(), uint64(maxCounted))
			return
		}
		require.NoError(t, err)
		require.NoError(t, new(Accumulator).UnmarshalBinary(b))
	})
}

func TestMergeRefuses(t *testing.T) {
	s := slo.MustParse("e2e p95 < 1s")
	a := NewAccumulator(s)
	for says, o := range map[string]*Accumulator{
		`the SLO is "e2e p95 < 1s" and "e2e p95 < 2s" (fingerprints`:                  NewAccumulator(slo.MustParse("e2e p95 < 2s")),
		`and "ttft p95 < 1s, undefined ttft: holds"`:                                  NewAccumulator(slo.MustParse("ttft p95 < 1s, undefined ttft: holds")),
		`is the same, but for the class a, which only the second has: "e2e p95 < 1s"`: NewAccumulator(s, WithClasses(slo.Set{"a": s})),
		"window whole run and from":                                                   NewAccumulator(s, WithWindow(epoch, epoch.Add(time.Hour))),
	} {
		o.Observe(request(time.Second, time.Second))
		err := a.Merge(o)
		require.ErrorIs(t, err, ErrMerge)
		assert.ErrorContains(t, err, says)
	}
	two := NewAccumulator(s, WithClasses(slo.Set{"a": s, "b": slo.MustParse("ttft p90 < 1s")}))
	assert.ErrorContains(t, two.Merge(NewAccumulator(s, WithClasses(slo.Set{"a": s}))), `class b, which only the first has: "ttft p90 < 1s"`)
	assert.ErrorContains(t, two.Merge(NewAccumulator(s, WithClasses(slo.Set{"a": slo.MustParse("ttft p90 < 1s"), "b": s}))),
		`that of the class a is "e2e p95 < 1s" and "ttft p90 < 1s"`)
	assert.Zero(t, a.Report().Offered)
	x, y := NewAccumulator(s, WithWindow(epoch, time.Time{})), NewAccumulator(s, WithWindow(epoch, epoch.Add(time.Hour)))
	require.ErrorIs(t, x.Merge(y), ErrMerge)
	x.EndWindow(epoch.Add(time.Hour))
	require.NoError(t, x.Merge(y))
	z := NewAccumulator(s, WithWindow(epoch, time.Time{}))
	z.EndWindowWith(epoch.Add(time.Hour))
	require.ErrorIs(t, x.Merge(z), ErrMerge, "the end included or not")
}

func TestMergeWithItselfDoubles(t *testing.T) {
	a := NewAccumulator(slo.MustParse("e2e p95 < 1s"))
	for i := range 100 {
		a.Observe(request(time.Duration(i)*time.Second, time.Second))
	}
	require.NoError(t, a.Merge(a))
	r := a.Report()
	assert.EqualValues(t, 200, r.Offered)
	assert.EqualValues(t, 200, r.Percentiles["e2e"].N)
	requireBooksClose(t, r)
}

func TestMergeOfManyInAnyOrder(t *testing.T) {
	s := slo.MustParse("ttft p95 < 100ms, e2e p99 < 1s")
	rng := rand.New(rand.NewPCG(3, 3))
	whole := NewAccumulator(s)
	parts := make([]*Accumulator, 40)
	for i := range parts {
		parts[i] = NewAccumulator(s)
	}
	for range 10_000 {
		r := request(time.Duration(rng.IntN(1e6))*ms, time.Duration(rng.IntN(3000))*ms)
		r.Class = []string{"", "a", "b"}[rng.IntN(3)]
		r.Outcome = Outcomes()[rng.IntN(1+rng.IntN(13))]
		whole.Observe(r)
		parts[rng.IntN(len(parts))].Observe(r)
	}
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	sum := NewAccumulator(s)
	for _, p := range parts {
		require.NoError(t, sum.Merge(p))
	}
	want, got := whole.Report(), sum.Report()
	for _, r := range []*Report{want, got} { // the digests' and the sums' last digits depend on the order
		r.Percentiles, r.Verdict, r.Worst = nil, "", nil
		for i := range r.Objectives {
			r.Objectives[i].CI, r.Objectives[i].Inflation, r.Objectives[i].EffectiveN = [2]float64{}, 0, 0
		}
		r.AttainmentCI = [2]float64{}
		r.Classes = nil
	}
	x, err := json.Marshal(want)
	require.NoError(t, err)
	y, err := json.Marshal(got)
	require.NoError(t, err)
	assert.JSONEq(t, string(x), string(y), "time line and batches too")
}

// manyClasses has two records in each of n classes: one before the window and one in it.
func manyClasses(prefix string, n int, opts ...Option) *Accumulator {
	a := NewAccumulator(slo.MustParse("ttft p95 < 20ms, e2e p95 < 1s"), append(opts, WithWindow(epoch, epoch.Add(time.Minute)))...)
	for i := range n {
		for _, at := range []time.Duration{-time.Second, time.Second} {
			r := request(at, 5*ms)
			r.Class = fmt.Sprint(prefix, i)
			a.Observe(r)
		}
	}
	return a
}

func TestMergeOfTooManyClasses(t *testing.T) {
	a := manyClasses("a", 60)
	require.NoError(t, a.Merge(manyClasses("b", 10)))
	r := a.Report()
	requireBooksClose(t, r)
	assert.Len(t, r.Classes, MaxClasses+1)
	assert.EqualValues(t, 12, r.Classes[OtherClass].Notes.OtherClasses, "as if observed: those outside the cohort too")

	// Requests that one SLO has judged cannot go to a class that another one judges.
	own := WithClasses(slo.Set{OtherClass: slo.MustParse("e2e p95 < 1ms, lag p95 < 1s, itl p95 < 1s")})
	b := manyClasses("a", 60, own)
	before := b.Report()
	require.ErrorIs(t, b.Merge(manyClasses("b", 10, own)), ErrMerge)
	assert.Equal(t, before.Offered, b.Report().Offered, "nothing was added")
	require.NoError(t, b.Merge(manyClasses("b", 4, own)), "that many have room")
	require.NoError(t, b.Merge(manyClasses("b", 4, own)), "and have it again")
	r = b.Report()
	requireBooksClose(t, r)
	assert.EqualValues(t, 60+8, r.Offered)
	same := WithClasses(slo.Set{OtherClass: slo.MustParse("ttft p95 < 20ms, e2e p95 < 1s")})
	require.NoError(t, manyClasses("a", 60, same).Merge(manyClasses("b", 10, same)), "it judges alike")
}
