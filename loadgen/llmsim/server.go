package llmsim

import (
	"errors"
	"net/http"
)

var errShut = errors.New("llmsim: the server was closed")

// Server is a simulated Model behind the chat completions of OpenAI's API, in real time: an http.Handler that serves POST
// /v1/chat/completions, streaming and not, GET /v1/models, and GET /health. Called in a testing/synctest bubble, without a
// socket, it follows the bubble's clock.
//
// The prompt's tokens are the words of the messages, at least one. The output is as long as max_completion_tokens or
// max_tokens says, which is then the reason why it ends ("length"), or DefaultOutput tokens long ("stop"); its text means
// nothing. Each token is a chunk of its own, after a chunk with the role that comes at once, as vLLM has it. The usage is
// in an answer that is not streamed, and in a stream whose request has stream_options.include_usage.
//
// A client that goes away frees its place. A request that can never fit into the KV cache is answered with 400, one that
// finds the queue full with 503 and Retry-After, both in the shape of OpenAI's errors; FaultError says what becomes of
// requests where the model's own code fails. A body is at most 16 MiB long.
type Server struct {
	live *live
	info Info
	mux  *http.ServeMux
}

// NewServer is a server with a machine of its own. The error is that of the model's NewMachine. Close frees it; the
// listener, if any, is the caller's.
func NewServer(m Model) (*Server, error) {
	l, err := newLive(m)
	if err != nil {
		return nil, err
	}
	s := &Server{live: l, info: m.Info()}
	s.mux = newMux(s.info.Served, s.chat, l.down)
	return s, nil
}

// ServeHTTP serves the endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Close breaks off the streams that are being sent, as http.ErrAbortHandler does, and answers all else with 503.
func (s *Server) Close() error {
	s.live.close()
	return nil
}

// Stats is the state of the machine; after a FaultError it is all 0.
func (s *Server) Stats() Stats { return s.live.stats() }

func (s *Server) chat(w http.ResponseWriter, req *http.Request) {
	r, ok := readChat(w, req)
	if !ok {
		return
	}
	output, reason := r.limit(), "length"
	if output == 0 {
		output, reason = s.info.DefaultOutput, "stop"
	}
	c := &call{step: r.Stream}
	j := r.job(s.info.BlockTokens, output)
	prompt := j.Prompt
	if err := s.live.submit(c, j); err != nil {
		refuse(w, err)
		return
	}
	done := req.Context().Done()
	if r.Model == "" {
		r.Model = s.info.Served
	}
	answer := newChat(w, c.id, r.Model)
	if r.Stream {
		answer.start(true)
	}
	n := 0 // tokens written
	for {
		select {
		case <-c.wake:
		case <-done:
			s.live.cancel(c)
			return
		}
		at, ended, err := s.live.tokens(c, n)
		switch {
		case err == nil:
		case !r.Stream:
			refuse(w, err)
			return
		case errors.Is(err, errShut):
			// There is no other way to tell the client that the answer is incomplete.
			panic(http.ErrAbortHandler)
		}
		if !r.Stream { // woken at the end alone
			answer.whole(reason, prompt, output)
			return
		}
		for range at {
			answer.token(n, 0)
			n++
		}
		if err != nil {
			answer.fail(statusOf(err))
			answer.send()
			return
		}
		if ended {
			answer.finish(reason, r.usage(), prompt, output)
		}
		answer.send()
		switch {
		case ended:
			return
		case answer.err != nil:
			s.live.cancel(c)
			return
		}
	}
}

// refuse answers a request that was not taken.
func refuse(w http.ResponseWriter, err error) {
	if errors.Is(err, errShut) {
		writeError(w, http.StatusServiceUnavailable, "the server is closing")
		return
	}
	status := statusOf(err)
	if status.Rejected {
		w.Header().Set("Retry-After", "1")
	}
	writeError(w, status.Code, status.Detail)
}
