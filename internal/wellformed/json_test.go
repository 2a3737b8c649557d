package wellformed

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzJSON wants of the check what the standard library says.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{}`, `[1,-0.5e+3,null,true,false,"a\u00e9\n"]`, `{"a":1,}`, `[1,]`, `01`, `"\x"`, `{"a" : [ ] }`, "\"\x7f\xff\"", `1e`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if tooDeep(b) {
			return
		}
		require.Equal(t, json.Valid(b), JSON(b))
	})
}

// What is nested beyond all reason is refused before anything recurses into it.
func TestDepthIsBounded(t *testing.T) {
	nested := func(depth int) []byte {
		return append(bytes.Repeat([]byte("["), depth), bytes.Repeat([]byte("]"), depth)...)
	}
	require.True(t, JSON(nested(maxDepth)))
	require.True(t, JSON(append(nested(maxDepth), bytes.Repeat([]byte(" "), shallow)...)))
	require.False(t, JSON(nested(1<<19)))
	require.True(t, JSON([]byte(`"`+strings.Repeat(`[\"`, 1<<18)+`"`)), "brackets in a text nest nothing")
}
