package prometheus3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// server is as much of a Prometheus 3 as rules need: it takes samples, and evaluates a file of rules on them. That is for what the module rules of
// Prometheus would do, which has the clients of every cloud in its dependencies.
type server struct {
	parser parser.Parser
	engine *promql.Engine
	rules  []rulefmt.Rule
	byName map[string][]*series
	byText map[string]*series
	made   map[int]map[string]*series // by rule: what it made at the evaluation before
	alerts []alert                    // of the last evaluation
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// alert is one that fires.
type alert struct {
	name                string
	labels, annotations map[string]string
}

// sample is one of a series: a float, or a histogram.
type sample struct {
	t int64 // ms
	f float64
	h *histogram.FloatHistogram
}

func (s sample) T() int64                      { return s.t }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.f }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.h }
func (s sample) Copy() chunks.Sample           { return s }
func (s sample) Type() chunkenc.ValueType {
	if s.h != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// newServer reads rules as Prometheus 3 reads a file of them: any fault is an error.
func newServer(rules []byte) (*server, error) {
	s := &server{parser: parser.NewParser(parser.Options{}), byName: map[string][]*series{}, byText: map[string]*series{}, made: map[int]map[string]*series{}}
	groups, errs := rulefmt.Parse(rules, false, model.UTF8Validation, s.parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, g := range groups.Groups {
		s.rules = append(s.rules, g.Rules...)
	}
	s.engine = promql.NewEngine(promql.EngineOpts{Logger: slog.New(slog.DiscardHandler), MaxSamples: 1e7, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }, EnableAtModifier: true, EnableNegativeOffset: true, Parser: s.parser})
	return s, nil
}

func (s *server) of(l labels.Labels) *series {
	text := l.String()
	one := s.byText[text]
	if one == nil {
		one = &series{labels: l}
		name := l.Get(model.MetricNameLabel)
		s.byText[text], s.byName[name] = one, append(s.byName[name], one)
	}
	return one
}

func (s *series) add(t time.Duration, f float64, h *histogram.FloatHistogram) {
	s.samples = append(s.samples, sample{t.Milliseconds(), f, h})
}

// scrape takes what a target exposes at an instant, of that content type, as a scrape with those options does.
func (s *server) scrape(t time.Duration, body []byte, contentType string, o textparse.ParserOptions) error {
	p, err := textparse.New(body, contentType, labels.NewSymbolTable(), o)
	if err != nil {
		return err
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var l labels.Labels
		switch entry {
		case textparse.EntrySeries:
			_, _, v := p.Series()
			p.Labels(&l)
			s.of(l).add(t, v, nil)
		case textparse.EntryHistogram:
			_, _, h, f := p.Histogram()
			if h != nil {
				f = h.ToFloat(nil)
			}
			p.Labels(&l)
			s.of(l).add(t, 0, f)
		}
	}
}

// write takes a series as a unit test of promtool's writes it: values of which there is one each interval.
func (s *server) write(name, values string, every time.Duration) error {
	l, all, err := s.parser.ParseSeriesDesc(name + " " + values)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for i, v := range all {
		if !v.Omitted {
			s.of(l).add(time.Duration(i)*every, v.Value, nil)
		}
	}
	return nil
}

func (s *server) query(expr string, t time.Duration) (promql.Vector, error) {
	q, err := s.engine.NewInstantQuery(context.Background(), s, nil, expr, time.UnixMilli(t.Milliseconds()))
	if err != nil {
		return nil, err
	}
	defer q.Close()
	r := q.Exec(context.Background())
	if r.Err != nil {
		return nil, r.Err
	}
	if v, ok := r.Value.(promql.Scalar); ok {
		return promql.Vector{{F: v.V}}, nil
	}
	vector, err := r.Vector()
	return slices.Clone(vector), err
}

// evaluate evaluates the rules at an instant, one after the other. A series that a rule does not make any more is stale.
func (s *server) evaluate(t time.Duration) error {
	s.alerts = nil
	for i, r := range s.rules {
		vector, err := s.query(r.Expr, t)
		if err != nil {
			return fmt.Errorf("%s%s at %v: %w", r.Record, r.Alert, t, err)
		}
		now := map[string]*series{}
		for _, v := range vector {
			l, f := labels.NewBuilder(v.Metric), v.F
			for name, text := range r.Labels {
				if r.Alert != "" {
					if text, err = expand(text, v); err != nil {
						return err
					}
				}
				l.Set(name, text)
			}
			if r.Alert != "" {
				a := alert{name: r.Alert, annotations: map[string]string{}}
				l.Del(model.MetricNameLabel)
				a.labels = l.Labels().Map()
				for name, text := range r.Annotations {
					if a.annotations[name], err = expand(text, v); err != nil {
						return err
					}
				}
				s.alerts = append(s.alerts, a)
				f = 1
				l.Set(model.MetricNameLabel, "ALERTS").Set("alertname", r.Alert).Set("alertstate", "firing")
			} else {
				l.Set(model.MetricNameLabel, r.Record)
			}
			one := s.of(l.Labels())
			if now[one.labels.String()] != nil {
				return fmt.Errorf("%s%s at %v: two of %v", r.Record, r.Alert, t, one.labels)
			}
			now[one.labels.String()] = one
			one.add(t, f, nil)
		}
		for text, one := range s.made[i] {
			if now[text] == nil {
				one.add(t, math.Float64frombits(value.StaleNaN), nil)
			}
		}
		s.made[i] = now
	}
	return nil
}

// expand makes of a template what it says of a sample.
func expand(text string, v promql.Sample) (string, error) {
	const head = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	return template.NewTemplateExpander(context.Background(), head+text, "", template.AlertTemplateData(v.Metric.Map(), nil, "", v), 0, nil, nil, nil).Expand()
}

// Querier makes a server a storage.Queryable, and Select what the engine asks of one.
func (s *server) Querier(int64, int64) (storage.Querier, error) { return s, nil }

func (s *server) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, m := range matchers {
		if m.Name != model.MetricNameLabel || m.Type != labels.MatchEqual {
			continue
		}
		for _, one := range s.byName[m.Value] {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
				found = append(found, storage.NewListSeries(one.labels, one.samples))
			}
		}
		break
	}
	return &set{found: found}
}

func (s *server) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (s *server) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.ErrUnsupported
}

func (s *server) Close() error { return nil }

type set struct {
	found []storage.Series
	next  int
}

func (s *set) Next() bool                        { s.next++; return s.next <= len(s.found) }
func (s *set) At() storage.Series                { return s.found[s.next-1] }
func (s *set) Err() error                        { return nil }
func (s *set) Warnings() annotations.Annotations { return nil }
