package llmsim

import (
	"math"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// Times that no clock has are as good as none, or as never; and whatever Tokens says, an answer has an end.
func TestFixedServerExtremes(t *testing.T) {
	s := &FixedServer{First: math.MinInt64, Step: -time.Hour, Tokens: -5}
	require.Zero(t, s.due(1<<20))
	for _, stream := range []string{"true", "false"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"messages":[{"content":"a"}],"stream":`+stream+`,"stream_options":{"include_usage":true}}`)))
		require.Contains(t, w.Body.String(), `"completion_tokens":32`)
		require.Contains(t, w.Body.String(), `"finish_reason":"stop"`)
	}
	s = &FixedServer{First: time.Second, Step: 100 * time.Hour}
	require.Equal(t, 100*time.Hour+time.Second, s.due(1))
	require.Equal(t, time.Duration(math.MaxInt64), s.due(1<<20), "and not before the first")
	s.First = math.MaxInt64
	require.Equal(t, time.Duration(math.MaxInt64), s.due(1))
}
