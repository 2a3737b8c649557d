package monitor

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Where a service tells of no token, every success misses ttft: the state, the alert and its line in the log say that this is why.
func TestUndefinedIsWarnedOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		m := newMonitor(t, "ttft p95 < 2s, e2e p95 < 10s", WithLogger(slog.New(slog.NewJSONHandler(&log, nil))))
		for range 200 {
			r := answer("", sec, 2*sec)
			r.Tokens = nil
			m.Observe(r)
		}
		s := m.State()
		const want = "metric undefined: 200 of 200 successes have no ttft; each counts as a miss of ttft p95 < 2s"
		require.Equal(t, []string{want}, s.Warnings)
		for _, a := range s.Alerts {
			if a.Objective == "ttft p95 < 2s" {
				require.Equal(t, Firing, a.State)
				require.Equal(t, want, a.Warning)
			} else {
				require.Empty(t, a.Warning)
			}
		}
		text, err := json.Marshal(s)
		require.NoError(t, err)
		var again State
		require.NoError(t, json.Unmarshal(text, &again))
		require.Equal(t, s.Warnings, again.Warnings)
		line, _, _ := bytes.Cut(log.Bytes(), []byte("\n"))
		var logged struct {
			Alert struct{ Objective, State, Warning string }
		}
		require.NoError(t, json.Unmarshal(line, &logged))
		require.Equal(t, want, logged.Alert.Warning)
	})
}

// Without such a success nobody is warned, and there is no key for it; a request that failed has no value and needs none.
func TestNoWarningWithoutAnUndefinedSuccess(t *testing.T) {
	m := newMonitor(t, "ttft p95 < 2s")
	m.Observe(answer("", 3*sec, 4*sec))
	failed := answer("", sec, 2*sec)
	failed.Outcome, failed.Tokens = goodput.ServerError, nil
	m.Observe(failed)
	s := m.State()
	require.Empty(t, s.Warnings)
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(text), "warning")
}

// A warning says whose objective it is, and how the rule for undefined values decided.
func TestWarningsByClassAndRule(t *testing.T) {
	m, err := New(slo.MustParse("ttft p95 < 2s, undefined ttft: holds"), WithClasses(slo.Set{"chat": slo.MustParse("tpot p95 < 50ms")}))
	require.NoError(t, err)
	for range 3 {
		r := answer("chat", sec, 2*sec)
		r.Tokens = nil
		m.Observe(r)
	}
	r := answer("batch", sec, 2*sec)
	r.Tokens = nil
	m.Observe(r)
	m.Observe(answer("other one", sec, 2*sec))
	require.Equal(t, []string{
		"default: metric undefined: 1 of 2 successes have no ttft; each counts as within ttft p95 < 2s",
		"chat: metric undefined: 3 of 3 successes have no tpot; an answer of one token counts as within, any other as a miss of tpot p95 < 50ms",
	}, m.State().Warnings)
}
