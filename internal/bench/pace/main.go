// Command pace measures how late load generators send requests that are due at a constant rate, on Linux. From the
// directory above:
//
//	go run ./pace
//
// The generators take turns, each time in a fresh process, with a target that does nothing and with a server on loopback in
// a process of its own. Printed, as a Markdown table, are the medians over the repeats of
//
//   - the lag: from the instant at which a request was due to the one at which its own goroutine began to send it. That of
//     a thread alone, which starts nothing, is how late the kernel woke it;
//   - delivered: the time over which the requests were due, to the time that they took to leave;
//   - the CPU time (user and system, getrusage) of the generator's whole process per request.
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
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
	"golang.org/x/exp/stats"
)

type config struct {
	rate   float64 // requests/s
	length time.Duration
	url    string // empty: the target does nothing
}

func (c config) requests() int { return int(c.rate * c.length.Seconds()) }

// due is when request i is, from the first one's instant.
func (c config) due(i int) time.Duration { return time.Duration(float64(i) / c.rate * 1e9) }

// result is what a generator did in one process.
type result struct{ P50, P90, P99, Delivered, CPU float64 } // µs, µs, µs, share, µs/request

func main() {
	var c config
	repeats := flag.Int("repeats", 5, "times that each generator is measured")
	flag.DurationVar(&c.length, "length", time.Second, "how long requests keep coming, each time")
	role := flag.String("role", "", "internal: what this process is for: server, or a generator's name")
	flag.Float64Var(&c.rate, "rate", 0, "internal: requests/s")
	flag.StringVar(&c.url, "url", "", "internal: the server")
	flag.Parse()

	var err error
	switch *role {
	case "":
		err = compare(c, *repeats)
	case "server":
		err = serve()
	default:
		err = measure(c, *role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pace:", err)
		os.Exit(1)
	}
}

// serve answers until standard input ends, which it does with the process that started this one.
func serve() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
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
	cmd := exec.CommandContext(ctx, self, "-role", role, "-rate", fmt.Sprint(c.rate), "-length", c.length.String(), "-url", c.url)
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// compare measures the generators in turns and prints the table.
func compare(c config, repeats int) error {
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

	fmt.Printf("%v each, %d times, %d cores\n\n", c.length, repeats, runtime.NumCPU())
	fmt.Println("| target | requests/s | generator | lag P50, µs | P90 | P99 | delivered | CPU, µs/request |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	for _, url := range []string{"", strings.TrimSpace(line)} {
		for _, rate := range []float64{2000, 5000} {
			c.url, c.rate = url, rate
			results := make([][]result, len(generators))
			for range repeats {
				for i, g := range generators {
					if g.alone && url != "" {
						continue
					}
					r, err := ask(ctx, c, g.name)
					if err != nil {
						return fmt.Errorf("%s: %w", g.name, err)
					}
					results[i] = append(results[i], r)
				}
			}
			for i, g := range generators {
				if len(results[i]) > 0 {
					printRow(c, g.name, results[i])
				}
			}
		}
	}
	return nil
}

// ask has a generator measured in a process of its own.
func ask(ctx context.Context, c config, name string) (r result, err error) {
	cmd, err := process(ctx, c, name)
	if err != nil {
		return r, err
	}
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}

func printRow(c config, name string, rs []result) {
	median := func(f func(result) float64) float64 {
		x := make([]float64, len(rs))
		for i, r := range rs {
			x[i] = f(r)
		}
		return stats.Median(x)
	}
	target := "none"
	if c.url != "" {
		target = "HTTP"
	}
	fmt.Printf("| %s | %v | %s | %.0f | %.0f | %.0f | %.2f %% | %.1f |\n", target, c.rate, name,
		median(func(r result) float64 { return r.P50 }),
		median(func(r result) float64 { return r.P90 }),
		median(func(r result) float64 { return r.P99 }),
		median(func(r result) float64 { return 100 * r.Delivered }),
		median(func(r result) float64 { return r.CPU }))
}

// measure has the generator named name send its requests and writes the result.
func measure(c config, name string) error {
	i := slices.IndexFunc(generators, func(g generator) bool { return g.name == name })
	if i < 0 {
		return fmt.Errorf("there is no generator %q", name)
	}
	runtime.GC()
	before := figures.CPUTime()
	lags, err := generators[i].send(c)
	cpu := figures.CPUTime() - before
	if err != nil {
		return err
	}
	n := len(lags)
	if n != c.requests() {
		return fmt.Errorf("%d requests and not %d", n, c.requests())
	}
	late, last := make([]float64, n), time.Duration(0)
	for i, lag := range lags {
		late[i] = float64(lag) / float64(time.Microsecond)
		last = max(last, c.due(i)+lag)
	}
	q := stats.Quantiles(late, 0.5, 0.9, 0.99)
	return json.NewEncoder(os.Stdout).Encode(result{q[0], q[1], q[2],
		float64(c.due(n-1)) / float64(last), float64(cpu) / float64(time.Microsecond) / float64(n)})
}
