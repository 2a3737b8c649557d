package goodput

import (
	"encoding/binary"
	"errors"
	"math"
)

var errShort = errors.New("cut short")

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) left() int { return len(d.b) }

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
		d.b = nil
	}
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

func (d *decoder) float() float64 {
	if len(d.b) < 8 {
		d.fail(errShort)
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return v
}
