package goodputotel

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// observed are the instruments whose values are read off the monitor at each collection.
type observed struct {
	offered, decided, ended, good, lost metric.Int64ObservableCounter
	objective, within                   metric.Int64ObservableCounter
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
	o.offered = counter("goodput.request.offered", "{request}", "Requests that began.")
	o.decided = counter("goodput.request.decided", "{request}", "Requests that are good or bad: ended, or in flight past a deadline.")
	o.ended = counter("goodput.request.ended", "{request}", "Requests that ended, by outcome.")
	o.good = counter("goodput.request.good", "{request}", "Successful requests that meet every per-request objective of the SLO.")
	o.lost = counter("goodput.request.lost", "{request}", "Requests that ended and are not good, each under one cause.")
	o.objective = counter("goodput.objective.decided", "{request}", "Requests that the objective is about.")
	o.within = counter("goodput.objective.within", "{request}", "Of the requests that the objective is about those that hold it.")
	o.tokens = counter("goodput.token.usage", "{token}", "Tokens of requests that ended.")
	o.goodTokens = counter("goodput.token.good", "{token}", "Tokens of good requests.")
	o.other = counter("goodput.class.other", "{request}", "Requests counted under the class other.")
	o.active = gauge("goodput.request.active", "Requests in flight.")
	o.overdue = gauge("goodput.request.overdue", "Requests in flight past a deadline of the SLO.")
	ratio := func(name, help string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, metric.WithUnit("1"), metric.WithDescription(help))
		problems, all = append(problems, err), append(all, g)
		return g
	}
	o.target = ratio("goodput.objective.target", "Share of the requests that the objective asks for.")
	o.burn = ratio("goodput.burn_rate", "Burn rate of the objective's error budget over a window: 1 spends it in just the period.")
	o.left = ratio("goodput.error_budget.left", "Share of the period's error budget that is left; below 0 it is overspent.")
	var err error
	o.alert, err = meter.Int64ObservableGauge("goodput.alert.state", metric.WithUnit("1"),
		metric.WithDescription("1 for the state that the monitor's alert is in, 0 for the others."))
	problems, all = append(problems, err), append(all, o.alert)
	if err := errors.Join(problems...); err != nil {
		return err
	}
	i.registration, err = meter.RegisterCallback(i.read, all...)
	return err
}

// read is the callback.
func (i *Instruments) read(_ context.Context, to metric.Observer) error {
	counted := i.monitor.Counters()
	if !slices.ContainsFunc(counted.Classes, func(k monitor.ClassCounters) bool { return k.Class == slo.DefaultClass }) {
		counted.Classes = append(counted.Classes, empty(slo.DefaultClass, i.monitor.SLO(slo.DefaultClass)))
	}
	var others uint64
	for n := range counted.Classes {
		k := &counted.Classes[n]
		others += k.OtherClasses
		s := i.monitor.SLO(k.Class)
		reading{to, &i.observed, ownAttributes(k.Class, i.label(k.Class))}.class(k, s)
	}
	to.ObserveInt64(i.observed.other, int64(others))
	i.readBudgets(to)
	return nil
}

// empty is a class without a request yet: its series are there from the start, with 0.
func empty(class string, s slo.SLO) monitor.ClassCounters {
	k := monitor.ClassCounters{Class: class}
	for _, o := range s.Objectives {
		if !o.Metric.Population() {
			k.Objectives = append(k.Objectives, monitor.ObjectiveCounters{Objective: o.String()})
		}
	}
	return k
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
	each := k.Objectives
	for _, o := range judged.Objectives {
		objective := attribute.String("goodput.objective", o.String())
		about, within := k.Recorded, k.Outcomes[goodput.Success]
		switch {
		case o.Metric == slo.Attainment:
			about, within = k.Decided, k.Good
		case !o.Metric.Population():
			about, within = each[0].Decided, each[0].Within
			r.count(r.o.lost, each[0].First, attribute.String("goodput.cause", o.String()))
			each = each[1:]
		}
		r.count(r.o.objective, about, objective)
		r.count(r.o.within, within, objective)
		r.to.ObserveFloat64(r.o.target, exposition.Target(o), r.with(objective))
	}
	r.count(r.o.tokens, k.InputTokens, semconv.GenAITokenTypeInput)
	r.count(r.o.tokens, k.OutputTokens, semconv.GenAITokenTypeOutput)
	r.count(r.o.goodTokens, k.GoodInputTokens, semconv.GenAITokenTypeInput)
	r.count(r.o.goodTokens, k.GoodOutputTokens, semconv.GenAITokenTypeOutput)
	r.count(r.o.active, k.InFlight)
	r.count(r.o.overdue, k.Overdue)
}
