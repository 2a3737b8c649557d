package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/goodputkit/goodputkit/internal/bench/nanosleep"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/httptarget"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// bareWhole is net/http alone.
func bareWhole(ctx context.Context, l load) (wait, error) {
	one := getter(ctx, l)
	if l.Kind == fixedRate {
		_, err := paced(l, byTimer, one)
		return nil, err
	}
	errs := make([]error, l.Size)
	var begun atomic.Int64
	var wg sync.WaitGroup
	for w := range l.Size {
		wg.Go(func() {
			for begun.Add(1) <= int64(l.Requests) && errs[w] == nil {
				errs[w] = one(0)
			}
		})
	}
	wg.Wait()
	return nil, errors.Join(errs...)
}

// bareOnTime is net/http alone, with each request sent when it is due, by a thread that sleeps in the kernel.
func bareOnTime(ctx context.Context, l load) (wait, error) {
	until, err := nanosleep.Here()
	if err == nil {
		_, err = paced(l, until, getter(ctx, l))
	}
	return nil, err
}

// getter asks for the JSON body.
func getter(ctx context.Context, l load) func(int) error {
	post := poster(l.URL+wholePath, requestBody(false))
	return func(int) error {
		resp, err := post(ctx, "")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// stopping is a pacer of vegeta's that ends after a count.
type stopping struct {
	vegeta.Pacer
	most uint64
}

func (p stopping) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	wait, stop := p.Pacer.Pace(elapsed, hits)
	return wait, stop || hits == p.most
}

// vegetaWhole is vegeta's attacker, with or without the metrics that make a report of its results.
func vegetaWhole(metrics bool) func(context.Context, load) (wait, error) {
	return func(_ context.Context, l load) (wait, error) {
		opts := []func(*vegeta.Attacker){vegeta.KeepAlive(true)}
		if l.Kind == closedLoop {
			n := uint64(l.Size)
			opts = append(opts, vegeta.Workers(n), vegeta.MaxWorkers(n), vegeta.Connections(l.Size))
		}
		target := vegeta.NewStaticTargeter(vegeta.Target{
			Method: http.MethodPost, URL: l.URL + wholePath, Body: []byte(requestBody(false)),
			Header: http.Header{"Content-Type": {"application/json"}},
		})
		var m vegeta.Metrics
		n := 0
		// A rate of 0 is as fast as the workers go.
		p := stopping{vegeta.ConstantPacer{Freq: int(l.rate()), Per: time.Second}, uint64(l.Requests)}
		for res := range vegeta.NewAttacker(opts...).Attack(target, p, 0, "") {
			if res.Error != "" {
				return nil, errors.New(res.Error)
			}
			if metrics {
				m.Add(res)
			}
			n++
		}
		m.Close()
		if n != l.Requests {
			return nil, fmt.Errorf("%d requests and not %d", n, l.Requests)
		}
		return nil, nil
	}
}

func runOpenAI(ctx context.Context, l load) (wait, error) {
	t, err := openai.New(openai.Config{BaseURL: l.URL + wholePath, Model: "fixed", NoStream: true})
	if err != nil {
		return nil, err
	}
	return nil, runWhole(ctx, t, l)
}

func runHTTP(ctx context.Context, l load) (wait, error) {
	t, err := httptarget.New(httptarget.Config{
		Method: http.MethodPost, URL: l.URL + wholePath, Body: []byte(requestBody(false)),
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	if err != nil {
		return nil, err
	}
	return nil, runWhole(ctx, t, l)
}

func runWhole(ctx context.Context, t loadgen.Target, l load) error {
	p := loadgen.Plan{SLO: slo.MustParse("e2e p95 < 10s, error_rate < 1%"), Requests: l.Requests}
	if l.Kind == closedLoop {
		p.Concurrency = l.Size
	} else {
		p.Arrivals = loadgen.Constant{Rate: l.rate()}
	}
	req := &loadgen.Request{Prompt: "x", MaxTokens: tokens}
	p.Workload = func(yield func(*loadgen.Request) bool) {
		for yield(req) {
		}
	}
	res, err := loadgen.Run(ctx, t, p)
	if err == nil && res.Report.Good != uint64(l.Requests) {
		err = fmt.Errorf("%d good of %d", res.Report.Good, l.Requests)
	}
	return err
}
