package admission_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/slo"
)

func ExampleController_Middleware() {
	c, err := admission.New(admission.Config{SLO: slo.MustParse("ttft p95 < 2s, tpot p95 < 100ms")})
	if err != nil {
		panic(err)
	}
	api := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		p := admission.PermitOf(req.Context())
		fmt.Fprintf(w, "at most %d tokens", p.Grant().MaxOutputTokens)
	})
	h := c.Middleware(api, admission.MiddlewareConfig{
		Request: admission.ChatSizes{}.Request,
		Headers: admission.Headers{Tenant: "X-Tenant"}, // as the gateway before this one has set it
	})

	const ask = `{"messages":[{"role":"user","content":"what is goodput"}],"max_tokens":50}`
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(ask)))
	fmt.Println(rec.Code, rec.Body)

	c.Close()
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(ask)))
	fmt.Println(rec.Code, rec.Header().Get("Goodput-Reason"), rec.Header().Get("Retry-After"))
	fmt.Print(rec.Body)
	// Output:
	// 200 at most 50 tokens
	// 503 closed 60
	// {"error":{"message":"admission: refused: the controller is closed; retry after 1m0s","type":"server_error","param":null,"code":"closed"}}
}
