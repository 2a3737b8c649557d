package percentile

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What has a digest in it marshals where the digest is a pointer, or can be addressed.
func TestDigestInsideMarshals(t *testing.T) {
	d := New()
	d.Add(7)
	want, err := json.Marshal(d)
	require.NoError(t, err)
	require.Contains(t, string(want), `"count":1`)
	for name, v := range map[string]any{
		"a pointer": struct{ D *Digest }{d},
		"a map":     map[string]*Digest{"D": d},
	} {
		got, err := json.Marshal(v)
		require.NoError(t, err)
		assert.JSONEq(t, `{"D":`+string(want)+`}`, string(got), name)
	}
	var held struct{ D Digest }
	held.D.Add(7)
	got, err := json.Marshal(&held)
	require.NoError(t, err)
	assert.JSONEq(t, `{"D":`+string(want)+`}`, string(got), "a field that can be addressed")
}
