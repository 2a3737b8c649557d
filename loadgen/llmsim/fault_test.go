package llmsim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/llmsim"
	"github.com/goodputkit/goodputkit/loadgen/openai"
)

var errBroken = errors.New("broken")

// failing is Chunked up to an instant, and from then on what it says.
type failing struct {
	from time.Duration
	then func()
}

func (f *failing) Plan(s *llmsim.Step) {
	if s.Now() < f.from {
		llmsim.Chunked{}.Plan(s)
	} else {
		f.then()
	}
}

// wild is a router that panics from its nth job on.
type wild struct{ n uint64 }

func (wild) String() string { return "wild" }
func (w wild) New() llmsim.Route {
	return func(n uint64, _ llmsim.Job, pool []*llmsim.Replica) int {
		if n >= w.n {
			pool = pool[:0]
			return pool[n].Jobs()
		}
		return int(n) % len(pool)
	}
}

// own is a Model of one's own, whose machine panics at the second token.
type own struct{ llmsim.Params }

type ownMachine struct {
	llmsim.Machine
	tokens int
}

func (m own) NewMachine() (llmsim.Machine, error) {
	e, err := m.Params.NewMachine()
	return &ownMachine{Machine: e}, err
}

func (m *ownMachine) Advance(to time.Duration) []llmsim.Event {
	events := m.Machine.Advance(to)
	if m.tokens += len(events); m.tokens > 2 {
		panic("out of tape")
	}
	return events
}

// faults are models that fail while requests are in flight, at 27 ms where the first one has come at 0 with 5 prompt tokens.
var faults = []struct {
	name  string
	model func() llmsim.Model
	want  string // of the error
}{
	{"a policy that plans nothing", func() llmsim.Model {
		p := round()
		p.Policy = &failing{27 * ms, func() {}}
		return p
	}, `^llmsim: policy \*llmsim_test\.failing: nothing in a step, with [12] sequences in the batch and 0 waiting$`},
	{"a policy that panics", func() llmsim.Model {
		p := round()
		p.Policy = &failing{27 * ms, func() { panic(errBroken) }}
		return p
	}, `^llmsim: policy \*llmsim_test\.failing: panic: broken \(fault_test\.go:\d+\)$`},
	{"a policy that ends its goroutine", func() llmsim.Model {
		p := round()
		p.Policy = &failing{27 * ms, runtime.Goexit}
		return p
	}, `^llmsim: a machine \*llmsim\.Engine: .*Goexit`},
	{"a decode router without an answer", func() llmsim.Model {
		d := split(round(), 1, 1, atOnce)
		d.Decode.Router = nowhere{7}
		return d
	}, `^llmsim: Disaggregated\.Decode: router nowhere chose engine 7, and they are 0 to 0$`},
	{"a decode router that panics", func() llmsim.Model {
		d := split(round(), 1, 1, atOnce)
		d.Decode.Router = wild{0}
		return d
	}, `^llmsim: router wild: panic: .*index out of range.* \(fault_test\.go:\d+\)$`},
	{"a policy of a decode engine", func() llmsim.Model {
		d := split(round(), 1, 1, atOnce)
		d.Decode.Engines[0].Policy = &failing{0, func() {}}
		return d
	}, `^llmsim: policy \*llmsim_test\.failing: nothing in a step`},
	{"a model of one's own", func() llmsim.Model { return own{round()} }, `^llmsim: a machine \*llmsim_test\.ownMachine: panic: out of tape \(fault_test\.go:\d+\)$`},
}

// TestFaultOfRunner: the run is cut off, and the error says whose fault it is.
func TestFaultOfRunner(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			if strings.Contains(c.name, "goroutine") {
				t.Skip("the goroutine is the test's")
			}
			var file bytes.Buffer
			stopped := false
			workload := func(yield func(*loadgen.Request) bool) {
				defer func() { stopped = true }()
				for yield(&loadgen.Request{InputTokens: 5, MaxTokens: 20}) {
				}
			}
			res, err := llmsim.Runner(c.model())(t.Context(), loadgen.Plan{SLO: chat, Arrivals: loadgen.Constant{Rate: 1}, Duration: time.Minute, Workload: workload, Records: &file})
			fault, ok := errors.AsType[*llmsim.FaultError](err)
			require.True(t, ok, "%v", err)
			assert.Regexp(t, c.want, fault.Error())
			require.Equal(t, err, res.Cut)
			assert.LessOrEqual(t, res.Elapsed, 40*ms)
			r := res.Report
			assert.EqualValues(t, 1, r.Offered)
			assert.EqualValues(t, 1, r.Outcomes[goodput.Unfinished])
			assert.True(t, stopped, "the workload is let go")
			rr, err := goodput.ReadRecords(&file)
			require.NoError(t, err)
			for rec, err := range rr.All() {
				require.NoError(t, err)
				assert.LessOrEqual(t, len(rec.Tokens), 2)
			}
		})
	}
	t.Run("at a Submit", func(t *testing.T) {
		res, err := llmsim.Runner(replicas(round(), 4, wild{2}))(t.Context(), loadgen.Plan{SLO: chat, Arrivals: loadgen.Constant{Rate: 100}, Requests: 50,
			Workload: same(1<<20, loadgen.Request{InputTokens: 5, MaxTokens: 3})})
		require.ErrorContains(t, err, "router wild: panic: ")
		assert.Equal(t, 20*ms, res.Elapsed, "the third request came then")
		assert.EqualValues(t, 3, res.Report.Offered)
	})
	t.Run("an error that the plan has, too", func(t *testing.T) {
		_, err := llmsim.Runner(faults[1].model())(t.Context(), loadgen.Plan{SLO: chat, Arrivals: loadgen.Constant{Rate: 1}, Requests: 5,
			Workload: same(5, loadgen.Request{InputTokens: 5, MaxTokens: 9}), Records: writerThatFails{}})
		require.ErrorIs(t, err, errBroken)
		require.ErrorIs(t, err, loadgen.ErrRecordsFile)
	})
}

type writerThatFails struct{}

func (writerThatFails) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFaultOfTarget: what is in flight fails, and what comes after.
func TestFaultOfTarget(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tg := target(t, c.model())
				first := loadgen.Do(t.Context(), tg, &loadgen.Request{InputTokens: 5, MaxTokens: 20})
				assert.Equal(t, goodput.ServerError, first.Outcome)
				assert.Regexp(t, c.want, first.Detail)
				assert.LessOrEqual(t, first.End, 40*ms)
				assert.LessOrEqual(t, len(first.Tokens), 2)
				for range 3 {
					var err error
					rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
						err = tg.Do(ctx, req, tr)
						return err
					}), &loadgen.Request{InputTokens: 5, MaxTokens: 20})
					assert.Equal(t, goodput.ServerError, rec.Outcome)
					assert.Equal(t, first.Detail, rec.Detail)
					assert.Zero(t, rec.End, "at once")
					fault, ok := errors.AsType[*llmsim.FaultError](err)
					require.True(t, ok)
					assert.Regexp(t, c.want, fault.Error())
				}
				assert.Zero(t, tg.Stats())
			})
		})
	}
}

// TestFaultSeenByStats: who looks at a machine sees its end first, and the requests in flight see it then.
func TestFaultSeenByStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := round()
		p.Policy = &failing{0, func() { panic(errBroken) }}
		tg := target(t, llmsim.Replicas{Engines: []llmsim.Params{p}})
		assert.Zero(t, tg.Stats())
		rec := loadgen.Do(t.Context(), tg, &loadgen.Request{})
		assert.Equal(t, goodput.ServerError, rec.Outcome)
		assert.Zero(t, rec.End)
		assert.Zero(t, tg.Stats())
	})
}

// TestFaultOfServer: what is in flight gets 500, or an error event where its stream has begun, and what comes after gets 500.
func TestFaultOfServer(t *testing.T) {
	for _, c := range faults {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := llmsim.NewServer(c.model())
				require.NoError(t, err)
				defer s.Close()
				client := serve(t, s)
				health := func() int {
					resp, err := client.Get("http://sim/health")
					require.NoError(t, err)
					defer resp.Body.Close()
					return resp.StatusCode
				}
				assert.Equal(t, 200, health())
				var wg sync.WaitGroup
				wg.Go(func() {
					status, events, _ := post(t, client, nil, `{"messages":[{"content":"a b c d e"}],"max_tokens":20,"stream":true}`)
					assert.Equal(t, 200, status)
					require.GreaterOrEqual(t, len(events), 3)
					assert.Equal(t, "[DONE]", events[len(events)-1].data)
					body := events[len(events)-2].data
					assert.Regexp(t, c.want, gjson.Get(body, "error.message").String())
					assert.EqualValues(t, 500, gjson.Get(body, "error.code").Int())
					assert.Equal(t, "server_error", gjson.Get(body, "error.type").String())
				})
				wg.Go(func() {
					status, _, body := post(t, client, nil, `{"messages":[{"content":"a"}],"max_tokens":20}`)
					assert.Equal(t, 500, status)
					assert.Regexp(t, c.want, gjson.Get(body, "error.message").String())
				})
				wg.Wait()
				for _, stream := range []string{"true", "false"} {
					status, _, body := post(t, client, nil, `{"messages":[{"content":"a"}],"max_tokens":20,"stream":`+stream+`}`)
					assert.Equal(t, 500, status)
					assert.NotEmpty(t, gjson.Get(body, "error.message").String())
				}
				assert.Equal(t, http.StatusServiceUnavailable, health())
				tg, err := openai.New(openai.Config{BaseURL: "http://sim/v1", Model: "round", Client: client})
				require.NoError(t, err)
				assert.Equal(t, goodput.ServerError, loadgen.Do(t.Context(), tg, &loadgen.Request{Prompt: "a"}).Outcome)
				require.NoError(t, s.Close())
				status, _, _ := post(t, client, nil, `{"messages":[{"content":"a"}]}`)
				assert.Equal(t, 503, status)
			})
		})
	}
}

// TestFaultInAStreamIsAnError: the library's own client books the error event.
func TestFaultInAStreamIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := llmsim.NewServer(faults[0].model())
		require.NoError(t, err)
		defer s.Close()
		tg, err := openai.New(openai.Config{BaseURL: "http://sim/v1", Model: "round", Client: serve(t, s)})
		require.NoError(t, err)
		rec := loadgen.Do(t.Context(), tg, &loadgen.Request{Prompt: "a b c d e", MaxTokens: 20})
		assert.Equal(t, goodput.ServerError, rec.Outcome)
		assert.Contains(t, rec.Detail, "policy *llmsim_test.failing")
		assert.Len(t, rec.Tokens, 2)
	})
}

// TestFaultOfATokenFunction is its own request's end, and nobody else's.
func TestFaultOfATokenFunction(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic(errBroken) }, "Goexit": runtime.Goexit} {
		for _, at := range []int{1, 2, 3} { // of 3 tokens
			synctest.Test(t, func(t *testing.T) {
				tg := target(t, round())
				told := 0
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, req *loadgen.Request, tr *loadgen.Trace) error {
							return tg.Stream(ctx, req, tr, func(time.Time, bool) {
								if i == 1 {
									if told++; told == at {
										fail()
									}
								}
							})
						}), &loadgen.Request{InputTokens: 2, MaxTokens: 3})
						if i == 1 {
							assert.Equal(t, goodput.ServerError, rec.Outcome, name)
							assert.Contains(t, rec.Detail, "llmsim: a token function: ")
							assert.Len(t, rec.Tokens, at)
						} else {
							assert.Equal(t, goodput.Success, rec.Outcome, name)
							assert.Len(t, rec.Tokens, 3)
						}
					})
				}
				wg.Wait()
				assert.Equal(t, at, told, "not again")
				s := tg.Stats()
				assert.Zero(t, s.Running+s.Waiting+s.KVReserved)
			})
		}
	}
}
