package admission

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

var allHeaders = Headers{Class: "X-Class", Tenant: "x-tenant", Priority: "X-Priority", Budget: "X-Slo-Ttft-Ms"}

// asked is the request that a controller is asked for, by the header of an HTTP request; nil: none was.
func asked(t *testing.T, config MiddlewareConfig, header http.Header) (*Request, *httptest.ResponseRecorder) {
	c := controller(t, Config{})
	var got *Request
	req := httptest.NewRequest("POST", "/", nil)
	req.Header = header
	rec := httptest.NewRecorder()
	c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { got = &PermitOf(req.Context()).t.Request }), config).ServeHTTP(rec, req)
	return got, rec
}

// What a client says of its request counts where that is asked for, and nowhere else.
func TestHeadersCountWhereTheyAreAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		header := http.Header{"X-Class": {"chat"}, "X-Tenant": {"a"}, "X-Priority": {"-7"}, "X-Slo-Ttft-Ms": {"1500.5"}}
		of := func(*http.Request) Request {
			return Request{Class: "batch", Tenant: "b", Priority: 3, Budget: time.Second, InputTokens: 5}
		}
		now := time.Now()
		r, _ := asked(t, MiddlewareConfig{Request: of}, header)
		require.Equal(t, Request{Class: "batch", Tenant: "b", Priority: 3, Budget: time.Second, InputTokens: 5, Arrival: now}, *r)
		r, _ = asked(t, MiddlewareConfig{Request: of, Headers: allHeaders}, header)
		require.Equal(t, Request{Class: "chat", Tenant: "a", Priority: -7, Budget: 1500500 * time.Microsecond, InputTokens: 5, Arrival: now}, *r)
		r, _ = asked(t, MiddlewareConfig{Request: of, Headers: allHeaders}, http.Header{"X-Tenant": {"a"}})
		require.Equal(t, Request{Class: "batch", Tenant: "a", Priority: 3, Budget: time.Second, InputTokens: 5, Arrival: now}, *r)
	})
}

func TestHeadersThatCannotBeMeant(t *testing.T) {
	for _, x := range []struct {
		name   string
		values []string
	}{
		{"X-Class", []string{""}}, {"X-Class", []string{strings.Repeat("a", 129)}}, {"X-Tenant", []string{"a", "b"}},
		{"X-Priority", []string{"high"}}, {"X-Priority", []string{"1.5"}}, {"X-Priority", []string{"101"}}, {"X-Priority", []string{"-101"}},
		{"X-Priority", []string{"99999999999999999999"}}, {"X-Priority", []string{"0000000000000000000000001"}},
		{"X-Slo-Ttft-Ms", []string{"0"}}, {"X-Slo-Ttft-Ms", []string{"-5"}}, {"X-Slo-Ttft-Ms", []string{"1e3"}}, {"X-Slo-Ttft-Ms", []string{"NaN"}},
		{"X-Slo-Ttft-Ms", []string{"0x10"}}, {"X-Slo-Ttft-Ms", []string{"2s"}}, {"X-Slo-Ttft-Ms", []string{strings.Repeat("9", 24)}},
	} {
		r, rec := asked(t, MiddlewareConfig{Headers: allHeaders}, http.Header{x.name: x.values})
		require.Nil(t, r, "%v", x)
		require.Equal(t, 400, rec.Code, "%v", x)
		var body struct{ Error map[string]any }
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &body))
		require.Equal(t, "invalid_request_error", body.Error["type"])
		require.True(t, strings.EqualFold(x.name, body.Error["param"].(string)))
		require.Contains(t, body.Error["message"], "want ")
	}
}

// The time that a body takes to come is the request's waiting, for its budget, too.
func TestABodyThatComesSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := controller(t, Config{SLO: slo.MustParse("ttft p95 < 2s")})
		now := time.Now()
		var permit *Permit
		h := c.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { permit = PermitOf(req.Context()) }), MiddlewareConfig{
			Headers: allHeaders,
			Request: func(*http.Request) Request {
				require.Zero(t, c.State().InFlight, "nothing is held for it")
				time.Sleep(400 * time.Millisecond)
				return Request{}
			},
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil))
		require.Equal(t, 400*time.Millisecond, permit.Waited())
		at, _ := permit.t.Deadline()
		require.Equal(t, now.Add(2*time.Second), at)
		now = time.Now()
		req := httptest.NewRequest("POST", "/", nil)
		req.Header.Set("X-Slo-Ttft-Ms", "1000")
		h.ServeHTTP(httptest.NewRecorder(), req)
		at, _ = permit.t.Deadline()
		require.Equal(t, now.Add(time.Second), at)
	})
}
