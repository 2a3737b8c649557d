package monitor

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

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

func newClass(name string, g *group) *class {
	return &class{name: name, group: g, rings: newRings(g.ringCols()), total: make([]uint64, g.cols())}
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

// classTable is the classes by name. It is never changed, but replaced by a longer one.
type classTable struct {
	byName map[string]*class
	all    []*class
	named  int // those that take a place
}

func (t *classTable) with(c *class, takes bool) *classTable {
	longer := &classTable{byName: maps.Clone(t.byName), all: slices.Clip(t.all), named: t.named}
	c.index = len(t.all)
	longer.byName[c.name] = c
	longer.all = append(longer.all, c)
	if takes {
		longer.named++
	}
	return longer
}

const maxClassName = 128 // bytes

// class is the class of that name, made where it is new; other says that there was no place for it.
func (m *Monitor) class(name string) (c *class, other bool) {
	if name == "" {
		name = slo.DefaultClass
	}
	t := m.classes.Load()
	if c, ok := t.byName[name]; ok {
		return c, false
	}
	if !m.hasRoom(t, name) {
		if c, ok := t.byName[goodput.OtherClass]; ok {
			return c, true
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.addClass(name)
}

// hasRoom reports whether a class of that name, which is not there yet, can be one of its own. The default and other always can.
func (m *Monitor) hasRoom(t *classTable, name string) bool {
	return alwaysPlaced(name) || t.named < m.maxClasses && len(name) <= maxClassName && utf8.ValidString(name)
}

func alwaysPlaced(name string) bool { return name == slo.DefaultClass || name == goodput.OtherClass }

// addClass is class, with mu held.
func (m *Monitor) addClass(name string) (c *class, other bool) {
	t := m.classes.Load()
	if c, ok := t.byName[name]; ok {
		return c, false
	}
	if !m.hasRoom(t, name) {
		c, _ = m.addClass(goodput.OtherClass)
		return c, true
	}
	c = newClass(strings.Clone(name), m.groups[0])
	m.classes.Store(t.with(c, !alwaysPlaced(name)))
	return c, false
}

// sorted are the classes by name.
func (t *classTable) sorted() []*class {
	return slices.SortedFunc(slices.Values(t.all), func(a, b *class) int { return strings.Compare(a.name, b.name) })
}

// lookup is the class of that name; nil where it has had no request.
func (m *Monitor) lookup(name string) *class {
	if name == "" {
		name = slo.DefaultClass
	}
	return m.classes.Load().byName[name]
}
