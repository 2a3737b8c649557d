// Command disaggregation shows what it is worth to keep prompts and answers apart: the goodput limit per GPU, the highest rate at
// which the SLO is met, of the same number of GPUs in all ways to use them. Colocated, each engine does everything: with
// chunked prefill, in small chunks or large ones, or prompts first. Disaggregated, some compute prompts and the others
// generate, and the KV cache is transferred between them. The GPUs are simulated, OPT-13B on one A100 each.
//
//	go run ./examples/disaggregation
//	go run ./examples/disaggregation --gpus 8 --slo 'ttft p90 < 2s, tpot p90 < 40ms' --bandwidth 3.125
//	go run ./examples/disaggregation --trace AzureLLMInferenceTrace_conv.csv
//
// Without --slo there are three: one with a tight TTFT, one with a tight TPOT, and one between. All systems get the same
// requests at the same instants. There are several seeds, and one system is said to win where its lowest limit is above the
// other's highest: of two that are alike, four seeds each would show that one time in 35. With --trace requests and instants
// are those of a file in the form of Azure's traces, at other speeds than its own. The exit status is 0, 2 for options that
// cannot be meant, 1 for any other error.
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

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// target is an SLO and what it is called.
type target struct {
	name string
	slo  slo.SLO
}

// targets are the SLOs where none is given.
var targets = []target{
	{"tight TTFT", slo.MustParse("ttft p90 < 1s, tpot p90 < 200ms")},
	{"tight TPOT", slo.MustParse("ttft p90 < 5s, tpot p90 < 40ms")},
	{"mixed", slo.MustParse("ttft p90 < 2s, tpot p90 < 60ms")},
}

// options are those of the command line.
type options struct {
	gpus      int
	targets   []target
	load      load
	bandwidth float64 // bytes/s
	seeds     int
}

func program(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "disaggregation:", err)
		return 2
	}
	if err := compare(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "disaggregation:", err)
		if errors.As(err, new(*loadgen.PlanError)) {
			return 2
		}
		return 1
	}
	return 0
}

func parse(args []string, help io.Writer) (o options, err error) {
	f := flag.NewFlagSet("disaggregation", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	f.IntVar(&o.gpus, "gpus", 4, "how many GPUs there are, 2 to 16")
	text := f.String("slo", "", "the service-level objectives, in place of the three")
	shape := f.String("shape", "conversation", "lengths of prompts and answers: conversation or code, of Azure's traces of 2023")
	trace := f.String("trace", "", "file of a trace, whose requests and instants are used instead")
	bandwidth := f.Float64("bandwidth", 300, "of the transfer of KV caches, GB/s out of each GPU; 300 is an A100's NVLink, 3.125 a network of 25 Gbit/s")
	f.IntVar(&o.seeds, "seeds", 4, "sets of requests and instants, each with its limit; a trace is one")
	f.DurationVar(&o.load.duration, "duration", 20*time.Minute, "length of a run, of simulated time")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "Usage: disaggregation [options]\n\nCompares colocated and disaggregated engines by their goodput limit per GPU, in simulation.\n\n")
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (--help lists the options)", err)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("there are no arguments beside options: %q", f.Arg(0))
	}
	o.targets = targets
	if *text != "" {
		s, err := slo.Parse(*text)
		if err != nil {
			return o, err
		}
		o.targets = []target{{"as given", s}}
	}
	switch *shape {
	case "conversation":
		o.load.shape = workload.AzureConversation()
	case "code":
		o.load.shape = workload.AzureCode()
	default:
		return o, fmt.Errorf("--shape is conversation or code: %q", *shape)
	}
	o.bandwidth = *bandwidth * 1e9
	switch {
	case o.gpus < 2 || o.gpus > 16:
		return o, fmt.Errorf("--gpus is %d: want 2 to 16", o.gpus)
	case !(o.bandwidth > 1e5):
		return o, fmt.Errorf("--bandwidth is %v GB/s: want more than 0.0001", *bandwidth)
	case o.seeds < 1 || o.load.duration < time.Minute:
		return o, errors.New("--seeds is at least 1, --duration at least 1m")
	}
	if *trace != "" {
		o.seeds = 1
		if o.load.trace, err = workload.OpenTrace(*trace, workload.WithoutText()); err != nil {
			return o, err
		}
		if o.load.trace.Span() <= 0 {
			return o, fmt.Errorf("%s has requests at one instant alone, and no rate", *trace)
		}
	}
	return o, nil
}

// compare searches, and prints.
func compare(ctx context.Context, o options, stdout io.Writer) error {
	var jobs []*job
	for _, t := range o.targets {
		for _, s := range systems(o.gpus, o.bandwidth) {
			jobs = append(jobs, &job{system: s, slo: t.slo})
		}
	}
	if err := search(ctx, o, jobs); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d GPUs, OPT-13B on one A100 each; %v; KV cache at %g GB/s\ngoodput limit, requests/s per GPU", o.gpus, o.load, o.bandwidth/1e9)
	if o.seeds > 1 {
		fmt.Fprintf(stdout, ": the mean, and the lowest and highest, of %d seeds", o.seeds)
	}
	fmt.Fprintln(stdout)
	n := len(jobs) / len(o.targets)
	for i, t := range o.targets {
		rows := jobs[i*n : (i+1)*n]
		fmt.Fprintf(stdout, "\n%s: %v\n", t.name, t.slo)
		for _, j := range rows {
			fmt.Fprintf(stdout, "  %-25s %5.2f", j.system.name, j.found.rate)
			if o.seeds > 1 {
				fmt.Fprintf(stdout, "  %.2f to %.2f", j.found.lo, j.found.hi)
			}
			fmt.Fprintf(stdout, "  beyond it: %s\n", j.found.decide)
		}
		fmt.Fprintf(stdout, "%s\n", sentence(rows, o.seeds))
	}
	return nil
}

// sentence is what the rows say.
func sentence(rows []*job, seeds int) string {
	one, two := best(rows, false), best(rows, true)
	a, b := one.found, two.found
	verdict := "No difference is shown"
	switch {
	case a.rate == 0 && b.rate == 0:
		return "Nothing meets the SLO at any rate."
	case seeds == 1 && b.rate > a.rate:
		verdict = "Disaggregated has more"
	case seeds == 1 && a.rate > b.rate:
		verdict = "Colocated has more"
	case b.lo > a.hi:
		verdict = "Disaggregated wins"
	case a.lo > b.hi:
		verdict = "Colocated wins"
	}
	return fmt.Sprintf("%s: the best split, %s, has %.2f, the best colocated, %s, %.2f.", verdict, two.system.name, b.rate, strings.TrimPrefix(one.system.name, "colocated, "), a.rate)
}

// best is the row with the highest limit, of the systems that are split or not.
func best(rows []*job, split bool) (top *job) {
	for _, j := range rows {
		if j.system.split == split && (top == nil || j.found.rate > top.found.rate) {
			top = j
		}
	}
	return top
}
