package workload_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/workload"
	"github.com/goodputkit/goodputkit/slo"
)

// Chat traffic with the lengths of a public trace.
func Example() {
	chat, err := workload.NewSynthetic(workload.AzureConversation(), workload.WithSeed(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	n := 0
	for req := range chat.Requests() { // the Workload of a loadgen.Plan
		fmt.Println(req.InputTokens, "tokens in, at most", req.MaxTokens, "out;", len(strings.Fields(req.Prompt)), "words")
		if n++; n == 3 {
			break
		}
	}
	// Output:
	// 41 tokens in, at most 397 out; 41 words
	// 1083 tokens in, at most 257 out; 1083 words
	// 1767 tokens in, at most 152 out; 1767 words
}

// A file of prompts, here in memory; OpenPrompts reads one from disk.
func ExampleReadPrompts() {
	file := strings.NewReader(`{"prompt": "Name three rivers.", "class": "chat", "max_tokens": 40}
{"messages": [{"role": "user", "content": "What is a queue?"}], "max_tokens": 25, "body": {"temperature": 0}}
`)
	prompts, err := workload.ReadPrompts("prompts.jsonl", file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(prompts)
	for req := range prompts.Requests() {
		text := req.Prompt
		if len(req.Messages) > 0 {
			text = req.Messages[0].Content
		}
		salt, own, _ := strings.Cut(text, "\n")
		fmt.Println(len(strings.Fields(salt)), "words of salt before:", own)
	}
	// Output:
	// prompts.jsonl: 2 prompts
	// 4 words of salt before: Name three rivers.
	// 4 words of salt before: What is a queue?
}

// What is wrong with a file is told with its line.
func ExampleFileError() {
	file := strings.NewReader(`{"prompt": "Name three rivers."}
{"prompt": "Name three lakes.", "temperature": 0}
`)
	_, err := workload.ReadPrompts("prompts.jsonl", file)
	fmt.Println(err)
	// Output: prompts.jsonl:2: unknown key "temperature": fields of the request go into "body"
}

// A trace gives instants and lengths, which belong together in a plan.
func ExampleReadTrace() {
	file := strings.NewReader(`TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
`)
	trace, err := workload.ReadTrace("conv.csv", file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(trace)
	for entry := range trace.Entries() {
		fmt.Println(entry.At, entry.InputTokens, entry.OutputTokens)
	}
	plan := loadgen.Plan{
		SLO:      slo.MustParse("ttft p95 < 2s, tpot p95 < 50ms"),
		Arrivals: trace.Arrivals(2), // at twice its speed
		Workload: trace.Requests(),
	}
	fmt.Println(plan.Arrivals)
	// Output:
	// conv.csv: 2 requests in 4.315s
	// 0s 374 44
	// 4.314579s 396 109
	// replay of 2 instants over 4.314579s, at speed 2
}

// Three of four requests are chat, one is a summary of a long text.
func ExampleMix() {
	chat, err := workload.NewSynthetic(workload.AzureConversation(), workload.WithClass("chat"))
	if err != nil {
		fmt.Println(err)
		return
	}
	long := workload.Shape{Input: workload.Uniform{Min: 4000, Max: 8000}, Output: workload.Fixed(200)}
	summary, err := workload.NewSynthetic(long, workload.WithClass("summary"))
	if err != nil {
		fmt.Println(err)
		return
	}
	mix, err := workload.Mix(1,
		workload.Part{Weight: 3, Requests: chat.Requests()},
		workload.Part{Weight: 1, Requests: summary.Requests()},
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	counts, n := map[string]int{}, 0
	for req := range mix {
		counts[req.Class]++
		if n++; n == 1000 {
			break
		}
	}
	fmt.Println(counts)
	// Output: map[chat:748 summary:252]
}

// A law from a median and a P95, bounded by what the model takes.
func ExampleTruncated() {
	l, err := workload.LogNormalByPercentile(1000, 95, 4000)
	if err != nil {
		fmt.Println(err)
		return
	}
	law := workload.Truncated{Lengths: l, Min: 16, Max: 8192}
	if err := law.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(law)
	r := rand.New(rand.NewPCG(1, 2))
	fmt.Println(law.Draw(r), law.Draw(r), law.Draw(r))
	// Output:
	// log-normal with median 1000, sigma 0.843, from 16 to 8192
	// 1377 1065 1184
}

// The four words before a prompt of a file can be left out, to measure what the server's prefix cache is worth.
func ExampleWithoutSalt() {
	file := strings.NewReader(`{"prompt": "Name three rivers."}`)
	prompts, err := workload.ReadPrompts("prompts.jsonl", file, workload.WithoutSalt())
	if err != nil {
		fmt.Println(err)
		return
	}
	for req := range prompts.Requests() {
		fmt.Println(req.Prompt)
	}
	// Output: Name three rivers.
}

// A conversation of two turns: the second question comes about eight seconds after the answer to the first, and carries
// what the server has answered in place of what the file has.
func ExampleWithSessions() {
	file := `{"conversations": [
		{"from": "human", "value": "Where does the Rhine rise?"}, {"from": "gpt", "value": "In the Alps."},
		{"from": "human", "value": "Where does it end?"}, {"from": "gpt", "value": "In the North Sea."}]}`
	p, err := workload.ReadPrompts("sharegpt", strings.NewReader("["+file+"]"),
		workload.WithSessions(workload.LogNormal{Median: 8000, Sigma: 0.3}), workload.WithSeed(1), workload.WithoutSalt())
	if err != nil {
		fmt.Println(err)
		return
	}
	for first := range p.Requests() {
		next, think := first.Next(loadgen.Answer{Text: "In Graubünden."}) // as a run does
		fmt.Println(first.Prompt)
		fmt.Println(next.Messages[1].Content, "…", think)
		fmt.Println(next.Messages[2].Content)
	}
	// Output:
	// Where does the Rhine rise?
	// In Graubünden. … 7.152s
	// Where does it end?
}
