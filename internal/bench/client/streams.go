package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/openai"
	"github.com/goodputkit/goodputkit/slo"
)

// seen is what a client saw of one stream, in Unix nanoseconds.
type seen struct {
	Name   string // that it gave to the server
	Due    int64
	Tokens []int64
}

// wait says what a client saw; it is called once all was measured.
type wait func() ([]seen, error)

// byTimer sleeps as a loop written by hand does.
func byTimer(at time.Time) { time.Sleep(time.Until(at)) }

// paced does requests with f, each in a goroutine of its own, and sleeps with until.
func paced(l load, until func(time.Time), f func(i int) error) (start time.Time, err error) {
	errs := make([]error, l.Requests)
	var wg sync.WaitGroup
	start = time.Now()
	for i := range l.Requests {
		until(start.Add(l.due(i)))
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return start, errors.Join(errs...)
}

func (l load) name(i int) string { return l.ID + "-" + strconv.Itoa(i) }

// bareStreams takes the time of lines. One that is not empty is an event; those that end the stream come after the tokens.
func bareStreams(ctx context.Context, l load) (wait, error) {
	post := poster(l.URL+streamPath, requestBody(true))
	at := make([][]time.Time, l.Requests)
	start, err := paced(l, byTimer, func(i int) error {
		resp, err := post(ctx, l.name(i))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		br := bufio.NewReader(resp.Body)
		for {
			line, err := br.ReadSlice('\n')
			now := time.Now()
			if len(line) > 1 && len(at[i]) < tokens {
				at[i] = append(at[i], now)
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
	return func() ([]seen, error) {
		streams := make([]seen, len(at))
		for i := range at {
			streams[i] = seen{Name: l.name(i), Due: start.Add(l.due(i)).UnixNano()}
			for _, t := range at[i] {
				streams[i].Tokens = append(streams[i].Tokens, t.UnixNano())
			}
		}
		return streams, nil
	}, err
}

// poster sends requests with nothing around net/http.
func poster(url, body string) func(ctx context.Context, name string) (*http.Response, error) {
	tr := &http.Transport{MaxIdleConnsPerHost: 1 << 20, DisableCompression: true}
	return func(ctx context.Context, name string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		if name != "" {
			req.Header.Set("X-Request-Id", name)
		}
		resp, err := tr.RoundTrip(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			resp.Body.Close()
			err = errors.New(resp.Status)
		}
		return resp, err
	}
}

// runStreams is a run with everything that belongs to one: pacing, report, health, a file of records.
func runStreams(ctx context.Context, l load) (wait, error) {
	t, err := openai.New(openai.Config{BaseURL: l.URL, Endpoint: openai.ChatCompletions, Model: "fixed"})
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp("", "records")
	if err != nil {
		return nil, err
	}
	os.Remove(file.Name()) // it lives as long as it is open
	res, err := loadgen.Run(ctx, t, loadgen.Plan{
		SLO:      slo.MustParse("ttft p95 < 10s, tpot p95 < 1s, error_rate < 1%"),
		Arrivals: loadgen.Constant{Rate: l.rate()},
		Workload: func(yield func(*loadgen.Request) bool) {
			for i := 0; yield(&loadgen.Request{Prompt: "x", MaxTokens: tokens, Body: map[string]any{"user": l.name(i)}}); i++ {
			}
		},
		Requests: l.Requests,
		Records:  file,
	})
	if err != nil {
		return nil, err
	}
	if got := res.Report.Good; got != uint64(l.Requests) {
		return nil, fmt.Errorf("%d good of %d", got, l.Requests)
	}
	return func() ([]seen, error) {
		defer file.Close()
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		records, err := goodput.ReadRecords(file)
		if err != nil {
			return nil, err
		}
		var streams []seen
		for rec, err := range records.All() {
			if err != nil {
				return nil, err
			}
			s := seen{Due: rec.Start.UnixNano()}
			for _, t := range rec.Tokens {
				s.Tokens = append(s.Tokens, rec.Start.Add(t.At).UnixNano())
			}
			streams = append(streams, s)
		}
		// Requests at a constant rate start in the order of the workload.
		slices.SortFunc(streams, func(a, b seen) int { return int(a.Due - b.Due) })
		for i := range streams {
			streams[i].Name = l.name(i)
		}
		return streams, nil
	}, nil
}
