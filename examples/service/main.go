// Command service is an HTTP service that watches its own goodput: chat completions, streamed or not, of a simulated LLM
// engine, with the SLO's counters for Prometheus and a live page. The file watch.go is what to copy; put your own handler
// in the engine's place.
//
//	go run ./examples/service --slo 'ttft p95 < 500ms, error_rate < 1%' --period 1h --try
//
//	POST /v1/chat/completions   the API
//	GET /metrics                for Prometheus
//	GET /goodput                the live page; with ?format=json the state
//	PUT /try/slowdown?by=2s     with --try alone: each request waits so long, for trying out what the alerts do; 0s ends it
//
// SIGINT and SIGTERM end it when the requests in flight are over, after ten seconds at the latest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the requests
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
	fmt.Fprintln(stderr, "service:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

const (
	grace = 10 * time.Second // for what is in flight, in the end
	judge = 5 * time.Second  // between two looks at the alerts where nobody else asks
)

// engine is OPT-13B on four A100 as DistServe measured it, three times as fast, as a current GPU might be.
func engine() llmsim.Params { return llmsim.OPT13BTP4().Faster(3) }

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	promise := slo.MustParse("ttft p95 < 500ms, tpot p95 < 50ms, error_rate < 1%")
	f := flag.NewFlagSet("service", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which main prints
	f.Usage = func() {}
	addr := f.String("addr", "127.0.0.1:8080", "where to listen; port 0: a free one")
	f.TextVar(&promise, "slo", promise, "the service-level objective")
	period := f.Duration("period", monitor.DefaultPeriod, "period of the error budgets, from 1h to 8928h; 720h are 30 days, 2160h a quarter")
	try := f.Bool("try", false, "take PUT /try/slowdown?by=2s, for trying out; only on a loopback address")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(stdout)
		fmt.Fprint(stdout, "Usage: service [options]\n\nServes a simulated engine, watched by a monitor.\n\n")
		f.PrintDefaults()
		return err
	case err != nil:
		return usageError{fmt.Errorf("%w (--help lists the options)", err)}
	case f.NArg() > 0:
		return usageError{fmt.Errorf("%q is no option", f.Arg(0))}
	case *try && !loopback(*addr):
		return usageError{fmt.Errorf("--try lets anybody slow the service down, so --addr has to be on loopback, such as 127.0.0.1:8080")}
	}

	h, w, stop, err := build(promise, *period, *try, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return usageError{err}
	}
	defer stop()
	l, err := net.Listen("tcp", *addr)
	if bad := (*net.AddrError)(nil); errors.As(err, &bad) {
		return usageError{fmt.Errorf("--addr: %w", err)}
	}
	if err != nil {
		return err
	}
	url := "http://" + l.Addr().String()
	fmt.Fprintf(stdout, "%s\n%s/v1/chat/completions\n%s/metrics\n%s/goodput\n", promise, url, url, url)
	go w.monitor.Watch(ctx, judge)
	return serve(ctx, l, h)
}

// build is the service without a listener.
func build(promise slo.SLO, period time.Duration, try bool, log *slog.Logger) (h http.Handler, w *watched, stop func() error, err error) {
	sim, err := llmsim.NewServer(engine())
	if err != nil {
		return nil, nil, nil, err
	}
	slow := &slowdown{api: sim}
	if w, err = watch(slow, promise, period, log); err != nil {
		return nil, nil, nil, errors.Join(err, sim.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", w)
	if try {
		mux.HandleFunc("PUT /try/slowdown", slow.set)
	}
	return mux, w, sim.Close, nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip, noIP := netip.ParseAddr(host)
	return err == nil && (host == "localhost" || noIP == nil && ip.IsLoopback())
}

// serve serves until the context ends, and then until what is in flight is over.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	// No WriteTimeout: a stream may take its time.
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(l) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(last); err != nil {
		srv.Close()
		return fmt.Errorf("requests were cut off that were not over after %v: %w", grace, err)
	}
	return nil
}
