package llmsim

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFixedServerForgetsTheOldest(t *testing.T) {
	s := NewFixedServer(0, 0)
	for i := range keptFirstTokens + 3 {
		s.keep(strconv.Itoa(i), int64(i))
		s.keep(strconv.Itoa(i), int64(i)) // a name that came twice takes one place
	}
	first := s.FirstTokens()
	assert.Len(t, first, keptFirstTokens)
	assert.NotContains(t, first, "2")
	assert.Contains(t, first, "3")
	assert.NotContains(t, first, "")
}
