package httpclient

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzValid wants of the check what the standard library says.
func FuzzValid(f *testing.F) {
	for _, s := range []string{`{}`, `[1,-0.5e+3,null,true,false,"a\u00e9\n"]`, `{"a":1,}`, `[1,]`, `01`, `"\x"`, `{"a" : [ ] }`, "\"\x7f\xff\"", `1e`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if tooDeep(b) {
			return
		}
		require.Equal(t, json.Valid(b), Valid(b))
	})
}
