package openslo_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/monitor/openslo"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

// written is the objects of a document, as any reader of YAML sees them.
func written(t *testing.T, d openslo.Document) (all []map[string]any) {
	text, err := d.YAML()
	require.NoError(t, err)
	for dec := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o map[string]any
		if dec.Decode(&o) != nil {
			return all
		}
		all = append(all, o)
	}
}

// at walks into nested mappings and lists.
func at(t *testing.T, v any, path ...any) any {
	for _, p := range path {
		switch key := p.(type) {
		case string:
			m, ok := v.(map[string]any)
			require.True(t, ok, "%v in %v", p, v)
			v = m[key]
		case int:
			l, ok := v.([]any)
			require.True(t, ok && key < len(l), "%v in %v", p, v)
			v = l[key]
		}
	}
	return v
}

func TestEachObjectiveIsAnSLO(t *testing.T) {
	all := written(t, openslo.Document{SLO: slo.MustParse("ttft p95 < 800ms, error_rate < 1%, attainment >= 97.5%, speed p99.9 >= 20tok/s"), Service: "chat", Period: 90 * time.Minute})
	require.Len(t, all, 5)
	require.Equal(t, "Service", all[0]["kind"])
	require.Equal(t, "chat", at(t, all[0], "metadata", "name"))
	names := map[any]bool{}
	for i, want := range []float64{0.95, 0.99, 0.975, 0.999} {
		o := all[i+1]
		require.Equal(t, "openslo/v1", o["apiVersion"])
		require.Equal(t, "SLO", o["kind"])
		require.Regexp(t, regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`), at(t, o, "metadata", "name"), "RFC 1123")
		names[at(t, o, "metadata", "name")] = true
		require.Equal(t, "Occurrences", at(t, o, "spec", "budgetingMethod"))
		require.Equal(t, []any{map[string]any{"duration": "90m", "isRolling": true}}, at(t, o, "spec", "timeWindow"))
		require.Equal(t, want, at(t, o, "spec", "objectives", 0, "target"))
		require.Equal(t, true, at(t, o, "spec", "indicator", "spec", "ratioMetric", "counter"))
		require.Equal(t, "Prometheus", at(t, o, "spec", "indicator", "spec", "ratioMetric", "good", "metricSource", "type"))
	}
	require.Len(t, names, 4, "each has a name of its own")
	for d, want := range map[time.Duration]string{0: "30d", 28 * 24 * time.Hour: "28d", 36 * time.Hour: "36h"} {
		all := written(t, openslo.Document{SLO: slo.MustParse("ttft p95 < 1s"), Period: d})
		require.Equal(t, want, at(t, all[1], "spec", "timeWindow", 0, "duration"))
	}
}

// The same objective of two jobs is two objects.
func TestTheSameObjectiveOfTwoJobsIsNotOne(t *testing.T) {
	names := map[any]bool{}
	for _, job := range []string{"a", "b"} {
		o := written(t, openslo.Document{SLO: slo.MustParse("ttft p95 < 1s"), Match: map[string]string{"job": job}})[1]
		names[at(t, o, "metadata", "name")] = true
	}
	names[at(t, written(t, openslo.Document{SLO: slo.MustParse("ttft p95 < 1s")})[1], "metadata", "name")] = true
	require.Len(t, names, 3)
}

// A displayName has at most 63 characters to OpenSLO's own validator (OpenSLO/go-sdk, pkg/openslo/v1/objects.go), and a longer objective none.
func TestDisplayNamesAreShort(t *testing.T) {
	for text, want := range map[string]any{
		"x_" + strings.Repeat("n", 53) + " p95 < 1":   "x_" + strings.Repeat("n", 53) + " p95 < 1", // 63
		"x_" + strings.Repeat("n", 54) + " p95 < 1":   nil,
		"x_" + strings.Repeat("n", 62) + " p99.9 < 1": nil,
	} {
		o := written(t, openslo.Document{SLO: slo.MustParse(text)})[1]
		require.Equal(t, want, at(t, o, "metadata", "displayName"))
		require.Equal(t, want, at(t, o, "spec", "indicator", "metadata", "displayName"))
		require.Equal(t, want, at(t, o, "spec", "objectives", 0, "displayName"))
		require.Equal(t, text, at(t, o, "metadata", "annotations", "goodputkit.github.io/objective"))
	}
}

// The queries are on what the recording rules are computed from.
func TestTheQueriesAreTheRules(t *testing.T) {
	s := slo.MustParse("e2e p90 < 1s + 40ms/token, error_rate < 1%")
	s.Name = `a "quoted" name`
	match := map[string]string{"job": "api", "cluster": `a"b`}
	rules, err := promrules.Plan{SLO: s, Match: match}.Rules()
	require.NoError(t, err)
	recorded := map[string]bool{}
	for _, r := range rules.Group.Rules {
		recorded[normal(r.Expr)] = true
	}
	all := written(t, openslo.Document{SLO: s, Match: match})
	for i := range s.Objectives {
		ratio := at(t, all[i+1], "spec", "indicator", "spec", "ratioMetric")
		query := func(of string) string { return at(t, ratio, of, "metricSource", "spec", "query").(string) }
		over := func(q string) string { return normal(fmt.Sprintf("sum(increase(%s[30d]))", q)) }
		require.True(t, recorded[over(query("total"))], "%s in %v", over(query("total")), recorded)
		require.True(t, recorded[normal(fmt.Sprintf("1 - (%s) / (%s > 0)", over(query("good")), over(query("total"))))])
	}
}

// normal sorts the matchers of each selector.
func normal(expr string) string {
	return regexp.MustCompile(`\{[^}]*\}`).ReplaceAllStringFunc(expr, func(sel string) string {
		all := regexp.MustCompile(`[a-z]+="(?:[^"\\]|\\.)*"`).FindAllString(sel, -1)
		rest := regexp.MustCompile(`[a-z]+="(?:[^"\\]|\\.)*"`).ReplaceAllString(sel, "")
		for i := range all {
			for j := range i {
				if all[j] > all[i] {
					all[i], all[j] = all[j], all[i]
				}
			}
		}
		return rest + strings.Join(all, ";")
	})
}

// Prometheus' own parser takes them.
func TestPromtoolTakesTheQueries(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("GOODPUT_PROMETHEUS") == "required" {
			require.NoError(t, err)
		}
		t.Skip("no promtool here: ", err)
	}
	s := slo.MustParse("ttft p95 < 800µs, x_cost p99 < -0.5, attainment >= 90%")
	s.Name = "b\\\"\n\u00e9"
	var group promrules.Group
	group.Name = "queries"
	for i, o := range written(t, openslo.Document{SLO: s, Match: map[string]string{"job": "a\\b"}})[1:] {
		for _, of := range []string{"good", "total"} {
			query := at(t, o, "spec", "indicator", "spec", "ratioMetric", of, "metricSource", "spec", "query")
			group.Rules = append(group.Rules, promrules.Rule{Record: fmt.Sprintf("query%d_%s", i, of), Expr: fmt.Sprintf("sum(increase(%s[5m]))", query)})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []promrules.Group{group}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "queries.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.Command(tool, "check", "rules", "--lint=none", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// randomSLO has objectives of all kinds, rules for undefined values, and a name that YAML could take for something else.
func randomSLO(rng *rand.Rand) slo.SLO {
	pick := func(all ...string) string { return all[rng.IntN(len(all))] }
	for {
		var parts []string
		for range 1 + rng.IntN(8) {
			p := pick("p50", "p90", "p95", "p99.9", "p99.9999", "p51.25")
			parts = append(parts, pick(
				fmt.Sprintf("%s %s < %dns", pick("ttft", "ttfo", "tpot", "itl", "e2e", "lag", "service_ttft", "service_e2e"), p, 1+rng.Int64N(int64(time.Hour))),
				fmt.Sprintf("e2e %s < %dms + %dus/token", p, rng.IntN(9000), 1+rng.IntN(90_000)),
				fmt.Sprintf("speed %s >= %gtok/s", p, float64(1+rng.IntN(1e6))/1e3),
				fmt.Sprintf("error_rate < %s%%", pick("1", "0.1", "0.0000001", "33.3333333")),
				fmt.Sprintf("attainment >= %s%%", pick("90", "99.9999999", "0.5")),
				fmt.Sprintf("x_%s %s < %g", pick("cost", "a_b", strings.Repeat("long", 10), "9"), p, rng.NormFloat64()),
			))
		}
		if rng.IntN(3) == 0 {
			parts = append(parts, "undefined "+pick("tpot", "itl", "ttft", "speed")+": "+pick("holds", "misses", "excluded"))
		}
		if s, err := slo.Parse(strings.Join(parts, ", ")); err == nil {
			s.Name = pick("", "chat", "yes", "~", "1e3", "a: b #c", "- x", " edge ", "\n", "日本語", "\x00\x07\x7f", "\u0085\u2028", "\ufeffbom", "<<", "!!str x", "&a *a", "'\"", strings.Repeat("w ", 200))
			return s
		}
	}
}

// What is written is read back as it was.
func TestWhatIsWrittenIsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		d := openslo.Document{SLO: randomSLO(rng), Service: []string{"chat", "a-1"}[rng.IntN(2)], Period: time.Duration(1+rng.IntN(50_000)) * time.Minute}
		text, err := d.YAML()
		require.NoError(t, err)
		got, err := openslo.Read(bytes.NewReader(text))
		require.NoError(t, err, "%s", text)
		require.Equal(t, d, got)
	}
}

// The greatest SLO that there can be fits into a file.
func TestTheGreatestSLOIsWritten(t *testing.T) {
	var parts []string
	for i := range slo.MaxObjectives {
		parts = append(parts, fmt.Sprintf("x_%0*d p99.%04d < -1.2345678901234567e-123", slo.MaxMetricName-2, i, i+1))
	}
	d := openslo.Document{SLO: slo.MustParse(strings.Join(parts, ", ")), Service: "s", Period: time.Hour}
	text, err := d.YAML()
	require.NoError(t, err)
	got, err := openslo.Read(bytes.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, d, got)
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	s := slo.MustParse("ttft p95 < 1s")
	bad, long := s, s
	bad.Name, long.Name = "\xff", strings.Repeat("x", openslo.MaxFile)
	for want, d := range map[string]openslo.Document{
		"SLO: ":                                 {},
		"no UTF-8":                              {SLO: bad},
		"Period: 1m30s is no whole":             {SLO: s, Period: 90 * time.Second},
		"Period: -1h0m0s":                       {SLO: s, Period: -time.Hour},
		`Service: "Chat" is no name`:            {SLO: s, Service: "Chat"},
		"Service: \"" + strings.Repeat("s", 64): {SLO: s, Service: strings.Repeat("s", 64)},
		`Match: "slo" is no label name`:         {SLO: s, Match: map[string]string{"slo": "x"}},
		"Match: \"__name__\" is no label name":  {SLO: s, Match: map[string]string{"__name__": "x"}},
		"the value of a is no UTF-8":            {SLO: s, Match: map[string]string{"a": "\uFFFD"}},
		"the value of job is no UTF-8":          {SLO: s, Match: map[string]string{"job": "\xff"}},
		"at most 1048576 are allowed":           {SLO: long},
	} {
		_, err := d.YAML()
		require.ErrorIs(t, err, openslo.ErrInexpressible, want)
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 500)
	}
}
