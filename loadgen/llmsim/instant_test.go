package llmsim

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clockFault is the fault of f, or nil.
func clockFault(t *testing.T, f func()) (fault *FaultError) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			var is bool
			fault, is = p.(*FaultError)
			require.True(t, is, "%v", p)
		}
	}()
	f()
	return nil
}

// drive advances m until nothing happens any more, and counts what comes out.
func drive(m Machine) (tokens int, at time.Duration) {
	for next, ok := m.Next(); ok; next, ok = m.Next() {
		for _, ev := range m.Advance(next) {
			tokens, at = tokens+1, ev.At
		}
	}
	return tokens, at
}

// What there is time for is done until the last instant of all; what would be done later is the end of the machine, and says so,
// instead of being done before it began.
func TestAMachineAtTheEndOfTime(t *testing.T) {
	p := OPT13B()
	p.MaxQueue = 2
	preempting := p
	preempting.Preemption = true
	dated := p
	dated.Policy = EarliestDeadline{TTFT: time.Second}
	slow := Transfer{KVBytes: 1 << 20, Bandwidth: 1 << 24, Latency: time.Hour}
	for name, model := range map[string]Model{
		"engine": p, "preemption": preempting, "deadlines": dated,
		"replicas":      Replicas{Engines: []Params{p, p}, Router: LeastTTFT{}},
		"disaggregated": Disaggregated{Prefill: Replicas{Engines: []Params{p}}, Decode: Replicas{Engines: []Params{p}}, Transfer: slow},
		"parallel":      Disaggregated{Prefill: Replicas{Engines: []Params{p}}, Decode: Replicas{Engines: []Params{p}}, Transfer: Transfer{Bandwidth: math.Inf(1), Latency: time.Hour, Parallel: true}},
	} {
		job := Job{ID: 1, Prompt: 100, Output: 5}
		m, err := model.NewMachine()
		require.NoError(t, err)
		require.NoError(t, m.Submit(0, job))
		_, took := drive(m)

		m, err = model.NewMachine()
		require.NoError(t, err)
		require.NoError(t, m.Submit(math.MaxInt64-took, job))
		tokens, at := drive(m)
		assert.Equal(t, 5, tokens, name)
		assert.Equal(t, time.Duration(math.MaxInt64), at, name)
		_, busy := m.Next()
		assert.False(t, busy, name)

		for _, late := range []time.Duration{1, took / 2, took - 1, took} {
			m, err = model.NewMachine()
			require.NoError(t, err)
			fault := clockFault(t, func() {
				require.NoError(t, m.Submit(math.MaxInt64-took+late, job))
				drive(m)
			})
			require.NotNil(t, fault, "%s, %v too late", name, late)
			assert.Equal(t, "the clock", fault.Of, name)
			assert.ErrorContains(t, fault, "after the last instant, which is 2562047h47m16.854775807s")
		}

		m, err = model.NewMachine() // one that is told to do all that it can is done
		require.NoError(t, err)
		require.NoError(t, m.Submit(0, job))
		assert.Len(t, m.Advance(math.MaxInt64), 5, name)
	}
}

// A prompt that would take longer than there is time is late, and not in time: it does not go before one that can be in time.
func TestEarliestDeadlineWithAPromptOfCenturies(t *testing.T) {
	p := OPT13B()
	p.TokenBudget, p.MaxBatch, p.KVTokens = 1, 1, 1<<20
	p.Base, p.PerPromptToken, p.PerPromptPair, p.PerSequence, p.PerContextToken = 10*time.Hour, time.Hour, 0, 0, 0
	p.Policy = EarliestDeadline{TTFT: 30 * time.Hour}
	require.NoError(t, p.Validate())
	e, err := NewEngine(p)
	require.NoError(t, err)
	require.NoError(t, e.Submit(0, Job{ID: 1, Prompt: 1 << 18, Output: 1}))
	require.NoError(t, e.Submit(0, Job{ID: 2, Prompt: 2, Output: 1}))
	events := e.Advance(22 * time.Hour)
	require.Len(t, events, 1)
	require.EqualValues(t, 2, events[0].ID)
}
