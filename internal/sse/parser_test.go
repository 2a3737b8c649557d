package sse

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seen is what a stream comes to, without its instants.
type seen struct {
	events  [][2]string // name, data
	rest    string
	hasRest bool
	failed  bool
}

// read parses the pieces one after the other and overwrites each as soon as it may.
func read(limit int, pieces ...[]byte) seen {
	var s seen
	p := Parser{Limit: limit}
	for _, piece := range pieces {
		buf := bytes.Clone(piece)
		p.Feed(buf, time.Time{})
		for ev, ok := p.Next(); ok; ev, ok = p.Next() {
			s.events = append(s.events, [2]string{string(ev.Name), string(ev.Data)})
		}
		for i := range buf {
			buf[i] = '#'
		}
		if p.Err() != nil {
			break
		}
	}
	s.failed = p.Err() != nil
	rest, ok := p.Rest()
	if ok {
		s.rest, s.hasRest = string(rest.Name)+"|"+string(rest.Data), true
	}
	return s
}

func single(b []byte) [][]byte {
	var pieces [][]byte
	for i := range b {
		pieces = append(pieces, b[i:i+1])
	}
	return pieces
}

// model reads a whole stream the way the standard words it: decode, split into lines, take each in turn. It shares
// nothing with Parser.
func model(stream string) seen {
	var s seen
	stream = strings.TrimPrefix(stream, "\uFEFF")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	stream = strings.ReplaceAll(stream, "\r", "\n")
	lines := strings.Split(stream, "\n")
	var name string
	var data []string
	for i, line := range lines {
		last := i == len(lines)-1
		if line == "" {
			if !last {
				if len(data) > 0 {
					s.events = append(s.events, [2]string{name, strings.Join(data, "\n")})
				}
				name, data = "", nil
			}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	if len(data) > 0 {
		s.rest, s.hasRest = name+"|"+strings.Join(data, "\n"), true
	}
	return s
}

func TestParser(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		events       [][2]string
		rest         string
	}{
		{name: "one", stream: "data: x\n\n", events: [][2]string{{"", "x"}}},
		{name: "no space", stream: "data:x\n\n", events: [][2]string{{"", "x"}}},
		{name: "one space goes", stream: "data:  x \n\n", events: [][2]string{{"", " x "}}},
		{name: "CRLF", stream: "data: x\r\n\r\ndata: y\r\n\r\n", events: [][2]string{{"", "x"}, {"", "y"}}},
		{name: "CR", stream: "data: x\r\rdata: y\r\r", events: [][2]string{{"", "x"}, {"", "y"}}},
		{name: "mixed ends", stream: "data: x\r\n\ndata: y\n\r\ndata: z\r\r\n", events: [][2]string{{"", "x"}, {"", "y"}, {"", "z"}}},
		{name: "LF CR is two ends", stream: "data: x\n\rdata: y\n\r", events: [][2]string{{"", "x"}, {"", "y"}}},
		{name: "many lines", stream: "data: x\ndata:\ndata: y\n\n", events: [][2]string{{"", "x\n\ny"}}},
		// The three streams that the standard itself explains.
		{name: "standard: comment, id", stream: ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
			events: [][2]string{{"", "first event"}, {"", "second event"}, {"", " third event"}}},
		{name: "standard: empty data", stream: "data\n\ndata\ndata\n\ndata:", events: [][2]string{{"", ""}, {"", "\n"}}, rest: "|"},
		{name: "standard: spaces", stream: "data:test\n\ndata: test\n\n", events: [][2]string{{"", "test"}, {"", "test"}}},
		{name: "name", stream: "event: a\nevent: b\ndata: x\n\ndata: y\n\n", events: [][2]string{{"b", "x"}, {"", "y"}}},
		{name: "name without data", stream: "event: a\n\ndata: y\n\n", events: [][2]string{{"", "y"}}},
		{name: "retry, id, unknown", stream: "retry: 10\nid: 7\nfoo: bar\nDATA: no\n data: no\ndata : no\n\ndata: y\n\n", events: [][2]string{{"", "y"}}},
		{name: "comments", stream: ":\n: ping\n\n:data: x\ndata: y\n: in between\n\n", events: [][2]string{{"", "y"}}},
		{name: "colons", stream: "data: a:b: c\n\n", events: [][2]string{{"", "a:b: c"}}},
		{name: "mark", stream: "\uFEFFdata: x\n\n", events: [][2]string{{"", "x"}}},
		{name: "one mark only", stream: "\uFEFF\uFEFFdata: x\n\n"},
		{name: "half a mark", stream: "\xEF\xBBdata: x\n\ndata: y\n\n", events: [][2]string{{"", "y"}}},
		{name: "no other line ends", stream: "data: a\u2028b\u0085c\vd\n\n", events: [][2]string{{"", "a\u2028b\u0085c\vd"}}},
		{name: "incomplete: line", stream: "data: x\n\ndata: y\nda", events: [][2]string{{"", "x"}}, rest: "|y"},
		{name: "incomplete: no line feed", stream: "event: e\ndata: [DONE]", rest: "e|[DONE]"},
		{name: "incomplete: no empty line", stream: "data: [DONE]\r", rest: "|[DONE]"},
		{name: "incomplete: no data", stream: "event: e\nid: 3"},
		{name: "nothing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := seen{events: c.events, rest: c.rest, hasRest: c.rest != ""}
			require.Equal(t, want, model(c.stream), "the model")
			require.Equal(t, want, read(0, []byte(c.stream)), "whole")
			require.Equal(t, want, read(0, single([]byte(c.stream))...), "byte by byte")
			for i := range len(c.stream) {
				require.Equal(t, want, read(0, []byte(c.stream[:i]), []byte(c.stream[i:])), "cut at %d", i)
			}
		})
	}
}

func TestParserSaysWhenTheBytesCame(t *testing.T) {
	var p Parser
	at := func(ns int64) time.Time { return time.Unix(0, ns) }
	var got []int64
	for i, piece := range []string{"data: a\n", "\ndata: b\n\nda", "ta: c\n", "\r", "\n: x\n\ndata: d"} {
		p.Feed([]byte(piece), at(int64(i)))
		for ev, ok := p.Next(); ok; ev, ok = p.Next() {
			got = append(got, ev.At.UnixNano())
		}
	}
	p.Feed(nil, at(99)) // an empty piece is no arrival
	require.Equal(t, []int64{1, 1, 3}, got, "the CR ends c; its LF comes later and ends nothing")
	rest, ok := p.Rest()
	require.True(t, ok)
	require.Equal(t, "d", string(rest.Data))
	require.EqualValues(t, 4, rest.At.UnixNano())
}

func TestParserLimit(t *testing.T) {
	const limit = 100
	full := "data: " + strings.Repeat("x", limit-6)
	for _, c := range []struct {
		name, stream string
		events       int
		failed       bool
	}{
		{"a line of the limit", full + "\n\n", 1, false},
		{"with CRLF", full + "\r\n\r\n", 1, false},
		{"a line above", "data: y\n\n" + full + "x\n\n", 1, true},
		{"a line above that never ends", "data: y\n\n" + full + "x", 1, true},
		{"a comment above", ":" + strings.Repeat("x", limit) + "\n\n", 0, true},
		{"lines of one event at the limit", "data: " + strings.Repeat("x", 49) + "\ndata: " + strings.Repeat("x", 50) + "\n\n", 1, false},
		{"lines of one event above", "data: " + strings.Repeat("x", 50) + "\ndata: " + strings.Repeat("x", 50) + "\n\n", 0, true},
		{"empty lines of one event above", strings.Repeat("data\n", limit+2) + "\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := []byte(c.stream)
			whole := read(limit, b)
			require.Len(t, whole.events, c.events)
			require.Equal(t, c.failed, whole.failed)
			require.Equal(t, whole, read(limit, single(b)...))
		})
	}

	p := Parser{}
	p.Feed(make([]byte, DefaultLimit), time.Time{})
	p.Next()
	require.NoError(t, p.Err())
	p.Feed([]byte("x"), time.Time{})
	_, ok := p.Next()
	require.False(t, ok)
	var limitErr *LimitError
	require.ErrorAs(t, p.Err(), &limitErr)
	require.Equal(t, DefaultLimit, limitErr.Limit)
	require.EqualError(t, p.Err(), "sse: a line or an event of more than 1048576 bytes")
	_, ok = p.Rest()
	require.False(t, ok)
	require.LessOrEqual(t, cap(p.line), 2*DefaultLimit)

	p.Reset()
	require.NoError(t, p.Err())
	require.Zero(t, cap(p.line), "a stream with long lines leaves no memory behind")
	p.Feed([]byte("data: x\n\n"), time.Time{})
	ev, ok := p.Next()
	require.True(t, ok)
	require.Equal(t, "x", string(ev.Data))
}

func TestParserReset(t *testing.T) {
	p := Parser{Limit: 10}
	p.Feed([]byte("event: e\ndata: x\nda"), time.Time{})
	_, ok := p.Next()
	require.False(t, ok)
	p.Reset()
	require.Equal(t, 10, p.Limit)
	p.Feed([]byte("\uFEFFdata: y\n\n"), time.Time{})
	ev, ok := p.Next()
	require.True(t, ok)
	require.Equal(t, "y", string(ev.Data))
	require.Empty(t, ev.Name)
}

func TestParserAllocatesNothing(t *testing.T) {
	var p Parser
	stream := bytes.Repeat([]byte("event: e\ndata: {\"choices\":[]}\ndata: more\n\n: ping\n\n"), 20)
	parse := func() {
		for b := stream; len(b) > 0; {
			n := min(len(b), 37)
			p.Feed(b[:n], time.Time{})
			for _, ok := p.Next(); ok; _, ok = p.Next() {
			}
			b = b[n:]
		}
	}
	parse()
	require.Zero(t, testing.AllocsPerRun(10, parse))
}

// TestParserIsLinear parses what would cost the square of its length if each line looked for both ends again.
func TestParserIsLinear(t *testing.T) {
	p := Parser{}
	b := bytes.Repeat([]byte("data: x\r\r"), 1<<20)
	p.Feed(b, time.Time{})
	n := 0
	for _, ok := p.Next(); ok; _, ok = p.Next() {
		n++
	}
	require.Equal(t, 1<<20, n)
}

func FuzzParser(f *testing.F) {
	for _, s := range []string{
		"data: x\n\n", "\uFEFFdata: x\r\n\r\n", "event: a\ndata: x\ndata: y\n\n", "data: [DONE]", ":\r\rdata\r\n\ndata:",
		"\xEF\xBBdata: x\n\n", "retry: 1\nid: 3\ndata: a: b\n\n",
	} {
		f.Add([]byte(s), uint64(1), uint8(0))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64, limit uint8) {
		whole := read(0, stream)
		require.Equal(t, model(string(stream)), whole)
		require.Equal(t, whole, read(0, single(stream)...))
		require.Equal(t, whole, read(0, cut(stream, seed)...))

		l := int(limit) + 1
		whole = read(l, stream)
		require.Equal(t, whole, read(l, single(stream)...))
		require.Equal(t, whole, read(l, cut(stream, seed)...))
	})
}

// cut cuts b at random places, empty pieces included.
func cut(b []byte, seed uint64) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	var pieces [][]byte
	for len(b) > 0 {
		n := rng.IntN(min(len(b), 1+rng.IntN(40)) + 1)
		pieces = append(pieces, b[:n])
		b = b[n:]
	}
	return pieces
}

func BenchmarkParser(b *testing.B) {
	piece := []byte("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Good\"},\"finish_reason\":null}]}\n\n")
	b.SetBytes(int64(len(piece)))
	b.ReportAllocs()
	var p Parser
	for b.Loop() {
		p.Feed(piece, time.Time{})
		for _, ok := p.Next(); ok; _, ok = p.Next() {
		}
	}
	require.NoError(b, p.Err())
}
