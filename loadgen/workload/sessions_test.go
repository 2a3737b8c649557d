package workload

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

// chain is a session's requests, and their think times, where each answer is "so" of 7 tokens.
func chain(r *loadgen.Request) (rs []*loadgen.Request, thinks []time.Duration) {
	for rs = append(rs, r); r.Next != nil; rs = append(rs, r) {
		var think time.Duration
		r, think = r.Next(loadgen.Answer{Text: "so", OutputTokens: 7})
		thinks = append(thinks, think)
	}
	return rs, thinks
}

func lastSaid(rs []*loadgen.Request) (out []string) {
	for _, r := range rs {
		said := r.Prompt
		if n := len(r.Messages); n > 0 {
			said = r.Messages[n-1].Content
		}
		out = append(out, said)
	}
	return out
}

const shareGPT = `{"conversations":[{"from":"gpt","value":"hello"},{"from":"system","value":"be brief"},
	{"from":"human","value":"a b"},{"from":"gpt","value":"x y z"},{"from":"gpt","value":"and more"},{"from":"human","value":"c"},
	{"from":"human","value":"d"},{"from":"gpt","value":"w"},{"from":"human","value":"e"}]}`

func TestWithSessions(t *testing.T) {
	words := WithTokenCounter(func(s string) int { return len(strings.Fields(s)) })
	text := "[" + shareGPT + "]"
	p := prompts(t, text, WithSessions(Fixed(1500)), WithoutSalt(), words, WithClass("talk"))
	rs, thinks := chain(take(p.Requests(), 0)[0])
	assert.Equal(t, 1, p.Len())
	assert.Equal(t, []string{"a b", "c\nd", "e"}, lastSaid(rs))
	assert.Equal(t, []time.Duration{1500 * time.Millisecond, 1500 * time.Millisecond}, thinks)
	assert.Equal(t, []int{3, 1, 0}, []int{rs[0].MaxTokens, rs[1].MaxTokens, rs[2].MaxTokens}, "the file's answers")
	assert.Equal(t, []int{4, 4 + 7 + 2, 13 + 7 + 1}, []int{rs[0].InputTokens, rs[1].InputTokens, rs[2].InputTokens})
	assert.Equal(t, []loadgen.Message{{Role: "system", Content: "be brief"}, {Role: "user", Content: "a b"}, {Role: "assistant", Content: "so"},
		{Role: "user", Content: "c\nd"}, {Role: "assistant", Content: "so"}, {Role: "user", Content: "e"}}, rs[2].Messages)
	assert.Equal(t, "talk", rs[2].Class)

	rs, _ = chain(take(prompts(t, text, WithoutSalt(), words).Requests(), 0)[0])
	require.Len(t, rs, 1, "without the option the first turn alone")
	assert.Equal(t, []int{4, 3}, []int{rs[0].InputTokens, rs[0].MaxTokens})
	_, thinks = chain(take(prompts(t, text, WithSessions(nil)).Requests(), 0)[0])
	assert.Equal(t, []time.Duration{0, 0}, thinks)

	rs, _ = chain(take(prompts(t, text, WithSessions(nil)).Requests(), 0)[0])
	salt := strings.SplitAfter(rs[0].Messages[0].Content, "\n")[0]
	assert.Equal(t, salt+"be brief", rs[2].Messages[0].Content, "later turns begin as the first does: the server's cache may know them")
}

func TestThinkTimesAreSeeded(t *testing.T) {
	text := "[" + strings.Repeat(shareGPT+",", 99) + shareGPT + "]"
	get := func(seed uint64) (all []time.Duration) {
		p := prompts(t, text, WithSessions(LogNormal{Median: 8000, Sigma: 0.5}), WithSeed(seed))
		for range 2 {
			for r := range p.Requests() {
				_, thinks := chain(r)
				all = append(all, thinks...)
			}
		}
		require.Len(t, all, 400)
		assert.Equal(t, all[:200], all[200:], "each pass is the same")
		return all[:200]
	}
	a := get(1)
	assert.Equal(t, a, get(1))
	assert.NotEqual(t, a, get(2))
	below := 0
	for _, d := range a {
		if d < 8*time.Second {
			below++
		}
	}
	assert.InDelta(t, 100, below, 29, "the median, to four standard deviations")
}

func TestTurnsOfARequest(t *testing.T) {
	p := prompts(t, `{"prompt":"a","max_tokens":5,"turns":[{"content":"b","think_s":2.5,"max_tokens":6,"input_tokens":9},{"content":"c"}]}`+"\n"+
		`{"messages":[{"role":"user","content":"a"}],"turns":[]}`, WithoutSalt(), WithSessions(Fixed(10)))
	reqs := take(p.Requests(), 0)
	rs, thinks := chain(reqs[0])
	assert.Equal(t, []string{"a", "b", "c"}, lastSaid(rs))
	assert.Equal(t, []time.Duration{2500 * time.Millisecond, 10 * time.Millisecond}, thinks, "its own goes first")
	assert.Equal(t, []int{5, 6, 0}, []int{rs[0].MaxTokens, rs[1].MaxTokens, rs[2].MaxTokens})
	assert.Nil(t, reqs[1].Next)

	for turns, says := range map[string]string{
		`7`:                                `"turns" is not a list of`,
		`[{}]`:                             `turns[0] wants "content"`,
		`[{"content":3}]`:                  `"turns[0].content" is`,
		`[{"content":"b","think_s":-1}]`:   `"turns[0].think_s" is no number of seconds from 0 to 86400`,
		`[{"content":"b","think_s":"1"}]`:  `"turns[0].think_s" is no number of seconds`,
		`[{"content":"b","max_tokens":0}]`: `"turns[0].max_tokens" is no whole number`,
		`[{"content":"b"},{"content":"","x":"s"}]`: `turns[1] has the key "x"`,
	} {
		_, err := ReadPrompts("file", strings.NewReader(`{"prompt":"secret","turns":`+turns+`}`))
		assert.ErrorContains(t, err, says)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := ReadPrompts("file", strings.NewReader("{}"), WithSessions(Fixed(0)))
	assert.ErrorContains(t, err, "WithSessions: ")
	_, err = NewSynthetic(Shape{Input: Fixed(1)}, WithSessions(nil))
	assert.ErrorContains(t, err, "cannot be given to synthetic requests")
}
