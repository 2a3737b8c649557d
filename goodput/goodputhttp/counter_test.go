package goodputhttp

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/sse"
)

// counted is what a counter makes of a body in those pieces: its token events, and whether it ended with a marker.
func counted(c TokenCounter, pieces ...[]byte) (n int, marked bool) {
	var t Tally
	for _, p := range pieces {
		p = bytes.Clone(p)
		c.Count(&t, p)
		clear(p) // it is not the counter's any more
	}
	c.End(&t)
	return len(t.rec.Tokens), t.marked
}

// events is the reference for SSE: the whole stream, by the parser.
func events(stream []byte) (n int, marked bool) {
	const space = " \t\r\n"
	var p sse.Parser
	p.Limit = len(stream) + 1
	p.Feed(stream, time.Time{})
	for ev, ok := p.Next(); ok; ev, ok = p.Next() {
		switch data := string(bytes.Trim(ev.Data, space)); data {
		case "":
		case doneMarker:
			marked = true
		default:
			if !marked { // what follows is none of it
				n++
			}
		}
	}
	if ev, ok := p.Rest(); ok && string(bytes.Trim(ev.Data, space)) == doneMarker {
		marked = true
	}
	return n, marked
}

func cut(b []byte, seed uint64) (pieces [][]byte) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for len(b) > 0 {
		n := rng.IntN(min(len(b), 1+rng.IntN(40)) + 1)
		pieces, b = append(pieces, b[:n]), b[n:]
	}
	return pieces
}

func TestSSE(t *testing.T) {
	for _, c := range []struct {
		stream string
		tokens int
		marked bool
	}{
		{"", 0, false},
		{"data: a\n\n", 1, false},
		{"data:a\n\ndata: b\n\n", 2, false},
		{"data: a\r\n\r\ndata: b\r\rdata: c\n\r\n", 3, false}, // every line end there is
		{"\xEF\xBB\xBFdata: a\n\n", 1, false},
		{"\xEF\xBBdata: a\n\n", 0, false},
		{": ping\n\nevent: x\n\nid: 1\nretry: 5\n\n", 0, false},
		{"event: x\ndata: a\ndata: b\n\n", 1, false}, // one event of two lines
		{"data\n\ndata:\n\ndata: \n\n", 0, false},    // with nothing in it
		{"data: a", 0, false},                        // incomplete
		{"data: a\n", 0, false},
		{"data: a\n\ndata: [DONE]\n\n", 1, true},
		{"data: a\n\ndata: [DONE]", 1, true}, // the marker without its end
		{"data:[DONE] \r\n\r\n", 0, true},
		{"data: [DO\ndata: NE]\n\n", 1, false},
		{"data: [DONE]x\n\ndata: x[DONE]\n\ndata: [ DONE]\n\n", 3, false},
		{"datax: a\n\ndat: a\n\nDATA: a\n\n data: a\n\n", 0, false},
	} {
		n, marked := counted(SSE(), []byte(c.stream))
		require.Equal(t, []any{c.tokens, c.marked}, []any{n, marked}, "%q", c.stream)
		n, marked = events([]byte(c.stream))
		require.Equal(t, []any{c.tokens, c.marked}, []any{n, marked}, "the reference: %q", c.stream)
	}
}

func TestNDJSON(t *testing.T) {
	for body, want := range map[string]int{"": 0, "\n\n": 0, "{}": 1, "{}\n": 1, "{}\r\n \r\n[1]\n": 2, "a\nb\nc": 3} {
		n, _ := counted(NDJSON(), []byte(body))
		require.Equal(t, want, n, "%q", body)
	}
}

func FuzzCounters(f *testing.F) {
	for _, s := range []string{
		"data: x\n\n", "\uFEFFdata: x\r\n\r\n", "event: a\ndata: x\ndata: y\n\n", "data: [DONE]", ":\r\rdata\r\n\ndata:", "data: [DO\rdata:NE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n",
		"{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"done\":true}\n",
	} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		n, marked := events(body)
		for _, pieces := range [][][]byte{{body}, cut(body, seed), bytes.SplitAfter(body, nil)} {
			gotN, gotMarked := counted(SSE(), pieces...)
			require.Equal(t, n, gotN)
			require.Equal(t, marked, gotMarked)
		}
		lines := 0
		for line := range bytes.SplitSeq(body, []byte{'\n'}) {
			if len(bytes.Trim(line, " \t\r")) > 0 {
				lines++
			}
		}
		for _, pieces := range [][][]byte{{body}, cut(body, seed), bytes.SplitAfter(body, nil)} {
			n, _ := counted(NDJSON(), pieces...)
			require.Equal(t, lines, n)
		}
		// Of what is handed on, each event and line is the same however the body is cut.
		said := func(of func(func(*Tally, []byte)) TokenCounter, pieces ...[]byte) (all []string) {
			counted(of(func(_ *Tally, data []byte) { all = append(all, string(data)) }), pieces...)
			return all
		}
		for _, of := range []func(func(*Tally, []byte)) TokenCounter{SSEFunc, NDJSONFunc} {
			require.Equal(t, said(of, body), said(of, cut(body, seed)...))
		}
	})
}

// A stream without an end costs no memory and no more than its length, whatever its lines are.
func TestCountersAreBounded(t *testing.T) {
	for _, piece := range []string{"x", "data: x", "\r", "data: x\r\r", "\n", ": \r\n", "data: [DONE"} {
		big := bytes.Repeat([]byte(piece), (1<<20)/len(piece))
		var tally Tally
		tally.done = true // it is not about what is counted
		for _, c := range []TokenCounter{SSE(), NDJSON()} {
			require.Zero(t, testing.AllocsPerRun(5, func() { c.Count(&tally, big) }), "%q", piece)
		}
	}
	for _, c := range []TokenCounter{SSEFunc(func(*Tally, []byte) {}), NDJSONFunc(func(*Tally, []byte) {})} {
		var tally Tally
		piece := []byte(strings.Repeat("x", 1<<16))
		for range 17 {
			c.Count(&tally, piece)
		}
		c.End(&tally)
		require.Equal(t, goodput.Malformed, tally.fail, "a line of more than 1 MiB")
	}
}

func TestCounterFor(t *testing.T) {
	for kind, want := range map[string]TokenCounter{
		"text/event-stream": SSE(), "text/event-stream; charset=utf-8": SSE(), "Text/Event-Stream;charset=UTF-8": SSE(),
		"application/x-ndjson": NDJSON(), "application/jsonl; x": NDJSON(),
		"application/json": nil, "text/html": nil, "": nil, "text/event-streams": nil, ";": nil,
	} {
		require.Equal(t, want, CounterFor(http.Header{"Content-Type": {kind}}), "%q", kind)
	}
	require.Nil(t, CounterFor(nil))
}
