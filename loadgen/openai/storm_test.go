package openai

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/heap"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
	"github.com/goodputkit/goodputkit/slo"
)

// newStorm is a target without connections yet, for n requests.
func newStorm(t *testing.T, n int, url, refused, tls string, o httpclient.Options) *storm {
	s := &storm{visits: make([]atomic.Int32, n), met: make([]atomic.Int32, n)}
	for _, c := range []struct {
		url string
		to  **Target
	}{{url, &s.Target}, {refused, &s.refused}, {tls, &s.tls}} {
		tgt, err := New(Config{BaseURL: c.url})
		require.NoError(t, err)
		tgt.client = httpclient.New(o)
		*c.to = tgt
	}
	return s
}

// requests are n, each of which says what it is.
func requests(n int) func(func(*loadgen.Request) bool) {
	return func(yield func(*loadgen.Request) bool) {
		for id := range n {
			r := &loadgen.Request{Prompt: "x", Body: map[string]any{"user": strconv.Itoa(id)}}
			if f := faultOf(id); f != nil && f.slow {
				r.Prompt = strings.Repeat("x", longPrompt)
			}
			if !yield(r) {
				return
			}
		}
	}
}

// rage runs n requests through s, and checks that each has met its fault and has become of it what had to. begun, if not
// nil, hears of each request.
func (s *storm) rage(t *testing.T, n int, p loadgen.Plan, begun func(id uint64)) *loadgen.Result {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "records.jsonl"))
	require.NoError(t, err)
	defer file.Close()
	p.SLO, p.Workload, p.Records = slo.MustParse("e2e p95 < 10s, error_rate < 50%"), requests(n), file
	res, err := loadgen.Run(t.Context(), watched{s, begun}, p)
	require.NoError(t, err)
	s.late.Wait()
	for _, tgt := range []*Target{s.Target, s.refused, s.tls} {
		tgt.CloseIdleConnections()
	}

	r := res.Report
	require.EqualValues(t, n, r.Offered)
	sum := r.Good + r.Late
	for o, k := range r.Outcomes {
		if o != goodput.Success {
			sum += k
		}
	}
	assert.Equal(t, r.Offered, sum, "the books close")

	again, err := goodput.ReadReport(file)
	require.NoError(t, err)
	assert.Equal(t, r.Outcomes, again.Outcomes)
	_, err = file.Seek(0, io.SeekStart)
	require.NoError(t, err)
	rr, err := goodput.ReadRecords(file)
	require.NoError(t, err)
	seen, repeated := make([]bool, n), uint64(0)
	type tally struct{ met, booked int }
	tallies, outcomes := map[string]tally{}, map[goodput.Outcome]uint64{}
	for rec, err := range rr.All() {
		require.NoError(t, err)
		require.Contains(t, rec.Custom, slo.Metric("x_id"), "%+v", rec)
		id := int(rec.Custom["x_id"])
		require.False(t, seen[id], "request %d is booked once", id)
		seen[id] = true
		outcomes[rec.Outcome]++
		if rec.Attempts > 1 {
			repeated++
		}
		f := faultOf(id)
		if f == nil {
			f = &fault{name: "none", want: goodput.Success}
		}
		require.Equal(t, f.want, rec.Outcome, "request %d, fault %q: %s", id, f.name, rec.Detail)
		c := tallies[f.name]
		if s.met[id].Load() > 0 {
			c.met++
		}
		c.booked++
		tallies[f.name] = c
		if f.do == nil {
			require.EqualValues(t, max(1, rec.Attempts), s.visits[id].Load(), "request %d, fault %q: each attempt reached the server", id, f.name)
		}
		if f.name == "kept-alive connection closed" {
			require.Equal(t, s.met[id].Load() > 0, rec.Attempts == 2, "request %d: %s", id, rec.Detail)
		}
		if f.want == goodput.Success && f.do == nil {
			require.Len(t, rec.Tokens, 2, "request %d, fault %q", id, f.name)
			require.Equal(t, "stop", rec.Finish)
		}
	}
	assert.Equal(t, outcomes, r.Outcomes)
	assert.Equal(t, repeated, r.Health.Retried)
	assert.Len(t, tallies, len(storms)+len(faults)+1, "every fault came")
	for name, c := range tallies {
		t.Logf("%-30s met by %6d, booked as that %6d", name, c.met, c.booked)
		switch name {
		case "none":
			assert.Zero(t, c.met)
		case "kept-alive connection closed":
			assert.Positive(t, c.met)
		default:
			assert.Equal(t, c.met, c.booked, name)
		}
	}
	share := float64(n-tallies["none"].booked) / float64(n)
	assert.InDelta(t, 0.2, share, 0.03, "of the requests that were to have a fault")
	return res
}

// watched is a storm whose requests are counted.
type watched struct {
	*storm
	begun func(uint64)
}

func (w watched) Do(ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error {
	if w.begun != nil {
		w.begun(tr.Index())
	}
	return w.storm.Do(ctx, r, tr)
}

// TestStorm has a fifth of the requests meet a fault, of the server's, of the network's or of the target's own: the books
// close, each fault is booked as what it is, and nothing is left behind.
func TestStorm(t *testing.T) {
	log.SetOutput(io.Discard) // net/http's client says there what it thinks of the server
	defer log.SetOutput(os.Stderr)
	const n = 3000
	type dial = func(ctx context.Context, network, addr string) (net.Conn, error)
	for name, c := range map[string]struct {
		ahead int
		of    func(dial) httpclient.Options
	}{
		"a transport of the caller's": {of: func(d dial) httpclient.Options {
			return httpclient.Options{Client: &http.Client{Transport: &http.Transport{DialContext: d}}}
		}},
		"the pool": {of: func(d dial) httpclient.Options {
			return httpclient.Options{Dial: d}
		}},
		"the pool, opened ahead": {ahead: 100, of: func(d dial) httpclient.Options {
			return httpclient.Options{Dial: d}
		}},
		"the pool, with redirects": {of: func(d dial) httpclient.Options {
			return httpclient.Options{Dial: d, Redirects: true}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := memnet.Listen()
				s := newStorm(t, n, "http://h", "http://refused", "https://h", c.of(func(ctx context.Context, network, addr string) (net.Conn, error) {
					if strings.HasPrefix(addr, "refused") {
						return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
					}
					return l.Dial(ctx, network, addr)
				}))
				served := make(chan struct{})
				go func() { defer close(served); s.serve(l) }()
				if c.ahead > 0 {
					require.NoError(t, s.Connect(t.Context(), c.ahead))
				}
				s.rage(t, n, loadgen.Plan{Arrivals: loadgen.Poisson{Rate: 500}, Timeout: 2 * time.Second}, nil)
				l.Close()
				<-served
			})
		})
	}
}

// TestSoak is TestStorm with a hundred thousand requests over loopback, and with an eye on the heap. It takes a minute or
// so, and runs where GOODPUT_SOAK is set.
func TestSoak(t *testing.T) {
	if os.Getenv("GOODPUT_SOAK") == "" {
		t.Skip("GOODPUT_SOAK is not set")
	}
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	const n = 100_000
	before := goleak.IgnoreCurrent()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed.Close()
	s := newStorm(t, n, "http://"+l.Addr().String(), "http://"+closed.Addr().String(), "https://"+l.Addr().String(), httpclient.Options{})
	served := make(chan struct{})
	go func() { defer close(served); s.serve(l) }()

	var heaps [3]uint64 // live bytes after a quarter, a half and nearly all of the run
	begun := func(id uint64) {
		for i, at := range []uint64{n / 4, n / 2, n - n/50} {
			if id == at {
				heaps[i] = heap.Live()
			}
		}
	}
	res := s.rage(t, n, loadgen.Plan{Concurrency: 800, Timeout: 10 * time.Second}, begun)
	l.Close()
	<-served
	require.NoError(t, goleak.Find(before))
	t.Logf("%v, %.0f requests/s, heap %v kB", res.Elapsed, res.Report.ThroughputRPS, [3]uint64{heaps[0] >> 10, heaps[1] >> 10, heaps[2] >> 10})
	// 800 requests are in flight each time, though not at the same place: 8 MiB are 10 kB for each, at both ends of its
	// connection. Had 300 bytes stayed of each request, they would be 22 MB.
	for _, h := range heaps[1:] {
		assert.Less(t, h, heaps[0]+8<<20, "live bytes")
	}
	assert.NotErrorIs(t, errors.Join(res.Report.Warnings...), loadgen.ErrRecordsFile)
}
