package admission

import "math"

// Cap is a cap on the work in flight, in tokens: the prompt's and the most output's of each request. It counts a request from
// the instant at which it is admitted, although the engine shows nothing of it before its first token: what is admitted and
// not yet visible is pending, and known by itself, because it is what stands before the next first token.
//
// The zero Cap has no limit. It is a state machine and belongs to one goroutine.
type Cap struct {
	limit         float64 // 0: none
	n, pendingN   int
	tokens        float64
	pendingTokens float64
}

// Load is what one request weighs, in tokens.
type Load struct {
	Input  float64 // the prompt
	Output float64 // the most output
}

// Tokens is the whole of it.
func (l Load) Tokens() float64 { return l.Input + l.Output }

// SetLimit sets the most tokens in flight; +Inf takes the limit away. It panics where tokens is not above 0. What is in flight
// above a new limit stays.
func (c *Cap) SetLimit(tokens float64) {
	if !(tokens > 0) {
		panic("admission: Cap.SetLimit: the limit is above 0")
	}
	c.limit = tokens
	if math.IsInf(tokens, 1) {
		c.limit = 0
	}
}

// Fits says whether l may start. Where nothing is in flight anything may: a request greater than the limit would never start.
func (c *Cap) Fits(l Load) bool {
	return c.n == 0 || c.limit == 0 || c.tokens+l.Tokens() <= c.limit
}

// Start counts l as in flight and pending. It does not ask whether it fits.
func (c *Cap) Start(l Load) {
	c.n++
	c.pendingN++
	c.tokens += l.Tokens()
	c.pendingTokens += l.Input
}

// Visible: the first token of a request that was started with l has come.
func (c *Cap) Visible(l Load) {
	c.pendingN--
	c.pendingTokens -= l.Input
	if c.pendingN == 0 {
		c.pendingTokens = 0 // what rounding has left
	}
}

// End: a request that was started with l has ended; visible says whether its first token had come.
func (c *Cap) End(l Load, visible bool) {
	if !visible {
		c.Visible(l)
	}
	c.n--
	c.tokens -= l.Tokens()
	if c.n == 0 {
		c.tokens = 0
	}
}

// InFlight is how many requests are in flight, and their tokens.
func (c *Cap) InFlight() (requests int, tokens float64) { return c.n, c.tokens }

// Pending is how many of them have had no first token yet, and the tokens of their prompts.
func (c *Cap) Pending() (requests int, promptTokens float64) { return c.pendingN, c.pendingTokens }
