package compat

import (
	"encoding/json"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Format is the value of a comparison's "format" key. It changes when a key changes its meaning.
const Format = "goodput-compat/1"

type scoreJSON struct {
	Tool        string            `json:"tool"`
	Commit      string            `json:"commit,omitempty"` // at which the rules were read
	Requests    uint64            `json:"requests"`
	Completed   uint64            `json:"completed"`
	Failed      uint64            `json:"failed"`
	Good        uint64            `json:"good"`
	Attainment  *float64          `json:"attainment"`
	DurationS   *float64          `json:"duration_s"`
	Throughput  *float64          `json:"throughput_rps"`
	Goodput     *float64          `json:"goodput_rps"`
	OutputTPS   *float64          `json:"output_tps"`
	TotalTPS    *float64          `json:"total_tps"`
	TTFT        *distributionJSON `json:"ttft,omitempty"`
	TPOT        *distributionJSON `json:"tpot,omitempty"`
	ITL         *distributionJSON `json:"itl,omitempty"`
	E2E         *distributionJSON `json:"e2e,omitempty"`
	NotJudged   []slo.Objective   `json:"not_judged,omitempty"`
	Valid       *bool             `json:"valid,omitempty"`
	Differences []differenceJSON  `json:"differences,omitempty"`
}

type distributionJSON struct {
	N    uint64   `json:"n"`
	Mean *float64 `json:"mean"`
	P50  *float64 `json:"p50"`
	P90  *float64 `json:"p90"`
	P95  *float64 `json:"p95"`
	P99  *float64 `json:"p99"`
}

type differenceJSON struct {
	Kind     Kind     `json:"kind"`
	Text     string   `json:"text"`
	Requests uint64   `json:"requests,omitempty"`
	Points   *float64 `json:"attainment,omitempty"`
	Rate     *float64 `json:"rate,omitempty"`
}

func (d Distribution) json() *distributionJSON {
	if d.N == 0 {
		return nil
	}
	return &distributionJSON{d.N, figure.OrNull(d.Mean), figure.OrNull(d.P50), figure.OrNull(d.P90), figure.OrNull(d.P95), figure.OrNull(d.P99)}
}

func (s *Score) json() scoreJSON {
	out := scoreJSON{Tool: string(s.Tool), Requests: s.Requests, Completed: s.Completed, Failed: s.Failed, Good: s.Good, Attainment: figure.OrNull(s.Attainment),
		DurationS: figure.OrNull(s.DurationS), Throughput: figure.OrNull(s.ThroughputRPS), Goodput: figure.OrNull(s.GoodputRPS), OutputTPS: figure.OrNull(s.OutputTPS),
		TotalTPS: figure.OrNull(s.TotalTPS), TTFT: s.TTFT.json(), TPOT: s.TPOT.json(), ITL: s.ITL.json(), E2E: s.E2E.json(), NotJudged: s.NotJudged}
	if out.Tool == "" {
		out.Tool = "goodput"
	}
	if b, ok := Rules(s.Tool); ok {
		out.Commit = b.Commit
	}
	if s.Server != nil {
		valid := s.Server.Valid()
		out.Valid = &valid
	}
	for _, d := range s.Differences {
		out.Differences = append(out.Differences, differenceJSON{d.Kind, d.Text, d.Requests, figure.OrNull(d.Points), figure.OrNull(d.Rate)})
	}
	return out
}

// MarshalJSON gives the comparison with its format, the SLO, the scores ("goodput", ours, first), the warnings as texts,
// and our report in full. A figure that there is not is null. Times are in seconds, rates per second, shares between 0
// and 1; a difference's "attainment" and "rate" are its Points and Rate.
func (c Comparison) MarshalJSON() ([]byte, error) {
	out := struct {
		Format   string          `json:"format"`
		SLO      slo.SLO         `json:"slo"`
		Scores   []scoreJSON     `json:"scores"`
		Warnings []string        `json:"warnings,omitempty"`
		Report   *goodput.Report `json:"report"`
	}{Format: Format, SLO: c.SLO, Report: c.Report}
	for _, s := range append([]Score{c.Ours}, c.Scores...) {
		out.Scores = append(out.Scores, s.json())
	}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	return json.Marshal(out)
}
