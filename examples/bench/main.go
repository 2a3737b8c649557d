// Command bench measures the goodput of one OpenAI-compatible endpoint at one load.
//
//	export LLM_URL=http://127.0.0.1:8000/v1/chat/completions LLM_MODEL=your-model LLM_API_KEY=local-key
//	go build -o bench ./examples/bench
//	./bench --requests 200 --concurrency 16 --slo 'ttft p95 < 800ms, e2e p95 < 8s'
//
// For a capacity, run it at a ladder of loads; the SLO stays what it was fixed to before the first:
//
//	for c in 1 2 4 8 16 32 64; do ./bench --requests 500 --concurrency $c --slo-seconds 5; done
//
// Its exit status says what came of it (go run makes 1 of each but 0):
//
//	0  the SLO is met
//	1  the endpoint could not be reached, or it, the key or the protocol is a wrong one: no request got an answer to be judged
//	2  options that cannot be meant; nothing was sent
//	3  the SLO is missed
//	4  the verdict is inconclusive, there is no data, or the client was too busy for its figures to be believed
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/goodputkit/goodputkit/loadgen"
)

// The exit statuses.
const (
	exitMet          = 0
	exitUnmeasured   = 1
	exitUsage        = 2
	exitMissed       = 3
	exitInconclusive = 4
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the report
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program without the process around it, so that tests can call it.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args, getenv, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitMet
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	j, err := prepare(o, stdout)
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	report, err := j.bench(ctx, stderr)
	text := stdout
	if j.records.isStdout() || j.json.isStdout() { // which is then JSON alone
		text = stderr
	}
	if report != nil { // also beside an error: what was measured is worth more than a file that it could not be written to
		_, printed := fmt.Fprint(text, report)
		err = cmp.Or(err, j.json.writeReport(report), printed)
	}
	err = cmp.Or(err, j.close())
	var plan *loadgen.PlanError
	switch {
	case errors.As(err, &plan):
		fmt.Fprintln(stderr, "bench:", o.blame(err))
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "bench:", err)
		return exitUnmeasured
	}
	if why := unmeasured(report); why != "" {
		fmt.Fprintln(stderr, "bench:", why)
	}
	return status(report)
}
