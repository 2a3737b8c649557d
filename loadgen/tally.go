package loadgen

import (
	"container/heap"
	"errors"
	"maps"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// tally is what a Book writes its records into.
//
// An accumulator wants to know of the window's ends before it sees what lies beyond them. The schedule knows of the end
// no later than the last request starts, but a client that is late can see a request end before it has started all that
// were due until then: such a record is held until the schedule has come so far.
type tally struct {
	load  string // what was asked for, for people
	desc  Description
	plan  *Plan
	start time.Time
	acc   *goodput.Accumulator // nil until the window's beginning is known
	shut  bool                 // the accumulator knows the window's end
	held  byEnd                // the first to end is the first
	judge *goodput.Judge       // nil: nobody asks while the run goes on
	file  *goodput.RecordWriter

	offered, sent, ended, success uint64
	flow                          uint64        // ended; neither dropped nor unfinished
	good                          atomic.Uint64 // counted outside of the Book's lock
	retried                       uint64
	heard                         time.Time // the latest End
	asked, counted                uint64    // input tokens where both are known
	lags                          lags
	flight                        flight
	machine                       *machine   // the client's process and host; nil: in virtual time, or nobody looks
	times                         sync.Mutex // guards the lags' values, and what follows, outside of the Book's lock
	network                       network
	spool                         *spool                // what the file is written into; nil: straight into the plan's writer
	leftOut                       atomic.Uint64         // records that found it full
	broken                        atomic.Pointer[error] // the first error of writing records
}

func newTally(p *Plan, d Description, load string, start time.Time) (*tally, error) {
	t := &tally{plan: p, desc: d, load: load, start: start, lags: lags{due: start, sent: start}, flight: flight{at: start}}
	if p.Progress != nil {
		t.judge = goodput.NewJudge(p.SLO, p.Classes)
	}
	if !p.steady() {
		t.acc = t.accumulator()
	}
	if p.Records == nil {
		return t, nil
	}
	t.spool, _ = p.Records.(*spool)
	h := goodput.RecordsHeader{Start: start, SLO: p.SLO, Classes: p.Classes, About: map[string]string{}}
	h.About["load"] = load
	if d.Name != "" {
		h.About["target"] = clean(d.Name)
	}
	if p.steady() && p.WarmupRequests == 0 && p.Warmup != WarmupAuto {
		h.Window = goodput.Window{Kind: goodput.SteadyState, From: start.Add(p.Warmup), Open: true}
	}
	var err error
	if t.file, err = goodput.NewRecordWriter(p.Records, h); err != nil {
		return nil, &PlanError{"Records", err}
	}
	return t, nil
}

func (t *tally) accumulator(opts ...goodput.Option) *goodput.Accumulator {
	if len(t.plan.Classes) > 0 {
		opts = append(opts, goodput.WithClasses(t.plan.Classes))
	}
	return goodput.NewAccumulator(t.plan.SLO, opts...)
}

// follow hears how far the schedule has come, and lets go of the records that were held until then.
func (t *tally) follow(s *schedule, now time.Time) {
	if t.acc == nil && s.warm {
		t.acc = t.accumulator(goodput.WithWindow(s.from, time.Time{}))
	}
	if t.acc == nil {
		return
	}
	for len(t.held) > 0 && !t.early(t.held[0], s, now) {
		r := heap.Pop(&t.held).(*goodput.Record)
		t.endWindow(r, s)
		s.transient.saw(r, s)
		t.acc.Observe(r)
	}
}

// byEnd is a heap of records, by the instants at which they ended.
type byEnd []*goodput.Record

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].Start.Add(h[i].End).Before(h[j].Start.Add(h[j].End)) }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(x any)        { *h = append(*h, x.(*goodput.Record)) }
func (h *byEnd) Pop() any {
	n := len(*h) - 1
	r := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return r
}

// decide finds where the steady state begins. last: it is too late to begin it without having found it.
func (t *tally) decide(s *schedule, deadline time.Time, last bool) {
	from, ok := steadyFrom(t.start, deadline, t.held)
	if !ok {
		if s.transient.missed = true; last {
			return
		}
		from = deadline
	}
	s.warmFrom(from)
}

// early says that it is not known yet on which side of the window's beginning or end r has ended.
func (t *tally) early(r *goodput.Record, s *schedule, now time.Time) bool {
	if !t.plan.steady() {
		return false
	}
	front, some := s.frontier(now)
	return t.acc == nil || some && r.Start.Add(r.End).After(front)
}

// endWindow tells the accumulator where the window ends, before the first record that lies beyond it.
func (t *tally) endWindow(r *goodput.Record, s *schedule) {
	if t.shut || !t.plan.steady() {
		return
	}
	end, included, known := s.window()
	if at := r.Start.Add(r.End); known && (at.After(end) || at.Equal(end) && !included) {
		t.shutWindow(end, included)
	}
}

func (t *tally) shutWindow(end time.Time, included bool) {
	t.shut = true
	if included {
		t.acc.EndWindowWith(end)
	} else {
		t.acc.EndWindow(end)
	}
}

// end counts a record that is complete, and says what is to be done with it outside of the Book's lock.
func (t *tally) end(c *Call, r *goodput.Record, s *schedule, now time.Time) observer {
	t.ended++
	t.heard = later(t.heard, r.Start.Add(r.End))
	if r.Outcome == goodput.Success {
		t.success++
	}
	if r.Outcome.Throughput() {
		t.flow++
	}
	if r.Attempts > 1 {
		t.retried++
	}
	o := observer{t: t, lag: t.lags.add(c, r), ways: c.ways}
	if !c.handed.IsZero() {
		t.flight.end(c, r, now)
	}
	if c.Request.InputTokens > 0 && r.InputTokens > 0 {
		t.asked += uint64(c.Request.InputTokens)
		t.counted += uint64(r.InputTokens)
	}
	if t.early(r, s, now) {
		heap.Push(&t.held, heldRecord(r, t.acc == nil && s.outside(r.Start, now)))
		return o
	}
	t.endWindow(r, s)
	s.transient.saw(r, s)
	o.acc = t.acc
	return o
}

// heldRecord is a copy of r that outlives it. outside: it began before the window, and its steps count for whether it was good,
// and for nothing else.
func heldRecord(r *goodput.Record, outside bool) *goodput.Record {
	c := *r
	if outside {
		c.Tokens = essential(r.Tokens)
	} else {
		c.Tokens = slices.Clone(r.Tokens)
	}
	c.Custom = maps.Clone(r.Custom)
	return &c
}

// essential is four token events, or fewer, that have the first and the last instant, the worst step and the number of the
// tokens in common with ts: the steps before the worst one are one step, which is no worse, for it is their mean, and so are
// those after it. Events that are not in order, or whose numbers are none, stay as they are.
func essential(ts []goodput.Token) []goodput.Token {
	const most = 1 << 30 // tokens
	if len(ts) <= 4 {
		return slices.Clone(ts)
	}
	worst, all := 1, 0
	for i, t := range ts {
		if all += t.N; t.N < 1 || t.N > most || all > most || t.At < 0 || i > 0 && t.At < ts[i-1].At {
			return slices.Clone(ts)
		}
		// A step of a over n is worse than one of b over m where a/n > b/m. The high word decides before the low one.
		if i > 1 {
			w := ts[worst]
			hi, lo := bits.Mul64(uint64(t.At-ts[i-1].At), uint64(w.N))
			whi, wlo := bits.Mul64(uint64(w.At-ts[worst-1].At), uint64(t.N))
			if hi > whi || hi == whi && lo > wlo {
				worst = i
			}
		}
	}
	out := make([]goodput.Token, 0, 4)
	last := 0
	for _, i := range []int{0, worst - 1, worst, len(ts) - 1} {
		if i < last {
			continue
		}
		n := 0
		for _, t := range ts[last : i+1] {
			n += t.N
		}
		out, last = append(out, goodput.Token{At: ts[i].At, N: n}), i+1
	}
	return out
}

// observer books one record.
type observer struct {
	t    *tally
	acc  *goodput.Accumulator // nil: not now
	lag  float64              // s; NaN: none
	ways *ways                // nil: none
}

func (o observer) observe(r *goodput.Record) {
	if o.acc != nil {
		o.acc.Observe(r)
	}
	t := o.t
	t.times.Lock()
	if !math.IsNaN(o.lag) {
		t.lags.values.Add(o.lag)
	}
	t.network.add(o.ways, r)
	t.times.Unlock()
	if t.judge != nil && t.judge.Good(r) {
		t.good.Add(1)
	}
	if t.file != nil {
		t.write(r)
	}
}

// flush hands what was written on to the plan's writer.
func (t *tally) flush() {
	if err := t.file.Flush(); err != nil {
		t.broken.CompareAndSwap(nil, &err)
	}
}

// write writes a record, or leaves it out where so much waits for a slow writer that memory would grow with the run.
func (t *tally) write(r *goodput.Record) {
	if t.spool != nil && t.spool.full() {
		t.leftOut.Add(1)
		return
	}
	var one *goodput.RecordError
	if err := t.file.Write(r); err != nil && !errors.As(err, &one) {
		t.broken.CompareAndSwap(nil, &err)
	}
}
