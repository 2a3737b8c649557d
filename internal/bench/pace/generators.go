package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/bench/nanosleep"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// generator is a way to send requests on time.
type generator struct {
	name  string
	send  func(c config) (lags []time.Duration, err error)
	alone bool // it sends nothing, whatever the target
}

var generators = []generator{
	{name: "time.Sleep", send: sleep},
	{name: "clock_nanosleep, the thread alone", send: wake, alone: true},
	{name: "clock_nanosleep, a goroutine each", send: thread},
	{name: "vegeta", send: attack},
	{name: "loadgen.Run", send: run},
}

// target sends one request.
func (c config) target() func(context.Context) error {
	if c.url == "" {
		return func(context.Context) error { return nil }
	}
	tr := &http.Transport{MaxIdleConnsPerHost: 1 << 20, DisableCompression: true}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
		if err != nil {
			return err
		}
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
}

// loop is what one writes by hand: sleep to an absolute instant, start a goroutine.
func loop(c config, until func(time.Time)) ([]time.Duration, error) {
	lags, errs := make([]time.Duration, c.requests()), make([]error, c.requests())
	send := c.target()
	var wg sync.WaitGroup
	start := time.Now()
	for i := range lags {
		due := start.Add(c.due(i))
		until(due)
		wg.Go(func() {
			lags[i] = time.Since(due)
			errs[i] = send(context.Background())
		})
	}
	wg.Wait()
	return lags, errors.Join(errs...)
}

func sleep(c config) ([]time.Duration, error) {
	return loop(c, func(at time.Time) { time.Sleep(time.Until(at)) })
}

// thread is the loop on a thread of its own, which sleeps in the kernel and has no timer slack.
func thread(c config) ([]time.Duration, error) {
	until, err := nanosleep.Here()
	if err != nil {
		return nil, err
	}
	return loop(c, until)
}

// wake is that thread alone, which starts nothing: how late the kernel wakes it.
func wake(c config) ([]time.Duration, error) {
	until, err := nanosleep.Here()
	if err != nil {
		return nil, err
	}
	lags := make([]time.Duration, c.requests())
	start := time.Now()
	for i := range lags {
		due := start.Add(c.due(i))
		until(due)
		lags[i] = time.Since(due)
	}
	return lags, nil
}

// paced is vegeta's constant rate, which ends after a count and knows when the attack began.
type paced struct {
	vegeta.ConstantPacer
	most  uint64
	began time.Time
}

func (p *paced) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	if hits == 0 {
		p.began = time.Now().Add(-elapsed)
	}
	wait, stop := p.ConstantPacer.Pace(elapsed, hits)
	return wait, stop || hits == p.most
}

// answers is a transport that goes nowhere.
type answers struct{}

func (answers) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: req}, nil
}

// attack is vegeta's attacker. Its request i is due at (i+1)/rate from the beginning.
func attack(c config) ([]time.Duration, error) {
	url, opts := c.url, []func(*vegeta.Attacker){}
	if url == "" {
		url, opts = "http://127.0.0.1", append(opts, vegeta.Client(&http.Client{Transport: answers{}}))
	}
	p := &paced{ConstantPacer: vegeta.ConstantPacer{Freq: int(c.rate), Per: time.Second}, most: uint64(c.requests())}
	lags := make([]time.Duration, c.requests())
	target := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: url})
	for res := range vegeta.NewAttacker(opts...).Attack(target, p, 0, "") {
		if res.Error != "" {
			return nil, errors.New(res.Error)
		}
		lags[res.Seq] = res.Timestamp.Sub(p.began) - c.due(int(res.Seq)+1)
	}
	return lags, nil
}

// run is a run, with its file of records.
func run(c config) ([]time.Duration, error) {
	send := c.target()
	var file bytes.Buffer
	res, err := loadgen.Run(context.Background(),
		loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, _ *loadgen.Trace) error { return send(ctx) }),
		loadgen.Plan{
			SLO:      slo.MustParse("e2e p95 < 10s, error_rate < 1%"),
			Arrivals: loadgen.Constant{Rate: c.rate},
			Requests: c.requests(),
			Records:  &file,
		})
	if err != nil {
		return nil, err
	}
	if res.Report.Good != res.Report.Offered {
		return nil, fmt.Errorf("%d good of %d", res.Report.Good, res.Report.Offered)
	}
	records, err := goodput.ReadRecords(&file)
	if err != nil {
		return nil, err
	}
	var recs []*goodput.Record
	for rec, err := range records.All() {
		if err != nil {
			return nil, err
		}
		recs = append(recs, rec)
	}
	slices.SortFunc(recs, func(a, b *goodput.Record) int { return a.Start.Compare(b.Start) })
	lags := make([]time.Duration, len(recs))
	for i, rec := range recs {
		lags[i] = rec.Sent
	}
	return lags, nil
}
