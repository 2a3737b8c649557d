package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// fault is something that goes wrong with a request, and what has to become of it.
type fault struct {
	name string
	want goodput.Outcome
	wire func(c *faultConn) bool                                                          // what the server does; false: the connection is closed then
	do   func(s *storm, ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error // what is done in the target's place
	slow bool                                                                             // the request is a long one, which the server reads slowly
}

const (
	eventStreamHeader = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	longPrompt        = 64 << 10
)

var sound = deltas("x", "y") + stop + done

// storms are answers without work, a burst of which refuses everybody.
var storms = []fault{
	{name: "429", want: goodput.RateLimited, wire: says("429 Too Many Requests", "")},
	{name: "429 with Retry-After", want: goodput.RateLimited, wire: says("429 Too Many Requests", "Retry-After: 1\r\n")},
	{name: "503", want: goodput.ServerError, wire: says("503 Service Unavailable", "")},
	{name: "503 with Retry-After", want: goodput.Rejected, wire: says("503 Service Unavailable", "Retry-After: 1\r\n")},
	{name: "429 of admission control", want: goodput.Rejected, wire: says("429 Too Many Requests", "Goodput-Reason: slack\r\n")},
}

// faults come one by one.
var faults = []fault{
	{name: "reset before a byte", want: goodput.ConnectionError, wire: cut("")},
	{name: "half a header", want: goodput.ConnectionError, wire: cut("HTTP/1.1 200 OK\r\nContent-Ty")},
	{name: "no body", want: goodput.ConnectionError, wire: cut(keptAlive)},
	{name: "reset within the body", want: goodput.Truncated, wire: func(c *faultConn) bool {
		n := rand.N(len(deltas("x"))-1) + 1
		return cut(fmt.Sprintf("%s%x\r\n%s", keptAlive, len(sound), sound[:n]))(c)
	}},
	{name: "garbage for a header", want: goodput.ConnectionError, wire: cut("220 mail.example ESMTP\r\n")},
	{name: "longer than it is", want: goodput.Truncated, wire: cut(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", eventStreamHeader, 2*len(sound), deltas("x")))},
	{name: "shorter than it is", want: goodput.Truncated, wire: cut(fmt.Sprintf("%sConnection: close\r\nContent-Length: %d\r\n\r\n%s", eventStreamHeader, len(deltas("x")), sound))},
	{name: "no end marker", want: goodput.Truncated, wire: answers(deltas("x"))},
	{name: "not JSON", want: goodput.Malformed, wire: answers(deltas("x") + "data: {\"choices\"\n\n")},
	{name: "nothing but the end", want: goodput.Empty, wire: answers(stop + done)},
	{name: "error event", want: goodput.ServerError, wire: answers(deltas("x") + `data: {"error":{"message":"boom"}}` + "\n\n")},
	{name: "bad request", want: goodput.ClientError, wire: says("400 Bad Request", "")},
	{name: "gateway timeout", want: goodput.Timeout, wire: says("504 Gateway Timeout", "")},
	{name: "silence", want: goodput.Timeout, wire: stalls("")},
	{name: "silence in the header", want: goodput.Timeout, wire: stalls("HTTP/1.1 200 OK\r\nContent-Ty")},
	{name: "silence in the body", want: goodput.Timeout, wire: stalls(keptAlive + "fff\r\n" + deltas("x"))},
	{name: "endless body", want: goodput.Timeout, wire: func(c *faultConn) bool {
		for _, err := io.WriteString(c, eventStreamHeader+"\r\n"); err == nil; _, err = io.WriteString(c, deltas("x")) {
			time.Sleep(20 * ms)
		}
		return false
	}},
	{name: "slow writer", want: goodput.Success, wire: func(c *faultConn) bool {
		answer := fmt.Appendf(nil, "%s%x\r\n%s\r\n0\r\n\r\n", keptAlive, len(sound), sound)
		for piece := range slices.Chunk(answer, 20) {
			if _, err := c.Write(piece); err != nil {
				return false
			}
			time.Sleep(ms)
		}
		return true
	}},
	{name: "slow reader", want: goodput.Success, slow: true, wire: answers(sound)},
	{name: "kept-alive connection closed", want: goodput.Success, wire: func(c *faultConn) bool {
		if c.requests > 1 && c.visit == 1 {
			return false
		}
		return answers(sound)(c)
	}},
	{name: "connection refused", want: goodput.ConnectionError, do: func(s *storm, ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error {
		return s.refused.Do(ctx, r, tr)
	}},
	{name: "TLS failure", want: goodput.ConnectionError, do: func(s *storm, ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error {
		return s.tls.Do(ctx, r, tr)
	}},
	{name: "panic", want: goodput.ServerError, do: func(*storm, context.Context, *loadgen.Request, *loadgen.Trace) error { panic("boom") }},
	{name: "Goexit", want: goodput.ServerError, do: func(*storm, context.Context, *loadgen.Request, *loadgen.Trace) error {
		runtime.Goexit()
		return nil
	}},
	{name: "nil pointer for an error", want: goodput.ServerError, do: func(*storm, context.Context, *loadgen.Request, *loadgen.Trace) error {
		var err *loadgen.StatusError
		return err
	}},
	{name: "context ignored", want: goodput.Timeout, do: func(s *storm, ctx context.Context, _ *loadgen.Request, tr *loadgen.Trace) error {
		s.late.Add(1)
		defer s.late.Done()
		deadline, _ := ctx.Deadline()
		time.Sleep(time.Until(deadline) + 1500*ms) // more than Run waits for it
		tr.Token(1)
		return nil
	}},
	{name: "talks on", want: goodput.Success, do: func(s *storm, ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error {
		for range 2 {
			s.late.Go(func() {
				for range 50 {
					tr.Token(1)
					tr.Usage(1, 1<<20)
					tr.Finish("late")
					tr.Custom("x_late", 1)
					time.Sleep(ms)
				}
			})
		}
		return s.Target.Do(ctx, r, tr)
	}},
}

// faultOf is the fault of a request; nil: there is none. In each 500 requests there is a storm of 20, and of the others one
// in six has a fault.
func faultOf(id int) *fault {
	if id%500 < 20 {
		return &storms[id/500%len(storms)]
	}
	r := rand.New(rand.NewPCG(uint64(id), 1))
	if r.IntN(6) > 0 {
		return nil
	}
	return &faults[r.IntN(len(faults))]
}

// faultConn is a connection of the fault server's with a request on it.
type faultConn struct {
	net.Conn
	requests int // so far on this connection
	visit    int // which attempt of this request it is, from 1
}

// answers gives a whole answer.
func answers(body string) func(*faultConn) bool {
	return func(c *faultConn) bool { answerOn(c, body); return true }
}

func says(status, header string) func(*faultConn) bool {
	return func(c *faultConn) bool {
		fmt.Fprintf(c, "HTTP/1.1 %s\r\n%sContent-Length: 2\r\n\r\nno", status, header)
		return true
	}
}

// cut resets the connection after some bytes.
func cut(said string) func(*faultConn) bool {
	return func(c *faultConn) bool {
		io.WriteString(c, said)
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
		return false
	}
}

// stalls says no more until the client gives up.
func stalls(said string) func(*faultConn) bool {
	return func(c *faultConn) bool {
		io.WriteString(c, said)
		io.Copy(io.Discard, c)
		return false
	}
}

// storm is a target that has faults and a server that has.
type storm struct {
	*Target      // of the server, without a fault of its own
	refused, tls *Target
	late         sync.WaitGroup // what targets leave behind

	visits []atomic.Int32 // attempts of each request that the server saw
	met    []atomic.Int32 // times that each request met its fault
}

// Do performs a request. What it is comes with it, and goes into its record.
func (s *storm) Do(ctx context.Context, r *loadgen.Request, tr *loadgen.Trace) error {
	id, err := strconv.Atoi(r.Body["user"].(string))
	if err != nil {
		return err
	}
	tr.Custom("x_id", float64(id))
	if f := faultOf(id); f != nil && f.do != nil {
		s.met[id].Add(1)
		return f.do(s, ctx, r, tr)
	}
	return s.Target.Do(ctx, r, tr)
}

// serve answers requests until l is closed, and returns when all connections are.
func (s *storm) serve(l net.Listener) {
	var conns sync.WaitGroup
	defer conns.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conns.Go(func() {
			defer conn.Close()
			in := bufio.NewReader(conn)
			for c := (&faultConn{Conn: conn}); s.answer(c, in); {
			}
		})
	}
}

// answer reads a request and answers it. It returns false at the end of the connection.
func (s *storm) answer(c *faultConn, in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") // as for a TLS handshake
		}
		return false
	}
	var body io.Reader = req.Body
	if req.ContentLength > longPrompt {
		body = slowly{body}
	}
	var q struct{ User string }
	if json.NewDecoder(body).Decode(&q) != nil {
		return false
	}
	io.Copy(io.Discard, body)
	id, err := strconv.Atoi(q.User)
	if err != nil {
		return false
	}
	c.requests++
	c.visit = int(s.visits[id].Add(1))
	f := faultOf(id)
	if f == nil || f.wire == nil {
		return answers(sound)(c)
	}
	goesOn := f.wire(c)
	if f.name != "kept-alive connection closed" || !goesOn {
		s.met[id].Add(1)
	}
	return goesOn
}

// slowly reads 4 KiB in a millisecond.
type slowly struct{ io.Reader }

func (r slowly) Read(p []byte) (int, error) {
	time.Sleep(ms)
	return r.Reader.Read(p[:min(len(p), 4<<10)])
}
