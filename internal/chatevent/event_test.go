package chatevent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a delta carries, as loadgen/openai reads it, too.
func TestContent(t *testing.T) {
	for content, want := range map[string]Event{
		`"a"`:                                  {Output: true},
		`""`:                                   {},
		`null`:                                 {},
		`[]`:                                   {},
		`[{"type":"text","text":"a"}]`:         {Output: true},
		`[{"type":"text","text":""}]`:          {},
		`[{"type":"image"}]`:                   {},
		`[{"type":"thinking","thinking":"r"}]`: {Reasoning: true},
		`[{"type":"thinking","thinking":""}]`:  {},
		`[{"type":"thinking","thinking":[{"type":"text","text":"r"}]}]`:                            {Reasoning: true},
		`[{"type":"thinking","thinking":[]}]`:                                                      {},
		`[{"type":"thinking","thinking":[{"type":"text","text":"r"}]},{"type":"text","text":"a"}]`: {Output: true, Reasoning: true},
	} {
		assert.Equal(t, want, Read([]byte(`{"choices":[{"delta":{"content":`+content+`}}]}`)), content)
		assert.Equal(t, want, Whole([]byte(`{"choices":[{"message":{"content":`+content+`}}]}`)), content)
	}
}
