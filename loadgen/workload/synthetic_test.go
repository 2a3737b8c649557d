package workload

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

func synthetic(t *testing.T, s Shape, opts ...Option) *Synthetic {
	t.Helper()
	out, err := NewSynthetic(s, opts...)
	require.NoError(t, err)
	return out
}

func TestSyntheticRequests(t *testing.T) {
	body := map[string]any{"ignore_eos": true}
	s := synthetic(t, Shape{Name: "test", Input: Uniform{1, 2000}, Output: Uniform{5, 9}},
		WithLimit(300), WithClass("chat"), WithBody(body))
	reqs := take(s.Requests(), 0)
	require.Len(t, reqs, 300)
	for _, r := range reqs {
		require.Equal(t, "chat", r.Class)
		require.Equal(t, body, r.Body)
		require.Empty(t, r.Messages)
		require.Equal(t, strings.Join(strings.Fields(r.Prompt), " "), r.Prompt)
		require.Len(t, strings.Fields(r.Prompt), r.InputTokens)
		require.True(t, r.MaxTokens >= 5 && r.MaxTokens <= 9)
	}
	assert.Equal(t, "test: input uniform 1 to 2000; output uniform 5 to 9", s.String())
}

func TestSyntheticWithoutOutputHasNoLimit(t *testing.T) {
	s := synthetic(t, Shape{Input: Fixed(5)}, WithLimit(1))
	assert.Zero(t, take(s.Requests(), 0)[0].MaxTokens)
	assert.Equal(t, "input fixed 5; output not limited", s.String())
}

func TestSyntheticNeverEnds(t *testing.T) {
	assert.Len(t, take(synthetic(t, Shape{Input: Fixed(3)}).Requests(), 5000), 5000)
}

func lengths(seq []*loadgen.Request) (in, out []int) {
	for _, r := range seq {
		in, out = append(in, r.InputTokens), append(out, r.MaxTokens)
	}
	return in, out
}

func TestSyntheticSeeds(t *testing.T) {
	get := func(s Shape, opts ...Option) []*loadgen.Request {
		return take(synthetic(t, s, opts...).Requests(), 200)
	}
	a, b := get(AzureConversation(), WithSeed(1)), get(AzureConversation(), WithSeed(1))
	ain, aout := lengths(a)
	bin, bout := lengths(b)
	assert.Equal(t, ain, bin)
	assert.Equal(t, aout, bout)
	for i := range a {
		wa, wb := strings.Fields(a[i].Prompt), strings.Fields(b[i].Prompt)
		n := min(saltWords, len(wa))
		require.NotEqual(t, wa[:n], wb[:n], "the salt differs from run to run")
		require.Equal(t, wa[n:], wb[n:], "the rest is the seed's")
	}
	cin, _ := lengths(get(AzureConversation(), WithSeed(2)))
	assert.NotEqual(t, ain, cin)
	din, dout := lengths(get(Shape{Input: AzureConversation().Input, Output: Fixed(3)}, WithSeed(1)))
	assert.Equal(t, ain, din, "another output law leaves the inputs")
	assert.NotEqual(t, aout, dout)

	e, f := get(AzureConversation(), WithSeed(1), WithoutSalt()), get(AzureConversation(), WithSeed(1), WithoutSalt())
	assert.Equal(t, e, f)
	assert.NotEqual(t, e, get(AzureConversation(), WithSeed(2), WithoutSalt()))
	e, f = get(AzureConversation(), WithSaltSeed(1)), get(AzureConversation(), WithSaltSeed(1))
	assert.Equal(t, e, f)
}

// Two prompts of one pass share no more of their beginning than chance has it, with salt and without.
func TestPromptsOfOnePassBeginDifferently(t *testing.T) {
	for _, opts := range [][]Option{nil, {WithoutSalt()}, {WithSaltSeed(4)}} {
		starts := map[string]bool{}
		for _, r := range take(synthetic(t, Shape{Input: Fixed(20)}, opts...).Requests(), 5000) {
			starts[strings.Join(strings.Fields(r.Prompt)[:4], " ")] = true
		}
		assert.Len(t, starts, 5000)
	}
}

func TestTokensPerWord(t *testing.T) {
	for _, c := range []struct {
		tokens, template int
		ratio            float64
		words            int
	}{
		{64, 0, 4, 16}, {64, 0, 1, 64}, {64, 0, 1.3, 49}, {1, 0, 4, 1}, {3, 0, 1, 3}, {10, 0, 0.5, 20},
		{64, 24, 1, 40}, {64, 24, 4, 10}, {64, 64, 1, 1}, {64, 100, 1, 1}, {70_000, 0, 1, 70_000}, {200_000, 0, 1, 200_000},
	} {
		s := synthetic(t, Shape{Input: Fixed(c.tokens)}, WithTokensPerWord(c.ratio), WithTemplateTokens(c.template))
		r := take(s.Requests(), 1)[0]
		assert.Len(t, strings.Fields(r.Prompt), c.words, "%+v", c)
		assert.Equal(t, c.tokens, r.InputTokens, "what was asked for")
	}
}

func TestWithoutText(t *testing.T) {
	with := take(synthetic(t, AzureCode()).Requests(), 50)
	without := take(synthetic(t, AzureCode(), WithoutText()).Requests(), 50)
	for i := range with {
		with[i].Prompt = ""
	}
	assert.Equal(t, with, without)
}

// The text is random: words come about equally often.
func TestCorpusUsesAllWords(t *testing.T) {
	r := take(synthetic(t, Shape{Input: Fixed(corpusWords)}).Requests(), 1)[0]
	counts := map[string]int{}
	for _, w := range strings.Fields(r.Prompt) {
		counts[w]++
	}
	require.Len(t, counts, len(words))
	for w, n := range counts {
		assert.InDelta(t, 64, n, 8*5.5, w)
	}
}

// rogue is a law of the user's that breaks its promise.
type rogue int

func (r rogue) Draw(*rand.Rand) int { return int(r) }
func (r rogue) String() string      { return "rogue" }

func TestLengthsOfOnesOwnAreBounded(t *testing.T) {
	for law, want := range map[rogue]int{0: 1, -5: 1, 7: 7, MaxLength + 1: MaxLength} {
		s := synthetic(t, Shape{Input: law, Output: law}, WithoutText())
		r := take(s.Requests(), 1)[0]
		assert.Equal(t, []int{want, want}, []int{r.InputTokens, r.MaxTokens})
	}
}

func TestSyntheticIsRefused(t *testing.T) {
	for _, c := range []struct {
		s    Shape
		opts []Option
		want string
	}{
		{Shape{}, nil, "workload: Shape.Input: is nil; want a law of lengths such as Fixed(128)"},
		{Shape{Input: Fixed(0)}, nil, "Shape.Input: workload: Fixed: is 0"},
		{Shape{Input: Fixed(1), Output: Uniform{3, 2}}, nil, "Shape.Output: workload: Uniform: Min 3 is above Max 2"},
		{Shape{Input: Fixed(1)}, []Option{WithMaxLine(5)}, "WithMaxLine: cannot be given to synthetic requests"},
		{Shape{Input: Fixed(1)}, []Option{WithShuffle()}, "WithShuffle: cannot be given to synthetic requests"},
		{Shape{Input: Fixed(1)}, []Option{WithBlockTokens(9)}, "WithBlockTokens: cannot be given to synthetic requests"},
		{Shape{Input: Fixed(1)}, []Option{WithTokensPerWord(0)}, "WithTokensPerWord: is 0; want a number of tokens from 0.1 to 100"},
		{Shape{Input: Fixed(1)}, []Option{WithTemplateTokens(-1)}, "WithTemplateTokens: is -1"},
		{Shape{Input: Fixed(1)}, []Option{WithLimit(0)}, "WithLimit: is 0; want 1 or more"},
		{Shape{Input: Fixed(1)}, []Option{{}}, "Option: is the zero value"},
	} {
		_, err := NewSynthetic(c.s, c.opts...)
		require.ErrorContains(t, err, c.want)
		var oe *OptionError
		require.ErrorAs(t, err, &oe)
	}
	_, err := ReadPrompts("p", strings.NewReader(""), WithTemplateTokens(3))
	require.ErrorContains(t, err, "WithTemplateTokens: cannot be given to prompts")
	_, err = ReadPrompts("p", strings.NewReader(""), WithTokenCounter(nil))
	require.ErrorContains(t, err, "WithTokenCounter: is nil")
	_, err = ReadTrace("p", strings.NewReader(""), WithTokenCounter(func(string) int { return 1 }))
	require.ErrorContains(t, err, "WithTokenCounter: cannot be given to a trace")
	_, err = NewTrace("p", nil, WithBlockTokens(0))
	require.ErrorContains(t, err, "WithBlockTokens: is 0")
	assert.Equal(t, "workload.WithSeed", WithSeed(1).String())
}
