package loadgen

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

func take(a Arrivals, n int) (at []time.Duration) {
	for d := range a.Times() {
		if at = append(at, d); len(at) == n {
			break
		}
	}
	return at
}

// gaps are the gaps in seconds, the first from 0.
func gaps(at []time.Duration) []float64 {
	g := make([]float64, len(at))
	var last time.Duration
	for i, d := range at {
		g[i], last = (d - last).Seconds(), d
	}
	return g
}

// i/Rate, to the nanosecond: no error adds up.
func TestConstant(t *testing.T) {
	assert.Equal(t, []time.Duration{0, 250 * ms, 500 * ms, 750 * ms}, take(Constant{Rate: 4}, 4))
	for _, rate := range []float64{0.1, 3, 7, 333.3, 49_999, 1e6} {
		r := new(big.Rat).SetFloat64(rate)
		i := int64(0)
		for d := range (Constant{Rate: rate}).Times() {
			if i%9973 == 0 {
				want := new(big.Rat).Quo(big.NewRat(i*1e9, 1), r)
				exact, _ := want.Float64()
				assert.InDelta(t, exact, float64(d), 0.51, "%d at %v/s", i, rate)
			}
			if i++; i == 1_000_000 {
				break
			}
		}
	}
	// A sequence that has no more nanoseconds ends, and does not wrap around.
	var last time.Duration
	for d := range (Constant{Rate: 1e-9}).Times() {
		require.GreaterOrEqual(t, d, last)
		last = d
	}
	assert.Equal(t, 3e9, last.Seconds())
}

// assertKS is the test of Kolmogorov and Smirnov, one sample: x is of a distribution. It fails with a probability of 0.001.
func assertKS(t *testing.T, x []float64, cdf func(float64) float64, what any) {
	t.Helper()
	n := float64(len(x))
	var d float64
	for i, x := range slices.Sorted(slices.Values(x)) {
		const rounded = 1e-9 // the instants are whole nanoseconds
		d = max(d, cdf(x-rounded)-float64(i)/n, float64(i+1)/n-cdf(x+rounded))
	}
	assert.Less(t, d, 1.95/math.Sqrt(n), "%v", what)
}

// counts are how many instants there are in each window of that length, as far as the instants go.
func counts(at []time.Duration, window time.Duration) []float64 {
	n := make([]float64, at[len(at)-1]/window)
	for _, d := range at {
		if i := int(d / window); i < len(n) {
			n[i]++
		}
	}
	return n
}

// The gaps have the distribution that the process is named after (Kolmogorov and Smirnov, one sample), do not depend on
// each other, and the count in a window has the variance of its law: nothing is rescaled.
func TestRenewalProcesses(t *testing.T) {
	const n, rate = 50_000, 200.0
	weibull := func(shape float64) func(float64) float64 {
		return distuv.Weibull{K: shape, Lambda: 1 / (rate * math.Gamma(1+1/shape))}.CDF
	}
	weibullCV2 := func(shape float64) float64 { return math.Gamma(1+2/shape)/math.Pow(math.Gamma(1+1/shape), 2) - 1 }
	for _, c := range []struct {
		a   func(seed uint64) Arrivals
		cdf func(float64) float64
		cv2 float64 // squared coefficient of variation of the gaps
	}{
		{func(seed uint64) Arrivals { return Poisson{rate, seed} }, distuv.Exponential{Rate: rate}.CDF, 1},
		{func(seed uint64) Arrivals { return Gamma{rate, 0.25, seed} }, distuv.Gamma{Alpha: 0.25, Beta: 0.25 * rate}.CDF, 4},
		{func(seed uint64) Arrivals { return Gamma{rate, 1, seed} }, distuv.Exponential{Rate: rate}.CDF, 1},
		{func(seed uint64) Arrivals { return Gamma{rate, 6, seed} }, distuv.Gamma{Alpha: 6, Beta: 6 * rate}.CDF, 1. / 6},
		{func(seed uint64) Arrivals { return Weibull{rate, 0.7, seed} }, weibull(0.7), weibullCV2(0.7)},
		{func(seed uint64) Arrivals { return Weibull{rate, 1, seed} }, distuv.Exponential{Rate: rate}.CDF, 1},
		{func(seed uint64) Arrivals { return Weibull{rate, 3, seed} }, weibull(3), weibullCV2(3)},
	} {
		for seed := range uint64(3) {
			a := c.a(seed)
			at := take(a, n)
			require.True(t, slices.IsSorted(at))
			g := gaps(at)

			assertKS(t, g, c.cdf, a)

			mean, sd := stat.MeanStdDev(g, nil)
			assert.InEpsilon(t, 1/rate, mean, 4*math.Sqrt(c.cv2/n), "%v", a)
			assert.InEpsilon(t, c.cv2, sd*sd/mean/mean, 0.08, "%v", a)
			assert.InDelta(t, 0, stat.Correlation(g[1:], g[:n-1], nil), 4/math.Sqrt(n), "%v", a)

			// Counts in windows of a second: mean rate, variance rate × cv² (asymptotically).
			in := counts(at, time.Second)
			mean, sd = stat.MeanStdDev(in, nil)
			windows := float64(len(in))
			assert.InEpsilon(t, rate, mean, 4*math.Sqrt(c.cv2/rate/windows), "%v", a)
			assert.InEpsilon(t, rate*c.cv2, sd*sd, 4*math.Sqrt(2/windows)+0.05, "%v", a)
		}
	}
}

// A seed gives the same instants today and tomorrow.
func TestSeeds(t *testing.T) {
	assert.Equal(t, take(Poisson{10, 7}, 1000), take(Poisson{10, 7}, 1000))
	assert.NotEqual(t, take(Poisson{10, 7}, 1000), take(Poisson{10, 8}, 1000))
	assert.Equal(t, take(Gamma{10, 2, 7}, 1000), take(Gamma{10, 2, 7}, 1000))
	assert.NotEqual(t, take(Gamma{10, 2, 7}, 1000), take(Gamma{10, 2, 8}, 1000))
	assert.Equal(t, take(Poisson{10, 7}, 1000), take(Weibull{10, 1, 7}, 1000), "of which it is a case")
	a := Poisson{10, 7}
	for range a.Times() { // one that is broken off disturbs none
		break
	}
	assert.Equal(t, take(Poisson{10, 7}, 10), take(a, 10))
	assert.Equal(t, "[282.982239ms 823.081297ms 1.108731202s] [320.819363ms 328.251022ms 864.814612ms]", fmt.Sprint(take(Poisson{1, 1}, 3), take(Gamma{1, 0.5, 1}, 3)))

	// Plans with neighbouring seeds share nothing, and none is 0.
	seen := map[uint64]bool{0: true}
	for seed := range uint64(1000) {
		assert.False(t, seen[mix(seed)])
		seen[mix(seed)] = true
	}
	assert.NotZero(t, mix(0x61c8864680b583eb), "of which the mix would be 0")
}

func TestReplay(t *testing.T) {
	at := []time.Duration{time.Second, time.Second, 3 * time.Second, time.Hour}
	assert.Equal(t, at, take(Replay{At: at}, 9))
	assert.Equal(t, at, take(Replay{At: at, Speed: 1}, 9))
	assert.Equal(t, []time.Duration{500 * ms, 500 * ms, 1500 * ms, 30 * time.Minute}, take(Replay{At: at, Speed: 2}, 9))
	assert.Equal(t, []time.Duration{2 * time.Second, 2 * time.Second, 6 * time.Second, 2 * time.Hour}, take(Replay{At: at, Speed: 0.5}, 9))
	assert.Equal(t, at[:2], take(Replay{At: at}, 2))
	assert.Empty(t, take(Replay{}, 9))
}

func TestArrivalsPrintAndMarshal(t *testing.T) {
	for _, c := range []struct {
		a          Arrivals
		text, json string
	}{
		{Constant{Rate: 5}, "constant 5/s", `{"process":"constant","rate":5}`},
		{Poisson{Rate: 0.5, Seed: 1}, "poisson 0.5/s, seed 1", `{"process":"poisson","rate":0.5,"seed":1}`},
		{Gamma{Rate: 5, Burstiness: 0.25, Seed: math.MaxUint64}, "gamma 5/s, burstiness 0.25, seed 18446744073709551615", `{"process":"gamma","rate":5,"burstiness":0.25,"seed":18446744073709551615}`},
		{Weibull{Rate: 5, Shape: 0.5, Seed: 1}, "weibull 5/s, shape 0.5, seed 1", `{"process":"weibull","rate":5,"shape":0.5,"seed":1}`},
		{
			MMPP{Quiet: Step{5, 10 * time.Second}, Burst: Step{50, time.Second}, Seed: 1}, "mmpp 5/s for 10s and 50/s for 1s on average, seed 1",
			`{"process":"mmpp","quiet":{"rate":5,"for_ns":10000000000},"burst":{"rate":50,"for_ns":1000000000},"seed":1}`,
		},
		{Ramp{From: 1, To: 10, Over: time.Minute, Seed: 1}, "ramp linearly from 1/s to 10/s over 1m0s, seed 1", `{"process":"ramp","from":1,"to":10,"over_ns":60000000000,"seed":1}`},
		{
			Ramp{From: 1, To: 10, Over: time.Minute, Exponential: true, Even: true}, "ramp exponentially from 1/s to 10/s over 1m0s, evenly spaced",
			`{"process":"ramp","from":1,"to":10,"over_ns":60000000000,"exponential":true,"even":true,"seed":0}`,
		},
		{
			Steps{Steps: []Step{{5, time.Minute}, {Rate: 10}}, Seed: 1}, "steps of 5/s for 1m0s, 10/s, seed 1",
			`{"process":"steps","steps":[{"rate":5,"for_ns":60000000000},{"rate":10}],"seed":1}`,
		},
		{Sine{Mean: 10, Amplitude: 5, Period: 24 * time.Hour, Seed: 1}, "sine 10/s ± 5/s over 24h0m0s, seed 1", `{"process":"sine","mean":10,"amplitude":5,"period_ns":86400000000000,"seed":1}`},
		{
			Sine{Mean: 10, Amplitude: 5, Period: 24 * time.Hour, Phase: 6 * time.Hour, Even: true}, "sine 10/s ± 5/s over 24h0m0s, from 6h0m0s on, evenly spaced",
			`{"process":"sine","mean":10,"amplitude":5,"period_ns":86400000000000,"phase_ns":21600000000000,"even":true,"seed":0}`,
		},
		{Replay{At: []time.Duration{0, time.Second}}, "replay of 2 instants over 1s", `{"process":"replay","at_ns":[0,1000000000]}`},
		{Replay{At: []time.Duration{time.Minute}, Speed: 2.5}, "replay of 1 instants over 1m0s, at speed 2.5", `{"process":"replay","at_ns":[60000000000],"speed":2.5}`},
	} {
		assert.Equal(t, c.text, c.a.String())
		b, err := json.Marshal(c.a)
		require.NoError(t, err)
		assert.Equal(t, c.json, string(b))
		got, err := UnmarshalArrivals(b)
		require.NoError(t, err)
		assert.Equal(t, c.a, got)
	}
	assert.Equal(t, "a sequence of instants", ArrivalsFunc(nil).String())
	_, err := json.Marshal(ArrivalsFunc(nil))
	assert.ErrorContains(t, err, "cannot be marshalled")
	for text, says := range map[string]string{
		`{"process":"poisson","rate":-1}`:        "Poisson.Rate is -1, not between",
		`{"process":"poisson","rate":1,"sed":1}`: `unknown field "sed"`,
		`{"process":"poissson"}`:                 `"poissson", not one of constant, gamma, mmpp, poisson, ramp, replay, sine, steps, weibull`,
		`{"rate":1}`:                             `"", not one of`,
		`{"process":7}`:                          "process",
		`[]`:                                     "arrivals",
		`{"process":"replay","at_ns":[1,0]}`:     "Replay.At[1] is 0s, before 1ns",
		`{"process":"replay","speed":-2}`:        "Replay.Speed is -2",
		`{"process":"constant","rate":1} {}`:     "arrivals",
		`{"process":"gamma","rate":1}`:           "(1 is Poisson)",
		`{"process":"gamma","rate":1e30}`:        "Gamma.Rate",
		`{"process":"constant","rate":"1"}`:      "rate",
		`{"process":"replay","at_ns":[-5]}`:      "before 0s",
	} {
		_, err := UnmarshalArrivals([]byte(text))
		assert.ErrorContains(t, err, says, "%s", text)
	}
}

func BenchmarkArrivals(b *testing.B) {
	for _, a := range []Arrivals{
		Constant{Rate: 1e4}, Poisson{Rate: 1e4}, Gamma{Rate: 1e4, Burstiness: 0.5}, Weibull{Rate: 1e4, Shape: 0.5},
		MMPP{Quiet: Step{1e4, time.Second}, Burst: Step{1e5, time.Second}}, Ramp{From: 1, To: 1e4, Over: time.Hour, Exponential: true},
		Steps{Steps: []Step{{1e4, time.Hour}, {Rate: 1e5}}}, Sine{Mean: 1e4, Amplitude: 1e4, Period: 24 * time.Hour},
	} {
		b.Run(fmt.Sprintf("%T", a), func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for range a.Times() {
				if n++; n >= b.N {
					break
				}
			}
		})
	}
}
