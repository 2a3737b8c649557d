// Package wire is the elements of the library's binary encodings: varints, floats in little endian, texts with their length
// before them, and a checksum behind it all.
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
)

// An Encoder appends to itself.
type Encoder []byte

// Uvarint appends an unsigned varint.
func (e *Encoder) Uvarint(v uint64) { *e = binary.AppendUvarint(*e, v) }

// Varint appends a signed one.
func (e *Encoder) Varint(v int64) { *e = binary.AppendVarint(*e, v) }

// Float appends 8 bytes.
func (e *Encoder) Float(v float64) {
	*e = binary.LittleEndian.AppendUint64(*e, math.Float64bits(v))
}

// Float32 appends 4 bytes.
func (e *Encoder) Float32(v float32) {
	*e = binary.LittleEndian.AppendUint32(*e, math.Float32bits(v))
}

// Bool appends a byte, 0 or 1.
func (e *Encoder) Bool(b bool) {
	v := byte(0)
	if b {
		v = 1
	}
	*e = append(*e, v)
}

// Bytes appends how many there are, and them.
func (e *Encoder) Bytes(b []byte) {
	e.Uvarint(uint64(len(b)))
	*e = append(*e, b...)
}

// Text is Bytes of a text.
func (e *Encoder) Text(s string) {
	e.Uvarint(uint64(len(s)))
	*e = append(*e, s...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed is the length of the checksum, in bytes.
const sealed = 4

// Seal is what was appended, with a checksum behind it. Its first bytes are the format's name, and the last of these its version.
func (e Encoder) Seal() []byte {
	return binary.LittleEndian.AppendUint32(e, crc32.Checksum(e, castagnoli))
}

// Open takes apart what Seal sealed, of a format whose name and version are magic. It keeps damage out, not malice.
func Open(data []byte, magic string) (Decoder, error) {
	last := len(magic) - 1
	switch {
	case len(data) < len(magic)+sealed:
		return Decoder{}, ErrShort
	case string(data[:last]) != magic[:last]:
		return Decoder{}, fmt.Errorf("it does not begin with %q", magic[:last])
	case data[last] != magic[last]:
		return Decoder{}, fmt.Errorf("version %d is not known here", data[last])
	}
	body := data[:len(data)-sealed]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return Decoder{}, errors.New("the checksum is wrong")
	}
	return NewDecoder(body[len(magic):]), nil
}

// A Decoder takes an encoding apart. After an error it returns zeros.
type Decoder struct {
	b   []byte
	err error
}

// NewDecoder takes b apart, which has to stay as it is meanwhile.
func NewDecoder(b []byte) Decoder { return Decoder{b: b} }

// ErrShort: there is less than there should be.
var ErrShort = errors.New("cut short")

// Err is the first error; nil: none so far.
func (d *Decoder) Err() error { return d.err }

// OK reports whether there was no error.
func (d *Decoder) OK() bool { return d.err == nil }

// Left is how many bytes are left.
func (d *Decoder) Left() int { return len(d.b) }

// Fail makes err the error, unless there is one.
func (d *Decoder) Fail(err error) {
	if d.err == nil {
		d.err, d.b = err, nil
	}
}

// Room reports whether n things of each bytes can still come, and fails where not.
func (d *Decoder) Room(n uint64, each int) bool {
	hi, lo := bits.Mul64(n, uint64(each))
	if d.err == nil && (hi != 0 || lo > uint64(len(d.b))) {
		d.Fail(ErrShort)
	}
	return d.err == nil
}

// Uvarint is what Encoder.Uvarint appended; so it is with the others.
func (d *Decoder) Uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.Fail(ErrShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Count is a number of things, of which most is too many not to be damaged; it then fails with err.
func (d *Decoder) Count(most uint64, err error) uint64 {
	v := d.Uvarint()
	if v > most {
		d.Fail(err)
		return 0
	}
	return v
}

// Varint is a signed one.
func (d *Decoder) Varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.Fail(ErrShort)
		return 0
	}
	d.b = d.b[n:]
	return v
}

// Float is 8 bytes.
func (d *Decoder) Float() float64 {
	if len(d.b) < 8 {
		d.Fail(ErrShort)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}

// Float32 is 4 bytes.
func (d *Decoder) Float32() float32 {
	if len(d.b) < 4 {
		d.Fail(ErrShort)
		return 0
	}
	v := math.Float32frombits(binary.LittleEndian.Uint32(d.b))
	d.b = d.b[4:]
	return v
}

// Bool is a byte, 0 or 1.
func (d *Decoder) Bool() bool {
	if len(d.b) < 1 || d.b[0] > 1 {
		d.Fail(ErrShort)
		return false
	}
	v := d.b[0] == 1
	d.b = d.b[1:]
	return v
}

// Bytes are a part of the encoding.
func (d *Decoder) Bytes() []byte {
	n := d.Uvarint()
	if !d.Room(n, 1) {
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

// Text is Bytes as a text.
func (d *Decoder) Text() string { return string(d.Bytes()) }
