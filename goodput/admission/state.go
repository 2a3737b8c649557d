package admission

import "time"

// State is what a [Scheduler] or a [Controller] does at an instant. Counts are since its beginning, and
//
//	Offered = Admitted + Removed + the sum of Refused + Waiting
//	Admitted = Ended + InFlight
type State struct {
	InFlight      int     // requests
	Tokens        float64 // in flight, prompts and most output
	PendingTokens float64 // of prompts without a first token
	Limit         float64 // tokens in flight; +Inf: none
	Waiting       int     // requests
	WaitingTokens float64

	Pace    time.Duration // mean time per token of what runs; 0: nobody knows
	Rate    float64       // tokens/s at which what waits is served; 0: nobody knows
	Stalled bool          // nothing comes back although work is in flight: nothing is admitted

	Offered, Admitted, Degraded, Ended uint64
	Removed                            uint64            // waited, and their context ended
	Refused                            map[Reason]uint64 // those that there were
}

// State is what s does now.
func (s *Scheduler) State(now time.Time) State {
	st := State{
		Limit: s.limit.Tokens(), Waiting: s.queue.Len() + s.aside.Len(), WaitingTokens: s.queue.Tokens() + s.aside.Tokens(), Stalled: s.stall.Stalled(now) || s.stall.stalled,
		Offered: s.stats.offered, Admitted: s.stats.admitted, Degraded: s.stats.degraded, Ended: s.stats.ended, Removed: s.stats.removed,
		Refused: map[Reason]uint64{},
	}
	st.InFlight, st.Tokens = s.cap.InFlight()
	_, st.PendingTokens = s.cap.Pending()
	st.Pace, _ = s.pace.PerToken()
	st.Rate, _ = s.rate.PerSecond()
	for i, n := range s.stats.refused {
		if n > 0 {
			st.Refused[reasons[i]] = n
		}
	}
	return st
}
