package loadgen

import (
	"sync"
	"sync/atomic"
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
	opened, reused atomic.Uint64
	failed         atomic.Uint64          // of them those that were no success: many a failure costs its connection
	times          [phases + 1]phaseTimes // the last: from the first byte to the first token
}

type phaseTimes struct {
	once   sync.Once // most runs have no use for all of them
	values *percentile.Recorder
}

func (p *phaseTimes) add(d time.Duration) {
	p.once.Do(func() { p.values = percentile.NewRecorder() })
	p.values.Add(d.Seconds())
}

// add counts a request's way; nil: there was none.
func (n *network) add(w *ways, r *goodput.Record) {
	if w == nil || !w.connected {
		return
	}
	if w.reuse {
		n.reused.Add(1)
	} else {
		n.opened.Add(1)
	}
	if r.Outcome != goodput.Success && r.Outcome != goodput.Empty {
		n.failed.Add(1)
	}
	for p, told := range w.told {
		if told {
			n.times[p].add(w.took[p])
		}
	}
	if w.told[PhaseFirstByte] && len(r.Tokens) > 0 && r.Attempts <= 1 {
		n.times[phases].add(max(0, r.Tokens[0].At-r.Sent-w.took[PhaseWait]-w.took[PhaseWrite]-w.took[PhaseFirstByte]))
	}
}

// result is what there was; nil: no target told.
func (n *network) result() *goodput.Network {
	w := &goodput.Network{Opened: n.opened.Load(), Reused: n.reused.Load()}
	if w.Opened+w.Reused == 0 {
		return nil
	}
	for p, to := range []*goodput.PhaseTimes{&w.Wait, &w.DNS, &w.Connect, &w.TLS, &w.Write, &w.FirstByte, &w.FirstToken} {
		if v := n.times[p].values; v != nil {
			*to = percentilesOf(v)
		}
	}
	return w
}

// percentilesOf are those of what was recorded, in s; zero: nothing was.
func percentilesOf(v *percentile.Recorder) (t goodput.PhaseTimes) {
	if d := v.Snapshot(); d.Count() > 0 {
		t = goodput.PhaseTimes{N: d.Count(), P50: d.Quantile(0.5), P99: d.Quantile(0.99), Max: d.Max()}
	}
	return t
}
