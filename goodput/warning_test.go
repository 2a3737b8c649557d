package goodput

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/slo"
)

// Whoever reads that a metric is undefined learns why, where it can be known, and what became of the requests.
func TestUndefinedIsSaidPlainly(t *testing.T) {
	const streamed, unstreamed = 10, 20
	for _, c := range []struct {
		slo              string
		streamed, failed int
		want             []string
	}{
		{"ttft p95 < 2s", 0, 10, []string{
			"metric undefined: none of 20 successes had a token event (was nothing streamed?), so none has a ttft; each counts as a miss of ttft p95 < 2s"}},
		{"tpot p95 < 50ms", 0, 0, []string{
			"metric undefined: none of 20 successes had a token event (was nothing streamed?), so none has a tpot; an answer of one token counts as within, any other as a miss of tpot p95 < 50ms"}},
		{"ttft p95 < 2s", streamed, 0, []string{
			"metric undefined: 20 of 30 successes have no ttft; each counts as a miss of ttft p95 < 2s"}},
		{"ttft p95 < 2s, undefined ttft: holds", streamed, 0, []string{
			"metric undefined: 20 of 30 successes have no ttft; each counts as within ttft p95 < 2s"}},
		{"ttft p95 < 2s, undefined ttft: excluded", streamed, 0, []string{
			"metric undefined: 20 of 30 successes have no ttft; each is left out of ttft p95 < 2s"}},
		{"x_cost p95 < 2", 0, 0, []string{
			"metric undefined: 20 of 20 successes have no x_cost; each counts as a miss of x_cost p95 < 2"}},
		{"e2e p95 < 2s", 0, 0, nil},
	} {
		acc := NewAccumulator(slo.MustParse(c.slo))
		for i := range unstreamed + c.streamed + c.failed {
			r := &Record{Start: time.Unix(1e9+int64(i), 0), End: time.Second, Outcome: Success, OutputTokens: 7}
			switch {
			case i >= unstreamed+c.streamed:
				r.Outcome = ServerError
			case i >= unstreamed:
				r.Tokens = []Token{{At: time.Millisecond, N: 7}}
			}
			acc.Observe(r)
		}
		var got []string
		for _, w := range acc.Report().Warnings {
			if errors.Is(w, ErrUndefined) {
				got = append(got, w.Error())
			}
		}
		assert.Equal(t, c.want, got, c.slo)
	}
}
