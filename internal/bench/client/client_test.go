package main

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// TestClients has each client read a few streams: all see every token, in order, and none before the server wrote it.
func TestClients(t *testing.T) {
	for _, cl := range clients {
		t.Run(cl.name, func(t *testing.T) {
			s := llmsim.NewFixedServer(5*time.Millisecond, time.Millisecond)
			s.NoRole = true
			srv := httptest.NewServer(s)
			defer srv.Close()
			c := config{Streams: 4, Tokens: 7, First: s.First, Step: s.Step, URL: srv.URL}
			read, err := cl.make(c)
			require.NoError(t, err)
			streams, err := read(t.Context(), "id", 5)
			require.NoError(t, err)
			require.Len(t, streams, 5)
			written, err := firstTokens(t.Context(), c)
			require.NoError(t, err)
			require.Len(t, written, 5)
			r, err := sum(c, streams, written)
			require.NoError(t, err)
			assert.Equal(t, 35, r.Events)
			assert.Positive(t, r.LateMean)
			assert.Positive(t, r.LateP50)
			for _, s := range streams {
				for i, at := range s.tokens[1:] {
					assert.False(t, at.Before(s.tokens[i]))
				}
			}
		})
	}
}

func TestSum(t *testing.T) {
	at := func(n ...int64) (ts []time.Time) {
		for _, n := range n {
			ts = append(ts, time.Unix(0, n*1e6))
		}
		return ts
	}
	written := map[string]int64{"a": 1e6, "b": 2e6, "other": 0}
	for _, names := range [][2]string{{"a", "b"}, {"", ""}} {
		r, err := sum(config{Tokens: 2}, []seen{{names[0], at(3, 4)}, {names[1], at(6, 9)}}, written)
		require.NoError(t, err)
		assert.Equal(t, result{Events: 4, LateMean: 3, LateP50: 2, LateP99: 2, StepP99: 1}, r)
	}
	_, err := sum(config{Tokens: 3}, []seen{{"a", at(3, 4)}}, written)
	assert.EqualError(t, err, "2 token events and not 3")
	_, err = sum(config{Tokens: 1}, []seen{{"c", at(3)}}, written)
	assert.Error(t, err)
}

func TestMedianAndQuantile(t *testing.T) {
	r := []result{{CPU: 4}, {CPU: 1}, {CPU: 3}, {CPU: 2}}
	assert.Equal(t, 2.5, median(r, func(r result) float64 { return r.CPU }))
	assert.Equal(t, 3.0, quantile([]float64{3, 1, 2, 5, 4}, 0.5))
}
