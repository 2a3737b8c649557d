package admission

import (
	"fmt"
	"math"
	"time"
)

// Limit is how many tokens may be in flight, learnt from the share of requests that violate the SLO, and from nothing else: no
// latency is compared with another one, so that requests which take longer because they do more change nothing.
//
// It moves on evidence alone. Of the requests that were sent since its last move it counts, for each objective, how many
// there were and how many missed it. It falls to 98.5 % of what was used where, for one objective, three at least missed it
// and the lower Wilson bound of their share (z = 1.3) is above what the objective allows; to 96 % as long as it has never
// risen, when nobody knows how far it is to go. It rises by 0.4 % where, for every objective that has evidence, the upper
// bound (z = 1) is below what is allowed, and somebody waits for a limit that is used (85 % of it at least). What was sent
// before a move is no evidence for the next one: it saw another limit. After 400 requests of one objective the count begins
// anew. The steps are small because moves are many: with larger ones the limit wanders where prompts are few and long. But
// where it rises more than 16 times without a fall it is far from where it belongs, as after an unlucky beginning, and each
// second step is twice the one before, up to 1.6 %.
//
// There is no limit before there is evidence against having none. It is a state machine and belongs to one goroutine.
type Limit struct {
	floor, ceiling float64
	allowed        []float64
	limit          float64 // +Inf: none
	used           float64 // the most since the last move
	moved          time.Time
	rose           bool
	rises          int // since it fell
	counts         []count
}

type count struct{ n, missed float64 }

const (
	limitFall   = 0.96 // until it has risen for the first time: nobody knows how far it is to go
	limitDown   = 0.985
	limitUp     = 0.004
	limitMost   = 0.016
	limitSteady = 16
	zDown, zUp  = 1.3, 1.0
	limitWindow = 400
	minMissed   = 3
	limitUsed   = 0.85
)

// NewLimit is a limit between a floor and a ceiling, in tokens; a ceiling of +Inf lets it be without a limit until there is
// evidence. allowed is the share of requests, in (0, 1), that may miss each objective: 0.05 for a P95. The error says which
// argument cannot be meant.
func NewLimit(floor, ceiling float64, allowed ...float64) (*Limit, error) {
	if !(floor > 0) || math.IsInf(floor, 1) {
		return nil, fmt.Errorf("admission: the floor of a limit is above 0 and finite: %v", floor)
	}
	if !(ceiling >= floor) {
		return nil, fmt.Errorf("admission: the ceiling of a limit is at least the floor: %v", ceiling)
	}
	for _, a := range allowed {
		if !(a > 0 && a < 1) {
			return nil, fmt.Errorf("admission: the share that may miss an objective is between 0 and 1: %v", a)
		}
	}
	return &Limit{floor: floor, ceiling: ceiling, limit: ceiling, allowed: allowed, counts: make([]count, len(allowed))}, nil
}

// Tokens is the limit, +Inf where there is none.
func (l *Limit) Tokens() float64 { return l.limit }

// Use says how many tokens are in flight, after each that started.
func (l *Limit) Use(tokens float64) { l.used = max(l.used, tokens) }

// Observe is one request's verdict by one objective: it was sent at an instant, and missed it or not. inFlight is how many
// tokens are in flight now, and waiting whether somebody waits. It says whether the limit has moved.
func (l *Limit) Observe(now time.Time, objective int, sent time.Time, missed bool, inFlight float64, waiting bool) bool {
	if sent.Before(l.moved) {
		return false
	}
	c := &l.counts[objective]
	c.n++
	if missed {
		c.missed++
	}
	if lo, _ := wilson(c.missed, c.n, zDown); lo > l.allowed[objective] && c.missed >= minMissed {
		if l.used == 0 {
			l.used = inFlight
		}
		down := limitFall
		if l.rose {
			down = limitDown
		}
		l.rises = 0
		l.move(now, max(down*min(l.limit, max(l.used, l.floor)), l.floor), inFlight)
		return true
	}
	if waiting && l.used >= limitUsed*l.limit && l.clear() {
		l.rose = true
		l.rises++
		l.move(now, min((1+l.rise())*l.limit, l.ceiling), inFlight)
		return true
	}
	if c.n >= limitWindow {
		*c = count{}
	}
	return false
}

// rise is by how much it rises.
func (l *Limit) rise() float64 {
	return min(limitUp*math.Exp2(float64(max(0, l.rises-limitSteady))/2), limitMost)
}

// clear says that no objective is missed too often, by the evidence that there is.
func (l *Limit) clear() bool {
	some := false
	for i, c := range l.counts {
		if c.n == 0 {
			continue
		}
		if _, hi := wilson(c.missed, c.n, zUp); hi >= l.allowed[i] {
			return false
		}
		some = true
	}
	return some
}

func (l *Limit) move(now time.Time, to, inFlight float64) {
	l.limit, l.moved, l.used = to, now, inFlight
	clear(l.counts)
}

// wilson is the Wilson score interval of k out of n at z standard deviations: Wilson, Probable inference, the law of
// succession, and statistical inference, JASA 22 (1927).
func wilson(k, n, z float64) (lo, hi float64) {
	p := k / n
	m := (p + z*z/(2*n)) / (1 + z*z/n)
	h := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return m - h, m + h
}
