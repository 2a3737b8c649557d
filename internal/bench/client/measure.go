package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
	"golang.org/x/exp/stats"
)

// result is what one client did in one process.
type result struct {
	CPU  float64 // µs for a token event, or a request where it has none
	RSS  float64 // the most memory that was resident, MB
	Rate float64 // requests/s that ended

	// Of streams, in ms: how much later than the server wrote it the client saw a first token,
	Late, LateP50, LateP99 float64
	// how much later than its nominal instant,
	Nominal, NominalP50, NominalP99 float64
	StepP99                         float64 // and from one token event to the next
}

// A client puts a load on the server.
type client struct {
	name string
	do   func(ctx context.Context, l load) (wait, error) // nil: a program of its own
}

const (
	bareLoop     = "bare loop"
	onTime       = "bare loop, on time"
	theRun       = "loadgen.Run"
	theRunOpenAI = "loadgen.Run, openai"
	theRunHTTP   = "loadgen.Run, httptarget"
	theAttacker  = "vegeta, the attacker alone"
	theAttack    = "vegeta, with its metrics"
	pythonClient = "Python, aiohttp"
)

var (
	streamClients = []client{{bareLoop, bareStreams}, {theRun, runStreams}, {pythonClient, nil}}
	wholeClients  = []client{{bareLoop, bareWhole}, {theRunOpenAI, runOpenAI}, {theRunHTTP, runHTTP},
		{theAttacker, vegetaWhole(false)}, {theAttack, vegetaWhole(true)}, {pythonClient, nil}}
	bubbleClients = []client{{bareLoop, bareBubble}, {theRun, runBubble}}
)

func (l load) clients() []client {
	switch l.Kind {
	case streaming:
		return streamClients
	case virtual:
		return bubbleClients
	case fixedRate:
		return slices.Insert(slices.Clone(wholeClients), 1, client{onTime, bareOnTime})
	}
	return wholeClients
}

// measure has the client named name carry the load out and writes the result.
func measure(ctx context.Context, l load, name string) error {
	i := slices.IndexFunc(l.clients(), func(c client) bool { return c.name == name && c.do != nil })
	if i < 0 {
		return fmt.Errorf("there is no client %q for %s", name, l.Kind)
	}
	runtime.GC()
	before, begin := figures.CPUTime(), time.Now()
	saw, err := l.clients()[i].do(ctx, l)
	cpu, took := figures.CPUTime()-before, time.Since(begin)
	if err != nil {
		return err
	}
	var r result
	if r.RSS, err = peakRSS(); err != nil {
		return err
	}
	var streams []seen
	if saw != nil {
		if streams, err = saw(); err != nil {
			return err
		}
	}
	if err := r.sum(ctx, l, cpu, took, streams); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// sum fills in what was used and seen.
func (r *result) sum(ctx context.Context, l load, cpu, took time.Duration, streams []seen) error {
	events := l.Requests
	if l.Kind == streaming {
		events *= tokens
		written, err := firstTokens(ctx, l.URL)
		if err != nil {
			return err
		}
		if err := r.compare(l, streams, written); err != nil {
			return err
		}
	}
	r.CPU = float64(cpu) / float64(time.Microsecond) / float64(events)
	r.Rate = float64(l.Requests) / took.Seconds()
	return nil
}

// compare compares what was seen with when the server wrote it.
func (r *result) compare(l load, streams []seen, written map[string]int64) error {
	if len(streams) != l.Requests {
		return fmt.Errorf("%d streams and not %d", len(streams), l.Requests)
	}
	var late, nominal, steps []float64
	for _, s := range streams {
		if len(s.Tokens) != tokens {
			return fmt.Errorf("%d token events and not %d", len(s.Tokens), tokens)
		}
		w, ok := written[s.Name]
		if !ok {
			return errors.New("the server does not know one of the streams")
		}
		late = append(late, ms(s.Tokens[0]-w))
		nominal = append(nominal, ms(s.Tokens[0]-s.Due-int64(firstWait)))
		for i, t := range s.Tokens[1:] {
			steps = append(steps, ms(t-s.Tokens[i]))
		}
	}
	q := stats.Quantiles(late, 0.5, 0.99)
	r.Late, r.LateP50, r.LateP99 = stats.Mean(late), q[0], q[1]
	q = stats.Quantiles(nominal, 0.5, 0.99)
	r.Nominal, r.NominalP50, r.NominalP99 = stats.Mean(nominal), q[0], q[1]
	r.StepP99 = stats.Quantiles(steps, 0.99)[0]
	return nil
}

func ms(ns int64) float64 { return float64(ns) / 1e6 }

// firstTokens is when the server wrote the first token of each stream, Unix nanoseconds by name.
func firstTokens(ctx context.Context, url string) (map[string]int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/first-tokens", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	m := map[string]int64{}
	return m, json.NewDecoder(resp.Body).Decode(&m)
}

// peakRSS is the most memory of this process that was resident, MB. What getrusage says has that of the process in it which
// started this one.
func peakRSS() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	return readPeak(string(status))
}

// readPeak reads the peak, MB, from /proc/self/status.
func readPeak(status string) (float64, error) {
	_, after, _ := strings.Cut(status, "\nVmHWM:")
	var kB float64
	if _, err := fmt.Sscan(after, &kB); err != nil {
		return 0, errors.New("/proc/self/status has no VmHWM")
	}
	return kB * 1024 / 1e6, nil
}
