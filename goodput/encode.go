package goodput

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/goodput/internal/classtable"
	"github.com/goodputkit/goodputkit/internal/wire"
	"github.com/goodputkit/goodputkit/slo"
)

// ErrEncoding is what every error of decoding an [Accumulator] wraps: the data is damaged, cut short, of another
// format, or cannot be what an accumulator wrote.
var ErrEncoding = errors.New("goodput: not an encoded accumulator")

const encodingMagic = "gpa\x03"

// MarshalBinary encodes what was counted so far, with the SLOs and the window, so that another process can merge it or
// go on. Its length is bounded: below 600 kB a class, and in proportion where there is less. Its error is nil unless
// something was counted more than 2⁵⁶ times. The monotonic clock's readings are not in it.
func (a *Accumulator) MarshalBinary() ([]byte, error) {
	s := a.snapshot()
	if s.most() > maxCounted {
		return nil, fmt.Errorf("goodput: %w", errCounted)
	}
	e := encoder{wire.Encoder(encodingMagic)}
	e.Text(a.slo.String())
	e.Text(a.slo.Name)
	e.Uvarint(uint64(len(a.set)))
	for _, class := range a.set.Classes() {
		e.Text(class)
		e.Text(a.set[class].String())
		e.Text(a.set[class].Name)
	}
	e.Float(a.confidence)
	e.Bool(a.windowed)
	e.Uvarint(uint64(a.from))
	e.Uvarint(uint64(s.to))
	e.Bool(s.included)
	e.Bool(s.late)
	e.Uvarint(s.refused)
	e.Uvarint(uint64(s.base + 1))
	e.Bool(s.seen.any)
	e.Uvarint(uint64(s.seen.first))
	e.Uvarint(uint64(s.seen.last))
	e.Uvarint(uint64(len(s.classes)))
	for i := range s.classes {
		e.class(&s.classes[i])
	}
	return e.Seal(), nil
}

// UnmarshalBinary replaces a by an encoded accumulator. Its errors wrap [ErrEncoding] and leave a as it was. It
// allocates no more than in proportion to the data. Nobody else may use a meanwhile.
func (a *Accumulator) UnmarshalBinary(data []byte) error {
	n, err := decodeAccumulator(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	for i := range a.shards {
		a.shards[i].empty()
	}
	a.slo, a.set, a.confidence, a.windowed, a.checker = n.slo, n.set, n.confidence, n.windowed, n.checker
	a.from, a.included, a.late, a.seen = n.from, n.included, n.late, n.seen
	a.base.Store(n.base.Load())
	a.to.Store(n.to.Load())
	a.refused.Store(n.refused.Load())
	a.classes.Take(&n.classes)
	a.unnamed.Store(nil)
	return nil
}

func decodeAccumulator(data []byte) (*Accumulator, error) {
	opened, err := wire.Open(data, encodingMagic)
	if err != nil {
		return nil, err
	}
	d := &decoder{opened}
	a := &Accumulator{}
	a.slo = d.slo()
	if n := d.Uvarint(); n > 0 && d.Room(n, 3) {
		a.set = slo.Set{}
		for range n {
			class := d.Text()
			a.set[class] = d.slo()
		}
	}
	a.confidence = d.Float()
	a.windowed = d.Bool()
	a.from = d.instant()
	to := d.Uvarint()
	a.included = d.Bool()
	late, refused, base := d.Bool(), d.count(), d.Uvarint()
	seen := span{any: d.Bool(), first: d.instant(), last: d.instant()}
	if !d.OK() {
		return nil, d.Err()
	}
	if to > math.MaxInt64 || base > math.MaxInt64 || a.windowed && (base == 0 || int64(base-1) != a.from || int64(to) < a.from) ||
		!a.windowed && (a.from != 0 || to != math.MaxInt64) {
		return nil, errors.New("bad window")
	}
	if base > 0 {
		t := instant(int64(base - 1))
		a.base.Store(&t)
		if !validStart(t) {
			return nil, errors.New("bad base")
		}
	}
	if seen.any && (base == 0 || seen.first > seen.last) {
		return nil, errors.New("bad span")
	}
	if err := a.init(); err != nil {
		return nil, err
	}
	a.to.Store(int64(to))
	if a.included && int64(to) <= a.from {
		return nil, errors.New("bad window")
	}
	a.seen, a.late = seen, late
	a.refused.Store(refused)
	d.classes(a)
	if d.OK() && d.Left() > 0 {
		d.Fail(fmt.Errorf("%d bytes too many", d.Left()))
	}
	return a, d.Err()
}

func (d *decoder) classes(a *Accumulator) {
	n := d.Uvarint()
	if !d.Room(n, 16) {
		return
	}
	s := snapshot{}
	had := map[string]bool{}
	for range n {
		c := d.class(a)
		if !d.OK() {
			return
		}
		if had[c.name] {
			d.Fail(fmt.Errorf("class %.40q twice", c.name))
			return
		}
		had[c.name] = true
		s.classes = append(s.classes, c)
	}
	if err := a.absorb(&s); err != nil {
		d.Fail(err)
	}
}

func (e *encoder) class(c *classSnapshot) {
	b := &c.books
	e.Text(c.name)
	for _, n := range b.counters() {
		e.Uvarint(*n)
	}
	e.Uvarint(uint64(b.starts.first))
	e.Uvarint(uint64(b.starts.last))
	e.Encoder = b.slices.appendBinary(e.Encoder)
	e.Bool(b.ttfoDiffers)
	for _, d := range b.digests {
		e.digest(d)
	}
	e.Uvarint(uint64(len(b.customs)))
	for _, m := range slices.Sorted(maps.Keys(b.customs)) {
		e.Text(string(m))
		e.digest(b.customs[m])
	}
	for _, kind := range [][]worstOne{c.late, c.failed} {
		e.Uvarint(uint64(len(kind)))
		for i := range kind {
			e.worst(&kind[i])
		}
	}
}

// counters are all that books count, in the order of the encoding.
func (b *books) counters() []*uint64 {
	all := []*uint64{&b.offered, &b.good, &b.undecided}
	each := func(v []uint64) {
		for i := range v {
			all = append(all, &v[i])
		}
	}
	each(b.outcomes[1:])
	each(b.flowOutcome[1:])
	for _, v := range b.byObjective() {
		each(*v)
	}
	all = append(all, b.flow.fields()...)
	return append(all, b.notes.fields()...)
}

// maxCounted is how much of anything can be encoded and merged: so little that 64 such counts can be added.
const maxCounted = 1 << 56

var errCounted = errors.New("something was counted more than 2⁵⁶ times")

// most is the greatest of all counts.
func (s *snapshot) most() uint64 {
	n := s.refused
	for i := range s.classes {
		n = max(n, s.classes[i].books.most())
	}
	return n
}

func (b *books) most() (n uint64) {
	for _, v := range b.counters() {
		n = max(n, *v)
	}
	for column := range b.slices.stride() {
		n = max(n, b.slices.total(column))
	}
	return n
}

func (d *decoder) class(a *Accumulator) (c classSnapshot) {
	c.name = d.Text()
	if d.OK() && (c.name == "" || len(c.name) > classtable.MaxName && a.set[c.name].IsZero()) {
		d.Fail(errors.New("bad class name"))
	}
	chk := a.checker
	if own, ok := a.classes.Load().ByName[c.name]; ok {
		chk = own.checker
	}
	if !d.Room(uint64(6*len(chk.rules)), 1) {
		return c
	}
	c.checker = chk
	c.books = newBooks(chk, a.from)
	b := &c.books
	for _, n := range b.counters() {
		*n = d.count()
	}
	b.starts = span{first: d.instant(), last: d.instant(), any: b.offered > 0}
	b.slices.decode(d)
	b.ttfoDiffers = d.Bool()
	for m := range b.digests {
		b.digests[m] = d.digest()
	}
	customs := d.Uvarint()
	if !d.Room(customs, 2) {
		return c
	}
	for range customs {
		m := slo.Metric(d.Text())
		if x := d.digest(); x != nil && d.OK() {
			into := b.customDigest(m)
			if into == nil {
				d.Fail(errors.New("too many custom metrics, or a bad name"))
				return c
			}
			into.Merge(x)
		}
	}
	for _, kind := range []*[]worstOne{&c.late, &c.failed} {
		n := d.Uvarint()
		if n > worstKept {
			d.Fail(errors.New("too many worst requests"))
		}
		for ; n > 0 && d.OK(); n-- {
			*kind = append(*kind, d.worst())
		}
	}
	if d.OK() {
		if err := b.check(chk); err != nil {
			d.Fail(err)
		}
	}
	return c
}

// check refuses books that do not close.
func (b *books) check(chk *checker) error {
	sum := func(v []uint64) (n uint64) {
		for _, x := range v {
			n += x // at most 64 of 2⁵⁶
		}
		return n
	}
	success := b.outcomes[Success]
	f := &b.flow
	ended := sum(b.flowOutcome[:]) - b.flowOutcome[Dropped] - b.flowOutcome[Unfinished]
	switch {
	case sum(b.outcomes[:]) != b.offered, b.good > success, b.undecided > b.outcomes[Unfinished],
		f.Ended != ended, f.Success != b.flowOutcome[Success], f.Dropped != b.flowOutcome[Dropped],
		f.Unfinished != b.flowOutcome[Unfinished], f.Good+sum(b.flowFirst) != f.Success,
		f.GoodInputTokens > f.InputTokens, f.GoodOutputTokens > f.OutputTokens:
		return errors.New("the books do not close")
	}
	if s := b.starts; s.first > s.last || !s.any && s != (span{}) {
		return errors.New("bad starts")
	}
	for i := range chk.rules {
		if chk.rules[i].kind.population() {
			continue
		}
		if b.within[i]+b.missed[i]+b.excluded[i] != success || b.undefined[i] > success || b.flowMissed[i] > f.Success {
			return fmt.Errorf("the books of %s do not close", chk.text[i])
		}
	}
	if b.slices.total(nCohort) != b.offered || b.slices.total(nGood) != b.good || b.slices.total(nFailed) != b.offered-success {
		return errors.New("the time slices do not add up")
	}
	return nil
}

func (e *encoder) worst(w *worstOne) {
	e.Float(w.score)
	e.Float(w.excess)
	e.Uvarint(uint64(w.start))
	e.Uvarint(uint64(w.outcome))
	e.Uvarint(w.missed)
	e.Uvarint(uint64(max(w.attempts, 0)))
	for _, v := range w.s.fields() {
		e.Varint(*v)
	}
	e.Text(string(w.detail[:w.detailLen]))
	e.Text(string(w.finish[:w.finishLen]))
}

func (d *decoder) worst() (w worstOne) {
	w.score, w.excess, w.start = d.Float(), d.Float(), d.instant()
	outcome := d.Uvarint()
	w.missed = d.Uvarint()
	w.attempts = int(min(d.Uvarint(), math.MaxInt32))
	for _, v := range w.s.fields() {
		if *v = d.Varint(); *v < -1 || *v > maxOffset {
			d.Fail(errors.New("bad worst request"))
		}
	}
	w.detailLen = copy(w.detail[:], d.Text())
	w.finishLen = copy(w.finish[:], d.Text())
	w.outcome = Outcome(min(outcome, math.MaxUint8))
	if !w.outcome.Valid() || !(w.score >= 0) || math.IsInf(w.score, 0) || math.IsInf(w.excess, 0) {
		d.Fail(errors.New("bad worst request"))
	}
	return w
}

// fields are the numbers of a sample that a report shows.
func (s *sample) fields() []*int64 {
	return []*int64{&s.sent, &s.e2e, &s.first, &s.last, &s.ttfo, &s.events, &s.n1, &s.n, &s.in, &s.gap, &s.gapTokens}
}
