package goodput

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/slo"
)

// classTable is the classes by name. It is never changed, but replaced by a longer one.
type classTable struct {
	byName map[string]*class
	all    []*class // by their index
	named  int      // but for the default and other, which always have a place
}

// with is the table with one more class.
func (t *classTable) with(c *class) *classTable {
	longer := &classTable{byName: maps.Clone(t.byName), all: slices.Clip(t.all), named: t.named}
	longer.add(c)
	return longer
}

// add puts a class into a table that nobody else has yet.
func (t *classTable) add(c *class) {
	c.index = len(t.all)
	t.byName[c.name] = c
	t.all = append(t.all, c)
	if !alwaysPlaced(c.name) {
		t.named++
	}
}

// alwaysPlaced are the classes that need no place of their own.
func alwaysPlaced(name string) bool { return name == slo.DefaultClass || name == OtherClass }

// hasRoom reports whether a class of that name, which is not there yet, can be one of its own.
func (t *classTable) hasRoom(name string) bool {
	return alwaysPlaced(name) || t.named < MaxClasses && len(name) <= maxClassName && utf8.ValidString(name)
}

// overflow is the class of those who have no place of their own; nil where there still is one, or it is not made yet.
func (t *classTable) overflow() *class {
	if t.named < MaxClasses {
		return nil
	}
	return t.byName[OtherClass]
}

// class is the class of that name, made where it is new; other says that there was no room for it.
func (a *Accumulator) class(name string) (c *class, other bool) {
	if name == "" || name == slo.DefaultClass {
		if c := a.unnamed.Load(); c != nil {
			return c, false
		}
		c, _ = a.addClass(slo.DefaultClass)
		a.unnamed.Store(c)
		return c, false
	}
	t := a.classes.Load()
	if c, ok := t.byName[name]; ok {
		return c, false
	}
	if c := t.overflow(); c != nil {
		return c, true
	}
	return a.addClass(name)
}

func (a *Accumulator) addClass(name string) (c *class, other bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.addClassLocked(name)
}

func (a *Accumulator) addClassLocked(name string) (c *class, other bool) {
	t := a.classes.Load()
	if c, ok := t.byName[name]; ok {
		return c, false
	}
	if !t.hasRoom(name) {
		c, _ = a.addClassLocked(OtherClass)
		return c, true
	}
	c = a.newClass(strings.Clone(name))
	a.classes.Store(t.with(c))
	return c, false
}

func (a *Accumulator) newClass(name string) *class {
	chk := a.checker
	if own, ok := a.set[name]; ok {
		chk = compile(own)
	}
	return &class{name: name, checker: chk, books: newBooks(chk, a.from)}
}
