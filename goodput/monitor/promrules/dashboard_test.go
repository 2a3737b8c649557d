package promrules_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
)

type panels struct {
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat string }
	}
}

func dashboardOf(t *testing.T, p promrules.Plan) panels {
	rules, err := p.Rules()
	require.NoError(t, err)
	var d panels
	require.NoError(t, json.Unmarshal(rules.Dashboard(), &d))
	return d
}

func TestTheDashboardShowsWhatWasAskedFor(t *testing.T) {
	d := dashboardOf(t, plans["all kinds"])
	var titles []string
	places := map[[2]int]bool{}
	for _, p := range d.Panels {
		titles = append(titles, p.Title)
		places[[2]int{p.GridPos.X, p.GridPos.Y}] = true
	}
	require.Len(t, places, len(d.Panels), "no panel covers another")
	require.Subset(t, titles, []string{"Throughput and goodput", "Attainment", "Lost, by cause", "Burn rates", "Error budget left",
		"ttft p95 of successes, against ttft p95 < 800ms", "speed p99 of successes, against speed p99 >= 20tok/s"})
	require.NotContains(t, titles, "Throughput", "an engine's histograms have none")
	require.NotContains(t, dashboardOf(t, plans["vllm"]).Panels[0].Title, "Throughput")
}

// Prometheus' own parser takes every query of every dashboard: as recording rules, which promtool checks.
func TestPromtoolTakesTheQueries(t *testing.T) {
	tool := promtool(t)
	var group promrules.Group
	group.Name = "queries"
	for _, p := range plans {
		for _, panel := range dashboardOf(t, p).Panels {
			require.NotEmpty(t, panel.Targets)
			for _, target := range panel.Targets {
				require.NotEmpty(t, target.LegendFormat)
				group.Rules = append(group.Rules, promrules.Rule{Record: "query", Expr: target.Expr})
			}
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []promrules.Group{group}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "queries.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	out, err := exec.Command(tool, "check", "rules", "--lint=none", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
