package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// options is what the command line and the environment ask for.
type options struct {
	url, model, key string

	requests     int
	concurrency  int
	rate         float64
	arrivals     loadgen.Arrivals // nil: as fast as concurrency allows
	capped       bool             // --concurrency was given beside --rate
	slo          slo.SLO
	timeout      time.Duration
	warmup       time.Duration // loadgen.WarmupAuto for "auto"
	cooldown     time.Duration
	duration     time.Duration
	prompts      string
	inputTokens  int
	outputTokens int
	perWord      float64
	keepPrompts  bool
	noStream     bool
	http2        bool
	connect      int
	seed         uint64
	records      string
	json         string
}

// parse reads the command line. The defaults are those of the benchmark script that people start with: 200 requests, 16
// at once, an end-to-end time of 5 s, a timeout of 30 s. Asked for help, it prints that and returns flag.ErrHelp.
func parse(args []string, getenv func(string) string, help io.Writer) (*options, error) {
	env := func(name, otherwise string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return otherwise
	}
	o := &options{
		url:   env("LLM_URL", "http://127.0.0.1:8000/v1/chat/completions"),
		model: env("LLM_MODEL", "your-model"),
		key:   env("LLM_API_KEY", "local-key"),
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	usage := func() {
		f.SetOutput(help)
		fmt.Fprint(help, "Measures the goodput of the endpoint LLM_URL (the whole URL, or up to /v1) with the model LLM_MODEL and the key LLM_API_KEY.\n\n")
		f.PrintDefaults()
	}
	span := func(to *time.Duration, name string, otherwise time.Duration, usage string) {
		*to = otherwise
		f.Var((*spanValue)(to), name, usage)
	}
	f.IntVar(&o.requests, "requests", 200, "how many requests to make; 0 with --duration: as many as it takes")
	o.concurrency = 16
	f.Func("concurrency", "how many to keep in flight (default 16); with --rate or --arrivals, how many at most (default no limit)", func(text string) (err error) {
		if o.concurrency, err = strconv.Atoi(text); err != nil || o.concurrency < 1 {
			return errors.New("want a whole number, 1 or more")
		}
		return nil
	})
	f.Float64Var(&o.rate, "rate", 0, "requests/s on average, arriving as --arrivals says; 0: as fast as --concurrency allows")
	arrivals := f.String("arrivals", "poisson", "how requests arrive at --rate: poisson, constant, gamma:BURSTINESS or weibull:SHAPE; or, without --rate, arrivals of package loadgen\n"+
		`as JSON, such as {"process":"ramp","from":1,"to":20,"over_ns":60000000000}`)
	f.TextVar(&o.slo, "slo", slo.MustParse("e2e p95 < 5s"), "the service-level objective, such as 'ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%'")
	seconds := f.Float64("slo-seconds", 0, "the same as --slo 'e2e p95 < SECONDS s'")
	span(&o.timeout, "timeout", 30*time.Second, "of one request, from when it was due")
	timeoutSeconds := f.Float64("timeout-seconds", 0, "the same as --timeout, in seconds")
	f.Func("warmup", "how long to run before measuring, such as 10s; auto: until the end of the transient is found (default 0s)", o.setWarmup)
	span(&o.cooldown, "cooldown", 0, "how long to keep the load up after measuring")
	span(&o.duration, "duration", 0, "how long to measure; 0: until --requests are done")
	f.StringVar(&o.prompts, "prompts", "", "file of prompts, as JSON lines or in ShareGPT's form; they are used again when they run out")
	f.IntVar(&o.inputTokens, "input-tokens", 0, "without --prompts: prompts of about so many tokens")
	f.IntVar(&o.outputTokens, "output-tokens", 128, "the most tokens of an answer, where the prompt does not say")
	f.Float64Var(&o.perWord, "tokens-per-word", 1, "with --input-tokens: how many tokens the model makes of a word of English")
	f.BoolVar(&o.keepPrompts, "keep-prompts", false, "do not salt prompts, so that a prefix cache may know them")
	f.BoolVar(&o.noStream, "no-stream", false, "ask for whole answers; then there is no TTFT to judge")
	f.BoolVar(&o.http2, "http2", false, "speak HTTP/2, without TLS too")
	f.IntVar(&o.connect, "connect", 0, "how many connections to open before the run")
	f.Uint64Var(&o.seed, "seed", 1, "of arrivals and of prompts")
	f.StringVar(&o.records, "records", "", "file to write a JSON line to for each request; - for standard output")
	f.StringVar(&o.json, "json", "", "file to write the report to as JSON; - for standard output")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		usage()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (--help lists the options)", err)
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })

	if given["slo-seconds"] {
		if given["slo"] {
			return nil, errors.New("--slo and --slo-seconds say the same thing: give one")
		}
		s, err := slo.Parse("e2e p95 < " + strconv.FormatFloat(*seconds, 'f', -1, 64) + "s")
		if err != nil {
			return nil, fmt.Errorf("--slo-seconds: %w", err)
		}
		o.slo = s
	}
	if given["timeout-seconds"] {
		if given["timeout"] {
			return nil, errors.New("--timeout and --timeout-seconds say the same thing: give one")
		}
		if !(*timeoutSeconds > 0 && *timeoutSeconds < math.MaxInt32) {
			return nil, fmt.Errorf("--timeout-seconds is %v: want more than 0", *timeoutSeconds)
		}
		o.timeout = time.Duration(*timeoutSeconds * float64(time.Second))
	}
	if given["duration"] && !given["requests"] {
		o.requests = 0
	}
	o.capped = given["concurrency"]
	switch {
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q is no option; the endpoint is named by LLM_URL", f.Arg(0))
	case o.requests < 0:
		return nil, fmt.Errorf("--requests is %d: want 1 or more", o.requests)
	case o.requests == 0 && o.duration <= 0:
		return nil, errors.New("neither --requests nor --duration ends the run")
	case o.connect < 0:
		return nil, fmt.Errorf("--connect is %d: want 0 or more", o.connect)
	case !(o.rate >= 0) || math.IsInf(o.rate, 0):
		return nil, fmt.Errorf("--rate is %v: want a number of requests/s", o.rate)
	case o.timeout <= 0:
		return nil, fmt.Errorf("--timeout is %v: want more than 0", o.timeout)
	case o.inputTokens < 0 || o.outputTokens < 0:
		return nil, errors.New("--input-tokens and --output-tokens cannot be negative")
	case o.prompts != "" && o.inputTokens > 0:
		return nil, errors.New("--prompts and --input-tokens both say what to send: give one")
	case given["tokens-per-word"] && o.inputTokens == 0:
		return nil, errors.New("--tokens-per-word is about the prompts that --input-tokens asks for: give both")
	case !(o.perWord > 0) || math.IsInf(o.perWord, 0):
		return nil, fmt.Errorf("--tokens-per-word is %v: want more than 0", o.perWord)
	}
	if o.rate > 0 || given["arrivals"] {
		a, err := process(*arrivals, o.rate)
		if err != nil {
			return nil, fmt.Errorf("--arrivals: %w", err)
		}
		o.arrivals = a
	}
	return o, nil
}

// process is the arrivals of that name at a rate, or those that are written out.
func process(text string, rate float64) (loadgen.Arrivals, error) {
	if strings.HasPrefix(text, "{") {
		if rate != 0 {
			return nil, errors.New("they have rates of their own: leave --rate out")
		}
		return loadgen.UnmarshalArrivals([]byte(text))
	}
	name, arg, some := strings.Cut(text, ":")
	shape, err := strconv.ParseFloat(arg, 64)
	if some && err != nil {
		return nil, fmt.Errorf("%q is no number", arg)
	}
	var a interface {
		loadgen.Arrivals
		Validate() error
	}
	switch {
	case name == "poisson" && !some:
		a = loadgen.Poisson{Rate: rate}
	case name == "constant" && !some:
		a = loadgen.Constant{Rate: rate}
	case name == "gamma" && some:
		a = loadgen.Gamma{Rate: rate, Burstiness: shape}
	case name == "weibull" && some:
		a = loadgen.Weibull{Rate: rate, Shape: shape}
	default:
		return nil, fmt.Errorf("%q is not poisson, constant, gamma:BURSTINESS, weibull:SHAPE or JSON", text)
	}
	if rate == 0 {
		return nil, fmt.Errorf("%s wants a --rate", name)
	}
	return a, a.Validate()
}

func (o *options) setWarmup(text string) (err error) {
	if text == "auto" {
		o.warmup = loadgen.WarmupAuto
		return nil
	}
	return (*spanValue)(&o.warmup).Set(text)
}

// spanValue is a time that is not negative, as a flag.
type spanValue time.Duration

func (v *spanValue) String() string { return time.Duration(*v).String() }

func (v *spanValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	switch _, noNumber := strconv.ParseFloat(text, 64); {
	case strings.HasPrefix(text, "-"):
		return errors.New("a time is not negative")
	case err == nil:
		*v = spanValue(d)
		return nil
	case noNumber == nil:
		return fmt.Errorf("a time has a unit: %ss", text)
	}
	return errors.New("want a time such as 1m30s")
}

// blame names the option, or the variable of the environment, that an error of a library is about.
func (o *options) blame(err error) error {
	var config *openai.ConfigError
	var plan *loadgen.PlanError
	name := ""
	switch {
	case errors.As(err, &config):
		err = config.Err
		name = map[string]string{"BaseURL": "LLM_URL", "Endpoint": "LLM_URL", "Model": "LLM_MODEL", "APIKey": "LLM_API_KEY", "NoStream": "--no-stream",
			"HTTP2": "--http2"}[config.Field]
		if name == "LLM_URL" {
			err = fmt.Errorf("%w (the whole URL, or up to /v1, from http:// on)", err)
		}
		if name == "" {
			name = config.Field
		}
	case errors.As(err, &plan):
		err = plan.Err
		name = "--" + strings.ToLower(plan.Field)
		if errors.Is(err, loadgen.ErrNotGiven) && o.noStream {
			err = fmt.Errorf("%w, because of --no-stream", err)
		}
	default:
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}
