package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
)

// result is what one client did in one process.
type result struct {
	Events   int     // token events
	CPU      float64 // µs per event
	LateMean float64 // how long after the server wrote it the client saw a first token, ms
	LateP50  float64
	LateP99  float64
	StepP99  float64 // between two token events of a stream, ms
	RSS      float64 // the most memory that was resident, MB
}

// seen is what a client saw of one stream.
type seen struct{ tokens []time.Time }

// client reads one stream, whose name it gives to the server.
type client struct {
	name string
	make func(c config) (func(ctx context.Context, name string) (seen, error), error)
}

const bareLoop = "bare loop"

var clients = []client{{bareLoop, bare}, {"openai", target}}

// measure has the client named name read streams at a constant rate and writes the result.
func measure(c config, name string) error {
	i := slices.IndexFunc(clients, func(cl client) bool { return cl.name == name })
	if i < 0 {
		return fmt.Errorf("there is no client %q", name)
	}
	read, err := clients[i].make(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Length+time.Minute)
	defer cancel()
	n := int(c.Length / c.gap())
	streams, errs := make([]seen, n), make([]error, n)
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	var wg sync.WaitGroup
	runtime.GC()
	before := cpuTime()
	start := time.Now()
	for i := range n {
		time.Sleep(time.Until(start.Add(time.Duration(i) * c.gap())))
		wg.Go(func() { streams[i], errs[i] = read(ctx, id+"-"+strconv.Itoa(i)) })
	}
	wg.Wait()
	cpu := cpuTime() - before
	if err := errors.Join(errs...); err != nil {
		return err
	}
	written, err := firstTokens(ctx, c)
	if err != nil {
		return err
	}
	var r result
	var late, steps []float64
	for i, s := range streams {
		if len(s.tokens) != c.Tokens {
			return fmt.Errorf("%d token events and not %d", len(s.tokens), c.Tokens)
		}
		r.Events += len(s.tokens)
		w, ok := written[id+"-"+strconv.Itoa(i)]
		if !ok {
			return errors.New("the server does not know one of the streams")
		}
		late = append(late, ms(s.tokens[0].Sub(time.Unix(0, w))))
		r.LateMean += late[i] / float64(n)
		for j, t := range s.tokens[1:] {
			steps = append(steps, ms(t.Sub(s.tokens[j])))
		}
	}
	r.CPU = float64(cpu) / float64(time.Microsecond) / float64(r.Events)
	r.LateP50, r.LateP99, r.StepP99 = quantile(late, 0.5), quantile(late, 0.99), quantile(steps, 0.99)
	r.RSS = peakRSS()
	return json.NewEncoder(os.Stdout).Encode(r)
}

// bare is the loop that a client cannot do without.
func bare(c config) (func(context.Context, string) (seen, error), error) {
	tr := &http.Transport{MaxIdleConnsPerHost: 1 << 20, DisableCompression: true}
	body := fmt.Sprintf(`{"model":"fixed","messages":[{"role":"user","content":"x"}],"stream":true,"max_tokens":%d}`, c.Tokens)
	return func(ctx context.Context, name string) (seen, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return seen{}, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-Id", name)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return seen{}, err
		}
		defer resp.Body.Close()
		var s seen
		br := bufio.NewReader(resp.Body)
		for {
			line, err := br.ReadSlice('\n')
			now := time.Now()
			// The one thing that it looks at, since it must not keep what is no token: the first field of the choice.
			if len(line) > 1 && len(s.tokens) < c.Tokens {
				s.tokens = append(s.tokens, now)
			}
			if err != nil {
				if err == io.EOF {
					err = nil
				}
				return s, err
			}
		}
	}, nil
}

// target is loadgen/openai, one request at a time as loadgen.Do does them.
func target(c config) (func(context.Context, string) (seen, error), error) {
	t, err := openai.New(openai.Config{BaseURL: c.URL, Model: "fixed"})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, name string) (seen, error) {
		rec := loadgen.Do(ctx, t, &loadgen.Request{Prompt: "x", MaxTokens: c.Tokens, Body: map[string]any{"user": name}})
		if rec.Outcome != goodput.Success {
			return seen{}, fmt.Errorf("%v: %s", rec.Outcome, rec.Detail)
		}
		s := seen{make([]time.Time, len(rec.Tokens))}
		for i, tok := range rec.Tokens {
			s.tokens[i] = rec.Start.Add(tok.At)
		}
		return s, nil
	}, nil
}

// firstTokens is when the server wrote the first token of each stream, Unix nanoseconds by name.
func firstTokens(ctx context.Context, c config) (map[string]int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+"/first-tokens", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	m := map[string]int64{}
	return m, json.NewDecoder(resp.Body).Decode(&m)
}

// cpuTime is what this process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func peakRSS() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return float64(u.Maxrss) / 1024
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(x []float64, q float64) float64 {
	slices.SortFunc(x, cmp.Compare)
	return x[int(q*float64(len(x)-1))]
}
