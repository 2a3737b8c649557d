// Package classtable is the classes of an accumulator, a monitor or an exporter by their names. Names may come from a network:
// there is room for so many only, and what is beyond goes to one class, other.
package classtable

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/slo"
)

const (
	Other = "other"

	MaxName = 128 // bytes of the longest name that has a place
)

// A Table is read without a lock. The zero value is of no use before Init.
type Table[T any] struct{ current atomic.Pointer[List[T]] }

// List is never changed, but replaced by a longer one.
type List[T any] struct {
	ByName map[string]T
	All    []T // each at its index
	places int // that are left
}

// Init has classes for the names, and beside them, the default and other a place for so many more.
func (t *Table[T]) Init(places int, names []string, make func(name string, index int) T) {
	l := &List[T]{ByName: map[string]T{}, places: places}
	for _, name := range names {
		l.put(name, make)
	}
	t.current.Store(l)
}

// Load is what there is.
func (t *Table[T]) Load() *List[T] { return t.current.Load() }

// Take makes the classes of o those of t.
func (t *Table[T]) Take(o *Table[T]) { t.current.Store(o.current.Load()) }

// Of is the class of that name ("" is the default), made under mu where it is new; elsewhere says that there is no room for it, and
// it is other.
func (t *Table[T]) Of(name string, mu *sync.Mutex, make func(name string, index int) T) (of T, elsewhere bool) {
	if name == "" {
		name = slo.DefaultClass
	}
	l := t.current.Load()
	if of, ok := l.ByName[name]; ok {
		return of, false
	}
	if of, ok := l.ByName[Other]; ok && !l.hasRoom(name) {
		return of, true
	}
	mu.Lock()
	defer mu.Unlock()
	return t.Add(name, make)
}

// Add is Of, with the lock held.
func (t *Table[T]) Add(name string, make func(name string, index int) T) (of T, elsewhere bool) {
	l := t.current.Load()
	if of, ok := l.ByName[name]; ok {
		return of, false
	}
	if !l.hasRoom(name) {
		of, _ = t.Add(Other, make)
		return of, true
	}
	longer := &List[T]{ByName: maps.Clone(l.ByName), All: slices.Clip(l.All), places: l.places}
	of = longer.put(strings.Clone(name), make)
	if !AlwaysPlaced(name) {
		longer.places--
	}
	t.current.Store(longer)
	return of, false
}

// Fits reports whether all of these can be classes of their own.
func (l *List[T]) Fits(names []string) bool {
	after := List[T]{places: l.places}
	for _, name := range names {
		if _, ok := l.ByName[name]; ok || AlwaysPlaced(name) {
			continue
		}
		if !after.hasRoom(name) {
			return false
		}
		after.places--
	}
	return true
}

func (l *List[T]) put(name string, make func(name string, index int) T) T {
	of := make(name, len(l.All))
	l.ByName[name] = of
	l.All = append(l.All, of)
	return of
}

// hasRoom reports whether a class that is not there yet can be one of its own. An exporter refuses what is not UTF-8, and with
// it a whole scrape.
func (l *List[T]) hasRoom(name string) bool {
	return AlwaysPlaced(name) || l.places > 0 && len(name) <= MaxName && utf8.ValidString(name)
}

// AlwaysPlaced are the classes that take no place.
func AlwaysPlaced(name string) bool { return name == slo.DefaultClass || name == Other }
