package admission

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// Headers names the request headers in which a client says more of its request than its body does. One whose name is empty is not
// read. Whoever sends a request chooses by them how it is treated, so that they are for clients that are trusted with that, or for
// what a gateway before this one has set. What they say goes before what [MiddlewareConfig.Request] says. One that cannot be meant
// is answered with 400.
type Headers struct {
	Class    string // the class, by its name
	Tenant   string // the tenant; at most 128 bytes
	Priority string // a whole number from -100 to 100
	Budget   string // the time to the first token, from the arrival on: milliseconds, a decimal number above 0
}

const (
	maxName     = 128 // bytes of a class's or a tenant's name
	maxPriority = 100 // each priority that waits is a level of the queue
)

// said is what headers said; nil: nothing.
type said struct {
	class, tenant *string
	priority      *int
	budget        *time.Duration
}

// read reads what h says; bad is the answer where that cannot be meant.
func (n *Headers) read(h http.Header) (s said, bad *apiError) {
	one := func(name, want string, parse func(text string) bool) {
		values := h[http.CanonicalHeaderKey(name)]
		if name == "" || len(values) == 0 || bad != nil {
			return
		}
		if len(values) > 1 || !parse(values[0]) { // of two nobody knows which one is meant
			bad = &apiError{code: http.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_header", Param: &name,
				Message: fmt.Sprintf("the header %s: want %s, once", name, want)}
		}
	}
	text := func(to **string) func(string) bool {
		return func(text string) bool { *to = &text; return text != "" && len(text) <= maxName }
	}
	one(n.Class, "a name of at most 128 bytes", text(&s.class))
	one(n.Tenant, "a name of at most 128 bytes", text(&s.tenant))
	one(n.Priority, "a whole number from -100 to 100", func(text string) bool {
		v, err := strconv.Atoi(text)
		s.priority = &v
		return err == nil && len(text) <= 4 && -maxPriority <= v && v <= maxPriority
	})
	one(n.Budget, "milliseconds, as a decimal number above 0", func(text string) bool {
		d, ok := milliseconds(text)
		s.budget = &d
		return ok
	})
	return s, bad
}

// milliseconds reads a decimal number of them, with neither a sign nor an exponent.
func milliseconds(text string) (time.Duration, bool) {
	if len(text) > 24 || strings.Trim(text, "0123456789.") != "" {
		return 0, false
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || ms < 1e-6 || ms > float64(slo.MaxTime/time.Millisecond) {
		return 0, false
	}
	return time.Duration(ms * 1e6), true
}

// apply says it of r, which has been here for some time.
func (s *said) apply(r *Request, since time.Duration) {
	if s.class != nil {
		r.Class = *s.class
	}
	if s.tenant != nil {
		r.Tenant = *s.tenant
	}
	if s.priority != nil {
		r.Priority = *s.priority
	}
	if s.budget != nil {
		r.Budget = max(*s.budget-since, 1)
	}
}
