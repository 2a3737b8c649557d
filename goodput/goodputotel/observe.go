package goodputotel

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Observe enters a record into the histograms. It counts nothing, for that the monitor does, which has to be given the
// record too. A request that never ended (dropped, unfinished) has no duration and is in none. It keeps nothing of the
// record. Of ctx the SDK may take an exemplar. It allocates nothing but for the first record of a class, and neither does the
// OpenTelemetry SDK, in a sampled span or without.
func (i *Instruments) Observe(ctx context.Context, r *goodput.Record) {
	outcome := r.Outcome
	if !outcome.Valid() {
		outcome = goodput.ServerError
	}
	if !outcome.Throughput() {
		return
	}
	of, _ := i.classes.Of(r.Class, &i.mu, i.newClass)
	values := r.Measure()
	record := func(h metric.Float64Histogram, m slo.Metric, opts []metric.RecordOption) {
		if v, ok := values.Value(m); ok {
			h.Record(ctx, v, opts...)
		}
	}
	if i.config.Side == Server {
		record(i.server.duration, slo.ServiceE2E, of.byOutcome[outcome])
	} else {
		record(i.client.duration, slo.ServiceE2E, of.byOutcome[outcome])
		if n := values.InputTokens(); n > 0 {
			i.client.tokens.Record(ctx, int64(n), of.input...)
		}
		if n := values.OutputTokens(); n > 0 {
			i.client.tokens.Record(ctx, int64(n), of.output...)
		}
	}
	if outcome != goodput.Success {
		return
	}
	if i.config.Side == Server {
		record(i.server.firstToken, slo.ServiceTTFT, of.byOutcome[outcome])
		record(i.server.perToken, slo.TPOT, of.byOutcome[outcome])
	}
	for _, own := range i.own {
		record(own.histogram, own.metric, of.own)
	}
}
