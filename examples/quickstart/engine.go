package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

// engine is OPT-13B on four A100 as DistServe measured it, three times as fast, as a current GPU might be: fast enough that
// the traffic's lengths meet the objective as long as nobody else is served.
func engine() llmsim.Params { return llmsim.OPT13BTP4().Faster(3) }

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
