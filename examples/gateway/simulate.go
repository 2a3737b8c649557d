package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// engine is OPT-13B on one A100 as DistServe measured it, four times as fast, so that an overload shows in seconds.
func engine() llmsim.Params { return llmsim.OPT13B().Faster(4) }

// promise is what its users are promised.
var promise = slo.MustParse("ttft p95 < 500ms, tpot p95 < 25ms")

const (
	settle   = 5 * time.Second  // how long the load is there before anything is measured
	patience = 15 * time.Second // of a user
)

// simulate puts a load on a gateway before a simulated engine, without and with admission control, and says what came of it.
func simulate(ctx context.Context, o options, n network, stdout io.Writer) (err error) {
	limit := o.limit
	if limit == 0 {
		if limit, err = canTake(ctx, o); err != nil {
			return err
		}
	}
	sim, err := llmsim.NewServer(engine())
	if err != nil {
		return err
	}
	defer sim.Close()
	l, err := n.listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: sim, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Serve(l) }()
	defer func() { srv.Close(); <-stopped }()

	o.slo, o.upstream = promise, &url.URL{Scheme: "http", Host: l.Addr().String()}
	g, err := newGateway(o, n.dial, slog.New(slog.DiscardHandler)) // its alerts are not the matter here
	if err != nil {
		return usageError{err}
	}
	rate := o.load * limit
	fmt.Fprintf(stdout, "A simulated engine that meets its SLO up to %.1f requests/s, and a gateway before it:\n", limit)
	where, stop, err := g.serve(n, o, stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	fmt.Fprintf(stdout, "Chat traffic with the lengths of %s at %.1f requests/s (Poisson): for each figure\n%v to settle, %v to measure, and at most %v for what is then in flight.\n\n",
		workload.AzureConversation().Name, rate, settle, o.duration, patience)
	var without, with *goodput.Report
	for _, phase := range []struct {
		name string
		on   bool
		to   **goodput.Report
	}{{"without admission control", false, &without}, {"with admission control", true, &with}} {
		g.on.Store(phase.on)
		if *phase.to, err = load(ctx, o, n, where, rate); err != nil {
			return err
		}
		r := *phase.to
		fmt.Fprintf(stdout, "%-26s goodput %.1f of %.1f requests/s offered, %.0f%% refused, of the others %.0f%% good\n",
			phase.name+":", r.GoodputRPS, r.OfferedRPS, 100*share(r.Outcomes[goodput.Rejected], r.Offered), 100*share(r.Good, r.Offered-r.Outcomes[goodput.Rejected]))
	}
	_, err = fmt.Fprintf(stdout, "\n%s\n", sentence(o.load, without, with))
	return err
}

func share(k, n uint64) float64 {
	if n == 0 {
		return 0
	}
	return float64(k) / float64(n)
}

// canTake finds the load up to which the engine meets its SLO, in virtual time.
func canTake(ctx context.Context, o options) (float64, error) {
	requests, err := traffic(o)
	if err != nil {
		return 0, err
	}
	plan := loadgen.Plan{SLO: promise, Workload: requests.Requests(), Duration: 15 * time.Minute, Warmup: settle}
	found, err := capacity.Search(ctx, llmsim.Runner(engine()), plan, capacity.WithStart(4))
	if err != nil {
		return 0, err
	}
	if found.State != capacity.Found {
		return 0, fmt.Errorf("no limit of the simulated engine was found: %v", found.State)
	}
	return found.Rate, nil
}

func traffic(o options) (*workload.Synthetic, error) {
	return workload.NewSynthetic(workload.AzureConversation(), workload.WithSeed(o.seed), workload.WithSaltSeed(o.seed))
}

// load puts the load on a gateway.
func load(ctx context.Context, o options, n network, where string, rate float64) (*goodput.Report, error) {
	requests, err := traffic(o)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DialContext: n.dial, MaxIdleConnsPerHost: 1024, DisableCompression: true}
	defer transport.CloseIdleConnections()
	target, err := openai.New(openai.Config{BaseURL: "http://" + where + "/v1", Model: engine().Model, Client: &http.Client{Transport: transport}})
	if err != nil {
		return nil, err
	}
	result, err := loadgen.Run(ctx, target, loadgen.Plan{
		SLO: o.slo, Arrivals: loadgen.Poisson{Rate: rate, Seed: o.seed}, Workload: requests.Requests(),
		Warmup: settle, Duration: o.duration, Timeout: patience,
	})
	if err != nil {
		return nil, err
	}
	return result.Report, nil
}

// sentence is what the two figures say.
func sentence(load float64, without, with *goodput.Report) string {
	for _, r := range []*goodput.Report{without, with} {
		if r.Health != nil && r.Health.Verdict == goodput.Invalid {
			return "This machine was too busy to make the load that was asked for, so the figures show nothing of the gateway."
		}
	}
	what := fmt.Sprintf("Under %.3g times what the engine can take, %.1f requests/s were served in time without admission control and %.1f with it", load, without.GoodputRPS, with.GoodputRPS)
	if with.GoodputRPS <= without.GoodputRPS {
		return what + ": at this load there is nothing to defend."
	}
	return what + fmt.Sprintf(": %.0f%% were refused, so that the others were not late.", 100*share(with.Outcomes[goodput.Rejected], with.Offered))
}
