package httptarget

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

// TestInstantsAreThoseOfArrival has a client that looks at an answer 10 ms after its last byte has come.
func TestInstantsAreThoseOfArrival(t *testing.T) {
	const late = 10 * time.Millisecond
	looks, wrote := make(chan struct{}), make(chan [2]time.Time, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "5")
		http.NewResponseController(w).Flush()
		<-looks
		before := time.Now()
		io.WriteString(w, "whole")
		http.NewResponseController(w).Flush()
		wrote <- [2]time.Time{before, time.Now()}
	}))
	defer srv.Close()
	look := func(c Config) (end, before, after time.Time) {
		var is [2]time.Time
		c.URL = srv.URL
		c.Check = func(*http.Response, io.Reader) error {
			looks <- struct{}{}
			for is = <-wrote; time.Since(is[1]) < late; {
				runtime.Gosched()
			}
			return nil
		}
		tgt, err := New(c)
		require.NoError(t, err)
		defer tgt.CloseIdleConnections()
		rec := loadgen.Do(t.Context(), tgt, nil)
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.LessOrEqual(t, rec.FirstByte, rec.End)
		return rec.Start.Add(rec.End), is[0], is[1]
	}
	require.Eventually(t, func() bool { // the kernel takes some milliseconds to begin with its stamps
		end, before, after := look(Config{})
		return !end.Before(before) && !end.After(after.Add(time.Millisecond))
	}, time.Minute, time.Millisecond)
	end, _, after := look(Config{NoKernelTime: true})
	assert.False(t, end.Before(after.Add(late)))
}
