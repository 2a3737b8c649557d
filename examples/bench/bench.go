package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// bench makes the load and reports. It is the heart of the program: a target, a plan, a run.
func bench(ctx context.Context, o *options, stderr io.Writer) (_ *goodput.Report, err error) {
	target, err := openai.New(openai.Config{BaseURL: o.url, Model: o.model, APIKey: o.key, NoStream: o.noStream, HTTP2: o.http2})
	if err != nil {
		return nil, err
	}
	if err := reachable(ctx, o.url); err != nil {
		return nil, err
	}
	defer target.CloseIdleConnections()
	if err := target.Connect(ctx, o.connect); err != nil {
		return nil, err
	}
	requests, err := o.workload()
	if err != nil {
		return nil, err
	}
	plan := loadgen.Plan{
		SLO:      o.slo,
		Workload: requests,
		Repeat:   true,
		Requests: o.requests,
		Warmup:   o.warmup,
		Duration: o.duration,
		Cooldown: o.cooldown,
		Timeout:  o.timeout,
		Seed:     o.seed,
	}
	if o.arrivals != nil {
		plan.Arrivals = o.arrivals
		if o.capped {
			plan.MaxInFlight, plan.Overflow = o.concurrency, loadgen.Wait
		}
	} else {
		plan.Concurrency = o.concurrency
	}
	if o.records != "" {
		f, err := os.OpenFile(o.records, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, err
		}
		defer func() {
			if e := f.Close(); err == nil {
				err = e
			}
		}()
		plan.Records = f
	}
	bar := newBar(stderr)
	plan.Progress = bar.show
	result, err := loadgen.Run(ctx, target, plan)
	bar.finish()
	if err != nil {
		return nil, err
	}
	return result.Report, nil
}

// workload is what to send: the prompts of a file, synthetic ones, or one and the same question.
func (o *options) workload() (iter.Seq[*loadgen.Request], error) {
	opts := []workload.Option{workload.WithSeed(o.seed), workload.WithBody(map[string]any{"temperature": 0})}
	if o.keepPrompts {
		opts = append(opts, workload.WithoutSalt())
	}
	if o.inputTokens > 0 {
		shape := workload.Shape{Input: workload.Fixed(o.inputTokens)}
		if o.outputTokens > 0 {
			shape.Output = workload.Fixed(o.outputTokens)
		}
		s, err := workload.NewSynthetic(shape, append(opts, workload.WithTokensPerWord(o.perWord))...)
		if err != nil {
			return nil, err
		}
		return s.Requests(), nil
	}
	var p *workload.Prompts
	var err error
	if o.prompts != "" {
		p, err = workload.OpenPrompts(o.prompts, opts...)
	} else {
		p, err = workload.ReadPrompts("the built-in prompt", bytes.NewReader([]byte(`{"prompt": "Explain goodput in three sentences."}`)), opts...)
	}
	if err != nil {
		return nil, err
	}
	return func(yield func(*loadgen.Request) bool) {
		for req := range p.Requests() {
			if req.MaxTokens == 0 {
				req.MaxTokens = o.outputTokens
			}
			if !yield(req) {
				return
			}
		}
	}, nil
}

// reachable tries to connect, so that a wrong address is one clear message and not a report of errors.
func reachable(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = u.Scheme // net knows "http" and "https"
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("cannot reach %s://%s: %w; is the server up, and LLM_URL right?", u.Scheme, u.Host, err)
	}
	return c.Close()
}

// status is the exit status that says what the report found.
func status(r *goodput.Report) int {
	if r.Offered > 0 && r.Outcomes[goodput.ConnectionError] == r.Offered {
		return exitUnmeasured
	}
	if r.Health != nil && r.Health.Verdict == goodput.Invalid {
		return exitInconclusive // the figures are the client's
	}
	switch r.Verdict {
	case goodput.Met:
		return exitMet
	case goodput.Missed:
		return exitMissed
	}
	return exitInconclusive
}

func writeJSON(w io.Writer, r *goodput.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // "ttft p95 < 800ms" is to be read
	return e.Encode(r)
}

func writeFile(name string, r *goodput.Report) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writeJSON(f, r), f.Close())
}
