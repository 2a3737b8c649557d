package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// strict refuses every key that a schema does not describe, so that one that is added to the output has to be described, too.
func strict(s any) {
	switch s := s.(type) {
	case map[string]any:
		if _, ok := s["properties"].(map[string]any); ok && s["type"] == "object" && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
		for _, v := range s {
			strict(v)
		}
	case []any:
		for _, v := range s {
			strict(v)
		}
	}
}

func compile(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	s, err := Schema(name, strict)
	require.NoError(t, err)
	return s
}

func parse(t testing.TB, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	return v
}

func requireValid(t testing.TB, s *jsonschema.Schema, text []byte) {
	t.Helper()
	require.NoError(t, s.Validate(parse(t, text)), "%.300s", text)
}

// vector is one of the shared cases: records and what judges them.
type vector struct {
	Name     string
	SLO      []string
	Classes  map[string][]string
	WindowNS []int64 `json:"window_ns"`
	Records  []json.RawMessage
}

// The report of every shared case is as the schema has it.
func TestReportsOfTheSharedCases(t *testing.T) {
	files, err := filepath.Glob("../../goodput/testdata/cases/*.json")
	require.NoError(t, err)
	require.Greater(t, len(files), 30)
	reports, records, documents := compile(t, "report.json"), compile(t, "records.json"), compile(t, "document.json")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var v vector
		require.NoError(t, json.Unmarshal(text, &v))
		var opts []goodput.Option
		if v.WindowNS != nil {
			opts = append(opts, goodput.WithWindow(time.Unix(0, v.WindowNS[0]), time.Unix(0, v.WindowNS[1])))
		}
		set := slo.Set{}
		for class, texts := range v.Classes {
			set[class] = slo.MustParse(strings.Join(texts, ", "))
		}
		by := slo.MustParse(strings.Join(v.SLO, ", "))
		a := goodput.NewAccumulator(by, append(opts, goodput.WithClasses(set))...)
		var lines bytes.Buffer
		w, err := goodput.NewRecordWriter(&lines, goodput.RecordsHeader{Start: time.Unix(0, 0), SLO: by, Classes: set, Confidence: 0.95, About: map[string]string{"case": v.Name}})
		require.NoError(t, err)
		for _, line := range v.Records {
			var r goodput.Record
			require.NoError(t, json.Unmarshal(line, &r), file)
			a.Observe(&r)
			require.NoError(t, w.Write(&r))
		}
		require.NoError(t, w.Close(goodput.RecordsFooter{Complete: true, Health: &goodput.ClientHealth{}, Warnings: []string{"a warning"}}))
		for line := range bytes.Lines(lines.Bytes()) {
			requireValid(t, records, line)
		}
		r := a.Report()
		out, err := json.Marshal(r)
		require.NoError(t, err)
		requireValid(t, reports, out)
		var d bytes.Buffer
		require.NoError(t, report.JSON(&d, report.Document{Title: v.Name, Runs: []report.Run{{Report: r}}}))
		requireValid(t, documents, d.Bytes())
	}
}

func TestASweepAndAComparison(t *testing.T) {
	shape, err := workload.NewSynthetic(workload.Shape{Input: workload.Fixed(200), Output: workload.Fixed(50)}, workload.WithSeed(1))
	require.NoError(t, err)
	plan := loadgen.Plan{SLO: slo.MustParse("ttft p95 < 500ms, speed p95 >= 10tok/s, e2e p95 < 1s + 40ms/token, error_rate < 1%"), Workload: shape.Requests(), Repeat: true,
		Warmup: 10 * time.Second, Duration: 30 * time.Second}
	c, err := capacity.Sweep(context.Background(), llmsim.Runner(llmsim.OPT13BTP4()), plan, capacity.Rates(16, 64, 96))
	require.NoError(t, err)
	out, err := json.Marshal(c)
	require.NoError(t, err)
	requireValid(t, compile(t, "curve.json"), out)

	var a, b []*goodput.Report
	for i := range curve.LeastRuns {
		one, other := *c.Points[0].Report, *c.Points[1].Report
		one.Window.To, other.Window.To = one.Window.To.Add(time.Duration(i)), other.Window.To.Add(time.Duration(i)) // else they are one run
		a, b = append(a, &one), append(b, &other)
	}
	x, err := curve.Compare(a, b)
	require.NoError(t, err)
	var d bytes.Buffer
	doc := report.Document{Title: "All", Curve: c, Comparison: x, Limit: &report.Limit{State: "found", Rate: 64, Lo: 62, Hi: 66, Confidence: 0.95, Recommended: 51.2, Headroom: 0.2, Warnings: []error{errors.New("a warning")}}}
	require.NoError(t, report.JSON(&d, doc))
	requireValid(t, compile(t, "document.json"), d.Bytes())
	again, err := report.ReadJSON(&d)
	require.NoError(t, err)
	require.Len(t, again.Curve.Points, 3)
}

// A client in real time says more of itself: its network, its CPUs, its runtime.
func TestARunOfAClient(t *testing.T) {
	target := loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, _ *loadgen.Trace) error {
		return nil
	})
	var lines bytes.Buffer
	result, err := loadgen.Run(context.Background(), target, loadgen.Plan{SLO: slo.MustParse("e2e p95 < 1s"), Concurrency: 2, Requests: 200, Records: &lines})
	require.NoError(t, err)
	require.NotNil(t, result.Report.Health)
	out, err := json.Marshal(result.Report)
	require.NoError(t, err)
	requireValid(t, compile(t, "report.json"), out)
	records := compile(t, "records.json")
	for line := range bytes.Lines(lines.Bytes()) {
		requireValid(t, records, line)
	}
}

// A validator with these schemas refuses what no report is.
func TestWhatIsNoReportIsRefused(t *testing.T) {
	a := goodput.NewAccumulator(slo.MustParse("e2e p95 < 1s, error_rate < 1%"))
	for i := range 30 {
		a.Observe(&goodput.Record{Start: time.Unix(int64(i), 0), End: time.Second, Outcome: goodput.Success})
	}
	text, err := json.Marshal(a.Report())
	require.NoError(t, err)
	s, err := Schema("report.json", nil)
	require.NoError(t, err)
	change := func(f func(map[string]any)) error {
		v := parse(t, text).(map[string]any)
		f(v)
		return s.Validate(v)
	}
	require.NoError(t, change(func(map[string]any) {}))
	require.NoError(t, change(func(r map[string]any) { r["a_new_key"] = 1.0 }), "keys are added")
	require.NoError(t, change(func(r map[string]any) { r["goodput_rps"] = nil }), "what there is not is null")
	for key := range parse(t, text).(map[string]any) {
		switch key {
		case "warnings", "objectives", "worst", "classes", "arrival_rps": // which there need not be
			continue
		}
		assert.Error(t, change(func(r map[string]any) { delete(r, key) }), "without %s", key)
	}
	for name, f := range map[string]func(map[string]any){
		"another format": func(r map[string]any) { r["format"] = "goodput-report/0" },
		"a verdict":      func(r map[string]any) { r["verdict"] = "passed" },
		"a share":        func(r map[string]any) { r["attainment"] = 95 },
		"a count":        func(r map[string]any) { r["offered"] = -1 },
		"a rate":         func(r map[string]any) { r["goodput_rps"] = "3/s" },
		"an outcome":     func(r map[string]any) { r["outcomes"] = map[string]any{"ok": 3} },
		"an interval":    func(r map[string]any) { r["attainment_ci"] = []any{0.1} },
		"an objective": func(r map[string]any) {
			delete(r["objectives"].(map[string]any)["e2e p95 < 1s"].(map[string]any), "share")
		},
		"a fingerprint": func(r map[string]any) { r["fingerprint"] = "0x1" },
		"a class":       func(r map[string]any) { r["classes"] = map[string]any{"a": map[string]any{}} },
	} {
		assert.Error(t, change(f), name)
	}
}
