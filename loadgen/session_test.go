package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

// echo answers the k-th message of a conversation in k × 10 ms with "re: " and the message, in two pieces.
func echo(ctx context.Context, r *Request, tr *Trace) error {
	k, said := 1, r.Prompt
	if len(r.Messages) > 0 {
		k, said = (len(r.Messages)+1)/2, r.Messages[len(r.Messages)-1].Content
	}
	if err := takes(time.Duration(k)*10*ms)(ctx, r, tr); err != nil {
		return err
	}
	tr.Text(ReasoningText, "hm")
	tr.Text(Content, "re: ")
	tr.Text(Content, said)
	tr.Usage(10*k, k)
	return nil
}

func three() *Request {
	return Conversation(&Request{Class: "talk", Prompt: "a", MaxTokens: 5, InputTokens: 10, Body: map[string]any{"top_p": 1}},
		Turn{Content: "b", Think: 100 * ms, InputTokens: 9, MaxTokens: 6}, Turn{Content: "c", Think: 200 * ms})
}

func TestConversation(t *testing.T) {
	var got []Request
	p := Plan{SLO: e2e, Arrivals: Constant{Rate: 1}, Workload: slices.Values([]*Request{three()})}
	res, rs := run(t, TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
		got = append(got, *r)
		assert.Zero(t, tr.Index())
		return echo(ctx, r, tr)
	}), p)
	assert.Equal(t, []time.Duration{0, 110 * ms, 330 * ms}, starts(rs), "the previous End and the think time")
	assert.Equal(t, []time.Duration{10 * ms, 20 * ms, 30 * ms}, []time.Duration{rs[0].End, rs[1].End, rs[2].End})
	assert.EqualValues(t, 3, res.Report.Classes["talk"].Good)
	require.Len(t, got, 3)
	assert.Equal(t, "a", got[0].Prompt)
	assert.Empty(t, got[1].Prompt)
	assert.Equal(t, []Message{{"user", "a"}, {"assistant", "re: a"}, {"user", "b"}}, got[1].Messages)
	assert.Equal(t, []Message{{"user", "a"}, {"assistant", "re: a"}, {"user", "b"}, {"assistant", "re: b"}, {"user", "c"}}, got[2].Messages)
	for i, want := range []struct{ in, limit, left int }{{10, 5, 2}, {10 + 1 + 9, 6, 1}, {0, 0, 0}} {
		assert.Equal(t, want.in, got[i].InputTokens, i)
		assert.Equal(t, want.limit, got[i].MaxTokens, i)
		assert.Equal(t, want.left, got[i].Left, i)
		assert.Equal(t, map[string]any{"top_p": 1}, got[i].Body)
		assert.Equal(t, i < 2, got[i].Next != nil)
	}
	noWarning(t, res, ErrSessions)

	alone := Conversation(&Request{Messages: []Message{{"system", "be brief"}, {"user", "a"}}})
	assert.Nil(t, alone.Next)
	with := Conversation(alone, Turn{Content: "b"})
	for range 2 { // it can be used again
		next, think := with.Next(Answer{Text: "x"})
		assert.Zero(t, think)
		assert.Equal(t, []Message{{"system", "be brief"}, {"user", "a"}, {"assistant", "x"}, {"user", "b"}}, next.Messages)
	}
}

// A worker of a closed loop carries out one session after the other, and thinks for its ThinkTime between them.
func TestSessionsInAClosedLoop(t *testing.T) {
	p := Plan{SLO: e2e, Concurrency: 1, ThinkTime: 7 * ms, Workload: slices.Values([]*Request{three(), {Prompt: "x"}, three()})}
	_, rs := run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 110 * ms, 330 * ms, 367 * ms, 384 * ms, 494 * ms, 714 * ms}, starts(rs))
	p.Concurrency = 2
	_, rs = run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 0, 17 * ms, 110 * ms, 127 * ms, 330 * ms, 347 * ms}, starts(rs))
}

func TestBoundsOfSessions(t *testing.T) {
	all := func(yield func(*Request) bool) {
		for yield(three()) {
		}
	}
	p := Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Workload: all, Requests: 4}
	_, rs := run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 100 * ms, 110 * ms, 200 * ms}, starts(rs), "each turn counts")

	p.Requests, p.Duration = 0, 320*ms
	res, rs := run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 100 * ms, 110 * ms, 200 * ms, 210 * ms, 300 * ms, 310 * ms}, starts(rs), "no turn after the end")
	assert.InDelta(t, 0.32, res.Report.WindowS, 1e-12)
	noWarning(t, res, ErrSessions)

	p.Duration, p.Workload = time.Hour, slices.Values([]*Request{three(), three()})
	res, rs = run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 100 * ms, 110 * ms, 210 * ms, 330 * ms, 430 * ms}, starts(rs), "those that have begun go on")
	assert.InDelta(t, 0.43, res.Report.WindowS, 1e-12, "to the last Start")
	assert.Equal(t, 460*ms, res.Elapsed)

	p.Duration, p.MaxInFlight, p.Overflow = 0, 1, Wait
	p.Arrivals = Replay{At: []time.Duration{0, 105 * ms}}
	_, rs = run(t, TargetFunc(echo), p)
	assert.Equal(t, []time.Duration{0, 105 * ms, 110 * ms, 215 * ms}, starts(rs)[:4])
	assert.Equal(t, 5*ms, rs[2].Sent, "a turn waits for its place")
	assert.Equal(t, 25*ms, rs[2].End)
}

// A turn that fails, whatever the reason, ends its session; what it leaves out is said.
func TestBrokenSessions(t *testing.T) {
	p := Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Workload: slices.Values([]*Request{three(), {}, three()}), Timeout: 50 * ms}
	res, rs := run(t, TargetFunc(func(ctx context.Context, r *Request, tr *Trace) error {
		if len(r.Messages) == 3 && tr.Index() == 2 {
			return takes(time.Hour)(ctx, r, tr)
		}
		if tr.Index() == 0 {
			return errors.New("no")
		}
		return echo(ctx, r, tr)
	}), p)
	assert.Len(t, rs, 4)
	assert.Equal(t, goodput.Timeout, rs[3].Outcome)
	warning(t, res, ErrSessions, "2 of 2, the first because a turn failed: 3 turns or more were never offered")

	p.Workload, p.MaxInFlight, p.Overflow = slices.Values([]*Request{three(), three()}), 1, Drop
	p.Arrivals = Replay{At: []time.Duration{0, 5 * ms}}
	res, rs = run(t, TargetFunc(echo), p)
	assert.Len(t, rs, 4)
	warning(t, res, ErrSessions, "1 of 2, the first because a turn failed: 2 turns or more were never offered")

	p = Plan{SLO: e2e, Concurrency: 1}
	for said, why := range map[string]string{"": "Request.Next: panic: oh (session_test.go:", "x": "an answer was longer than 4194304 bytes"} {
		p.Workload = slices.Values([]*Request{{Next: func(Answer) (*Request, time.Duration) { panic("oh") }, Prompt: said}, {}})
		res, rs = run(t, TargetFunc(func(_ context.Context, r *Request, tr *Trace) error {
			for range 5 {
				tr.Text(Content, strings.Repeat(r.Prompt, 1<<20))
			}
			return nil
		}), p)
		assert.Len(t, rs, 2, "the worker goes on")
		warning(t, res, ErrSessions, "1 of 1, the first because "+why)
	}
	p.Workload = slices.Values([]*Request{{Next: func(Answer) (*Request, time.Duration) { return nil, time.Hour }}, {}})
	res, rs = run(t, takes(ms), p)
	assert.Equal(t, []time.Duration{0, ms}, starts(rs))
	noWarning(t, res, ErrSessions)
}

// A session that never says its next turn holds up no run that ends by itself.
func TestSessionHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		hangs := &Request{Next: func(Answer) (*Request, time.Duration) { <-stuck; return &Request{}, 0 }}
		p := Plan{SLO: e2e, Arrivals: Constant{Rate: 1}, Workload: slices.Values([]*Request{hangs}), Duration: 3 * time.Second, Drain: time.Second}
		res, err := Run(t.Context(), takes(ms), p)
		require.NoError(t, err)
		assert.EqualValues(t, 1, res.Report.Good)
		assert.Equal(t, 4*time.Second, res.Elapsed)
		p.Duration = 0 // nothing but the context ends it
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err = Run(ctx, takes(ms), p)
		require.NoError(t, err)
		assert.Error(t, res.Cut)
		assert.Equal(t, time.Minute, res.Elapsed)
		close(stuck)
		synctest.Wait()
	})
}

// What a turn says goes nowhere but into the next one: no copy of it is in a record.
func TestSessionsKeepTextToThemselves(t *testing.T) {
	var file strings.Builder
	p := Plan{SLO: e2e, Concurrency: 1, Workload: slices.Values([]*Request{Conversation(&Request{Prompt: "secret"}, Turn{Content: "secret too"})}), Records: &file}
	res, _ := run(t, TargetFunc(echo), p)
	assert.EqualValues(t, 2, res.Report.Good)
	assert.NotContains(t, file.String()+fmt.Sprint(res.Report), "secret")
}
