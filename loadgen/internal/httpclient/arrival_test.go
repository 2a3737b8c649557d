package httpclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestArrivalClock(t *testing.T) {
	const ms, apart = int64(1e6), int64(1_700_000_000e9) // the wall clock is so far ahead
	for _, c := range []struct {
		name              string
		first             [3]int64 // what was read before: stamp, wall, mono; zero: nothing
		stamp, wall, mono int64
		want              int64
	}{
		{"read 7 ms late", [3]int64{}, apart + 13*ms, apart + 20*ms, 20 * ms, 13 * ms},
		{"no stamp", [3]int64{}, 0, apart + 20*ms, 20 * ms, 20 * ms},
		{"of the future", [3]int64{}, apart + 21*ms, apart + 20*ms, 20 * ms, 20 * ms},
		{"again", [3]int64{apart + 4*ms, apart + 5*ms, 5 * ms}, apart + 13*ms, apart + 20*ms, 20 * ms, 13 * ms},
		{"the rest of what came with the last", [3]int64{apart + 4*ms, apart + 9*ms, 9 * ms}, apart + 4*ms, apart + 20*ms + 50, 20 * ms, 4 * ms},
		{"not before the last, which had no stamp", [3]int64{0, apart + 9*ms, 9 * ms}, apart + 4*ms, apart + 20*ms, 20 * ms, 9 * ms},
		{"the clock was set forward", [3]int64{apart + 4*ms, apart + 5*ms, 5 * ms}, apart + 13*ms, apart + 3620_000*ms, 20 * ms, 20 * ms},
		{"the clock was set back", [3]int64{apart + 4*ms, apart + 5*ms, 5 * ms}, apart + 3620_000*ms, apart + 20*ms, 20 * ms, 20 * ms},
		{"forward by 2 ms", [3]int64{apart + 4*ms, apart + 5*ms, 5 * ms}, apart + 13*ms, apart + 22*ms, 20 * ms, 20 * ms},
		{"a bubble's clock", [3]int64{}, apart + 13*ms, 946684800e9, -apart, -apart},
	} {
		var a arrivalClock
		if c.first != [3]int64{} {
			a.at(c.first[0], c.first[1], c.first[2])
		}
		assert.Equal(t, c.want, a.at(c.stamp, c.wall, c.mono), c.name)
	}
	var a arrivalClock // one that was set is believed again
	a.at(apart+ms, apart+2*ms, 2*ms)
	a.at(apart+3*ms, apart+3600_000*ms+4*ms, 4*ms)
	assert.Equal(t, 8*ms, a.at(apart+3600_000*ms+8*ms, apart+3600_000*ms+9*ms, 9*ms))
}
