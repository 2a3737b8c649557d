package goodput

import (
	"fmt"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// Load is what load a client was asked to make, and for how many requests it had to hold it back: a limit on the requests
// in flight makes them wait, which is in their latency and in no server's.
type Load struct {
	Plan        string     `json:"plan"`                    // for people: "poisson 60/s, seed 1, at most 16 in flight, else wait"
	Closed      bool       `json:"closed,omitempty"`        // a closed loop: requests arrive as earlier ones end
	MaxInFlight int        `json:"max_in_flight,omitempty"` // the limit of an open loop; 0: none
	Wait        PhaseTimes `json:"wait,omitzero"`           // of those requests, of the whole run, that waited for a place in flight, how long they did
}

func (l *Load) text() string {
	text := clean(l.Plan)
	if l.Wait.N > 0 {
		text += fmt.Sprintf("; %s requests waited for one of the %d places in flight: %s (P50), %s (P99), %s at most", figure.Count(l.Wait.N),
			l.MaxInFlight, figure.Seconds(l.Wait.P50), figure.Seconds(l.Wait.P99), figure.Seconds(l.Wait.Max))
	}
	return text
}
