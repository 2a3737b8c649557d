package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// A job is a run with all that it takes: what cannot be meant is found before the first request.
type job struct {
	target  *openai.Target
	plan    loadgen.Plan
	connect int
	url     string
	outputs
}

// prepare makes a job of the options. Its errors are the options', and name the one at fault.
func prepare(o *options, stdout io.Writer) (*job, error) {
	target, err := openai.New(openai.Config{BaseURL: o.url, Model: o.model, APIKey: o.key, NoStream: o.noStream, HTTP2: o.http2})
	if err != nil {
		return nil, o.blame(err)
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
	if err := plan.Validate(); err != nil {
		return nil, o.blame(err)
	}
	j := &job{target: target, plan: plan, connect: o.connect, url: o.url}
	if j.outputs, err = o.open(stdout); err != nil {
		return nil, err
	}
	if j.records != nil {
		j.plan.Records = j.records
	}
	return j, nil
}

// bench makes the load and reports. It is the heart of the program: a target, a plan, a run.
func (j *job) bench(ctx context.Context, stderr io.Writer) (*goodput.Report, error) {
	if err := reachable(ctx, j.url); err != nil {
		return nil, err
	}
	defer j.target.CloseIdleConnections()
	if err := j.target.Connect(ctx, j.connect); err != nil {
		return nil, err
	}
	bar := newBar(stderr)
	j.plan.Progress = bar.show
	result, err := loadgen.Run(ctx, j.target, j.plan)
	bar.finish()
	if result == nil {
		return nil, err
	}
	return result.Report, err
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
			return nil, fmt.Errorf("--input-tokens: %w", err)
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
		return nil, fmt.Errorf("--prompts: %w", err)
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
	if why := unmeasured(r); why != "" {
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

// unmeasured says why a report shows nothing of how a server does its work, or is "": no request got as far as an answer,
// because the address, the key or the protocol is another.
func unmeasured(r *goodput.Report) string {
	if r.Offered == 0 {
		return ""
	}
	var parts []string
	n := uint64(0)
	for _, o := range []goodput.Outcome{goodput.ConnectionError, goodput.ClientError, goodput.Malformed, goodput.Empty} {
		if r.Outcomes[o] == 0 {
			continue
		}
		n += r.Outcomes[o]
		part := fmt.Sprintf("%d %v", r.Outcomes[o], o)
		for _, w := range r.Worst {
			if w.Outcome == o && w.Detail != "" {
				part += fmt.Sprintf(" (%s)", w.Detail)
				break
			}
		}
		parts = append(parts, part)
	}
	if n < r.Offered {
		return ""
	}
	return fmt.Sprintf("nothing was measured: of %d requests not one was answered as it should be: %s", r.Offered, strings.Join(parts, ", "))
}
