package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// granting is a client's transport, which counts the answers that say what was granted.
type granting struct {
	http.RoundTripper
	mu      sync.Mutex
	granted map[string]uint64
}

func (g *granting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := g.RoundTripper.RoundTrip(req)
	if err == nil && resp.Header.Get(admission.GrantedHeader) != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.granted[resp.Header.Get(admission.GrantedHeader)]++
	}
	return resp, err
}

// Short prompts, outputs of 400 tokens, 45 of them a second, which is some 1.5 times what the engine can do: without and with a
// ladder that cuts those of one class to 100. By the gateway's books, where an answer that ends at its limit is whole, a fifth more is good
// with it; a client that asked for 400 books what was cut as truncated.
func TestALadderUnderOverload(t *testing.T) {
	if raced {
		t.Skip("minutes of arithmetic on one goroutine")
	}
	books := func(args ...string) (gateway monitor.Window, client *goodput.Report, degraded, told uint64) {
		synctest.Test(t, func(t *testing.T) {
			sim := simulator(t)
			var mu sync.Mutex
			asked := map[string]map[int]uint64{"": {}, "batch": {}} // most tokens that reach the engine, by class
			s := newStand(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				b, err := io.ReadAll(req.Body)
				require.NoError(t, err)
				require.EqualValues(t, len(b), req.ContentLength)
				var body struct {
					Most int `json:"max_tokens"`
				}
				require.NoError(t, json.Unmarshal(b, &body))
				mu.Lock()
				asked[req.Header.Get("X-Class")][body.Most]++
				mu.Unlock()
				req.Body = io.NopCloser(bytes.NewReader(b))
				sim.ServeHTTP(w, req)
			}), append([]string{"--slo", promise.String()}, args...)...)
			transport := &http.Transport{DialContext: s.memory.dial, MaxIdleConnsPerHost: 1024}
			defer transport.CloseIdleConnections()
			watched := &granting{RoundTripper: transport, granted: map[string]uint64{}}
			var targets [2]*openai.Target
			for i, header := range []http.Header{nil, {"X-Class": {"batch"}}} {
				var err error
				targets[i], err = openai.New(openai.Config{BaseURL: s.where + "/v1", Header: header, Client: &http.Client{Transport: watched}})
				require.NoError(t, err)
			}
			n := 0
			result, err := loadgen.Run(t.Context(), loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, trace *loadgen.Trace) error {
				mu.Lock()
				n++
				k := min(n%4, 1) // three of four are of the class
				mu.Unlock()
				return targets[k].Do(ctx, req, trace)
			}), loadgen.Plan{
				SLO: promise, Arrivals: loadgen.Poisson{Rate: 45, Seed: 1}, Duration: 10 * time.Second, Timeout: patience,
				Workload: func(yield func(*loadgen.Request) bool) {
					for yield(&loadgen.Request{Prompt: strings.Repeat("word ", 100), MaxTokens: 400}) {
					}
				},
			})
			require.NoError(t, err)
			s.booked()
			gateway, client, degraded = s.monitor.State().Windows[1], result.Report, s.controller.State().Degraded
			t.Log(args, "good for the gateway", gateway.Good, "for the client", client.Good, "of", client.Offered, client.Outcomes)
			require.Equal(t, client.Offered, gateway.Offered)
			require.Equal(t, degraded, asked["batch"][100])
			require.Len(t, asked[""], 1, "other classes have no ladder")
			require.NotZero(t, asked[""][400])
			told = watched.granted["max_tokens=100"]
			_, text := s.operate("GET", "/metrics")
			require.Equal(t, degraded > 0, !strings.Contains(text, "admission_degraded_requests_total 0\n"))
		})
		return
	}
	plain, plainClient, none, silent := books()
	ladder, ladderClient, degraded, told := books("--ladder", "batch: tokens 100", "--class-header", "X-Class")
	require.Zero(t, none+silent)
	require.Greater(t, degraded, uint64(50))
	require.Equal(t, degraded, told)
	require.Equal(t, degraded, ladderClient.Outcomes[goodput.Truncated], "as the definitions have it: the request's own limit was not reached")
	require.Equal(t, ladder.Success, ladderClient.Outcomes[goodput.Success]+degraded)
	require.Less(t, ladderClient.Outcomes[goodput.Rejected], plainClient.Outcomes[goodput.Rejected])
	require.Greater(t, float64(ladder.Good), 1.1*float64(plain.Good))
	require.Less(t, ladderClient.Good, ladder.Good, "and what is truncated is not good")
}

func TestLadders(t *testing.T) {
	o, err := parse([]string{"--upstream", "http://x", "--class-header", "X-Class", "--ladder", "default: tokens 512; tokens 128 , priority 1,budget 4s", "--ladder", " batch :priority 3"}, func(string) string { return "" }, io.Discard)
	require.NoError(t, err)
	require.Equal(t, ladders{
		slo.DefaultClass: {Ladder: admission.Ladder{{MaxOutputTokens: 512}, {MaxOutputTokens: 128, LowerPriority: 1, Budget: 4 * time.Second}}},
		"batch":          {Ladder: admission.Ladder{{LowerPriority: 3}}},
	}, o.ladders)
	for _, bad := range []string{
		"", "default", "default:", ": tokens 1", "tokens 1", "default: tokens", "default: tokens 0", "default: tokens -1", "default: tokens 1.5", "default: tokens 99999999999",
		"default: priority x", "default: budget 4", "default: budget 0s", "default: tokens 1,tokens 2", "default: tokens 1;", "default: more 1", "default: tokens 1, , priority 1",
	} {
		require.Error(t, ladders{}.set(bad), bad)
	}
	_, err = parse([]string{"--upstream", "http://x", "--ladder", "batch: tokens 1"}, func(string) string { return "" }, io.Discard)
	require.ErrorContains(t, err, "--class-header names the header")
	require.ErrorAs(t, err, &usageError{})
	l := ladders{}
	require.NoError(t, l.set("a: tokens 1"))
	require.Error(t, l.set("a: tokens 2"))
}
