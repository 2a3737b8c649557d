package monitor

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/wire"
)

const encodingMagic = "gpm\x03"

// MarshalBinary encodes all counts and the states of the alerts, so that a process that starts again goes on with them.
// There is nothing of any single request in it; what is in flight will be counted as unseen. Its length is bounded: a count
// takes at most 8 bytes, and one where nothing was. Its error is nil unless something was counted more than 2⁵⁴ times.
func (m *Monitor) MarshalBinary() ([]byte, error) {
	s := m.snapshot()
	e := encoder{wire.Encoder(encodingMagic)}
	e.Text(m.Fingerprint())
	e.Uvarint(uint64(s.now))
	e.Uvarint(uint64(s.since))
	for i := range s.watched {
		e.ring(&s.watched[i], s.now)
	}
	e.Uvarint(uint64(len(s.classes)))
	for _, c := range s.classes {
		if most(c.total) > maxCounted {
			return nil, fmt.Errorf("monitor: %w", errCounted)
		}
		e.Text(c.name)
		for _, n := range c.total {
			e.Uvarint(n)
		}
		for i := range c.rings {
			e.ring(&c.rings[i], s.now)
		}
	}
	e.Uvarint(uint64(len(s.alerts)))
	for i := range s.alerts {
		a := &s.alerts[i]
		e.Text(a.g.name)
		e.Text(a.o.text)
		e.Uvarint(math.Float64bits(a.rule.Budget))
		e.Uvarint(uint64(a.rule.Long))
		e.Uvarint(uint64(a.rule.Short))
		open := uint64(0)
		if a.open {
			open = 1
		}
		e.Uvarint(uint64(a.state)<<1 | open)
		e.Uvarint(uint64(a.since))
	}
	return e.Seal(), nil
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
	for _, c := range m.classes.Load().All {
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
	opened, err := wire.Open(data, encodingMagic)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	d := &decoder{opened}
	if x, y := m.Fingerprint(), d.Text(); d.OK() && x != y {
		return nil, fmt.Errorf("%w: the SLOs differ (fingerprints %s and %.16q)", ErrMerge, x, y)
	}
	s := &snapshot{now: d.instant(), since: d.instant()}
	if s.since > s.now {
		d.Fail(errors.New("it began after it ended"))
	}
	s.watched = d.rings(1, s.now)
	for i := range s.watched {
		for _, p := range s.watched[i].pages {
			if most(p.vals) > uint64(s.watched[i].width) {
				d.Fail(errors.New("more was watched than there was time"))
			}
		}
	}
	had := map[string]bool{}
	for n := d.Uvarint(); n > 0 && d.OK(); n-- {
		c := d.class(m, s.now)
		if had[c.name] {
			d.Fail(fmt.Errorf("class %.40q twice", c.name))
		}
		had[c.name] = true
		s.classes = append(s.classes, c)
	}
	for n := d.Uvarint(); n > 0 && d.OK(); n-- {
		d.alert(m, s)
	}
	if d.OK() && d.Left() > 0 {
		d.Fail(fmt.Errorf("%d bytes too many", d.Left()))
	}
	if !d.OK() {
		return nil, fmt.Errorf("%w: %w", ErrEncoding, d.Err())
	}
	return s, nil
}

func (d *decoder) class(m *Monitor, now int64) *class {
	name := d.Text()
	if name == "" || len(name) > 1<<10 {
		d.Fail(errors.New("a class without a name, or with one of more than 1 KiB"))
	}
	g := m.groupOf(name)
	if !d.Room(uint64(g.cols()), 1) {
		return &class{}
	}
	c := m.newClass(name, 0)
	for i := range c.total {
		c.total[i] = d.Count(maxCounted, errCounted)
	}
	c.rings = d.rings(g.ringCols(), now)
	if d.OK() && !c.closes() {
		d.Fail(fmt.Errorf("the books of class %.40q do not close", name))
	}
	return c
}

// closes reports whether the books do, and whether no slot has more than there was in total, or a part that is more than its whole.
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
		for _, p := range c.rings[i].pages {
			for slot := p.vals; len(slot) > 0; slot = slot[c.ringCols():] {
				if !c.slotCloses(slot) {
					return false
				}
			}
		}
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

// slotCloses reports whether each part of what is in a slot is at most its whole.
func (g *group) slotCloses(n []uint64) bool {
	for j := range g.each {
		if n[g.missed(j)] > n[g.decided(j)] {
			return false
		}
	}
	return n[cGood] <= n[cDecided] && n[cGood] <= n[cSuccess] && n[cSuccess] <= n[cEnded] && n[cEnded] <= n[cRecorded] && n[cGoodOut] <= n[cOut]
}

// alert takes one of the alerts that m has, and leaves out any other.
func (d *decoder) alert(m *Monitor, s *snapshot) {
	name, text := d.Text(), d.Text()
	rule := Rule{Budget: math.Float64frombits(d.Uvarint()), Long: time.Duration(d.Uvarint()), Short: time.Duration(d.Uvarint())}
	state, since := d.Uvarint(), d.instant()
	if state>>1 > uint64(NoData) || since > s.now {
		d.Fail(errors.New("bad alert"))
	}
	if !d.OK() || len(s.alerts) > len(m.alerts) {
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

type encoder struct{ wire.Encoder }

// ring writes the pages that are not too old to be read: their number, and of each its own and its counts.
func (e *encoder) ring(r *ring, now int64) {
	oldest := floorDiv(floorDiv(now, r.width), pageSlots) - r.n
	var live []*page
	for i := range r.pages {
		if p := &r.pages[i]; p.vals != nil && p.no > oldest {
			live = append(live, p)
		}
	}
	e.Uvarint(uint64(len(live)))
	for _, p := range live {
		e.Uvarint(uint64(p.no))
		for _, n := range p.vals {
			e.Uvarint(n)
		}
	}
}

type decoder struct{ wire.Decoder }

// instant is a Unix time between 1970 and 2200, ns.
func (d *decoder) instant() int64 {
	return int64(d.Count(uint64(230*365*24*time.Hour), errors.New("bad instant")))
}

func (d *decoder) rings(cols int, now int64) (all [len(layout)]ring) {
	all = newRings(cols)
	for i := range all {
		r := &all[i]
		newest := floorDiv(floorDiv(now, r.width), pageSlots)
		ahead := floorDiv(floorDiv(now+int64(maxSkew), r.width), pageSlots) // of a merged one's clock
		for n := d.Uvarint(); n > 0 && d.OK(); n-- {
			no := d.Uvarint()
			if no > uint64(ahead) || int64(no) <= newest-r.n {
				d.Fail(errors.New("slots of another time"))
			}
			if !d.Room(uint64(pageSlots*cols), 1) { // a count takes at least a byte
				return all
			}
			p := r.page(int64(no))
			if p.vals != nil {
				d.Fail(errors.New("slots twice"))
				return all
			}
			p.no, p.vals = int64(no), make([]uint64, pageSlots*cols)
			for k := range p.vals {
				p.vals[k] = d.Uvarint()
			}
		}
	}
	return all
}
