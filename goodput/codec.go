package goodput

import (
	"errors"

	"github.com/goodputkit/goodputkit/internal/wire"
	"github.com/goodputkit/goodputkit/percentile"
	"github.com/goodputkit/goodputkit/slo"
)

type encoder struct{ wire.Encoder }

// digest has its length before it; 0: none.
func (e *encoder) digest(d *percentile.Digest) {
	var b []byte
	if d != nil {
		b, _ = d.MarshalBinary()
	}
	e.Bytes(b)
}

type decoder struct{ wire.Decoder }

// count is a number of things.
func (d *decoder) count() uint64 { return d.Count(maxCounted, errCounted) }

// instant is a Unix time, ns, that a record can have.
func (d *decoder) instant() int64 {
	return int64(d.Count(uint64(lastStart.UnixNano()+maxOffset), errors.New("bad instant")))
}

func (d *decoder) slo() slo.SLO {
	text, name := d.Text(), d.Text()
	if !d.OK() {
		return slo.SLO{}
	}
	s, err := slo.Parse(text)
	if err != nil {
		d.Fail(err)
	}
	s.Name = name
	return s
}

func (d *decoder) digest() *percentile.Digest {
	b := d.Bytes()
	if len(b) == 0 {
		return nil
	}
	x := percentile.New()
	if err := x.UnmarshalBinary(b); err != nil {
		d.Fail(err)
	}
	return x
}
