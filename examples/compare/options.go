package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/slo"
)

// The batches of the simulated engines: small ones, whose steps are short, and large ones, which do more.
var simulatedBatch = [2]int{32, 128}

// options is what the command line and the environment ask for.
type options struct {
	urls, models, keys [2]string   // urls "": the simulated engines, or files
	files              [2][]string // nil: endpoints, or the simulated engines

	slo          slo.SLO
	rate         float64
	concurrency  int
	runs         int
	warmup       time.Duration
	duration     time.Duration
	timeout      time.Duration
	pause        time.Duration
	inputTokens  int
	outputTokens int
	seed         uint64

	json, html, csv string // files; "": none
}

// parse reads the command line. Asked for help, it prints that and returns flag.ErrHelp.
func parse(args []string, getenv func(string) string, help io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("compare", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	f.TextVar(&o.slo, "slo", slo.MustParse("tpot p90 < 20ms"), "the service-level objective, fixed before the first run; files have their own")
	f.Float64Var(&o.rate, "rate", 0, "requests/s of an open loop (Poisson); without it there is a closed loop, in which the slower one is asked less")
	f.IntVar(&o.concurrency, "concurrency", 64, "of a closed loop: how many requests are in flight")
	f.IntVar(&o.runs, "runs", curve.LeastRuns, "of each, by turns")
	f.DurationVar(&o.warmup, "warmup", 30*time.Second, "of each run")
	f.DurationVar(&o.duration, "duration", 2*time.Minute, "of each run, after its warm-up")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "of one request, from when it was due")
	f.DurationVar(&o.pause, "pause", 0, "between two runs")
	f.IntVar(&o.inputTokens, "input-tokens", 200, "of a prompt, on average: from half of it to half as many again")
	f.IntVar(&o.outputTokens, "output-tokens", 100, "of an answer at most, likewise")
	f.Uint64Var(&o.seed, "seed", 1, "of arrivals and of prompts, which both have alike")
	f.StringVar(&o.models[0], "model-a", getenv("LLM_MODEL"), "of A, in place of LLM_MODEL")
	f.StringVar(&o.models[1], "model-b", getenv("LLM_MODEL"), "of B, in place of LLM_MODEL")
	f.StringVar(&o.json, "json", "", "file to write the comparison to")
	f.StringVar(&o.html, "html", "", "file for a page with the comparison and charts of its runs, which needs no network")
	f.StringVar(&o.csv, "csv", "", "file for a line for each run")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "compare [options] [A B]: which of two endpoints (URLs; LLM_MODEL, LLM_API_KEY, LLM_API_KEY_A and _B), of two lists of\nfiles of records (a1,a2,… b1,b2,…) or, without arguments, of two simulated engines has the greater goodput.\n\n")
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (--help lists the options)", err)
	}
	for i, name := range []string{"LLM_API_KEY_A", "LLM_API_KEY_B"} {
		if o.keys[i] = getenv(name); o.keys[i] == "" {
			o.keys[i] = getenv("LLM_API_KEY")
		}
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch {
	case o.inputTokens < 2 || o.outputTokens < 2:
		return nil, errors.New("--input-tokens and --output-tokens have to be 2 or more")
	case o.runs < 1:
		return nil, fmt.Errorf("--runs %d: it takes at least %d of each to show a difference", o.runs, curve.LeastRuns)
	case given["rate"] && !(o.rate > 0):
		return nil, fmt.Errorf("--rate %v is no rate: give requests/s above 0", o.rate)
	case given["rate"] && given["concurrency"]:
		return nil, errors.New("--rate is an open loop and --concurrency a closed one: give one of them")
	}
	return o, o.systems(f.Args(), given)
}

// systems takes the two arguments, which are URLs or lists of files.
func (o *options) systems(args []string, given map[string]bool) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) != 2 {
		return fmt.Errorf("there are %d arguments: give A and B, after the options", len(args))
	}
	isURL := func(text string) bool {
		return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
	}
	switch {
	case isURL(args[0]) && isURL(args[1]):
		copy(o.urls[:], args)
		return nil
	case isURL(args[0]) || isURL(args[1]):
		return errors.New("one of A and B is a URL and the other is not: runs that were not made by turns are no fair comparison")
	}
	for name := range given {
		if name != "json" && name != "html" && name != "csv" {
			return fmt.Errorf("--%s is for runs to be made, and those of files have been", name)
		}
	}
	for i, list := range args {
		for file := range strings.SplitSeq(list, ",") {
			if file == "" {
				return fmt.Errorf("%q has an empty name in it", list)
			}
			o.files[i] = append(o.files[i], file)
		}
	}
	return nil
}
