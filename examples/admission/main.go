// Command admission shows what admission control is worth: goodput over load, below and above what a system can take, for no
// control, for fixed caps on the requests in flight, for a limited queue, and for package admission, which is told the SLO and
// nothing else. The system is a simulated engine, OPT-13B on one A100, in virtual time: hours of load in some seconds.
//
//	go run ./examples/admission
//	go run ./examples/admission --slo 'ttft p90 < 4s, tpot p90 < 100ms' --shape code --seeds 5
//
// All policies see the same requests at the same instants. What is refused is not good: it counts in the load and not in the
// goodput. The exit status is 0, 2 for options that cannot be meant, 1 for any other error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// options are those of the command line.
type options struct {
	slo      slo.SLO
	shape    workload.Shape
	limit    float64
	loads    []float64
	seeds    int
	duration time.Duration
}

func program(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, "admission:", err)
		return 2
	}
	if err := compare(ctx, o, stdout); err != nil {
		fmt.Fprintln(stderr, "admission:", err)
		return 1
	}
	return 0
}

func parse(args []string, help io.Writer) (o options, err error) {
	f := flag.NewFlagSet("admission", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	text := f.String("slo", "ttft p95 < 2s, tpot p95 < 100ms", "the service-level objectives")
	shape := f.String("shape", "conversation", "lengths of prompts and outputs: conversation or code, of Azure's traces of 2023")
	f.Float64Var(&o.limit, "limit", 0, "the goodput limit without control, requests/s; 0: it is searched for")
	f.IntVar(&o.seeds, "seeds", 3, "runs of each policy under each load")
	f.DurationVar(&o.duration, "duration", 20*time.Minute, "length of a run")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "Usage: admission [options]\n\nCompares policies of admission control by their goodput under several loads, in simulation.\n\n")
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, fmt.Errorf("%w (--help lists the options)", err)
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("there are no arguments beside options: %q", f.Arg(0))
	}
	if o.slo, err = slo.Parse(*text); err != nil {
		return o, err
	}
	switch *shape {
	case "conversation":
		o.shape = workload.AzureConversation()
	case "code":
		o.shape = workload.AzureCode()
	default:
		return o, fmt.Errorf("--shape is conversation or code: %q", *shape)
	}
	if o.seeds < 1 || o.duration < time.Minute || !(o.limit >= 0) || math.IsInf(o.limit, 1) {
		return o, errors.New("--seeds is at least 1, --duration at least 1m, --limit at least 0 and finite")
	}
	o.loads = []float64{0.2, 0.6, 0.9, 1.2, 1.6, 2, 2.5, 3}
	return o, nil
}

// row is one policy: its goodput under each load.
type row struct {
	name    string
	put     func(*system) error
	goodput []float64 // requests/s
	refused []float64 // share
}

// compare runs all, and prints.
func compare(ctx context.Context, o options, stdout io.Writer) error {
	if o.limit == 0 {
		found, err := search(ctx, o)
		if err != nil {
			return err
		}
		o.limit = found
	}
	rows := []*row{
		{name: "no control", put: fixed(math.MaxInt, 0)},
		{name: "at most 16 in flight", put: fixed(16, 0)},
		{name: "at most 32 in flight", put: fixed(32, 0)},
		{name: "at most 64 in flight", put: fixed(64, 0)},
		{name: "32, and 32 wait", put: fixed(32, 32)},
		{name: "package admission", put: defend(o.slo)},
	}
	fmt.Fprintf(stdout, "%v; %s; goodput limit without control %.2f/s\n\ngoodput, requests/s, at so many times the limit\n%-22s", o.slo, o.shape.Name, o.limit, "")
	for _, x := range o.loads {
		fmt.Fprintf(stdout, "%8.1f", x)
	}
	fmt.Fprintln(stdout)
	for _, r := range rows {
		fmt.Fprintf(stdout, "%-22s", r.name)
		for _, x := range o.loads {
			if err := r.measure(ctx, o, x); err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%8.2f", r.goodput[len(r.goodput)-1])
		}
		fmt.Fprintln(stdout)
	}
	ours := rows[len(rows)-1]
	fmt.Fprintf(stdout, "%-22s", "refused by it, %")
	for _, share := range ours.refused {
		fmt.Fprintf(stdout, "%8.1f", 100*share)
	}
	fmt.Fprintf(stdout, "\n\n%s\n", sentence(o.loads, rows))
	return nil
}

func (r *row) measure(ctx context.Context, o options, x float64) error {
	var g, refused float64
	for seed := range uint64(o.seeds) {
		report, s, err := run(ctx, o.slo, o.shape, loadgen.Poisson{Rate: x * o.limit, Seed: seed + 1}, seed+1, o.duration, r.put)
		if err != nil {
			return err
		}
		g += report.GoodputRPS / float64(o.seeds)
		refused += float64(s.refusals) / float64(s.offered) / float64(o.seeds)
	}
	r.goodput, r.refused = append(r.goodput, g), append(r.refused, refused)
	return nil
}

// search finds the goodput limit without control.
func search(ctx context.Context, o options) (float64, error) {
	requests, err := workload.NewSynthetic(o.shape, workload.WithSeed(1), workload.WithSaltSeed(1), workload.WithoutText())
	if err != nil {
		return 0, err
	}
	plan := loadgen.Plan{SLO: o.slo, Workload: requests.Requests(), Duration: time.Hour, Warmup: time.Minute}
	l, err := capacity.Search(ctx, llmsim.Runner(llmsim.OPT13B()), plan, capacity.WithStart(1))
	if err != nil {
		return 0, err
	}
	if l.State != capacity.Found {
		return 0, fmt.Errorf("no goodput limit was found: %v", l.State)
	}
	return l.Rate, nil
}

// sentence is what the table says, at twice the limit.
func sentence(loads []float64, rows []*row) string {
	at := 0
	for i, x := range loads {
		if x == 2 {
			at = i
		}
	}
	none, ours, best := rows[0], rows[len(rows)-1], rows[1]
	for _, r := range rows[1 : len(rows)-1] {
		if r.goodput[at] > best.goodput[at] {
			best = r
		}
	}
	peak := 0.0
	for _, g := range ours.goodput {
		peak = max(peak, g)
	}
	return fmt.Sprintf("At twice the limit, package admission keeps a goodput of %.2f/s, %.0f %% of its peak; the best of the others (%s) has %.2f/s, no control %.2f/s.",
		ours.goodput[at], 100*ours.goodput[at]/peak, best.name, best.goodput[at], none.goodput[at])
}
