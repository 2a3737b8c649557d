package monitor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

const encodingMagic = "gpm\x01"

// MarshalBinary encodes all counts and the states of the alerts, so that a process that starts again goes on with them.
// There is nothing of any single request in it; what is in flight will be counted as unseen. Its length is bounded: a count
// takes at most 8 bytes, and one where nothing was. Its error is nil unless something was counted more than 2⁵⁴ times.
func (m *Monitor) MarshalBinary() ([]byte, error) {
	s := m.snapshot()
	e := encoder(encodingMagic)
	e.text(m.Fingerprint())
	e.uvarint(uint64(s.now))
	e.uvarint(uint64(s.since))
	for i := range s.watched {
		e.ring(&s.watched[i], s.now)
	}
	e.uvarint(uint64(len(s.classes)))
	for _, c := range s.classes {
		if most(c.total) > maxCounted {
			return nil, fmt.Errorf("monitor: %w", errCounted)
		}
		e.text(c.name)
		for _, n := range c.total {
			e.uvarint(n)
		}
		for i := range c.rings {
			e.ring(&c.rings[i], s.now)
		}
	}
	e.uvarint(uint64(len(s.alerts)))
	for i := range s.alerts {
		a := &s.alerts[i]
		e.text(a.g.name)
		e.text(a.o.text)
		e.uvarint(math.Float64bits(a.rule.Budget))
		e.uvarint(uint64(a.rule.Long))
		e.uvarint(uint64(a.rule.Short))
		open := uint64(0)
		if a.open {
			open = 1
		}
		e.uvarint(uint64(a.state)<<1 | open)
		e.uvarint(uint64(a.since))
	}
	return e, nil
}

// UnmarshalBinary takes over what another monitor has encoded, that of the process before this one. It is for a monitor
// that [New] made with the same SLOs and that has counted nothing yet, or the error wraps [ErrMerge] or [ErrUsed]; data that is damaged,
// cut short or of another format is one that wraps [ErrEncoding]. After an error m is as it was. It allocates no more than in
// proportion to the data.
//
// The time since is a gap: nobody was there, so that it is neither good nor bad, and [Window.Watched] has none of it. Where
// the wall clock is now before that of the encoding, time goes on from there. An alert goes on from its state if there is
// still the same rule.
func (m *Monitor) UnmarshalBinary(data []byte) error {
	s, err := m.decode(data)
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	r := m.read()
	defer m.mu.Unlock()
	for _, c := range m.classes.Load().all {
		if most(c.total) > 0 {
			return fmt.Errorf("monitor: %w", ErrUsed)
		}
	}
	if err := m.absorb(s); err != nil {
		return fmt.Errorf("monitor: %w: %w", ErrMerge, err)
	}
	m.axis += max(s.now-r.now, 0)
	m.seen = max(m.seen, s.now)
	m.since = s.since
	for i := range m.alerts {
		a := &m.alerts[i]
		for k := range s.alerts {
			if b := &s.alerts[k]; a.is(b.g, b.o, b.rule) {
				a.state, a.since, a.open = b.state, b.since, b.open
			}
		}
	}
	return nil
}

func (m *Monitor) decode(data []byte) (*snapshot, error) {
	if len(data) < len(encodingMagic) || string(data[:len(encodingMagic)]) != encodingMagic {
		return nil, fmt.Errorf("%w: it does not begin with %q", ErrEncoding, encodingMagic)
	}
	d := &decoder{b: data[len(encodingMagic):]}
	if x, y := m.Fingerprint(), d.text(64); d.err == nil && x != y {
		return nil, fmt.Errorf("%w: the SLOs differ (fingerprints %s and %.16q)", ErrMerge, x, y)
	}
	s := &snapshot{now: d.instant(), since: d.instant()}
	if s.since > s.now {
		d.fail(errors.New("it began after it ended"))
	}
	s.watched = d.rings(1, s.now)
	for i := range s.watched {
		for _, p := range s.watched[i].pages {
			if most(p.vals) > uint64(s.watched[i].width) {
				d.fail(errors.New("more was watched than there was time"))
			}
		}
	}
	had := map[string]bool{}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		c := d.class(m, s.now)
		if had[c.name] {
			d.fail(fmt.Errorf("class %.40q twice", c.name))
		}
		had[c.name] = true
		s.classes = append(s.classes, c)
	}
	for n := d.uvarint(); n > 0 && d.err == nil; n-- {
		d.alert(m, s)
	}
	if d.err == nil && len(d.b) > 0 {
		d.fail(fmt.Errorf("%d bytes too many", len(d.b)))
	}
	if d.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, d.err)
	}
	return s, nil
}

func (d *decoder) class(m *Monitor, now int64) *class {
	name := d.text(1 << 10)
	if name == "" {
		d.fail(errors.New("a class without a name"))
	}
	g := m.groups[0]
	for _, own := range m.groups[1:] {
		if own.name == name {
			g = own
		}
	}
	if !d.room(uint64(g.cols())) {
		return &class{}
	}
	c := newClass(name, g)
	for i := range c.total {
		if c.total[i] = d.uvarint(); c.total[i] > maxCounted {
			d.fail(errCounted)
		}
	}
	c.rings = d.rings(g.ringCols(), now)
	if d.err == nil && !c.closes() {
		d.fail(fmt.Errorf("the books of class %.40q do not close", name))
	}
	return c
}

// closes reports whether the books do, and whether no slot has more than there was in total.
func (c *class) closes() bool {
	n := c.total
	var outcomes, first uint64
	for _, o := range goodput.Outcomes() {
		outcomes += n[c.outcome(o)]
	}
	for j := range c.each {
		first += n[c.first(j)]
		if n[c.missed(j)] > n[c.decided(j)] || n[c.decided(j)] > n[cDecided] {
			return false
		}
	}
	for i := range c.rings {
		for k := range c.ringCols() {
			var sum uint64
			for _, p := range c.rings[i].pages {
				for at := k; at < len(p.vals); at += c.ringCols() {
					if sum += p.vals[at]; p.vals[at] > maxCounted || sum > n[k] {
						return false
					}
				}
			}
		}
	}
	return n[cRecorded] == outcomes && n[cSuccess] == n[c.outcome(goodput.Success)] && n[cSuccess] == n[cGood]+first &&
		n[cOffered] == n[cRecorded]+n[c.only(tUnseen)] && n[cDecided] == n[cRecorded]+n[c.only(tUnseenDue)] &&
		n[cEnded] == n[cRecorded]-n[c.outcome(goodput.Dropped)]-n[c.outcome(goodput.Unfinished)] &&
		n[cGoodOut] <= n[cOut] && n[c.only(tGoodIn)] <= n[c.only(tIn)] && n[c.only(tUnseenDue)] <= n[c.only(tUnseen)]
}

// alert takes one of the alerts that m has, and leaves out any other.
func (d *decoder) alert(m *Monitor, s *snapshot) {
	name, text := d.text(1<<10), d.text(1<<10)
	rule := Rule{Budget: math.Float64frombits(d.uvarint()), Long: time.Duration(d.uvarint()), Short: time.Duration(d.uvarint())}
	state, since := d.uvarint(), d.instant()
	if state>>1 > uint64(NoData) || since > s.now {
		d.fail(errors.New("bad alert"))
	}
	if d.err != nil || len(s.alerts) > len(m.alerts) {
		return
	}
	for _, g := range m.groups {
		for i := range g.objects {
			if o := &g.objects[i]; g.name == name && o.text == text {
				s.alerts = append(s.alerts, alert{g: g, o: o, rule: rule, state: AlertState(state >> 1), since: since, open: state&1 == 1})
			}
		}
	}
}

// encoder appends to itself.
type encoder []byte

func (e *encoder) uvarint(v uint64) { *e = binary.AppendUvarint(*e, v) }

func (e *encoder) text(s string) {
	e.uvarint(uint64(len(s)))
	*e = append(*e, s...)
}

// ring writes the pages that are not too old to be read: their number, and of each its own and its counts.
func (e *encoder) ring(r *ring, now int64) {
	oldest := floorDiv(floorDiv(now, r.width), pageSlots) - r.n
	var live []*page
	for i := range r.pages {
		if p := &r.pages[i]; p.vals != nil && p.no > oldest {
			live = append(live, p)
		}
	}
	e.uvarint(uint64(len(live)))
	for _, p := range live {
		e.uvarint(uint64(p.no))
		for _, n := range p.vals {
			e.uvarint(n)
		}
	}
}

// A decoder takes an encoding apart. After an error it returns zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.b = err, nil
	}
}

var errShort = errors.New("cut short")

// room reports whether n more bytes can come, and fails where not.
func (d *decoder) room(n uint64) bool {
	if d.err == nil && n > uint64(len(d.b)) {
		d.fail(errShort)
	}
	return d.err == nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// instant is a Unix time between 1970 and 2200, ns.
func (d *decoder) instant() int64 {
	v := d.uvarint()
	if v > uint64(230*365*24*time.Hour) {
		d.fail(errors.New("bad instant"))
		return 0
	}
	return int64(v)
}

func (d *decoder) text(most uint64) string {
	n := d.uvarint()
	if n > most {
		d.fail(errors.New("a text that is too long"))
	}
	if !d.room(n) {
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) rings(cols int, now int64) (all [len(layout)]ring) {
	all = newRings(cols)
	for i := range all {
		r := &all[i]
		newest := floorDiv(floorDiv(now, r.width), pageSlots)
		ahead := floorDiv(floorDiv(now+int64(maxSkew), r.width), pageSlots) // of a merged one's clock
		for n := d.uvarint(); n > 0 && d.err == nil; n-- {
			no := d.uvarint()
			if no > uint64(ahead) || int64(no) <= newest-r.n {
				d.fail(errors.New("slots of another time"))
			}
			if !d.room(uint64(pageSlots * cols)) { // a count takes at least a byte
				return all
			}
			p := r.page(int64(no))
			if p.vals != nil {
				d.fail(errors.New("slots twice"))
				return all
			}
			p.no, p.vals = int64(no), make([]uint64, pageSlots*cols)
			for k := range p.vals {
				p.vals[k] = d.uvarint()
			}
		}
	}
	return all
}
