package goodput

// HealthVerdict says whether the client's own condition lets its figures be believed.
type HealthVerdict string

// The verdicts.
const (
	Valid   HealthVerdict = "valid"
	Suspect HealthVerdict = "suspect"
	Invalid HealthVerdict = "invalid"
)

// ClientHealth is what whoever generated the load says of itself.
type ClientHealth struct {
	Verdict HealthVerdict `json:"verdict"`
	Reasons []string      `json:"reasons,omitempty"` // why it is not valid, one sentence each
	Offered uint64        `json:"offered"`           // requests that were due
	Sent    uint64        `json:"sent"`              // requests that were really sent
	LagP50  float64       `json:"lag_p50_s"`         // how late requests were sent, s
	LagP99  float64       `json:"lag_p99_s"`
	LagMax  float64       `json:"lag_max_s"`
	Retried uint64        `json:"retried"` // requests repeated because a kept-alive connection had been closed
}
