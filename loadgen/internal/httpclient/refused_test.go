package httpclient

import (
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// Frames of HTTP/2, by RFC 9113, section 6, and their flags.
const (
	frameData, frameHeaders, frameReset, frameSettings, framePing, frameGoAway = 0, 1, 3, 4, 6, 7
	flagEndStream, flagAck, flagEndHeaders                                     = 1, 1, 4
	noError, refusedStream                                                     = 0, 7
)

func writeFrame(w io.Writer, kind, flags byte, stream uint32, payload ...byte) error {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	head = binary.BigEndian.AppendUint32(append(head, flags), stream)
	_, err := w.Write(append(head, payload...))
	return err
}

// frames is a server that speaks as much HTTP/2 as it must, and does with the n-th request, from 1 on, what answer says.
func frames(t *testing.T, answer func(conn net.Conn, n int32, stream uint32)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var requests atomic.Int32
	var wg sync.WaitGroup
	serve := func(conn net.Conn) {
		defer conn.Close()
		if _, err := io.CopyN(io.Discard, conn, 24); err != nil { // the preface
			return
		}
		writeFrame(conn, frameSettings, 0, 0)
		for head := make([]byte, 9); ; {
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			payload := make([]byte, binary.BigEndian.Uint32(head)>>8)
			if _, err := io.ReadFull(conn, payload); err != nil {
				return
			}
			kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
			switch {
			case kind == frameSettings && flags&flagAck == 0:
				writeFrame(conn, frameSettings, flagAck, 0)
			case kind == framePing && flags&flagAck == 0:
				writeFrame(conn, framePing, flagAck, 0, payload...)
			case (kind == frameHeaders || kind == frameData) && flags&flagEndStream != 0:
				answer(conn, requests.Add(1), stream)
			}
		}
	}
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

func hi(conn net.Conn, stream uint32) {
	writeFrame(conn, frameHeaders, flagEndHeaders, stream, 0x88) // :status 200, of HPACK's static table
	writeFrame(conn, frameData, flagEndStream, stream, 'h', 'i')
}

// refusals are the two ways in which a server says that it has not taken a request up (RFC 9113, section 8.7).
var refusals = map[string]func(conn net.Conn, stream uint32){
	"REFUSED_STREAM": func(conn net.Conn, stream uint32) {
		writeFrame(conn, frameReset, 0, stream, 0, 0, 0, refusedStream)
	},
	"GOAWAY": func(conn net.Conn, stream uint32) {
		last := binary.BigEndian.AppendUint32(nil, max(stream, 2)-2)
		writeFrame(conn, frameGoAway, 0, 0, append(last, 0, 0, 0, noError)...)
	},
}

// TestRefusedStreamIsRepeatedOnce: a request on a connection that has carried others, which the server says it has not taken
// up, is sent once more, on a new connection, and that is in Attempts.
func TestRefusedStreamIsRepeatedOnce(t *testing.T) {
	for name, refuse := range refusals {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for _, body := range []string{"", "x"} {
				t.Run(name+" "+method+" "+body, func(t *testing.T) {
					var refused, last atomic.Pointer[net.Conn]
					addr := frames(t, func(conn net.Conn, n int32, stream uint32) {
						last.Store(&conn)
						if n == 2 {
							refused.Store(&conn)
							refuse(conn, stream)
							return
						}
						hi(conn, stream)
					})
					c := client(t, Options{HTTP2: true})
					rec := loadgen.Do(t.Context(), target(c, method, addr, body), nil)
					require.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
					assert.LessOrEqual(t, rec.Attempts, 1)
					rec = loadgen.Do(t.Context(), target(c, method, addr, body), nil)
					assert.Equal(t, goodput.Success, rec.Outcome, rec.Detail)
					assert.Equal(t, 2, rec.Attempts)
					assert.NotSame(t, *refused.Load(), *last.Load(), "which was new")
				})
			}
		}
	}
}

// TestRefusedTwice: it is not sent a third time, nor a second one on a connection that was new.
func TestRefusedTwice(t *testing.T) {
	for name, refuse := range refusals {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
			for _, body := range []string{"", "x"} {
				t.Run(name+" "+method+" "+body, func(t *testing.T) {
					var requests atomic.Int32
					addr := frames(t, func(conn net.Conn, n int32, stream uint32) {
						requests.Store(n)
						if n > 1 {
							refuse(conn, stream)
							return
						}
						hi(conn, stream)
					})
					c := client(t, Options{HTTP2: true})
					tgt := target(c, method, addr, body)
					require.Equal(t, goodput.Success, loadgen.Do(t.Context(), tgt, nil).Outcome)
					rec := loadgen.Do(t.Context(), tgt, nil)
					assert.Equal(t, goodput.ConnectionError, rec.Outcome, rec.Detail)
					assert.Equal(t, 2, rec.Attempts)
					assert.EqualValues(t, 3, requests.Load())

					fresh := client(t, Options{HTTP2: true})
					rec = loadgen.Do(t.Context(), target(fresh, method, addr, body), nil)
					assert.Equal(t, goodput.ConnectionError, rec.Outcome, rec.Detail)
					assert.LessOrEqual(t, rec.Attempts, 1)
					assert.EqualValues(t, 4, requests.Load())
				})
			}
		}
	}
}
