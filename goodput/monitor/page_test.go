package monitor

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/browser"
	"github.com/goodputkit/goodputkit/slo"
)

// The page in a browser shows what the state is, keeps to its own policy, and takes a class's name for text.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	m := newMonitor(t, "ttft p95 < 2s, error_rate < 1%", WithClasses(slo.Set{"nobody": slo.MustParse("e2e p99.9999 < 1s")}))
	const evil = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`
	for i := range 100 {
		r := answer(evil, 3*sec, 3*sec)
		if i == 0 {
			r.Tokens = nil
		}
		m.Observe(r)
		m.Observe(answer("chat", sec, 3*sec))
	}
	m.Begin("chat", time.Now())
	p := browser.Start(t).Page(1280, 900)
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	for _, dark := range []bool{false, true} {
		p.Dark(dark)
		p.Open(s.URL + "/some/where")
		var ready bool
		for start := time.Now(); !ready && time.Since(start) < browser.Timeout; {
			p.Settle()
			p.Eval(`document.documentElement.dataset.ready === "true"`, &ready)
		}
		require.True(t, ready)
		var shown struct {
			Text, HTML, Title, Background string
			Firing, Figures, Images       int
			Meters                        int
		}
		p.Eval(`({
			text: document.body.innerText, html: document.body.innerHTML, title: document.title,
			background: getComputedStyle(document.body).backgroundColor,
			firing: document.querySelectorAll("td.state.firing").length,
			figures: document.querySelectorAll("figure").length, images: document.images.length,
			meters: document.querySelectorAll("meter").length,
		})`, &shown)
		require.Contains(t, shown.Text, "50%", "attainment")
		require.Contains(t, shown.Text, "left in 30 d")
		require.Contains(t, shown.Text, "burn, 5 min\t")
		const warning = "metric undefined: 1 of 200 successes have no ttft; each counts as a miss of ttft p95 < 2s"
		require.Contains(t, shown.Text, warning)
		require.Contains(t, shown.Text, evil, "a class's name is text")
		require.Zero(t, shown.Images)
		require.Equal(t, 2, shown.Meters, "of no request there is no budget to be left")
		require.Contains(t, shown.Text, "\t0.0001%\t", "what may be bad of a P99.9999")
		require.NotContains(t, shown.Title, "taken")
		require.NotZero(t, shown.Firing)
		require.Equal(t, 4, shown.Figures)
		require.Equal(t, dark, shown.Background != "rgb(255, 255, 255)")
		drawn, _, _ := strings.Cut(shown.HTML, "<script>")
		require.NotContains(t, drawn, "NaN")
		require.NotContains(t, strings.ReplaceAll(drawn, "metric undefined", ""), "undefined")
	}
	require.Empty(t, p.Complaints(), "neither errors nor what the policy refuses")
}
