package main

import (
	"bufio"
	"bytes"
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
	"github.com/goodputkit/goodputkit/slo"
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
type seen struct {
	name   string // that it gave to the server; empty: it could not
	tokens []time.Time
}

// client is a way to read streams.
type client struct {
	name string
	make func(c config) (reader, error)
}

// reader reads n streams that begin at a constant rate. Their names begin with id.
type reader func(ctx context.Context, id string, n int) ([]seen, error)

const bareLoop = "bare loop"

var clients = []client{{bareLoop, bare}, {"loadgen.Do", do}, {"loadgen.Run", run}}

// measure has the client named name read streams and writes the result.
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
	id := strconv.FormatInt(time.Now().UnixNano(), 36)
	runtime.GC()
	before := cpuTime()
	streams, err := read(ctx, id, n)
	cpu := cpuTime() - before
	if err != nil {
		return err
	}
	if len(streams) != n {
		return fmt.Errorf("%d streams and not %d", len(streams), n)
	}
	written, err := firstTokens(ctx, c)
	if err != nil {
		return err
	}
	r, err := sum(c, streams, written)
	if err != nil {
		return err
	}
	r.CPU = float64(cpu) / float64(time.Microsecond) / float64(r.Events)
	r.RSS = peakRSS()
	return json.NewEncoder(os.Stdout).Encode(r)
}

// sum compares what was seen with what the server wrote.
func sum(c config, streams []seen, written map[string]int64) (result, error) {
	var r result
	var late, steps []float64
	var saw, wrote []int64 // of streams without a name, Unix nanoseconds
	for _, s := range streams {
		if len(s.tokens) != c.Tokens {
			return r, fmt.Errorf("%d token events and not %d", len(s.tokens), c.Tokens)
		}
		r.Events += len(s.tokens)
		for j, t := range s.tokens[1:] {
			steps = append(steps, ms(t.Sub(s.tokens[j])))
		}
		first := s.tokens[0].UnixNano()
		if s.name == "" {
			saw = append(saw, first)
			continue
		}
		w, ok := written[s.name]
		if !ok {
			return r, errors.New("the server does not know one of the streams")
		}
		late = append(late, ms(time.Duration(first-w)))
	}
	if len(saw) > 0 { // in order: the mean is exact, the quantiles are close to it
		for _, w := range written {
			wrote = append(wrote, w)
		}
		slices.Sort(saw)
		slices.Sort(wrote)
		if len(wrote) < len(saw) {
			return r, errors.New("the server does not know all of the streams")
		}
		wrote = wrote[len(wrote)-len(saw):] // those before were other clients'
		for i := range saw {
			late = append(late, ms(time.Duration(saw[i]-wrote[i])))
		}
	}
	for _, l := range late {
		r.LateMean += l / float64(len(late))
	}
	r.LateP50, r.LateP99, r.StepP99 = quantile(late, 0.5), quantile(late, 0.99), quantile(steps, 0.99)
	return r, nil
}

// paced reads streams with f, each in a goroutine of its own.
func paced(c config, f func(ctx context.Context, name string) ([]time.Time, error)) reader {
	return func(ctx context.Context, id string, n int) ([]seen, error) {
		streams, errs := make([]seen, n), make([]error, n)
		var wg sync.WaitGroup
		start := time.Now()
		for i := range n {
			time.Sleep(time.Until(start.Add(time.Duration(i) * c.gap())))
			wg.Go(func() {
				streams[i].name = id + "-" + strconv.Itoa(i)
				streams[i].tokens, errs[i] = f(ctx, streams[i].name)
			})
		}
		wg.Wait()
		return streams, errors.Join(errs...)
	}
}

// bare is the loop that a client cannot do without: lines, and the time of each. A line that is not empty is an event;
// those that end the stream come after the tokens.
func bare(c config) (reader, error) {
	tr := &http.Transport{MaxIdleConnsPerHost: 1 << 20, DisableCompression: true}
	body := fmt.Sprintf(`{"model":"fixed","messages":[{"role":"user","content":"x"}],"stream":true,"max_tokens":%d}`, c.Tokens)
	return paced(c, func(ctx context.Context, name string) ([]time.Time, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Request-Id", name)
		resp, err := tr.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var tokens []time.Time
		br := bufio.NewReader(resp.Body)
		for {
			line, err := br.ReadSlice('\n')
			now := time.Now()
			if len(line) > 1 && len(tokens) < c.Tokens {
				tokens = append(tokens, now)
			}
			if err == io.EOF {
				return tokens, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}), nil
}

// do is loadgen/openai, one request at a time.
func do(c config) (reader, error) {
	t, err := openai.New(openai.Config{BaseURL: c.URL, Model: "fixed"})
	if err != nil {
		return nil, err
	}
	return paced(c, func(ctx context.Context, name string) ([]time.Time, error) {
		rec := loadgen.Do(ctx, t, &loadgen.Request{Prompt: "x", MaxTokens: c.Tokens, Body: map[string]any{"user": name}})
		if rec.Outcome != goodput.Success {
			return nil, fmt.Errorf("%v: %s", rec.Outcome, rec.Detail)
		}
		return instants(rec), nil
	}), nil
}

// run is loadgen/openai in a run, its pacing, its report and its file of records included.
func run(c config) (reader, error) {
	t, err := openai.New(openai.Config{BaseURL: c.URL, Model: "fixed"})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, id string, n int) ([]seen, error) {
		var file bytes.Buffer
		res, err := loadgen.Run(ctx, t, loadgen.Plan{
			SLO:      slo.MustParse("ttft p95 < 10s, tpot p95 < 1s, error_rate < 1%"),
			Arrivals: loadgen.Constant{Rate: float64(time.Second) / float64(c.gap())},
			Workload: func(yield func(*loadgen.Request) bool) {
				for i := 0; yield(&loadgen.Request{Prompt: "x", MaxTokens: c.Tokens, Body: map[string]any{"user": id + "-" + strconv.Itoa(i)}}); i++ {
				}
			},
			Requests: n,
			Records:  &file,
		})
		if err != nil {
			return nil, err
		}
		if got := res.Report.Good; got != uint64(n) {
			return nil, fmt.Errorf("%d good of %d", got, n)
		}
		records, err := goodput.ReadRecords(&file)
		if err != nil {
			return nil, err
		}
		var streams []seen
		for rec, err := range records.All() {
			if err != nil {
				return nil, err
			}
			streams = append(streams, seen{tokens: instants(rec)})
		}
		return streams, nil
	}, nil
}

func instants(rec *goodput.Record) []time.Time {
	t := make([]time.Time, len(rec.Tokens))
	for i, tok := range rec.Tokens {
		t[i] = rec.Start.Add(tok.At)
	}
	return t
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
