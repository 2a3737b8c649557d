// Command replay puts the traffic of a public trace on a simulated engine, at its own speed and faster, and shows how
// much of it is served in time.
//
//	go run ./examples/replay --trace AzureLLMInferenceTrace_conv.csv --speed 1,2,4
//	go run ./examples/replay --trace AzureLLMInferenceTrace_conv.csv --speed 1 --first 3m --http
//
// Traces are files in the form of Azure's of 2023 (CSV) or Mooncake's (JSON lines). The engine is a simulation of OPT-13B
// on four A100; without --http it runs in virtual time, in which an hour takes seconds, and with it in real time behind
// HTTP on loopback.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the table
	os.Exit(status(run(ctx, os.Args[1:], os.Stdout), os.Stderr))
}

// usageError is an option that cannot be meant.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// status is the exit status: 0 also for help, 2 for options that cannot be meant, 1 for any other error. Errors are one
// line.
func status(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "replay:", err)
	if errors.As(err, new(usageError)) || errors.As(err, new(*loadgen.PlanError)) {
		return 2
	}
	return 1
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	objective := slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")
	f := flag.NewFlagSet("replay", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which main prints
	f.Usage = func() {}
	name := f.String("trace", "", "file of the trace")
	speeds := f.String("speed", "1,2,4", "how many times as fast as it was, one run each")
	f.TextVar(&objective, "slo", objective, "the service-level objective")
	first := f.Duration("first", 0, "only so much of the trace, in its own time; 0: the whole")
	overHTTP := f.Bool("http", false, "in real time, behind HTTP on loopback")
	full := f.Bool("reports", false, "print each run's whole report too")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		fmt.Fprint(stdout, "Usage: replay --trace FILE [options]\n\nReplays a trace against a simulated engine, and prints the goodput at each speed.\n\n")
		f.PrintDefaults()
		return err
	case err != nil:
		return usageError{fmt.Errorf("%w (--help lists the options)", err)}
	}
	if *name == "" || f.NArg() > 0 {
		return usageError{errors.New("say with --trace which file to replay")}
	}
	if *first < 0 {
		return usageError{fmt.Errorf("--first is %v: want 0 or more", *first)}
	}
	var factors []float64
	for part := range strings.SplitSeq(*speeds, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v >= 1e-6 && v <= 1e6) {
			return usageError{fmt.Errorf("--speed: %q is no factor between 1e-6 and 1e6", part)}
		}
		factors = append(factors, v)
	}
	var opts []workload.Option
	if !*overHTTP {
		opts = append(opts, workload.WithoutText()) // the simulation looks at lengths alone
	}
	trace, err := workload.OpenTrace(*name, opts...)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%v\nSLO %v\n\n", trace, objective)
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "speed\tarrivals/s\tthroughput/s\tgoodput/s\tattainment\tTTFT P50\tP95\tTPOT P95\tverdict\ttook\t\n")
	var reports []*goodput.Report
	for _, speed := range factors {
		began := time.Now()
		r, err := replay(ctx, trace, speed, *first, objective, *overHTTP)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		seconds := func(metric string, p func(goodput.Distribution) float64) string {
			d, ok := r.Percentiles[metric]
			if !ok {
				return "–"
			}
			return time.Duration(p(d) * 1e9).Round(100 * time.Microsecond).String()
		}
		p50 := func(d goodput.Distribution) float64 { return d.P50 }
		p95 := func(d goodput.Distribution) float64 { return d.P95 }
		figure := func(format string, v float64) string {
			if math.IsNaN(v) { // one request has no rate, and none no attainment
				return "–"
			}
			return fmt.Sprintf(format, v)
		}
		fmt.Fprintf(table, "%g\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t\n", speed, figure("%.2f", r.ArrivalRPS), figure("%.2f", r.ThroughputRPS),
			figure("%.2f", r.GoodputRPS), figure("%.1f %%", 100*r.Attainment),
			seconds("ttft", p50), seconds("ttft", p95), seconds("tpot", p95), r.Verdict, time.Since(began).Round(10*time.Millisecond))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if *full {
		for _, r := range reports {
			if _, err := fmt.Fprintf(stdout, "\n%v", r); err != nil {
				return err
			}
		}
	}
	return nil
}

// replay is one run.
func replay(ctx context.Context, trace *workload.Trace, speed float64, first time.Duration, objective slo.SLO, overHTTP bool) (*goodput.Report, error) {
	plan := loadgen.Plan{
		SLO:      objective,
		Arrivals: trace.Arrivals(speed),
		Workload: trace.Requests(),
		Duration: time.Duration(float64(first) / speed),
	}
	runner := llmsim.Runner(llmsim.OPT13BTP4())
	if overHTTP {
		url, stop, err := serve()
		if err != nil {
			return nil, err
		}
		defer stop()
		target, err := openai.New(openai.Config{BaseURL: url, Model: "simulated"})
		if err != nil {
			return nil, err
		}
		runner = loadgen.RunnerOf(target)
	}
	result, err := runner(ctx, plan)
	if err != nil {
		return nil, err
	}
	return result.Report, nil
}

// serve starts the engine on a free port of the loopback interface.
func serve() (url string, stop func(), err error) {
	engine, err := llmsim.NewServer(llmsim.OPT13BTP4())
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: engine, ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l)
	return "http://" + l.Addr().String() + "/v1", func() { srv.Close(); engine.Close() }, nil
}
