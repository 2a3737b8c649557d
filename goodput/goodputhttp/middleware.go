package goodputhttp

import "net/http"

// Middleware makes a record of each request that a handler answers. See the package comment for what counts when.
type Middleware struct {
	config Config
	own    limitCount
}

// NewMiddleware makes records as the configuration says. It panics if that has neither a Sink nor a Monitor.
func NewMiddleware(c Config) *Middleware {
	c.check("NewMiddleware")
	return &Middleware{config: c}
}

// MalformedLimits is how many headers with thresholds of a request's own could not be meant, and were ignored: see
// [Config.OwnLimits].
func (m *Middleware) MalformedLimits() uint64 { return m.own.malformed.Load() }

// Handler is next with a record of each request that it answers: booked once, when next returns or panics, or when it takes
// over the connection. A panic goes on as it was.
func (m *Middleware) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := &call{config: &m.config, req: req, head: req.Method == http.MethodHead, length: -1}
		c.ctx = req.Context()
		w = c.writer.Wrap(w, req, c)
		defer c.end()
		m.config.begin(&c.Tally, req, &m.own)
		next.ServeHTTP(w, req)
		c.returned = true
	})
}
