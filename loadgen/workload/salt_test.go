package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

func TestWords(t *testing.T) {
	require.Len(t, words, 1<<wordBits)
	seen := map[string]bool{}
	for _, w := range words {
		assert.Regexp(t, "^[a-z]{2,8}$", w)
		assert.False(t, seen[w], w)
		seen[w] = true
	}
}

// Each step of saltID can be undone within 40 bits, so no two numbers have the same salt, wherever the key begins.
func TestSaltIDsAreDistinct(t *testing.T) {
	const n = 1 << 18
	for _, key := range []uint64{0, 1, 0xffff_ffff_ffff_ffff, 0x1234_5678_9abc_def0} {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = saltID(key, uint64(i))
		}
		slices.Sort(ids)
		require.Less(t, ids[n-1], uint64(1)<<saltBits)
		require.Len(t, slices.Compact(ids), n, "key %#x", key)
	}
}

// A server that caches token by token must find nothing from one request to the next: the first word differs as often
// as among words drawn at random.
func TestFirstWordsDiffer(t *testing.T) {
	const n = 100_000
	same, counts := 0, make([]float64, len(words))
	for i := range uint64(n) {
		id := saltID(77, i)
		counts[id>>(saltBits-wordBits)]++
		if saltWord(id, 0) == saltWord(saltID(77, i+1), 0) {
			same++
		}
	}
	assert.InDelta(t, n/1024.0, same, 45, "4.5 sigma of the binomial")
	chi2 := 0.0
	for _, c := range counts {
		chi2 += (c - n/1024.0) * (c - n/1024.0) / (n / 1024.0)
	}
	assert.Less(t, chi2, 1210.0, "1,023 degrees of freedom exceed 1,210 in fewer than one of 10,000 samples")
}

func first(p *Prompts) string { return take(p.Requests(), 1)[0].Prompt }

func TestPromptsAreSalted(t *testing.T) {
	p := prompts(t, `{"prompt":"What now?","input_tokens":10}`+"\n"+`{"prompt":"What now?"}`)
	reqs := take(p.Requests(), 0)
	for _, r := range reqs {
		salt, rest, ok := strings.Cut(r.Prompt, "\n")
		require.True(t, ok)
		require.Equal(t, "What now?", rest)
		require.Len(t, strings.Fields(salt), 4)
		require.Equal(t, salt, strings.Join(strings.Fields(salt), " "))
	}
	assert.NotEqual(t, reqs[0].Prompt, reqs[1].Prompt, "each request has its own")
	assert.NotEqual(t, reqs[0].Prompt, first(p), "each pass has its own")
	assert.Equal(t, 15, reqs[0].InputTokens, "four words and the line's end")
	assert.Equal(t, 0, reqs[1].InputTokens, "unknown stays unknown")
	p = prompts(t, `{"prompt":"What now?","input_tokens":10}`, WithTokensPerWord(4))
	assert.Equal(t, 27, take(p.Requests(), 0)[0].InputTokens)
}

func TestMessagesAreSaltedAtTheBeginning(t *testing.T) {
	p := prompts(t, `{"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}]}`)
	a, b := take(p.Requests(), 0)[0], take(p.Requests(), 0)[0]
	assert.True(t, strings.HasSuffix(a.Messages[0].Content, "\nBe brief."))
	assert.Equal(t, loadgen.Message{Role: "user", Content: "Hi"}, a.Messages[1])
	assert.NotEqual(t, a.Messages[0], b.Messages[0])
	assert.Empty(t, a.Prompt)
}

func TestWithSaltSeedRepeatsTheSalt(t *testing.T) {
	const text = `{"prompt":"What now?"}`
	one := prompts(t, text, WithSaltSeed(1))
	assert.Equal(t, first(one), first(one))
	assert.Equal(t, first(one), first(prompts(t, text, WithSaltSeed(1), WithSeed(5))), "other seeds do not matter")
	assert.NotEqual(t, first(one), first(prompts(t, text, WithSaltSeed(2))))
	assert.NotEqual(t, first(one), first(prompts(t, text, WithSaltSeed(0))))
	assert.True(t, strings.HasSuffix(first(one), "\nWhat now?"))
}

func TestWithoutSaltLeavesPromptsAlone(t *testing.T) {
	assert.Equal(t, "What now?", first(prompts(t, `{"prompt":"What now?"}`, WithoutSalt())))
}
