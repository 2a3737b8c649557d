package goodput

// InFlight is how many requests were in flight over a run, on average, twice: counted, and by Little's law. Where the two
// do not agree, either the books or the clock are wrong.
//
// In an open loop that is the server's doing. In a closed loop it is what was asked for: Achieved is how many workers there
// were at a time when each that has something to do does it. A worker is in flight from Sent to End, and has something
// to do from Start to End, so that Achieved is Asked times Σ(End − Sent) / ΣEnd. Think times and a ramp-up, which the plan
// asked for, do not lower it.
type InFlight struct {
	Mean     float64 `json:"mean"`               // the client's own count, from when it gave requests to its target, averaged over the run's time
	Little   float64 `json:"little"`             // rate of requests times the mean time that their records say they took from there to their End
	Asked    int     `json:"asked,omitempty"`    // the workers of a closed loop; 0: an open one
	Achieved float64 `json:"achieved,omitempty"` // in a closed loop; in an open one 0
}

// GoRuntime is what Go's runtime says of the client's process over a run: how long a goroutine that was ready waited for a
// processor, and how long garbage collections stopped everything. The runtime counts in intervals (runtime/metrics), and
// looks at one wait in eight: the figures are upper ends of intervals, up to a quarter too high, and a maximum is that of
// what it looked at.
type GoRuntime struct {
	Waits    PhaseTimes `json:"waits,omitzero"`     // of goroutines for a processor: /sched/latencies:seconds
	GCPauses PhaseTimes `json:"gc_pauses,omitzero"` // of garbage collections: /sched/pauses/total/gc:seconds
}

// CPU is who had the client's CPUs over a run. A number of CPUs is CPU time over time: 0.5 is half of one.
type CPU struct {
	Procs     int     `json:"procs"`           // how many the client's process may keep busy: its GOMAXPROCS
	Client    float64 `json:"client"`          // how many it kept busy
	ClientMax float64 `json:"client_max"`      // how many in its busiest second
	Busy      float64 `json:"busy"`            // the share of the run's seconds in which it kept more than 80 % of Procs busy
	Quota     *Quota  `json:"quota,omitempty"` // nil: none, or nobody knows
	Host      *Host   `json:"host,omitempty"`  // nil: nobody knows
}

// Quota is how a CPU quota (of a container, say) held the client up: one that has used its share of a period up, which
// takes a tenth of a second as a rule, is halted until the period is over.
type Quota struct {
	Periods   uint64 `json:"periods"`   // in which something was to run
	Throttled uint64 `json:"throttled"` // in which it was halted
}

// Host is who had the CPUs that the client may run on. Client, Others, Stolen and Idle come to CPUs.
type Host struct {
	CPUs    int     `json:"cpus"`     // how many they are
	Others  float64 `json:"others"`   // kept busy by other processes and the kernel: a server on the same host is one of them
	Stolen  float64 `json:"stolen"`   // by other virtual machines, while something here was ready to run
	Idle    float64 `json:"idle"`     // by nobody
	IdleMin float64 `json:"idle_min"` // in the second with the least
	Full    float64 `json:"full"`     // the share of the run's seconds in which less than a tenth of one CPU was idle
}
