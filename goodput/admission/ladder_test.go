package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// A step that gives back what the one before it took is what somebody wrote who took steps for a sum: it cannot be meant.
func TestStepsOfALadderTakeNoLessThanTheOneBefore(t *testing.T) {
	s := slo.MustParse("ttft p95 < 2s")
	first := Degradation{MaxOutputTokens: 100, LowerPriority: 2, Budget: 4 * time.Second}
	for field, second := range map[string]Degradation{
		"":                                     first,
		"Ladder[1].MaxOutputTokens":            {LowerPriority: 2, Budget: 4 * time.Second},
		"Ladder[1].MaxOutputTokens takes less": {MaxOutputTokens: 101, LowerPriority: 3, Budget: 5 * time.Second},
		"Ladder[1].LowerPriority":              {MaxOutputTokens: 50, LowerPriority: 1, Budget: 5 * time.Second},
		"Ladder[1].Budget":                     {MaxOutputTokens: 50, LowerPriority: 2},
	} {
		_, err := New(Config{SLO: s, Classes: map[string]Class{"a": {Ladder: Ladder{first, second}}}})
		if field == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, field)
	}
	_, err := New(Config{SLO: s, Classes: map[string]Class{"a": {Ladder: Ladder{{LowerPriority: 1}, {MaxOutputTokens: 100, LowerPriority: 1}, {MaxOutputTokens: 99, LowerPriority: 2, Budget: 3 * time.Second}}}}})
	require.NoError(t, err)
}
