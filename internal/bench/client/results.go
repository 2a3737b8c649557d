package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
)

// results is all that was measured.
type results struct {
	machine figures.Machine
	python  string // the versions; empty: none
	rounds  int
	parts   []part
}

// part is what the clients did with one load, by name and in each round.
type part struct {
	load load
	did  map[string][]result
}

const (
	manyStreams  = 1400 // for the memory
	pythonRounds = 3    // at most: it is slow
)

// loads is what the clients are to do; streams keep coming for length.
func loads(length time.Duration) (all []load) {
	for _, n := range []int{100, 500, 1000, manyStreams} {
		l := load{Kind: streaming, Size: n}
		l.Requests = int(l.rate() * length.Seconds())
		all = append(all, l)
	}
	return append(all, load{Kind: closedLoop, Size: 16, Requests: 15_000}, load{Kind: fixedRate, Size: 2000, Requests: 3000},
		load{Kind: virtual, Size: 10_000, Requests: 20_000})
}

func measureAll(ctx context.Context, rounds int, length time.Duration) (results, error) {
	r := results{machine: figures.ThisMachine(), rounds: rounds}
	url, stop, err := startServer(ctx)
	if err != nil {
		return r, err
	}
	defer stop()
	python, versions := findPython(ctx)
	r.python = versions
	a := asker{ctx: ctx, url: url, python: python}
	for _, l := range loads(length) {
		p := part{l, map[string][]result{}}
		for round := range l.rounds(rounds) {
			clients := slices.Clone(l.clients())
			if round%2 == 1 { // whatever drifts meets all alike
				slices.Reverse(clients)
			}
			for _, c := range clients {
				if c.do == nil && (python == "" || round >= pythonRounds || l.Kind == fixedRate) {
					continue
				}
				got, err := a.ask(c, l)
				if err != nil {
					return r, fmt.Errorf("%s, %s of %d: %w", c.name, l.Kind, l.Size, err)
				}
				p.did[c.name] = append(p.did[c.name], got)
			}
		}
		r.parts = append(r.parts, p)
	}
	return r, nil
}

// rounds is how many of them a load is worth: memory hardly varies.
func (l load) rounds(most int) int {
	if l.Kind == streaming && l.Size == manyStreams {
		return 1
	}
	return most
}

// part is that of a kind and size.
func (r results) part(kind string, size int) part {
	i := slices.IndexFunc(r.parts, func(p part) bool { return p.load.Kind == kind && (size == 0 || p.load.Size == size) })
	return r.parts[i]
}

// clients are those that were measured.
func (p part) clients() []client {
	return slices.DeleteFunc(slices.Clone(p.load.clients()), func(c client) bool { return len(p.did[c.name]) == 0 })
}

// median is that of a client's rounds; NaN: there are none.
func (p part) median(name string, f func(result) float64) float64 {
	var x []float64
	for _, r := range p.did[name] {
		x = append(x, f(r))
	}
	return figures.Median(x)
}

// ratio is the median of the rounds' ratios of a client's figure to another's.
func (p part) ratio(name, to string, f func(result) float64) float64 {
	var x []float64
	for i, r := range p.did[name] {
		if others := p.did[to]; i < len(others) {
			x = append(x, f(r)/f(others[i]))
		}
	}
	return figures.Median(x)
}

func cpu(r result) float64     { return r.CPU }
func late(r result) float64    { return r.Late }
func stepP99(r result) float64 { return r.StepP99 }
func rss(r result) float64     { return r.RSS }
func rate(r result) float64    { return r.Rate }

// goals compares the figures with what the project has set itself.
func (r results) goals() (all []figures.Goal) {
	const least = 1.15
	for _, g := range []struct {
		streams int
		most    float64
	}{{100, 0.5}, {500, 0.8}, {1000, 5}} {
		p, what := r.part(streaming, g.streams), figures.Thousands(g.streams)+" streams: "
		all = append(all,
			figures.AtMost(what+"mean error of the first token", p.median(theRun, late), g.most, " ms"),
			figures.AtMost(what+"the same / bare loop", p.ratio(theRun, bareLoop, late), least, ""),
			figures.AtMost(what+"CPU per event / bare loop", p.ratio(theRun, bareLoop, cpu), least, ""))
		if g.streams == 500 {
			all = append(all, figures.AtMost(what+"P99 of steps", p.median(theRun, stepP99), 12.5, " ms"))
		}
	}
	all = append(all, figures.AtMost(figures.Thousands(manyStreams)+" streams: resident memory", r.part(streaming, manyStreams).median(theRun, rss), 100, " MB"))
	for _, kind := range []string{closedLoop, fixedRate} {
		for _, name := range []string{theRunOpenAI, theRunHTTP} {
			for _, vegeta := range []string{theAttacker, theAttack} {
				all = append(all, figures.AtMost(kind+": CPU per request, "+name+" / "+vegeta, r.part(kind, 0).ratio(name, vegeta, cpu), 1, ""))
			}
		}
	}
	for _, name := range []string{theRunOpenAI, theRunHTTP} {
		all = append(all, figures.AtMost(fixedRate+": CPU per request, "+name+" / "+onTime, r.part(fixedRate, 0).ratio(name, onTime, cpu), least, ""))
	}
	return append(all, figures.AtMost("a bubble: requests/s, bare loop / loadgen.Run", r.part(virtual, 0).ratio(bareLoop, theRun, rate), 2, ""))
}

// write prints all as Markdown and returns how many goals are missed.
func (r results) write(w io.Writer) (missed int) {
	fmt.Fprintf(w, "%v.\n\n", r.machine)
	fmt.Fprintf(w, "Streams of %d tokens, the first after %v, one every %v; medians of %d rounds.\n\n", tokens, firstWait, stepWait, r.rounds)
	figures.Head(w, "", "streams", "first token, error in ms: mean", "P50", "P99", "against the nominal instant: mean", "P50", "P99", "steps, ms: P99", "CPU, µs/event", "/ bare loop", "RSS, MB")
	for _, p := range r.parts {
		if p.load.Kind != streaming {
			continue
		}
		for _, c := range p.clients() {
			cells := []string{c.name, figures.Thousands(p.load.Size)}
			for _, f := range []func(result) float64{late, func(r result) float64 { return r.LateP50 }, func(r result) float64 { return r.LateP99 },
				func(r result) float64 { return r.Nominal }, func(r result) float64 { return r.NominalP50 }, func(r result) float64 { return r.NominalP99 },
				stepP99, cpu} {
				cells = append(cells, figures.Figure(p.median(c.name, f)))
			}
			figures.Row(w, append(cells, figures.Figure(p.ratio(c.name, bareLoop, cpu)), figures.Figure(p.median(c.name, rss)))...)
		}
	}
	fmt.Fprintf(w, "\nRequests for one JSON body.\n\n")
	figures.Head(w, "", "load", "CPU, µs/request", "/ bare loop", "requests/s", "RSS, MB")
	for _, p := range r.parts {
		if p.load.Kind != closedLoop && p.load.Kind != fixedRate {
			continue
		}
		of := strconv.Itoa(p.load.Size) + " at once"
		if p.load.Kind == fixedRate {
			of = figures.Thousands(p.load.Size) + "/s"
		}
		for _, c := range p.clients() {
			figures.Row(w, c.name, of, figures.Figure(p.median(c.name, cpu)), figures.Figure(p.ratio(c.name, bareLoop, cpu)),
				figures.Figure(p.median(c.name, rate)), figures.Figure(p.median(c.name, rss)))
		}
	}
	fmt.Fprintf(w, "\nRequests of a millisecond in a synctest bubble.\n\n")
	figures.Head(w, "", "requests/s", "CPU, µs/request")
	for _, c := range bubbleClients {
		p := r.part(virtual, 0)
		figures.Row(w, c.name, figures.Figure(p.median(c.name, rate)), figures.Figure(p.median(c.name, cpu)))
	}
	fmt.Fprintln(w)
	missed = figures.WriteGoals(w, r.goals())
	python := r.python
	if python == "" {
		python = "without the Python client: no python3 has aiohttp"
	}
	fmt.Fprintf(w, "\nVersions: github.com/tsenart/vegeta/v12 %s; %s.\n", r.machine.Modules["github.com/tsenart/vegeta/v12"], python)
	return missed
}
