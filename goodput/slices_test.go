package goodput

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/wire"
)

// plainSlices counts by instant, and adds up on request: what timeSlices has to agree with.
type plainSlices map[int64]uint64

// byIndex is the counts in slices of a width.
func (p plainSlices) byIndex(anchor, width int64) map[int64]uint64 {
	all := map[int64]uint64{}
	for t, v := range p {
		all[floorDiv(t-anchor, width)] += v
	}
	return all
}

func requireLikePlain(t *testing.T, p plainSlices, s *timeSlices) {
	t.Helper()
	require.LessOrEqual(t, s.n, maxSlices)
	want, got := p.byIndex(s.anchor, s.width), map[int64]uint64{}
	for row := range s.n {
		if n := s.count(row, cOffered); n > 0 {
			got[s.lo+int64(row)] = n
		}
		if float64(s.count(row, cOffered)) != s.sums[row*3] {
			require.Fail(t, "the sums have gone elsewhere", "row %d", row)
		}
	}
	require.Equal(t, want, got)
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

		d := decoder{wire.NewDecoder(s.appendBinary(nil))}
		back := newSlices(anchor, 2, 1)
		back.decode(&d)
		require.NoError(t, d.Err())
		assert.Zero(t, d.Left())
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
