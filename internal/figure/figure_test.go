package figure

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		assert.Equal(t, want, Count(n))
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 12.5: "12.5", 7.5: "7.50", 0.123456: "0.123", 0.00099961: "0.00100", 9.9961: "10.0", 9.994: "9.99", 99.96: "100",
		123.4: "123", 999.7: "1,000", 1234.4: "1,234", 1e6: "1,000,000", 1.5e-6: "1.5e-06", 2e18: "2e+18", -12.34: "-12.3",
		math.Inf(1): "∞", math.Inf(-1): "-∞",
	} {
		assert.Equal(t, want, Number(v), "%v", v)
	}
	assert.Equal(t, "–", Number(math.NaN()))
}

func TestFixed(t *testing.T) {
	assert.Equal(t, "12.50", Fixed(12.5, 2))
	assert.Equal(t, "1,234.50", Fixed(1234.5, 2))
	assert.Equal(t, "0.00", Fixed(0, 2))
	assert.Equal(t, "<0.01", Fixed(0.0049, 2))
	assert.Equal(t, "<1", Fixed(0.2, 0))
	assert.Equal(t, "-0", Fixed(-0.0049, 2))
	assert.Equal(t, "–", Fixed(math.NaN(), 2))
}

func TestShareIsNotMistakenForItsNeighbours(t *testing.T) {
	for _, c := range []struct {
		p    float64
		not  []float64
		want string
	}{
		{0, nil, "0%"}, {1, nil, "100%"}, {0.6, nil, "60.0%"}, {0.05, nil, "5.0%"}, {0.9995, nil, "99.95%"}, {0.99999, nil, "99.999%"},
		{0.0004, nil, "0.04%"}, {1e-9, nil, "<0.0001%"}, {1 - 1e-9, nil, ">99.9999%"},
		{0.9496, nil, "95.0%"}, {0.9496, []float64{0.95}, "94.96%"}, {0.95, []float64{0.95}, "95.0%"},
		{0.9500000001, []float64{0.95}, "95.0000%"}, {math.NaN(), nil, "–"},
	} {
		assert.Equal(t, c.want, Share(c.p, c.not...), "%v", c.p)
	}
}

func TestPercent(t *testing.T) {
	for p, want := range map[float64]string{0.95: "95%", 0.999: "99.9%", 0.999999: "99.9999%", 0.01: "1%", 0.07: "7%", 0.29: "29%"} {
		assert.Equal(t, want, Percent(p))
	}
	assert.Equal(t, "–", Percent(math.NaN()))
}

func TestSeconds(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0 s", 0.812: "812 ms", 1.2: "1.20 s", 0.9996: "1.00 s", 0.99949: "999 ms", 0.0009996: "1.00 ms", 0.02: "20.0 ms", 1e-9: "1.00 ns",
		3.4e-5: "34.0 µs", 4e-10: "0.400 ns", 59.99: "60.0 s", 1234.6: "1,235 s", 86400: "86,400 s", -0.5: "-500 ms",
	} {
		assert.Equal(t, want, Seconds(s), "%v", s)
	}
	assert.Equal(t, "–", Seconds(math.NaN()))
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "≥ –µ": 4, "用户": 4, "e\u0301": 1, "한글": 4, "🚀": 2} {
		assert.Equal(t, want, Width(s), s)
	}
}

func TestClean(t *testing.T) {
	assert.Equal(t, "a?[31mb?", Clean("a\x1b[31mb\n", 20))
	assert.Equal(t, "bad ?", Clean("bad \xff", 20))
	assert.Equal(t, "12345", Clean("12345", 5))
	assert.Equal(t, "1234…", Clean("123456", 5))
	assert.Equal(t, "用…", Clean("用户们", 4))
	assert.Equal(t, "用户", Clean("用户", 4))
}

func TestTable(t *testing.T) {
	tab := Table{Left: map[int]bool{3: true}}
	tab.Row("Name", "n", "", "why", "")
	tab.Row("用户", "1,000", "", "a")
	tab.Row("b")
	tab.Row("c", "–", "", "longer", "")
	assert.Equal(t, 4, tab.Rows())
	assert.Equal(t, "Name      n  why\n用户  1,000  a\nb\nc         –  longer\n", tab.String())
}

func TestWrap(t *testing.T) {
	assert.Equal(t, "SLO  one two\n     three\n     averylongword\n     x\n", Wrap("SLO  ", "one two three averylongword x", 13))
	assert.Equal(t, "SLO  one\n     two three\n", WrapWords("SLO  ", []string{"one", "two three"}, 14))
	assert.Equal(t, "SLO  \n", Wrap("SLO  ", "", 13))
}

func TestByCount(t *testing.T) {
	assert.Equal(t, []string{"c", "a", "b"}, ByCount(map[string]uint64{"a": 1, "b": 1, "c": 2}))
}

func TestInterval(t *testing.T) {
	assert.Equal(t, "94.9% to 95.04%", Interval([2]float64{0.949, 0.9504}, 0.95))
	assert.Equal(t, "–", Interval([2]float64{math.NaN(), 1}))
}
