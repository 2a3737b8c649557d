package slo

import (
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const chatText = "ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%"

func TestPresets(t *testing.T) {
	for text, preset := range map[string]func() SLO{
		chatText: Chat,
		"ttft p95 < 300ms, e2e p95 < 2s, error_rate < 1%": CodeCompletion,
		"e2e p95 < 60s, error_rate < 1%":                  Summarization,
	} {
		s := preset()
		assert.NoError(t, s.Validate())
		assert.NotEmpty(t, s.Name)
		assert.Equal(t, text, s.String())
		assert.Equal(t, MustParse(text).Objectives, s.Objectives)
		s.Objectives[0].Percentile = P50
		assert.Equal(t, text, preset().String(), "each call gives an SLO of its own")
	}
}

func TestValidate(t *testing.T) {
	ok := MustParse("ttft p95 < 2s, tpot p95 < 50ms").Objectives
	for says, s := range map[string]SLO{
		"slo: Objectives: an SLO has at least one objective: write ttft p95 < 2s":                                                       {},
		`slo: Objectives[1], "ttft p95 < 3s": there is already "ttft p95 < 2s": keep one of the two`:                                    {Objectives: []Objective{ok[0], {TTFT, P95, Threshold{Limit: 3}}}},
		`slo: Objectives[1], "tpot p0 < 50ms": p0 asks nothing of anyone: a percentile is above 0 and below 100: write tpot p95 < 50ms`: {Objectives: []Objective{ok[0], {TPOT, 0, Threshold{Limit: 0.05}}}},
		`slo: Undefined["itl"]: there is no objective on itl: leave the rule out`:                                                       {Objectives: ok, Undefined: map[Metric]UndefinedRule{ITL: UndefinedHolds}},
		`slo: Undefined["tpot"]: the rule is holds, misses or excluded`:                                                                 {Objectives: ok, Undefined: map[Metric]UndefinedRule{TPOT: ""}},
		`slo: Undefined["e2e"]: e2e is never undefined for a request: leave the rule out`:                                               {Objectives: ok, Undefined: map[Metric]UndefinedRule{E2E: UndefinedHolds}},
		`slo: Undefined["topt"]: unknown metric (one of your own begins with x_): write tpot`:                                           {Objectives: ok, Undefined: map[Metric]UndefinedRule{"topt": UndefinedHolds}},
		`slo: Objectives: there are 65, at most 64 are allowed`:                                                                         {Objectives: make([]Objective, 65)},
	} {
		assert.EqualError(t, s.Validate(), says)
		_, err := s.MarshalText()
		assert.EqualError(t, err, says)
	}
	assert.NoError(t, SLO{Objectives: ok, Undefined: map[Metric]UndefinedRule{TPOT: UndefinedMisses}}.Validate())
}

func TestMetricsOfAnSLO(t *testing.T) {
	s := MustParse("ttft p95 < 2s, error_rate < 1%, ttft p50 < 1s, e2e p95 < 8s")
	assert.Equal(t, []Metric{TTFT, ErrorRate, E2E}, s.Metrics())
	assert.Empty(t, SLO{}.Metrics())
}

// The digits are those of the command line: printf %s TEXT | sha256sum | cut -c1-16
func TestFingerprint(t *testing.T) {
	assert.Equal(t, "fd9ba82174d5544d", Chat().Fingerprint())
	assert.Equal(t, Chat().Fingerprint(), MustParse("p95(ttft)<=0.8s;p95(e2e)<=8s;error_rate<=1.0%").Fingerprint(), "spelling and name do not matter")

	seen := map[string]string{}
	for _, text := range []string{
		chatText,
		"e2e p95 < 8s, ttft p95 < 800ms, error_rate < 1%", // books lost requests otherwise
		"ttft p99 < 800ms, e2e p95 < 8s, error_rate < 1%",
		"ttft p95 < 800.000001ms, e2e p95 < 8s, error_rate < 1%",
		"ttft p95 < 800ms, e2e p95 < 8s + 1ns/token, error_rate < 1%",
		"ttft p95 < 800ms, e2e p95 < 8s",
		"ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%, undefined ttft: excluded",
		"ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%, undefined ttft: holds",
	} {
		f := MustParse(text).Fingerprint()
		assert.Regexp(t, "^[0-9a-f]{16}$", f)
		assert.Empty(t, seen[f], text)
		seen[f] = text
	}
}

func TestEqual(t *testing.T) {
	named := MustParse(chatText)
	assert.True(t, named.Equal(Chat()))
	assert.False(t, named.Equal(CodeCompletion()))
	assert.True(t, SLO{}.Equal(SLO{}))
}

func TestIsZero(t *testing.T) {
	assert.True(t, SLO{}.IsZero())
	assert.False(t, Chat().IsZero())
	assert.False(t, SLO{Name: "chat"}.IsZero())

	out, err := json.Marshal(struct {
		SLO SLO `json:"slo,omitzero"`
	}{})
	require.NoError(t, err)
	assert.JSONEq(t, "{}", string(out))
}

func TestJSON(t *testing.T) {
	type config struct {
		SLO     SLO       `json:"slo"`
		One     Objective `json:"one"`
		Classes Set       `json:"classes"`
	}
	in := config{
		SLO:     MustParse("ttft p95 < 800ms, tpot p95 < 50ms, undefined tpot: excluded"),
		One:     Objective{E2E, P999, Threshold{1, 0.04}},
		Classes: Set{"batch": MustParse("e2e p95 < 60s")},
	}
	text, err := json.Marshal(in)
	require.NoError(t, err)
	assert.JSONEq(t, `{"slo":"ttft p95 < 800ms, tpot p95 < 50ms, undefined tpot: excluded",
		"one":"e2e p99.9 < 1s + 40ms/token","classes":{"batch":"e2e p95 < 60s"}}`, string(text))
	var out config
	require.NoError(t, json.Unmarshal(text, &out))
	assert.Equal(t, in, out)

	err = json.Unmarshal([]byte(`{"slo":"ttft < 2s"}`), &out)
	var at *ParseError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, "ttft", at.Piece)
	assert.Equal(t, in, out, "left as it was")

	_, err = json.Marshal(config{})
	assert.ErrorIs(t, err, ErrEmpty)
}

func TestYAML(t *testing.T) {
	type config struct {
		SLO     SLO            `yaml:"slo"`
		Classes map[string]SLO `yaml:"classes"`
	}
	var c config
	require.NoError(t, yaml.Unmarshal([]byte(`
slo: |
  ttft p95 < 2s
  undefined ttft: excluded
classes:
  batch: e2e p95 <= 1m, error_rate < 1%
`), &c))
	assert.Equal(t, config{
		SLO:     MustParse("ttft p95 < 2s, undefined ttft: excluded"),
		Classes: map[string]SLO{"batch": MustParse("e2e p95 < 60s, error_rate < 1%")},
	}, c)

	text, err := yaml.Marshal(c)
	require.NoError(t, err)
	var back config
	require.NoError(t, yaml.Unmarshal(text, &back))
	assert.Equal(t, c, back)

	assert.ErrorContains(t, yaml.Unmarshal([]byte("slo: avg(ttft) < 2s"), &c), "a mean hides the slow requests")
}

func TestFlag(t *testing.T) {
	newFlags := func() (*flag.FlagSet, *SLO) {
		flags := flag.NewFlagSet("bench", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		var s SLO
		flags.TextVar(&s, "slo", Chat(), "what good means")
		return flags, &s
	}
	flags, s := newFlags()
	require.NoError(t, flags.Parse(nil))
	assert.Equal(t, Chat(), *s)
	assert.Equal(t, chatText, flags.Lookup("slo").DefValue)

	flags, s = newFlags()
	require.NoError(t, flags.Parse([]string{"-slo", "e2e p95 < 5s"}))
	assert.Equal(t, MustParse("e2e p95 < 5s"), *s, "another SLO, and no longer called chat")

	flags, _ = newFlags()
	assert.ErrorContains(t, flags.Parse([]string{"-slo", "e2e < 5s"}), "the percentile is missing: write e2e p95 < 5s")

	var usage strings.Builder
	flags.SetOutput(&usage)
	flags.PrintDefaults()
	assert.Contains(t, usage.String(), chatText)
}

func TestUnmarshalLeavesNoOldRule(t *testing.T) {
	s := MustParse("tpot p95 < 50ms, undefined tpot: holds")
	require.NoError(t, s.UnmarshalText([]byte("tpot p95 < 50ms")))
	assert.Nil(t, s.Undefined)
}

func TestWordsOfTheRules(t *testing.T) {
	for _, c := range []struct {
		rule UndefinedRule
		m    Metric
		want string
	}{
		{"", TTFT, "each counts as a miss of"}, {"", TPOT, "an answer of one token counts as within, any other as a miss of"},
		{"", "x_score", "each counts as a miss of"}, {UndefinedMisses, Speed, "each counts as a miss of"},
		{UndefinedHolds, ITL, "each counts as within"}, {UndefinedExcluded, TTFO, "each is left out of"},
	} {
		require.Equal(t, c.want, c.rule.Words(c.m))
	}
}
