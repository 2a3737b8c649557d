package capacity

import (
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// queue is a queue of requests in virtual time that are served in the order of their arrivals by so many servers.
type queue struct {
	servers int
	service func() time.Duration
	waiting []*loadgen.Call
	head    int
	busy    ends
	rec     goodput.Record
}

type end struct {
	at   time.Time
	call *loadgen.Call
}

type ends []end

func (h ends) Len() int           { return len(h) }
func (h ends) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h ends) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *ends) Push(x any)        { *h = append(*h, x.(end)) }
func (h *ends) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (q *queue) Start(now time.Time, c *loadgen.Call) {
	if len(q.busy) < q.servers {
		heap.Push(&q.busy, end{now.Add(q.service()), c})
		return
	}
	q.waiting = append(q.waiting, c)
}

func (q *queue) Next() (time.Time, bool) {
	if len(q.busy) == 0 {
		return time.Time{}, false
	}
	return q.busy[0].at, true
}

func (q *queue) Step(now time.Time, done func(*loadgen.Call, *goodput.Record)) {
	c := heap.Pop(&q.busy).(end).call
	q.serve(now)
	q.rec = goodput.Record{End: now.Sub(c.Start), Outcome: goodput.Success}
	done(c, &q.rec)
}

func (q *queue) serve(now time.Time) {
	if q.head == len(q.waiting) {
		return
	}
	heap.Push(&q.busy, end{now.Add(q.service()), q.waiting[q.head]})
	q.waiting[q.head] = nil
	if q.head++; q.head > 1024 && q.head*2 > len(q.waiting) {
		q.waiting = append(q.waiting[:0], q.waiting[q.head:]...)
		q.head = 0
	}
}

func (q *queue) Stop(now time.Time, c *loadgen.Call) *goodput.Record {
	for i := range q.busy {
		if q.busy[i].call == c {
			heap.Remove(&q.busy, i)
			q.serve(now)
			return &goodput.Record{Outcome: goodput.Cancelled}
		}
	}
	for i := q.head; i < len(q.waiting); i++ {
		if q.waiting[i] == c {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			break
		}
	}
	return &goodput.Record{Outcome: goodput.Cancelled}
}

// system is a queue with its truth in closed form.
type system struct {
	name string
	make func(seed uint64) loadgen.System
	// beyond is P(sojourn > t) at an arrival rate, in the steady state.
	beyond func(lambda, t float64) float64
	most   float64 // capacity, requests/s
}

func (s system) runner() loadgen.Runner {
	return func(ctx context.Context, p loadgen.Plan) (*loadgen.Result, error) {
		return loadgen.Simulate(ctx, p, loadgen.Description{}, s.make(p.Seed))
	}
}

// threshold is such that the objective at percentile p is met up to the rate lambda.
func (s system) threshold(lambda, p float64) float64 {
	lo, hi := 0.0, 1.0
	for s.beyond(lambda, hi) > 1-p {
		hi *= 2
	}
	for range 60 {
		if mid := (lo + hi) / 2; s.beyond(lambda, mid) > 1-p {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi
}

func exponential(mu float64, seed uint64) func() time.Duration {
	r := rand.New(rand.NewPCG(seed, 1))
	return func() time.Duration { return time.Duration(r.ExpFloat64() / mu * 1e9) }
}

// fifo are queues of so many servers with exponential service times.
func fifo(servers int, mu float64) func(uint64) loadgen.System {
	return func(seed uint64) loadgen.System { return &queue{servers: servers, service: exponential(mu, seed)} }
}

// mm1: the sojourn is exponential with rate μ − λ.
func mm1(mu float64) system {
	return system{"M/M/1", fifo(1, mu), func(lambda, t float64) float64 { return math.Exp(-(mu - lambda) * t) }, mu}
}

// mmc: a request waits with Erlang's C(c, λ/μ), and then for an exponential time with rate θ = cμ − λ; the sojourn is that
// and the service (D. Gross, C. Harris, "Fundamentals of Queueing Theory", section 2.3).
func mmc(c int, mu float64) system {
	return system{"M/M/c", fifo(c, mu), func(lambda, t float64) float64 {
		a, b := lambda/mu, 1.0
		for i := 1; i <= c; i++ { // Erlang's B by its recursion
			b = a * b / (float64(i) + a*b)
		}
		rho := a / float64(c)
		wait := b / (1 - rho + rho*b)
		theta := float64(c)*mu - lambda
		return (1-wait)*math.Exp(-mu*t) + wait*(theta*math.Exp(-mu*t)-mu*math.Exp(-theta*t))/(theta-mu)
	}, float64(c) * mu}
}

// md1: the wait is Erlang's distribution of 1909,
//
//	P(W ≤ t) = (1−ρ) Σ_{k=0}^{⌊t/D⌋} (−λ(t−kD))^k/k! · e^{λ(t−kD)}
//
// (A. K. Erlang, "The theory of probabilities and telephone conversations"; C. D. Crommelin, 1932, has it for c servers).
func md1(d float64) system {
	return system{"M/D/1", func(uint64) loadgen.System {
		return &queue{servers: 1, service: func() time.Duration { return time.Duration(d * 1e9) }}
	}, func(lambda, t float64) float64 {
		if t < d {
			return 1
		}
		t -= d
		sum := 0.0
		for k := 0; float64(k)*d <= t; k++ {
			x := lambda * (t - float64(k)*d)
			term := math.Exp(x)
			for i := 1; i <= k; i++ {
				term *= -x / float64(i)
			}
			sum += term
		}
		return 1 - (1-lambda*d)*sum
	}, 1 / d}
}
