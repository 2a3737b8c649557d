package goodput

import (
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
	customs    int               // how many of the shard's custom values

	ignoredLimits, badCustoms, ignoredCustoms int
}

func (e *entry) has(f flags) bool { return e.flags&f != 0 }

// step is n equal steps between tokens, of s seconds.
type step struct {
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
	steps   []step
	customs []customValue
}

func (s *shard) full(steps int) bool {
	return len(s.entries) == shardEntries || len(s.steps)+steps > shardSteps || len(s.customs) > shardEntries
}

// next is the place of one more entry.
func (s *shard) next() *entry {
	if s.entries == nil {
		s.entries = make([]entry, 0, shardEntries)
	}
	s.entries = s.entries[:len(s.entries)+1]
	return &s.entries[len(s.entries)-1]
}

// addSteps appends the steps of a record.
func (s *shard) addSteps(tokens []Token, m *sample) int {
	had := len(s.steps)
	if !m.repaired {
		for i := 1; i < len(tokens); i++ {
			s.steps = append(s.steps, newStep(int64(tokens[i].At-tokens[i-1].At), int64(max(tokens[i].N, 1))))
		}
		return len(s.steps) - had
	}
	again := sample{first: -1, last: -1}
	for i := range tokens {
		at, n := again.event(&tokens[i])
		if i > 0 {
			s.steps = append(s.steps, newStep(at-again.last, n))
		}
		again.last = at
	}
	return len(s.steps) - had
}

func newStep(gap, n int64) step {
	if n == 1 {
		return step{float64(gap) / 1e9, 1}
	}
	return step{float64(gap) / float64(n) / 1e9, n}
}

func (s *shard) empty() {
	s.entries, s.steps, s.customs = s.entries[:0], s.steps[:0], s.customs[:0]
}
