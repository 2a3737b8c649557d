package admission

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// station is an ordinary service: so many at once, first come first served, each for a time of its own; 0 at once: all of them.
type station struct {
	free []time.Time
	draw func() float64 // s
}

// newStation is a station whose service times are lognormal, 100 ms in the mean.
func newStation(atOnce int, sigma float64) *station {
	r := rand.New(rand.NewPCG(3, 4))
	return &station{make([]time.Time, atOnce), func() float64 { return 0.1 * math.Exp(sigma*r.NormFloat64()-sigma*sigma/2) }}
}

// first is how long one that comes now takes.
func (q *station) first(now time.Time) time.Duration {
	d := duration(q.draw())
	if len(q.free) == 0 {
		return d
	}
	k := 0
	for i := range q.free {
		if q.free[i].Before(q.free[k]) {
			k = i
		}
	}
	if q.free[k].Before(now) {
		q.free[k] = now
	}
	q.free[k] = q.free[k].Add(d)
	return q.free[k].Sub(now)
}

// uncontrolled is the first tokens of n requests that come as those of drive do, s, sorted.
func (q *station) uncontrolled(rate float64, n int) []float64 {
	arrivals := rand.New(rand.NewPCG(1, 2))
	took, clock := make([]float64, n), 0.0
	for i := range took {
		clock += arrivals.ExpFloat64() / rate
		took[i] = q.first(at(clock)).Seconds()
	}
	slices.Sort(took)
	return took
}

// An ordinary service, whose times are spread out by nature, under a load that it sustains and an SLO that it meets by itself, is left
// alone: the more so, the more room the SLO leaves it. Its prompts, where they have a size, say nothing of how long they take.
func TestAnOrdinaryServiceIsLeftAlone(t *testing.T) {
	const n = 4000
	for _, c := range []struct {
		margin              float64 // of the SLO, times the P95 without control
		refused, mean, lost float64 // %: at most of each service, and of all in the mean; of what is good without control
	}{{1.1, 5, 1, 4}, {1.5, 1.5, 0.25, 2.5}, {2.5, 0.5, 0.05, 0.1}} {
		var mean, services, worst float64
		for _, sigma := range []float64{0.5, 1} {
			for _, atOnce := range []int{0, 1, 4, 32} {
				for _, load := range []float64{0.3, 0.6, 0.9} {
					for _, sized := range []bool{false, true} {
						rate := load * float64(atOnce) / 0.1
						if atOnce == 0 {
							rate = load * 20
						}
						took := newStation(atOnce, sigma).uncontrolled(rate, n)
						limit := c.margin * took[n*95/100]
						s := scheduler(t, Config{SLO: slo.MustParse(fmt.Sprintf("ttft p95 < %.6fs", limit))})
						r := rand.New(rand.NewPCG(5, 6))
						refused, good := driveSized(t, s, rate, n/rate, 0, func() int {
							if !sized {
								return 0
							}
							return int(1000 * math.Exp(0.8*r.NormFloat64()))
						}, newStation(atOnce, sigma).first)
						inTime, _ := slices.BinarySearch(took, limit)
						lost := 100 * (float64(inTime)/n - (1-refused)*good)
						refused *= 100
						mean, worst = mean+refused, max(worst, refused)
						services++
						what := fmt.Sprintf("sigma %v, %d at once, load %v, sizes %v, %v times its P95: refused %.2f %%, lost %.2f %%, %v",
							sigma, atOnce, load, sized, c.margin, refused, lost, s.State(at(1e6)).Refused)
						if refused > 0.5 {
							t.Log(what)
						}
						require.LessOrEqual(t, refused, c.refused, what)
						require.LessOrEqual(t, lost, c.lost, what)
					}
				}
			}
		}
		t.Logf("%v times the P95: refused %.2f %% in the mean, %.2f %% at most", c.margin, mean/services, worst)
		require.LessOrEqual(t, mean/services, c.mean)
	}
}

// The same over HTTP, by the clock: a handler of which four run at once, 100 ms each in the mean, behind the middleware as it comes. It
// flushes its answer when that begins, or is done with it in one piece.
func TestAnOrdinaryHandlerIsLeftAlone(t *testing.T) {
	for _, flushed := range []bool{true, false} {
		t.Run(fmt.Sprint("flushed ", flushed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, rate = 1500, 12
				c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 450ms")})
				r := rand.New(rand.NewPCG(3, 4))
				var mu sync.Mutex
				atOnce := make(chan struct{}, 4)
				h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					atOnce <- struct{}{}
					mu.Lock()
					d := duration(0.1 * math.Exp(r.NormFloat64()-0.5))
					mu.Unlock()
					time.Sleep(d)
					<-atOnce
					_, _ = io.WriteString(w, "hello")
					if flushed {
						w.(http.Flusher).Flush()
					}
				}), MiddlewareConfig{})
				arrivals := rand.New(rand.NewPCG(1, 2))
				var all sync.WaitGroup
				var refused, late atomic.Int64
				for range n {
					time.Sleep(duration(arrivals.ExpFloat64() / rate))
					all.Go(func() {
						w, begun := httptest.NewRecorder(), time.Now()
						h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
						switch {
						case w.Code == http.StatusTooManyRequests:
							refused.Add(1)
						case time.Since(begun) > 450*time.Millisecond:
							late.Add(1)
						}
					})
				}
				all.Wait()
				t.Logf("of %d refused %d, late %d: %v", n, refused.Load(), late.Load(), c.State().Refused)
				require.LessOrEqual(t, refused.Load(), int64(n/200))
				require.LessOrEqual(t, late.Load(), int64(n/20))
			})
		})
	}
}
