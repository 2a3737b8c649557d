package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// A goal is a figure and what it is to be at most.
type goal struct {
	what      string
	got, most float64
	unit      string
}

// holds is false for a figure that is none.
func (g goal) holds() bool { return g.got <= g.most }

// goals compares the figures with what the project has set itself.
func (r results) goals() []goal {
	at := func(name string, g int) float64 { return r.cost[name][slices.Index(goroutines, g)] }
	return []goal{
		{"Recorder.Add / HdrHistogram-go with a mutex, G = 1, CPU", r.cpu[theRecorder] / r.cpu[theHDR], 1.3, ""},
		{"the same, time that passes", at(theRecorder, 1) / at(theHDR, 1), 1.3, ""},
		{"Recorder.Add / HdrHistogram-go with a mutex, G = 8", at(theRecorder, 8) / at(theHDR, 8), 1.0 / 3, ""},
		{"Recorder.Add / influxdata/tdigest with a mutex, G = 8", at(theRecorder, 8) / at(theInflux, 8), 1.0 / 6, ""},
		{"Recorder.Add, G = 8 / G = 1", at(theRecorder, 8) / at(theRecorder, 1), 1, ""},
		{"Digest.Add / influxdata/tdigest without a lock, CPU", r.cpu[theDigest] / r.cpu[rawInflux], 1.0 / 4, ""},
		{"the same, time that passes", at(theDigest, 1) / at(rawInflux, 1), 1.0 / 4, ""},
		{"Snapshot of a Recorder with 10⁷ values", r.snapshot / 1e6, 2, " ms"},
		{"a quantile of a snapshot", r.quantile, 200, " ns"},
		{"memory of a Digest", r.heap[theDigest] / 1000, 120, " kB"},
		{"memory of a Recorder", r.heap[theRecorder] / 1000, 300, " kB"},
		{"encoded Digest", r.encoded / 1000, 24, " kB"},
	}
}

// write prints all as Markdown and returns how many goals are missed.
func (r results) write(w io.Writer) (missed int) {
	fmt.Fprintf(w, "%v.\n\n", r.machine)
	fmt.Fprintf(w, "%s log-normal values, %d rounds; ns per add, the time that passes over all goroutines' adds; memory of one with all values; errors of percentiles, the farthest of %d seeds.\n\n",
		thousands(r.values), r.rounds, seeds)
	head := []string{"", "CPU, G = 1"}
	for _, g := range goroutines {
		head = append(head, fmt.Sprintf("G = %d", g))
	}
	head = append(head, "kB")
	for _, q := range ranks {
		head = append(head, fmt.Sprintf("P%v", math.Round(1e4*q)/100))
	}
	row(w, head...)
	row(w, "---", strings.Repeat("---: | ", len(head)-2)+"---:")
	for _, s := range subjects {
		cells := []string{s.name, figure(r.cpu[s.name])}
		for _, c := range r.cost[s.name] {
			cells = append(cells, figure(c))
		}
		es, ok := r.errors[s.name]
		if !ok {
			row(w, append(cells, slices.Repeat([]string{"–"}, 1+len(ranks))...)...)
			continue
		}
		cells = append(cells, figure(r.heap[s.name]/1000))
		for _, e := range es {
			cells = append(cells, fmt.Sprintf("%+.2f %%", 100*e))
		}
		row(w, cells...)
	}

	fmt.Fprintln(w)
	row(w, "", "figure", "at most", "")
	row(w, "---", "---: | ---: | ---")
	for _, g := range r.goals() {
		verdict := "holds"
		if !g.holds() {
			verdict = "**missed**"
			missed++
		}
		row(w, g.what, figure(g.got)+g.unit, figure(g.most)+g.unit, verdict)
	}

	fmt.Fprintln(w)
	var versions []string
	for _, s := range subjects {
		if v := s.module + " " + r.machine.modules[s.module]; s.module != "" && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	fmt.Fprintf(w, "Versions: %s.\n", strings.Join(versions, ", "))
	return missed
}

func row(w io.Writer, cells ...string) { fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | ")) }

// figure has three digits.
func figure(x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case x >= 99.5:
		return thousands(int(math.Round(x)))
	case x >= 9.95:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}

func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
