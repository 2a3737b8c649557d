package monitor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// What the errors of [Monitor.Merge] and [Monitor.UnmarshalBinary] wrap.
var (
	ErrMerge    = errors.New("monitors that do not count the same")
	ErrEncoding = errors.New("not an encoded monitor")
	ErrUsed     = errors.New("the monitor has counted already")
)

// maxSkew is how far ahead the clock of a monitor that is merged may be.
const maxSkew = 10 * time.Second

// maxCounted is how much of anything can be taken over: so little that a thousand such counts can be added.
const maxCounted = 1 << 54

// snapshot is a copy of all that a monitor has counted.
type snapshot struct {
	now, since int64
	watched    [len(layout)]ring
	classes    []*class // copies
	alerts     []alert
}

// snapshot copies what there is. What is in flight will end elsewhere, and is counted as unseen.
func (m *Monitor) snapshot() *snapshot {
	r := m.read()
	defer m.mu.Unlock()
	s := &snapshot{now: r.now, since: m.since, alerts: append([]alert{}, m.alerts...)}
	for i := range m.watched {
		s.watched[i] = m.watched[i].clone()
	}
	for _, c := range m.sorted() {
		k := m.newClass(c.name, c.index)
		copy(k.total, c.total)
		k.total[c.only(tUnseen)] += uint64(r.flights[c.index].inFlight)
		k.total[c.only(tUnseenDue)] += uint64(r.flights[c.index].overdue)
		for i := range c.rings {
			k.rings[i] = c.rings[i].clone()
		}
		s.classes = append(s.classes, k)
	}
	return s
}

func (r *ring) clone() ring {
	c := *r
	c.pages = slices.Clone(r.pages)
	for i := range c.pages {
		c.pages[i] = page{no: r.pages[i].no, vals: slices.Clone(r.pages[i].vals)}
	}
	return c
}

// Merge adds what another monitor has counted, such as that of a replica: by counts, slot by slot, so that shares and rates
// are those of all together. It is not changed, and may go on counting: merge it once. Both have to have the same SLOs, by
// fingerprint, and clocks that agree: to a slot for windows that are exact, and o's not over 10 s ahead. An error wraps [ErrMerge], and then nothing is added. Alerts are judged anew by
// what there is then.
//
// A time in which one of the two was there counts as watched, by the greater part in each slot.
func (m *Monitor) Merge(o *Monitor) error {
	if x, y := m.Fingerprint(), o.Fingerprint(); x != y {
		return fmt.Errorf("monitor: %w: the SLOs differ (fingerprints %s and %s)", ErrMerge, x, y)
	}
	if m == o {
		return fmt.Errorf("monitor: %w: it is the same one", ErrMerge)
	}
	s := o.snapshot()
	r := m.read()
	defer m.mu.Unlock()
	if ahead := time.Duration(s.now - r.now); ahead > maxSkew {
		return fmt.Errorf("monitor: %w: its clock is %v ahead", ErrMerge, ahead)
	}
	if err := m.absorb(s); err != nil {
		return fmt.Errorf("monitor: %w: %w", ErrMerge, err)
	}
	m.since = min(m.since, s.since)
	return nil
}

// absorb adds all of a snapshot or, with an error, nothing. mu is held.
func (m *Monitor) absorb(s *snapshot) error {
	if err := m.checkAbsorb(s); err != nil {
		return err
	}
	for i := range m.watched {
		m.watched[i].merge(&s.watched[i], func(a, b uint64) uint64 { return max(a, b) })
	}
	for _, from := range s.classes {
		to, other := m.classes.Add(from.name, m.newClass)
		if other {
			to.total[to.only(tOther)] += from.total[cOffered]
		}
		for k, n := range from.total {
			to.total[k] += n
		}
		for i := range to.rings {
			to.rings[i].merge(&from.rings[i], func(a, b uint64) uint64 { return a + b })
		}
	}
	return nil
}

// checkAbsorb refuses what is too much to count, and classes that would have to go to other, where that has an SLO of its own.
func (m *Monitor) checkAbsorb(s *snapshot) error {
	t := m.classes.Load()
	names := make([]string, len(s.classes))
	for i, c := range s.classes {
		names[i] = c.name
		has, ok := t.ByName[c.name]
		if most(c.total) > maxCounted || ok && most(has.total) > maxCounted {
			return errCounted
		}
	}
	if _, apart := m.set[goodput.OtherClass]; apart && !t.Fits(names) {
		return fmt.Errorf("there is no place for so many classes together, and the class %s has an SLO of its own", goodput.OtherClass)
	}
	return nil
}

var errCounted = errors.New("something was counted more than 2⁵⁴ times")

func most(counts []uint64) (n uint64) {
	for _, v := range counts {
		n = max(n, v)
	}
	return n
}

// merge joins the slots of o to those of r, as far as r reaches back.
func (r *ring) merge(o *ring, join func(a, b uint64) uint64) {
	for i := range o.pages {
		p := &o.pages[i]
		if p.vals == nil {
			continue
		}
		for k := range int64(pageSlots) {
			slot := r.slot((p.no*pageSlots + k) * r.width)
			if slot == nil {
				break
			}
			for col, n := range p.vals[k*int64(o.cols):][:o.cols] {
				slot[col] = join(slot[col], n)
			}
		}
	}
}
