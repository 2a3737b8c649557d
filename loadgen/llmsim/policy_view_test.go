package llmsim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// What a policy is told of the engine and of its sequences, at each step. A step of 8 tokens at most takes 10 ms, 1 more for
// each prompt token and 2 for each output token.
func TestWhatAPolicySees(t *testing.T) {
	var saw []string
	p := round()
	p.Policy = llmsim.PolicyFunc(func(s *llmsim.Step) {
		line := fmt.Sprintf("%v: %d free", s.Now(), s.KVFree())
		for q := range s.Decoding() {
			line += fmt.Sprintf(", %d from %v has %d", q.Job().ID, q.Arrived(), q.Generated())
		}
		for q := range s.Waiting() {
			line += fmt.Sprintf(", %d from %v waits", q.Job().ID, q.Arrived())
		}
		llmsim.Chunked{}.Plan(s)
		saw = append(saw, line+fmt.Sprintf(": %d free", s.KVFree()))
	})
	e := engine(t, p)
	require.NoError(t, e.Submit(0, llmsim.Job{ID: 1, Prompt: 4, Output: 3}))
	require.NoError(t, e.Submit(5*ms, llmsim.Job{ID: 2, Prompt: 5, Output: 2}))
	drain(e)
	require.Equal(t, []string{
		"0s: 100 free, 1 from 0s waits: 93 free", // 4 + 3
		"14ms: 93 free, 1 from 0s has 1, 2 from 5ms waits: 86 free",
		"31ms: 86 free, 1 from 0s has 2, 2 from 5ms has 1: 86 free", // 10 + 2 + 5
	}, saw)
}
