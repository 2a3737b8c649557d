package wire

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// all reads what TestBackAndForth writes.
func all(d *Decoder) []any {
	return []any{d.Uvarint(), d.Varint(), d.Float(), d.Bool(), d.Bool(), d.Text(), d.Bytes(), d.Float32(), d.Count(7, errTooMany)}
}

var errTooMany = errors.New("too many")

func TestBackAndForth(t *testing.T) {
	e := Encoder("magic")
	e.Uvarint(math.MaxUint64)
	e.Varint(math.MinInt64)
	e.Float(-math.Pi)
	e.Bool(true)
	e.Bool(false)
	e.Text("text")
	e.Bytes([]byte{1, 2})
	e.Float32(1.5)
	e.Uvarint(7)
	d := NewDecoder(e[5:])
	require.Equal(t, []any{uint64(math.MaxUint64), int64(math.MinInt64), -math.Pi, true, false, "text", []byte{1, 2}, float32(1.5), uint64(7)}, all(&d))
	require.NoError(t, d.Err())
	require.Zero(t, d.Left())

	// Cut anywhere it is short, and every value from there on is none.
	for n := range len(e) - 5 {
		d := NewDecoder(e[5 : 5+n])
		got := all(&d)
		require.ErrorIs(t, d.Err(), ErrShort)
		require.Equal(t, uint64(0), got[8])
		require.Zero(t, d.Left())
	}
}

func TestDamage(t *testing.T) {
	for name, read := range map[string]func(*Decoder){
		"a bool that is none":  func(d *Decoder) { d.Bool() },
		"more than there is":   func(d *Decoder) { d.Bytes() },
		"no room":              func(d *Decoder) { d.Room(2, 1) },
		"an overflow":          func(d *Decoder) { d.Room(math.MaxUint64, 2) },
		"a text that is short": func(d *Decoder) { d.Text() },
	} {
		d := NewDecoder([]byte{9})
		read(&d)
		require.ErrorIs(t, d.Err(), ErrShort, name)
		require.False(t, d.OK())
	}
	d := NewDecoder([]byte{8, 1})
	require.Zero(t, d.Count(7, errTooMany))
	d.Fail(errors.New("a later one"))
	require.Equal(t, errTooMany, d.Err(), "the first stays")
	require.Zero(t, d.Uvarint())
}

// What is sealed opens, and nothing else does: not what is cut short, of another format or version, or different by a bit.
func TestSealed(t *testing.T) {
	e := Encoder("gpx\x07")
	e.Text("text")
	sealed := e.Seal()
	d, err := Open(sealed, "gpx\x07")
	require.NoError(t, err)
	require.Equal(t, "text", d.Text())
	require.Zero(t, d.Left())
	for i := range sealed {
		_, err := Open(sealed[:i], "gpx\x07")
		require.Error(t, err)
		for bit := range 8 {
			bad := append([]byte{}, sealed...)
			bad[i] ^= 1 << bit
			_, err = Open(bad, "gpx\x07")
			require.Error(t, err)
		}
	}
	_, err = Open(sealed, "gpy\x07")
	require.EqualError(t, err, `it does not begin with "gpy"`)
	_, err = Open(sealed, "gpx\x08")
	require.EqualError(t, err, "version 7 is not known here")
}
