package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// A server that answers every chat completion with the same three tokens.
func answer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []string{
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"That"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":" is"}}]}`,
		`{"choices":[{"index":0,"delta":{"content":" goodput."}}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3}}`,
		`[DONE]`,
	} {
		io.WriteString(w, "data: "+event+"\n\n")
		http.NewResponseController(w).Flush()
	}
}

func Example() {
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()

	target, err := openai.New(openai.Config{BaseURL: server.URL + "/v1", Model: "m", APIKey: "sk-…"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := loadgen.Run(context.Background(), target, loadgen.Plan{
		SLO:         slo.MustParse("ttft p95 < 10s, error_rate < 1%"),
		Concurrency: 4,
		Workload:    func(yield func(*loadgen.Request) bool) { yield(&loadgen.Request{Prompt: "What is goodput?"}) },
		Repeat:      true,
		Requests:    100,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Report.Offered, "offered,", result.Report.Good, "good")
	// Output: 100 offered, 100 good
}

// One request, outside any run, with its text.
func ExampleTarget_Do() {
	server := httptest.NewServer(http.HandlerFunc(answer))
	defer server.Close()

	target, err := openai.New(openai.Config{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	text := ""
	record := loadgen.Do(context.Background(), target, &loadgen.Request{Prompt: "What is goodput?", MaxTokens: 100},
		loadgen.WithText(func(_ loadgen.TextKind, s string) { text += s }))
	fmt.Printf("%q\n", text)
	fmt.Println(record.Outcome, record.Finish, len(record.Tokens), "token events,", record.OutputTokens, "tokens")
	// Output:
	// "That is goodput."
	// success stop 3 token events, 3 tokens
}
