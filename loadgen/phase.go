package loadgen

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/percentile"
)

// Phase is a part of a request's way over a network, before its first token. A Target that knows tells its Trace how long
// each took; what they come to over a run is in the report's Health.Network.
type Phase uint8

// The phases, in their order.
const (
	PhaseWait      Phase = iota // from the sending until there was a connection: a free one, or a new one
	PhaseDNS                    // of that the asking for the host's address,
	PhaseConnect                // the opening of the connection
	PhaseTLS                    // and the TLS handshake
	PhaseWrite                  // from the connection until the request was written
	PhaseFirstByte              // from there until the first byte of the answer, that of its header
	phases
)

// ways is what a trace was told of a request's way.
type ways struct {
	took             [phases]time.Duration
	told             [phases]bool
	connected, reuse bool
}

// Phase says how long a phase took. The last call for a phase counts; of a request that is sent once more those of the
// last attempt do.
func (t *Trace) Phase(p Phase, d time.Duration) {
	t.mu.Lock()
	if !t.sealed && p < phases {
		t.ways.took[p], t.ways.told[p] = max(0, d), true
	}
	t.mu.Unlock()
}

// Connection says that the request has a connection, and whether it had been there before.
func (t *Trace) Connection(reused bool) {
	t.mu.Lock()
	if !t.sealed {
		t.ways.connected, t.ways.reuse = true, reused
	}
	t.mu.Unlock()
}

// network is what the ways of a run's requests come to.
type network struct {
	opened, reused uint64
	failed         uint64                        // of them those that were no success: many a failure costs its connection
	times          [phases + 1]percentile.Digest // s; the last: from the first byte to the first token
}

// add counts a request's way; nil: there was none.
func (n *network) add(w *ways, r *goodput.Record) {
	if w == nil || !w.connected {
		return
	}
	if w.reuse {
		n.reused++
	} else {
		n.opened++
	}
	if r.Outcome != goodput.Success && r.Outcome != goodput.Empty {
		n.failed++
	}
	for p, told := range w.told {
		if told {
			n.times[p].Add(w.took[p].Seconds())
		}
	}
	if w.told[PhaseFirstByte] && len(r.Tokens) > 0 && r.Attempts <= 1 {
		n.times[phases].Add(max(0, r.Tokens[0].At-r.Sent-w.took[PhaseWait]-w.took[PhaseWrite]-w.took[PhaseFirstByte]).Seconds())
	}
}

// result is what there was; nil: no target told.
func (n *network) result() *goodput.Network {
	w := &goodput.Network{Opened: n.opened, Reused: n.reused}
	if w.Opened+w.Reused == 0 {
		return nil
	}
	for p, to := range []*goodput.PhaseTimes{&w.Wait, &w.DNS, &w.Connect, &w.TLS, &w.Write, &w.FirstByte, &w.FirstToken} {
		*to = percentilesOf(&n.times[p])
	}
	return w
}

// percentilesOf are those of what was recorded, in s; zero: nothing was.
func percentilesOf(d *percentile.Digest) (t goodput.PhaseTimes) {
	if d.Count() > 0 {
		t = goodput.PhaseTimes{N: d.Count(), P50: d.Quantile(0.5), P99: d.Quantile(0.99), Max: d.Max()}
	}
	return t
}
