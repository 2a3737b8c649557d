package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// seconds is a duration as it stands in JSON: a number, under a key that ends in _s. Each type below with durations in it has a
// shadow that has these in their place.
type seconds time.Duration

func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

func (s *seconds) UnmarshalJSON(b []byte) error {
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if ns := math.Round(v * 1e9); math.Abs(ns) < 1<<63 {
		*s = seconds(ns)
		return nil
	}
	return fmt.Errorf("monitor: %.40s s is no duration", b)
}

type (
	plainState  State
	stateShadow struct {
		*plainState
		Period *seconds `json:"period_s"`
	}
	plainWindow  Window
	windowShadow struct {
		Window *seconds `json:"window_s"`
		*plainWindow
		Watched *seconds `json:"watched_s"`
	}
	plainBurn  Burn
	burnShadow struct {
		Window *seconds `json:"window_s"`
		*plainBurn
	}
	plainObjectiveBurn struct {
		SLO       string  `json:"slo"`
		Objective string  `json:"objective"`
		Allowed   float64 `json:"allowed"`
		burnShadow
	}
	plainRule  Rule
	ruleShadow struct {
		*plainRule
		Long  *seconds `json:"long_s"`
		Short *seconds `json:"short_s"`
	}
	plainSeries  Series
	seriesShadow struct {
		Window *seconds `json:"window_s"`
		Step   *seconds `json:"step_s"`
		*plainSeries
		Watched []seconds `json:"watched_s"`
	}
)

func (s *State) shadow() *stateShadow { return &stateShadow{(*plainState)(s), (*seconds)(&s.Period)} }
func (w *Window) shadow() *windowShadow {
	return &windowShadow{(*seconds)(&w.Window), (*plainWindow)(w), (*seconds)(&w.Watched)}
}
func (b *Burn) shadow() *burnShadow { return &burnShadow{(*seconds)(&b.Window), (*plainBurn)(b)} }
func (r *Rule) shadow() *ruleShadow {
	return &ruleShadow{(*plainRule)(r), (*seconds)(&r.Long), (*seconds)(&r.Short)}
}

// MarshalJSON writes durations in seconds; so it is with all types of this package.
func (s State) MarshalJSON() ([]byte, error) { return json.Marshal(s.shadow()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *State) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, s.shadow()) }

// MarshalJSON writes durations in seconds.
func (w Window) MarshalJSON() ([]byte, error) { return json.Marshal(w.shadow()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Window) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, w.shadow()) }

// MarshalJSON writes durations in seconds.
func (b Burn) MarshalJSON() ([]byte, error) { return json.Marshal(b.shadow()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Burn) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, b.shadow()) }

// MarshalJSON writes durations in seconds.
func (b ObjectiveBurn) MarshalJSON() ([]byte, error) {
	return json.Marshal(plainObjectiveBurn{b.SLO, b.Objective, b.Allowed, *b.shadow()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *ObjectiveBurn) UnmarshalJSON(text []byte) error {
	x := plainObjectiveBurn{burnShadow: *b.shadow()}
	err := json.Unmarshal(text, &x)
	b.SLO, b.Objective, b.Allowed = x.SLO, x.Objective, x.Allowed
	return err
}

// MarshalJSON writes durations in seconds.
func (r Rule) MarshalJSON() ([]byte, error) { return json.Marshal(r.shadow()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Rule) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, r.shadow()) }

// MarshalJSON writes durations in seconds.
func (s Series) MarshalJSON() ([]byte, error) {
	x := seriesShadow{(*seconds)(&s.Window), (*seconds)(&s.Step), (*plainSeries)(&s), nil}
	for _, d := range s.Watched {
		x.Watched = append(x.Watched, seconds(d))
	}
	return json.Marshal(x)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Series) UnmarshalJSON(b []byte) error {
	x := seriesShadow{(*seconds)(&s.Window), (*seconds)(&s.Step), (*plainSeries)(s), nil}
	err := json.Unmarshal(b, &x)
	s.Watched = nil
	for _, d := range x.Watched {
		s.Watched = append(s.Watched, time.Duration(d))
	}
	return err
}
