package llmsim

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// FixedServer is a server of chat completions whose timing is known beforehand: of each request the first token comes
// First after the handler was entered and a further one every Step, whatever the load. It is the yardstick for the
// accuracy of a client. There is no engine behind it.
//
// The instants are absolute deadlines: a token that was written late does not delay the next. A request gets max_tokens
// tokens, or Tokens where it sets no limit. Every token chunk says in "written_ns", unless Plain is set, at which Unix
// time in nanoseconds it was handed to the connection; that of each request's first token is kept, see FirstTokens.
//
// It serves POST /v1/chat/completions, GET /v1/models, GET /health, and GET /first-tokens: FirstTokens as a JSON object
// of Unix nanoseconds.
type FixedServer struct {
	First  time.Duration // from the entry of the handler to the first token; below 0: none
	Step   time.Duration // from one token to the next; below 0: none
	Tokens int           // output tokens of a request that sets no limit; 0 or below: 32
	NoRole bool          // leave out the role-only chunk with which a stream begins, at once, before the first token
	Plain  bool          // leave "written_ns" out of the chunks, which are then alike but for their text, as a real server's

	once sync.Once
	mux  *http.ServeMux
	seq  atomic.Uint64

	mu    sync.Mutex
	first map[string]int64 // Unix nanoseconds of the first token, by the request's name
	order []string         // of first's keys, a ring
	next  int
}

// keptFirstTokens is how many requests' first tokens a FixedServer remembers; the oldest go first.
const keptFirstTokens = 1 << 16

// NewFixedServer is a server whose first token comes after first and whose others follow every step, both 0 or more.
func NewFixedServer(first, step time.Duration) *FixedServer {
	return &FixedServer{First: first, Step: step}
}

// ServeHTTP serves the endpoints.
func (s *FixedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() {
		s.mux = newMux("fixed", s.chat, func() error { return nil })
		s.mux.HandleFunc("GET /first-tokens", func(w http.ResponseWriter, _ *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			writeJSON(w, http.StatusOK, s.first)
		})
	})
	s.mux.ServeHTTP(w, r)
}

// FirstTokens is when the first token of each of the last 65,536 requests was handed to the connection, by the request's
// name: its header X-Request-Id or, without one, the field "user" of its body. A request with neither is not in it.
func (s *FixedServer) FirstTokens() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := make(map[string]time.Time, len(s.first))
	for k, v := range s.first {
		m[k] = time.Unix(0, v)
	}
	return m
}

func (s *FixedServer) keep(name string, written int64) {
	if name == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = make(map[string]int64)
	}
	if _, known := s.first[name]; !known {
		if len(s.order) < keptFirstTokens {
			s.order = append(s.order, name)
		} else {
			delete(s.first, s.order[s.next])
			s.order[s.next] = name
			s.next = (s.next + 1) % keptFirstTokens
		}
	}
	s.first[name] = written
}

func (s *FixedServer) chat(w http.ResponseWriter, req *http.Request) {
	entered := time.Now()
	r, ok := readChat(w, req)
	if !ok {
		return
	}
	output, reason := r.limit(), "length"
	if output == 0 {
		output, reason = s.Tokens, "stop"
		if output <= 0 {
			output = 32
		}
	}
	name := req.Header.Get("X-Request-Id")
	if name == "" {
		name = r.User
	}
	prompt := r.promptTokens()
	c := newChat(w, s.seq.Add(1), r.Model)
	t := time.NewTimer(0)
	defer t.Stop()
	done := req.Context().Done()
	if !r.Stream {
		if !waitUntil(t, entered.Add(s.due(output-1)), done) {
			return
		}
		s.keep(name, time.Now().UnixNano())
		c.whole(reason, prompt, output)
		return
	}
	c.start(!s.NoRole)
	for i := range output {
		if !waitUntil(t, entered.Add(s.due(i)), done) {
			return
		}
		written := time.Now().UnixNano()
		if i == 0 {
			s.keep(name, written)
		}
		if s.Plain {
			written = 0
		}
		c.token(i, written)
		if i == output-1 {
			c.finish(reason, r.usage(), prompt, output)
		}
		if c.send(); c.err != nil {
			return
		}
	}
}

// due is how long after the entry of the handler the nth token comes, n from 0.
func (s *FixedServer) due(n int) time.Duration {
	return later(max(s.First, 0), times(n, max(s.Step, 0)))
}

// newMux is the routes that the servers here have in common. down says why one serves nothing, or nil.
func newMux(model string, chat http.HandlerFunc, down func() error) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", chat)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": model, "object": "model", "created": 0, "owned_by": "llmsim"},
		}})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if down() != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, http.StatusNotFound, fmt.Sprintf("there is no %s %s here", r.Method, r.URL.Path))
	})
	return mux
}
