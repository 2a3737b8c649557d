package slo

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSetFor(t *testing.T) {
	def, batch, rest := MustParse("ttft p95 < 2s"), MustParse("e2e p95 < 60s"), MustParse("ttft p50 < 1s")
	set := Set{"batch": batch}
	assert.Equal(t, batch, set.For("batch", def))
	assert.Equal(t, def, set.For("chat", def))
	assert.Equal(t, def, set.For("", def))
	assert.Equal(t, def, set.For("Batch", def), "names are compared as they are")

	set[DefaultClass] = rest
	assert.Equal(t, rest, set.For("", def), "a request with no class is of the default class")
	assert.Equal(t, rest, set.For(DefaultClass, def))
	assert.Equal(t, def, set.For("chat", def), "the default class is not the default SLO")

	assert.Equal(t, def, Set(nil).For("batch", def))
	assert.Equal(t, []string{"batch", "default"}, set.Classes())
}

func TestSetValidate(t *testing.T) {
	assert.NoError(t, Set(nil).Validate())
	assert.NoError(t, Set{"batch": Summarization()}.Validate())
	assert.EqualError(t, Set{"": Chat()}.Validate(), `slo: class "": a class has a name: write "default" for requests that have none`)

	assert.EqualError(t, Set{"a\xff": Chat()}.Validate(), `slo: class "a\xff": the name is not UTF-8`)

	err := Set{"chat": Chat(), "batch": {}}.Validate()
	assert.ErrorIs(t, err, ErrEmpty)
	assert.EqualError(t, err, `slo: class "batch", Objectives: an SLO has at least one objective: write ttft p95 < 2s`)
}

func TestSetFingerprint(t *testing.T) {
	def, set := Chat(), Set{"a": CodeCompletion(), "b": Summarization()}
	assert.Equal(t, def.Fingerprint(), Set{}.Fingerprint(def))
	assert.Equal(t, set.Fingerprint(def), Set{"b": Summarization(), "a": CodeCompletion()}.Fingerprint(MustParse(chatText)))
	for _, other := range []string{
		set.Fingerprint(CodeCompletion()),
		Set{"a": Summarization(), "b": CodeCompletion()}.Fingerprint(def),
		Set{"a": CodeCompletion()}.Fingerprint(def),
		Set{"a\": x": CodeCompletion(), "b": Summarization()}.Fingerprint(def),
	} {
		assert.NotEqual(t, set.Fingerprint(def), other)
		assert.Regexp(t, "^[0-9a-f]{16}$", other)
	}
}
