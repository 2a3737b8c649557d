package monitor

import (
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// The columns of the rings. After them each objective about a request has two more: decided, and missed.
const (
	cOffered  = iota // began
	cEnded           // ended, but for dropped and unfinished: throughput
	cRecorded        // ended, whatever the outcome
	cSuccess
	cDecided // ended, or in flight past the deadline; once
	cGood
	cOut     // output tokens of what ended
	cGoodOut // of what was good
	base
)

// What is counted in total alone comes after the columns of the rings, in this order.
const (
	tIn = iota
	tGoodIn
	tOverdue                                 // decided in flight
	tLimits                                  // brought a threshold along
	tOther                                   // of a class that had no place
	tUnseen                                  // in flight in a monitor whose counts were taken over
	tUnseenDue                               // of them decided
	tOutcomes                                // by outcome
	tEnd       = tOutcomes + numOutcomes + 1 // then for each objective: lost under it first, and undefined
)

const numOutcomes = int(goodput.Unfinished)

// class is what is known of one class; the monitor's mu is held to read or change it.
type class struct {
	name  string
	index int
	*group
	rings [len(layout)]ring
	total []uint64 // since the beginning
}

func (g *group) ringCols() int         { return base + 2*len(g.each) }
func (g *group) cols() int             { return g.ringCols() + tEnd + 2*len(g.each) }
func (g *group) decided(j int) int     { return base + 2*j }
func (g *group) missed(j int) int      { return base + 2*j + 1 }
func (g *group) only(t int) int        { return g.ringCols() + t }
func (g *group) first(j int) int       { return g.only(tEnd + 2*j) }
func (g *group) undefinedBy(j int) int { return g.only(tEnd + 2*j + 1) }

// outcome is the column of an outcome.
func (g *group) outcome(o goodput.Outcome) int { return g.only(tOutcomes + int(o)) }

func (m *Monitor) newClass(name string, index int) *class {
	g := m.groupOf(name)
	return &class{name: name, index: index, group: g, rings: newRings(g.ringCols()), total: make([]uint64, g.cols())}
}

// groupOf is the group that a class of that name belongs to.
func (m *Monitor) groupOf(name string) *group {
	for _, own := range m.groups[1:] {
		if own.name == name {
			return own
		}
	}
	return m.groups[0]
}

// add enters counts at instant t.
func (c *class) add(t int64, counts []uint64) {
	for k, n := range counts {
		c.total[k] += n
	}
	for i := range c.rings {
		if slot := c.rings[i].slot(t); slot != nil {
			for k := range slot {
				slot[k] += counts[k]
			}
		}
	}
}

// addOne adds n to one column at instant t.
func (c *class) addOne(t int64, col int, n int64) {
	c.total[col] += uint64(n)
	c.ringOne(t, col, n)
}

func (c *class) ringOne(t int64, col int, n int64) {
	for i := range c.rings {
		if slot := c.rings[i].slot(t); slot != nil {
			slot[col] += uint64(n)
		}
	}
}

// move makes a count of one instant one of another, from ≤ to.
func (c *class) move(from, to int64, col int) {
	c.ringOne(from, col, -1)
	c.ringOne(to, col, 1)
}

// class is the class of that name, made where it is new; other says that there was no place for it.
func (m *Monitor) class(name string) (c *class, other bool) {
	return m.classes.Of(name, &m.mu, m.newClass)
}

// sorted are the classes by name.
func (m *Monitor) sorted() []*class {
	return slices.SortedFunc(slices.Values(m.classes.Load().All), func(a, b *class) int { return strings.Compare(a.name, b.name) })
}

// lookup is the class of that name; nil where it has had no request.
func (m *Monitor) lookup(name string) *class {
	if name == "" {
		name = slo.DefaultClass
	}
	return m.classes.Load().ByName[name]
}
