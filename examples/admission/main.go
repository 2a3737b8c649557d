// Command admission shows what admission control is worth: goodput over load, below and above what a system can take, for no
// control, for fixed caps on the requests in flight, for a limited queue, and for package admission, which is told the SLO and
// nothing else. The system is a simulated engine, OPT-13B on one A100, in virtual time: hours of load in some seconds.
//
//	go run ./examples/admission
//	go run ./examples/admission --slo 'ttft p90 < 4s, tpot p90 < 100ms' --shape code --seeds 5
//	go run ./examples/admission --trace AzureLLMInferenceTrace_conv.csv --seeds 20 --plot admission.svg
//
// A trace comes with the arrivals that it has, speeded up or slowed down to the load that is wanted. All policies see the same
// requests at the same instants. What is refused is not good: it counts in the load and not in the goodput. The exit status is 0, 2 for options that cannot be meant, 1 for any other error.
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
	"path/filepath"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/admission"
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
	source   *source
	limit    float64
	loads    []float64
	seeds    int
	duration time.Duration
	plot     string
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

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{loads: []float64{0.2, 0.6, 0.9, 1.2, 1.6, 2, 2.5, 3}}
	f := flag.NewFlagSet("admission", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	text := f.String("slo", "ttft p95 < 2s, tpot p95 < 100ms", "the service-level objectives")
	shape := f.String("shape", "conversation", "lengths of prompts and outputs: conversation or code, of Azure's traces of 2023")
	trace := f.String("trace", "", "a trace in place of the shape: a file in Azure's or Mooncake's format")
	f.Float64Var(&o.limit, "limit", 0, "the goodput limit without control, requests/s; 0: it is searched for")
	f.IntVar(&o.seeds, "seeds", 3, "runs of each policy under each load; of a trace, the pieces that it is cut into")
	f.DurationVar(&o.duration, "duration", 20*time.Minute, "length of a run; of a trace, each piece is a run as long as it takes")
	f.StringVar(&o.plot, "plot", "", "file for a figure: .svg, .png or .pdf")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "Usage: admission [options]\n\nCompares policies of admission control by their goodput under several loads, in simulation.\n\n")
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (--help lists the options)", err)
	case f.NArg() > 0:
		return nil, fmt.Errorf("there are no arguments beside options: %q", f.Arg(0))
	case o.seeds < 1 || o.duration < time.Minute || !(o.limit >= 0) || math.IsInf(o.limit, 1):
		return nil, errors.New("--seeds is at least 1, --duration at least 1m, --limit at least 0 and finite")
	}
	switch filepath.Ext(o.plot) {
	case "", ".svg", ".png", ".pdf":
	default:
		return nil, fmt.Errorf("--plot ends in .svg, .png or .pdf: %q", o.plot)
	}
	var err error
	if o.slo, err = slo.Parse(*text); err != nil {
		return nil, err
	}
	if _, err = admission.NewScheduler(admission.Config{SLO: o.slo}); err != nil { // before an hour of what it is compared with
		return nil, fmt.Errorf("--slo: %s", strings.TrimPrefix(err.Error(), "admission: Config.SLO: "))
	}
	switch {
	case *trace != "":
		if o.source, err = openTrace(*trace, o.seeds); err != nil {
			return nil, err
		}
	case *shape == "conversation":
		o.source = synthetic(workload.AzureConversation())
	case *shape == "code":
		o.source = synthetic(workload.AzureCode())
	default:
		return nil, fmt.Errorf("--shape is conversation or code: %q", *shape)
	}
	return o, nil
}
