package goodputhttp

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/internal/memnet"
	"github.com/goodputkit/goodputkit/slo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// books is a sink that keeps what it gets.
type books struct {
	mu   sync.Mutex
	all  []goodput.Record
	more chan struct{}
}

func newBooks() *books { return &books{more: make(chan struct{}, 1000)} }

func (b *books) Observe(r *goodput.Record) {
	b.mu.Lock()
	b.all = append(b.all, *r)
	b.mu.Unlock()
	b.more <- struct{}{}
}

// one is the only record, which may be on its way: a client can have its answer before the handler returns.
func (b *books) one(t *testing.T) goodput.Record {
	t.Helper()
	select {
	case <-b.more:
	case <-time.After(10 * time.Second):
		require.Fail(t, "no record")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Len(t, b.all, 1, "booked once")
	return b.all[0]
}

// none says that nothing was booked.
func (b *books) none(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(t, b.all)
}

// serve serves h in memory and gives a transport to it, until the test ends.
func serve(t *testing.T, h http.Handler) *http.Transport {
	return memnet.Serve(t, &http.Server{Handler: h})
}

func newMonitor(t *testing.T, promise string) *monitor.Monitor {
	m, err := monitor.New(slo.MustParse(promise))
	require.NoError(t, err)
	return m
}
