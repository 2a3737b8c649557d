package posthoc

import (
	"encoding/json"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Format is the value of an analysis's "format" key. It changes when a key changes its meaning.
const Format = "goodput-posthoc/1"

// When a figure was chosen: the value of the key "chosen" beside it.
const (
	chosenAfter  = "after the run"
	chosenBefore = "before the run"
)

func numbers(rows [][]float64) [][]*float64 {
	all := make([][]*float64, len(rows))
	for i, row := range rows {
		for _, v := range row {
			all[i] = append(all[i], figure.OrNull(v))
		}
	}
	return all
}

type fixedJSON struct {
	SLO         slo.SLO         `json:"slo"`
	Fingerprint string          `json:"fingerprint"`
	Verdict     goodput.Verdict `json:"verdict"`
	Offered     uint64          `json:"offered"`
	Good        uint64          `json:"good"`
	Attainment  *float64        `json:"attainment"`
	Goodput     *float64        `json:"goodput_rps"`
}

// MarshalJSON writes the result by the SLO that was fixed before the run, and then, under "chosen_after_the_run", what there
// is of other thresholds; beside each figure of that stands "chosen", which says it again. A number that there is not is
// null. Keys are added, and none changes its meaning without another Format.
func (a Analysis) MarshalJSON() ([]byte, error) {
	type chosen struct {
		Attainment float64         `json:"attainment_target"`
		Total      View            `json:"total"`
		Classes    map[string]View `json:"classes,omitempty"`
	}
	c := chosen{Attainment: a.Attainment, Total: a.Total}
	for _, v := range a.Classes {
		if c.Classes == nil {
			c.Classes = map[string]View{}
		}
		c.Classes[v.Class] = v
	}
	r := a.Report
	return json.Marshal(struct {
		Format string    `json:"format"`
		Fixed  fixedJSON `json:"fixed_before_the_run"`
		Chosen chosen    `json:"chosen_after_the_run"`
	}{Format, fixedJSON{r.SLO, r.Fingerprint, r.Verdict, r.Offered, r.Good, figure.OrNull(r.Attainment), figure.OrNull(r.GoodputRPS)}, c})
}

// MarshalJSON: see [Analysis.MarshalJSON].
func (v View) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Class      string     `json:"class,omitempty"`
		SLO        slo.SLO    `json:"slo"`
		Offered    uint64     `json:"offered"`
		Curve      []Step     `json:"scale_curve"`
		Tightest   Bound      `json:"tightest"`
		Attains    Bound      `json:"attains"`
		Objectives []Tightest `json:"objectives,omitempty"`
		Surface    *Surface   `json:"surface,omitempty"`
	}{v.Class, v.SLO, v.Offered, v.Curve, v.Tightest, v.Attains, v.Objectives, v.Surface})
}

// MarshalJSON: see [Analysis.MarshalJSON].
func (s Step) MarshalJSON() ([]byte, error) {
	chosen := chosenAfter
	if s.Scale == 1 {
		chosen = chosenBefore
	}
	return json.Marshal(struct {
		Chosen     string   `json:"chosen"`
		Scale      float64  `json:"scale"`
		Good       uint64   `json:"good"`
		Attainment *float64 `json:"attainment"`
		Goodput    *float64 `json:"goodput_rps"`
		Tokens     *float64 `json:"token_goodput_tps"`
		Holds      bool     `json:"holds"`
		Objectives []Share  `json:"objectives,omitempty"`
	}{chosen, s.Scale, s.Good, figure.OrNull(s.Attainment), figure.OrNull(s.GoodputRPS), figure.OrNull(s.TokenGoodputTPS), s.Holds, s.Objectives})
}

// MarshalJSON: see [Analysis.MarshalJSON].
func (s Share) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		N      uint64   `json:"n"`
		Count  uint64   `json:"count"`
		Share  *float64 `json:"share"`
		Holds  bool     `json:"holds"`
		Scales bool     `json:"scales"`
	}{s.N, s.Count, figure.OrNull(s.Share), s.Holds, s.Scales})
}

type boundJSON struct {
	Chosen string   `json:"chosen"`
	State  State    `json:"state"`
	Scale  *float64 `json:"scale"`
}

func (b Bound) json() boundJSON { return boundJSON{chosenAfter, b.State, figure.OrNull(b.Scale)} }

// MarshalJSON: see [Analysis.MarshalJSON].
func (b Bound) MarshalJSON() ([]byte, error) { return json.Marshal(b.json()) }

// MarshalJSON: see [Analysis.MarshalJSON].
func (t Tightest) MarshalJSON() ([]byte, error) {
	j := struct {
		Objective slo.Objective `json:"objective"`
		boundJSON
		At string `json:"at,omitempty"`
	}{Objective: t.Objective, boundJSON: t.Bound.json()}
	if t.At.Metric != "" {
		j.At = t.At.String()
	}
	return json.Marshal(j)
}

// MarshalJSON: see [Analysis.MarshalJSON].
func (s Surface) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Chosen     string       `json:"chosen"`
		TTFT       []float64    `json:"ttft_s"`
		TPOT       []float64    `json:"tpot_s_per_token"`
		Own        [2]int       `json:"own"`
		Good       [][]uint64   `json:"good"`
		Attainment [][]*float64 `json:"attainment"`
		Goodput    [][]*float64 `json:"goodput_rps"`
	}{chosenAfter, s.TTFT, s.TPOT, s.Own, s.Good, numbers(s.Attainment), numbers(s.GoodputRPS)})
}
