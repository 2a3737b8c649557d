// Command compare says which of two systems has the greater goodput, with the interval of the difference, and which one would
// have won by throughput.
//
// Without arguments the two are simulated engines in virtual time, which differ in how many sequences they batch at most:
//
//	go run ./examples/compare
//
// With two URLs they are OpenAI-compatible endpoints, which are measured in turns, A B B A A B B A, so that what drifts hits
// both alike:
//
//	export LLM_MODEL=your-model LLM_API_KEY=local-key
//	go run ./examples/compare --rate 8 --duration 2m http://10.0.0.1:8000/v1 http://10.0.0.2:8000/v1
//
// With two lists of files of records, as examples/bench --records writes them, they are runs that were made before. A file
// is one run: what varies between runs is what a difference has to exceed, and the stretches of a single run do not show it. So
// it takes at least four files a side, made by turns; with fewer there are means and no interval.
//
//	go run ./examples/compare a1.jsonl,a2.jsonl,a3.jsonl,a4.jsonl b1.jsonl,b2.jsonl,b3.jsonl,b4.jsonl
//
// Each run is a row on standard error as soon as it is over; the comparison goes to standard output, below the SLO, the loads and
// what the client says of itself, and as JSON to the file of --json. --html writes a page of it with charts of all runs, and --csv a line for each run. The exit status says what came of it (go run makes 1 of each but 0):
//
//	0  one of them has the greater goodput
//	1  a run or a file failed, or the runs are not of one SLO
//	2  options that cannot be meant; nothing was sent
//	3  no difference is shown: which is not to say that there is none
//	4  nothing can be said: too few runs, or a client that was too busy for its figures to be believed
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
)

// The exit statuses.
const (
	exitShown    = 0
	exitError    = 1
	exitUsage    = 2
	exitNotShown = 3
	exitUnknown  = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the comparison
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitShown
	case err != nil:
		fmt.Fprintln(stderr, "compare:", err)
		return exitUsage
	}
	sides, err := o.reports(ctx, stderr)
	if err == nil {
		var c *curve.Comparison
		if c, err = curve.Compare(sides[0], sides[1]); err == nil {
			fmt.Fprint(stdout, head(o.described(), sides), c)
			if text := sentence(c); text != "" {
				fmt.Fprintf(stdout, "\n%s\n", text)
			}
			if err = o.write(c, document(c, o.described(), sides)); err == nil {
				return status(c)
			}
		}
	}
	fmt.Fprintln(stderr, "compare:", err)
	var plan *loadgen.PlanError
	var config *openai.ConfigError
	if errors.As(err, &plan) || errors.As(err, &config) {
		return exitUsage
	}
	return exitError
}

// status is the exit status that says what the comparison found.
func status(c *curve.Comparison) int {
	if slices.ContainsFunc(c.Warnings, func(err error) bool { return errors.Is(err, curve.ErrClient) }) {
		return exitUnknown
	}
	switch c.Winner() {
	case curve.A, curve.B:
		return exitShown
	case curve.NoDifference:
		return exitNotShown
	}
	return exitUnknown
}

// reports are those of all runs of either side.
func (o *options) reports(ctx context.Context, stderr io.Writer) (sides [2][]*goodput.Report, err error) {
	if o.files[0] != nil {
		for i, files := range o.files {
			if sides[i], err = read(files, name(i), stderr); err != nil {
				return sides, err
			}
		}
		return sides, nil
	}
	both, err := o.sides()
	if err != nil {
		return sides, err
	}
	return o.byTurns(ctx, both, stderr)
}

func read(files []string, side string, stderr io.Writer) (all []*goodput.Report, err error) {
	for _, name := range files {
		r, err := readOne(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		row(stderr, side, len(all)+1, r)
		all = append(all, r)
	}
	return all, nil
}

func readOne(name string) (*goodput.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return goodput.ReadReport(f)
}
