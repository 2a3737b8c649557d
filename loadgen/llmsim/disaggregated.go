package llmsim

import (
	"fmt"
	"slices"
	"time"
)

// Disaggregated is two pools of engines: one computes prompts, the other generates the answers, so that neither waits for
// the other's kind of work, and the KV cache of each prompt is transferred from one to the other. DistServe (Zhong et al.,
// OSDI 2024) and Splitwise (Patel et al., ISCA 2024) are such systems.
//
// A job goes to a prefill engine when it comes. The step that completes its prompt yields its first token, and with it the
// decode pool's router chooses its decode engine; the further tokens are of decode steps there. That engine calls for the
// KV cache when it has room for all of the job, prompt and output, beside what it has called for before, and fewer than
// MaxBatch jobs; first come, first served, among those chosen for it. The room is taken from then on. Under
// Params.Preemption it calls when it has room for the prompt and two tokens, and has thrown nobody out who waits to come
// back. Until the transfer is over, the KV cache keeps its place in the prefill engine: where the decode pool is full,
// prompts wait there, and where that is full too, no new ones are begun.
//
// This is how DistServe deals with bursts (its section 4.3): decode instances fetch from prefill instances as they need it,
// and the memory of these is the buffer. Its requests go to the prefill instance with the shortest queue, then to the decode
// instance with the least load: about what LeastTTFT and LeastLoad do.
//
// A job of one output token ends in the prefill pool. A MaxQueue of the prefill engines refuses jobs as ever, one of the
// decode engines is not looked at: they call for what they have room for.
type Disaggregated struct {
	Prefill, Decode Replicas
	Transfer        Transfer
}

var _ Model = Disaggregated{}

// NewMachine is both pools, idle. The error says which engine or what of the transfer cannot be meant, or that the engines
// do not serve the same.
func (d Disaggregated) NewMachine() (Machine, error) {
	m := &split{jobs: make(map[uint64]*transit)}
	var err error
	if m.prefill, err = newPool("Disaggregated.Prefill", d.Prefill.Engines, d.Prefill.Router, &m.now); err != nil {
		return nil, err
	}
	decode := slices.Clone(d.Decode.Engines)
	for i := range decode {
		decode[i].MaxQueue = 0
	}
	if m.decode, err = newPool("Disaggregated.Decode", decode, d.Decode.Router, &m.now); err != nil {
		return nil, err
	}
	if err := alike(slices.Concat(d.Prefill.Engines, d.Decode.Engines)); err != nil {
		return nil, err
	}
	if err := d.Transfer.validate(m.prefill.largest()); err != nil {
		return nil, err
	}
	for range m.prefill.replicas {
		m.links = append(m.links, &link{t: d.Transfer})
	}
	for _, r := range m.decode.replicas {
		m.callers = append(m.callers, &caller{r: r})
	}
	return m, nil
}

// Info calls the system by its model and the sizes of its pools, as "opt-13b, 2 prefill and 1 decode".
func (d Disaggregated) Info() Info {
	i := d.Prefill.Info()
	if len(d.Prefill.Engines) > 0 {
		i.Name = fmt.Sprintf("%s, %d prefill and %d decode", i.Served, len(d.Prefill.Engines), len(d.Decode.Engines))
	}
	return i
}

// split is the machine of Disaggregated.
type split struct {
	prefill, decode *pool
	links           []*link   // by the index of the prefill engine
	callers         []*caller // by that of the decode engine
	now             time.Duration
	jobs            map[uint64]*transit
	moving          int // jobs after their first token that no decode engine has
	seq             uint64
	first           []Event // tokens of a prefill engine
	events          []Event
	given           bool // events were given out
}

// transit is a job on its way through both pools.
type transit struct {
	placed // on the engine of the pool that it is in
	phase  phase
	prompt int    // tokens
	output int    // tokens that are wanted, the first too
	seq    uint64 // in order of first tokens
	from   *Replica
	held   int           // tokens of its KV cache there
	called time.Duration // when its transfer was called for
	until  time.Duration // when its transfer comes to its next state
}

type phase uint8

const (
	inPrefill  phase = iota
	unclaimed        // its decode engine has no room yet
	inTransfer       // called for
	inDecode
)

// caller is a decode engine that calls for KV caches.
type caller struct {
	r        *Replica
	tokens   int        // of KV cache that is kept for jobs called for: to their end, under Preemption until the engine has them
	jobs     int        // called for that are not over
	waitlist []*transit // chosen for it, in order of first tokens
}

// Submit hands a job over to a prefill engine. Beside an engine's errors there is ErrRoute.
func (m *split) Submit(now time.Duration, j Job) error {
	m.run(now)
	if m.jobs[j.ID] != nil {
		panic("llmsim: two jobs with one ID")
	}
	x := &transit{prompt: j.Prompt, output: j.Output}
	x.job, x.data = j, j.Data
	x.job.Data, x.job.Output = x, min(1, j.Output)
	switch {
	case j.Prompt >= m.prefill.largest():
		return &refusal{ErrTooLong, fmt.Sprintf("%d prompt tokens and the first output token are more than the %d that the KV cache of a prefill engine holds", j.Prompt, m.prefill.largest())}
	case j.Prompt > 0 && j.Output > 1 && !m.decode.fits(j):
		return &refusal{ErrTooLong, fmt.Sprintf("%d prompt tokens and %d output tokens are more than the %d that the KV cache of a decode engine holds", j.Prompt, j.Output, m.decode.largest())}
	}
	m.again()
	if err := m.prefill.submit(&x.placed); err != nil {
		return err
	}
	m.jobs[j.ID] = x
	return nil
}

// Cancel takes a job out, wherever it is. A transfer under way ends at once.
func (m *split) Cancel(now time.Duration, id uint64) bool {
	m.run(now)
	x := m.jobs[id]
	if x == nil {
		return false
	}
	delete(m.jobs, id)
	m.again()
	if x.phase == inPrefill {
		m.prefill.cancel(&x.placed)
		return true
	}
	x.on.drop(&x.placed)
	c := m.callers[x.on.i]
	switch x.phase {
	case unclaimed:
		i := slices.Index(c.waitlist, x)
		c.waitlist = slices.Delete(c.waitlist, i, i+1)
		m.leave(x)
	case inTransfer:
		m.links[x.from.i].cancel(m.now, x)
		m.leave(x)
		c.over(x, false)
	case inDecode:
		x.on.e.Cancel(m.now, id)
		c.over(x, true)
	}
	m.call(c)
	return true
}

// again has the prefill engines plan anew that had room for nobody. A policy may heed the time, and an engine must not know
// it or not by whether a call of this instant came by it.
func (m *split) again() {
	for _, r := range m.prefill.replicas {
		if e := r.e; !e.stepping && e.planned && e.step.Empty() {
			e.hold(m.now, 0)
		}
	}
}

// Next is the next end of a step or of a transfer.
func (m *split) Next() (at time.Duration, ok bool) {
	at, ok = m.prefill.next()
	if d, some := m.decode.next(); some && (!ok || d < at) {
		at, ok = d, true
	}
	for _, l := range m.links {
		if d, some := l.next(); some && (!ok || d < at) {
			at, ok = d, true
		}
	}
	return at, ok
}

// Advance brings all engines and transfers to the instant to. Tokens of one instant are in the order of the engines, those
// of the decode pool before those of the prefill pool.
func (m *split) Advance(to time.Duration) []Event {
	m.run(to)
	m.given = true
	return m.events
}

// Stats is the sum of the engines'. Jobs that wait for their transfer, or are in it, are among those Waiting; KVReserved
// counts both sides of a transfer.
func (m *split) Stats() Stats {
	s := m.prefill.stats()
	for _, c := range m.callers {
		d := c.r.e.Stats()
		if !c.r.p.Preemption {
			d.KVReserved = 0 // what runs is among what is kept
		}
		s = s.plus(d)
		s.KVReserved += c.tokens
	}
	s.Waiting += m.moving
	return s
}

// run brings everything to the instant to.
func (m *split) run(to time.Duration) {
	if m.given {
		m.events, m.given = m.events[:0], false
	}
	for at, ok := m.Next(); ok && at <= to; at, ok = m.Next() {
		m.now = at
		m.step()
	}
	m.now = max(m.now, to)
}

// step is what happens at the instant now.
func (m *split) step() {
	for i, r := range m.decode.replicas {
		if at, busy := r.e.Next(); busy && at == m.now {
			m.decoded(m.callers[i], r.e.Advance(at))
		}
	}
	for _, r := range m.prefill.replicas {
		if at, busy := r.e.Next(); busy && at == m.now {
			m.prefilled(r, r.e.Advance(at))
		}
	}
	for _, c := range m.callers {
		m.call(c)
	}
	for _, l := range m.links {
		for x := l.step(m.now); x != nil; x = l.step(m.now) {
			m.arrive(x)
		}
	}
}

// decoded books the tokens of a decode engine.
func (m *split) decoded(c *caller, events []Event) {
	for _, ev := range events {
		x := ev.Data.(*transit)
		x.on.token(&x.placed)
		ev.Data = x.data
		m.events = append(m.events, ev)
		if ev.Last {
			delete(m.jobs, ev.ID)
			c.over(x, true)
		}
	}
}

// prefilled books first tokens. Their jobs stay where they are until a decode engine calls for them.
func (m *split) prefilled(r *Replica, events []Event) {
	m.first = append(m.first[:0], events...) // they are the engine's, which goes on
	for _, ev := range m.first {
		x := ev.Data.(*transit)
		r.token(&x.placed)
		ev.Data, ev.Last = x.data, x.output == 1
		m.events = append(m.events, ev)
		if ev.Last {
			delete(m.jobs, ev.ID)
			continue
		}
		x.held = r.e.hold(m.now, x.prompt)
		m.moving++
		m.seq++
		x.seq, x.from, x.phase = m.seq, r, unclaimed
		x.job.Prompt, x.job.Computed, x.job.Output, x.job.Deadline = x.prompt+1, x.prompt+1, x.output-1, 0
		to, err := m.decode.choose(x.job)
		if err != nil { // the job has been accepted: there is nobody to be told
			panic(&FaultError{Of: "Disaggregated.Decode", Detail: detailOf(err), Err: err})
		}
		m.decode.routed++
		to.take(&x.placed)
		c := m.callers[to.i]
		c.waitlist = append(c.waitlist, x)
	}
}

// call lets a decode engine call for what it has room for.
func (m *split) call(c *caller) {
	for len(c.waitlist) > 0 && c.jobs < c.r.p.MaxBatch {
		x := c.waitlist[0]
		if c.room(x) > c.free() {
			return
		}
		c.waitlist = slices.Delete(c.waitlist, 0, 1)
		c.jobs++
		c.tokens += c.room(x)
		x.phase = inTransfer
		m.links[x.from.i].call(m.now, x)
	}
}

// room is what is kept for a job.
func (c *caller) room(x *transit) int {
	if c.r.p.Preemption {
		return x.prompt + 2 // what there is of it, and the next token
	}
	return x.prompt + x.output
}

// free is the room that is neither taken nor kept.
func (c *caller) free() int {
	e := c.r.e
	free := e.p.KVTokens - c.tokens
	if !e.p.Preemption {
		return free
	}
	for _, q := range e.queue.items[e.queue.head:] {
		if q.generated > 0 {
			return 0 // thrown out: it goes first
		}
		free -= e.need(q) + 1
	}
	return free - e.stats.KVReserved
}

// over is the end of a job that was called for and, where it arrived, is in the engine no more.
func (c *caller) over(x *transit, arrived bool) {
	c.jobs--
	if !arrived || !c.r.p.Preemption {
		c.tokens -= c.room(x)
	}
}

// arrive is the end of a transfer.
func (m *split) arrive(x *transit) {
	m.leave(x)
	x.phase = inDecode
	if c := m.callers[x.on.i]; c.r.p.Preemption {
		c.tokens -= c.room(x)
	}
	if err := x.on.e.Submit(m.now, x.job); err != nil {
		panic(err) // its room was kept
	}
}

// leave frees the job's place in the prefill engine.
func (m *split) leave(x *transit) {
	m.moving--
	m.prefill.before(func() { x.from.e.hold(m.now, -x.held) }, nil)
}

// hold takes tokens of the KV cache for a sequence that is not in the batch, or gives them back, and returns how many they
// are: no more than there is room for, which where a prefix is shared can be fewer. In the instant in which a step begins
// it takes part in its plan.
func (e *Engine) hold(now time.Duration, tokens int) int {
	e.run(now)
	tokens = min(tokens, e.p.KVTokens-e.stats.KVReserved)
	e.held += tokens
	e.stats.KVReserved += tokens
	e.stats.KVUsed += tokens
	e.makeRoom(0)
	e.planned = false
	return tokens
}
