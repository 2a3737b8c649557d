package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// number is a float64 that is null in JSON where it is not finite.
type number float64

var noNumber = number(math.NaN())

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func (n *number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = noNumber
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// interval is null in JSON where neither bound is finite.
type interval [2]number

func newInterval(v [2]float64) interval { return interval{number(v[0]), number(v[1])} }

func (v interval) floats() [2]float64 { return [2]float64{float64(v[0]), float64(v[1])} }

func (v interval) MarshalJSON() ([]byte, error) {
	lo, err := v[0].MarshalJSON()
	if err != nil {
		return nil, err
	}
	hi, err := v[1].MarshalJSON()
	if err != nil {
		return nil, err
	}
	if string(lo) == "null" && string(hi) == "null" {
		return lo, nil
	}
	return fmt.Appendf(nil, "[%s,%s]", lo, hi), nil
}

func (v *interval) UnmarshalJSON(b []byte) error {
	*v = interval{noNumber, noNumber}
	if string(b) == "null" {
		return nil
	}
	return json.Unmarshal(b, (*[2]number)(v))
}

// reportJSON is a Report as it stands in JSON. The order is that in which a person reads.
type reportJSON struct {
	Format           string                  `json:"format"`
	Class            string                  `json:"class,omitempty"`
	SLO              slo.SLO                 `json:"slo,omitzero"`
	SLOName          string                  `json:"slo_name,omitempty"`
	Fingerprint      string                  `json:"fingerprint,omitempty"`
	Warnings         []string                `json:"warnings,omitempty"`
	Health           *ClientHealth           `json:"health,omitempty"`
	Verdict          Verdict                 `json:"verdict"`
	Confidence       number                  `json:"confidence"`
	Window           Window                  `json:"window"`
	WindowS          number                  `json:"window_s"`
	Offered          uint64                  `json:"offered"`
	Outcomes         map[Outcome]uint64      `json:"outcomes"`
	Good             uint64                  `json:"good"`
	Late             uint64                  `json:"late"`
	Undecided        uint64                  `json:"undecided"`
	Attainment       number                  `json:"attainment"`
	AttainmentCI95   interval                `json:"attainment_ci95"`
	AttainmentCI     interval                `json:"attainment_ci"`
	AttainmentBounds interval                `json:"attainment_bounds"`
	OfferedRPS       number                  `json:"offered_rps"`
	ArrivalRPS       number                  `json:"arrival_rps"`
	ThroughputRPS    number                  `json:"throughput_rps"`
	SuccessRPS       number                  `json:"success_rps"`
	GoodputRPS       number                  `json:"goodput_rps"`
	LostRPS          map[string]number       `json:"lost_rps"`
	Lost             map[string]uint64       `json:"lost"`
	DroppedRPS       number                  `json:"dropped_rps"`
	UnfinishedRPS    number                  `json:"unfinished_rps"`
	OutputTPS        number                  `json:"output_tps"`
	TokenGoodputTPS  number                  `json:"token_goodput_tps"`
	TotalTPS         number                  `json:"total_tps"`
	TotalGoodputTPS  number                  `json:"total_token_goodput_tps"`
	Flow             Flow                    `json:"flow"`
	Objectives       Objectives              `json:"objectives,omitempty"`
	Percentiles      map[string]Distribution `json:"percentiles"`
	Worst            []WorstRequest          `json:"worst,omitempty"`
	Notes            Notes                   `json:"notes"`
	Classes          map[string]*Report      `json:"classes,omitempty"`
	Timeline         Timeline                `json:"timeline"`
}

// MarshalJSON writes the report with the keys in the fields' tags.
func (r Report) MarshalJSON() ([]byte, error) {
	j := reportJSON{
		Format: r.Format, Class: r.Class, SLO: r.SLO, SLOName: r.SLOName, Fingerprint: r.Fingerprint, Health: r.Health,
		Verdict: r.Verdict, Confidence: number(r.Confidence), Window: r.Window, WindowS: number(r.WindowS),
		Offered: r.Offered, Outcomes: r.Outcomes, Good: r.Good, Late: r.Late, Undecided: r.Undecided,
		Attainment: number(r.Attainment), AttainmentCI95: newInterval(r.AttainmentCI95),
		AttainmentCI: newInterval(r.AttainmentCI), AttainmentBounds: newInterval(r.AttainmentBounds),
		OfferedRPS: number(r.OfferedRPS), ArrivalRPS: number(r.ArrivalRPS), ThroughputRPS: number(r.ThroughputRPS), SuccessRPS: number(r.SuccessRPS),
		GoodputRPS: number(r.GoodputRPS), LostRPS: map[string]number{}, Lost: r.Lost,
		DroppedRPS: number(r.DroppedRPS), UnfinishedRPS: number(r.UnfinishedRPS), OutputTPS: number(r.OutputTPS),
		TokenGoodputTPS: number(r.TokenGoodputTPS), TotalTPS: number(r.TotalTPS), TotalGoodputTPS: number(r.TotalGoodputTPS),
		Flow: r.Flow, Objectives: r.Objectives, Percentiles: r.Percentiles, Worst: r.Worst, Notes: r.Notes,
		Classes: r.Classes, Timeline: r.Timeline,
	}
	for _, w := range r.Warnings {
		j.Warnings = append(j.Warnings, w.Error())
	}
	for cause, v := range r.LostRPS {
		j.LostRPS[cause] = number(v)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote. A report of another format is an error.
func (r *Report) UnmarshalJSON(b []byte) error {
	j := reportJSON{ArrivalRPS: noNumber}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Format != ReportFormat {
		return fmt.Errorf("goodput: report of format %.40q, not %q", j.Format, ReportFormat)
	}
	for class, c := range j.Classes {
		if c == nil {
			return fmt.Errorf("goodput: report: the class %.40q is null", class)
		}
	}
	*r = Report{
		Format: j.Format, Class: j.Class, SLO: j.SLO, SLOName: j.SLOName, Fingerprint: j.Fingerprint, Health: j.Health,
		Verdict: j.Verdict, Confidence: float64(j.Confidence), Window: j.Window, WindowS: float64(j.WindowS),
		Offered: j.Offered, Outcomes: j.Outcomes, Good: j.Good, Late: j.Late, Undecided: j.Undecided,
		Attainment: float64(j.Attainment), AttainmentCI95: j.AttainmentCI95.floats(),
		AttainmentCI: j.AttainmentCI.floats(), AttainmentBounds: j.AttainmentBounds.floats(),
		OfferedRPS: float64(j.OfferedRPS), ArrivalRPS: float64(j.ArrivalRPS), ThroughputRPS: float64(j.ThroughputRPS), SuccessRPS: float64(j.SuccessRPS),
		GoodputRPS: float64(j.GoodputRPS), LostRPS: map[string]float64{}, Lost: j.Lost,
		DroppedRPS: float64(j.DroppedRPS), UnfinishedRPS: float64(j.UnfinishedRPS), OutputTPS: float64(j.OutputTPS),
		TokenGoodputTPS: float64(j.TokenGoodputTPS), TotalTPS: float64(j.TotalTPS), TotalGoodputTPS: float64(j.TotalGoodputTPS),
		Flow: j.Flow, Objectives: j.Objectives, Percentiles: j.Percentiles, Worst: j.Worst, Notes: j.Notes,
		Classes: j.Classes, Timeline: j.Timeline,
	}
	r.SLO.Name = j.SLOName
	for _, w := range j.Warnings {
		r.Warnings = append(r.Warnings, parseWarning(w))
	}
	for cause, v := range j.LostRPS {
		r.LostRPS[cause] = float64(v)
	}
	return nil
}

// objectiveJSON is an ObjectiveResult. What a population metric does not have is left out.
type objectiveJSON struct {
	N          uint64   `json:"n"`
	Within     *uint64  `json:"within,omitempty"`
	Share      number   `json:"share"`
	Holds      bool     `json:"holds"`
	Verdict    Verdict  `json:"verdict"`
	Target     number   `json:"target"`
	CI         interval `json:"ci"`
	Inflation  number   `json:"inflation"`
	EffectiveN number   `json:"effective_n"`
	Batches    int      `json:"batches"`
	AtLeast    *number  `json:"at_least,omitempty"`
	Missed     *uint64  `json:"missed,omitempty"`
	MissedRPS  *number  `json:"missed_rps,omitempty"`
	Undefined  uint64   `json:"undefined,omitempty"`
	Excluded   uint64   `json:"excluded,omitempty"`
}

// MarshalJSON writes an object keyed by the objectives' canonical texts, in their order.
func (o Objectives) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, r := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		j := objectiveJSON{
			N: r.N, Share: number(r.Share), Holds: r.Holds, Verdict: r.Verdict, Target: number(r.Target), CI: newInterval(r.CI),
			Inflation: number(r.Inflation), EffectiveN: number(r.EffectiveN), Batches: r.Batches,
			Undefined: r.Undefined, Excluded: r.Excluded,
		}
		if least := number(r.AtLeast); r.Objective.Metric == slo.Speed && !math.IsNaN(r.AtLeast) {
			j.AtLeast = &least
		}
		if !r.Objective.Metric.Population() {
			rps := number(r.MissedRPS)
			j.Within, j.Missed, j.MissedRPS = &r.Within, &r.Missed, &rps
		}
		key, err := json.Marshal(r.Objective.String())
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(j)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads what MarshalJSON wrote, and keeps the order.
func (o *Objectives) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		if err == nil && t == nil { // null
			return nil
		}
		return fmt.Errorf("goodput: objectives are no JSON object")
	}
	all := Objectives{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := key.(string)
		var r ObjectiveResult
		if err := r.Objective.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("goodput: objectives: %w", err)
		}
		var j objectiveJSON
		if err := d.Decode(&j); err != nil {
			return err
		}
		r.N, r.Share, r.Holds, r.Verdict, r.Target, r.CI = j.N, float64(j.Share), j.Holds, j.Verdict, float64(j.Target), j.CI.floats()
		r.Inflation, r.EffectiveN, r.Batches = float64(j.Inflation), float64(j.EffectiveN), j.Batches
		r.Undefined, r.Excluded, r.MissedRPS, r.AtLeast = j.Undefined, j.Excluded, math.NaN(), math.NaN()
		if j.AtLeast != nil {
			r.AtLeast = float64(*j.AtLeast)
		}
		if j.Within != nil {
			r.Within = *j.Within
		}
		if j.Missed != nil {
			r.Missed = *j.Missed
		}
		if j.MissedRPS != nil {
			r.MissedRPS = float64(*j.MissedRPS)
		}
		all = append(all, r)
	}
	*o = all
	return nil
}

type distributionJSON struct {
	N    uint64              `json:"n"`
	P50  number              `json:"p50"`
	P90  number              `json:"p90"`
	P95  number              `json:"p95"`
	P99  number              `json:"p99"`
	P999 *number             `json:"p99_9,omitempty"`
	Min  number              `json:"min"`
	Max  number              `json:"max"`
	Mean number              `json:"mean"`
	CI95 map[string]interval `json:"ci95"`
	Thin []string            `json:"thin,omitempty"`
}

// MarshalJSON writes the distribution with the keys in the fields' tags.
func (d Distribution) MarshalJSON() ([]byte, error) {
	j := distributionJSON{
		N: d.N, P50: number(d.P50), P90: number(d.P90), P95: number(d.P95), P99: number(d.P99), Min: number(d.Min),
		Max: number(d.Max), Mean: number(d.Mean), CI95: make(map[string]interval, len(d.CI95)), Thin: d.Thin,
	}
	if !math.IsNaN(d.P999) {
		p := number(d.P999)
		j.P999 = &p
	}
	for name, ci := range d.CI95 {
		j.CI95[name] = newInterval(ci)
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (d *Distribution) UnmarshalJSON(b []byte) error {
	var j distributionJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*d = Distribution{
		N: j.N, P50: float64(j.P50), P90: float64(j.P90), P95: float64(j.P95), P99: float64(j.P99), P999: math.NaN(),
		Min: float64(j.Min), Max: float64(j.Max), Mean: float64(j.Mean), CI95: make(map[string][2]float64, len(j.CI95)), Thin: j.Thin,
	}
	if j.P999 != nil {
		d.P999 = float64(*j.P999)
	}
	for name, ci := range j.CI95 {
		d.CI95[name] = ci.floats()
	}
	return nil
}

type worstJSON struct {
	Class        string             `json:"class,omitempty"`
	Start        time.Time          `json:"start"`
	Outcome      Outcome            `json:"outcome"`
	Excess       number             `json:"excess"`
	Missed       []string           `json:"missed,omitempty"`
	Values       map[string]float64 `json:"values"`
	InputTokens  int                `json:"input_tokens,omitempty"`
	OutputTokens int                `json:"output_tokens,omitempty"`
	Attempts     int                `json:"attempts,omitempty"`
	Finish       string             `json:"finish,omitempty"`
	Detail       string             `json:"detail,omitempty"`
}

// MarshalJSON writes the request with the keys in the fields' tags.
func (w WorstRequest) MarshalJSON() ([]byte, error) {
	return json.Marshal(worstJSON{w.Class, w.Start, w.Outcome, number(w.Excess), w.Missed, w.Values, w.InputTokens,
		w.OutputTokens, w.Attempts, w.Finish, w.Detail})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (w *WorstRequest) UnmarshalJSON(b []byte) error {
	var j worstJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*w = WorstRequest{j.Class, j.Start, j.Outcome, float64(j.Excess), j.Missed, j.Values, j.InputTokens, j.OutputTokens,
		j.Attempts, j.Finish, j.Detail}
	return nil
}
