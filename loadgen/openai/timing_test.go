package openai

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/loadgen"
)

const ms = time.Millisecond

// bubble runs f in a bubble with a target whose server is h. What h writes arrives at that instant.
func bubble(t *testing.T, c Config, h http.HandlerFunc, f func(t *testing.T, tgt *Target)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr := memnet.Serve(t, &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body) // only then does the server see that the client goes away
			h(w, r)
		})})
		c.BaseURL, c.Client = "http://h"+c.BaseURL, &http.Client{Transport: tr}
		tgt, err := New(c)
		require.NoError(t, err)
		defer tgt.CloseIdleConnections()
		f(t, tgt)
	})
}

// write writes b and sees to it that it leaves.
func write(w http.ResponseWriter, b string) {
	io.WriteString(w, b)
	http.NewResponseController(w).Flush()
}

func at(rec *goodput.Record) (d []time.Duration) {
	for _, tok := range rec.Tokens {
		d = append(d, tok.At)
	}
	return d
}

func TestTimes(t *testing.T) {
	bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * ms)
		write(w, "") // the header
		time.Sleep(10 * ms)
		write(w, ": ping\n\n")
		time.Sleep(10 * ms)
		write(w, stream(choice(`"delta":{"role":"assistant"}`)))
		time.Sleep(10 * ms)
		write(w, stream(choice(`"delta":{"reasoning":"r"}`)))
		time.Sleep(10 * ms)
		write(w, deltas("a", "b")[:len(deltas("a"))+10]) // one event and a half
		time.Sleep(10 * ms)
		write(w, deltas("a", "b")[len(deltas("a"))+10:len(deltas("a", "b"))-1])
		time.Sleep(10 * ms)
		write(w, "\n") // what completes it
		time.Sleep(10 * ms)
		write(w, stop)
		time.Sleep(10 * ms)
		write(w, done)
		time.Sleep(10 * ms)
	}, func(t *testing.T, tgt *Target) {
		start := time.Now()
		rec := loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Zero(t, rec.Sent)
		assert.Equal(t, 20*ms, rec.FirstByte)
		assert.Equal(t, []time.Duration{40 * ms, 50 * ms, 70 * ms}, at(rec))
		assert.Equal(t, 50*ms, rec.FirstOutput)
		assert.Equal(t, 90*ms, rec.End, "the marker, not the end of the body")
		assert.Equal(t, 100*ms, time.Since(start))
	})
}

func TestTimesOfGzip(t *testing.T) {
	bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		time.Sleep(10 * ms)
		write(w, "")
		time.Sleep(10 * ms)
		for _, s := range []string{deltas("a"), deltas("b"), stop, done} {
			io.WriteString(z, s)
			z.Flush()
			write(w, "")
			time.Sleep(10 * ms)
		}
		z.Close()
	}, func(t *testing.T, tgt *Target) {
		rec := loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, 20*ms, rec.FirstByte)
		assert.Equal(t, []time.Duration{20 * ms, 30 * ms}, at(rec))
		assert.Equal(t, 50*ms, rec.End)
	})
}

func TestTimesOfTheEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       http.HandlerFunc
		outcome goodput.Outcome
		end     time.Duration
		took    time.Duration
	}{
		{"no marker: the end of the body", func(w http.ResponseWriter, r *http.Request) {
			write(w, deltas("a")+stop)
			time.Sleep(30 * ms)
		}, goodput.Success, 30 * ms, 30 * ms},
		{"a marker without its line feed: its arrival", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * ms)
			write(w, deltas("a")+"data: [DONE]")
			time.Sleep(30 * ms)
		}, goodput.Success, 10 * ms, 40 * ms},
		{"the connection is given 50 ms more", func(w http.ResponseWriter, r *http.Request) {
			write(w, deltas("a")+done)
			<-r.Context().Done()
		}, goodput.Success, 0, 50 * ms},
		{"and 64 KiB", func(w http.ResponseWriter, r *http.Request) {
			write(w, deltas("a")+done)
			for r.Context().Err() == nil {
				write(w, deltas("late"))
			}
		}, goodput.Success, 0, 0},
		{"a document: its last byte", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * ms)
			write(w, `{"choices":[{"message":{"content":"a"},`)
			time.Sleep(10 * ms)
			write(w, `"finish_reason":"stop"}],"usage":{"completion_tokens":1}}`)
		}, goodput.Success, 20 * ms, 20 * ms},
		{"an error event: its arrival", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * ms)
			write(w, deltas("a"))
			time.Sleep(10 * ms)
			write(w, stream(`{"error":{"message":"boom"}}`))
			<-r.Context().Done()
		}, goodput.ServerError, 20 * ms, 20 * ms},
		{"malformed: its arrival", func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(10 * ms)
			write(w, "data: x\n\n")
			<-r.Context().Done()
		}, goodput.Malformed, 10 * ms, 10 * ms},
		{"the loss", func(w http.ResponseWriter, r *http.Request) {
			write(w, deltas("a"))
			time.Sleep(10 * ms)
			panic(http.ErrAbortHandler)
		}, goodput.Truncated, 10 * ms, 10 * ms},
		{"a failure: the end of its body", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			write(w, "boom")
			time.Sleep(10 * ms)
		}, goodput.ServerError, 10 * ms, 10 * ms},
		{"a failure that does not end is one", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(503)
			write(w, "boom")
			<-r.Context().Done()
		}, goodput.ServerError, time.Second, time.Second},
		{"the deadline", func(w http.ResponseWriter, r *http.Request) {
			write(w, deltas("a")+stop)
			<-r.Context().Done()
		}, goodput.Timeout, 10 * time.Second, 10 * time.Second},
		{"the deadline, before the header", func(w http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}, goodput.Timeout, 10 * time.Second, 10 * time.Second},
		{"the deadline, after a document that does not end", func(w http.ResponseWriter, r *http.Request) {
			write(w, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`)
			<-r.Context().Done()
		}, goodput.Timeout, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, Config{}, c.h, func(t *testing.T, tgt *Target) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				start := time.Now()
				rec := loadgen.Do(ctx, tgt, &loadgen.Request{Prompt: "x"})
				assert.Equal(t, c.outcome, rec.Outcome, rec.Detail)
				assert.Equal(t, c.end, rec.End)
				assert.Equal(t, c.took, time.Since(start))
			})
		})
	}
}

// TestSlow has a server send one byte every 10 ms.
func TestSlow(t *testing.T) {
	body := deltas("a", "b") + done
	bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		for i := range body {
			time.Sleep(10 * ms)
			write(w, body[i:i+1])
		}
	}, func(t *testing.T, tgt *Target) {
		rec := loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		n := time.Duration(len(deltas("a")))
		assert.Equal(t, 10*ms, rec.FirstByte)
		assert.Equal(t, []time.Duration{n * 10 * ms, 2 * n * 10 * ms}, at(rec))
		assert.Equal(t, time.Duration(len(body))*10*ms, rec.End)
	})
}

func TestCancelled(t *testing.T) {
	for name, first := range map[string]string{"before the header": "", "within the body": deltas("a")} {
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					write(w, first)
				}
				<-r.Context().Done()
			}, func(t *testing.T, tgt *Target) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(70*ms, cancel)
				rec := loadgen.Do(ctx, tgt, &loadgen.Request{Prompt: "x"})
				assert.Equal(t, goodput.Cancelled, rec.Outcome, rec.Detail)
				assert.Equal(t, 70*ms, rec.End)
				assert.Len(t, rec.Tokens, len(first)/max(1, len(first)))
			})
		})
	}
}

// TestLatencyRunsFromTheFirstAttempt has a server take a second to close a kept-alive connection.
func TestLatencyRunsFromTheFirstAttempt(t *testing.T) {
	var calls atomic.Int32
	bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		time.Sleep(time.Second)
		if n == 2 {
			panic(http.ErrAbortHandler)
		}
		write(w, deltas("a")+done)
	}, func(t *testing.T, tgt *Target) {
		rec := loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		require.Equal(t, time.Second, rec.End)
		rec = loadgen.Do(t.Context(), tgt, &loadgen.Request{Prompt: "x"})
		require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
		assert.Equal(t, 2, rec.Attempts)
		assert.Zero(t, rec.Sent)
		assert.Equal(t, []time.Duration{2 * time.Second}, at(rec))
		assert.Equal(t, 2*time.Second, rec.End)
		assert.EqualValues(t, 3, calls.Load())
	})
}

// TestDeadlineWithinTheFirstAttempt is not repeated.
func TestDeadlineWithinTheFirstAttempt(t *testing.T) {
	var calls atomic.Int32
	bubble(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			<-r.Context().Done()
		}
		write(w, deltas("a")+done)
	}, func(t *testing.T, tgt *Target) {
		require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, &loadgen.Request{}).Outcome)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		rec := loadgen.Do(ctx, tgt, &loadgen.Request{})
		assert.Equal(t, goodput.Timeout, rec.Outcome)
		assert.LessOrEqual(t, rec.Attempts, 1)
		assert.EqualValues(t, 2, calls.Load())
	})
}
