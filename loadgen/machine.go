package loadgen

import (
	"math"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// From where on a second of a run counts as one in which the client, or its host, was full: where the client kept more than
// this share of its CPUs busy, and where less than this part of one CPU was idle. goodput.CPU has these numbers too.
const fullClient, fullHost = 0.8, 0.1

// machine is the client's process and its host over a run in real time: read at its start, each second, and at its end.
type machine struct {
	read        func() reading
	first, last reading // of the run so far
	second      reading // the beginning of the second that is being judged
	most, least float64 // CPUs that the client kept busy, and that were idle, in the worst second
	judged      time.Duration
	busy, full  time.Duration // of that, in which the client or the host was full
	histograms  histograms
	quota       quota
}

// reading is what the system says of CPU time at an instant.
type reading struct {
	at    time.Time
	procs int           // GOMAXPROCS
	own   time.Duration // CPU time of the client's process
	ok    bool          // it is known
	host  hostTimes
}

// hostTimes is the time that the CPUs which the client may run on have spent so far.
type hostTimes struct {
	cpus               int // 0: nobody knows
	busy, idle, stolen time.Duration
}

// watchMachine watches from now until seen is called, which returns what was seen, and may be called again.
func watchMachine() (seen func() *machine) {
	h := openHost()
	m := newMachine(func() reading {
		r := reading{at: time.Now(), procs: runtime.GOMAXPROCS(0), host: h.times()}
		r.own, r.ok = ownTime()
		return r
	})
	before, limits := readHistograms(), quotas("")
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer h.close()
		t := time.NewTicker(time.Second)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				m.look(m.read())
			case <-quit:
				m.end()
				m.histograms = readHistograms().since(before)
				m.quota = worst(limits, quotas(""))
				return
			}
		}
	}()
	return sync.OnceValue(func() *machine {
		close(quit)
		<-done
		return m
	})
}

func newMachine(read func() reading) *machine {
	r := read()
	return &machine{read: read, first: r, last: r, second: r, least: math.Inf(1)}
}

// look ends a second, which may be longer, with r.
func (m *machine) look(r reading) {
	m.last = r
	u, ok := m.second.until(r)
	if !ok {
		return
	}
	m.second = r
	m.judged += u.took
	m.most = max(m.most, u.client)
	if u.client > fullClient*float64(u.procs) {
		m.busy += u.took
	}
	if u.cpus == 0 {
		return
	}
	m.least = min(m.least, u.idle)
	if u.idle < fullHost {
		m.full += u.took
	}
}

// end ends the run. A rest of less than half a second is in no second: systems count in hundredths, and it says too little.
func (m *machine) end() {
	r := m.read()
	if r.at.Sub(m.second.at) >= time.Second/2 {
		m.look(r)
	}
	m.last = r
}

// took is how long the run was watched.
func (m *machine) took() time.Duration { return m.last.at.Sub(m.first.at) }

// use is who had the CPUs between two readings.
type use struct {
	took                         time.Duration
	procs, cpus                  int
	client, others, stolen, idle float64 // CPUs
}

// until is who had the CPUs from r to s; ok is false where nobody knows.
func (r reading) until(s reading) (u use, ok bool) {
	u = use{took: s.at.Sub(r.at), procs: s.procs}
	if !r.ok || !s.ok || u.took <= 0 {
		return u, false
	}
	per := func(d time.Duration) float64 { return max(0, float64(d)/float64(u.took)) }
	u.client = per(s.own - r.own)
	if r.host.cpus > 0 && r.host.cpus == s.host.cpus {
		u.cpus = s.host.cpus
		u.procs = min(u.procs, u.cpus)
		u.others = per(s.host.busy - r.host.busy - (s.own - r.own))
		u.stolen, u.idle = per(s.host.stolen-r.host.stolen), per(s.host.idle-r.host.idle)
	}
	return u, true
}

// shortest is the shortest run of which there is a CPU time: systems count it in hundredths of a second.
const shortest = 100 * time.Millisecond

// cpu is what it came to; nil: nobody knows.
func (m *machine) cpu() *goodput.CPU {
	u, ok := m.first.until(m.last)
	if !ok || u.took < shortest {
		return nil
	}
	share := func(d time.Duration) float64 {
		if m.judged <= 0 {
			return 0
		}
		return d.Seconds() / m.judged.Seconds()
	}
	c := &goodput.CPU{Procs: u.procs, Client: u.client, ClientMax: max(m.most, u.client), Busy: share(m.busy)}
	if m.quota.periods > 0 {
		c.Quota = &goodput.Quota{Periods: m.quota.periods, Throttled: m.quota.halted}
	}
	if u.cpus > 0 {
		c.Host = &goodput.Host{CPUs: u.cpus, Others: u.others, Stolen: u.stolen, Idle: u.idle, IdleMin: min(m.least, u.idle), Full: share(m.full)}
	}
	return c
}

// histograms are the runtime's.
type histograms struct{ waits, pauses metrics.Float64Histogram }

// readHistograms reads them as they have come to be since the program began.
func readHistograms() (h histograms) {
	s := []metrics.Sample{{Name: "/sched/latencies:seconds"}, {Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	for i, to := range []*metrics.Float64Histogram{&h.waits, &h.pauses} {
		if s[i].Value.Kind() == metrics.KindFloat64Histogram { // else this version of Go does not know it
			*to = *s[i].Value.Float64Histogram()
		}
	}
	return h
}

// since is what came after before was read.
func (h histograms) since(before histograms) histograms {
	return histograms{minus(h.waits, before.waits), minus(h.pauses, before.pauses)}
}

// result is what they come to, and how long, at least, pauses of at least long stopped everything; both in s.
func (h histograms) result(long float64) (r *goodput.GoRuntime, stopped float64) {
	for i, n := range h.pauses.Counts {
		if from := h.pauses.Buckets[i]; n > 0 && from >= long {
			stopped += float64(n) * from
		}
	}
	return &goodput.GoRuntime{Waits: timesOf(h.waits), GCPauses: timesOf(h.pauses)}, stopped
}

// minus is what came between two readings of a histogram.
func minus(after, before metrics.Float64Histogram) metrics.Float64Histogram {
	counts := make([]uint64, len(after.Counts))
	for i, n := range after.Counts {
		if counts[i] = n; i < len(before.Counts) {
			counts[i] -= before.Counts[i]
		}
	}
	return metrics.Float64Histogram{Counts: counts, Buckets: after.Buckets}
}

// timesOf are a histogram's percentiles: the upper ends of the intervals that they lie in.
func timesOf(h metrics.Float64Histogram) (t goodput.PhaseTimes) {
	for _, n := range h.Counts {
		t.N += n
	}
	if t.N == 0 {
		return t
	}
	t.P50, t.P99, t.Max = upper(h, (t.N+1)/2), upper(h, t.N-t.N/100), upper(h, t.N)
	return t
}

// upper is the upper end of the interval of the value of that rank, from 1; the lower end of one that has no upper end.
func upper(h metrics.Float64Histogram, rank uint64) float64 {
	i := 0
	for ; h.Counts[i] < rank; i++ {
		rank -= h.Counts[i]
	}
	if end := h.Buckets[i+1]; !math.IsInf(end, 1) {
		return end
	}
	return h.Buckets[i]
}
