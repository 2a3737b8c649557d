package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/loadgen/workload"
)

// sides are the two systems: the endpoints or, where there are none, two engines that differ in their batches.
func (o *options) sides() (both [2]loadgen.Runner, err error) {
	if o.urls[0] == "" {
		for i, batch := range simulatedBatch {
			p := llmsim.OPT13BTP4()
			p.MaxBatch = batch
			both[i] = llmsim.Runner(p)
		}
		return both, nil
	}
	for i := range both {
		target, err := openai.New(openai.Config{BaseURL: o.urls[i], Model: o.models[i], APIKey: o.keys[i]})
		if err != nil {
			return both, fmt.Errorf("%s: %w", name(i), err)
		}
		both[i] = loadgen.RunnerOf(target)
	}
	return both, nil
}

func name(side int) string { return []string{"A", "B"}[side] }

// plan is what both systems are asked in turn number n: the same prompts at the same instants.
func (o *options) plan(n int) (loadgen.Plan, error) {
	seed := o.seed + uint64(n)
	between := func(mean int) workload.Uniform { return workload.Uniform{Min: mean / 2, Max: mean + mean/2} }
	shape := workload.Shape{Input: between(o.inputTokens), Output: between(o.outputTokens)}
	s, err := workload.NewSynthetic(shape, workload.WithSeed(seed))
	if err != nil {
		return loadgen.Plan{}, err
	}
	p := loadgen.Plan{SLO: o.slo, Workload: s.Requests(), Repeat: true, Warmup: o.warmup, Duration: o.duration, Timeout: o.timeout, Seed: seed}
	if o.rate > 0 {
		p.Arrivals = loadgen.Poisson{Rate: o.rate, Seed: seed}
	} else {
		p.Concurrency = o.concurrency
	}
	return p, nil
}

// byTurns measures A B, B A, A B and so on: a drift of the network, of a machine's temperature or of a cache that fills
// is then no advantage of either.
func (o *options) byTurns(ctx context.Context, sides [2]loadgen.Runner, stderr io.Writer) (reports [2][]*goodput.Report, err error) {
	for n := range o.runs {
		for turn := range 2 {
			side := (n + turn) % 2
			if n+turn > 0 {
				if err := pause(ctx, o.pause); err != nil {
					return reports, err
				}
			}
			p, err := o.plan(n)
			if err != nil {
				return reports, err
			}
			res, err := sides[side](ctx, p)
			if err != nil {
				return reports, err
			}
			if res.Cut != nil { // a part of a run is none
				return reports, res.Cut
			}
			row(stderr, name(side), n+1, res.Report)
			reports[side] = append(reports[side], res.Report)
		}
	}
	return reports, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// row says what one run came to.
func row(w io.Writer, side string, n int, r *goodput.Report) {
	client := ""
	if r.Health != nil && r.Health.Verdict != goodput.Valid {
		client = fmt.Sprintf(", client %s", r.Health.Verdict)
	}
	fmt.Fprintf(w, "%s %d: goodput %.4g of %.4g requests/s, %.4g of %.4g output tokens/s, attainment %.1f %%%s\n",
		side, n, r.GoodputRPS, r.ThroughputRPS, r.TokenGoodputTPS, r.OutputTPS, 100*r.Attainment, client)
}

// sentence says what it comes to where the winner by throughput is not the one by goodput: of 5,000 tokens/s with 99 % of them in
// time and 9,000 with 50 % the first wins, by 4,950 against 4,500. It is about tokens where requests carry them.
func sentence(c *curve.Comparison) string {
	for _, d := range [][2]curve.Difference{{c.TokenThroughput, c.TokenGoodput}, {c.Throughput, c.Goodput}} {
		work, good := d[0], d[1]
		shown := func(w curve.Winner) bool { return w == curve.A || w == curve.B }
		if !shown(work.Winner) || !shown(good.Winner) || good.Winner != c.Winner() || work.Winner == good.Winner {
			continue
		}
		unit := map[string]string{"tokens/s": "output tokens/s"}[work.Unit]
		if unit == "" {
			unit = work.Unit
		}
		busy, best := values(work, work.Winner), values(good, good.Winner)
		return fmt.Sprintf("%s does more, %s against %s %s, but only %.0f %% of it in time, where %s has %.0f %%.\n%[6]s serves more, %[8]s against %[9]s %[4]s in time.",
			title(work.Winner), figure(busy[0]), figure(busy[1]), unit, 100*best[1]/busy[0], title(good.Winner), 100*best[0]/busy[1],
			figure(best[0]), figure(best[1]))
	}
	return ""
}

func title(w curve.Winner) string {
	if w == curve.A {
		return "A"
	}
	return "B"
}

// values are the means of one side, and then of the other.
func values(d curve.Difference, of curve.Winner) [2]float64 {
	if of == curve.A {
		return [2]float64{d.A, d.B}
	}
	return [2]float64{d.B, d.A}
}

// figure is a rate with its thousands apart, or in three digits.
func figure(v float64) string {
	if math.Abs(v) < 1000 {
		return fmt.Sprintf("%.3g", v)
	}
	n := int64(math.Round(v))
	if n < 1_000_000 {
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprintf("%.4g", v)
}
