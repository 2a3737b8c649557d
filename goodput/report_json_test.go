package goodput

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func richReport() *Report {
	s := slo.MustParse("ttft p95 < 100ms, e2e p99 < 1s, error_rate < 1%, x_a p90 < 1")
	s.Name = "interactive"
	a := NewAccumulator(s, WithClasses(slo.Set{"chat": slo.MustParse("itl p95 < 1ms, attainment >= 90%"), "idle": s}),
		WithWindow(epoch, time.Time{}))
	for i := range 300 {
		r := request(time.Duration(i-50)*100*ms, time.Duration(i)*4*ms)
		r.Tokens = tokens(r.End/3, r.End/2)
		r.Outcome = Outcomes()[i%7*(i%2)]
		r.Class = []string{"", "chat", "other thing"}[i%3]
		r.Custom = map[slo.Metric]float64{"x_a": float64(i % 3)}
		r.Detail = "line\n\"quoted\"\xff"
		a.Observe(r)
	}
	a.Observe(&Record{})
	r := a.Report()
	r.Health = &ClientHealth{Verdict: Valid, Offered: 300, Sent: 299}
	return r
}

func TestReportJSONRoundTrip(t *testing.T) {
	r := richReport()
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(b, &back))
	again, err := json.Marshal(&back)
	require.NoError(t, err)
	assert.JSONEq(t, string(b), string(again))
	assert.Equal(t, string(b), string(again), "byte for byte, the order of objectives too")
	assert.Equal(t, "interactive", back.SLO.Name)
	assert.True(t, back.SLO.Equal(r.SLO))
	assert.Equal(t, r.Window, back.Window)
	assert.Equal(t, r.GoodputRPS, back.GoodputRPS)
	assert.True(t, math.IsNaN(back.Classes["idle"].Attainment))
	require.Equal(t, len(r.Warnings), len(back.Warnings))
	for i, w := range r.Warnings {
		for _, kind := range warningKinds {
			assert.Equal(t, errors.Is(w, kind), errors.Is(back.Warnings[i], kind), "%v is %v", w, kind)
		}
	}
}

// The keys are a promise: this list only ever grows.
func TestReportJSONKeys(t *testing.T) {
	m := jsonOf(t, richReport())
	for _, key := range strings.Fields(`format slo slo_name fingerprint warnings health verdict confidence window window_s offered outcomes
		good late undecided attainment attainment_ci95 attainment_ci attainment_bounds offered_rps arrival_rps throughput_rps success_rps goodput_rps
		lost_rps lost dropped_rps unfinished_rps output_tps token_goodput_tps total_tps total_token_goodput_tps flow percentiles worst
		notes classes timeline`) {
		assert.Contains(t, m, key)
	}
	assert.Equal(t, ReportFormat, m["format"])
	chat := m["classes"].(map[string]any)["chat"].(map[string]any)
	objectives := chat["objectives"].(map[string]any)
	for _, key := range strings.Fields("n within share holds verdict target ci inflation effective_n batches missed missed_rps") {
		assert.Contains(t, objectives["itl p95 < 1ms"], key)
	}
	assert.NotContains(t, objectives["attainment >= 90%"], "within")
	for _, key := range strings.Fields("n p50 p90 p95 p99 min max mean ci95") {
		assert.Contains(t, m["percentiles"].(map[string]any)["e2e"], key)
	}
	assert.NotContains(t, m["percentiles"].(map[string]any)["e2e"], "p99_9", "the sample does not carry it")
	for _, key := range strings.Fields("kind from to to_included open") {
		assert.Contains(t, m["window"], key)
	}
	for _, key := range strings.Fields("class start outcome excess missed values input_tokens output_tokens detail") {
		assert.Contains(t, m["worst"].([]any)[0], key)
	}
	for _, key := range strings.Fields("from width_ns slices") {
		assert.Contains(t, m["timeline"], key)
	}
	for _, key := range strings.Fields("offered ended success good output_tokens good_output_tokens") {
		assert.Contains(t, m["timeline"].(map[string]any)["slices"].([]any)[0], key)
	}
}

func TestReportJSONRefuses(t *testing.T) {
	for _, text := range []string{`{}`, `{"format":"other"}`, `[]`, `{"format":"goodput-report/1","slo":"nonsense"}`,
		`{"format":"goodput-report/1","objectives":{"nonsense":{}}}`, `{"format":"goodput-report/1","objectives":[]}`,
		`{"format":"goodput-report/1","attainment":"x"}`, `{"format":"goodput-report/1","outcomes":{"nonsense":1}}`} {
		r := Report{Offered: 7}
		assert.Error(t, json.Unmarshal([]byte(text), &r), text)
		assert.EqualValues(t, 7, r.Offered, "left as it was")
	}
}

func TestReportJSONRefusesAClassWithoutAReport(t *testing.T) {
	var r Report
	err := json.Unmarshal([]byte(`{"format":"goodput-report/1","classes":{"a":null}}`), &r)
	require.ErrorContains(t, err, `the class "a" is null`)
	assert.Zero(t, r)
}
