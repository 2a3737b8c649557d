// Command client measures what the client costs and how exact it is, against a server of fixed timing in a process of its
// own. From internal/bench:
//
//	GOWORK=off go run ./client
//
// The clients do the same work, in turns and each time in a fresh process: the bare loop over net/http, which reads lines
// and takes the time and does nothing else; the target of loadgen/openai, one request at a time; and the same in a run,
// with everything that a run does. Printed are the medians over the repeats of
// the client's own CPU time (user and system, getrusage) per token event, and how much later than the server wrote it the
// client saw each first token.
//
// The exit status is 1 where the client takes more than 1.3 times the CPU of the bare loop, or its first tokens are more
// than 2 ms late at the median.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goodputkit/goodputkit/loadgen/llmsim"
)

const (
	maxRatio = 1.3
	maxLate  = 2 * time.Millisecond
)

type config struct {
	Streams int           // open at any time
	Tokens  int           // of a request
	First   time.Duration // from the request to the first token
	Step    time.Duration // from one token to the next
	Length  time.Duration // how long requests keep coming
	Stamped bool          // each chunk has the time in it at which it was written, so that none is like another
	URL     string
}

// requestTime is how long a request takes on an exact server.
func (c config) requestTime() time.Duration { return c.First + time.Duration(c.Tokens-1)*c.Step }

// gap is the time between two requests that keeps Streams of them open.
func (c config) gap() time.Duration { return c.requestTime() / time.Duration(c.Streams) }

func main() {
	var c config
	flag.IntVar(&c.Streams, "streams", 200, "streams that are open at any time")
	flag.IntVar(&c.Tokens, "tokens", 100, "tokens of a stream")
	flag.DurationVar(&c.First, "first", 50*time.Millisecond, "from the request to the first token")
	flag.DurationVar(&c.Step, "step", 20*time.Millisecond, "from one token to the next")
	flag.DurationVar(&c.Length, "length", 6*time.Second, "how long requests keep coming, each time")
	flag.BoolVar(&c.Stamped, "stamped", false, "the server puts the time into each chunk, so that none is like another")
	repeats := flag.Int("repeats", 7, "times that each client is measured")
	only := flag.String("clients", "", "the clients to measure, by comma; the bare loop always is (default all)")
	role := flag.String("role", "", "internal: what this process is for: server, or a client's name")
	flag.StringVar(&c.URL, "url", "", "internal: the server")
	flag.Parse()

	var err error
	switch *role {
	case "":
		err = compare(c, *repeats, *only)
	case "server":
		err = serve(c)
	default:
		err = measure(c, *role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// serve runs the server until its standard input ends, which it does with the process that started it.
func serve(c config) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := llmsim.NewFixedServer(c.First, c.Step)
	s.NoRole, s.Plain = true, !c.Stamped
	go http.Serve(l, s)
	fmt.Println("http://" + l.Addr().String())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is a process of this program in another role.
func process(ctx context.Context, c config, role string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", role, "-url", c.URL,
		"-streams", fmt.Sprint(c.Streams), "-tokens", fmt.Sprint(c.Tokens),
		"-first", c.First.String(), "-step", c.Step.String(), "-length", c.Length.String(), fmt.Sprintf("-stamped=%t", c.Stamped))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// compare measures the clients in turns and prints the table.
func compare(c config, repeats int, only string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	server, err := process(ctx, c, "server")
	if err != nil {
		return err
	}
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Wait()
	defer in.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("the server said nothing: %w", err)
	}
	c.URL = strings.TrimSpace(line)

	names := []string{bareLoop}
	for _, cl := range clients {
		if cl.name != bareLoop && (only == "" || slices.Contains(strings.Split(only, ","), cl.name)) {
			names = append(names, cl.name)
		}
	}
	fmt.Printf("%d streams, a token every %v, the first after %v, %d tokens each; %v, %d times\n\n",
		c.Streams, c.Step, c.First, c.Tokens, c.Length, repeats)
	results := map[string][]result{}
	for range repeats {
		for _, name := range names {
			cmd, err := process(ctx, c, name)
			if err != nil {
				return err
			}
			out, err := cmd.Output()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			var r result
			if err := json.Unmarshal(out, &r); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			results[name] = append(results[name], r)
		}
	}
	return print(names, results)
}

func print(names []string, results map[string][]result) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "client\tevents\tCPU µs/event\tleast\tmost\t/ bare loop\tfirst token late: mean ms\tP50\tP99\tstep P99 ms\tRSS MB\t")
	var failed []string
	base := median(results[bareLoop], func(r result) float64 { return r.CPU })
	for _, name := range names {
		rs := results[name]
		cpu := median(rs, func(r result) float64 { return r.CPU })
		late := median(rs, func(r result) float64 { return r.LateP50 })
		least, most := rs[0].CPU, rs[0].CPU
		for _, r := range rs {
			least, most = min(least, r.CPU), max(most, r.CPU)
		}
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%.0f\t\n", name, rs[0].Events, cpu, least, most, cpu/base,
			median(rs, func(r result) float64 { return r.LateMean }), late,
			median(rs, func(r result) float64 { return r.LateP99 }),
			median(rs, func(r result) float64 { return r.StepP99 }),
			median(rs, func(r result) float64 { return r.RSS }))
		if cpu > maxRatio*base {
			failed = append(failed, fmt.Sprintf("%s takes %.2f times the CPU of the bare loop, over %.2f", name, cpu/base, maxRatio))
		}
		if late > maxLate.Seconds()*1e3 {
			failed = append(failed, fmt.Sprintf("%s sees first tokens %.2f ms late at P50, over %v", name, late, maxLate))
		}
	}
	w.Flush()
	if len(failed) > 0 {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

func median(rs []result, f func(result) float64) float64 {
	x := make([]float64, len(rs))
	for i, r := range rs {
		x[i] = f(r)
	}
	slices.Sort(x)
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
