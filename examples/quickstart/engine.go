package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// engine is a model of about 8 billion parameters on a current GPU: fast enough that all lengths of the traffic meet
// the objective as long as nobody else is served, the longest answers (1,000 tokens) within 5 s.
func engine() llmsim.Params {
	p := llmsim.OPT13B() // what is not set here
	p.Model = "simulated"
	p.Base = 3 * time.Millisecond
	p.PerPromptToken = 4 * time.Microsecond
	p.PerPromptPair = 1
	p.PerSequence = 20 * time.Microsecond
	p.PerContextToken = 30
	p.TokenBudget = 1024
	p.MaxBatch = 32
	p.KVTokens = 200_000
	return p
}

func describe(p llmsim.Params) string {
	return fmt.Sprintf("%v a step, %v a prompt token, %v a sequence, %v a token of context; at most %d tokens a step, %d sequences at once, %d tokens in the KV cache",
		p.Base, p.PerPromptToken, p.PerSequence, p.PerContextToken, p.TokenBudget, p.MaxBatch, p.KVTokens)
}

// serve starts an engine on a free port of the loopback interface.
func serve() (url string, stop func(), err error) {
	engine, err := llmsim.NewServer(engine())
	if err != nil {
		return "", nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: engine, ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l)
	return "http://" + l.Addr().String() + "/v1", func() { srv.Close(); engine.Close() }, nil
}
