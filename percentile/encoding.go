package percentile

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// ErrEncoding is what every error of decoding a [Digest] wraps: the data is
// damaged, cut short, of another format, or cannot be what a digest wrote.
var ErrEncoding = errors.New("percentile: not an encoded digest")

func badEncoding(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrEncoding, fmt.Sprintf(format, args...))
}

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

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	b = append(b, encodingMagic...)
	b = appendFloat(b, c.compression)
	b = binary.AppendUvarint(b, c.negInf)
	b = binary.AppendUvarint(b, c.posInf)
	b = binary.AppendUvarint(b, c.nans)
	b = appendFloat(b, c.sum.hi)
	b = appendFloat(b, c.sum.lo)
	b = binary.AppendUvarint(b, uint64(len(c.list)))
	var prev uint64
	for i, e := range c.list {
		k := key(e.hi)
		b = binary.AppendUvarint(b, k-prev)
		prev = k
		n := spanAt(c.list, i).n
		if e.atom() {
			b = binary.AppendUvarint(b, (n-1)<<1)
			continue
		}
		b = binary.AppendUvarint(b, (n-1)<<1|1)
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(e.mean))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

// MarshalBinary returns the binary form of the digest, at most 24 kB.
// Its error is always nil.
func (d *Digest) MarshalBinary() ([]byte, error) { return d.AppendBinary(nil) }

func appendFloat(b []byte, x float64) []byte {
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
}

// UnmarshalBinary replaces the digest by an encoded one. Its errors wrap
// [ErrEncoding] and leave the digest as it was. It allocates no more than in
// proportion to the input.
func (d *Digest) UnmarshalBinary(data []byte) error {
	c, err := decode(data)
	if err != nil {
		return err
	}
	d.Reset()
	d.list, d.listed, d.taken, d.sum = c.list, c.listed, c.listed, c.sum
	d.negInf, d.posInf, d.nans = c.negInf, c.posInf, c.nans
	d.compression = c.compression
	d.settled.Store(c.listed)
	return nil
}

func decode(data []byte) (*Digest, error) {
	if len(data) < len(encodingMagic)+4 {
		return nil, badEncoding("%d bytes are too few", len(data))
	}
	if string(data[:3]) != encodingMagic[:3] {
		return nil, badEncoding("it does not begin with %q", encodingMagic[:3])
	}
	if data[3] != encodingMagic[3] {
		return nil, badEncoding("version %d is not known here", data[3])
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, badEncoding("the checksum is wrong")
	}
	return decodeBody(body[len(encodingMagic):])
}

func decodeBody(body []byte) (*Digest, error) {
	r := reader{b: body}
	d := &Digest{compression: r.float()}
	if d.compression != 0 && !(d.compression >= minCompression && d.compression <= maxCompression) {
		return nil, badEncoding("compression %v", d.compression)
	}
	d.negInf, d.posInf, d.nans = r.count(), r.count(), r.count()
	d.sum.hi, d.sum.lo = r.float(), r.float()
	n := r.uvarint()
	if r.err == nil && (n > listCap || n > uint64(len(r.b))/2) {
		return nil, badEncoding("%d centroids in %d bytes", n, len(r.b))
	}
	if r.err != nil {
		return nil, r.err
	}
	d.list = make([]centroid, 0, n)
	var k uint64
	for i := range n {
		δ, w := r.uvarint(), r.uvarint()
		mean := float32(1)
		if w&1 != 0 {
			mean = r.float32()
		}
		if r.err != nil {
			return nil, r.err
		}
		k += δ
		x := fromKey(k)
		switch {
		case k < δ || i > 0 && δ == 0:
			return nil, badEncoding("values out of order")
		case math.IsNaN(x) || math.IsInf(x, 0):
			return nil, badEncoding("value %v", x)
		case w&1 != 0 && !(mean > 0 && mean <= maxMean):
			return nil, badEncoding("mean %v", mean)
		}
		d.listed += w>>1 + 1
		if d.listed >= 1<<63 {
			return nil, badEncoding("too many values")
		}
		d.list = append(d.list, centroid{x, d.listed, mean})
	}
	switch {
	case len(r.b) > 0:
		return nil, badEncoding("%d bytes too many", len(r.b))
	case d.negInf+d.posInf+d.listed > maxCount:
		return nil, badEncoding("too many values")
	case n > 0 && !(d.list[0].atom() && d.list[n-1].atom()):
		return nil, badEncoding("no minimum or maximum")
	case n == 0 && d.sum != sum{}:
		return nil, badEncoding("a sum of nothing")
	}
	return d, nil
}

// A reader takes an encoding apart; after an error it returns zeros.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail() {
	r.b = nil
	if r.err == nil {
		r.err = badEncoding("cut short")
	}
}

func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return x
}

func (r *reader) count() uint64 {
	x := r.uvarint()
	if x >= 1<<62 {
		r.fail()
		return 0
	}
	return x
}

func (r *reader) float() float64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return x
}

func (r *reader) float32() float32 {
	if len(r.b) < 4 {
		r.fail()
		return 0
	}
	x := math.Float32frombits(binary.LittleEndian.Uint32(r.b))
	r.b = r.b[4:]
	return x
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
	finite := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return json.Marshal(digestJSON{
		Count: d.Count(), NaNs: d.nans,
		Sum: finite(d.Sum()), Min: finite(d.Min()), Max: finite(d.Max()),
		P50: finite(d.Quantile(0.5)), P90: finite(d.Quantile(0.9)), P95: finite(d.Quantile(0.95)),
		P99: finite(d.Quantile(0.99)), P999: finite(d.Quantile(0.999)),
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
