package exporter

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// maxClassName is the length, in bytes, of the longest class name that is a label; longer ones are "other".
const maxClassName = 128

// Classes are those that have labels of their own, by name, with what an exporter keeps of each. Of may be called from any
// goroutine.
type Classes[T any] struct {
	max     int
	make    func(name string) T
	current atomic.Pointer[table[T]] // replaced, under mu, to add one
	mu      sync.Mutex
}

// table is never changed, but replaced by a longer one.
type table[T any] struct {
	byName map[string]T
	placed int // but for the default and other, which always have a place
}

// NewClasses has a place for most classes beside the default, other, and those that are named from the start.
func NewClasses[T any](most int, make func(name string) T, named []string) *Classes[T] {
	t := &table[T]{byName: map[string]T{}}
	for _, name := range named {
		t.byName[name] = make(name)
	}
	c := &Classes[T]{max: most, make: make}
	c.current.Store(t)
	return c
}

func alwaysPlaced(name string) bool { return name == slo.DefaultClass || name == goodput.OtherClass }

// Of is the class of that name, made where it is new and there is room for it, and else "other".
func (c *Classes[T]) Of(name string) T {
	if name == "" {
		name = slo.DefaultClass
	}
	t := c.current.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if of, ok := t.byName[goodput.OtherClass]; ok && !c.hasRoom(t, name) {
		return of
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(name)
}

// hasRoom reports whether a class that is not there yet can be one of its own. An exporter refuses what is not UTF-8, and with
// it a whole scrape.
func (c *Classes[T]) hasRoom(t *table[T], name string) bool {
	return alwaysPlaced(name) || t.placed < c.max && len(name) <= maxClassName && utf8.ValidString(name)
}

// add is Of, with mu held.
func (c *Classes[T]) add(name string) T {
	t := c.current.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if !c.hasRoom(t, name) {
		return c.add(goodput.OtherClass)
	}
	name = strings.Clone(name)
	of := c.make(name)
	longer := &table[T]{byName: maps.Clone(t.byName), placed: t.placed}
	longer.byName[name] = of
	if !alwaysPlaced(name) {
		longer.placed++
	}
	c.current.Store(longer)
	return of
}
