package goodputotel

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

const maxClassName = 128 // bytes; longer ones are "other"

// class is the attributes of one class, as options made once.
type class struct {
	byOutcome     [int(goodput.Unfinished) + 1][]metric.RecordOption // the conventions'; with error.type where it failed
	input, output []metric.RecordOption                              // the conventions', with the token type
	own           []metric.RecordOption                              // goodput.class and goodput.slo
}

func (i *Instruments) newClass(name string) *class {
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

// classes are those that have attributes of their own, by name.
type classes struct {
	max     int
	make    func(name string) *class
	mu      sync.Mutex
	current atomic.Pointer[table]
}

// table is never changed, but replaced by a longer one.
type table struct {
	byName map[string]*class
	named  int // but for the default and other, which always have a place
}

func (c *classes) init(most int, newClass func(string) *class, named []string) {
	c.max, c.make = most, newClass
	t := &table{byName: map[string]*class{}}
	for _, name := range named {
		t = t.with(name, newClass(name))
	}
	c.current.Store(t)
}

func (t *table) with(name string, c *class) *table {
	longer := &table{byName: maps.Clone(t.byName), named: t.named}
	longer.byName[name] = c
	if !alwaysPlaced(name) {
		longer.named++
	}
	return longer
}

func alwaysPlaced(name string) bool { return name == slo.DefaultClass || name == goodput.OtherClass }

// of is the class of that name, made where it is new and there is room for it, and else "other".
func (c *classes) of(name string) *class {
	if name == "" {
		name = slo.DefaultClass
	}
	t := c.current.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if of, ok := t.byName[goodput.OtherClass]; ok && t.named >= c.max && !alwaysPlaced(name) {
		return of
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.add(name)
}

func (c *classes) add(name string) *class {
	t := c.current.Load()
	if of, ok := t.byName[name]; ok {
		return of
	}
	if !alwaysPlaced(name) && (t.named >= c.max || len(name) > maxClassName || !utf8.ValidString(name)) {
		return c.add(goodput.OtherClass)
	}
	name = strings.Clone(name)
	of := c.make(name)
	c.current.Store(t.with(name, of))
	return of
}
