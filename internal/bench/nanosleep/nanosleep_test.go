package nanosleep

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// It does not return before the instant, and at once where that has passed.
func TestUntil(t *testing.T) {
	until, err := Here()
	require.NoError(t, err)
	for range 3 {
		at := time.Now().Add(time.Millisecond)
		until(at)
		assert.False(t, time.Now().Before(at))
	}
	until(time.Now().Add(-time.Hour))
	until(time.Time{})
}
