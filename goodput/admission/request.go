package admission

import "time"

// Request is what is known of a request when it comes. The zero Request is one of the default class of which nothing is known.
type Request struct {
	Class    string
	Tenant   string // whose it is, for the fair share; "": of the one without a name
	Priority int    // higher is more important; that of its class is added, as far as an int holds it

	InputTokens     int // of the prompt; 0 or below: nobody knows, and the mean so far is taken
	MaxOutputTokens int // at most; 0 or below: nobody knows, and the mean so far of its class is taken

	// Budget is what is left of the time to its first token, from when it is admitted or begins to wait; 0: what the SLO of
	// its class leaves, from the Arrival on; below 0: it is late already, and served where it need not wait. Without a budget, and
	// without an objective that gives one, it waits until its context ends.
	Budget time.Duration

	Arrival time.Time // zero: now

	// Whole says that its answer comes in one piece, so that nobody sees when it begins and how fast it goes on. It has its part
	// of the tokens in flight, and says nothing of first tokens, nor stands before anybody's as one that has not begun.
	Whole bool
}

// Grant is what a request got.
type Grant struct {
	MaxOutputTokens int // as asked or fewer; 0: as many as it wants
	Priority        int // its own with that of its class, or lower
	Step            int // steps down the ladder of its class: 0 is all that was asked for
}

// Degraded says that a request got less than it asked for.
func (g Grant) Degraded() bool { return g.Step > 0 }

// Status is where a [Ticket] is.
type Status uint8

// What a ticket can be. It begins waiting, and each change is for good.
const (
	Waiting Status = iota
	Admitted
	Refused
	Ended   // admitted, and over
	Removed // it waited, and was taken out
)

func (s Status) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Admitted:
		return "admitted"
	case Refused:
		return "refused"
	case Ended:
		return "ended"
	case Removed:
		return "removed"
	}
	return "unknown"
}

// Ticket is a request in a [Scheduler].
type Ticket struct {
	Request
	Grant Grant // once it is Admitted
	Data  any   // the caller's

	status Status
	err    RejectedError
	class  *class
	load   Load
	asked  float64       // output tokens, that it would weigh without a grant
	item   *Item         // nil: it has not waited
	latest time.Time     // after it nobody wants its first token; zero: there is no such instant
	budget time.Duration // from the arrival to the first token; 0: none

	admitted, first, last time.Time
	before                float64 // prompt tokens pending when it was admitted, its own among them
	older, newer          *Ticket // while it is pending
	order                 uint64  // in which it was admitted
	n, n1                 int     // tokens so far, and with the first
	out                   int     // by usage
	spared                bool    // it is predicted to be late, and let through
	slow                  bool    // a step was late, by itl
}

// Status is where it is.
func (t *Ticket) Status() Status { return t.status }

// Err is a *[RejectedError] where it was refused, else nil.
func (t *Ticket) Err() error {
	if t.status != Refused {
		return nil
	}
	e := t.err
	return &e
}

// Deadline is when its first token is to be there; ok is false where there is no such instant.
func (t *Ticket) Deadline() (at time.Time, ok bool) {
	return t.Arrival.Add(t.budget), t.budget > 0
}

// heed keeps the budget within what its caller still waits for.
func (t *Ticket) heed() {
	if t.latest.IsZero() {
		return
	}
	if left := max(t.latest.Sub(t.Arrival), 1); t.budget == 0 || left < t.budget {
		t.budget = left
	}
}
