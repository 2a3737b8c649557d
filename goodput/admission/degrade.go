package admission

import (
	"math"
	"time"
)

// Degradation is one step in which a request gets less than it asked for, so that it need not be refused. Whoever forwards
// the request has to carry it out; what it asked for and was granted is in its [Permit].
type Degradation struct {
	MaxOutputTokens int           // at most so many output tokens; 0: as asked
	LowerPriority   int           // by how much the priority is lowered, at least 0
	Budget          time.Duration // the first token may take so long, where that is more than it had; 0: as it was
}

// milder names the field by which d takes less than the step before it; "": none.
func (d Degradation) milder(before Degradation) string {
	switch {
	case before.MaxOutputTokens > 0 && (d.MaxOutputTokens == 0 || d.MaxOutputTokens > before.MaxOutputTokens):
		return "MaxOutputTokens"
	case d.LowerPriority < before.LowerPriority:
		return "LowerPriority"
	case d.Budget < before.Budget:
		return "Budget"
	}
	return ""
}

// Ladder is the degradations of a class, the mildest first. Each contains all that it takes from a request: step 2 does not add to
// step 1, it takes its place, and one that takes less of anything is refused.
type Ladder []Degradation

// ladderFrom is the pressure from which on the first step is taken.
const ladderFrom = 0.5

// Step is how many steps down the ladder a request goes at a pressure: its predicted wait over the wait that it can afford.
// There are none below 0.5; from there to 1, where it would have to be refused, they are equally far from each other.
func (l Ladder) Step(pressure float64) int {
	if len(l) == 0 || !(pressure >= ladderFrom) {
		return 0
	}
	if pressure >= 1 {
		return len(l)
	}
	return min(1+int((pressure-ladderFrom)/(1-ladderFrom)*float64(len(l))), len(l))
}

// budget is how long the first token may take at the end of the ladder; 0: no longer than without.
func (l Ladder) budget() time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[len(l)-1].Budget
}

// degrade takes from t what a step of its ladder says.
func (s *Scheduler) degrade(t *Ticket, step int) Degradation {
	d := t.class.ladder[step-1]
	if d.MaxOutputTokens > 0 && (t.MaxOutputTokens <= 0 || d.MaxOutputTokens < t.MaxOutputTokens) {
		t.Grant.MaxOutputTokens = d.MaxOutputTokens
		if l := s.load(t, d.MaxOutputTokens); l.Output < t.load.Output {
			t.load = l
		}
	}
	t.Grant.Priority = plus(t.Grant.Priority, -d.LowerPriority)
	t.Grant.Step = step
	t.budget = max(t.budget, d.Budget)
	t.heed()
	t.item.Priority, t.item.Tokens = t.Grant.Priority, t.load.Tokens()
	return d
}

// Sent: t, which is in flight, went on with another limit of its output than it was granted, because the grant could not be carried
// out, or not in whole. maxOutputTokens is what it asks for now; 0 or below: what it had asked for. From now on it counts for that. It
// does nothing where t is not in flight.
func (s *Scheduler) Sent(now time.Time, t *Ticket, maxOutputTokens int) {
	if t.status != Admitted {
		return
	}
	output := t.asked
	if maxOutputTokens > 0 {
		if output = s.load(t, maxOutputTokens).Output; t.MaxOutputTokens <= 0 { // then it is no more than is usual
			output = min(output, t.asked)
		}
	}
	more := output - t.load.Output
	if more == 0 {
		return
	}
	t.load.Output = output
	s.cap.tokens += more
	s.limit.Use(s.cap.tokens)
	if t.item != nil {
		s.waits(t).charge(t.item, more)
	}
	if more < 0 {
		s.pump(now)
	}
}

// plus is a and b, or the nearest that an int holds.
func plus(a, b int) int {
	switch {
	case b > 0 && a > math.MaxInt-b:
		return math.MaxInt
	case b < 0 && a < math.MinInt-b:
		return math.MinInt
	}
	return a + b
}
