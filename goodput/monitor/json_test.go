package monitor

import (
	"encoding/json"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// JSON has durations in seconds, as a report's has, and what is read back is what was written.
func TestJSONIsInSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := New(slo.MustParse("ttft p95 < 2s, error_rate < 1%"), WithPeriod(90*time.Hour),
			WithRules(Rule{Severity: Page, Budget: 0.5, Long: time.Hour, Short: 90*time.Second + 1}))
		require.ErrorIs(t, err, ErrUnreachable)
		m, err := New(slo.MustParse("ttft p95 < 2s"), WithPeriod(90*time.Hour),
			WithRules(Rule{Severity: Page, Budget: 0.1, Long: time.Hour, Short: 90*time.Second + 1}))
		require.NoError(t, err)
		for range 10 {
			time.Sleep(1500 * time.Millisecond)
			m.Observe(answer("chat", sec, 2*sec))
		}
		m.Observe(&goodput.Record{Outcome: goodput.Timeout, End: sec})
		state := m.State()
		series, err := m.Series(time.Minute)
		require.NoError(t, err)
		burns, err := m.Burns(5 * time.Minute)
		require.NoError(t, err)
		change := Change{From: Pending, Alert: state.Alerts[0]}
		var all []byte
		for _, one := range []struct{ is, back any }{{state, &State{}}, {series, &Series{}}, {&burns[0], &ObjectiveBurn{}}, {&change, &Change{}}} {
			text, err := json.Marshal(one.is)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(text, one.back))
			again, err := json.Marshal(one.back)
			require.NoError(t, err)
			require.Equal(t, string(text), string(again)) // an absent figure is NaN, which is not equal to itself
			all = append(all, text...)
		}
		require.NotContains(t, string(all), `_ns"`)
		keys := regexp.MustCompile(`"[a-z]+_s"`).FindAllString(string(all), -1)
		slices.Sort(keys)
		require.Equal(t, []string{`"long_s"`, `"period_s"`, `"short_s"`, `"step_s"`, `"watched_s"`, `"window_s"`}, slices.Compact(keys))

		var v struct {
			Period  float64 `json:"period_s"`
			Windows []struct {
				Window, Watched float64
				S               float64 `json:"window_s"`
				W               float64 `json:"watched_s"`
				TPS             float64 `json:"token_goodput_tps"`
			}
			Alerts []struct {
				Rule struct {
					Long  float64 `json:"long_s"`
					Short float64 `json:"short_s"`
				}
				Long struct {
					Window float64 `json:"window_s"`
				}
			}
		}
		text, err := json.Marshal(state)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &v))
		require.Equal(t, []float64{324000, 60, 15, 3600, 90.000000001, 3600},
			[]float64{v.Period, v.Windows[0].S, v.Windows[0].W, v.Alerts[0].Rule.Long, v.Alerts[0].Rule.Short, v.Alerts[0].Long.Window})
		require.Equal(t, float64(state.Windows[0].TokenRate), v.Windows[0].TPS)
		require.Positive(t, v.Windows[0].TPS)

		var back State
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, []time.Duration{90 * time.Hour, time.Minute, 15 * sec, 90*sec + 1},
			[]time.Duration{back.Period, back.Windows[0].Window, back.Windows[0].Watched, back.Alerts[0].Rule.Short})
		var b Burn
		require.Error(t, json.Unmarshal([]byte(`{"window_s":1e300}`), &b))
		require.Error(t, json.Unmarshal([]byte(`{"window_s":"1m"}`), &b))
		require.NoError(t, json.Unmarshal([]byte(`{"window_s":null,"bad":3}`), &b))
		require.EqualValues(t, 3, b.Bad)
	})
}
