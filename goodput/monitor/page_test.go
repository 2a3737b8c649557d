package monitor

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chromium is the browser; the test is skipped where there is none.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here")
	return ""
}

// The page in a browser shows what the state is, keeps to its own policy, and takes a class's name for text.
func TestPageInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := chromium(t)
	m := newMonitor(t, "ttft p95 < 2s, error_rate < 1%")
	const evil = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`
	for range 100 {
		m.Observe(answer(evil, 3*sec, 3*sec))
		m.Observe(answer("chat", sec, 3*sec))
	}
	m.Begin("chat", time.Now())
	s := httptest.NewServer(m.Handler())
	defer s.Close()
	for _, scheme := range []string{"light", "dark"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		dir := t.TempDir()
		log, err := os.Create(filepath.Join(dir, "log"))
		require.NoError(t, err)
		args := []string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
			"--user-data-dir=" + dir, "--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"}
		if scheme == "dark" {
			args = append(args, "--blink-settings=preferredColorScheme=0")
		}
		cmd := exec.CommandContext(ctx, browser, append(args, s.URL+"/some/where")...)
		cmd.Stderr = log
		out, err := cmd.Output()
		require.NoError(t, err)
		require.NoError(t, log.Close())
		console, err := os.ReadFile(log.Name())
		require.NoError(t, err)
		require.NotContains(t, string(console), "CONSOLE", "neither errors nor what the policy refuses")

		dom := string(out)
		require.Contains(t, dom, `data-ready="true"`)
		_, dom, _ = strings.Cut(dom, "</style>")
		dom, _, _ = strings.Cut(dom, "<script>") // what is shown
		require.Contains(t, dom, "50%", "attainment")
		require.Contains(t, dom, `<td class="state firing">firing</td>`)
		require.Contains(t, dom, "&lt;img src=x onerror=", "a class's name is text")
		require.NotContains(t, dom, "<img")
		require.NotContains(t, string(out), "<title>taken")
		require.Equal(t, 4, strings.Count(dom, "<figure>"))
		require.NotContains(t, dom, "NaN")
		require.NotContains(t, dom, "undefined")
	}
}
