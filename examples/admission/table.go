package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// row is one policy: its figures under each load.
type row struct {
	name    string
	put     func(*system) error
	goodput []sample // requests/s
	tokens  []sample // of prompts and outputs of what is good, a second
	refused []sample // percent
}

// compare runs all, and prints.
func compare(ctx context.Context, o *options, stdout io.Writer) error {
	if o.limit == 0 {
		found, err := search(ctx, o)
		if err != nil {
			return err
		}
		o.limit = found
	}
	rows := []*row{
		{name: "no control", put: fixed(math.MaxInt, 0)},
		{name: "at most 16 in flight", put: fixed(16, 0)},
		{name: "at most 32 in flight", put: fixed(32, 0)},
		{name: "at most 64 in flight", put: fixed(64, 0)},
		{name: "32, and 32 wait", put: fixed(32, 32)},
		{name: "package admission", put: defend(o.slo)},
	}
	fmt.Fprintf(stdout, "%v; %s; goodput limit without control %.2f/s\n\ngoodput, requests/s, at so many times the limit, %s\n%-22s", o.slo, o.source.name, o.limit, intervals(o.seeds), "")
	for _, x := range o.loads {
		fmt.Fprintf(stdout, "%13.1f", x)
	}
	fmt.Fprintln(stdout)
	for _, r := range rows {
		fmt.Fprintf(stdout, "%-22s", r.name)
		for i, x := range o.loads {
			if err := r.measure(ctx, o, x); err != nil {
				return err
			}
			cell(stdout, r.goodput[i])
		}
		fmt.Fprintln(stdout)
	}
	ours := rows[len(rows)-1]
	fmt.Fprintf(stdout, "%-22s", "refused by it, %")
	for _, share := range ours.refused {
		cell(stdout, share)
	}
	fmt.Fprintf(stdout, "\n%-22s", "none can have more")
	var most []sample
	for _, x := range o.loads {
		b, err := o.bound(x)
		if err != nil {
			return err
		}
		most = append(most, b)
		cell(stdout, b)
	}
	fmt.Fprintf(stdout, "\n%-22s", "it has of that, %")
	for i := range o.loads {
		cell(stdout, sample{100 * ours.goodput[i].mean() / most[i].mean()})
	}
	fmt.Fprintf(stdout, "\n\n%s\n", sentence(o.loads, rows, most))
	if o.plot != "" {
		return plotted(o, rows)
	}
	return nil
}

// intervals says what stands behind a figure.
func intervals(runs int) string {
	if runs == 1 {
		return "of one run each, which has no interval"
	}
	return fmt.Sprintf("with 95 %% intervals of %d runs", runs)
}

// cell prints a figure, its "±" one column wide as it is seen.
func cell(w io.Writer, s sample) {
	text := s.String()
	fmt.Fprintf(w, "%*s%s", 13-len([]rune(text)), "", text)
}

func (r *row) measure(ctx context.Context, o *options, x float64) error {
	var g, tokens, refused sample
	for seed := uint64(1); seed <= uint64(o.seeds); seed++ {
		l, err := o.source.load(x*o.limit, seed)
		if err != nil {
			return err
		}
		report, s, err := run(ctx, o.slo, l, o.source.duration(o.duration), r.put)
		if err != nil {
			return err
		}
		g.add(report.GoodputRPS)
		tokens.add(report.TotalGoodputTPS)
		refused.add(100 * float64(s.refusals) / float64(s.offered))
	}
	r.goodput, r.tokens, r.refused = append(r.goodput, g), append(r.tokens, tokens), append(r.refused, refused)
	return nil
}

// search finds the goodput limit without control: on a trace that of the whole of it.
func search(ctx context.Context, o *options) (float64, error) {
	if o.source.trace != nil {
		return attained(ctx, o)
	}
	l, err := o.source.load(1, 1)
	if err != nil {
		return 0, err
	}
	plan := l.plan(o.slo, time.Hour)
	plan.Arrivals = nil
	found, err := capacity.Search(ctx, llmsim.Runner(llmsim.OPT13B()), plan, capacity.WithStart(1))
	if err != nil {
		return 0, err
	}
	switch found.State {
	case capacity.Found:
		return found.Rate, nil
	case capacity.NeverMet:
		return 0, fmt.Errorf("%v is missed at %.3g requests/s already: no admission control helps there; --slo says another", o.slo, found.Hi)
	case capacity.AtLeast:
		return 0, fmt.Errorf("%v is still met at %.3g requests/s: there is no goodput limit; --slo says another", o.slo, found.Lo)
	default:
		return 0, fmt.Errorf("the probes do not show up to which rate %v is met: it is close to what the engine does without load; --slo says another, --limit the rate", o.slo)
	}
}

// attained is the highest rate, within 1 %, at which the SLO holds for a whole trace: one trace is one sample, of which
// nothing can be said beyond whether it holds.
func attained(ctx context.Context, o *options) (float64, error) {
	holds := func(rate float64) (bool, error) {
		l := load{o.source.trace.Arrivals(o.source.speed(rate)), o.source.trace.Requests()}
		report, _, err := run(ctx, o.slo, l, 0, fixed(math.MaxInt, 0))
		if err != nil {
			return false, err
		}
		for _, v := range report.Objectives {
			if !v.Holds {
				return false, nil
			}
		}
		return true, nil
	}
	lo, hi := 0.0, 1.0/1024
	for ok := true; ok; {
		var err error
		if ok, err = holds(hi); err != nil {
			return 0, err
		}
		if ok {
			if lo, hi = hi, 2*hi; hi > 1e6 {
				return 0, errors.New("the SLO holds at any rate; --limit says one")
			}
		}
	}
	if lo == 0 {
		return 0, errors.New("the SLO does not hold at any rate; --limit says one")
	}
	for hi > 1.01*lo {
		mid := math.Sqrt(lo * hi)
		ok, err := holds(mid)
		if err != nil {
			return 0, err
		}
		if ok {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// sentence is what the table says, at twice the limit.
func sentence(loads []float64, rows []*row, most []sample) string {
	at := 0
	for i, x := range loads {
		if x == 2 {
			at = i
		}
	}
	none, ours, best := rows[0], rows[len(rows)-1], rows[1]
	for _, r := range rows[1 : len(rows)-1] {
		if r.goodput[at].mean() > best.goodput[at].mean() {
			best = r
		}
	}
	return fmt.Sprintf("At twice the limit, package admission keeps a goodput of %s/s, %.0f %% of its peak, and in tokens %.0f %% of that peak; the best of the others (%s) has %s/s, no control %s/s. No policy, whatever it knows beforehand, can have more than %.2f/s there, %.0f %% of the most that it could have under one of these loads.",
		ours.goodput[at], 100*ours.goodput[at].mean()/peak(ours.goodput), 100*ours.tokens[at].mean()/peak(ours.tokens), best.name, best.goodput[at], none.goodput[at],
		most[at].mean(), 100*most[at].mean()/peak(most))
}

// peak is the greatest mean.
func peak(all []sample) (most float64) {
	for _, s := range all {
		most = max(most, s.mean())
	}
	return most
}
