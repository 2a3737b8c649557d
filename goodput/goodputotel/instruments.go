package goodputotel

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/internal/classtable"
	"github.com/goodputkit/goodputkit/goodput/internal/exporter"
	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// ScopeName is the name of the instrumentation scope.
const ScopeName = "github.com/goodputkit/goodputkit/goodput/goodputotel"

// Side is where the records are measured: it decides which of the conventions' histograms there are.
type Side int

const (
	Server Side = iota // in the service that answers: gen_ai.server.…
	Client             // in a client of it: gen_ai.client.…
)

// Config says what the conventions want to know beside the records. Provider is required.
type Config struct {
	// MeterProvider makes the instruments; nil: the global one.
	MeterProvider metric.MeterProvider

	Side      Side
	Provider  string // gen_ai.provider.name: "openai", "anthropic", …, or a name of one's own
	Operation string // gen_ai.operation.name; "": "chat"
	Model     string // gen_ai.request.model; "": not known

	ServerAddress string // server.address; "": left out
	ServerPort    int    // server.port; 0: left out

	// ClassAttributes adds attributes to the conventions' histograms of a class, or replaces them, such as the model
	// where each class has its own. It is called once for each class.
	ClassAttributes func(class string) []attribute.KeyValue

	// MaxClasses bounds how many classes have histograms of their own, beside the default and those of the monitor's
	// set; 0: [goodput.MaxClasses].
	MaxClasses int
}

// Instruments are those of one monitor. Their methods may be called from any goroutine.
type Instruments struct {
	config  Config
	monitor *monitor.Monitor
	label   func(class string) string // value of goodput.slo
	mu      sync.Mutex
	classes classtable.Table[*class] // made under mu

	server serverInstruments
	client clientInstruments
	own    []ownHistogram

	observed     observed
	registration metric.Registration
}

type serverInstruments struct {
	firstToken, perToken, duration metric.Float64Histogram
}

type clientInstruments struct {
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram
}

// ownHistogram is that of a metric which the conventions do not name.
type ownHistogram struct {
	metric    slo.Metric
	histogram metric.Float64Histogram
}

// New makes the instruments of what m counts. An error says which field of the config cannot be meant, or is the meter's.
func New(m *monitor.Monitor, c Config) (*Instruments, error) {
	switch {
	case c.Provider == "":
		return nil, errors.New("goodputotel: Provider is missing: the conventions require gen_ai.provider.name")
	case c.Side != Server && c.Side != Client:
		return nil, fmt.Errorf("goodputotel: Side %d is neither Server nor Client", c.Side)
	case c.ServerPort < 0 || c.ServerPort > 65535:
		return nil, fmt.Errorf("goodputotel: ServerPort %d is no port", c.ServerPort)
	case c.ServerPort != 0 && c.ServerAddress == "":
		return nil, errors.New("goodputotel: ServerPort without ServerAddress")
	case c.MaxClasses < 0:
		return nil, fmt.Errorf("goodputotel: MaxClasses %d is negative", c.MaxClasses)
	}
	if c.Operation == "" {
		c.Operation = string(genaiconv.OperationNameChat)
	}
	if c.MaxClasses == 0 {
		c.MaxClasses = goodput.MaxClasses
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	i := &Instruments{config: c, monitor: m, label: exposition.Labels(m.SLO(m.SLONames()[0]), m.Classes())}
	meter := c.MeterProvider.Meter(ScopeName, metric.WithSchemaURL(semconv.SchemaURL))
	if err := i.create(meter); err != nil {
		return nil, fmt.Errorf("goodputotel: %w", err)
	}
	i.classes.Init(c.MaxClasses, m.Classes().Classes(), i.newClass)
	return i, nil
}

// Close ends the observation of the monitor. What Observe was given stays.
func (i *Instruments) Close() error { return i.registration.Unregister() }

func (i *Instruments) create(meter metric.Meter) error {
	var problems []error
	must := func(err error) { problems = append(problems, err) }
	slos := exporter.SLOs(i.monitor)
	edges := func(all ...slo.Metric) metric.HistogramOption {
		var edges []float64
		for _, m := range all {
			edges = append(edges, exposition.Edges(m, slos...)...)
		}
		slices.Sort(edges)
		return metric.WithExplicitBucketBoundaries(slices.Compact(edges)...)
	}
	if i.config.Side == Server {
		first, err := genaiconv.NewServerTimeToFirstToken(meter, edges(slo.TTFT, slo.ServiceTTFT))
		must(err)
		per, err := genaiconv.NewServerTimePerOutputToken(meter, edges(slo.TPOT))
		must(err)
		duration, err := genaiconv.NewServerRequestDuration(meter, edges(slo.E2E, slo.ServiceE2E))
		must(err)
		i.server = serverInstruments{first.Inst(), per.Inst(), duration.Inst()}
	} else {
		duration, err := genaiconv.NewClientOperationDuration(meter, edges(slo.E2E, slo.ServiceE2E))
		must(err)
		tokens, err := genaiconv.NewClientTokenUsage(meter, metric.WithExplicitBucketBoundaries(exposition.Tokens...))
		must(err)
		i.client = clientInstruments{duration.Inst(), tokens.Inst()}
	}
	for _, m := range i.ownMetrics(slos) {
		unit := map[string]string{"s": "s", "s/token": "s", "tokens/s": "{token}/s"}[m.Unit()]
		opts := []metric.Float64HistogramOption{metric.WithDescription(exporter.Histogram(m)), metric.WithUnit(unit), edges(m)}
		h, err := meter.Float64Histogram("goodput."+string(m), opts...)
		must(err)
		i.own = append(i.own, ownHistogram{m, h})
	}
	must(i.observe(meter))
	return errors.Join(problems...)
}

// ownMetrics are those that have an objective and that no instrument of the conventions measures on this side, for all
// requests or for the successes.
func (i *Instruments) ownMetrics(slos []slo.SLO) []slo.Metric {
	var all []slo.Metric
	for _, s := range slos {
		all = append(all, s.Metrics()...)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(m slo.Metric) bool {
		switch m {
		case slo.ServiceTTFT:
			return i.config.Side == Server
		case slo.TPOT:
			return i.config.Side == Server
		case slo.ServiceE2E:
			return true
		}
		return m.Population()
	})
}
