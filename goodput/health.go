package goodput

import (
	"encoding/json"
	"math"
)

// HealthVerdict says whether the client's own condition lets its figures be believed.
type HealthVerdict string

// The verdicts. The empty one: nobody judged.
const (
	Valid   HealthVerdict = "valid"   // nothing is known against the figures
	Suspect HealthVerdict = "suspect" // the client may have had a part in them: read the reasons first
	Invalid HealthVerdict = "invalid" // they show the client, and not the server
)

// ClientHealth is what whoever generated the load says of itself: a benchmark is worth what its client is worth. Its
// figures are of the whole run, warm-up included, for a client that was busy then may not have recovered.
//
// Its lag is the client's own: from when a request could have been sent to when it was. A wait for a place in flight is not
// in it, for that is the plan's doing and not a busy client's. A record's lag, slo.Lag and "lag" among a report's
// percentiles, is all that lies between Start and Sent, that wait included. Without a limit of requests in flight the two
// are the same.
//
// Its JSON is stable as a [Report]'s is: keys are added, none changes its meaning. A lag that does not exist is NaN here
// and null in JSON; where nothing was sent there is none.
type ClientHealth struct {
	Verdict HealthVerdict `json:"verdict"`
	Reasons []string      `json:"reasons,omitempty"` // why it is not valid, one sentence each
	Offered uint64        `json:"offered"`           // requests that were due
	Sent    uint64        `json:"sent"`              // requests that were really sent
	LagP50  float64       `json:"lag_p50_s"`         // the client's own lag, s: without the wait for a place in flight
	LagP99  float64       `json:"lag_p99_s"`         // the same
	LagMax  float64       `json:"lag_max_s"`         // the same
	Retried uint64        `json:"retried"`           // requests repeated because a kept-alive connection had been closed
	Network *Network      `json:"network,omitempty"` // where the time of requests went on their way; nil: nobody said
	Load    *Load         `json:"load,omitempty"`    // what the client was asked for; nil: nobody said

	InFlight *InFlight  `json:"in_flight,omitempty"` // nil: nobody counted, or the run took no time
	Runtime  *GoRuntime `json:"runtime,omitempty"`   // nil in virtual time, where a process's own condition means nothing
	CPU      *CPU       `json:"cpu,omitempty"`       // the same; nil too where the system does not say, and over less than 0.1 s
}

// Sound reports whether nothing is known against the client: its verdict is Valid, or nobody judged. A nil
// ClientHealth, of a client that nobody measured, is sound in this sense.
func (h *ClientHealth) Sound() bool { return h == nil || h.Verdict == Valid || h.Verdict == "" }

// Delivered is the share of the requests due that were really sent; NaN where none was due.
func (h *ClientHealth) Delivered() float64 {
	if h.Offered == 0 {
		return math.NaN()
	}
	return float64(h.Sent) / float64(h.Offered)
}

// healthFields has ClientHealth's fields without its methods.
type healthFields ClientHealth

// healthLine is ClientHealth as JSON: the numbers that may be absent take the place of the fields of their name.
type healthLine struct {
	healthFields
	LagP50 number `json:"lag_p50_s"`
	LagP99 number `json:"lag_p99_s"`
	LagMax number `json:"lag_max_s"`
}

// MarshalJSON writes the keys in the fields' tags, null for a lag that there is not.
func (h ClientHealth) MarshalJSON() ([]byte, error) {
	l := healthLine{healthFields(h), number(h.LagP50), number(h.LagP99), number(h.LagMax)}
	if h.Sent == 0 {
		l.LagP50, l.LagP99, l.LagMax = noNumber, noNumber, noNumber
	}
	return json.Marshal(l)
}

// UnmarshalJSON reads what MarshalJSON writes. A lag that is null or absent is NaN.
func (h *ClientHealth) UnmarshalJSON(data []byte) error {
	l := healthLine{LagP50: noNumber, LagP99: noNumber, LagMax: noNumber}
	if err := json.Unmarshal(data, &l); err != nil {
		return err
	}
	*h = ClientHealth(l.healthFields)
	h.LagP50, h.LagP99, h.LagMax = float64(l.LagP50), float64(l.LagP99), float64(l.LagMax)
	return nil
}
