package httptarget

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// Config says what each request is, and what a good answer is. URL or Request is required.
type Config struct {
	// Method, URL, Header and Body are the request, the same each time. No Method is GET, or POST with a Body. A user and
	// password in the URL become basic authentication.
	Method string
	URL    string
	Header http.Header
	Body   []byte

	// Request makes each request instead, from what the plan's workload has; Method, Header and Body are empty then, and
	// URL is the host that Connect connects to. It is called from the request's own goroutine. A body that is to be sent
	// again, because a kept-alive connection had died or the request is the same each time, needs its GetBody, which
	// http.NewRequest sees to.
	Request func(ctx context.Context, req *loadgen.Request) (*http.Request, error)

	// Success says which statuses are good; nil: 2xx. A 2xx that it refuses is malformed.
	Success func(status int) bool

	// Check looks at an answer with a good status, from the request's own goroutine; nil: nobody does. The body is at most
	// MaxBody long, and what Check leaves of it is read after it; neither is to be kept. A body in gzip is decoded, unless the request's own header
	// has an Accept-Encoding. An error is the outcome that it names (loadgen.Fail), or else malformed; its text goes into
	// the record.
	Check func(resp *http.Response, body io.Reader) error

	// MaxBody bounds an answer's body, in bytes, after decoding; 0: 64 MiB.
	MaxBody int64

	// Stream says that the body is a stream of pieces, which are token events.
	Stream Stream

	// Piece says what each piece of the stream is; nil: each that is not empty is a token event. It must not keep data. An
	// error ends the request as Check's does.
	Piece func(data []byte) (Piece, error)

	// EndMarker says that a stream is only complete with an end marker: a Piece with End.
	EndMarker bool

	Redirects bool // follow them, as http.Client does; else a redirect is the answer

	// HTTP2 has the target's own client speak HTTP/2 and nothing else: over TLS, or, for http://, without it and without
	// asking (prior knowledge, h2c).
	HTTP2 bool

	// Client is what requests go through; nil: a client of the target's own that is made for load. Of a Client of the
	// caller's everything holds, its Timeout and proxy too, but that redirects are followed only where Redirects says so.
	Client *http.Client

	// NoKernelTime has instants be those at which the client came to read what had arrived, and not those at which the
	// kernel saw it arrive. A Client of the caller's, HTTP/2, and systems other than Linux know no others.
	NoKernelTime bool
}

// Stream is how a body is cut into pieces.
type Stream uint8

// The streams.
const (
	NoStream Stream = iota
	SSE             // the data of each event of a text/event-stream
	Lines           // each line, its end and white space around it aside: NDJSON
)

// Piece is what a piece of a stream is. The zero value is nothing: a comment, a ping, a header.
type Piece struct {
	Token  bool // it is a token event
	Tokens int  // of so many tokens; 0: nobody said
	End    bool // it is the end marker: the rest of the body is not read
}

const defaultMaxBody = 64 << 20

// ConfigError says that a Config cannot be meant, and why. It quotes nothing that could be a secret.
type ConfigError struct {
	Field string // of Config
	Err   error
}

func (e *ConfigError) Error() string { return "httptarget: Config." + e.Field + ": " + e.Err.Error() }

// Unwrap is what is wrong with the field.
func (e *ConfigError) Unwrap() error { return e.Err }

func refuse(field, format string, args ...any) error {
	return &ConfigError{field, fmt.Errorf(format, args...)}
}

// New is a target for the service that c describes. It connects to nothing yet. Its error is a *ConfigError, which names
// the field that cannot be meant.
func New(c Config) (*Target, error) {
	t := &Target{c: c}
	switch {
	case c.Request != nil && (c.Method != "" || len(c.Header) > 0 || c.Body != nil):
		return nil, refuse("Request", "makes the whole request: Method, Header and Body have no meaning beside it")
	case c.Request == nil && c.URL == "":
		return nil, refuse("URL", "is missing; for example http://127.0.0.1:8080/")
	case c.MaxBody < 0:
		return nil, refuse("MaxBody", "is %d; it is a number of bytes, 0 for 64 MiB", c.MaxBody)
	case c.Stream > Lines:
		return nil, refuse("Stream", "%d is not known; NoStream, SSE and Lines are", c.Stream)
	case c.Stream == NoStream && c.Piece != nil:
		return nil, refuse("Piece", "looks at the pieces of a stream, but Stream does not say which these are")
	case c.EndMarker && c.Piece == nil:
		return nil, refuse("EndMarker", "is set, but there is no Piece that could know one")
	case c.Stream != NoStream && c.Check != nil:
		return nil, refuse("Check", "reads a whole body; what a stream says is for Piece to judge")
	case c.HTTP2 && c.Client != nil:
		return nil, refuse("HTTP2", "is set, but it is the Client that chooses the protocol")
	}
	if t.c.Method == "" {
		t.c.Method = http.MethodGet
		if c.Body != nil {
			t.c.Method = http.MethodPost
		}
	}
	if c.URL != "" {
		u, err := httpclient.URL(c.URL)
		if err != nil {
			return nil, &ConfigError{"URL", err}
		}
		t.url = u
	}
	if _, err := http.NewRequest(t.c.Method, "http://h/", nil); err != nil {
		return nil, refuse("Method", "%q is no method", c.Method)
	}
	h := http.Header{}
	host, err := httpclient.Header(h, c.Header)
	if err != nil {
		return nil, &ConfigError{"Header", err}
	}
	t.same = &http.Request{Method: t.c.Method, URL: t.url, Host: host, Header: h}
	if len(c.Body) > 0 {
		t.payload = c.Body
		t.same.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(c.Body)), nil }
	}
	if t.c.MaxBody == 0 {
		t.c.MaxBody = defaultMaxBody
	}
	t.client = httpclient.New(httpclient.Options{Client: c.Client, HTTP2: c.HTTP2, Redirects: c.Redirects, NoKernelTime: c.NoKernelTime})
	t.buffers.New = func() any { return &buffer{make([]byte, leastRead)} }
	return t, nil
}
