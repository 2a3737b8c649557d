package loadgen

import "time"

// Call is one request of a run, from the instant at which a Book hands it out until it is booked.
type Call struct {
	Request  *Request  // never nil
	Start    time.Time // when it was meant to start
	Deadline time.Time // when it is a timeout
	Index    uint64    // its place in the run, from 0, in order of Start; of a session's later turn that of its session
	Data     any       // for the Runner's own use
	Text     string    // what was answered: for the Runner to set, where Request.Next is not nil, before End

	handed         time.Time // when the Book gave it out: it cannot have been sent before
	ready          time.Time // when it could have been sent: Start, or the instant at which a place in flight became free
	ways           *ways     // nil: nobody is going to say
	output         bool      // it has output, though no token was counted
	stopped        bool      // Stop has given it out
	ended          bool      // it was booked
	goesOn         bool      // its session is to be asked for the next turn
	list           *callList // that it is in
	previous, next *Call     // in it
}

// callList is a list of calls in order of their Deadline, which is the order in which they are pushed.
type callList struct{ first, last *Call }

func (l *callList) push(c *Call) {
	at := l.last
	for at != nil && at.Deadline.After(c.Deadline) {
		at = at.previous
	}
	c.list, c.previous = l, at
	if at == nil {
		c.next, l.first = l.first, c
	} else {
		c.next, at.next = at.next, c
	}
	if c.next == nil {
		l.last = c
	} else {
		c.next.previous = c
	}
}

// remove takes c out of the list that it is in.
func (c *Call) remove() {
	l := c.list
	if c.previous != nil {
		c.previous.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.previous = c.previous
	} else {
		l.last = c.previous
	}
	c.list, c.previous, c.next = nil, nil, nil
}
