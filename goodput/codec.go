package goodput

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"

	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

// encoder appends to itself.
type encoder []byte

func (e *encoder) uvarint(v uint64) { *e = binary.AppendUvarint(*e, v) }
func (e *encoder) varint(v int64)   { *e = binary.AppendVarint(*e, v) }
func (e *encoder) float(v float64)  { *e = binary.LittleEndian.AppendUint64(*e, math.Float64bits(v)) }

func (e *encoder) text(s string) {
	e.uvarint(uint64(len(s)))
	*e = append(*e, s...)
}

func (e *encoder) bool(b bool) {
	v := byte(0)
	if b {
		v = 1
	}
	*e = append(*e, v)
}

// digest has its length before it; 0: none.
func (e *encoder) digest(d *percentile.Digest) {
	if d == nil {
		e.uvarint(0)
		return
	}
	b, _ := d.MarshalBinary()
	e.text(string(b))
}

// A decoder takes an encoding apart. After an error it returns zeros.
type decoder struct {
	b   []byte
	err error
}

var errShort = errors.New("cut short")

func (d *decoder) left() int { return len(d.b) }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.b = err, nil
	}
}

// room reports whether n things of so many bytes can still come, and fails where not.
func (d *decoder) room(n uint64, each int) bool {
	hi, lo := bits.Mul64(n, uint64(each))
	if d.err == nil && (hi != 0 || lo > uint64(len(d.b))) {
		d.fail(errShort)
	}
	return d.err == nil
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count is a number of things.
func (d *decoder) count() uint64 {
	v := d.uvarint()
	if v > maxCounted {
		d.fail(errCounted)
		return 0
	}
	return v
}

// instant is a Unix time, ns, that a record can have.
func (d *decoder) instant() int64 {
	v := d.uvarint()
	if v > uint64(lastStart.UnixNano()+maxOffset) {
		d.fail(errors.New("bad instant"))
		return 0
	}
	return int64(v)
}

func (d *decoder) float() float64 {
	if len(d.b) < 8 {
		d.fail(errShort)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}

func (d *decoder) bool() bool {
	if len(d.b) < 1 || d.b[0] > 1 {
		d.fail(errShort)
		return false
	}
	v := d.b[0] == 1
	d.b = d.b[1:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if !d.room(n, 1) {
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) slo() slo.SLO {
	text, name := d.text(), d.text()
	if d.err != nil {
		return slo.SLO{}
	}
	s, err := slo.Parse(text)
	if err != nil {
		d.fail(err)
	}
	s.Name = name
	return s
}

func (d *decoder) digest() *percentile.Digest {
	b := d.bytes()
	if len(b) == 0 {
		return nil
	}
	x := percentile.New()
	if err := x.UnmarshalBinary(b); err != nil {
		d.fail(err)
	}
	return x
}
