package curve

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// Format is the value of a curve's "format" key. It changes when a key changes its meaning.
const Format = "goodput-curve/1"

func numbers(v [2]float64) [2]*float64 { return [2]*float64{figure.OrNull(v[0]), figure.OrNull(v[1])} }

type peakJSON struct {
	Load  *float64 `json:"load"`
	Value *float64 `json:"rps"`
}

type crossingJSON struct {
	State     State       `json:"state"`
	Load      *float64    `json:"load"`
	Bracket   [2]*float64 `json:"bracket"`
	Shown     [2]*float64 `json:"shown"`
	Objective string      `json:"objective,omitempty"`
}

func (x Crossing) json() crossingJSON {
	return crossingJSON{x.State, figure.OrNull(x.Load), [2]*float64{figure.OrNull(x.Lo), figure.OrNull(x.Hi)}, numbers(x.Shown), x.Objective}
}

type stepJSON struct {
	Class     string        `json:"class,omitempty"`
	Objective slo.Objective `json:"slo_objective"`
	At        float64       `json:"percentile"`
	crossingJSON
}

type curveJSON struct {
	Format      string       `json:"format"`
	Axis        Axis         `json:"axis"`
	SLO         slo.SLO      `json:"slo"`
	Fingerprint string       `json:"fingerprint"`
	Raw         peakJSON     `json:"raw_limit"`
	Succeeded   peakJSON     `json:"success_limit"`
	Limit       crossingJSON `json:"goodput_limit"`
	Peak        peakJSON     `json:"goodput_peak"`
	Bloat       [2]*float64  `json:"bloat_zone"`
	Recommended *float64     `json:"recommended"`
	Headroom    float64      `json:"headroom"`
	Steps       []stepJSON   `json:"steps,omitempty"`
	Falls       string       `json:"falls,omitempty"`
	Stopped     string       `json:"stopped,omitempty"`
	Warnings    []string     `json:"warnings,omitempty"`
	Points      []Point      `json:"points"`
}

// MarshalJSON writes the figures and then the points with their whole reports. Its keys are stable: some are added, none
// changes its meaning without another Format.
func (c Curve) MarshalJSON() ([]byte, error) {
	j := curveJSON{
		Format: Format, Axis: c.Axis, SLO: c.SLO, Fingerprint: c.Fingerprint,
		Raw: peakJSON{figure.OrNull(c.Raw.Load), figure.OrNull(c.Raw.Value)}, Succeeded: peakJSON{figure.OrNull(c.Succeeded.Load), figure.OrNull(c.Succeeded.Value)}, Limit: c.Limit.json(), Peak: peakJSON{figure.OrNull(c.Peak.Load), figure.OrNull(c.Peak.Value)},
		Bloat: numbers(c.Bloat), Recommended: figure.OrNull(c.Recommended), Headroom: c.Headroom, Falls: c.Falls, Stopped: c.Stopped, Points: c.Points,
	}
	for _, s := range c.Steps {
		j.Steps = append(j.Steps, stepJSON{s.Class, s.Objective, float64(s.Percentile), s.Crossing.json()})
	}
	for _, w := range c.Warnings {
		j.Warnings = append(j.Warnings, w.Error())
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote: the points, from which all figures are found again.
func (c *Curve) UnmarshalJSON(b []byte) error {
	var j curveJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	if j.Format == "" {
		return errors.New("curve: there is no format: this is no curve's JSON")
	}
	if j.Format != Format {
		return fmt.Errorf("curve: format %.40q, not %q", j.Format, Format)
	}
	read, err := New(j.Axis, j.Points, WithHeadroom(j.Headroom))
	if err != nil {
		return err
	}
	*c = *read
	c.Stopped = j.Stopped
	return nil
}
