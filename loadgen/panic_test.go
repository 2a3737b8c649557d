package loadgen

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
)

func TestPanickingTarget(t *testing.T) {
	var calls atomic.Int64
	res, rs := run(t, TargetFunc(func(_ context.Context, _ *Request, tr *Trace) error {
		time.Sleep(ms)
		switch calls.Add(1) % 4 {
		case 1:
			panic(errors.New("boom"))
		case 2:
			runtime.Goexit()
		case 3:
			panic(nil)
		}
		return nil
	}), Plan{SLO: e2e, Concurrency: 1, Requests: 20})
	assert.EqualValues(t, 15, res.Report.Outcomes[goodput.ServerError])
	assert.EqualValues(t, 5, res.Report.Good)
	assert.Regexp(t, `^panic: boom \(panic_test\.go:\d+\)$`, rs[0].Detail)
}

func TestPanickingSequences(t *testing.T) {
	for name, f := range map[string]func(*Plan){
		"Workload": func(p *Plan) {
			p.Workload = func(yield func(*Request) bool) {
				yield(&Request{})
				yield(&Request{})
				panic("bad line")
			}
		},
		"Workload, Goexit": func(p *Plan) {
			p.Workload = func(yield func(*Request) bool) {
				yield(&Request{})
				yield(&Request{})
				runtime.Goexit()
			}
		},
		"Arrivals": func(p *Plan) {
			p.Concurrency = 0
			p.Arrivals = ArrivalsFunc(func(yield func(time.Duration) bool) {
				yield(0)
				yield(ms)
				panic("bad line")
			})
		},
		"Arrivals, Goexit": func(p *Plan) {
			p.Concurrency = 0
			p.Arrivals = ArrivalsFunc(func(yield func(time.Duration) bool) {
				yield(0)
				yield(ms)
				runtime.Goexit()
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := Plan{SLO: e2e, Concurrency: 1, Requests: 10}
			f(&p)
			res, err := Run(t.Context(), takes(50*ms), p)
			require.ErrorIs(t, err, ErrSequence)
			field, exit, _ := strings.Cut(name, ", ")
			want := field + `: panic: bad line \(panic_test\.go:\d+\)`
			if exit != "" {
				want = field + `: panic: it ended its goroutine \(runtime\.Goexit\)`
			}
			assert.Regexp(t, `^loadgen: a sequence of the plan failed, which ended the arrivals: `+want+`$`, err.Error())
			assert.EqualValues(t, 2, res.Report.Good, "what there was is in the report")
		})
	}
}

// A sequence that panics when it is told to stop does no harm to what was measured.
func TestSequencePanicsAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, err := Run(t.Context(), takes(0), Plan{SLO: e2e, Concurrency: 1, Requests: 3, Workload: func(yield func(*Request) bool) {
			defer func() { panic("at the end") }()
			for yield(&Request{}) {
			}
		}})
		assert.EqualValues(t, 3, res.Report.Good)
		_ = err // the reader may have been ahead of the end, or not
	})
}

func TestPanickingProgress(t *testing.T) {
	calls := 0
	res, _ := run(t, takes(50*ms), Plan{SLO: e2e, Arrivals: Constant{Rate: 10}, Duration: 5 * time.Second, Progress: func(Progress) {
		calls++
		panic("no terminal")
	}})
	assert.Equal(t, 1, calls)
	assert.EqualValues(t, 50, res.Report.Good)
	warning(t, res, ErrProgress, "no terminal")
}
