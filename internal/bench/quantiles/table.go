package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
)

// goals compares the figures with what the project has set itself.
func (r results) goals() []figures.Goal {
	at := func(name string, g int) float64 { return r.cost[name][slices.Index(goroutines, g)] }
	return []figures.Goal{
		figures.AtMost("Recorder.Add / HdrHistogram-go with a mutex, G = 1, CPU", r.cpu[theRecorder]/r.cpu[theHDR], 1.3, ""),
		figures.AtMost("the same, time that passes", at(theRecorder, 1)/at(theHDR, 1), 1.3, ""),
		figures.AtMost("Recorder.Add / HdrHistogram-go with a mutex, G = 8", at(theRecorder, 8)/at(theHDR, 8), 1.0/3, ""),
		figures.AtMost("Recorder.Add / influxdata/tdigest with a mutex, G = 8", at(theRecorder, 8)/at(theInflux, 8), 1.0/6, ""),
		figures.AtMost("Recorder.Add, G = 8 / G = 1", at(theRecorder, 8)/at(theRecorder, 1), 1, ""),
		figures.AtMost("Digest.Add / influxdata/tdigest without a lock, CPU", r.cpu[theDigest]/r.cpu[rawInflux], 1.0/4, ""),
		figures.AtMost("the same, time that passes", at(theDigest, 1)/at(rawInflux, 1), 1.0/4, ""),
		figures.AtMost("Snapshot of a Recorder with 10⁷ values", r.snapshot/1e6, 2, " ms"),
		figures.AtMost("a quantile of a snapshot", r.quantile, 200, " ns"),
		figures.AtMost("memory of a Digest", r.heap[theDigest]/1000, 120, " kB"),
		figures.AtMost("memory of a Recorder", r.heap[theRecorder]/1000, 300, " kB"),
		figures.AtMost("encoded Digest", r.encoded/1000, 24, " kB"),
	}
}

// write prints all as Markdown and returns how many goals are missed.
func (r results) write(w io.Writer) (missed int) {
	fmt.Fprintf(w, "%v.\n\n", r.machine)
	fmt.Fprintf(w, "%s log-normal values, %d rounds; ns per add, the time that passes over all goroutines' adds; memory of one with all values; errors of percentiles, the farthest of %d seeds.\n\n",
		figures.Thousands(r.values), r.rounds, seeds)
	head := []string{"", "CPU, G = 1"}
	for _, g := range goroutines {
		head = append(head, fmt.Sprintf("G = %d", g))
	}
	head = append(head, "kB")
	for _, q := range ranks {
		head = append(head, fmt.Sprintf("P%v", math.Round(1e4*q)/100))
	}
	figures.Head(w, head...)
	for _, s := range subjects {
		cells := []string{s.name, figures.Figure(r.cpu[s.name])}
		for _, c := range r.cost[s.name] {
			cells = append(cells, figures.Figure(c))
		}
		es, ok := r.errors[s.name]
		if !ok {
			figures.Row(w, append(cells, slices.Repeat([]string{"–"}, 1+len(ranks))...)...)
			continue
		}
		cells = append(cells, figures.Figure(r.heap[s.name]/1000))
		for _, e := range es {
			cells = append(cells, fmt.Sprintf("%+.2f %%", 100*e))
		}
		figures.Row(w, cells...)
	}

	fmt.Fprintln(w)
	missed = figures.WriteGoals(w, r.goals())

	fmt.Fprintln(w)
	var versions []string
	for _, s := range subjects {
		if v := s.module + " " + r.machine.Modules[s.module]; s.module != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	fmt.Fprintf(w, "Versions: %s.\n", strings.Join(versions, ", "))
	return missed
}
