package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// fails is a body that breaks off.
type fails struct{ left int }

func (f *fails) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, errors.New("the disk is gone")
	}
	n := min(len(p), f.left)
	f.left -= n
	return n, nil
}

// TestBodyThatFails: what is the caller's own fault is not taken for a connection that had died: it is not repeated, and it
// is the client's.
func TestBodyThatFails(t *testing.T) {
	for proto, start := range map[string]func(*httptest.Server){"HTTP/1.1": (*httptest.Server).Start, "HTTP/2": startH2C} {
		for name, give := range map[string]func() io.Reader{
			"breaks off":    func() io.Reader { return &fails{left: 3} },
			"at once":       func() io.Reader { return &fails{} },
			"is too short":  func() io.Reader { return io.LimitReader(strings.NewReader("abcdef"), 3) },
			"is too long":   func() io.Reader { return io.MultiReader(strings.NewReader("abcdef"), strings.NewReader("abcdef")) },
			"short, memory": func() io.Reader { return strings.NewReader("abc") },
		} {
			if proto == "HTTP/2" && strings.Contains(name, "short") {
				continue // the server's to find
			}
			if proto == "HTTP/1.1" && strings.Contains(name, "long") {
				continue // the server may have answered before
			}
			t.Run(proto+" "+name, func(t *testing.T) {
				srv, _ := server(t, start, hello)
				c := client(t, Options{HTTP2: proto == "HTTP/2"})
				require.Equal(t, goodput.Success, loadgen.Do(t.Context(), target(c, http.MethodPost, srv.URL, "x"), nil).Outcome)
				bodies := 0
				rec := loadgen.Do(t.Context(), loadgen.TargetFunc(func(ctx context.Context, _ *loadgen.Request, trace *loadgen.Trace) error {
					req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, nil)
					require.NoError(t, err)
					req.ContentLength = 6
					req.GetBody = func() (io.ReadCloser, error) { bodies++; return io.NopCloser(give()), nil }
					req.Body, _ = req.GetBody()
					_, err = c.Do(ctx, req, trace)
					return NewRedactor().Lost(ctx, err, nil)
				}), nil)
				assert.Equal(t, goodput.ClientError, rec.Outcome, rec.Detail)
				assert.Contains(t, rec.Detail, "the request's body")
				assert.LessOrEqual(t, rec.Attempts, 1)
				assert.Equal(t, 1, bodies)
			})
		}
	}
}

func startH2C(s *httptest.Server) {
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
}

// TestInMemory: what net/http sends in one piece with the header stays as it is.
func TestInMemory(t *testing.T) {
	assert.True(t, inMemory(io.NopCloser(bytes.NewReader([]byte("abc"))), 3))
	assert.True(t, inMemory(io.NopCloser(strings.NewReader("abc")), 3))
	assert.True(t, inMemory(io.NopCloser(bytes.NewBufferString("abc")), 3))
	assert.False(t, inMemory(io.NopCloser(bytes.NewBufferString("abc")), 4))
	assert.False(t, inMemory(io.NopCloser(&fails{}), 3))
	assert.False(t, inMemory(nothing{}, 0))
}
