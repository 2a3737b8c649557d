package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// options is what the command line and the environment ask for.
type options struct {
	listen, admin string
	upstream      *url.URL
	key           string
	slo           slo.SLO
	period        time.Duration
	off           bool
	ladders       ladders
	classHeader   string

	timeout     time.Duration // of a request
	bodyTimeout time.Duration // of its body
	dialTimeout time.Duration
	stallAfter  time.Duration
	maxBody     int64
	maxWaiting  int
	maxConns    int

	simulate bool
	load     float64 // times the engine's limit
	limit    float64 // requests/s; 0: it is searched for
	duration time.Duration
	seed     uint64
}

// parse reads the command line. Asked for help, it prints that and returns flag.ErrHelp.
func parse(args []string, getenv func(string) string, help io.Writer) (o options, err error) {
	f := flag.NewFlagSet("gateway", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which main prints
	f.Usage = func() {}
	f.StringVar(&o.listen, "listen", "127.0.0.1:8080", "where clients reach it; port 0: a free one")
	f.StringVar(&o.admin, "admin", "127.0.0.1:9090", "where the operator reaches it: the live page, the metrics, the switch; on loopback")
	upstream := f.String("upstream", "", "the endpoint before which it stands, up to /v1, such as http://127.0.0.1:8000/v1")
	keyEnv := f.String("api-key-env", "", "the environment variable that has the endpoint's key, which is sent in place of what clients send; without it theirs is handed on")
	f.TextVar(&o.slo, "slo", slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms"), "the service-level objective")
	f.DurationVar(&o.period, "period", monitor.DefaultPeriod, "period of the error budgets, from 1h to 8928h; 720h are 30 days")
	f.Func("admission", "on or off, to begin with (default on)", func(text string) error {
		if o.off = text == "off"; !o.off && text != "on" {
			return errors.New("want on or off")
		}
		return nil
	})
	o.ladders = ladders{}
	f.Func("ladder", "what requests of a `class` lose before they are refused, the mildest step first: 'default: tokens 512; tokens 128, priority 1, budget 4s'; once for each class (default nothing)", o.ladders.set)
	f.StringVar(&o.classHeader, "class-header", "", "the request header that names a request's class, for --ladder; from clients that are trusted with that (default none: all are of the class default)")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "of a request, its waiting and its answer")
	f.DurationVar(&o.bodyTimeout, "body-timeout", 30*time.Second, "for a request's body to come")
	f.DurationVar(&o.dialTimeout, "dial-timeout", 5*time.Second, "for a connection to the endpoint")
	f.DurationVar(&o.stallAfter, "stall-after", time.Minute, "how long nothing may come from the endpoint before nothing more is sent to it; longer than an answer takes that is not streamed")
	f.Int64Var(&o.maxBody, "max-body", 4<<20, "the longest body of a request, bytes; one that waits is in memory")
	f.IntVar(&o.maxWaiting, "max-waiting", 256, "how many requests may wait")
	f.IntVar(&o.maxConns, "max-connections", 1024, "how many connections of clients at once, each of which has one request in flight at most; more of them wait to be taken")
	f.BoolVar(&o.simulate, "simulate", false, "put load on a simulated engine without and with admission control, and compare")
	f.Float64Var(&o.load, "load", 2, "with --simulate: how many times what the engine can take")
	f.Float64Var(&o.limit, "limit", 0, "with --simulate: the requests/s up to which the engine meets its SLO; 0: they are searched for")
	f.DurationVar(&o.duration, "duration", 20*time.Second, "with --simulate: how long to measure, without and with")
	f.Uint64Var(&o.seed, "seed", 1, "with --simulate: of arrivals and lengths")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(help)
		fmt.Fprint(help, "Usage: gateway [options]\n\nStands before an OpenAI-compatible endpoint and defends the goodput of its users.\n\n")
		f.PrintDefaults()
		return o, err
	case err != nil:
		return o, usageError{fmt.Errorf("%w (--help lists the options)", err)}
	case f.NArg() > 0:
		return o, usageError{fmt.Errorf("%q is no option", f.Arg(0))}
	}
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	bad := func(format string, args ...any) (options, error) { return o, usageError{fmt.Errorf(format, args...)} }
	switch {
	case !isLoopback(o.admin):
		return bad("--admin switches admission control off for anybody, so it has to be on loopback, such as 127.0.0.1:9090")
	case o.timeout <= 0 || o.bodyTimeout <= 0 || o.dialTimeout <= 0 || o.stallAfter <= 0:
		return bad("--timeout, --body-timeout, --dial-timeout and --stall-after have to be above 0")
	case o.maxBody < 1 || o.maxWaiting < 1 || o.maxConns < 1:
		return bad("--max-body, --max-waiting and --max-connections are at least 1")
	case o.simulate && (*upstream != "" || *keyEnv != "" || given["slo"] || given["ladder"]):
		return bad("--simulate has an endpoint and an SLO of its own: leave --upstream, --api-key-env, --slo and --ladder out")
	case o.classHeader != "" && len(o.ladders) == 0:
		return bad("--class-header says which --ladder is a request's, and there is none")
	case o.classHeader != "" && strings.Trim(strings.ToLower(o.classHeader), "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
		return bad("--class-header: %q is no name of a header", o.classHeader)
	case o.simulate && (!(o.load > 0 && o.load <= 10) || !(o.limit >= 0 && o.limit <= 1000) || o.duration < time.Second || o.duration > time.Hour):
		return bad("--load is above 0 and at most 10, --limit from 0 to 1000, --duration from 1s to 1h")
	case !o.simulate && (given["load"] || given["limit"] || given["duration"] || given["seed"]):
		return bad("--load, --limit, --duration and --seed are of --simulate: leave them out, or --upstream")
	case !o.simulate && *upstream == "":
		return bad("--upstream says before which endpoint to stand, such as http://127.0.0.1:8000/v1; --simulate needs none")
	}
	for class := range o.ladders {
		if class != slo.DefaultClass && o.classHeader == "" {
			return bad("--ladder: no request is of the class %q: --class-header names the header that says so; all others are of the class %s", class, slo.DefaultClass)
		}
	}
	if o.simulate {
		return o, nil
	}
	if *keyEnv != "" {
		if o.key = getenv(*keyEnv); o.key == "" {
			return bad("--api-key-env: the environment variable %s is not set", *keyEnv)
		}
	}
	if o.upstream, err = endpoint(*upstream); err != nil {
		return bad("--upstream: %w", err)
	}
	return o, nil
}

// endpoint reads a URL up to /v1, or without that.
func endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is no URL: want one such as http://127.0.0.1:8000/v1") // its parts may be secret
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("want http or https and a host, such as http://127.0.0.1:8000/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("want neither a user nor a query nor a fragment: a key comes by --api-key-env")
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1")
	u.RawPath = ""
	return u, nil
}

// isLoopback says whether an address, or the Host of a request, is on this machine.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = strings.Trim(addr, "[]")
	}
	ip, noIP := netip.ParseAddr(host)
	return host == "localhost" || noIP == nil && ip.IsLoopback()
}
