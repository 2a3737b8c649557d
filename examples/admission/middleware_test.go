package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/goodput/goodputhttp"
	"github.com/goodputkit/goodputkit/goodput/goodputtest"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

// What a service with the middleware does under twice what its engine can take, without a socket: its handler is called in a
// bubble, before a simulated engine.
func TestMiddlewareBeforeAnEngine(t *testing.T) {
	oneGoroutine(t)
	s := slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")
	serve := func(t *testing.T, defended bool) *goodput.Report {
		engine, err := llmsim.NewServer(llmsim.OPT13B())
		require.NoError(t, err)
		defer engine.Close()
		h := http.Handler(engine)
		if defended {
			c, err := admission.New(admission.Config{SLO: s})
			require.NoError(t, err)
			defer c.Close()
			h = c.Middleware(h, admission.MiddlewareConfig{Request: admission.ChatSizes{}.Request})
		}
		acc := goodput.NewAccumulator(s)
		h = goodputhttp.NewMiddleware(goodputhttp.Config{Sink: acc, Counter: goodputhttp.ChatCounter}).Handler(h)

		body := fmt.Sprintf(`{"stream":true,"max_tokens":200,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("word ", 1000))
		target := loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, _ *loadgen.Trace) error {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/chat/completions", strings.NewReader(body)))
			if w.Code != http.StatusOK {
				return &loadgen.StatusError{Code: w.Code}
			}
			return nil
		})
		_, err = loadgen.Run(t.Context(), target, loadgen.Plan{
			SLO: s, Arrivals: loadgen.Poisson{Rate: 5, Seed: 1}, Duration: 3 * time.Minute,
		})
		require.NoError(t, err)
		return acc.Report()
	}
	synctest.Test(t, func(t *testing.T) {
		without, with := serve(t, false), serve(t, true)
		goodputtest.BooksClose(t, without)
		goodputtest.BooksClose(t, with)
		require.Equal(t, without.Offered, with.Offered)
		require.Less(t, without.Attainment, 0.1, "nearly all of them are late")
		require.Greater(t, with.Attainment, 0.45, "what the engine can do, of what comes")
		require.Equal(t, with.Offered-with.Outcomes[goodput.Rejected], with.Outcomes[goodput.Success])
		require.Greater(t, float64(with.Good), 0.95*float64(with.Outcomes[goodput.Success]))
	})
}
