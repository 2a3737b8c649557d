package admission

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLineIsLeastSquares(t *testing.T) {
	var l Line
	require.Zero(t, l.Predict(1000))
	for i := range 200 {
		x := float64(100 + 37*i%2000)
		l.Observe(at(float64(i)), x, duration(0.02+0.00015*x))
	}
	require.InDelta(t, 0.02+0.00015*5000, l.Predict(5000).Seconds(), 1e-6, "a line is found exactly")
	require.InDelta(t, 0, l.Deviation().Seconds(), 0.01)
	for i := range 600 { // another machine
		l.Observe(at(200+float64(i)), 1000, time.Second)
		l.Observe(at(200+float64(i)), 2000, 2*time.Second)
	}
	require.InDelta(t, 3, l.Predict(3000).Seconds(), 1e-3, "the old one is forgotten")

	var same Line
	for range 50 {
		same.Observe(at(0), 500, 100*time.Millisecond)
	}
	require.Equal(t, 100*time.Millisecond, same.Predict(5000).Round(time.Microsecond), "without any spread there is no slope")
	var down Line
	for i := range 50 {
		down.Observe(at(0), float64(i), time.Duration(100-i)*time.Millisecond)
	}
	require.GreaterOrEqual(t, down.Predict(1e6), time.Duration(0), "no prompt takes less than none")
}

// With the weights of the definition the sums are its own: at many a second, at few, and where the clock goes back.
func TestLineAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, gap := range []float64{0, 0.01, 0.3, 0.7, 5, 1e6} {
		var l Line
		var xs, ys, weights []float64
		now := 0.0
		for i := range 300 {
			x := 5000 * r.Float64()
			y := duration(0.1 + 2e-4*x + 0.05*r.Float64())
			keep := 0.98
			if i > 0 {
				dt := math.Round(2e9*gap*r.Float64()) / 1e9
				if i%50 == 0 {
					dt = -10
				}
				now += dt
				keep = min(max(keep, math.Exp(-dt/30)), 1)
			}
			for k := range weights {
				weights[k] *= keep
			}
			xs, ys, weights = append(xs, x), append(ys, y.Seconds()), append(weights, 1)
			l.Observe(at(now), x, y)
		}
		var w, mx, my float64
		for i, k := range weights {
			w, mx, my = w+k, mx+k*xs[i], my+k*ys[i]
		}
		mx, my = mx/w, my/w
		var sxy, sxx float64
		for i, k := range weights {
			sxy += k * (xs[i] - mx) * (ys[i] - my)
			sxx += k * (xs[i] - mx) * (xs[i] - mx)
		}
		require.InDelta(t, my+sxy/sxx*(2500-mx), l.at(2500), 1e-8, "%v s apart", gap)
	}
}

// Where many first tokens come, of an engine that is noisy, the line is as sure as the half minute that it has seen: of n a
// second with a deviation of σ the mean, weighted so, has a deviation of σ/√(2·30·n).
func TestLineOfANoisyEngine(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const n, sigma, lines = 20.0, 0.1, 300
	var square float64
	for range lines {
		var l Line
		for i := range 3000 {
			x := 500 + 1000*r.Float64()
			l.Observe(at(float64(i)/n), x, duration(0.5+2e-4*x+sigma*r.NormFloat64()))
		}
		square += math.Pow(l.at(1000)-0.7, 2) / lines
	}
	want := sigma / math.Sqrt(2*30*n)
	require.InDelta(t, want, math.Sqrt(square), 0.2*want) // 300 lines: the deviation of a deviation is 4 % of it
}

// A slope is taken for a queue by the least of it that there is evidence for: three standard errors below the fitted one, which are those
// that slopes of the same noise have among each other.
func TestLineOfNoiseHasNoSlope(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const lines, observations = 2000, 200
	for _, c := range []struct{ n, slope float64 }{{0.5, 0}, {20, 0}, {20, 1e-4}} { // first tokens a second
		var sum, square, errors, above float64
		for range lines {
			var l Line
			for i := range observations {
				x := 500 + 1000*r.Float64()
				l.Observe(at(float64(i)/c.n), x, duration(0.5+c.slope*x+0.1*r.NormFloat64()))
			}
			mx := l.x / l.w
			v := l.xx/l.w - mx*mx
			slope := (l.xy/l.w - mx*l.y/l.w) / v
			sum += slope
			square += slope * slope
			errors += l.slopeError(slope, v)
			if l.leastB > c.slope {
				above++
			}
			require.InDelta(t, l.y/l.w, l.least(mx), 1e-9, "through the mean")
			require.LessOrEqual(t, l.leastB, l.b)
			require.InDelta(t, max(slope-3*l.slopeError(slope, v), 0), l.leastB, 1e-15)
		}
		deviation := math.Sqrt(square/lines - sum/lines*sum/lines)
		require.InDelta(t, deviation, errors/lines, 0.06*deviation, "%+v", c) // of 2,000 the deviation of a deviation is 1.6 %
		require.Less(t, above/lines, 0.005, "%+v", c)                         // of a normal distribution 0.13 %, of few observations some more
	}
}

// A line that is exact has the slope that it has, and one through few observations none.
func TestLeastOfAnExactLine(t *testing.T) {
	var l Line
	require.Zero(t, l.least(1000))
	for i := range 100 {
		x := float64(100 + 37*i%2000)
		l.Observe(at(float64(i)), x, duration(0.02+0.00015*x))
		if i < 3 {
			require.Zero(t, l.leastB)
		}
	}
	require.InDelta(t, 0.02+0.00015*5000, l.least(5000), 1e-4)
	require.InDelta(t, l.at(5000), l.least(5000), 1e-4)
	var origin Line // its constant would be below 0
	for i := range 100 {
		x := float64(1000 + 10*i)
		origin.Observe(at(float64(i)), x, duration(2e-4*(x-500)))
	}
	require.Equal(t, []float64{origin.a, origin.b}, []float64{origin.leastA, origin.leastB})
}
