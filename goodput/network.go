package goodput

import (
	"fmt"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// Network is where the time of a run's requests went on their way, warm-up included, as far as whoever sent them knows:
// it tells a slow server from a slow way to it. Its phases follow each other from the sending of a request on. Which
// requests a phase is of differs: DNS, Connect and TLS are of the connections that were opened while a request waited.
type Network struct {
	Opened uint64 `json:"opened"` // requests over a connection that was opened for them
	Reused uint64 `json:"reused"` // requests over one that had been there before

	Wait       PhaseTimes `json:"wait,omitzero"`        // until the request had a connection: a free one, or a new one
	DNS        PhaseTimes `json:"dns,omitzero"`         // of that the asking for the host's address,
	Connect    PhaseTimes `json:"connect,omitzero"`     // the opening of the connection
	TLS        PhaseTimes `json:"tls,omitzero"`         // and the TLS handshake
	Write      PhaseTimes `json:"write,omitzero"`       // from the connection until the request was written
	FirstByte  PhaseTimes `json:"first_byte,omitzero"`  // from there until the first byte of the answer, that of its header
	FirstToken PhaseTimes `json:"first_token,omitzero"` // from there until the first token event
}

// PhaseTimes is how long a phase took, in s. The zero value: it took place nowhere.
type PhaseTimes struct {
	N   uint64  `json:"n"` // how often it took place
	P50 float64 `json:"p50_s"`
	P99 float64 `json:"p99_s"`
	Max float64 `json:"max_s"`
}

// text is the network in one line.
func (n *Network) text() string {
	all := n.Opened + n.Reused
	text := fmt.Sprintf("%s of %s requests on a connection that was there before", figure.Count(n.Reused), figure.Count(all))
	var phases []string
	for _, p := range []struct {
		name string
		t    PhaseTimes
	}{
		{"wait", n.Wait}, {"dns", n.DNS}, {"connect", n.Connect}, {"tls", n.TLS}, {"write", n.Write}, {"first byte", n.FirstByte},
		{"first token", n.FirstToken},
	} {
		if p.t.N > 0 {
			phases = append(phases, fmt.Sprintf("%s %s / %s", p.name, figure.Seconds(p.t.P50), figure.Seconds(p.t.P99)))
		}
	}
	if len(phases) > 0 {
		text += "; P50 / P99: " + strings.Join(phases, ", ")
	}
	return text
}
