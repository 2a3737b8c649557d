package compat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/compat"
	"github.com/goodputkit/goodputkit/slo"
)

func each(records []*goodput.Record) iter.Seq2[*goodput.Record, error] {
	return func(yield func(*goodput.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func write(t testing.TB, records []*goodput.Record, h compat.VLLMHeader) []byte {
	var b bytes.Buffer
	require.NoError(t, compat.WriteVLLM(&b, each(records), h))
	return b.Bytes()
}

// older is a result without some of its fields, as other versions wrote it.
func older(t testing.TB, text []byte, without ...string) []byte {
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &m))
	for _, key := range without {
		delete(m, key)
	}
	out, err := json.Marshal(m)
	require.NoError(t, err)
	return out
}

func hasWarning(warnings []error, kind error) bool {
	return errors.Is(errors.Join(warnings...), kind)
}

// The figures of what WriteVLLM writes are those that vLLM's own calculate_metrics computes.
func TestWriteVLLMHasVLLMsFigures(t *testing.T) {
	text := write(t, readRecords(t), compat.VLLMHeader{Model: "m", SLO: goldenSLO})
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	golden, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g struct {
		Result map[string]float64 `json:"vllm_result"`
	}
	require.NoError(t, json.Unmarshal(golden, &g))
	require.Greater(t, len(g.Result), 30)
	for key, want := range g.Result {
		require.Contains(t, got, key)
		if want == 0 {
			require.Zero(t, got[key], key)
			continue
		}
		require.InEpsilon(t, want, got[key], 1e-7, key)
	}
	for _, key := range []string{"date", "backend", "model_id", "num_prompts", "generated_texts", "burstiness"} {
		require.Contains(t, got, key)
	}
	require.Len(t, got["itls"], int(got["num_prompts"].(float64)))
}

// What was written is read as it was, but for what vLLM's format has no place for: the tokens of a chunk, and the end of
// an answer after its last chunk.
func TestVLLMRoundTrip(t *testing.T) {
	records := readRecords(t)
	start := records[0].Start
	run, err := compat.ReadVLLM(bytes.NewReader(write(t, records, compat.VLLMHeader{Model: "m", Backend: "openai-chat", RequestRate: 20, MaxConcurrency: 8})), compat.WithRunStart(start))
	require.NoError(t, err)
	require.Equal(t, "m", run.Model)
	require.Equal(t, "openai-chat", run.Backend)
	require.Equal(t, 20.0, run.RequestRate)
	require.Equal(t, 8, run.MaxConcurrency)
	require.Equal(t, 156, run.Completed)
	require.False(t, hasWarning(run.Warnings, compat.ErrNoStarts))
	require.False(t, hasWarning(run.Warnings, compat.ErrCompleted))
	i := 0
	for got := range run.Records() {
		for records[i].Outcome == goodput.Dropped {
			i++
		}
		want := records[i]
		i++
		require.Equal(t, want.Outcome, got.Outcome)
		require.Equal(t, want.InputTokens, got.InputTokens)
		require.Equal(t, want.Sent, got.Sent)
		require.Len(t, got.Tokens, len(want.Tokens))
		for k := range want.Tokens {
			require.InDelta(t, want.Tokens[k].At, got.Tokens[k].At, float64(len(want.Tokens)), "rounded to ns, step by step")
		}
		require.WithinDuration(t, want.Start, got.Start, time.Nanosecond)
		if want.Outcome != goodput.Success {
			require.Equal(t, want.End, got.End)
		}
	}
	for i < len(records) && records[i].Outcome == goodput.Dropped {
		i++
	}
	require.Equal(t, len(records), i)
}

// The vLLM column over what vLLM saved is what vLLM printed.
func TestCompareSaysWhatTheFileSays(t *testing.T) {
	text := write(t, readRecords(t), compat.VLLMHeader{SLO: goldenSLO})
	for name, without := range map[string][]string{
		"now":                {},
		"without latencies":  {"latencies", "queue_times"},
		"without starts too": {"latencies", "queue_times", "start_times", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			run, err := compat.ReadVLLM(bytes.NewReader(older(t, text, without...)))
			require.NoError(t, err)
			require.Equal(t, len(without) > 0, hasWarning(run.Warnings, compat.ErrNoQueue))
			require.Equal(t, len(without) > 0, hasWarning(run.Warnings, compat.ErrNoLatencies))
			require.Equal(t, len(without) > 2, hasWarning(run.Warnings, compat.ErrNoStarts))
			c := run.Compare(goldenSLO)
			v := c.Scores[0]
			// A stream that ended in an error was written as a failure; read again it is one that vLLM takes for a success.
			require.Equal(t, uint64(run.Completed)+6, v.Completed)
			require.InEpsilon(t, run.Duration.Seconds(), v.DurationS, 1e-9)
			for _, s := range c.Scores {
				if s.Tool == compat.VLLM {
					continue
				}
				require.False(t, s.DurationS <= 0, s.Tool)
			}
			report := run.Report(goldenSLO)
			require.EqualValues(t, run.Len(), report.Offered)
			require.InEpsilon(t, float64(run.Completed)/run.Duration.Seconds(), report.SuccessRPS, 1e-4)
			require.Equal(t, c.Report.Good, report.Good)
		})
	}
}

// A result with two requests, as a version without start_times wrote it.
const small = `{"date": "20250310-101500", "backend": "vllm", "model_id": "m", "request_rate": "inf", "max_concurrency": null,
 "duration": 2.5, "completed": 2, "request_goodput:": 0.4, "mean_ttft_ms": NaN,
 "input_lens": [10, 20, 30], "output_lens": [3, 1, 0], "ttfts": [0.1, 0.25, 0.0], "itls": [[0.02, 0.03], [], []],
 "generated_texts": ["a \"quoted\" \ud83d\ude00 text", "b", ""], "errors": ["", "", "Too Many Requests"]}`

func TestReadVLLMSmall(t *testing.T) {
	run, err := compat.ReadVLLM(strings.NewReader(small))
	require.NoError(t, err)
	require.True(t, math.IsInf(run.RequestRate, 1))
	require.Equal(t, 2500*time.Millisecond, run.Duration)
	require.Equal(t, 0.4, run.Figures["request_goodput:"])
	require.Equal(t, time.Date(2025, 3, 10, 10, 15, 0, 0, time.UTC), run.Date)
	var all []goodput.Record
	for r := range run.Records() {
		all = append(all, *r)
	}
	require.Equal(t, []goodput.Record{
		{Start: run.Date, Tokens: []goodput.Token{{At: 100 * time.Millisecond}, {At: 120 * time.Millisecond}, {At: 150 * time.Millisecond}}, End: 150 * time.Millisecond, InputTokens: 10, OutputTokens: 3, Outcome: goodput.Success},
		{Start: run.Date, Tokens: []goodput.Token{{At: 250 * time.Millisecond}}, End: 250 * time.Millisecond, InputTokens: 20, OutputTokens: 1, Outcome: goodput.Success},
		{Start: run.Date, InputTokens: 30, Outcome: goodput.RateLimited, Detail: "Too Many Requests"},
	}, all)
	report := run.Report(slo.MustParse("ttft p50 < 200ms"))
	require.EqualValues(t, 3, report.Offered)
	require.EqualValues(t, 1, report.Good)
	require.Equal(t, 0.4, report.GoodputRPS, "1 good request in 2.5 s")
	for _, kind := range []error{compat.ErrNoStarts, compat.ErrNoQueue, compat.ErrNoLatencies, compat.ErrNoEnd} {
		require.ErrorIs(t, errors.Join(report.Warnings...), kind)
	}
}

func TestVLLMErrorsBecomeOutcomes(t *testing.T) {
	trace := func(last string) string {
		return "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\n" + last + "\n"
	}
	for _, test := range []struct {
		text   string
		tokens bool
		want   goodput.Outcome
	}{
		{"Too Many Requests", false, goodput.RateLimited},
		{"Service Unavailable", false, goodput.ServerError},
		{"Bad Request", false, goodput.ClientError},
		{"Gateway Timeout", false, goodput.Timeout},
		{"Never received a valid chunk to calculate TTFT.This response will be marked as failed!", false, goodput.Empty},
		{trace("asyncio.exceptions.TimeoutError"), true, goodput.Timeout},
		{trace("aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected"), false, goodput.ConnectionError},
		{trace("aiohttp.client_exceptions.ServerDisconnectedError: Server disconnected"), true, goodput.Truncated},
		{trace("aiohttp.client_exceptions.ClientPayloadError: Response payload is not completed: secret prompt"), true, goodput.Truncated},
		{trace("aiohttp.client_exceptions.ClientConnectorError: Cannot connect to host 10.0.0.1:8000"), false, goodput.ConnectionError},
		{trace("json.decoder.JSONDecodeError: Expecting value: secret prompt"), true, goodput.Malformed},
		{trace("KeyError: 'secret prompt'"), false, goodput.ServerError},
		{strings.Repeat("long secret prompt ", 100_000) + "\nTimeoutError", false, goodput.Timeout},
		{"truncated: it was cut", true, goodput.Truncated},
		{"", false, goodput.ServerError},
	} {
		ttft := 0.0
		if test.tokens {
			ttft = 0.1
		}
		text, err := json.Marshal(test.text)
		require.NoError(t, err)
		run, err := compat.ReadVLLM(strings.NewReader(fmt.Sprintf(`{"duration": 1, "completed": 0, "ttfts": [%v], "itls": [[]], "output_lens": [0], "errors": [%s]}`, ttft, text)))
		require.NoError(t, err)
		for r := range run.Records() {
			require.Equal(t, test.want, r.Outcome, test.text[:min(len(test.text), 100)])
			require.NotContains(t, r.Detail, "secret")
			require.NotContains(t, r.Detail, "10.0.0.1")
			require.Less(t, len(r.Detail), 64)
		}
	}
}

func TestReadVLLMRefuses(t *testing.T) {
	text := write(t, readRecords(t), compat.VLLMHeader{})
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"nothing":           {"", compat.ErrNotVLLM},
		"a list":            {"[1, 2]", compat.ErrNotVLLM},
		"another object":    {`{"a": 1}`, compat.ErrNotVLLM},
		"no requests":       {`{"duration": 1, "completed": 0, "ttfts": [], "itls": []}`, compat.ErrNotVLLM},
		"no detail":         {`{"duration": 1.5, "completed": 10, "request_throughput": 6.7}`, compat.ErrNoDetail},
		"cut":               {string(text[:len(text)/2]), compat.ErrTruncated},
		"cut in a number":   {`{"duration": 1.`, compat.ErrTruncated},
		"unequal":           {`{"ttfts": [0.1, 0.2], "itls": [[]]}`, compat.ErrColumns},
		"twice":             {`{"ttfts": [0.1], "itls": [[]], "ttfts": [0.1]}`, compat.ErrColumns},
		"not a list":        {`{"ttfts": 5, "itls": [[]]}`, compat.ErrColumns},
		"empty and not":     {`{"ttfts": [0.1], "itls": [[]], "output_lens": []}`, compat.ErrColumns},
		"text in a list":    {`{"ttfts": ["a"], "itls": [[]]}`, compat.ErrColumns},
		"lists too deep":    {`{"ttfts": [0.1], "itls": [[[0.1]]]}`, compat.ErrColumns},
		"itls of numbers":   {`{"ttfts": [0.1], "itls": [0.1]}`, compat.ErrColumns},
		"something after":   {small + "x", compat.ErrNotVLLM},
		"many":              {`{"ttfts": [0.1], "itls": [[` + strings.Repeat("0.1,", 2000) + `0.1]]}`, compat.ErrTooLarge},
		"a file of records": {`{"format":"goodput-records/1","start":"2026-03-01T12:00:00Z"}`, compat.ErrNotVLLM},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []compat.VLLMOption
			if test.want == compat.ErrTooLarge {
				opts = append(opts, compat.WithMaxValues(2000))
			}
			_, err := compat.ReadVLLM(strings.NewReader(test.text), opts...)
			require.ErrorIs(t, err, test.want)
		})
	}
	for _, text := range []string{`{"a" 1}`, `{"a": tru}`, `{"a": 1,}`, `{"a": 0x10}`, "{\"a\": \"\n\"}", `{"a": "\q"}`, `{a: 1}`, `{"a": [1 2]}`,
		strings.Repeat(`{"a":`, 100), `{"a": ` + strings.Repeat("1", 100) + `}`} {
		_, err := compat.ReadVLLM(strings.NewReader(text))
		var syntax *compat.SyntaxError
		require.ErrorAs(t, err, &syntax, text)
	}
	several := small + "\n" + small
	_, err := compat.ReadVLLM(strings.NewReader(several))
	require.ErrorContains(t, err, "several")
	n := 0
	for run, err := range compat.VLLMRuns(strings.NewReader(several)) {
		require.NoError(t, err)
		require.Equal(t, 3, run.Len())
		n++
	}
	require.Equal(t, 2, n)
}

// Values that are none are unknown, and said so.
func TestVLLMValuesThatAreNone(t *testing.T) {
	run, err := compat.ReadVLLM(strings.NewReader(`{"ttfts": [NaN, 0.2, -1], "itls": [[0.1], [-0.1, Infinity], []], "output_lens": [2, null, 2.5], "completed": 3}`))
	require.NoError(t, err)
	require.True(t, hasWarning(run.Warnings, compat.ErrValues))
	require.ErrorContains(t, errors.Join(run.Warnings...), "5 values, taken for unknown")
	require.True(t, hasWarning(run.Warnings, compat.ErrNoCounts))
}

// endless is a long text of one kind inside of a JSON value.
type endless struct {
	head string
	body string
	at   int
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.head != "" {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		k := copy(p[n:], e.body[e.at:])
		n += k
		e.at = (e.at + k) % len(e.body)
	}
	e.n -= n
	return n, nil
}

// Whatever a file says, memory stays within bounds: a long text is passed over, and lists end at the limit.
func TestVLLMMemoryIsBounded(t *testing.T) {
	for name, test := range map[string]struct{ head, body string }{
		"a text":       {`{"generated_texts": ["`, "lorem ipsum "},
		"an error":     {`{"errors": ["`, "lorem ipsum "},
		"a key":        {`{"`, "lorem ipsum "},
		"numbers":      {`{"ttfts": [0.1`, ", 0.1"},
		"empty lists":  {`{"itls": [[]`, ",[]"},
		"objects":      {`{"other": [{}`, `,{"a":[1,2,3]}`},
		"other fields": {`{"a": 1`, `,"b": 2`},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			run, err := compat.ReadVLLM(&endless{head: test.head, body: test.body, n: 8 << 20}, compat.WithMaxValues(50_000))
			require.Error(t, err)
			require.True(t, errors.Is(err, compat.ErrTruncated) || errors.Is(err, compat.ErrTooLarge), err)
			runtime.GC()
			runtime.ReadMemStats(&after)
			require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(4<<20))
			runtime.KeepAlive(run)
		})
	}
}

func FuzzReadVLLM(f *testing.F) {
	text := write(f, readRecords(f)[:12], compat.VLLMHeader{Model: "m", SLO: goldenSLO})
	f.Add(text)
	f.Add(older(f, text, "latencies", "queue_times", "start_times"))
	f.Add([]byte(small))
	f.Add([]byte(small + "\n" + small))
	f.Fuzz(func(t *testing.T, data []byte) {
		for run, err := range compat.VLLMRuns(bytes.NewReader(data), compat.WithMaxValues(10_000)) {
			if err != nil {
				require.Nil(t, run)
				var syntax *compat.SyntaxError
				known := errors.As(err, &syntax)
				for _, kind := range []error{compat.ErrNotVLLM, compat.ErrNoDetail, compat.ErrTruncated, compat.ErrColumns, compat.ErrTooLarge} {
					known = known || errors.Is(err, kind)
				}
				require.True(t, known, err)
				return
			}
			n := 0
			for r := range run.Records() {
				require.True(t, r.Outcome.Valid())
				require.GreaterOrEqual(t, r.End, time.Duration(0))
				n++
			}
			require.Equal(t, run.Len(), n)
			c := run.Compare(goldenSLO)
			require.LessOrEqual(t, c.Report.Good, c.Report.Offered)
			for _, s := range c.Scores {
				require.LessOrEqual(t, s.Good, s.Requests, s.Tool)
			}
			require.NotEmpty(t, c.String())
			var b bytes.Buffer
			records := func(yield func(*goodput.Record, error) bool) {
				for r := range run.Records() {
					if !yield(r, nil) {
						return
					}
				}
			}
			require.NoError(t, compat.WriteVLLM(&b, records, compat.VLLMHeader{}))
			again, err := compat.ReadVLLM(&b)
			require.NoError(t, err)
			require.Equal(t, run.Len(), again.Len())
		}
	})
}

func TestWriteVLLMPassesErrorsOn(t *testing.T) {
	broken := errors.New("broken")
	err := compat.WriteVLLM(io.Discard, func(yield func(*goodput.Record, error) bool) { yield(nil, broken) }, compat.VLLMHeader{})
	require.ErrorIs(t, err, broken)
	require.Error(t, compat.WriteVLLM(io.Discard, maps.All(map[*goodput.Record]error{}), compat.VLLMHeader{}))
}

// What is not known of a request's steps stays unknown: no ttft and no step of 0, which would be in time.
func TestVLLMTimesThatAreNoneAreAbsent(t *testing.T) {
	for name, text := range map[string]string{
		"ttft":       `{"duration":1,"completed":1,"ttfts":[null],"itls":[[0.1]],"output_lens":[2],"latencies":[0.3]}`,
		"below 0":    `{"duration":1,"completed":1,"ttfts":[-1],"itls":[[0.1]],"output_lens":[2],"latencies":[0.3]}`,
		"step":       `{"duration":1,"completed":1,"ttfts":[0.1],"itls":[[null]],"output_lens":[2],"latencies":[0.3]}`,
		"one of two": `{"duration":1,"completed":1,"ttfts":[0.1],"itls":[[0.1,NaN]],"output_lens":[3],"latencies":[0.3]}`,
	} {
		run, err := compat.ReadVLLM(strings.NewReader(text))
		require.NoError(t, err, name)
		r := run.Report(slo.MustParse("ttft p95 < 1s, tpot p95 < 1s"))
		require.Zero(t, r.Good, name)
		require.NotContains(t, r.Percentiles, "tpot", name)
		if strings.Contains(text, "0.1]],") {
			require.NotContains(t, r.Percentiles, "ttft", name)
		}
	}
}

// Times that no run has do not wrap around into ones that look well.
func TestVLLMTimesThatDoNotFit(t *testing.T) {
	run, err := compat.ReadVLLM(strings.NewReader(`{"date":"21491231-000000","duration":3e9,"completed":1,"ttfts":[3e9],"itls":[[3e9,3e9,3e9,3e9]],
		"output_lens":[5],"latencies":[3.1e9],"queue_times":[3.1e9],"start_times":[3.1e9]}`))
	require.NoError(t, err)
	for r := range run.Records() {
		last := time.Duration(0)
		for _, token := range append(r.Tokens, goodput.Token{At: r.End}) {
			require.GreaterOrEqual(t, token.At, last)
			last = token.At
		}
	}
	require.Contains(t, run.Compare(slo.MustParse("e2e p95 < 1s")).String(), "0%")
}

// Differences between instants that are centuries apart do not fit into one; no file says something else in their place.
func TestWriteVLLMRefusesStartsThatAreNone(t *testing.T) {
	for _, year := range []int{0, 1, 1969, 2150, 2262, 9999} {
		for _, years := range [][2]int{{2000, year}, {year, 2000}} {
			var records []*goodput.Record
			for _, y := range years {
				records = append(records, &goodput.Record{Start: time.Date(y, 7, 1, 0, 0, 0, 0, time.UTC), End: time.Second, Outcome: goodput.Success})
			}
			var b bytes.Buffer
			require.ErrorIs(t, compat.WriteVLLM(&b, each(records), compat.VLLMHeader{}), compat.ErrRefused, year)
			require.Zero(t, b.Len())
		}
	}
}
