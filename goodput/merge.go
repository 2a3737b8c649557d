package goodput

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// ErrMerge is what the errors of [Accumulator.Merge] wrap: the two do not measure the same.
var ErrMerge = errors.New("goodput: accumulators that do not measure the same")

// snapshot is a copy of an accumulator's books.
type snapshot struct {
	classes []classSnapshot
	seen    span
	refused uint64
	late    bool
	base    int64 // Unix time, ns; −1: none

	window   Window
	to       int64 // as in Accumulator
	included bool
}

type classSnapshot struct {
	name         string
	checker      *checker
	books        books
	late, failed []worstOne
}

// snapshot copies the books, so that whoever reads them keeps nobody waiting. It has every record whose Observe has
// returned.
func (a *Accumulator) snapshot() snapshot {
	a.drain()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := snapshot{seen: a.seen, refused: a.refused.Load(), late: a.late, base: -1,
		window: a.window(), to: a.to.Load(), included: a.included}
	if base := a.base.Load(); base != nil {
		s.base = base.UnixNano()
	}
	classes := a.classes.Load().ByName
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		c := classes[name]
		one := classSnapshot{name: name, checker: c.checker, books: c.books.clone()}
		one.late, one.failed = c.worst.copies()
		s.classes = append(s.classes, one)
	}
	return s
}

// Merge adds what o has counted, as if its records had been observed here. o is not changed. The two have to agree on
// the SLOs (by fingerprint) and on the window; an error that wraps [ErrMerge] says on what they do not, and then nothing
// is added. The window of a whole run becomes that of both.
//
// Classes beyond [MaxClasses] go to [OtherClass]. Where the set gives that one an SLO of its own, by which their requests
// were not judged, they cannot: that is such an error too.
func (a *Accumulator) Merge(o *Accumulator) error {
	if x, y := a.set.Fingerprint(a.slo), o.set.Fingerprint(o.slo); x != y {
		return fmt.Errorf("%w: %s (fingerprints %s and %s)", ErrMerge, a.apart(o), x, y)
	}
	if x, y := a.windowText(), o.windowText(); x != y {
		return fmt.Errorf("%w: window %s and %s", ErrMerge, x, y)
	}
	s := o.snapshot()
	if s.base >= 0 {
		a.at(instant(s.base)) // where a has no base yet, it is o's
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.checkCounts(&s); err != nil {
		return err
	}
	return a.absorb(&s)
}

// checkCounts refuses what would be too much to count.
func (a *Accumulator) checkCounts(s *snapshot) error {
	ours := a.refused.Load()
	for _, c := range a.classes.Load().ByName {
		ours = max(ours, c.books.most())
	}
	if theirs := s.most(); theirs > maxCounted || ours > maxCounted-theirs {
		return fmt.Errorf("%w: %w", ErrMerge, errCounted)
	}
	return nil
}

// apart says in what the SLOs of two accumulators differ.
func (a *Accumulator) apart(o *Accumulator) string {
	if !a.slo.Equal(o.slo) {
		return fmt.Sprintf("the SLO is %q and %q", a.slo, o.slo)
	}
	names := slices.Concat(a.set.Classes(), o.set.Classes())
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, inA := a.set[name]
		y, inO := o.set[name]
		class := figure.Clean(name, 60)
		switch {
		case !inA:
			return fmt.Sprintf("the SLO is the same, but for the class %s, which only the second has: %q", class, y)
		case !inO:
			return fmt.Sprintf("the SLO is the same, but for the class %s, which only the first has: %q", class, x)
		case !x.Equal(y):
			return fmt.Sprintf("the SLO is the same, but that of the class %s is %q and %q", class, x, y)
		}
	}
	return "the SLOs differ"
}

// absorb adds all of a snapshot or, with an error, nothing.
func (a *Accumulator) absorb(s *snapshot) error {
	if err := a.checkRoom(s); err != nil {
		return err
	}
	if s.seen.any {
		a.seen.add(s.seen.first, s.seen.last)
	}
	a.refused.Add(s.refused)
	a.late = a.late || s.late
	for i := range s.classes {
		from := &s.classes[i]
		c, other := a.classes.Add(from.name, a.newClass)
		if other {
			from.books.notes.OtherClasses += from.books.slices.total(cOffered)
		}
		c.books.merge(&from.books)
		c.worst.merge(from.late, from.failed)
	}
	return nil
}

// checkRoom refuses classes that would have to go to OtherClass where that judges by another SLO than they did.
func (a *Accumulator) checkRoom(s *snapshot) error {
	if own, ok := a.set[OtherClass]; !ok || own.Equal(a.slo) {
		return nil
	}
	names := make([]string, len(s.classes))
	for i := range s.classes {
		names[i] = s.classes[i].name
	}
	if !a.classes.Load().Fits(names) {
		return fmt.Errorf("%w: over %d classes together, and the class %s has an SLO of its own", ErrMerge, MaxClasses, OtherClass)
	}
	return nil
}

// windowText names the window: equal texts, equal windows.
func (a *Accumulator) windowText() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.window()
	switch {
	case w.Kind == WholeRun:
		return string(WholeRun)
	case w.Open:
		return fmt.Sprintf("from %s, open", w.From.Format(time.RFC3339Nano))
	}
	return fmt.Sprintf("from %s to %s (included: %t)", w.From.Format(time.RFC3339Nano), w.To.Format(time.RFC3339Nano), w.ToIncluded)
}
