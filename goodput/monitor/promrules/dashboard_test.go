package promrules_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

type panels struct {
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr, LegendFormat, RefID string }

		FieldConfig struct {
			Defaults struct {
				Min        *float64
				Thresholds struct {
					Steps []struct {
						Color string
						Value *float64
					}
				}
			}
		}
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

// What a dashboard reads the rules record, under that very name; and Grafana can tell a panel's queries apart, and finds no variable in them.
func TestTheDashboardReadsWhatIsRecorded(t *testing.T) {
	many := promrules.Plan{Period: time.Hour + 1234567*time.Microsecond}
	for i := range 30 {
		many.SLO.Objectives = append(many.SLO.Objectives, slo.MustParse(fmt.Sprintf("x_%d p99 < 1", i)).Objectives...)
	}
	all := maps.Clone(plans)
	all["many"] = many
	name := regexp.MustCompile(`[a-z]+:goodput_[a-z_]+:[a-z_0-9]+`)
	for of, p := range all {
		rules, err := p.Rules()
		require.NoError(t, err)
		recorded := map[string]bool{}
		for _, r := range rules.Group.Rules {
			recorded[r.Record] = true
		}
		found := 0
		for _, panel := range dashboardOf(t, p).Panels {
			ids := map[string]bool{}
			for _, target := range panel.Targets {
				require.False(t, ids[target.RefID], "%s: %s has two queries %s", of, panel.Title, target.RefID)
				ids[target.RefID] = true
				require.NotRegexp(t, `\$|\[\[`, target.Expr, of)
				for _, read := range name.FindAllString(target.Expr, -1) {
					require.True(t, recorded[read], "%s: %s", of, read)
					found++
				}
			}
		}
		require.NotZero(t, found, of)
	}
}

// Nothing is cut off: a metric of the caller's can be below 0, and a budget overspent.
func TestTheDashboardShowsWhatIsBelowZero(t *testing.T) {
	from := map[string]bool{}
	for _, p := range dashboardOf(t, promrules.Plan{SLO: slo.MustParse("x_gain p95 < -3, ttft p95 < 1s")}).Panels {
		from[p.Title] = p.FieldConfig.Defaults.Min != nil
	}
	require.Equal(t, map[string]bool{
		"Throughput and goodput": true, "Attainment": false, "Lost, by cause": true, "Token throughput and token goodput": true, "Burn rates": true,
		"Error budget left": false, "x_gain p95 of successes, against x_gain p95 < -3": false, "ttft p95 of successes, against ttft p95 < 1s": true,
	}, from)
}

// Red is where the objective is missed: above the threshold, but of a speed below it.
func TestRedIsWhereItIsMissed(t *testing.T) {
	colours := map[string][]string{}
	for _, p := range dashboardOf(t, plans["all kinds"]).Panels {
		for _, s := range p.FieldConfig.Defaults.Thresholds.Steps {
			colours[p.Title] = append(colours[p.Title], s.Color)
		}
	}
	require.Equal(t, map[string][]string{
		"ttft p95 of successes, against ttft p95 < 800ms":      {"green", "red"},
		"speed p99 of successes, against speed p99 >= 20tok/s": {"red", "green"},
	}, colours)
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
