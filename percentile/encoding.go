package percentile

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/internal/wire"
)

// ErrEncoding is what every error of decoding a [Digest] wraps: the data is
// damaged, cut short, of another format, or cannot be what a digest wrote.
var ErrEncoding = errors.New("percentile: not an encoded digest")

var errTooMany = errors.New("too many values")

// The binary form. Integers are unsigned varints, floats 8 bytes in little
// endian.
//
//	"pdg" 1                      format and version
//	float   compression          0: the default
//	varint  −Inf, +Inf, NaN      their counts
//	float   sum, float rest      of the finite values, with what it lost
//	varint  number of centroids
//	for each centroid, sorted by value:
//	    varint  key − previous key      key: the bits of hi, ordered as the values are
//	    varint  2 × (count − 1) + 1     1: not an atom, then
//	    4 bytes mean                    float, little endian
//	4 bytes CRC-32C of all before, little endian
const (
	encodingMagic = "pdg\x01"
	maxEncoded    = 24000 // bytes
)

// AppendBinary appends the binary form of the digest to b. It is at most
// 24 kB, its error is always nil.
func (d *Digest) AppendBinary(b []byte) ([]byte, error) {
	c := d.Clone()
	start := len(b)
	b = c.append(b)
	for g := float64(4 * grade); len(b)-start > maxEncoded; g *= 4 {
		w := getScratch()
		c.list = squeezeOnce(w, c.list, g, minCompression)
		putScratch(w)
		b = c.append(b[:start])
	}
	return b, nil
}

func (c *Digest) append(b []byte) []byte {
	start := len(b)
	w := wire.Encoder(append(b, encodingMagic...))
	w.Float(c.compression)
	w.Uvarint(c.negInf)
	w.Uvarint(c.posInf)
	w.Uvarint(c.nans)
	w.Float(c.sum.hi)
	w.Float(c.sum.lo)
	w.Uvarint(uint64(len(c.list)))
	var prev uint64
	for i, e := range c.list {
		k := key(e.hi)
		w.Uvarint(k - prev)
		prev = k
		n := spanAt(c.list, i).n
		if e.atom() {
			w.Uvarint((n - 1) << 1)
			continue
		}
		w.Uvarint((n-1)<<1 | 1)
		w.Float32(e.mean)
	}
	return append(w[:start], w[start:].Seal()...)
}

// MarshalBinary returns the binary form of the digest, at most 24 kB.
// Its error is always nil.
func (d *Digest) MarshalBinary() ([]byte, error) { return d.AppendBinary(nil) }

// UnmarshalBinary replaces the digest by an encoded one. Its errors wrap
// [ErrEncoding] and leave the digest as it was. It allocates no more than in
// proportion to the input.
func (d *Digest) UnmarshalBinary(data []byte) error {
	c, err := decode(data)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	d.Reset()
	d.list, d.listed, d.taken, d.sum = c.list, c.listed, c.listed, c.sum
	d.negInf, d.posInf, d.nans = c.negInf, c.posInf, c.nans
	d.compression = c.compression
	d.settled.Store(c.listed)
	return nil
}

func decode(data []byte) (*Digest, error) {
	r, err := wire.Open(data, encodingMagic)
	if err != nil {
		return nil, err
	}
	d := &Digest{compression: r.Float()}
	if d.compression != 0 && !(d.compression >= minCompression && d.compression <= maxCompression) {
		return nil, fmt.Errorf("compression %v", d.compression)
	}
	for _, n := range []*uint64{&d.negInf, &d.posInf, &d.nans} {
		*n = r.Count(maxCount-1, errTooMany)
	}
	d.sum.hi, d.sum.lo = r.Float(), r.Float()
	n := r.Uvarint()
	if r.OK() && (n > listCap || n > uint64(r.Left())/2) {
		return nil, fmt.Errorf("%d centroids in %d bytes", n, r.Left())
	}
	if !r.OK() {
		return nil, r.Err()
	}
	d.list = make([]centroid, 0, n)
	var k uint64
	for i := range n {
		δ, w := r.Uvarint(), r.Uvarint()
		mean := float32(1)
		if w&1 != 0 {
			mean = r.Float32()
		}
		if !r.OK() {
			return nil, r.Err()
		}
		k += δ
		x := fromKey(k)
		switch {
		case k < δ || i > 0 && δ == 0:
			return nil, errors.New("values out of order")
		case math.IsNaN(x) || math.IsInf(x, 0):
			return nil, fmt.Errorf("value %v", x)
		case w&1 != 0 && !(mean > 0 && mean <= maxMean):
			return nil, fmt.Errorf("mean %v", mean)
		}
		d.listed += w>>1 + 1
		if d.listed >= 1<<63 {
			return nil, errTooMany
		}
		d.list = append(d.list, centroid{x, d.listed, mean})
	}
	switch {
	case r.Left() > 0:
		return nil, fmt.Errorf("%d bytes too many", r.Left())
	case d.negInf+d.posInf+d.listed > maxCount:
		return nil, errTooMany
	case n > 0 && !(d.list[0].atom() && d.list[n-1].atom()):
		return nil, errors.New("no minimum or maximum")
	case n == 0 && d.sum != sum{}:
		return nil, errors.New("a sum of nothing")
	}
	return d, nil
}

// digestJSON is the JSON form: figures for people and the binary form for
// UnmarshalJSON, which reads nothing else. A figure that is not finite is null.
type digestJSON struct {
	Count uint64   `json:"count"`
	NaNs  uint64   `json:"nans,omitempty"`
	Sum   *float64 `json:"sum"`
	Min   *float64 `json:"min"`
	Max   *float64 `json:"max"`
	P50   *float64 `json:"p50"`
	P90   *float64 `json:"p90"`
	P95   *float64 `json:"p95"`
	P99   *float64 `json:"p99"`
	P999  *float64 `json:"p99.9"`
	Data  []byte   `json:"digest"` // the binary form, in base64
}

// MarshalJSON returns an object with count, sum, min, max, p50, p90, p95,
// p99 and p99.9, null where they are not finite, and the binary form in
// base64 as digest. It is at most 33 kB.
func (d *Digest) MarshalJSON() ([]byte, error) {
	data, err := d.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return json.Marshal(digestJSON{
		Count: d.Count(), NaNs: d.nans,
		Sum: figure.OrNull(d.Sum()), Min: figure.OrNull(d.Min()), Max: figure.OrNull(d.Max()),
		P50: figure.OrNull(d.Quantile(0.5)), P90: figure.OrNull(d.Quantile(0.9)), P95: figure.OrNull(d.Quantile(0.95)),
		P99: figure.OrNull(d.Quantile(0.99)), P999: figure.OrNull(d.Quantile(0.999)),
		Data: data,
	})
}

// UnmarshalJSON replaces the digest by one that MarshalJSON wrote; it reads
// the field digest. Its errors wrap [ErrEncoding] and leave the digest as it was.
func (d *Digest) UnmarshalJSON(data []byte) error {
	var j struct {
		Data []byte `json:"digest"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("%w: %w", ErrEncoding, err)
	}
	return d.UnmarshalBinary(j.Data)
}
