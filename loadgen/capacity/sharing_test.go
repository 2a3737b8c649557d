package capacity

import (
	"container/heap"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// sharing is one server that all requests share equally, in virtual time: with n of them each is served at 1/n of its speed.
type sharing struct {
	service func() time.Duration
	jobs    jobs
	served  float64 // what each request that has been there all the time has got, ns of work
	at      time.Time
	rec     goodput.Record
}

type job struct {
	until float64 // served is that much when it is done
	call  *loadgen.Call
}

type jobs []job

func (h jobs) Len() int           { return len(h) }
func (h jobs) Less(i, j int) bool { return h[i].until < h[j].until }
func (h jobs) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *jobs) Push(x any)        { *h = append(*h, x.(job)) }
func (h *jobs) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

func (s *sharing) pass(now time.Time) {
	if n := len(s.jobs); n > 0 {
		s.served += float64(now.Sub(s.at)) / float64(n)
	}
	s.at = now
}

func (s *sharing) Start(now time.Time, c *loadgen.Call) {
	s.pass(now)
	heap.Push(&s.jobs, job{s.served + float64(s.service()), c})
}

func (s *sharing) Next() (time.Time, bool) {
	if len(s.jobs) == 0 {
		return time.Time{}, false
	}
	return s.at.Add(time.Duration(math.Ceil(max(0, s.jobs[0].until-s.served) * float64(len(s.jobs))))), true
}

func (s *sharing) Step(now time.Time, done func(*loadgen.Call, *goodput.Record)) {
	s.pass(now)
	c := heap.Pop(&s.jobs).(job).call
	s.rec = goodput.Record{End: now.Sub(c.Start), Outcome: goodput.Success}
	done(c, &s.rec)
}

func (s *sharing) Stop(now time.Time, c *loadgen.Call) *goodput.Record {
	s.pass(now)
	for i := range s.jobs {
		if s.jobs[i].call == c {
			heap.Remove(&s.jobs, i)
			break
		}
	}
	return &goodput.Record{Outcome: goodput.Cancelled}
}

// ps is M/M/1 with processor sharing. With n others there, a request's time to go exceeds t with probability w_n(t), where
//
//	w_n′ = λ·w_{n+1} + μ·n/(n+1)·w_{n−1} − (λ+μ)·w_n,   w_n(0) = 1
//
// since it is itself the one to leave with probability 1/(n+1); and an arrival finds n others with probability (1−ρ)ρⁿ. The
// equations are solved by uniformization (A. Jensen, "Markoff chains as an aid in the study of Markoff processes",
// Skand. Aktuarietidskr. 36 (1953)), with as many others as have any probability to speak of.
func ps(mu float64) system {
	return system{"M/M/1-PS", func(seed uint64) loadgen.System { return &sharing{service: exponential(mu, seed)} }, func(lambda, t float64) float64 {
		const most = 150
		rho, total := lambda/mu, lambda+mu
		w, next, finds := make([]float64, most+2), make([]float64, most+2), make([]float64, most+1)
		for n := range w {
			w[n] = 1
		}
		for n := range finds {
			finds[n] = (1 - rho) * math.Pow(rho, float64(n))
		}
		beyond := 0.0
		weight := -total * t // logarithm of the Poisson probability of k events
		for k := 0; float64(k) < total*t+12*math.Sqrt(total*t)+30; k++ {
			now := 0.0
			for n, p := range finds {
				now += p * w[n]
			}
			beyond += math.Exp(weight) * now
			weight += math.Log(total * t / float64(k+1))
			for n := 0; n <= most; n++ {
				next[n] = lambda / total * w[n+1]
				if n > 0 {
					next[n] += mu / total * float64(n) / float64(n+1) * w[n-1]
				}
			}
			next[most+1] = next[most]
			w, next = next, w
		}
		return beyond
	}, mu}
}
