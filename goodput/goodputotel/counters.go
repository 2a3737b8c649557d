package goodputotel

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// observed are the instruments whose values are read off the monitor at each collection.
type observed struct {
	offered, decided, ended, good, lost metric.Int64ObservableCounter
	objective, within, undefined        metric.Int64ObservableCounter
	tokens, goodTokens, other           metric.Int64ObservableCounter
	active, overdue                     metric.Int64ObservableUpDownCounter
	target, burn, left                  metric.Float64ObservableGauge
	alert                               metric.Int64ObservableGauge
}

// observe makes them, and the callback that reads the monitor.
func (i *Instruments) observe(meter metric.Meter) error {
	var problems []error
	var all []metric.Observable
	counter := func(name, unit, help string) metric.Int64ObservableCounter {
		c, err := meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(help))
		problems, all = append(problems, err), append(all, c)
		return c
	}
	gauge := func(name, help string) metric.Int64ObservableUpDownCounter {
		c, err := meter.Int64ObservableUpDownCounter(name, metric.WithUnit("{request}"), metric.WithDescription(help))
		problems, all = append(problems, err), append(all, c)
		return c
	}
	o := &i.observed
	o.offered = counter("goodput.request.offered", "{request}", exporter.Offered)
	o.decided = counter("goodput.request.decided", "{request}", exporter.Decided)
	o.ended = counter("goodput.request.ended", "{request}", exporter.Ended)
	o.good = counter("goodput.request.good", "{request}", exporter.Good)
	o.lost = counter("goodput.request.lost", "{request}", exporter.Lost)
	o.objective = counter("goodput.objective.decided", "{request}", exporter.Requests)
	o.within = counter("goodput.objective.within", "{request}", exporter.Within)
	o.undefined = counter("goodput.objective.undefined", "{request}", exporter.Undefined)
	o.tokens = counter("goodput.token.usage", "{token}", "Tokens of requests that ended.")
	o.goodTokens = counter("goodput.token.good", "{token}", "Tokens of good requests.")
	o.other = counter("goodput.class.other", "{request}", exporter.OtherClasses)
	o.active = gauge("goodput.request.active", exporter.InFlight)
	o.overdue = gauge("goodput.request.overdue", exporter.Overdue)
	ratio := func(name, help string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, metric.WithUnit("1"), metric.WithDescription(help))
		problems, all = append(problems, err), append(all, g)
		return g
	}
	o.target = ratio("goodput.objective.target", exporter.Target)
	o.burn = ratio("goodput.burn_rate", exporter.BurnRate)
	o.left = ratio("goodput.error_budget.left", exporter.BudgetLeft)
	var err error
	o.alert, err = meter.Int64ObservableGauge("goodput.alert.state", metric.WithUnit("1"),
		metric.WithDescription(exporter.AlertState))
	problems, all = append(problems, err), append(all, o.alert)
	if err := errors.Join(problems...); err != nil {
		return err
	}
	i.registration, err = meter.RegisterCallback(i.read, all...)
	return err
}

// read is the callback.
func (i *Instruments) read(_ context.Context, to metric.Observer) error {
	counted := exporter.Counters(i.monitor)
	var others uint64
	for n := range counted.Classes {
		k := &counted.Classes[n]
		others += k.OtherClasses
		s := i.monitor.SLO(k.Class)
		reading{to, &i.observed, ownAttributes(k.Class, i.label(k.Class))}.class(k, s)
	}
	to.ObserveInt64(i.observed.other, int64(others))
	return i.readBudgets(to)
}

// reading is that of one class.
type reading struct {
	to         metric.Observer
	o          *observed
	attributes []attribute.KeyValue
}

func (r reading) with(more ...attribute.KeyValue) metric.ObserveOption {
	return metric.WithAttributeSet(attribute.NewSet(slices.Concat(r.attributes, more)...))
}

func (r reading) count(c metric.Int64Observable, n uint64, more ...attribute.KeyValue) {
	r.to.ObserveInt64(c, int64(n), r.with(more...))
}

func (r reading) class(k *monitor.ClassCounters, judged slo.SLO) {
	r.count(r.o.offered, k.Offered)
	r.count(r.o.decided, k.Decided)
	r.count(r.o.good, k.Good)
	for _, o := range goodput.Outcomes() {
		r.count(r.o.ended, k.Outcomes[o], attribute.String("goodput.outcome", o.String()))
		if o != goodput.Success && o.Throughput() {
			r.count(r.o.lost, k.Outcomes[o], attribute.String("goodput.cause", o.String()))
		}
	}
	for _, o := range exporter.Objectives(k, judged) {
		objective := attribute.String("goodput.objective", o.Text)
		if o.Loses {
			r.count(r.o.lost, o.Lost, attribute.String("goodput.cause", o.Text))
			r.count(r.o.undefined, o.Undefined, objective)
		}
		r.count(r.o.objective, o.Requests, objective)
		r.count(r.o.within, o.Within, objective)
		r.to.ObserveFloat64(r.o.target, o.Target, r.with(objective))
	}
	r.count(r.o.tokens, k.InputTokens, semconv.GenAITokenTypeInput)
	r.count(r.o.tokens, k.OutputTokens, semconv.GenAITokenTypeOutput)
	r.count(r.o.goodTokens, k.GoodInputTokens, semconv.GenAITokenTypeInput)
	r.count(r.o.goodTokens, k.GoodOutputTokens, semconv.GenAITokenTypeOutput)
	r.count(r.o.active, k.InFlight)
	r.count(r.o.overdue, k.Overdue)
}
