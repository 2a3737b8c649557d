package percentile

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/wire"
)

func encodable(n int) *Digest {
	r := newRand(uint64(n))
	d := New(WithCompression(100))
	for range n {
		d.Add(math.Exp(2*r.NormFloat64()) - 0.2)
	}
	return d
}

func requireSame(t *testing.T, want, got *Digest) {
	t.Helper()
	require.Equal(t, want.Count(), got.Count())
	require.Equal(t, want.NaNs(), got.NaNs())
	for q := 0.0; q <= 1; q += 1.0 / 512 {
		require.Equal(t, want.Quantile(q), got.Quantile(q))
	}
	if want.Count() > 0 {
		require.Equal(t, want.Sum(), got.Sum())
		require.Equal(t, want.Min(), got.Min())
		require.Equal(t, want.Max(), got.Max())
	}
	a, err := want.MarshalBinary()
	require.NoError(t, err)
	b, err := got.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, a, b)
}

func TestEncodingGivesTheDigestBack(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000, 2047, 10_000, 100_000} {
		d := encodable(n)
		d.Add(math.NaN())
		data, err := d.MarshalBinary()
		require.NoError(t, err)
		var b, j Digest
		b.Add(7) // what was in it goes
		require.NoError(t, b.UnmarshalBinary(data))
		if n > 0 {
			requireSame(t, d, &b)
		}
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &j))
		if n > 0 {
			requireSame(t, d, &j)
		}

		// It goes on like the first.
		for i := range 10_000 {
			d.Add(float64(i))
			b.Add(float64(i))
		}
		require.Equal(t, d.Count(), b.Count())
		require.InEpsilon(t, d.Quantile(0.99), b.Quantile(0.99), 0.01)

		more, err := d.AppendBinary([]byte("before"))
		require.NoError(t, err)
		assert.Equal(t, "before", string(more[:6]))
		require.NoError(t, b.UnmarshalBinary(more[6:]))
	}
}

func TestEncodingOfInfinities(t *testing.T) {
	d := New()
	d.AddN(math.Inf(1), 3)
	d.Add(math.Inf(-1))
	d.Add(5)
	data, err := d.MarshalBinary()
	require.NoError(t, err)
	var b Digest
	require.NoError(t, b.UnmarshalBinary(data))
	assert.Equal(t, uint64(5), b.Count())
	assert.Equal(t, math.Inf(1), b.Max())
	assert.Equal(t, math.Inf(-1), b.Min())
	text, err := json.Marshal(d)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"max":null`)
}

func TestJSONHasFigures(t *testing.T) {
	d := New()
	for i := range 101 {
		d.Add(float64(i))
	}
	text, err := json.Marshal(d)
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(text, &m))
	for k, want := range map[string]float64{
		"count": 101, "sum": 5050, "min": 0, "max": 100, "p50": 50, "p90": 90, "p95": 95, "p99": 99, "p99.9": 99.9,
	} {
		assert.InDelta(t, want, m[k], 1e-9, k)
	}
}

func TestEncodingIsSmall(t *testing.T) {
	for _, l := range laws {
		d := New()
		d.AddSlice(l.values(1, 50_000))
		data, err := d.MarshalBinary()
		require.NoError(t, err)
		assert.LessOrEqual(t, len(data), 24_000, l.name)
	}
	// The worst of all: every value far from the next, with great counts.
	d := New()
	r := newRand(2)
	for range 20_000 {
		d.AddN(math.Float64frombits(r.Uint64()), r.Uint64()>>22)
	}
	data, err := d.MarshalBinary()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(data), 24_000)
	text, err := d.MarshalJSON()
	require.NoError(t, err)
	assert.LessOrEqual(t, len(text), 32_500) // base64 takes four bytes for three
	var b Digest
	require.NoError(t, b.UnmarshalBinary(data))
	assert.Equal(t, d.Count(), b.Count())
}

func TestDamagedEncoding(t *testing.T) {
	d := encodable(500)
	data, err := d.MarshalBinary()
	require.NoError(t, err)
	b := New()
	b.Add(7)
	for i := range data {
		require.ErrorIs(t, b.UnmarshalBinary(data[:i]), ErrEncoding)
		bad := append([]byte(nil), data...)
		bad[i] ^= 1 << (i % 8)
		require.ErrorIs(t, b.UnmarshalBinary(bad), ErrEncoding)
	}
	require.ErrorIs(t, b.UnmarshalBinary(append(data, 0)), ErrEncoding)
	require.ErrorIs(t, b.UnmarshalJSON([]byte(`{"digest":"AAAA"}`)), ErrEncoding)
	require.ErrorIs(t, b.UnmarshalJSON([]byte(`{"digest":`)), ErrEncoding)
	require.ErrorIs(t, b.UnmarshalJSON([]byte(`{}`)), ErrEncoding)
	assert.Equal(t, 7.0, b.Max(), "an error leaves the digest as it was")
}

// sealed puts a body into the frame of an encoding, checksum and all.
func sealed(body []byte) []byte {
	return wire.Encoder(append([]byte(encodingMagic), body...)).Seal()
}

// A checksum keeps damage out, not malice.
func TestHostileEncoding(t *testing.T) {
	head := func(compression float64, counts ...uint64) []byte {
		var e wire.Encoder
		e.Float(compression)
		for _, c := range counts {
			e.Uvarint(c)
		}
		return append(e, make([]byte, 16)...) // sum
	}
	list := func(vs ...uint64) []byte {
		b := head(0, 0, 0, 0)
		for _, v := range vs {
			b = binary.AppendUvarint(b, v)
		}
		return b
	}
	one := key(1)
	require.NoError(t, new(Digest).UnmarshalBinary(sealed(list(1, one, 0))))
	for name, body := range map[string][]byte{
		"compression NaN":        append(head(math.NaN(), 0, 0, 0), 0),
		"compression 10^12":      append(head(1e12, 0, 0, 0), 0),
		"compression -1":         append(head(-1, 0, 0, 0), 0),
		"infinities without end": append(head(0, 1<<63, 0, 0), 0),
		"NaNs without end":       append(head(0, 0, 0, math.MaxUint64), 0),
		"2^60 centroids":         list(1 << 60),
		"more than fit":          list(3, one, 0, 1, 0),
		"values that turn round": list(2, one, 0, math.MaxUint64, 0),
		"equal values":           list(2, one, 0, 0, 0),
		"a NaN":                  list(1, key(math.NaN()), 0),
		"an infinity":            list(1, key(math.Inf(1)), 0),
		"counts that overflow":   list(2, one, math.MaxUint64&^1, 1, math.MaxUint64&^1),
		"no maximum":             append(list(2, one, 0, 1, 3), 0, 0, 0, 0x3F),
		"a mean of 1":            append(list(3, one, 0, 1, 3), 0, 0, 0x80, 0x3F, 1, 0),
		"a mean of NaN":          append(list(3, one, 0, 1, 3), 0, 0, 0xC0, 0x7F, 1, 0),
		"bytes behind":           append(list(1, one, 0), 0),
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, new(Digest).UnmarshalBinary(sealed(body)), ErrEncoding)
		})
	}
	sum := list(0)
	copy(sum[8+3:], binary.LittleEndian.AppendUint64(nil, math.Float64bits(1)))
	require.ErrorContains(t, new(Digest).UnmarshalBinary(sealed(sum)), "a sum of nothing")
	bad := sealed(list(0))
	bad[3] = 2
	require.ErrorContains(t, new(Digest).UnmarshalBinary(bad), "version 2")
}

// use reads all there is to read, and goes on with the digest.
func use(t *testing.T, d *Digest) {
	n := d.Count()
	prev := math.Inf(-1)
	for _, q := range someQ {
		x := d.Quantile(q)
		require.False(t, n > 0 && math.IsNaN(x), "q=%v", q)
		require.False(t, n > 0 && x < prev, "q=%v", q)
		prev = x
		if r := d.Rank(x); n > 0 {
			require.True(t, r >= 0 && r <= 1)
		}
		d.Interval(q, 0.95)
	}
	o := d.Clone()
	o.Merge(d)
	for i := range 5000 {
		o.Add(float64(i%1000) / 7)
	}
	o.AddN(3, 1000)
	require.LessOrEqual(t, len(o.list), listCap)
	data, err := o.MarshalBinary()
	require.NoError(t, err)
	require.LessOrEqual(t, len(data), 24_000)
	if o.Count() <= maxCount { // only a decoded one can be so near to it
		require.NoError(t, new(Digest).UnmarshalBinary(data))
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	for _, n := range []int{0, 1, 100, 5000} {
		data, err := encodable(n).MarshalBinary()
		require.NoError(f, err)
		f.Add(data[len(encodingMagic) : len(data)-4])
	}
	d := New()
	d.AddN(math.Inf(1), 3)
	d.AddN(-2, 1<<60)
	data, _ := d.MarshalBinary()
	f.Add(data[len(encodingMagic) : len(data)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		require.ErrorIs(t, new(Digest).UnmarshalBinary(body), ErrEncoding) // no frame
		data := sealed(body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var d Digest
		err := d.UnmarshalBinary(data)
		runtime.ReadMemStats(&after)
		// The process allocates beside; what matters is that no number in
		// the data does.
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(16*len(data)+1<<20))
		require.LessOrEqual(t, 24*cap(d.list), 12*len(data))
		if err != nil {
			require.ErrorIs(t, err, ErrEncoding)
			require.Zero(t, d.Count())
			return
		}
		use(t, &d)
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	text, err := encodable(50).MarshalJSON()
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"digest":"","count":3}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d Digest
		if err := d.UnmarshalJSON(text); err != nil {
			require.ErrorIs(t, err, ErrEncoding)
			return
		}
		use(t, &d)
	})
}
