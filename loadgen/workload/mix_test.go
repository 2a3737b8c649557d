package workload

import (
	"iter"
	"math"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/goodputkit/goodputkit/loadgen"
)

func classOf(t *testing.T, class string, opts ...Option) Part {
	return Part{Weight: 1, Requests: synthetic(t, Shape{Input: Fixed(1)}, append(opts, WithClass(class), WithoutText())...).Requests()}
}

func TestMixKeepsItsShares(t *testing.T) {
	a, b := classOf(t, "a"), classOf(t, "b")
	a.Weight, b.Weight = 0.3, 0.9
	m, err := Mix(1, a, b)
	require.NoError(t, err)
	const n = 40_000
	count := 0
	for _, r := range take(m, n) {
		if r.Class == "a" {
			count++
		}
	}
	assert.InDelta(t, n/4, count, 4*math.Sqrt(n*0.25*0.75))
}

func classes(reqs []*loadgen.Request) (out []string) {
	for _, r := range reqs {
		out = append(out, r.Class)
	}
	return out
}

func TestMixIsSeeded(t *testing.T) {
	get := func(seed uint64) []string {
		m, err := Mix(seed, classOf(t, "a"), classOf(t, "b"), classOf(t, "c"))
		require.NoError(t, err)
		first := classes(take(m, 100))
		assert.Equal(t, first, classes(take(m, 100)), "each pass is the same")
		return first
	}
	assert.Equal(t, get(1), get(1))
	assert.NotEqual(t, get(1), get(2))
}

func TestMixEndsWithItsFirstPartToEnd(t *testing.T) {
	m, err := Mix(1, classOf(t, "a", WithLimit(20)), classOf(t, "b"))
	require.NoError(t, err)
	cs := classes(take(m, 0))
	count := 0
	for _, c := range cs {
		if c == "a" {
			count++
		}
	}
	assert.Equal(t, 20, count)
	assert.Greater(t, len(cs), 25)
}

func TestMixOfOnePartIsThePart(t *testing.T) {
	m, err := Mix(1, classOf(t, "a", WithLimit(20)))
	require.NoError(t, err)
	assert.Len(t, take(m, 0), 20)
}

// A mix pulls from its parts; whatever ends it, nothing of them stays behind.
func TestMixLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t)
	m, err := Mix(1, classOf(t, "a"), classOf(t, "b"))
	require.NoError(t, err)
	take(m, 10)
	bad, err := Mix(1, Part{1, func(func(*loadgen.Request) bool) { panic("broken part") }}, classOf(t, "b"))
	require.NoError(t, err)
	assert.PanicsWithValue(t, "broken part", func() { take(bad, 1000) })
}

func TestMixInABubble(t *testing.T) {
	m, err := Mix(1, classOf(t, "a"), classOf(t, "b"))
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		done := make(chan []string)
		go func() { done <- classes(take(m, 10)) }()
		assert.Len(t, <-done, 10)
	})
}

func TestMixIsRefused(t *testing.T) {
	ok := classOf(t, "a").Requests
	for want, parts := range map[string][]Part{
		"Mix: has no parts":                   nil,
		"Mix: part 1 has no Requests":         {{1, ok}, {1, nil}},
		"Mix: the weight of part 0 is 0":      {{0, ok}},
		"Mix: the weight of part 0 is -1":     {{-1, ok}},
		"Mix: the weight of part 0 is NaN":    {{math.NaN(), ok}},
		"Mix: the weight of part 0 is +Inf":   {{math.Inf(1), ok}},
		"Mix: the weights' sum is not finite": {{math.MaxFloat64, ok}, {math.MaxFloat64, ok}},
	} {
		_, err := Mix(1, parts...)
		require.ErrorContains(t, err, want)
	}
}

func TestRepeat(t *testing.T) {
	p := prompts(t, `{"prompt":"a"}`+"\n"+`{"prompt":"b"}`, WithoutSalt())
	var got []string
	for _, r := range take(Repeat(p.Requests()), 5) {
		got = append(got, r.Prompt)
	}
	assert.Equal(t, []string{"a", "b", "a", "b", "a"}, got)
	assert.Empty(t, take(Repeat(slices.Values([]*loadgen.Request(nil))), 0), "nothing, again and again, is nothing")

	salted := take(Repeat(prompts(t, `{"prompt":"a"}`).Requests()), 2)
	assert.NotEqual(t, salted[0].Prompt, salted[1].Prompt)
}

// Sources are not changed by their use: passes may go on side by side.
func TestPassesSideBySide(t *testing.T) {
	tr, err := OpenTrace("testdata/mooncake.jsonl", WithSaltSeed(1))
	require.NoError(t, err)
	mix, err := Mix(1, classOf(t, "a"), classOf(t, "b"))
	require.NoError(t, err)
	for _, seq := range []iter.Seq[*loadgen.Request]{
		synthetic(t, AzureCode(), WithSaltSeed(1), WithLimit(30)).Requests(),
		prompts(t, `{"prompt":"a"}`+"\n"+`{"messages":[{"role":"user","content":"b"}]}`, WithSaltSeed(1)).Requests(),
		tr.Requests(),
		mix,
	} {
		want := take(seq, 30)
		got := make(chan []*loadgen.Request)
		for range 4 {
			go func() { got <- take(seq, 30) }()
		}
		for range 4 {
			assert.Equal(t, want, <-got)
		}
	}
}
