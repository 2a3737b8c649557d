package admission

import (
	"encoding/json"
	"math"
	"time"
)

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

	Offered, Admitted, Ended uint64
	Degraded                 uint64            // admitted, and granted less than they asked for
	Removed                  uint64            // waited, and their context ended
	Refused                  map[Reason]uint64 // those that there were
}

// MarshalJSON is the state for a page or a log: times in seconds, a limit that is none as null, refusals by the names of their
// reasons. What nobody knows is left out.
func (s State) MarshalJSON() ([]byte, error) {
	var limit *float64
	if !math.IsInf(s.Limit, 1) {
		limit = &s.Limit
	}
	return json.Marshal(struct {
		InFlight        int               `json:"in_flight"`
		Tokens          float64           `json:"in_flight_tokens"`
		PendingTokens   float64           `json:"pending_tokens"`
		Limit           *float64          `json:"limit_tokens"`
		Waiting         int               `json:"waiting"`
		WaitingTokens   float64           `json:"waiting_tokens"`
		SecondsPerToken float64           `json:"seconds_per_token,omitempty"`
		TokensPerSecond float64           `json:"tokens_per_second,omitempty"`
		Stalled         bool              `json:"stalled"`
		Offered         uint64            `json:"offered"`
		Admitted        uint64            `json:"admitted"`
		Degraded        uint64            `json:"degraded"`
		Ended           uint64            `json:"ended"`
		GivenUp         uint64            `json:"given_up"`
		Refused         map[Reason]uint64 `json:"refused"`
	}{
		s.InFlight, s.Tokens, s.PendingTokens, limit, s.Waiting, s.WaitingTokens, s.Pace.Seconds(), s.Rate, s.Stalled,
		s.Offered, s.Admitted, s.Degraded, s.Ended, s.Removed, s.Refused,
	})
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
