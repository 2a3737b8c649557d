package slo

import (
	"strings"
	"testing"
)

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(chatText); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseHostile is the dearest kinds of text of the greatest length that is read.
func BenchmarkParseHostile(b *testing.B) {
	number := strings.Repeat("9", 31) + "." + strings.Repeat("7", 32)
	for name, text := range map[string]string{
		"parts":      "ttft p95 < 1s" + strings.Repeat(" 1ns", (MaxText-13)/4),
		"numbers":    "ttft p95 < " + strings.Repeat("0."+strings.Repeat("7", 61)+"ns", (MaxText-11)/65),
		"terms":      "e2e p95 < " + strings.Repeat(number+"h+", (MaxText-10)/66),
		"words":      strings.Repeat("p ", MaxText/2),
		"separators": strings.Repeat(",", MaxText),
		"colons":     "undefined" + strings.Repeat(":", MaxText-9),
		"bytes":      strings.Repeat("\xff", MaxText),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = Parse(text)
			}
		})
	}
}

func BenchmarkString(b *testing.B) {
	s := Chat()
	b.ReportAllocs()
	for b.Loop() {
		_ = s.String()
	}
}
