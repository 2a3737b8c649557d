package workload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/stats"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/slo"
)

func readTrace(t *testing.T, text string, opts ...Option) *Trace {
	t.Helper()
	tr, err := ReadTrace("t", strings.NewReader(text), opts...)
	require.NoError(t, err)
	return tr
}

func TestAzureTrace(t *testing.T) {
	tr, err := OpenTrace("testdata/azure.csv", WithClass("chat"), WithBody(map[string]any{"n": 1}))
	require.NoError(t, err)
	want := []Entry{
		{At: 0, InputTokens: 374, OutputTokens: 44},
		{At: 0, InputTokens: 12, OutputTokens: 1},
		{At: 1750*time.Millisecond + 100*time.Nanosecond, InputTokens: 4110, OutputTokens: 900},
	}
	require.Equal(t, want, slices.Collect(tr.Entries()))
	assert.Equal(t, 3, tr.Len())
	assert.Equal(t, want[2].At, tr.Span())
	assert.Equal(t, "testdata/azure.csv: 3 requests in 1.75s", tr.String())
	reqs := take(tr.Requests(), 0)
	require.Len(t, reqs, 3)
	for i, r := range reqs {
		assert.Len(t, strings.Fields(r.Prompt), want[i].InputTokens)
		r.Prompt = ""
		assert.Equal(t, &loadgen.Request{Class: "chat", InputTokens: want[i].InputTokens,
			MaxTokens: want[i].OutputTokens, Body: map[string]any{"n": 1}}, r)
	}
}

func TestAzureVariants(t *testing.T) {
	for name, text := range map[string]string{
		"offsets, as in 2024":   "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00.001163+00:00,10,20\n2024-05-12 02:00:01.001163+02:00,30,40\n",
		"RFC 3339":              "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12T00:00:00Z,10,20\n2024-05-12T00:00:01Z,30,40\n",
		"other columns, BOM":    "\xef\xbb\xbfid,generatedtokens, TIMESTAMP ,contexttokens,x\r\n1,20,2024-05-12 00:00:00,10\r\n\r\n2,40,2024-05-12 00:00:01,30,y\r\n",
		"quoted":                "\"TIMESTAMP\",\"ContextTokens\",\"GeneratedTokens\"\n\"2024-05-12 00:00:00\",\"10\",\"20\"\n\"2024-05-12 00:00:01\",\"30\",\"40\"",
		"layout changes midway": "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 00:00:00,10,20\n2024-05-12 00:00:01Z,30,40",
	} {
		tr, err := ReadTrace("t", iotest.HalfReader(strings.NewReader(text)))
		require.NoError(t, err, name)
		require.Equal(t, []Entry{{InputTokens: 10, OutputTokens: 20}, {At: time.Second, InputTokens: 30, OutputTokens: 40}},
			slices.Collect(tr.Entries()), name)
	}
}

func TestMooncakeTrace(t *testing.T) {
	tr, err := OpenTrace("testdata/mooncake.jsonl")
	require.NoError(t, err)
	require.Equal(t, []Entry{
		{At: 0, InputTokens: 1300, OutputTokens: 52, Blocks: []uint64{46, 47, 48}},
		{At: 0, InputTokens: 1030, OutputTokens: 26, Blocks: []uint64{46, 47, 49}},
		{At: 1500250 * time.Microsecond, InputTokens: 600, OutputTokens: 8, Blocks: []uint64{46}},
		{At: 6 * time.Second, InputTokens: 513, OutputTokens: 9},
	}, slices.Collect(tr.Entries()))
}

// shared is how many words two prompts have in common from the beginning.
func shared(a, b string) int {
	x, y := strings.Fields(a), strings.Fields(b)
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return n
}

func TestBlocksAreSharedText(t *testing.T) {
	tr, err := OpenTrace("testdata/mooncake.jsonl", WithSaltSeed(1)) // two words at random are the same now and then
	require.NoError(t, err)
	r := take(tr.Requests(), 0)
	for _, q := range r {
		require.Len(t, strings.Fields(q.Prompt), q.InputTokens)
	}
	assert.Equal(t, 1024, shared(r[0].Prompt, r[1].Prompt), "46 and 47 are the same, 48 and 49 are not")
	assert.Equal(t, 512, shared(r[0].Prompt, r[2].Prompt), "46 alone; what follows is of the request alone")
	assert.Less(t, shared(r[0].Prompt, r[3].Prompt), 3)

	tr, err = OpenTrace("testdata/mooncake.jsonl")
	require.NoError(t, err)
	one, next := take(tr.Requests(), 0), take(tr.Requests(), 0)
	assert.Less(t, shared(one[0].Prompt, next[0].Prompt), 3, "the next pass finds nothing of this one")
	assert.GreaterOrEqual(t, shared(next[0].Prompt, next[1].Prompt), 1024)

	tr, err = OpenTrace("testdata/mooncake.jsonl", WithoutSalt())
	require.NoError(t, err)
	assert.Equal(t, take(tr.Requests(), 0), take(tr.Requests(), 0))
}

func TestRateOfTrace(t *testing.T) {
	at := func(all ...time.Duration) *Trace {
		var entries []Entry
		for _, d := range all {
			entries = append(entries, Entry{At: d, InputTokens: 1, OutputTokens: 1})
		}
		tr, err := NewTrace("mine", entries)
		require.NoError(t, err)
		return tr
	}
	require.Equal(t, 1.5, at(5*time.Second, 6*time.Second, 6*time.Second, 7*time.Second).Rate())
	require.True(t, math.IsInf(at(time.Second, time.Second).Rate(), 1))
	require.True(t, math.IsNaN(at(time.Second).Rate()))
}

func TestBlocksByWords(t *testing.T) {
	tr, err := OpenTrace("testdata/mooncake.jsonl", WithTokensPerWord(3), WithSaltSeed(1))
	require.NoError(t, err)
	r := take(tr.Requests(), 0)
	assert.Len(t, strings.Fields(r[0].Prompt), 433)
	assert.Equal(t, 341, shared(r[0].Prompt, r[1].Prompt), "1,024 tokens")
	assert.Equal(t, 171, shared(r[0].Prompt, r[2].Prompt), "512 tokens")
}

func TestWithBlockTokens(t *testing.T) {
	const text = `{"timestamp":0,"input_length":40,"output_length":1,"hash_ids":[1,2,3]}` + "\n" +
		`{"timestamp":1,"input_length":48,"output_length":1,"hash_ids":[1,2,4]}`
	r := take(readTrace(t, text, WithBlockTokens(16), WithSaltSeed(1)).Requests(), 0)
	assert.Equal(t, 32, shared(r[0].Prompt, r[1].Prompt))
	_, err := ReadTrace("t", strings.NewReader(text), WithBlockTokens(20))
	require.EqualError(t, err, "t:1: has 3 blocks for 40 input tokens; want at most 2 of 20 tokens each")
}

func TestNewTrace(t *testing.T) {
	blocks := []uint64{1}
	tr, err := NewTrace("mine", []Entry{{5, 10, 20, blocks, "a"}, {7, 30, 40, nil, ""}, {9, 1, 1, nil, ""}},
		WithClass("b"), WithLimit(2))
	require.NoError(t, err)
	blocks[0] = 2 // the trace has a copy
	assert.Equal(t, []Entry{{5, 10, 20, []uint64{1}, "a"}, {7, 30, 40, nil, ""}}, slices.Collect(tr.Entries()))
	assert.Equal(t, []time.Duration{5, 7}, tr.Times())
	reqs := take(tr.Requests(), 0)
	assert.Equal(t, []string{"a", "b"}, classes(reqs))

	for want, entries := range map[string][]Entry{
		"mine: holds no request":                                                   nil,
		"mine:1: is at -1ns; want 0 or later":                                      {{-1, 1, 1, nil, ""}},
		"mine:2: timestamps go back: it is 1ns before the one above; sort by time": {{5, 1, 1, nil, ""}, {4, 1, 1, nil, ""}},
		"mine:1: has 0 tokens in and 1 out; want 1 to 4194304":                     {{0, 0, 1, nil, ""}},
		"mine:1: has 1 tokens in and 0 out":                                        {{0, 1, 0, nil, ""}},
		"mine:1: has 4194305 tokens in":                                            {{0, MaxLength + 1, 1, nil, ""}},
		"mine:1: has 2 blocks for 512 input tokens; want at most 1 of 512":         {{0, 512, 1, []uint64{1, 2}, ""}},
	} {
		_, err := NewTrace("mine", entries)
		require.ErrorContains(t, err, want)
		var fe *FileError
		require.ErrorAs(t, err, &fe)
	}
}

func TestTracesAreRefused(t *testing.T) {
	const (
		head = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n2024-01-01 00:00:01,1,1\r\n"
		moon = `{"timestamp":5,"input_length":1,"output_length":1}` + "\n"
	)
	for text, want := range map[string]string{
		"": "t: holds no request",
		"TIMESTAMP,ContextTokens,GeneratedTokens\n": "t: holds no request",
		"\n2024-01-01 00:00:00,1,1\n":               "t:2: want a header with the columns TIMESTAMP, ContextTokens, GeneratedTokens, or JSON lines",
		"TIMESTAMP,ContextTokens\n":                 "t:1: want a header",
		"secret prompt":                             "t:1: want a header",
		head + "2024-01-01 00:00:02,1\n":            "t:3: has 2 columns; want those of the header",
		head + "secret,1,1\n":                       "t:3: TIMESTAMP is no time such as 2023-11-16 18:15:46.6805900",
		head + "\n2024-13-01 00:00:00,1,1\n":        "t:4: TIMESTAMP is no time",
		head + "2024-01-01 00:00:02,secret,1\n":     "t:3: ContextTokens is no whole number",
		head + "2024-01-01 00:00:02,1,1.5\n":        "t:3: GeneratedTokens is no whole number",
		head + "2024-01-01 00:00:02,0,1\n":          "t:3: has 0 tokens in and 1 out",
		head + "2024-01-01 00:00:02,1,-1\n":         "t:3: has 1 tokens in and -1 out",
		head + "2024-01-01 00:00:00.75,1,1\n":       "t:3: timestamps go back: it is 250ms before the one above; sort by time",
		head + "2024-01-01 00:00:02,1,\xff\n":       "t:3: is not UTF-8",
		head + "9999-01-01 00:00:00,1,1\n":          "t:3: TIMESTAMP is centuries from that of the first request",
		head + "0001-01-01 00:00:00,1,1\n":          "t:3: TIMESTAMP is centuries",

		moon + "x":                      "t:2: is no JSON: invalid character 'x'",
		moon + "[]":                     "t:2: is not a JSON object",
		moon + "{}":                     `t:2: "timestamp" is no number of milliseconds, from 0 to a century`,
		moon + `{"timestamp":"secret"}`: `t:2: "timestamp" is no number`,
		moon + `{"timestamp":-1}`:       `t:2: "timestamp" is no number of milliseconds`,
		moon + `{"timestamp":1e99}`:     `t:2: "timestamp" is no number of milliseconds`,
		moon + `{"timestamp":6}`:        `t:2: "input_length" is no whole number from 1 to 4194304`,
		moon + `{"timestamp":6,"input_length":0,"output_length":1}`:                  `t:2: "input_length" is no whole number`,
		moon + `{"timestamp":6,"input_length":1,"output_length":"secret"}`:           `t:2: "output_length" is no whole number`,
		moon + `{"timestamp":4,"input_length":1,"output_length":1}`:                  "t:2: timestamps go back: it is 1ms before the one above",
		moon + `{"timestamp":6,"input_length":1,"output_length":1,"hash_ids":[-1]}`:  `t:2: "hash_ids" is no list of whole numbers of 0 or more`,
		moon + `{"timestamp":6,"input_length":1,"output_length":1,"hash_ids":[1,2]}`: "t:2: has 2 blocks for 1 input tokens; want at most 1 of 512",
	} {
		_, err := ReadTrace("t", strings.NewReader(text))
		require.ErrorContains(t, err, want, "%q", text)
		require.NotContains(t, err.Error(), "secret")
		var fe *FileError
		require.ErrorAs(t, err, &fe)
	}
	_, err := ReadTrace("t", strings.NewReader(head+"2024-01-01 00:00:00,1,1\n"))
	require.ErrorIs(t, err, ErrOrder)
	_, err = ReadTrace("t", strings.NewReader(head+strings.Repeat(",", 101)), WithMaxLine(100))
	require.ErrorIs(t, err, ErrTooLong)
	_, err = ReadTrace("t", strings.NewReader(head), WithMaxSize(20))
	require.ErrorIs(t, err, ErrTooLarge)
	_, err = OpenTrace("testdata/none.csv")
	require.Error(t, err)
}

// A plan replays a trace: each request at its instant, at twice the speed.
func TestTraceInAPlan(t *testing.T) {
	tr, err := OpenTrace("testdata/mooncake.jsonl")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []Entry
		start := time.Now()
		target := loadgen.TargetFunc(func(_ context.Context, req *loadgen.Request, _ *loadgen.Trace) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, Entry{At: time.Since(start), InputTokens: req.InputTokens, OutputTokens: req.MaxTokens})
			return nil
		})
		result, err := loadgen.Run(t.Context(), target, loadgen.Plan{
			SLO: slo.MustParse("e2e p95 < 1s"), Arrivals: tr.Arrivals(2), Workload: tr.Requests(),
		})
		require.NoError(t, err)
		require.EqualValues(t, 4, result.Report.Good)
		require.ElementsMatch(t, []Entry{
			{At: 0, InputTokens: 1300, OutputTokens: 52},
			{At: 0, InputTokens: 1030, OutputTokens: 26},
			{At: 750125 * time.Microsecond, InputTokens: 600, OutputTokens: 8},
			{At: 3 * time.Second, InputTokens: 513, OutputTokens: 9},
		}, got)
	})
}

func TestTraceLimit(t *testing.T) {
	tr := readTrace(t, "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-01 00:00:01,1,2\nrubbish", WithLimit(1))
	assert.Equal(t, 1, tr.Len())
	assert.Zero(t, tr.Span())
	tr = readTrace(t, `{"timestamp":5,"input_length":1,"output_length":1}`+"\nrubbish", WithLimit(1))
	assert.Equal(t, 1, tr.Len())
}

// What is published of the traces is what is read from them, and the shapes have the same percentiles.
func TestPublicAzureTraces(t *testing.T) {
	for _, c := range []struct {
		file    string
		shape   Shape
		rows    int
		span    float64 // s
		gapCV   float64
		in, out [8]float64 // P1, P25, P50, P75, P90, P95, P99, max
		meanIn  float64
		meanOut float64
	}{
		{file: "AzureLLMInferenceTrace_conv.csv", shape: AzureConversation(), rows: 19366, span: 3501.7, gapCV: 1.09,
			in:  [8]float64{29, 396, 1020, 1189, 2734, 4083, 4142, 14050},
			out: [8]float64{16, 85, 129, 395, 424, 451, 601, 1000}, meanIn: 1154.7, meanOut: 211.1},
		{file: "AzureLLMInferenceTrace_code.csv", shape: AzureCode(), rows: 8819, span: 3435.9, gapCV: 13.15,
			in:  [8]float64{17, 578, 1469, 2744, 5188, 7303, 7436, 7437},
			out: [8]float64{6, 9, 13, 24, 55, 90, 252, 1899}, meanIn: 2047.8, meanOut: 27.9},
	} {
		tr, err := OpenTrace(publicTrace(t, c.file))
		require.NoError(t, err)
		require.Equal(t, c.rows, tr.Len())
		require.InDelta(t, c.span, tr.Span().Seconds(), 0.05)
		var gaps, in, out []float64
		times := tr.Times()
		for i, at := range times[1:] {
			gaps = append(gaps, (at - times[i]).Seconds())
		}
		mean, sd := stats.MeanAndStdDev(gaps)
		assert.InDelta(t, c.gapCV, sd/mean, 0.005)
		for e := range tr.Entries() {
			in, out = append(in, float64(e.InputTokens)), append(out, float64(e.OutputTokens))
		}
		ps := []float64{0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1}
		for i, q := range stats.Quantiles(in, ps...) {
			assert.InDelta(t, c.in[i], q, 0.6, "%s input P%v", c.file, ps[i]*100)
		}
		for i, q := range stats.Quantiles(out, ps...) {
			assert.InDelta(t, c.out[i], q, 0.6, "%s output P%v", c.file, ps[i]*100)
		}
		mIn, _ := stats.MeanAndStdDev(in)
		mOut, _ := stats.MeanAndStdDev(out)
		assert.InDelta(t, c.meanIn, mIn, 0.05)
		assert.InDelta(t, c.meanOut, mOut, 0.05)

		for _, v := range []struct {
			law Lengths
			xs  []float64
		}{{c.shape.Input, in}, {c.shape.Output, out}} {
			for _, p := range v.law.(Percentiles) {
				assert.InDelta(t, stats.Quantiles(v.xs, p.Percent/100)[0], p.Tokens, 0.6, "%s P%v", c.file, p.Percent)
			}
		}
	}
}

func TestPublicMooncakeTrace(t *testing.T) {
	tr, err := OpenTrace(publicTrace(t, "mooncake_conversation_head.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 600, tr.Len())
	require.Equal(t, 200999*time.Millisecond, tr.Span())
	var entries []Entry
	for e := range tr.Entries() {
		require.Len(t, e.Blocks, int(math.Ceil(float64(e.InputTokens)/512)))
		entries = append(entries, e)
	}
	// All begin with block 0, as their system prompt has it, and where ids go apart the texts do.
	reqs := take(tr.Requests(), 40)
	for i, a := range reqs {
		for j, b := range reqs[:i] {
			same := 0
			for same < min(len(entries[i].Blocks), len(entries[j].Blocks)) && entries[i].Blocks[same] == entries[j].Blocks[same] {
				same++
			}
			want := min(512*same, a.InputTokens, b.InputTokens)
			got := shared(a.Prompt, b.Prompt)
			require.True(t, got >= want && got <= want+2, fmt.Sprint(i, j, got, want))
		}
	}
}
