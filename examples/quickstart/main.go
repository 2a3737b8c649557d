// Command quickstart shows in one go what goodput is: it starts simulated LLM engines on loopback, puts chat traffic on
// each at another load, and prints a report of each and what comparing them says.
//
//	go run ./examples/quickstart
//
// The traffic's lengths follow the published percentiles of Azure's conversation trace of November 2023 (Splitwise, ISCA
// 2024). Requests arrive at random (Poisson), whatever became of those before, as those of users do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the reports
	os.Exit(status(run(ctx, os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
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
	fmt.Fprintln(stderr, "quickstart:", err)
	if errors.As(err, new(usageError)) || errors.As(err, new(*loadgen.PlanError)) {
		return 2
	}
	return 1
}

// rates is a list of loads, in requests/s.
type rates []float64

// Set reads numbers between commas.
func (r *rates) Set(s string) error {
	*r = nil
	for part := range strings.SplitSeq(s, ",") {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(v > 0 && v <= 1e6) {
			return fmt.Errorf("%q is no rate: want requests/s above 0, such as 4,10,20", part)
		}
		*r = append(*r, v)
	}
	return nil
}

func (r *rates) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]float64(*r)), " ", ","), "[]")
}

// setting is what each of the loads is run with.
type setting struct {
	slo      slo.SLO
	warmup   time.Duration
	duration time.Duration
	seed     uint64
	records  string // a folder
}

// objective is that of a chat. It says P90 because a P95 takes more requests to be shown than come in so short a run.
var objective = slo.MustParse("ttft p90 < 800ms, e2e p90 < 8s")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var s setting
	loads := rates{12, 20, 36}
	f := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which main prints
	f.Usage = func() {}
	f.Var(&loads, "rates", "loads to put on the engines, requests/s")
	f.TextVar(&s.slo, "slo", objective, "the service-level objective")
	f.DurationVar(&s.warmup, "warmup", 9*time.Second, "how long to run before measuring")
	f.DurationVar(&s.duration, "duration", 18*time.Second, "how long to measure")
	f.Uint64Var(&s.seed, "seed", 1, "of arrivals and lengths")
	f.StringVar(&s.records, "records", "", "folder to write a file of records to for each load")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		fmt.Fprint(stdout, "Usage: quickstart [options]\n\nMeasures the goodput of simulated engines under several loads.\n\n")
		f.PrintDefaults()
		return err
	case err != nil:
		return usageError{fmt.Errorf("%w (--help lists the options)", err)}
	}
	if f.NArg() > 0 {
		return usageError{fmt.Errorf("%q is no option", f.Arg(0))}
	}
	if s.duration <= 0 || s.warmup < 0 {
		return usageError{errors.New("--duration has to be above 0, and --warmup not below")}
	}
	if s.records != "" {
		if err := os.MkdirAll(s.records, 0o755); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%d simulated engines on loopback, each with the parameters\n  %s\n", len(loads), describe(engine()))
	fmt.Fprintf(stdout, "Chat traffic with the lengths of %s,\nat %v requests/s side by side: %v to warm up, %v to measure, and what is then in flight.\nA request that has not ended after %v is a timeout.\n\n",
		workload.AzureConversation().Name, &loads, s.warmup, s.duration, timeout)

	fmt.Fprintf(stderr, "measuring, for at most %v …\n", s.warmup+s.duration+timeout)
	reports := make([]*goodput.Report, len(loads))
	errs := make([]error, len(loads))
	var all sync.WaitGroup
	for i, rate := range loads {
		all.Go(func() { reports[i], errs[i] = s.measure(ctx, rate, overHTTP) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, r := range reports {
		fmt.Fprintf(stdout, "──── %g requests/s %s\n\n%v\n", loads[i], strings.Repeat("─", 60), r)
	}
	_, err := fmt.Fprintln(stdout, wrap(compare(reports))) // what could not be written before cannot be now
	return err
}

// timeout is no longer than the warm-up: what that left behind is over when measuring begins.
const timeout = 9 * time.Second

// overHTTP starts an engine behind HTTP on loopback and carries plans out on it, in real time.
func overHTTP() (run loadgen.Runner, stop func(), err error) {
	url, stop, err := serve()
	if err != nil {
		return nil, nil, err
	}
	target, err := openai.New(openai.Config{BaseURL: url, Model: engine().Model})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return loadgen.RunnerOf(target), stop, nil
}

// measure starts an engine, puts a load on it and reports.
func (s *setting) measure(ctx context.Context, rate float64, start func() (loadgen.Runner, func(), error)) (_ *goodput.Report, err error) {
	run, stop, err := start()
	if err != nil {
		return nil, err
	}
	defer stop()
	requests, err := workload.NewSynthetic(workload.AzureConversation(), workload.WithSeed(s.seed), workload.WithSaltSeed(s.seed))
	if err != nil {
		return nil, err
	}
	plan := loadgen.Plan{
		SLO:      s.slo,
		Arrivals: loadgen.Poisson{Rate: rate, Seed: s.seed},
		Workload: requests.Requests(),
		Warmup:   s.warmup,
		Duration: s.duration,
		Timeout:  timeout,
	}
	if s.records != "" {
		f, err := os.Create(filepath.Join(s.records, fmt.Sprintf("%g-rps.jsonl", rate)))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		plan.Records = f
	}
	result, err := run(ctx, plan)
	if err != nil {
		return nil, err
	}
	return result.Report, nil
}
