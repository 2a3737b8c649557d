package goodput

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// plainSlices counts by instant, and adds up on request: what timeSlices has to agree with.
type plainSlices map[int64]uint64

func (p plainSlices) in(from, to int64) (n uint64) {
	for t, v := range p {
		if t >= from && t < to {
			n += v
		}
	}
	return n
}

func requireLikePlain(t *testing.T, p plainSlices, s *timeSlices) {
	t.Helper()
	require.LessOrEqual(t, s.n, maxSlices)
	var sum uint64
	for row := range s.n {
		from := s.anchor + (s.lo+int64(row))*s.width
		require.Equal(t, p.in(from, from+s.width), s.count(row, cOffered), "row %d", row)
		require.Equal(t, float64(s.count(row, cOffered)), s.sums[row*3], "row %d", row)
		sum += s.count(row, cOffered)
	}
	require.Equal(t, p.in(math.MinInt64, math.MaxInt64), sum, "nothing is lost")
}

func TestTimeSlices(t *testing.T) {
	for seed := range uint64(25) {
		rng := rand.New(rand.NewPCG(seed, 8))
		anchor := rng.Int64N(1e9)
		spread := int64(1) << (10 + rng.IntN(45))
		p, s := plainSlices{}, newSlices(anchor, 2, 1)
		q, o := plainSlices{}, newSlices(anchor, 2, 1)
		other := int64(1) << (10 + rng.IntN(45))
		for range 1 + rng.IntN(400) {
			at := anchor + rng.Int64N(2*spread) - spread
			if _, ok := p[at]; !ok {
				p[at] = 1
				row := s.row(at)
				s.add(row, cOffered, 1)
				s.add(row, nCohort, 1)
				s.value(row, 0, 2)
			}
			at = anchor + rng.Int64N(2*other) - other/2
			if _, ok := q[at]; !ok {
				q[at] = 1
				row := o.row(at)
				o.add(row, cOffered, 1)
				o.add(row, nCohort, 1)
				o.value(row, 0, 2)
			}
		}
		requireLikePlain(t, p, s)
		requireLikePlain(t, q, o)
		before := o.clone()
		s.merge(o)
		assert.Equal(t, before.counts, o.counts, "the source is not changed")
		assert.Equal(t, before.width, o.width)
		for at := range q {
			p[at] += 1
		}
		requireLikePlain(t, p, s)
		assert.LessOrEqual(t, cap(s.counts), maxSlices*s.stride())

		var d decoder
		d.b = s.appendBinary(nil)
		back := newSlices(anchor, 2, 1)
		back.decode(&d)
		require.NoError(t, d.err)
		assert.Zero(t, d.left())
		requireLikePlain(t, p, back)
	}
}

func TestTimeSlicesOfAllTime(t *testing.T) {
	s := newSlices(lastStart.UnixNano(), 0, 0)
	for _, at := range []int64{0, lastStart.UnixNano(), lastStart.UnixNano() + maxOffset, 1} {
		s.add(s.row(at), cOffered, 1)
	}
	var n uint64
	for row := range s.n {
		n += s.count(row, cOffered)
	}
	assert.EqualValues(t, 4, n)
}
