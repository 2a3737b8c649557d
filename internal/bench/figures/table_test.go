package figures

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFigure(t *testing.T) {
	assert.Equal(t, []string{"1,234,567", "12.3", "0.50", "–", "1,000"}, []string{Thousands(1234567), Figure(12.34), Figure(0.5), Figure(math.NaN()), Figure(999.6)})
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2.5, Median([]float64{4, 1, 3, 2}))
	assert.True(t, math.IsNaN(Median(nil)))
}

func TestWriteGoals(t *testing.T) {
	var b bytes.Buffer
	missed := WriteGoals(&b, []Goal{{"a", 1, 1, " ms"}, {"b", 1.01, 1, ""}, {"c", math.NaN(), 1, ""}})
	assert.Equal(t, 2, missed)
	assert.Equal(t, `|  | figure | at most |  |
| --- | ---: | ---: | --- |
| a | 1.00 ms | 1.00 ms | holds |
| b | 1.01 | 1.00 | **missed** |
| c | – | 1.00 | **missed** |
`, b.String())
}
