package goodput

import (
	"slices"
	"sync"

	"github.com/goodputkit/goodputkit/slo"
)

// An accumulator's shards are buffers of judged records, so that goroutines that observe at the same time wait for
// each other only when a buffer is emptied into the books. They are shared by all classes, and bounded.
const (
	maxShards    = 8
	shardEntries = 64
	shardSteps   = 1024
)

type flags uint16

const (
	inCohort    flags = 1 << iota // started in the window
	inFlow                        // ended in it
	isGood                        // success, and every objective of its own holds
	isUndecided                   // unfinished, and could have become good
	wasRepaired                   // times that cannot be meant
	hadUsageBelow
	hadNoOutcome
	hadLimits // thresholds of its own that take a place
	inOther   // of a class that had no room
)

// entry is one record, judged: all that the books want to know of it. There is no pointer in it, so that the garbage
// collector has nothing to do with a shard's entries.
type entry struct {
	class      int   // its index
	start, end int64 // Unix time, ns
	judged     judgement
	missed     uint64 // objectives missed by a success
	outcome    Outcome
	first      int8 // the first of them; −1: none
	flags      flags
	in, out    int64
	values     [builtins]float64 // absent where undefined; of successes in the cohort only
	steps      int               // how many of the shard's steps are its own
	multi      int               // how many of its steps of several tokens
	customs    int               // how many of its custom values

	ignoredLimits, badCustoms, ignoredCustoms int
}

func (e *entry) has(f flags) bool { return e.flags&f != 0 }

// multiStep is n > 1 equal steps between tokens, of s seconds.
type multiStep struct {
	s float64
	n int64
}

type customValue struct {
	metric slo.Metric
	v      float64
}

// shard is a buffer. Whoever wants a's mu while it holds a shard's takes it after that.
type shard struct {
	mu      sync.Mutex
	entries []entry
	steps   []float64 // between tokens that came one by one, s
	multi   []multiStep
	customs []customValue
}

func (s *shard) full(steps int) bool {
	return len(s.entries) == shardEntries || len(s.steps)+len(s.multi)+steps > shardSteps || len(s.customs) > shardEntries
}

// next is the place of one more entry.
func (s *shard) next() *entry {
	if s.entries == nil {
		s.entries = make([]entry, 0, shardEntries)
	}
	s.entries = s.entries[:len(s.entries)+1]
	return &s.entries[len(s.entries)-1]
}

// addSteps appends the steps of a record's token events, the first of which may be that of another part of it.
func (s *shard) addSteps(e *entry, tokens []Token, m *sample) {
	if len(tokens) < 2 {
		return
	}
	had, hadMulti := len(s.steps), len(s.multi)
	s.steps = slices.Grow(s.steps, len(tokens)-1)
	steps := s.steps[:cap(s.steps)]
	k := had
	last, _ := m.event(&tokens[0], 0)
	for i := range tokens[1:] {
		t := &tokens[i+1]
		at, n := int64(t.At), int64(t.N)
		if m.repaired {
			at, n = m.event(t, last)
		}
		if n <= 1 {
			steps[k] = float64(at-last) / 1e9
			k++
		} else {
			s.multi = append(s.multi, multiStep{float64(at-last) / float64(n) / 1e9, n})
		}
		last = at
	}
	s.steps = s.steps[:k]
	e.steps, e.multi = k-had, len(s.multi)-hadMulti
}

func (s *shard) empty() {
	s.entries, s.steps, s.multi, s.customs = s.entries[:0], s.steps[:0], s.multi[:0], s.customs[:0]
}
