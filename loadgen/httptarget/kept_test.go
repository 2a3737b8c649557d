package httptarget

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

// A server, or a caller's client, that does not keep connections makes the client suspect where it is to keep them.
func TestConnectionsNotKept(t *testing.T) {
	closes := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "x")
	})
	keeps := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })
	reasons := func(c Config, threshold string) string {
		t.Helper()
		res, err := loadgen.Run(t.Context(), target(t, c), loadgen.Plan{SLO: slo.MustParse("e2e p95 < " + threshold), Requests: 100, Concurrency: 2})
		require.NoError(t, err)
		require.EqualValues(t, 100, res.Report.Outcomes[goodput.Success])
		return strings.Join(res.Report.Health.Reasons, "\n")
	}
	none := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	const said = "requests opened a connection, though"
	// No connection is opened within 1 ns.
	assert.Contains(t, reasons(Config{URL: closes}, "10ns"), "100 of 100 "+said+" no more than 2 were in flight at once and 0 failed")
	assert.Contains(t, reasons(Config{URL: closes, Client: &http.Client{Transport: &http.Transport{}}}, "10ns"), "100 of 100 "+said)
	assert.NotContains(t, reasons(Config{URL: closes}, "1h"), said, "it takes no time to speak of")
	assert.NotContains(t, reasons(Config{URL: keeps}, "10ns"), said)
	assert.NotContains(t, reasons(Config{URL: keeps, Client: none}, "10ns"), said, "it is to open one for each")
}
