package goodputotel

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/goodputkit/goodputkit/goodput"
)

// class is the attributes of one class, as options made once.
type class struct {
	byOutcome     [int(goodput.Unfinished) + 1][]metric.RecordOption // the conventions'; with error.type where it failed
	input, output []metric.RecordOption                              // the conventions', with the token type
	own           []metric.RecordOption                              // goodput.class and goodput.slo
}

func (i *Instruments) newClass(name string, _ int) *class {
	c := &class{own: option(ownAttributes(name, i.label(name)))}
	base := []attribute.KeyValue{
		semconv.GenAIOperationNameKey.String(i.config.Operation), semconv.GenAIProviderNameKey.String(i.config.Provider),
	}
	if i.config.Model != "" {
		base = append(base, semconv.GenAIRequestModel(i.config.Model))
	}
	if i.config.ServerAddress != "" {
		base = append(base, semconv.ServerAddress(i.config.ServerAddress))
	}
	if i.config.ServerPort != 0 {
		base = append(base, semconv.ServerPort(i.config.ServerPort))
	}
	if i.config.ClassAttributes != nil {
		base = append(base, i.config.ClassAttributes(name)...)
	}
	with := func(more ...attribute.KeyValue) []metric.RecordOption { return option(slices.Concat(base, more)) }
	for _, o := range goodput.Outcomes() {
		if o == goodput.Success {
			c.byOutcome[o] = with()
		} else {
			c.byOutcome[o] = with(semconv.ErrorTypeKey.String(o.String()))
		}
	}
	c.input, c.output = with(semconv.GenAITokenTypeInput), with(semconv.GenAITokenTypeOutput)
	return c
}

func ownAttributes(class, label string) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("goodput.class", class), attribute.String("goodput.slo", label)}
}

func option(attributes []attribute.KeyValue) []metric.RecordOption {
	return []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(attributes...))}
}
