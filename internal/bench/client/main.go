// Command client measures what the load generator's client costs and how exact it is, beside others, on Linux. From the
// directory above:
//
//	GOWORK=off go run ./client > table.md
//
// It takes four minutes; with -rounds 1 it takes one. Client and server are processes of their own that share two cores;
// where the machine has more, the program keeps to the first two. Clients take turns, each time in a fresh process; printed
// are medians over the rounds, as Markdown, and a ratio is the median of each round's own. CPU time is that of the client's
// whole process, user and system (getrusage).
//
//   - Streams arrive at a constant rate that keeps so many open. The server's timing is fixed, but its timers are late as
//     anyone's: it notes when it really wrote each first token, and how much later the client saw it is the client's error.
//     The error against the nominal instant, counted from when the request was due, has the server's lateness and the
//     sender's in it.
//   - Requests for one JSON body, which is always the same: in a closed loop as fast as they go, and at a constant rate. There
//     the bare loop is once more as one that sends each request when it is due, by a thread that sleeps in the kernel.
//   - Requests in a synctest bubble, to a target that sleeps for a millisecond.
//
// The bare loop is what a client cannot do without: net/http, a goroutine for each request, lines, the time of each. The
// Python client needs aiohttp (Debian: python3-aiohttp), else it is left out.
//
// The exit status is 1 where a figure is above what this project has set itself.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"time"
)

// What a stream is like.
const (
	tokens    = 100
	firstWait = 50 * time.Millisecond // from the request to the first token
	stepWait  = 10 * time.Millisecond // from one token to the next
	lasting   = firstWait + (tokens-1)*stepWait
)

// kinds of load.
const (
	streaming  = "streams"
	closedLoop = "a closed loop"
	fixedRate  = "a constant rate"
	virtual    = "a bubble"
)

// load is what a client is to do.
type load struct {
	Kind     string
	Size     int // streams open at any time, requests at once, or requests/s
	Requests int
	URL      string
	ID       string // streams' names begin with it
}

// rate is requests/s; 0 in a closed loop.
func (l load) rate() float64 {
	switch l.Kind {
	case streaming:
		return float64(l.Size) / lasting.Seconds()
	case closedLoop:
		return 0
	}
	return float64(l.Size)
}

// due is when request i is, from the first one's instant.
func (l load) due(i int) time.Duration { return time.Duration(float64(i) / l.rate() * 1e9) }

func main() {
	rounds := flag.Int("rounds", 5, "times that each client is measured")
	length := flag.Duration("length", 3*time.Second, "how long streams keep coming, each time")
	role := flag.String("role", "", "internal: what this process is for: server, or a client's name")
	task := flag.String("load", "{}", "internal: the client's load")
	flag.Parse()
	if *rounds < 1 || *length < time.Second || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	var err error
	switch *role {
	case "":
		runtime.LockOSThread() // which starts the other processes
		if err = twoCores(); err != nil {
			break
		}
		var r results
		if r, err = measureAll(ctx, *rounds, *length); err != nil {
			break
		}
		if missed := r.write(os.Stdout); missed > 0 {
			err = fmt.Errorf("%d figures are above what they are to be at most", missed)
		}
	case "server":
		err = serve()
	default:
		var l load
		if err = json.Unmarshal([]byte(*task), &l); err == nil {
			err = measure(ctx, l, *role)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}
