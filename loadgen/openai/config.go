package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/loadgen/internal/httpclient"
)

// Config says which endpoint requests go to, and what all of them have in common. Only BaseURL is required.
type Config struct {
	// BaseURL is the host alone ("http://127.0.0.1:8000", to which /v1 is added), the URL up to /v1, or the whole URL of
	// the endpoint, whose end then chooses Endpoint. A query stays (Azure: "…/chat/completions?api-version=…"). A user and
	// password in it become basic authentication.
	BaseURL string

	Model  string // empty: no model in the request, unless a Body names one
	APIKey string // sent as "Authorization: Bearer …"; empty: no such header

	Endpoint Endpoint // empty: chosen by BaseURL, else ChatCompletions

	// NoStream asks for one JSON body instead of a stream. No one sees tokens arrive then: an SLO on ttft, ttfo, tpot, itl,
	// speed or service_ttft is refused. Embeddings are never a stream.
	NoStream bool

	// Header is sent with each request.
	Header http.Header

	// Body has extra fields of each request; loadgen.Request.Body goes over it, field by field, and both over what New and
	// Request say: messages, prompt, model, max_tokens. A nil takes a field out. "stream" is not among them. The object
	// stream_options is merged with {"include_usage": true}, the default; nil takes it out.
	Body map[string]any

	// HTTP2 has the target's own client speak HTTP/2 and nothing else: over TLS, or, for http://, without it and without
	// asking (prior knowledge, h2c). Many requests share one connection then. A server that takes fewer than 100 at once on
	// one refuses what a burst sends before it has said so.
	HTTP2 bool

	// Client is what requests go through; nil: a client of the target's own that is made for load. It speaks HTTP/1.1 or,
	// with HTTP2, HTTP/2, keeps every connection alive, bounds the header, never asks for compression, and uses no proxy,
	// whatever the environment says. Of a Client of the caller's everything holds, its Timeout and proxy too, but that
	// redirects are not followed.
	Client *http.Client

	// NoKernelTime has instants be those at which the client came to read what had arrived, and not those at which the
	// kernel saw it arrive. A Client of the caller's, HTTP/2, and systems other than Linux know no others.
	NoKernelTime bool
}

// ConfigError says that a Config cannot be meant, and why. It quotes nothing that could be a secret.
type ConfigError struct {
	Field string // of Config
	Err   error
}

func (e *ConfigError) Error() string { return "openai: Config." + e.Field + ": " + e.Err.Error() }

// Unwrap is what is wrong with the field.
func (e *ConfigError) Unwrap() error { return e.Err }

func refuse(field, format string, args ...any) error {
	return &ConfigError{field, fmt.Errorf(format, args...)}
}

// New is a target for the endpoint that c describes. It connects to nothing yet. Its error is a *ConfigError, which names
// the field that cannot be meant.
func New(c Config) (*Target, error) {
	u, endpoint, err := resolve(c.BaseURL, c.Endpoint)
	if err != nil {
		return nil, err
	}
	c.NoStream = c.NoStream || endpoint == Embeddings
	t := &Target{endpoint: endpoint, stream: !c.NoStream, model: c.Model, redact: newRedactor(c, u)}
	h, host, err := header(c, u)
	if err != nil {
		return nil, err
	}
	u.User = nil
	t.url = u
	t.request = &http.Request{Method: http.MethodPost, URL: u, Host: host, Header: h}
	f, err := fields(c, endpoint)
	if err != nil {
		return nil, err
	}
	t.common = endpoint.common(f, join(nil, f, slices.Sorted(maps.Keys(f))))
	if c.HTTP2 && c.Client != nil {
		return nil, refuse("HTTP2", "is set, but it is the Client that chooses the protocol")
	}
	t.client = httpclient.New(httpclient.Options{Client: c.Client, HTTP2: c.HTTP2, NoKernelTime: c.NoKernelTime})
	t.scratch.New = func() any { return newScratch() }
	return t, nil
}

// header is what each request has in its header, and the host that it names if not the URL's.
func header(c Config, u *url.URL) (h http.Header, host string, err error) {
	h = http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("Accept-Encoding", "identity") // compression would hold tokens back
	h.Set("Accept", "text/event-stream")
	if c.NoStream {
		h.Set("Accept", "application/json")
	}
	if host, err = httpclient.Header(h, c.Header); err != nil {
		return nil, "", &ConfigError{"Header", err}
	}
	_, given := h["Authorization"]
	switch {
	case c.APIKey != "" && given:
		return nil, "", refuse("APIKey", "Header has an Authorization too; only one can be sent")
	case c.APIKey != "" && u.User != nil:
		return nil, "", refuse("APIKey", "BaseURL has a user too; only one can be sent")
	case given && u.User != nil:
		return nil, "", refuse("Header", "has an Authorization, but BaseURL has a user too; only one can be sent")
	case strings.TrimSpace(c.APIKey) != c.APIKey:
		return nil, "", refuse("APIKey", "begins or ends with white space")
	case !httpclient.IsFieldValue(c.APIKey):
		return nil, "", refuse("APIKey", "has a character that no header can carry")
	case c.APIKey != "":
		h.Set("Authorization", "Bearer "+c.APIKey)
	case u.User != nil:
		password, _ := u.User.Password()
		r := http.Request{Header: h}
		r.SetBasicAuth(u.User.Username(), password)
	}
	return h, host, nil
}

// newRedactor knows the key, and what in the header, the URL and the body is named like a credential. u still has its
// user.
func newRedactor(c Config, u *url.URL) *httpclient.Redactor {
	r := httpclient.NewRedactor("messages", "prompt", "input", "instructions")
	r.Add(c.APIKey)
	r.AddHeader(c.Header)
	r.AddURL(u)
	r.AddFields(c.Body)
	return r
}

const includeUsage = `{"include_usage":true}`

// fields is the body of every request, but for what the request itself says.
func fields(c Config, endpoint Endpoint) (map[string]json.RawMessage, error) {
	f := map[string]json.RawMessage{}
	if endpoint != Embeddings {
		f["stream"] = json.RawMessage(strconv.FormatBool(!c.NoStream))
	}
	if !c.NoStream && endpoint != Responses { // which counts without being asked
		f["stream_options"] = json.RawMessage(includeUsage)
	}
	if c.Model != "" {
		f["model"], _ = json.Marshal(c.Model)
	}
	if err := overlay(f, c.Body); err != nil {
		return nil, &ConfigError{"Body", err}
	}
	return f, nil
}

// overlay puts the fields of body over f.
func overlay(f map[string]json.RawMessage, body map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(body)) {
		v := body[name]
		if name == "stream" {
			return errors.New("stream is not set here: Config.NoStream says whether the answer is a stream")
		}
		if v == nil {
			delete(f, name)
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("%s cannot be JSON: it is a %T", name, v)
		}
		if name == "stream_options" {
			options := map[string]json.RawMessage{}
			for _, layer := range []json.RawMessage{f[name], raw} {
				if len(layer) > 0 && json.Unmarshal(layer, &options) != nil {
					return errors.New("stream_options is not an object")
				}
			}
			raw, _ = json.Marshal(options)
		}
		f[name] = raw
	}
	return nil
}

// join appends members of an object to b, without its braces. A name that is not in f is passed over.
func join(b []byte, f map[string]json.RawMessage, names []string) []byte {
	for _, name := range names {
		if f[name] == nil {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(gjson.AppendJSONString(b, name), ':'), f[name]...)
	}
	return b
}
