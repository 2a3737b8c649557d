package goodput

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func tokens(n int) []Token {
	all := make([]Token, n)
	for i := range all {
		all[i] = Token{At: 100*time.Millisecond + time.Duration(i)*20_012_345, N: 1}
	}
	return all
}

func plainRecord(n int) *Record {
	t := tokens(n)
	r := &Record{Start: time.Unix(1_760_000_000, 123_456_789).UTC(), Sent: 12_345, FirstByte: 99 * time.Millisecond, Tokens: t,
		End: 3 * time.Second, InputTokens: 512, OutputTokens: n, Outcome: Success, Finish: "stop"}
	return r
}

func BenchmarkRecordWrite(b *testing.B) {
	for name, n := range map[string]int{"tokens=1": 1, "tokens=100": 100} {
		b.Run(name, func(b *testing.B) {
			r := plainRecord(n)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = r.appendLine(buf[:0], r.Start); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecordRead(b *testing.B) {
	for name, n := range map[string]int{"tokens=1": 1, "tokens=100": 100} {
		b.Run(name, func(b *testing.B) {
			line, err := plainRecord(n).MarshalJSON()
			require.NoError(b, err)
			b.SetBytes(int64(len(line)))
			var s recordScanner
			var r Record
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.scan(line, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

var _ = json.Valid
var _ = math.NaN
var _ = strings.Repeat
var _ = assert.Equal
var _ = slo.TTFT
