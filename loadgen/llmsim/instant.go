package llmsim

import (
	"fmt"
	"math"
	"time"
)

// lastInstant is the last instant that there is for a machine, some 292 years after its zero.
const lastInstant = time.Duration(math.MaxInt64)

// after is the instant at which something is over that begins at and takes so long. Where there is none, it is the machine's end.
func after(at, d time.Duration) time.Duration {
	if d > lastInstant-at {
		panic(&FaultError{Of: "the clock", Detail: fmt.Sprintf("what begins at %v and takes %v would be over after the last instant, which is %v", at, d, lastInstant)})
	}
	return at + d
}

// later is after in a prediction, where the last instant is as good as never.
func later(at, d time.Duration) time.Duration {
	if d > lastInstant-at {
		return lastInstant
	}
	return at + d
}

// times is n times d, neither below 0, at most lastInstant.
func times(n int, d time.Duration) time.Duration {
	if d > 0 && time.Duration(n) > lastInstant/d {
		return lastInstant
	}
	return time.Duration(n) * d
}
