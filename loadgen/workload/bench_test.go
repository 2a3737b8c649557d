package workload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkSynthetic is one request of the Azure conversation's lengths, 1,142 words on average.
func BenchmarkSynthetic(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []Option
	}{{"text", nil}, {"lengths", []Option{WithoutText()}}} {
		b.Run(c.name, func(b *testing.B) {
			s, err := NewSynthetic(AzureConversation(), c.opts...)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			n := 0
			for range s.Requests() {
				if n++; n == b.N {
					break
				}
			}
		})
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, l := range []Lengths{Fixed(9), Uniform{1, 99}, LogNormal{300, 0.7}, AzureConversation().Input,
		Truncated{LogNormal{300, 0.7}, 100, 1000}} {
		b.Run(fmt.Sprintf("%T", l), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			for b.Loop() {
				l.Draw(r)
			}
		})
	}
}

// BenchmarkRead is bytes of a file, in lines and as an array.
func BenchmarkRead(b *testing.B) {
	object := []byte(`{"prompt":"` + string(bytes.Repeat([]byte("word "), 200)) + `","max_tokens":200}`)
	lines := bytes.Repeat(append(object, '\n'), 1000)
	array := append(append([]byte{'['}, bytes.Join(slices.Repeat([][]byte{object}, 1000), []byte{','})...), ']')
	trace := append([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n"),
		bytes.Repeat([]byte("2023-11-16 18:15:46.6805900,374,44\r\n"), 20000)...)
	for _, c := range []struct {
		name string
		data []byte
		read func(data []byte) error
	}{
		{"lines", lines, func(d []byte) error { _, err := ReadPrompts("p", bytes.NewReader(d)); return err }},
		{"array", array, func(d []byte) error { _, err := ReadPrompts("p", bytes.NewReader(d)); return err }},
		{"azure", trace, func(d []byte) error { _, err := ReadTrace("t", bytes.NewReader(d)); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.read(c.data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
