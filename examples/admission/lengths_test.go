package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// Beyond the limit short prompts are served more often than long ones, and the more so, the more come.
func TestLongPromptsAreRefusedFirst(t *testing.T) {
	oneGoroutine(t)
	const short, long = 400, 2734 // tokens
	c := conversation
	var last float64
	for _, x := range []float64{2, 3} {
		var offered, served [2]float64
		for seed := uint64(1); seed <= uint64(seeds(2)); seed++ {
			_, _, err := run(t.Context(), c.slo, c.load(t, x, seed), 20*time.Minute, func(s *system) error {
				s.each = func(j *job) {
					k := 0
					switch {
					case j.in > long:
						k = 1
					case j.in > short:
						return
					}
					offered[k]++
					if j.rec.Outcome == goodput.Success {
						served[k]++
					}
				}
				return defend(c.slo)(s)
			})
			require.NoError(t, err)
		}
		shorts, longs := served[0]/offered[0], served[1]/offered[1]
		t.Logf("%v × the limit: served are %.0f %% of prompts up to %d tokens, %.0f %% of those above %d", x, 100*shorts, short, 100*longs, long)
		require.Greater(t, shorts, longs)
		require.Greater(t, shorts/longs, last)
		last = shorts / longs
	}
}
