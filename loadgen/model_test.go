package loadgen

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/race"
	"github.com/goodputkit/goodputkit/slo"
)

// numbered are requests that know their place.
func numbered(n int) iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for i := 0; n == 0 || i < n; i++ {
			if !yield(&Request{InputTokens: i + 1}) {
				return
			}
		}
	}
}

// talks is n sessions, 0: without end, of up to 4 turns each, whose InputTokens say of which session they are and how many
// turns went before. Some of the think times are 0.
func talks(n int, seed uint64) iter.Seq[*Request] {
	var next func(i, k int, r *rand.Rand) *Request
	next = func(i, k int, r *rand.Rand) *Request {
		req := &Request{InputTokens: 1 + i + k*talk}
		req.Limits = map[slo.Metric]float64{slo.E2E: 0.1 + 1e-16*float64(req.InputTokens)} // is in each record, and rounded to 100 ms
		if k < 3 && r.IntN(3) > 0 {
			think := max(0, time.Duration(r.IntN(300e6)-100e6))
			req.Next = func(Answer) (*Request, time.Duration) {
				return next(i, k+1, rand.New(rand.NewPCG(seed+uint64(k)+1, uint64(i)))), think
			}
		}
		return req
	}
	return func(yield func(*Request) bool) {
		for i := 0; n == 0 || i < n; i++ {
			if !yield(next(i, 0, rand.New(rand.NewPCG(seed, uint64(i))))) {
				return
			}
		}
	}
}

const talk = 1 << 20

// allSaid says that all of n sessions went on to their ends, before the time was over.
func allSaid(rs []*goodput.Record, n int, seed uint64, bound time.Time) bool {
	of := map[float64]*goodput.Record{}
	for _, r := range rs {
		of[r.Limits[slo.E2E]] = r
	}
	for req := range talks(n, seed) {
		for {
			r := of[req.Limits[slo.E2E]]
			if r == nil {
				return false
			}
			if req.Next == nil {
				break
			}
			if r.Outcome != goodput.Success {
				if !bound.IsZero() && !r.Start.Add(r.End).Before(bound) {
					return false
				}
				break
			}
			req, _ = req.Next(Answer{})
		}
	}
	return true
}

// behaviour is what a request does: how long it takes and how it ends, by its place.
type behaviour func(i int) (time.Duration, goodput.Outcome)

// delays is a system in virtual time, each of whose requests takes as long as its behaviour says.
type delays struct {
	do   behaviour
	ends endHeap
}

type ending struct {
	at      time.Time
	c       *Call
	outcome goodput.Outcome
}

type endHeap []ending

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h endHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)        { *h = append(*h, x.(ending)) }
func (h *endHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (s *delays) Start(now time.Time, c *Call) {
	d, o := s.do(c.Request.InputTokens - 1)
	heap.Push(&s.ends, ending{now.Add(d), c, o})
}

func (s *delays) Next() (time.Time, bool) {
	if len(s.ends) == 0 {
		return time.Time{}, false
	}
	return s.ends[0].at, true
}

func (s *delays) Step(now time.Time, end func(*Call, *goodput.Record)) {
	e := heap.Pop(&s.ends).(ending)
	end(e.c, &goodput.Record{End: now.Sub(e.c.Start), Outcome: e.outcome, InputTokens: e.c.Request.InputTokens})
}

func (s *delays) Stop(now time.Time, c *Call) *goodput.Record {
	i := slices.IndexFunc(s.ends, func(e ending) bool { return e.c == c })
	heap.Remove(&s.ends, i)
	return &goodput.Record{End: now.Sub(c.Start), InputTokens: c.Request.InputTokens}
}

// target is the same in real time.
func (s *delays) target() Target {
	return TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
		tr.Usage(r.InputTokens, 0)
		d, o := s.do(r.InputTokens - 1)
		if err := takes(d)(ctx, r, nil); err != nil || o == goodput.Success {
			return err
		}
		return Fail(o, "")
	})
}

// late is a Runner like Simulate whose client is slow: it hears of the time only now and then, and then works off all
// that was due.
func (s *delays) late(ctx context.Context, p Plan, cut time.Duration, step func() time.Duration) (res *Result, cutAt time.Duration, err error) {
	start := time.Unix(0, 0).UTC()
	now := start
	b, err := NewBook(p, Description{}, now)
	if err != nil {
		return nil, 0, err
	}
	for {
		at, running := b.Next()
		if !running {
			res, err := b.Result()
			return res, cutAt, err
		}
		if event, ok := s.Next(); ok && event.Before(at) {
			at = event
		}
		now = later(now, at).Add(step())
		if !now.Before(start.Add(cut)) {
			b.Cut(now, errors.New("enough"))
			cut, cutAt = 1<<60, now.Sub(start)
		}
		for event, ok := s.Next(); ok && !event.After(now); event, ok = s.Next() {
			s.Step(event, func(c *Call, r *goodput.Record) { b.End(now, c, r) })
		}
		for c := b.Stop(now); c != nil; c = b.Stop(now) {
			b.End(now, c, s.Stop(now, c))
		}
		for c := b.Start(now); c != nil; c = b.Start(now) {
			s.Start(now, c)
		}
	}
}

// simulateUntil is a Simulate whose context is cancelled after a time. Progress is the only one of the caller's that looks at
// the clock, so the time is whole seconds.
func simulateUntil(ctx context.Context, p Plan, s System, cut time.Duration) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.Progress = func(pr Progress) {
		if pr.Elapsed >= cut {
			cancel(errors.New("enough"))
		}
	}
	return Simulate(ctx, p, Description{}, s)
}

func readRecords(t *testing.T, file []byte) []*goodput.Record {
	rr, err := goodput.ReadRecords(bytes.NewReader(file))
	require.NoError(t, err)
	var rs []*goodput.Record
	for r, err := range rr.All() {
		require.NoError(t, err)
		rs = append(rs, r)
	}
	f, ok := rr.Footer()
	require.True(t, ok && f.Complete)
	slices.SortStableFunc(rs, func(a, b *goodput.Record) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.End, b.End), cmp.Compare(a.Limits[slo.E2E], b.Limits[slo.E2E]))
	})
	return rs
}

// reference is the definitions' window and counts, from the records alone.
type reference struct {
	offered, good, ended, endedGood uint64
	seconds                         float64
}

func (p Plan) reference(rs []*goodput.Record, start time.Time, workload int, seed uint64, cut time.Duration, limit time.Duration) (ref reference, ok bool) {
	if len(rs) == 0 {
		return ref, false
	}
	last := rs[len(rs)-1].Start
	end := func(r *goodput.Record) time.Time { return r.Start.Add(r.End) }
	from, to, included := rs[0].Start, last, true
	if p.steady() {
		from = start.Add(p.Warmup)
		if p.WarmupRequests > 0 {
			if len(rs) <= p.WarmupRequests {
				return ref, false
			}
			from = rs[p.WarmupRequests].Start
		}
		var counted []time.Time
		for _, r := range rs {
			if !r.Start.Before(from) {
				counted = append(counted, r.Start)
			}
		}
		bound := time.Time{}
		if p.Duration > 0 {
			bound = from.Add(p.Duration)
		}
		before := func(at time.Time) bool { return p.Duration == 0 || at.Before(bound) }
		switch n := p.Requests; {
		case n > 0 && len(counted) >= n && before(counted[n-1]):
			to = counted[n-1]
		case workload > 0 && before(last) && allSaid(rs, workload, seed, bound):
		default:
			to, included = bound, false
			if p.Duration == 0 { // only the cut ended it
				to = start.Add(cut)
			}
		}
		if c := start.Add(cut); cut > 0 && c.Before(to) {
			to, included = c, false
		}
		if to.Before(from) {
			return ref, false
		}
	} else {
		for _, r := range rs {
			to = later(to, end(r))
		}
	}
	in := func(at time.Time) bool {
		return !at.Before(from) && (at.Before(to) || included && at.Equal(to))
	}
	for _, r := range rs {
		good := r.Outcome == goodput.Success && r.End <= limit
		if in(r.Start) {
			ref.offered++
			if good {
				ref.good++
			}
		}
		if in(end(r)) && r.Outcome != goodput.Dropped && r.Outcome != goodput.Unfinished {
			ref.ended++
			if good {
				ref.endedGood++
			}
		}
	}
	ref.seconds = to.Sub(from).Seconds()
	return ref, true
}

func randomPlan(r *rand.Rand) (p Plan, workload int, cut time.Duration) {
	ms := func(n int) time.Duration { return time.Duration(r.IntN(n*1e6) + 1) }
	p = Plan{SLO: slo.MustParse("e2e p95 < 100ms"), Seed: r.Uint64()}
	if r.IntN(2) == 0 {
		p.Arrivals = []Arrivals{Constant{Rate: 20.123}, Poisson{Rate: 30}, Gamma{Rate: 40, Burstiness: 0.3}}[r.IntN(3)]
		if r.IntN(2) == 0 {
			p.MaxInFlight, p.Overflow = 1+r.IntN(4), Overflow(1+r.IntN(2))
		}
	} else {
		p.Concurrency = 1 + r.IntN(6)
		if r.IntN(2) == 0 {
			p.ThinkTime = ms(50)
		}
		if r.IntN(2) == 0 {
			p.RampUp = ms(1000)
		}
	}
	switch r.IntN(4) {
	case 0:
		p.Warmup = ms(1500)
	case 1:
		p.WarmupRequests = 1 + r.IntN(30)
	case 2:
		p.Warmup = WarmupAuto
	}
	if r.IntN(2) == 0 {
		p.Duration = ms(4000)
	}
	if p.Duration == 0 || r.IntN(2) == 0 {
		p.Requests = 1 + r.IntN(150)
	}
	if r.IntN(3) == 0 {
		workload = 1 + r.IntN(150)
	}
	switch r.IntN(4) {
	case 0:
		p.Cooldown = ms(500)
	case 1:
		p.CooldownRequests = 1 + r.IntN(20)
	}
	if r.IntN(2) == 0 {
		p.Timeout = 20*time.Millisecond + ms(200)
	}
	if r.IntN(3) == 0 {
		p.Drain = ms(100)
	}
	if r.IntN(4) == 0 {
		cut = time.Duration(1+r.IntN(4)) * time.Second
	}
	p.Workload = talks(workload, p.Seed)
	return p, workload, cut
}

func randomBehaviour(seed uint64) behaviour {
	return func(i int) (time.Duration, goodput.Outcome) {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		d := time.Duration(r.ExpFloat64() * 60e6)
		return d, []goodput.Outcome{goodput.Success, goodput.Success, goodput.Success, goodput.ServerError}[r.IntN(4)]
	}
}

// Whatever the plan: the records are the same in virtual time and in a bubble, each request is in them once, and the
// report says what the definitions make of them, also where the client was late.
func TestRunnersAgree(t *testing.T) {
	plans := 100
	if race.Enabled {
		plans = 40
	}
	for seed := range uint64(plans) {
		p, workload, cut := randomPlan(rand.New(rand.NewPCG(seed, 0)))
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			check := func(name string, res *Result, file *bytes.Buffer, start time.Time, cut time.Duration) []*goodput.Record {
				rs := readRecords(t, file.Bytes())
				checkBooks(t, p, res.Report, rs, name)
				again, err := goodput.ReadReport(bytes.NewReader(file.Bytes()))
				require.NoError(t, err)
				sameReport(t, res.Report, again, name)
				wasCut := cut
				if res.Cut == nil {
					wasCut = 0
				}
				if name == "late" && (p.WarmupRequests > 0 || p.Requests > 0 && p.Cooldown+time.Duration(p.CooldownRequests) > 0) {
					return rs // turns whose Start the client hears of late are not counted in order of Start
				}
				p := p
				if p.Warmup == WarmupAuto {
					if p.Warmup = res.Warmup; p.Warmup == 0 { // the run ended in it, or half of its Requests came at once
						return rs
					}
				}
				ref, ok := p.reference(rs, start, workload, p.Seed, wasCut, 100*time.Millisecond)
				if !ok {
					assert.Zero(t, res.Report.Offered, name)
					return rs
				}
				got := reference{res.Report.Offered, res.Report.Good, res.Report.Flow.Ended, res.Report.Flow.Good, res.Report.WindowS}
				assert.InDelta(t, ref.seconds, got.seconds, 1e-9, name)
				ref.seconds = got.seconds
				assert.Equal(t, ref, got, name)
				return rs
			}

			var file bytes.Buffer
			p.Records = &file
			forever := cut
			if cut == 0 {
				forever = 1 << 60
			}
			res, err := simulateUntil(t.Context(), p, &delays{do: randomBehaviour(seed)}, forever)
			require.NoError(t, err)
			virtual, warmup := check("virtual", res, &file, time.Unix(0, 0), cut), res.Warmup

			synctest.Test(t, func(t *testing.T) {
				var file bytes.Buffer
				p.Records = &file
				ctx, cancel := context.WithTimeout(t.Context(), forever)
				defer cancel()
				start := time.Now()
				res, err := Run(ctx, (&delays{do: randomBehaviour(seed)}).target(), p)
				require.NoError(t, err)
				bubble := check("bubble", res, &file, start, cut)
				assert.Equal(t, warmup, res.Warmup)
				require.Len(t, bubble, len(virtual))
				for i, r := range bubble {
					v := *virtual[i]
					v.Start = start.Add(v.Start.Sub(time.Unix(0, 0))).UTC()
					v.Detail = r.Detail
					assert.Equal(t, &v, r)
				}
			})

			file.Reset()
			p.Records = &file
			r := rand.New(rand.NewPCG(seed, 2))
			res, cutAt, err := (&delays{do: randomBehaviour(seed)}).late(t.Context(), p, forever, func() time.Duration {
				if r.IntN(3) == 0 {
					return time.Duration(r.IntN(200e6))
				}
				return 0
			})
			require.NoError(t, err)
			check("late", res, &file, time.Unix(0, 0), cutAt)
		})
	}
}

// sameReport: what the file of a run says is what the run said, its time line too.
func sameReport(t *testing.T, want, got *goodput.Report, name string) {
	t.Helper()
	figures := func(r *goodput.Report) (m map[string]json.RawMessage) {
		b, err := r.MarshalJSON()
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &m))
		return m
	}
	w, g := figures(want), figures(got)
	assert.Len(t, g, len(w), name)
	for key := range w {
		if key == "worst" { // requests that are equally bad stand there in the order of booking, the first ones
			if name != "late" {
				var a, b []json.RawMessage
				require.NoError(t, json.Unmarshal(w[key], &a))
				require.NoError(t, json.Unmarshal(g[key], &b))
				assert.ElementsMatch(t, a, b, name)
			}
			continue
		}
		assert.Equal(t, string(w[key]), string(g[key]), "%s: %s", name, key)
	}
}

// checkBooks: each request is in the records once, and the report's books close.
func checkBooks(t *testing.T, p Plan, r *goodput.Report, rs []*goodput.Record, name string) {
	t.Helper()
	sum := r.Good + r.Late
	for o, n := range r.Outcomes {
		if o != goodput.Success {
			sum += n
		}
	}
	assert.Equal(t, r.Offered, sum, name)
	assert.Equal(t, r.Health.Offered, uint64(len(rs)), name)
	for _, w := range r.Warnings {
		assert.NotErrorIs(t, w, goodput.ErrWindowEndedLate, name)
		assert.NotErrorIs(t, w, goodput.ErrRecords, name)
	}
	for i, r := range rs {
		assert.LessOrEqual(t, r.Sent, r.End)
		assert.LessOrEqual(t, r.End, cmp.Or(p.Timeout, DefaultTimeout))
		if i > 0 {
			assert.False(t, r.Start.Before(rs[i-1].Start))
		}
	}
	if p.Concurrency > 0 || p.MaxInFlight > 0 {
		// Never more in flight than allowed: count at each send.
		most := max(p.Concurrency, p.MaxInFlight)
		for _, a := range rs {
			at, flying := a.Start.Add(a.Sent), 0
			for _, b := range rs {
				if s, e := b.Start.Add(b.Sent), b.Start.Add(b.End); !s.After(at) && e.After(at) {
					flying++
				}
			}
			if flying > most {
				assert.LessOrEqual(t, flying, most, "%s: in flight", name)
				return
			}
		}
	}
}
