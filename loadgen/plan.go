package loadgen

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Arrivals is when requests begin: an open loop. The built-in ones are plain structs that print and marshal.
type Arrivals interface {
	Times() iter.Seq[time.Duration] // offsets from the start, never falling
	String() string
}

// Overflow says what becomes of a request that is due while MaxInFlight are in flight.
type Overflow uint8

// The ways.
const (
	Wait Overflow = iota + 1 // until one ends; the wait is in its latency
	Drop                     // not sent, booked as dropped
)

// Plan is the load to make and the SLO to judge it by.
type Plan struct {
	SLO            slo.SLO
	Classes        slo.Set
	Arrivals       Arrivals // open loop, or
	Concurrency    int      // closed loop
	ThinkTime      time.Duration
	RampUp         time.Duration
	Workload       iter.Seq[*Request] // nil: empty requests; a finite one ends the run unless Repeat
	Repeat         bool
	Requests       int           // the first bound reached ends the arrivals: Requests, Duration, the workload's end
	Warmup         time.Duration // comes before Duration, and before Requests are counted
	WarmupRequests int           // or by count
	Duration       time.Duration
	Timeout        time.Duration // of a request, from Start; 0: 5 minutes
	Drain          time.Duration // after the last arrival; 0: Timeout
	MaxInFlight    int           // with Arrivals; then Overflow must say Wait or Drop
	Overflow       Overflow
	Seed           uint64
	Progress       func(Progress)
	Records        io.Writer // JSON lines with the keys of the shared vectors
}

// Progress is how a run stands.
type Progress struct {
	Elapsed  time.Duration
	Offered  uint64
	InFlight int
	Ended    uint64
	Good     uint64
}

// Result is what a run found.
type Result struct {
	Report *goodput.Report
}

// A Runner carries a plan out.
type Runner func(ctx context.Context, p Plan) (*Result, error)
