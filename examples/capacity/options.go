package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/slo"
)

// options is what the command line and the environment ask for.
type options struct {
	url, model, key string // url "": the simulated engine

	slo          slo.SLO
	loads        []capacity.Load // of a sweep; nil: a search
	start        float64
	probes       int
	warmup       time.Duration
	duration     time.Duration
	timeout      time.Duration
	pause        time.Duration
	inputTokens  int
	outputTokens int
	seed         uint64

	html, markdown, csv, json string // files; "": none
}

// parse reads the command line. Asked for help, it prints that and returns flag.ErrHelp.
func parse(args []string, getenv func(string) string, help io.Writer) (*options, error) {
	o := &options{url: getenv("LLM_URL"), model: getenv("LLM_MODEL"), key: getenv("LLM_API_KEY")}
	f := flag.NewFlagSet("capacity", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	f.TextVar(&o.slo, "slo", slo.MustParse("ttft p95 < 500ms, tpot p95 < 50ms"), "the service-level objective, fixed before the first probe")
	sweep := f.String("sweep", "", "in place of a search, these rates one after the other: 1,2,4,8; c1,c2,c4 are closed loops of so many")
	f.Float64Var(&o.start, "start", 4, "the first probe's rate, requests/s: the nearer to the limit the better")
	f.IntVar(&o.probes, "probes", capacity.DefaultProbes, "the most probes")
	f.DurationVar(&o.warmup, "warmup", 30*time.Second, "of each probe")
	f.DurationVar(&o.duration, "duration", 10*time.Minute, "a probe's budget: it ends earlier where its verdict is clear")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "of one request, from when it was due")
	f.DurationVar(&o.pause, "pause", 0, "between two probes")
	f.IntVar(&o.inputTokens, "input-tokens", 200, "of a prompt")
	f.IntVar(&o.outputTokens, "output-tokens", 50, "of an answer, at most")
	f.Uint64Var(&o.seed, "seed", 1, "of arrivals and of prompts")
	f.StringVar(&o.html, "html", "report.html", "file for a page with charts, which needs no network; \"\" for none")
	f.StringVar(&o.markdown, "markdown", "", "file for a comment on a pull request")
	f.StringVar(&o.csv, "csv", "", "file for a line for each probe")
	f.StringVar(&o.json, "json", "", "file to write what was found to, with each probe's report")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "Finds the goodput limit of the endpoint LLM_URL (with LLM_MODEL and LLM_API_KEY) or, without one, of a simulated engine.\n\n")
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (--help lists the options)", err)
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no option; the endpoint is named by LLM_URL", f.Arg(0))
	case o.inputTokens < 1 || o.outputTokens < 1:
		return nil, errors.New("--input-tokens and --output-tokens have to be 1 or more")
	}
	if *sweep != "" {
		for text := range strings.SplitSeq(*sweep, ",") {
			l, err := load(strings.TrimSpace(text))
			if err != nil {
				return nil, fmt.Errorf("--sweep: %w", err)
			}
			o.loads = append(o.loads, l)
		}
	}
	return o, nil
}

// load is a rate, or a c and a concurrency.
func load(text string) (capacity.Load, error) {
	if n, closed := strings.CutPrefix(text, "c"); closed {
		workers, err := strconv.Atoi(n)
		if err != nil || workers < 1 {
			return capacity.Load{}, fmt.Errorf("%q is no closed loop: write c8 for eight at once", text)
		}
		return capacity.Load{Concurrency: workers}, nil
	}
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || !(rate > 0) {
		return capacity.Load{}, fmt.Errorf("%q is no rate: write requests/s, such as 8", text)
	}
	return capacity.Load{Rate: rate}, nil
}
