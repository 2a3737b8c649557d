package loadgen

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// flight is how many requests were in flight: by the Book's own count, and as their records say. The Book's lock guards it.
type flight struct {
	at    time.Time // until when area is counted
	area  float64   // ∫ n dt, in s, over n in flight
	noted float64   // Σ of the time from when the Book gave a request out to its End, in s
	sent  float64   // Σ (End − Sent), in s
	due   float64   // Σ of the time from when a request could have been sent to its End, in s
	ended uint64    // requests in these sums
	most  int       // in flight at once
}

// pass says that n were in flight until now.
func (f *flight) pass(now time.Time, n int) {
	f.area += float64(n) * now.Sub(f.at).Seconds()
	f.at = now
	f.most = max(f.most, n)
}

// end notes at now the record of a request that has been given out, and is in flight no more.
func (f *flight) end(c *Call, r *goodput.Record, now time.Time) {
	handed, ready := c.handed.Sub(c.Start), c.ready.Sub(c.Start)
	f.noted += max(0, r.End-handed).Seconds()
	f.sent += max(0, r.End-r.Sent).Seconds()
	f.due += max(0, r.End-ready).Seconds()
	f.ended++
	if r.Outcome == goodput.Timeout || r.Outcome == goodput.Unfinished {
		// A target may go on after the end of its time. Its request is in flight no longer.
		f.area -= max(0, now.Sub(c.Start)-max(r.End, handed)).Seconds()
	}
}

// result is what it came to over a run that took so long, with so many workers (0: an open loop).
func (f *flight) result(took time.Duration, workers int) *goodput.InFlight {
	if took <= 0 {
		return nil
	}
	r := &goodput.InFlight{Mean: max(0, f.area) / took.Seconds(), Little: f.noted / took.Seconds(), Asked: workers}
	if workers > 0 && f.due > 0 {
		r.Achieved = float64(workers) * f.sent / f.due
	}
	return r
}
