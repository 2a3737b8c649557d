package monitor

import (
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Counters are the exact totals since the monitor began to count, of one instant. None of those of a class ever falls, but
// for InFlight and Overdue; after [Monitor.UnmarshalBinary] they go on from where they were.
type Counters struct {
	Time    time.Time       `json:"time"`
	Since   time.Time       `json:"since"`
	Classes []ClassCounters `json:"classes"` // that have had a request, or are in the set; by name
}

// ClassCounters are the totals of a class. The books close:
//
//	Offered = Recorded + InFlight + Unseen
//	Recorded = the sum of Outcomes
//	Outcomes[success] = Good + the sum of the objectives' First
//	Decided = Recorded + Overdue + UnseenOverdue, and Good + bad = Decided
type ClassCounters struct {
	Class string `json:"class"`
	SLO   string `json:"slo"` // name of the SLO that judges it: "default", or the class where it has its own; see [SLOState]

	Offered  uint64 `json:"offered"`   // began
	Recorded uint64 `json:"recorded"`  // ended, whatever the outcome
	Ended    uint64 `json:"ended"`     // of them throughput: all but dropped and unfinished
	Decided  uint64 `json:"decided"`   // ended, or in flight past a deadline; each request once
	Good     uint64 `json:"good"`      // of them
	PastDue  uint64 `json:"past_due"`  // of those decided: in flight, at a deadline
	InFlight uint64 `json:"in_flight"` // now
	Overdue  uint64 `json:"overdue"`   // of those in flight: past a deadline

	Outcomes map[goodput.Outcome]uint64 `json:"outcomes"` // every one, also where it is 0

	Objectives []ObjectiveCounters `json:"objectives"` // that are about a request, in the SLO's order

	InputTokens      uint64 `json:"input_tokens"` // of what ended
	OutputTokens     uint64 `json:"output_tokens"`
	GoodInputTokens  uint64 `json:"good_input_tokens"`
	GoodOutputTokens uint64 `json:"good_output_tokens"`

	// Requests that were in flight when a snapshot was made that was restored, or in a monitor that was merged: their end is
	// not seen here. Of them so many were past a deadline.
	Unseen        uint64 `json:"unseen"`
	UnseenOverdue uint64 `json:"unseen_overdue"`

	Limits       uint64 `json:"limits"`        // records with thresholds of their own
	OtherClasses uint64 `json:"other_classes"` // requests whose own class had no place
}

// ObjectiveCounters are the totals of an objective. A request that failed is decided and not within; one that the rule for
// undefined values excludes is not decided.
type ObjectiveCounters struct {
	Objective string `json:"objective"` // canonical text
	Decided   uint64 `json:"decided"`
	Within    uint64 `json:"within"`
	First     uint64 `json:"first"`     // successes that are lost under it, being the first that they miss
	Undefined uint64 `json:"undefined"` // successes of which the rule for undefined values decided
}

// Counters are the totals up to now.
func (m *Monitor) Counters() *Counters {
	now, flights := m.settle()
	defer m.mu.Unlock()
	all := &Counters{Time: instant(now), Since: instant(m.since)}
	for _, c := range m.sorted() {
		all.Classes = append(all.Classes, c.counters(flights[c.index]))
	}
	return all
}

func (c *class) counters(f flight) ClassCounters {
	n := c.total
	k := ClassCounters{
		Class: c.name, SLO: c.group.name,
		Offered: n[cOffered], Recorded: n[cRecorded], Ended: n[cEnded], Decided: n[cDecided], Good: n[cGood],
		PastDue: n[c.only(tOverdue)], InFlight: uint64(f.inFlight), Overdue: uint64(f.overdue),
		Outcomes:    map[goodput.Outcome]uint64{},
		InputTokens: n[c.only(tIn)], OutputTokens: n[cOut], GoodInputTokens: n[c.only(tGoodIn)], GoodOutputTokens: n[cGoodOut],
		Unseen: n[c.only(tUnseen)], UnseenOverdue: n[c.only(tUnseenDue)],
		Limits: n[c.only(tLimits)], OtherClasses: n[c.only(tOther)],
	}
	for _, o := range goodput.Outcomes() {
		k.Outcomes[o] = n[c.outcome(o)]
	}
	for j, i := range c.each {
		k.Objectives = append(k.Objectives, ObjectiveCounters{
			Objective: c.objects[i].text, Decided: n[c.decided(j)], Within: n[c.decided(j)] - n[c.missed(j)],
			First: n[c.first(j)], Undefined: n[c.undefinedBy(j)],
		})
	}
	return k
}
