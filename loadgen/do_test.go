package loadgen

import (
	"context"
	"errors"
	"io"
	"log"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

var quiet = log.New(io.Discard, "", 0)

// described is a target with a description.
type described struct {
	TargetFunc
	Description
}

func (d described) Describe() Description { return d.Description }

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		req := &Request{Class: "chat", Limits: map[slo.Metric]float64{slo.TTFT: 0.5}}
		var text string
		rec := Do(t.Context(), TargetFunc(func(ctx context.Context, got *Request, tr *Trace) error {
			assert.Same(t, req, got)
			assert.True(t, tr.WantsText())
			time.Sleep(time.Millisecond)
			tr.Sent()
			time.Sleep(time.Millisecond)
			tr.Sent() // the first counts
			tr.FirstByte()
			time.Sleep(time.Millisecond)
			tr.FirstByte()
			tr.Reasoning(3)
			tr.Text(ReasoningText, "hm ")
			time.Sleep(time.Millisecond)
			tr.Token(0)
			tr.Text(Content, "yes")
			tr.TokenAt(time.Now().Add(-time.Second), 2) // time does not fall
			tr.Attempt()
			tr.Usage(7, 6)
			tr.Finish("stop")
			tr.Custom("x_cost", 3)
			time.Sleep(time.Millisecond)
			tr.EndAt(time.Now())
			time.Sleep(time.Second) // the connection's farewell is not the request's
			return nil
		}), req, WithText(func(k TextKind, s string) { text += s }))
		const ms = time.Millisecond
		assert.Equal(t, &goodput.Record{
			Class: "chat", Start: start, Sent: ms, FirstByte: 2 * ms,
			Tokens:      []goodput.Token{{At: 3 * ms, N: 3}, {At: 4 * ms}, {At: 4 * ms, N: 2}},
			FirstOutput: 4 * ms, End: 5 * ms, InputTokens: 7, OutputTokens: 6, Outcome: goodput.Success,
			Finish: "stop", Attempts: 2, Custom: map[slo.Metric]float64{"x_cost": 3}, Limits: req.Limits,
		}, rec)
		assert.Equal(t, "hm yes", text)
	})
}

func TestDoFirstOutput(t *testing.T) {
	first := func(f func(*Trace)) time.Duration {
		return Do(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
			f(tr)
			return nil
		}), nil).FirstOutput
	}
	assert.Zero(t, first(func(tr *Trace) { tr.Token(1); tr.Reasoning(1) }))
	assert.Zero(t, first(func(*Trace) {}))
	assert.Negative(t, first(func(tr *Trace) { tr.Reasoning(1) }))
	assert.Positive(t, first(func(tr *Trace) { tr.Reasoning(1); tr.TokenAt(time.Now().Add(time.Second), 1) }))
}

func TestDoEmpty(t *testing.T) {
	for _, c := range []struct {
		name   string
		tokens bool
		f      func(*Trace)
		want   goodput.Outcome
	}{
		{"nothing from a target that declares tokens", true, func(*Trace) {}, goodput.Empty},
		{"a finish reason is no token", true, func(tr *Trace) { tr.Finish("stop"); tr.Usage(9, 0) }, goodput.Empty},
		{"usage says tokens that nobody saw", true, func(tr *Trace) { tr.Usage(9, 3) }, goodput.Success},
		{"output that nobody counted", true, func(tr *Trace) { tr.Output() }, goodput.Success},
		{"reasoning is output", true, func(tr *Trace) { tr.Reasoning(1) }, goodput.Success},
		{"a target that declares none", false, func(*Trace) {}, goodput.Success},
	} {
		target := described{func(_ context.Context, _ *Request, tr *Trace) error { c.f(tr); return nil }, Description{Tokens: c.tokens}}
		assert.Equal(t, c.want, Do(t.Context(), target, nil).Outcome, c.name)
		res, err := Run(t.Context(), target, Plan{SLO: slo.MustParse("e2e p95 < 1h"), Concurrency: 1, Requests: 1})
		require.NoError(t, err)
		assert.Equal(t, c.want == goodput.Success, res.Report.Good == 1, c.name)
	}
}

func TestDoSurvives(t *testing.T) {
	rec := Do(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
		tr.Token(1)
		panic("boom\nbang")
	}), nil)
	assert.Equal(t, goodput.ServerError, rec.Outcome)
	assert.Regexp(t, `^panic: boom bang \(do_test\.go:\d+\)$`, rec.Detail)
	assert.Len(t, rec.Tokens, 1)

	rec = Do(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error {
		var none *Request
		_ = none.Class
		return nil
	}), nil)
	assert.Equal(t, goodput.ServerError, rec.Outcome)
	assert.Regexp(t, `^panic: runtime error: .*nil pointer.* \(do_test\.go:\d+\)$`, rec.Detail)

	rec = Do(t.Context(), TargetFunc(func(context.Context, *Request, *Trace) error {
		runtime.Goexit()
		return nil
	}), nil)
	assert.Equal(t, goodput.ServerError, rec.Outcome)
	assert.Contains(t, rec.Detail, "Goexit")

	rec = Do(t.Context(), TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
		tr.Text(Content, "x")
		return nil
	}), nil, WithText(func(TextKind, string) { panic("receiver") }))
	assert.Equal(t, goodput.ServerError, rec.Outcome)
}

func TestDoDeadline(t *testing.T) {
	for _, c := range []struct {
		name string
		f    TargetFunc
		want goodput.Outcome
		end  time.Duration
	}{
		{"obeys", func(ctx context.Context, _ *Request, _ *Trace) error { <-ctx.Done(); return ctx.Err() }, goodput.Timeout, time.Second},
		{"obeys and names something else", func(ctx context.Context, _ *Request, _ *Trace) error {
			<-ctx.Done()
			return Fail(goodput.Truncated, "")
		}, goodput.Timeout, time.Second},
		{"returns late, and happy", func(context.Context, *Request, *Trace) error { time.Sleep(1500 * time.Millisecond); return nil }, goodput.Timeout, time.Second},
		{"at the very deadline is too late", func(context.Context, *Request, *Trace) error { time.Sleep(time.Second); return nil }, goodput.Timeout, time.Second},
		{"just in time", func(context.Context, *Request, *Trace) error { time.Sleep(time.Second - 1); return nil }, goodput.Success, time.Second - 1},
		{"ended in time, returned late", func(_ context.Context, _ *Request, tr *Trace) error {
			tr.EndAt(time.Now().Add(10))
			time.Sleep(1500 * time.Millisecond)
			return nil
		}, goodput.Success, 10},
		{"ignores", func(_ context.Context, _ *Request, tr *Trace) error {
			time.Sleep(time.Hour)
			tr.Token(1) // of a request that was booked long ago
			return nil
		}, goodput.Timeout, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				start := time.Now()
				rec := Do(ctx, c.f, nil)
				assert.Equal(t, c.want, rec.Outcome)
				assert.Equal(t, c.end, rec.End)
				assert.LessOrEqual(t, time.Since(start), time.Second+grace)
				time.Sleep(2 * time.Hour) // what the target still says hurts nobody
				assert.Empty(t, rec.Tokens)
			})
		})
	}
}

func TestDoCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		rec := Do(ctx, TargetFunc(func(ctx context.Context, _ *Request, tr *Trace) error {
			tr.Token(1)
			<-ctx.Done()
			return errors.New("lost")
		}), nil)
		assert.Equal(t, goodput.Cancelled, rec.Outcome)
		assert.Equal(t, time.Second, rec.End)
		assert.Len(t, rec.Tokens, 1)
	})
}

func TestExpire(t *testing.T) {
	rec := func(o goodput.Outcome) *goodput.Record {
		return &goodput.Record{Sent: 1, FirstByte: 12, FirstOutput: 25, Tokens: []goodput.Token{{At: 15, N: 1}, {At: 25, N: 1}}, End: 30, OutputTokens: 2, Outcome: o}
	}
	r := rec(goodput.Success)
	expire(r, 31, goodput.Timeout)
	assert.Equal(t, rec(goodput.Success), r, "in time")

	expire(r, 20, goodput.Timeout)
	assert.Equal(t, &goodput.Record{Sent: 1, FirstByte: 12, FirstOutput: -1, Tokens: []goodput.Token{{At: 15, N: 1}}, End: 20, Outcome: goodput.Timeout}, r)

	r = rec(goodput.ServerError)
	expire(r, 10, goodput.Unfinished)
	require.Empty(t, r.Tokens)
	r.Tokens = nil
	assert.Equal(t, &goodput.Record{Sent: 1, End: 10, Outcome: goodput.Unfinished}, r)

	for _, c := range []struct{ was, limit, want goodput.Outcome }{
		{goodput.Dropped, goodput.Timeout, goodput.Dropped},
		{goodput.Cancelled, goodput.Timeout, goodput.Timeout},
		{goodput.Cancelled, goodput.Unfinished, goodput.Unfinished},
		{goodput.Malformed, goodput.Timeout, goodput.Timeout},
	} {
		r := rec(c.was)
		expire(r, 20, c.limit)
		assert.Equal(t, c.want, r.Outcome, "%v, %v", c.was, c.limit)
	}
}

func TestTraceDoesNotAllocate(t *testing.T) {
	tr := NewTrace(time.Now())
	tr.rec.Tokens = make([]goodput.Token, 0, 1<<12)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		tr.Sent()
		tr.FirstByte()
		tr.Token(1)
		tr.Reasoning(1)
		tr.Usage(1, 1)
		tr.Text(Content, "x")
	}))
}

func BenchmarkTraceToken(b *testing.B) {
	b.ReportAllocs()
	tr := NewTrace(time.Now())
	at := time.Now()
	for i := 0; b.Loop(); i++ {
		if i%100 == 0 {
			tr.rec.Tokens = tr.rec.Tokens[:0]
		}
		tr.TokenAt(at, 1)
	}
}
