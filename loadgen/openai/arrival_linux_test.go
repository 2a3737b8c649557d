package openai

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// TestInstantsAreThoseOfArrival has a client that comes 10 ms late to all but the first token, for it was busy with the
// one before. What is recorded is when the server wrote it.
func TestInstantsAreThoseOfArrival(t *testing.T) {
	const late = 10 * ms
	type truth struct{ before, after time.Time }
	busy, wrote := make(chan struct{}), make(chan truth, 3)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i, s := range []string{deltas("a"), deltas("b"), stop + done} {
			if i > 0 {
				<-busy
			}
			before := time.Now()
			write(w, s)
			wrote <- truth{before, time.Now()}
		}
		<-r.Context().Done() // the end of the body is not to come with the end marker
	}))
	defer srv.Close()
	ask := func(c Config) (second, end time.Time, wants []truth) {
		c.BaseURL = srv.URL
		tgt, err := New(c)
		require.NoError(t, err)
		defer tgt.CloseIdleConnections()
		rec := loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"}, loadgen.WithText(func(loadgen.TextKind, string) {
			if len(wants) == 0 {
				wants = append(wants, <-wrote)
			}
			busy <- struct{}{}
			is := <-wrote
			wants = append(wants, is)
			for time.Since(is.after) < late {
				runtime.Gosched()
			}
		}))
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		require.Len(t, rec.Tokens, 2)
		assert.LessOrEqual(t, rec.FirstByte, rec.Tokens[0].At)
		return rec.Start.Add(rec.Tokens[1].At), rec.Start.Add(rec.End), wants
	}
	within := func(at time.Time, is truth) bool { return !at.Before(is.before) && !at.After(is.after.Add(ms)) }
	require.Eventually(t, func() bool { // the kernel takes some milliseconds to begin with its stamps
		second, end, wants := ask(Config{})
		return within(second, wants[1]) && within(end, wants[2])
	}, time.Minute, time.Millisecond)
	second, end, wants := ask(Config{NoKernelTime: true})
	assert.False(t, second.Before(wants[1].after.Add(late)))
	assert.False(t, end.Before(wants[2].after.Add(late)))
}
