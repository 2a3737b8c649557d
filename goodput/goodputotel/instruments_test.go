package goodputotel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputotel"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

const (
	ms       = time.Millisecond
	chatText = "ttft p95 < 800ms, tpot p90 < 55ms, itl p90 < 57ms, error_rate < 1%, attainment >= 90%"
)

// setup is a monitor with its instruments, and what reads them.
func setup(t *testing.T, text string, c goodputotel.Config, opts ...monitor.Option) (*monitor.Monitor, *goodputotel.Instruments, func() map[string]metricdata.Metrics) {
	reader := sdk.NewManualReader()
	c.MeterProvider = sdk.NewMeterProvider(sdk.WithReader(reader))
	m, err := monitor.New(slo.MustParse(text), opts...)
	require.NoError(t, err)
	i, err := goodputotel.New(m, c)
	require.NoError(t, err)
	return m, i, func() map[string]metricdata.Metrics {
		var all metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &all))
		byName := map[string]metricdata.Metrics{}
		for _, scope := range all.ScopeMetrics {
			require.Equal(t, goodputotel.ScopeName, scope.Scope.Name)
			require.Equal(t, "https://opentelemetry.io/schemas/1.41.0", scope.Scope.SchemaURL)
			for _, m := range scope.Metrics {
				byName[m.Name] = m
			}
		}
		return byName
	}
}

func request(rng *rand.Rand) *goodput.Record {
	all := goodput.Outcomes()
	r := &goodput.Record{Start: time.Now(), InputTokens: 1 + rng.IntN(100), Outcome: goodput.Success}
	if rng.IntN(4) == 0 {
		r.Outcome = all[rng.IntN(len(all))]
	}
	first := time.Duration(rng.IntN(1000)) * ms
	if rng.IntN(5) == 0 {
		first = 800 * ms
	}
	n := rng.IntN(6)
	for i := range n {
		r.Tokens = append(r.Tokens, goodput.Token{At: first + time.Duration(i)*time.Duration(50+rng.IntN(11))*ms, N: 1})
		slices.SortFunc(r.Tokens, func(a, b goodput.Token) int { return int(a.At - b.At) })
	}
	r.End = first + time.Second
	return r
}

// has reports whether a set has these attributes, written key=value, and as many as there are.
func has(set attribute.Set, want ...string) bool {
	for _, w := range want {
		key, value, _ := strings.Cut(w, "=")
		v, ok := set.Value(attribute.Key(key))
		if !ok || v.String() != value {
			return false
		}
	}
	return true
}

func sum(t *testing.T, all map[string]metricdata.Metrics, name string, attributes ...string) uint64 {
	require.Contains(t, all, name)
	data, ok := all[name].Data.(metricdata.Sum[int64])
	require.True(t, ok, "%s is a %T", name, all[name].Data)
	require.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
	var total int64
	found := false
	for _, p := range data.DataPoints {
		if has(p.Attributes, attributes...) {
			total += p.Value
			found = true
		}
	}
	require.True(t, found, "%s %v", name, attributes)
	return uint64(total)
}

// histogram is the point that has these attributes; of the successes, unless they name an error.
func histogram(t *testing.T, all map[string]metricdata.Metrics, name string, attributes ...string) metricdata.HistogramDataPoint[float64] {
	require.Contains(t, all, name)
	data, ok := all[name].Data.(metricdata.Histogram[float64])
	require.True(t, ok)
	failed := slices.ContainsFunc(attributes, func(a string) bool { return strings.HasPrefix(a, "error.type=") })
	for _, p := range data.DataPoints {
		if p.Attributes.HasValue("error.type") == failed && has(p.Attributes, attributes...) {
			return p
		}
	}
	require.Fail(t, "no such point", "%s %v", name, attributes)
	return metricdata.HistogramDataPoint[float64]{}
}

// within is how many values of a histogram are at most an edge that it has.
func within(t *testing.T, p metricdata.HistogramDataPoint[float64], edge float64) (n uint64) {
	i := slices.Index(p.Bounds, edge)
	require.GreaterOrEqual(t, i, 0, "%v is no edge of %v", edge, p.Bounds)
	for _, c := range p.BucketCounts[:i+1] {
		n += c
	}
	return n
}

// What is collected is what an accumulator counts of the same records, for each class.
func TestCountersAreTheAccumulators(t *testing.T) {
	set := slo.Set{"batch": slo.MustParse("e2e p90 < 1s")}
	m, i, collect := setup(t, chatText, goodputotel.Config{Provider: "openai"}, monitor.WithClasses(set))
	acc := goodput.NewAccumulator(slo.MustParse(chatText), goodput.WithClasses(set))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		r := request(rng)
		r.Class = []string{"", "batch", "chat"}[rng.IntN(3)]
		acc.Observe(r)
		m.Observe(r)
		i.Observe(t.Context(), r)
	}
	all, report, undefined := collect(), acc.Report(), uint64(0)
	for name, want := range report.Classes {
		class := "goodput.class=" + name
		require.Equal(t, want.Offered, sum(t, all, "goodput.request.offered", class))
		require.Equal(t, want.Offered, sum(t, all, "goodput.request.decided", class))
		require.Equal(t, want.Offered, sum(t, all, "goodput.request.ended", class))
		require.Equal(t, want.Good, sum(t, all, "goodput.request.good", class))
		for _, o := range goodput.Outcomes() {
			require.Equal(t, want.Outcomes[o], sum(t, all, "goodput.request.ended", class, "goodput.outcome="+o.String()))
		}
		var lost uint64
		for cause, n := range want.Lost {
			require.Equal(t, n, sum(t, all, "goodput.request.lost", class, "goodput.cause="+cause))
			lost += n
		}
		require.Equal(t, lost, sum(t, all, "goodput.request.lost", class))
		require.Equal(t, want.Flow.InputTokens, sum(t, all, "goodput.token.usage", class, "gen_ai.token.type=input"))
		require.Equal(t, want.Flow.OutputTokens, sum(t, all, "goodput.token.usage", class, "gen_ai.token.type=output"))
		require.Equal(t, want.Flow.GoodInputTokens, sum(t, all, "goodput.token.good", class, "gen_ai.token.type=input"))
		require.Equal(t, want.Flow.GoodOutputTokens, sum(t, all, "goodput.token.good", class, "gen_ai.token.type=output"))
		for _, o := range want.Objectives {
			objective := "goodput.objective=" + o.Objective.String()
			require.Equal(t, o.N, sum(t, all, "goodput.objective.decided", class, objective))
			if !o.Objective.Metric.Population() {
				require.Equal(t, o.Within, sum(t, all, "goodput.objective.within", class, objective))
				require.Equal(t, o.Undefined, sum(t, all, "goodput.objective.undefined", class, objective))
				undefined += o.Undefined
			}
		}
	}
	require.NotZero(t, undefined)
	require.NoError(t, i.Close())
	require.NotContains(t, collect(), "goodput.request.good")
}

// The conventions' names, units, buckets and attributes, in a server.
func TestAServerHasTheConventionsHistograms(t *testing.T) {
	m, i, collect := setup(t, chatText, goodputotel.Config{
		Provider: "openai", Model: "gpt-4o", ServerAddress: "127.0.0.1", ServerPort: 8080,
		ClassAttributes: func(class string) []attribute.KeyValue {
			if class == "small" {
				return []attribute.KeyValue{attribute.String("gen_ai.request.model", "gpt-4o-mini")}
			}
			return nil
		},
	})
	rng := rand.New(rand.NewPCG(3, 4))
	ended, failed, success := uint64(0), uint64(0), uint64(0)
	for range 3000 {
		r := request(rng)
		for len(r.Tokens) < 2 {
			r = request(rng)
		}
		m.Observe(r)
		i.Observe(t.Context(), r)
		switch {
		case r.Outcome == goodput.Success:
			success++
			ended++
		case r.Outcome == goodput.Timeout:
			failed++
			ended++
		case r.Outcome.Throughput():
			ended++
		}
	}
	i.Observe(t.Context(), &goodput.Record{Class: "small", End: time.Second, Outcome: goodput.Success})
	all := collect()
	common := []string{"gen_ai.operation.name=chat", "gen_ai.provider.name=openai", "gen_ai.request.model=gpt-4o", "server.address=127.0.0.1", "server.port=8080"}
	for name, advised := range map[string][]float64{
		"gen_ai.server.time_to_first_token":   {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0},
		"gen_ai.server.time_per_output_token": {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5},
		"gen_ai.server.request.duration":      {0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
	} {
		require.Equal(t, "s", all[name].Unit)
		p := histogram(t, all, name, common...)
		require.Subset(t, p.Bounds, advised)
		require.True(t, slices.IsSorted(p.Bounds))
		_, isError := p.Attributes.Value("error.type")
		require.False(t, isError)
		require.Equal(t, success, p.Count)
	}
	require.Equal(t, failed, histogram(t, all, "gen_ai.server.request.duration", append(common, "error.type=timeout")...).Count)
	var durations uint64
	for _, p := range all["gen_ai.server.request.duration"].Data.(metricdata.Histogram[float64]).DataPoints {
		durations += p.Count
	}
	require.Equal(t, ended+1, durations, "those that never ended have none")
	require.EqualValues(t, 1, histogram(t, all, "gen_ai.server.request.duration", "gen_ai.request.model=gpt-4o-mini").Count)

	for objective, got := range map[string]uint64{
		"ttft p95 < 800ms": within(t, histogram(t, all, "gen_ai.server.time_to_first_token"), 0.8),
		"tpot p90 < 55ms":  within(t, histogram(t, all, "gen_ai.server.time_per_output_token"), 0.055),
		"itl p90 < 57ms":   within(t, histogram(t, all, "goodput.itl"), 0.057),
	} {
		require.Equal(t, sum(t, all, "goodput.objective.within", "goodput.objective="+objective), got, objective)
		require.NotZero(t, got)
	}
	require.NotContains(t, all, "gen_ai.client.operation.duration")
	require.NotContains(t, all, "goodput.tpot")
}

func TestAClientHasTheConventionsHistograms(t *testing.T) {
	m, i, collect := setup(t, "ttft p95 < 800ms, e2e p95 < 3s", goodputotel.Config{Provider: "anthropic", Operation: "text_completion", Side: goodputotel.Client})
	r := &goodput.Record{Start: time.Now(), Sent: 500 * ms, Tokens: []goodput.Token{{At: 700 * ms, N: 3}}, End: 2 * time.Second, InputTokens: 40, Outcome: goodput.Success}
	m.Observe(r)
	i.Observe(t.Context(), r)
	i.Observe(t.Context(), &goodput.Record{Start: time.Now(), End: time.Second, Outcome: goodput.RateLimited})
	all := collect()
	p := histogram(t, all, "gen_ai.client.operation.duration", "gen_ai.operation.name=text_completion", "gen_ai.provider.name=anthropic")
	require.EqualValues(t, 1, p.Count)
	require.Equal(t, 1.5, p.Sum, "from the send")
	require.Equal(t, 1.0, histogram(t, all, "gen_ai.client.operation.duration", "error.type=rate_limited").Sum)
	require.Equal(t, 0.7, histogram(t, all, "goodput.ttft", "goodput.class=default").Sum, "from the intended start")
	tokens, ok := all["gen_ai.client.token.usage"].Data.(metricdata.Histogram[int64])
	require.True(t, ok)
	require.Equal(t, "{token}", all["gen_ai.client.token.usage"].Unit)
	require.Len(t, tokens.DataPoints, 2, "the failed one had no count, which is not a count of 0")
	for _, p := range tokens.DataPoints {
		require.Equal(t, []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}, p.Bounds)
		want := int64(40)
		if has(p.Attributes, "gen_ai.token.type=output") {
			want = 3
		}
		require.Equal(t, want, p.Sum)
	}
	require.NotContains(t, all, "gen_ai.server.request.duration")
}

func TestAFloodOfClassesIsBounded(t *testing.T) {
	m, i, collect := setup(t, "itl p95 < 1s", goodputotel.Config{Provider: "x", MaxClasses: 3}, monitor.WithMaxClasses(3))
	r := goodput.Record{Start: time.Now(), Tokens: []goodput.Token{{At: ms}, {At: 2 * ms}}, End: 3 * ms, Outcome: goodput.Success}
	for n := range 20_000 {
		r.Class = fmt.Sprintf("tenant-%d", n)
		switch n % 1000 {
		case 998:
			r.Class = "\xff\xfe"
		case 999:
			r.Class = strings.Repeat("x", 10_000)
		}
		m.Observe(&r)
		i.Observe(t.Context(), &r)
	}
	all := collect()
	require.Len(t, all["goodput.itl"].Data.(metricdata.Histogram[float64]).DataPoints, 4)
	require.EqualValues(t, 20_000-3, histogram(t, all, "goodput.itl", "goodput.class=other").Count)
	require.EqualValues(t, 20_000-3, sum(t, all, "goodput.class.other"))
	require.EqualValues(t, 20_000, sum(t, all, "goodput.request.offered"))
}

// A set that names the class default leaves an SLO for all classes that it does not name: its metrics have their histograms, too.
func TestTheDefaultBesideAClassOfThatName(t *testing.T) {
	m, i, collect := setup(t, "itl p95 < 700ms", goodputotel.Config{Provider: "x"},
		monitor.WithClasses(slo.Set{"default": slo.MustParse("e2e p95 < 3s")}))
	for _, class := range []string{"", "chat"} {
		r := goodput.Record{Class: class, Outcome: goodput.Success, Tokens: []goodput.Token{{At: ms}, {At: 701 * ms}}, End: time.Second}
		m.Observe(&r)
		i.Observe(t.Context(), &r)
	}
	require.EqualValues(t, 1, within(t, histogram(t, collect(), "goodput.itl", "goodput.class=chat"), 0.7))
}

func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	m, err := monitor.New(slo.MustParse("ttft p95 < 1s"))
	require.NoError(t, err)
	for want, c := range map[string]goodputotel.Config{
		"Provider is missing":              {},
		"neither Server nor Client":        {Provider: "x", Side: 7},
		"ServerPort 70000 is no port":      {Provider: "x", ServerAddress: "a", ServerPort: 70000},
		"ServerPort without ServerAddress": {Provider: "x", ServerPort: 80},
		"MaxClasses -1 is negative":        {Provider: "x", MaxClasses: -1},
	} {
		_, err := goodputotel.New(m, c)
		require.ErrorContains(t, err, want)
	}
}

func TestTheSeriesAreThereFromTheStart(t *testing.T) {
	_, _, collect := setup(t, "ttft p95 < 1s", goodputotel.Config{Provider: "x"})
	all := collect()
	require.Zero(t, sum(t, all, "goodput.request.good", "goodput.class=default"))
	require.Zero(t, sum(t, all, "goodput.request.lost", "goodput.cause=ttft p95 < 1s"))
	require.Zero(t, sum(t, all, "goodput.request.active"))
}

// gauge is the value of the only point with these attributes.
func gauge[N int64 | float64](t *testing.T, all map[string]metricdata.Metrics, name string, attributes ...string) N {
	require.Contains(t, all, name)
	data, ok := all[name].Data.(metricdata.Gauge[N])
	require.True(t, ok, "%s is a %T", name, all[name].Data)
	var found []N
	for _, p := range data.DataPoints {
		if has(p.Attributes, attributes...) {
			found = append(found, p.Value)
		}
	}
	require.Len(t, found, 1, "%s %v", name, attributes)
	return found[0]
}

// The monitor's own budgets, burn rates and alert states are there as it says them, and what is absent is not 0.
func TestBudgetsAreTheMonitors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "ttft p95 < 800ms, error_rate < 1%"
		m, _, collect := setup(t, text, goodputotel.Config{Provider: "x"}, monitor.WithClasses(slo.Set{"batch": slo.MustParse(text)}))
		all := collect()
		require.NotContains(t, all, "goodput.burn_rate", "no requests, no rate")
		require.NotContains(t, all, "goodput.error_budget.left")
		objective := []string{"goodput.class=default", "goodput.slo=" + m.SLO("").Fingerprint(), "goodput.objective=ttft p95 < 800ms"}
		alert := append(objective[:3:3], "goodput.alert=GoodputBudgetBurnPage1h", "goodput.severity=page")
		require.EqualValues(t, 1, gauge[int64](t, all, "goodput.alert.state", append(alert, "goodput.state=no_data")...))
		for i := range 1000 {
			first := 100 * ms
			if i%10 < 8 {
				first = 2 * time.Second
			}
			m.Observe(&goodput.Record{Start: time.Now(), Tokens: []goodput.Token{{At: first}}, End: first, Outcome: goodput.Success})
			time.Sleep(time.Second)
		}
		all = collect()
		require.InDelta(t, 0.8/0.05, gauge[float64](t, all, "goodput.burn_rate", append(objective, "goodput.window=1h")...), 1e-9)
		require.InDelta(t, 1-0.8/0.05, gauge[float64](t, all, "goodput.error_budget.left", objective...), 1e-9)
		require.Zero(t, gauge[float64](t, all, "goodput.burn_rate", "goodput.class=default", "goodput.objective=error_rate < 1%", "goodput.window=1h"))
		for _, p := range all["goodput.burn_rate"].Data.(metricdata.Gauge[float64]).DataPoints {
			require.False(t, has(p.Attributes, "goodput.class=batch"), "it has had no request")
		}
		for _, state := range []string{"inactive", "pending", "resolved", "no_data"} {
			require.Zero(t, gauge[int64](t, all, "goodput.alert.state", append(alert, "goodput.state="+state)...))
		}
		require.EqualValues(t, 1, gauge[int64](t, all, "goodput.alert.state", append(alert, "goodput.state=firing")...))
		require.EqualValues(t, 1, gauge[int64](t, all, "goodput.alert.state", "goodput.class=batch", "goodput.slo="+m.SLO("").Fingerprint()+"/batch",
			"goodput.objective=ttft p95 < 800ms", "goodput.alert=GoodputBudgetBurnPage1h", "goodput.state=no_data"), "the same SLO, another budget")
	})
}

// A callback of the monitor's that panics is an error of the collection, and not the end of the process.
func TestACallbackThatPanics(t *testing.T) {
	reader := sdk.NewManualReader()
	m, err := monitor.New(slo.MustParse("service_ttft p95 < 800ms"), monitor.WithRules(monitor.Rule{Budget: 0.1, Long: time.Hour, Short: time.Minute}),
		monitor.WithPeriod(10*time.Hour), monitor.WithOnChange(func(monitor.Change) { panic("of the caller's") }))
	require.NoError(t, err)
	_, err = goodputotel.New(m, goodputotel.Config{Provider: "x", Side: goodputotel.Client, MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader))})
	require.NoError(t, err)
	m.Observe(&goodput.Record{Outcome: goodput.Success, Tokens: []goodput.Token{{At: ms}}, End: ms})
	var all metricdata.ResourceMetrics
	require.ErrorContains(t, reader.Collect(t.Context(), &all), "goodputotel: a callback of the monitor (WithOnChange, WithLogger) panicked: of the caller's")
	require.NoError(t, reader.Collect(t.Context(), &all), "the change was told")
}

// A metric of the library's own that the conventions name on the other side alone is said to be what it is.
func TestWordsOfAClientsFirstToken(t *testing.T) {
	_, i, collect := setup(t, "service_ttft p95 < 800ms", goodputotel.Config{Provider: "x", Side: goodputotel.Client})
	i.Observe(t.Context(), &goodput.Record{Outcome: goodput.Success, Tokens: []goodput.Token{{At: ms}}, End: ms})
	require.Equal(t, "Time to first token of successful requests, from the send.", collect()["goodput.service_ttft"].Description)
}

// Observe and the SDK beneath it allocate nothing once a class is known, be it in a sampled span, of which the SDK takes exemplars.
func TestObserveAllocatesNothing(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	for name, ctx := range map[string]context.Context{"no span": t.Context(), "span": trace.ContextWithSpanContext(t.Context(), span)} {
		for _, side := range []goodputotel.Side{goodputotel.Server, goodputotel.Client} {
			_, i, collect := setup(t, chatText, goodputotel.Config{Provider: "x", Side: side})
			r := &goodput.Record{Start: time.Now(), InputTokens: 9, Tokens: []goodput.Token{{At: ms}, {At: 50 * ms}}, End: time.Second, Outcome: goodput.Success}
			i.Observe(ctx, r)
			require.Zero(t, testing.AllocsPerRun(1000, func() { i.Observe(ctx, r) }), "%s, side %d", name, side)
			exemplars := histogram(t, collect(), "goodput.itl").Exemplars
			require.Equal(t, name == "span", len(exemplars) > 0)
		}
	}
}
