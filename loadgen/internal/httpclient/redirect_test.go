package httpclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

// TestSecretsStayWithTheirHost: what is named like a credential follows no redirect to another server, and not back from it.
func TestSecretsStayWithTheirHost(t *testing.T) {
	seen := map[string]http.Header{}
	note := func(w http.ResponseWriter, r *http.Request) { seen[r.Host+r.URL.Path] = r.Header.Clone() }
	var home *httptest.Server
	other, _ := server(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		http.Redirect(w, r, home.URL+"/back", http.StatusTemporaryRedirect)
	})
	home, _ = server(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/here?key=abcd", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, other.URL+"/there", http.StatusTemporaryRedirect)
		}
	})
	secrets := []string{"X-Api-Key", "Api-Key", "Authorization", "X-Auth-Token", "Cookie"}
	for name, o := range map[string]Options{
		"own":      {Redirects: true},
		"caller's": {Redirects: true, Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			clear(seen)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, home.URL, strings.NewReader("x"))
			require.NoError(t, err)
			req.Header.Set("X-Plain", "seen")
			for _, s := range secrets {
				req.Header.Set(s, "abcd")
			}
			resp, err := client(t, o).Do(t.Context(), req, loadgen.NewTrace(time.Now()))
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			require.Len(t, seen, 4)
			for where, h := range seen {
				assert.Equal(t, "seen", h.Get("X-Plain"), where)
				for _, s := range secrets {
					if strings.HasSuffix(where, "/") || strings.HasSuffix(where, "/here") {
						assert.Equal(t, "abcd", h.Get(s), "%s %s", where, s)
					} else {
						assert.Empty(t, h.Get(s), "%s %s", where, s)
					}
				}
				if strings.HasSuffix(where, "/there") {
					assert.NotContains(t, h.Get("Referer"), "abcd")
				}
			}
			assert.Equal(t, "abcd", req.Header.Get("X-Api-Key"), "the request is as it was")
		})
	}
}

// TestRedirectThatIsNotFollowed: it is the answer, with its status, and not a connection's failure.
func TestRedirectThatIsNotFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		to     string
		policy func(*http.Request, []*http.Request) error
	}{
		"in a ring":       {to: "/ring"},
		"to no URL":       {to: "http://%zz"},
		"to a scheme":     {to: "ftp://127.0.0.1/"},
		"to nowhere":      {to: ""},
		"caller's policy": {to: "/", policy: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	} {
		for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
			t.Run(name, func(t *testing.T) {
				requests := 0
				srv, _ := server(t, (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request) {
					requests++
					if c.to != "" {
						w.Header().Set("Location", c.to)
					}
					w.WriteHeader(code)
					io.WriteString(w, "elsewhere")
				})
				o := Options{Redirects: true}
				if c.policy != nil {
					o.Client = &http.Client{CheckRedirect: c.policy, Transport: &http.Transport{DisableKeepAlives: true}}
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("x"))
				require.NoError(t, err)
				resp, err := client(t, o).Do(t.Context(), req, loadgen.NewTrace(time.Now()))
				require.NoError(t, err)
				defer resp.Body.Close()
				assert.Equal(t, code, resp.StatusCode)
				b, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				assert.Equal(t, "elsewhere", string(b))
				want := 1
				if name == "in a ring" {
					want = mostRedirects
				}
				assert.Equal(t, want, requests)
			})
		}
	}
}
