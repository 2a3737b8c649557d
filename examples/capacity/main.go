// Command capacity finds how many requests a second a system can take: its goodput limit, with the interval of it.
//
// Without LLM_URL it looks at a simulated engine, OPT-13B on four A100, in virtual time: hours of load in some seconds.
//
//	go run ./examples/capacity
//	go run ./examples/capacity --sweep 8,16,32,48,64,80
//
// With it, at that OpenAI-compatible endpoint, in real time:
//
//	export LLM_URL=http://127.0.0.1:8000/v1 LLM_MODEL=your-model LLM_API_KEY=local-key
//	go run ./examples/capacity --start 2 --duration 3m --slo 'ttft p95 < 800ms, e2e p95 < 8s'
//
// Each probe is a row on standard error as soon as it is over; what was found goes to standard output, and as a page with
// charts to report.html, or the file of --html. --markdown, --csv and --json name further files. The exit status is 0 where a limit was found, 3 where the SLO is met at no rate, 4 where no more can be
// said than that it is at least some rate, or nothing at all, 2 for options that cannot be meant, 1 for any other error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// The exit statuses.
const (
	exitFound    = 0
	exitError    = 1
	exitUsage    = 2
	exitNeverMet = 3
	exitUnknown  = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the report
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitFound
	case err != nil:
		fmt.Fprintln(stderr, "capacity:", err)
		return exitUsage
	}
	status, err := measure(ctx, o, stdout, stderr)
	if err == nil {
		return status
	}
	fmt.Fprintln(stderr, "capacity:", err)
	var plan *loadgen.PlanError
	var option *capacity.OptionError
	var config *openai.ConfigError
	if errors.As(err, &plan) || errors.As(err, &option) || errors.As(err, &config) {
		return exitUsage
	}
	return exitError
}

// measure searches, or sweeps where loads were given, and prints what there is, also of one that was interrupted.
func measure(ctx context.Context, o *options, stdout, stderr io.Writer) (status int, err error) {
	runner, err := o.runner()
	if err != nil {
		return exitError, err
	}
	plan, err := o.plan()
	if err != nil {
		return exitError, err
	}
	live := newLive(stderr)
	plan.Progress = live.progress
	var found any
	var c *curve.Curve
	var l *capacity.Limit
	if len(o.loads) > 0 {
		if live.axis = curve.Rate; o.loads[0].Concurrency > 0 {
			live.axis = curve.Concurrency
		}
		c, err = capacity.Sweep(ctx, runner, plan, o.loads, capacity.WithPause(o.pause), capacity.OnStep(live.step), capacity.WithStop(capacity.Hopeless(0.1)))
		if c != nil {
			live.end()
			fmt.Fprint(stdout, c)
			found, status = c, map[curve.State]int{curve.Crosses: exitFound, curve.Below: exitNeverMet, curve.AtLeast: exitUnknown, curve.Unknown: exitUnknown}[c.Limit.State]
		}
	} else {
		l, err = capacity.Search(ctx, runner, plan, capacity.WithStart(o.start), capacity.WithProbes(o.probes), capacity.WithPause(o.pause), capacity.OnProbe(live.probe))
		if l != nil {
			live.end()
			fmt.Fprint(stdout, l)
			if len(l.Probes) > 0 {
				var bad error
				c, bad = l.Curve()
				err = errors.Join(err, bad)
			}
			found, status = l, map[capacity.State]int{capacity.Found: exitFound, capacity.NeverMet: exitNeverMet, capacity.AtLeast: exitUnknown, capacity.Unknown: exitUnknown}[l.State]
		}
	}
	if found != nil {
		err = errors.Join(err, o.write(found, o.document(c, l), stderr))
	}
	return status, err
}

// runner is the endpoint's client or, where there is none, the simulated engine.
func (o *options) runner() (loadgen.Runner, error) {
	if o.url == "" {
		return llmsim.Runner(llmsim.OPT13BTP4()), nil
	}
	target, err := openai.New(openai.Config{BaseURL: o.url, Model: o.model, APIKey: o.key})
	if err != nil {
		return nil, err
	}
	return loadgen.RunnerOf(target), nil
}

// plan is what each probe does. Prompts are salted anew in each, so that no prefix cache knows them from the one before.
func (o *options) plan() (loadgen.Plan, error) {
	shape := workload.Shape{Input: workload.Fixed(o.inputTokens), Output: workload.Fixed(o.outputTokens)}
	s, err := workload.NewSynthetic(shape, workload.WithSeed(o.seed))
	if err != nil {
		return loadgen.Plan{}, err
	}
	return loadgen.Plan{
		SLO: o.slo, Workload: s.Requests(), Repeat: true, Warmup: o.warmup, Duration: o.duration, Timeout: o.timeout, Seed: o.seed,
	}, nil
}

// live is a table that grows while the search goes on.
type live struct {
	w        io.Writer
	terminal bool
	rows     int
	axis     curve.Axis // of a sweep
	shown    time.Time
}

func newLive(w io.Writer) *live {
	l := &live{w: w}
	if f, ok := w.(*os.File); ok {
		st, err := f.Stat()
		l.terminal = err == nil && st.Mode()&os.ModeCharDevice != 0
	}
	return l
}

// clear takes the line that says how the run stands off the terminal.
func (l *live) clear() {
	if l.terminal {
		fmt.Fprint(l.w, "\r\x1b[K")
	}
}

// progress says how the run stands, where somebody watches; ten times a second at most, for virtual seconds are short.
func (l *live) progress(p loadgen.Progress) {
	if !l.terminal || time.Since(l.shown) < 100*time.Millisecond {
		return
	}
	l.shown = time.Now()
	l.clear()
	fmt.Fprintf(l.w, "  %v: %d requests, %d in flight, goodput %.1f of %.1f requests/s", p.Elapsed.Round(time.Second), p.Ended, p.InFlight, p.Goodput, p.Throughput)
}

func (l *live) probe(p *capacity.Probe) {
	l.row(capacity.ProbeHeader(), p.Row())
}

func (l *live) step(p curve.Point) {
	one, err := curve.New(l.axis, []curve.Point{p})
	if err != nil {
		return
	}
	l.row([]string{"load", "throughput/s", "goodput/s", "attainment", "errors", "verdict", "client"}, one.Row(p))
}

// row prints a row, and the header above the first.
func (l *live) row(header, cells []string) {
	l.clear()
	line := func(cells []string) {
		var b strings.Builder
		for i, c := range cells {
			fmt.Fprintf(&b, "%*s", max(len(header[i])+2, 14), c)
		}
		fmt.Fprintln(l.w, b.String())
	}
	if l.rows == 0 {
		line(header)
	}
	l.rows++
	line(cells)
}

func (l *live) end() {
	l.clear()
	fmt.Fprintln(l.w)
}
