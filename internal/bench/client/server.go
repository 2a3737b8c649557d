package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

const (
	streamPath = "/v1/chat/completions"
	wholePath  = "/whole" + streamPath
)

// requestBody is a request for tokens, in the words that loadgen/openai has for it.
func requestBody(stream bool) string {
	return fmt.Sprintf(`{"model":"fixed","messages":[{"role":"user","content":"x"}],"max_tokens":%d,"stream":%t}`, tokens, stream)
}

const wholeAnswer = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"fixed","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"goodput is what users get in time"},"logprobs":null,"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":1,"completion_tokens":7,"total_tokens":8}}`

// handler is streams of fixed timing, and the one JSON body, which costs the server as little as can be.
func handler(first, step time.Duration) http.Handler {
	s := llmsim.NewFixedServer(first, step)
	s.NoRole, s.Plain = true, true
	mux := http.NewServeMux()
	mux.Handle("/", s)
	mux.HandleFunc("POST "+wholePath, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, wholeAnswer)
	})
	return mux
}

// serve runs the server until its standard input ends, which it does with the process that started it.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, handler(firstWait, stepWait))
	fmt.Println("http://" + l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
