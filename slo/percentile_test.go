package slo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	for p, want := range map[Percentile]struct {
		ppm  uint64
		text string
	}{
		P50: {500_000, "p50"}, P90: {900_000, "p90"}, P95: {950_000, "p95"}, P99: {990_000, "p99"}, P999: {999_000, "p99.9"},
		99.99: {999_900, "p99.99"}, 99.9999: {999_999, "p99.9999"}, 1.0001: {10_001, "p1.0001"}, 5: {50_000, "p5"},
		0: {0, "p0"}, -1: {0, "p-1"}, 100: {million, "p100"}, 999: {million, "p999"},
		Percentile(math.Inf(1)): {million, "p+Inf"},
	} {
		assert.Equal(t, want.ppm, p.PPM(), "%v", float64(p))
		assert.Equal(t, want.text, p.String(), "%v", float64(p))
	}
	thousandth := 0.001
	computed := Percentile(100 * (1 - 3*thousandth)) // 99.7, and maybe a bit off
	assert.Equal(t, uint64(997_000), computed.PPM())
	assert.Equal(t, "p99.7", computed.String())

	nan := Percentile(math.NaN())
	assert.Equal(t, uint64(0), nan.PPM())
	assert.Equal(t, "pNaN", nan.String())
}

// All of them: what is printed is read as the same float64.
func TestEveryPercentileSurvivesText(t *testing.T) {
	for n := 10_000; n < million; n += 31 {
		p := Percentile(float64(n) / 1e4)
		got, err := parsePercentile(piece{text: p.String()})
		require.NoError(t, err)
		require.Equal(t, p, got)
		require.Equal(t, uint64(n), got.PPM())
	}
}

func TestPercentileReached(t *testing.T) {
	assert.True(t, P999.Reached(999, 1000))
	assert.False(t, P999.Reached(998, 1000))
	assert.False(t, P50.Reached(0, 0), "no data is not reached")
	assert.True(t, P50.Reached(1, 2))
	assert.True(t, P95.Reached(19, 20))
	assert.True(t, P95.Reached(math.MaxUint64, math.MaxUint64))
	assert.False(t, P95.Reached(math.MaxUint64/100*94, math.MaxUint64))

	r := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		total := r.Uint64() >> r.IntN(64)
		p := Percentile(float64(1+r.IntN(million-1)) / 1e4)
		edge := new(big.Int).Mul(new(big.Int).SetUint64(total), new(big.Int).SetUint64(p.PPM()))
		within := new(big.Int).Quo(edge, big.NewInt(million)).Uint64() + uint64(r.IntN(3)) // around the edge
		share := new(big.Int).Mul(new(big.Int).SetUint64(within), big.NewInt(million))
		want := total > 0 && share.Cmp(edge) >= 0
		require.Equal(t, want, p.Reached(within, total), "%d of %d, %v", within, total, p)
	}
}
