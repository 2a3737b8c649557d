package httptarget

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pieces is a body that comes as it is cut.
type pieces struct{ b [][]byte }

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[0])
	if p.b[0] = p.b[0][n:]; len(p.b[0]) == 0 {
		p.b = p.b[1:]
	}
	return n, nil
}

func (p *pieces) Close() error { return nil }

// FuzzStream cuts a stream in three ways and wants the same of each: the pieces, and what became of the request.
func FuzzStream(f *testing.F) {
	for _, s := range []string{"a\nb\r\n\nend\nc", "data: a\n\ndata:b\r\n\r\n: c\n\ndata: end\n\n", "\xEF\xBB\xBFdata: a\r\rbad\n", "bad", ""} {
		f.Add([]byte(s), uint64(1), true)
		f.Add([]byte(s), uint64(2), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64, lines bool) {
		read := func(cut [][]byte) (*goodput.Record, []string) {
			var seen []string
			c := Config{URL: "http://h", Stream: SSE, EndMarker: seed%2 == 0, Client: &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &pieces{cut}, Request: r}, nil
			})}}
			c.Piece = func(data []byte) (Piece, error) {
				seen = append(seen, string(data))
				if bytes.HasPrefix(data, []byte("bad")) {
					return Piece{}, errors.New("bad")
				}
				return Piece{Token: len(data) > 0, Tokens: len(data), End: string(data) == "end"}, nil
			}
			if lines {
				c.Stream = Lines
			}
			tgt, err := New(c)
			require.NoError(t, err)
			rec := loadgen.Do(context.Background(), tgt, nil)
			rec.Start, rec.Sent, rec.FirstByte, rec.End, rec.FirstOutput = time.Time{}, 0, 0, 0, 0
			for i := range rec.Tokens {
				rec.Tokens[i].At = 0
			}
			return rec, seen
		}
		var whole, single, random [][]byte
		if len(body) > 0 {
			whole = [][]byte{bytes.Clone(body)}
		}
		for i := range body {
			single = append(single, bytes.Clone(body[i:i+1]))
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for b := body; len(b) > 0; {
			n := 1 + rng.IntN(min(len(b), 200))
			random = append(random, bytes.Clone(b[:n]))
			b = b[n:]
		}
		rec, seen := read(whole)
		require.NotContains(t, rec.Detail, "panic")
		for _, cut := range [][][]byte{single, random} {
			again, seenAgain := read(cut)
			require.Equal(t, rec, again)
			require.Equal(t, seen, seenAgain)
		}
	})
}
