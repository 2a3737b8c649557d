package goodputotel_test

import (
	"context"
	"fmt"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/goodputotel"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

func Example() {
	m, err := monitor.New(slo.MustParse("ttft p95 < 800ms"))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := sdk.NewManualReader() // a service has a periodic one, with an OTLP exporter
	i, err := goodputotel.New(m, goodputotel.Config{
		MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader)), Provider: "openai", Model: "gpt-4o",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer i.Close()

	ctx := context.Background()
	for _, first := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second} {
		r := &goodput.Record{
			Start: time.Now(), Tokens: []goodput.Token{{At: first, N: 1}}, End: first + time.Second, Outcome: goodput.Success,
		}
		m.Observe(r)
		i.Observe(ctx, r)
	}

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			if m.Name == "gen_ai.server.time_to_first_token" {
				fmt.Println(m.Name, data.DataPoints[0].Count)
			}
		case metricdata.Sum[int64]:
			if m.Name == "goodput.request.offered" || m.Name == "goodput.request.good" {
				fmt.Println(m.Name, data.DataPoints[0].Value)
			}
		}
	}
	// Unordered output:
	// gen_ai.server.time_to_first_token 3
	// goodput.request.offered 3
	// goodput.request.good 2
}
