package browser_test

import (
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/browser"
)

func TestWhatAPageDoesIsSeen(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"><title>a page</title><input id="a"><p style="height:3000px">tall</p>
<script>const seen = []; document.getElementById("a").addEventListener("keydown", e => seen.push(e.key))</script>`))
	}))
	defer s.Close()
	p := browser.Start(t).Page(400, 300)
	p.Dark(true)
	p.Open(s.URL)
	require.Empty(t, p.Complaints())
	var title string
	p.Eval("document.title", &title)
	assert.Equal(t, "a page", title)
	var dark bool
	p.Eval(`matchMedia("(prefers-color-scheme: dark)").matches`, &dark)
	assert.True(t, dark)
	var width int
	p.Eval("innerWidth", &width)
	assert.Equal(t, 400, width)

	before := p.Busy()
	p.Eval("{ const end = performance.now() + 50; while (performance.now() < end); }", nil)
	after := p.Busy()
	p.Eval("new Promise(done => setTimeout(() => done(0), 300))", nil)
	assert.Greater(t, after, before, "a loop is work")
	assert.Less(t, p.Busy()-after, 300*time.Millisecond, "and to wait is none")

	p.Key("Tab")
	p.Key("ArrowRight")
	p.Key("Home")
	var keys []string
	p.Eval("seen", &keys)
	assert.Equal(t, []string{"ArrowRight", "Home"}, keys)

	shot := filepath.Join(t.TempDir(), "shot.png")
	p.Screenshot(shot)
	f, err := os.Open(shot)
	require.NoError(t, err)
	defer f.Close()
	picture, err := png.DecodeConfig(f)
	require.NoError(t, err)
	assert.Greater(t, picture.Height, 3000)
	pdf := filepath.Join(t.TempDir(), "page.pdf")
	p.PDF(pdf)
	text, err := os.ReadFile(pdf)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), "%PDF-"))

	p.Eval(`console.error("a fault"); setTimeout(() => { throw new Error("another") }); new Promise(done => setTimeout(() => done(0), 20))`, nil)
	said := strings.Join(p.Complaints(), "\n")
	assert.Contains(t, said, "a fault")
	assert.Contains(t, said, "another")
}
