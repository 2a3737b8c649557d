package goodputotel_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	proto "go.opentelemetry.io/proto/otlp/metrics/v1"
	wire "google.golang.org/protobuf/proto"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputotel"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// What goes over the wire is what an OTLP receiver reads: names, units, attributes, bounds and counts.
func TestAnOTLPReceiverReadsIt(t *testing.T) {
	received := make(chan *collector.ExportMetricsServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		req := new(collector.ExportMetricsServiceRequest)
		if err != nil || r.URL.Path != "/v1/metrics" || wire.Unmarshal(body, req) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		received <- req
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(server.URL+"/v1/metrics"),
		otlpmetrichttp.WithCompression(otlpmetrichttp.NoCompression))
	require.NoError(t, err)
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewPeriodicReader(exporter)))
	m, err := monitor.New(slo.MustParse(chatText))
	require.NoError(t, err)
	i, err := goodputotel.New(m, goodputotel.Config{MeterProvider: provider, Provider: "openai", Model: "gpt-4o"})
	require.NoError(t, err)
	var good, success int64
	judge := goodput.NewJudge(slo.MustParse(chatText), nil)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		r := request(rng)
		for len(r.Tokens) < 2 {
			r = request(rng)
		}
		m.Observe(r)
		i.Observe(t.Context(), r)
		if judge.Good(r) {
			good++
		}
		if r.Outcome == goodput.Success {
			success++
		}
	}
	require.NoError(t, provider.ForceFlush(t.Context()))
	req := <-received

	byName := map[string]*proto.Metric{}
	for _, resource := range req.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			require.Equal(t, goodputotel.ScopeName, scope.GetScope().GetName())
			for _, m := range scope.GetMetrics() {
				byName[m.GetName()] = m
			}
		}
	}
	require.Contains(t, byName, "goodput.request.good")
	points := byName["goodput.request.good"].GetSum()
	require.True(t, points.GetIsMonotonic())
	require.Equal(t, proto.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, points.GetAggregationTemporality())
	require.Len(t, points.GetDataPoints(), 1)
	require.Equal(t, good, points.GetDataPoints()[0].GetAsInt())
	require.NotZero(t, good)

	require.Contains(t, byName, "gen_ai.server.time_to_first_token")
	ttft := byName["gen_ai.server.time_to_first_token"]
	require.Equal(t, "s", ttft.GetUnit())
	p := ttft.GetHistogram().GetDataPoints()
	require.Len(t, p, 1)
	require.EqualValues(t, success, p[0].GetCount())
	require.Contains(t, p[0].GetExplicitBounds(), 0.8)
	attributes := map[string]string{}
	for _, kv := range p[0].GetAttributes() {
		attributes[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	require.Equal(t, map[string]string{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o"}, attributes)
	require.NoError(t, i.Close())
	require.NoError(t, provider.Shutdown(t.Context()))
}
