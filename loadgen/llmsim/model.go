package llmsim

import "time"

// Model is what can be simulated. Params is one, of a single engine. Runner, NewTarget and NewServer take any, and ask it
// for a Machine each.
type Model interface {
	// NewMachine is a machine that is idle and shares nothing with those before it. The error is about a model that cannot
	// be meant.
	NewMachine() (Machine, error)
	// Info says what a model is called, and what it makes of a request that leaves something open.
	Info() Info
}

// Info is what the outside has to know of a Model.
type Info struct {
	Name          string // in reports, as "opt-13b"
	Served        string // what it serves, by the name that is in /v1/models
	DefaultOutput int    // output tokens of a request that sets no limit
	BlockTokens   int    // tokens of a block of its prefix cache; 0: none
}

// Machine is a state machine without a clock that turns jobs into tokens: an Engine, or several that work together. Whoever
// drives it says what time it is, as an offset from a zero of its choice, and never goes back. The same calls give the same
// events, to the nanosecond. The last instant is the greatest time.Duration, after 292 years: a step or a transfer that would end
// later is the machine's end, a *FaultError. A machine belongs to one goroutine.
type Machine interface {
	// Submit hands over a job. Where the error is not nil it has not been taken: ErrTooLong and ErrNoTokens are of a job that
	// can never run, ErrQueueFull of one that finds no place to wait. Of one ID there is one job at a time in the machine.
	Submit(now time.Duration, j Job) error
	// Cancel takes a job out and says whether it was there.
	Cancel(now time.Duration, id uint64) bool
	// Next is the next instant at which something happens by itself; ok is false where nothing will.
	Next() (at time.Duration, ok bool)
	// Advance brings the machine to an instant, inclusive, and returns the tokens that came out since the last call, in
	// order of time. The slice is valid until the next call of a method.
	Advance(to time.Duration) []Event
	// Stats is the state at the latest instant that the machine was told; of several engines the sums.
	Stats() Stats
}

var _ Model = Params{}

// NewMachine is NewEngine.
func (p Params) NewMachine() (Machine, error) {
	e, err := NewEngine(p)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Info calls the engine by its Model.
func (p Params) Info() Info {
	return Info{Name: p.Model, Served: p.Model, DefaultOutput: p.DefaultOutput, BlockTokens: p.BlockTokens}
}
