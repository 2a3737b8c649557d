package llmsim_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/slo"
)

func target(t testing.TB, m llmsim.Model) *llmsim.Target {
	tg, err := llmsim.NewTarget(m)
	require.NoError(t, err)
	return tg
}

func TestTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := target(t, round())
		var text strings.Builder
		rec := loadgen.Do(t.Context(), tg, &loadgen.Request{InputTokens: 5, MaxTokens: 3},
			loadgen.WithText(func(_ loadgen.TextKind, s string) { text.WriteString(s) }))
		assert.Equal(t, goodput.Success, rec.Outcome)
		assert.Equal(t, []goodput.Token{{At: 15 * ms, N: 1}, {At: 27 * ms, N: 1}, {At: 39 * ms, N: 1}}, rec.Tokens)
		assert.Equal(t, 15*ms, rec.FirstByte)
		assert.Equal(t, 39*ms, rec.End)
		assert.Equal(t, 5, rec.InputTokens)
		assert.Equal(t, 3, rec.OutputTokens)
		assert.Equal(t, "length", rec.Finish)
		assert.Equal(t, " goodput is what", text.String())
	})
}

func TestTargetLengths(t *testing.T) {
	for _, c := range []struct {
		name          string
		req           loadgen.Request
		prompt        int
		output        int
		finish        string
		firstAfterIdl time.Duration
	}{
		{"nothing said", loadgen.Request{}, 1, 2, "stop", 11 * ms},
		{"words of the prompt", loadgen.Request{Prompt: " two\twords\n", MaxTokens: 1}, 2, 1, "length", 12 * ms},
		{"words of the messages", loadgen.Request{Messages: []loadgen.Message{{Content: "one"}, {Content: "two three"}}}, 3, 2, "stop", 13 * ms},
		{"the number goes before the words", loadgen.Request{Prompt: "one", InputTokens: 4}, 4, 2, "stop", 14 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec := loadgen.Do(t.Context(), target(t, round()), &c.req)
				assert.Equal(t, goodput.Success, rec.Outcome)
				assert.Equal(t, c.prompt, rec.InputTokens)
				assert.Equal(t, c.output, rec.OutputTokens)
				assert.Len(t, rec.Tokens, c.output)
				assert.Equal(t, c.finish, rec.Finish)
				assert.Equal(t, c.firstAfterIdl, rec.Tokens[0].At)
			})
		})
	}
}

func TestTargetReportsWhatCameBeforeATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := target(t, round())
		ctx, cancel := context.WithTimeout(t.Context(), 30*ms)
		defer cancel()
		rec := loadgen.Do(ctx, tg, &loadgen.Request{InputTokens: 5, MaxTokens: 50})
		assert.Equal(t, goodput.Timeout, rec.Outcome)
		assert.Equal(t, 30*ms, rec.End)
		assert.Equal(t, []goodput.Token{{At: 15 * ms, N: 1}, {At: 27 * ms, N: 1}}, rec.Tokens)
		assert.Zero(t, rec.OutputTokens, "no usage was sent")
		assert.Zero(t, tg.Stats().Running, "its place is free")

		// The next begins when the step under way has ended, at 39 ms.
		rec = loadgen.Do(t.Context(), tg, &loadgen.Request{InputTokens: 5, MaxTokens: 1})
		assert.Equal(t, 24*ms, rec.End)
	})
}

func TestTargetRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := round()
		p.MaxBatch, p.MaxQueue = 1, 1
		tg := target(t, p)
		rec := loadgen.Do(t.Context(), tg, &loadgen.Request{InputTokens: 99, MaxTokens: 2})
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		assert.Equal(t, "HTTP status 400: 99 prompt tokens and 2 output tokens are more than the 100 that the KV cache holds", rec.Detail)
		rec = loadgen.Do(t.Context(), tg, &loadgen.Request{MaxTokens: -1})
		assert.Equal(t, goodput.ClientError, rec.Outcome)
		rec = loadgen.Do(t.Context(), tg, &loadgen.Request{InputTokens: -1, Prompt: "a"})
		assert.Equal(t, goodput.ClientError, rec.Outcome)

		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				assert.Equal(t, goodput.Success, loadgen.Do(t.Context(), tg, &loadgen.Request{MaxTokens: 5}).Outcome)
			})
		}
		synctest.Wait()
		rec = loadgen.Do(t.Context(), tg, &loadgen.Request{})
		assert.Equal(t, goodput.Rejected, rec.Outcome)
		assert.Zero(t, rec.End, "at once")
		wg.Wait()
	})
}

// Each token is told at the instant at which it comes out, and what the last one sets off takes part in the step that begins then.
func TestTargetStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := target(t, round())
		zero := time.Now()
		var seen []string
		free := make(chan struct{})
		stream := func(name string, prompt, output int, token func(last bool)) *goodput.Record {
			return loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
				return tg.Stream(ctx, req, tr, func(at time.Time, last bool) {
					assert.Equal(t, time.Now(), at)
					seen = append(seen, fmt.Sprintf("%s %v %v", name, at.Sub(zero), last))
					token(last)
				})
			}), &loadgen.Request{InputTokens: prompt, MaxTokens: output})
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			rec := stream("a", 5, 2, func(last bool) {
				if last {
					close(free)
				}
			})
			assert.Equal(t, []goodput.Token{{At: 15 * ms, N: 1}, {At: 27 * ms, N: 1}}, rec.Tokens)
		})
		wg.Go(func() {
			<-free
			rec := stream("b", 3, 2, func(bool) {})
			assert.Equal(t, []goodput.Token{{At: 13 * ms, N: 1}, {At: 25 * ms, N: 1}}, rec.Tokens, "as on an idle engine")
		})
		wg.Wait()
		assert.Equal(t, []string{"a 15ms false", "a 27ms true", "b 40ms false", "b 52ms true"}, seen)

		// After its context has ended a request is told of nothing.
		seen = nil
		ctx, cancel := context.WithTimeout(t.Context(), 30*ms)
		defer cancel()
		err := func() (err error) {
			loadgen.Do(ctx, loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
				err = tg.Stream(ctx, req, tr, func(time.Time, bool) { seen = append(seen, "") })
				return err
			}), &loadgen.Request{InputTokens: 5, MaxTokens: 50})
			return err
		}()
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Second)
		assert.Len(t, seen, 2)
	})
}

func TestTargetDescribes(t *testing.T) {
	d := target(t, llmsim.OPT13B()).Describe()
	assert.Equal(t, "llmsim opt-13b", d.Name)
	assert.True(t, d.Tokens)
	for _, m := range []slo.Metric{slo.TTFT, slo.TTFO, slo.TPOT, slo.ITL, slo.Speed, slo.E2E} {
		assert.True(t, d.Gives(m), m)
	}
	assert.False(t, d.Gives("x_cost"))
}

func ExampleNewTarget() {
	target, err := llmsim.NewTarget(llmsim.OPT13B().Faster(100))
	if err != nil {
		fmt.Println(err)
		return
	}
	rec := loadgen.Do(context.Background(), target, &loadgen.Request{Prompt: "What is goodput?", MaxTokens: 5})
	fmt.Println(rec.Outcome, rec.Finish, rec.InputTokens, rec.OutputTokens, len(rec.Tokens))
	// Output: success length 3 5 5
}
