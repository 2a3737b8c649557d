package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// vectors are the worked cases, by name, with their records as JSON.
func vectors(t *testing.T) map[string][]json.RawMessage {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	all := map[string][]json.RawMessage{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		require.NoError(t, err)
		var c struct {
			Name    string
			Records []json.RawMessage
		}
		require.NoError(t, json.Unmarshal(b, &c), file)
		all[c.Name] = c.Records
	}
	return all
}

func TestRecordJSONIsThatOfTheVectors(t *testing.T) {
	for name, records := range vectors(t) {
		t.Run(name, func(t *testing.T) {
			var back []any // all at once: comparing JSON takes its time
			for _, line := range records {
				var r Record
				require.NoError(t, json.Unmarshal(line, &r))
				b, err := json.Marshal(r)
				require.NoError(t, err)
				back = append(back, generic(t, b))
			}
			b, err := json.Marshal(records)
			require.NoError(t, err)
			require.Equal(t, generic(t, b), back)
		})
	}
}

// generic is JSON with its numbers as they are written, so that no nanosecond is lost.
func generic(t *testing.T, b []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

func TestRecordJSONOfEverything(t *testing.T) {
	r := Record{
		Class: "chat", Start: time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC), Sent: 1, FirstByte: 2 * time.Millisecond,
		Tokens: []Token{{3 * time.Millisecond, 1}, {4*time.Millisecond + 1, 0}}, FirstOutput: 4*time.Millisecond + 1,
		End: 5 * time.Millisecond, InputTokens: 7, OutputTokens: 2, Outcome: Truncated, Finish: "length",
		Detail: "cut at \"2\"\n tokens", Attempts: 2, Custom: map[slo.Metric]float64{"x_b": 0.25, "x_a": 3e20, "x_nan": math.NaN()},
		Limits: map[slo.Metric]float64{slo.TTFT: 0.5, slo.TPOT: 13e-9, slo.ITL: 0.0000000125, slo.Speed: 12.5, "x_a": 4, slo.E2E: 1e9, slo.TTFO: -1},
	}
	b, err := json.Marshal(&r)
	require.NoError(t, err)
	assert.Equal(t, `{"start_ns":1772366400000000001,"class":"chat","sent_ns":1,"first_byte_ns":2000000,`+
		`"tokens":[[3000000,1],[4000001,0]],"first_output_ns":4000001,"end_ns":5000000,"input_tokens":7,"output_tokens":2,`+
		`"outcome":"truncated","finish":"length","detail":"cut at \"2\"\n tokens","attempts":2,`+
		`"custom":{"x_a":3e+20,"x_b":0.25,"x_nan":null},"limits_ns":{"tpot":13,"ttft":500000000},`+
		`"limits":{"e2e":1000000000,"itl":1.25e-08,"speed":12.5,"ttfo":-1,"x_a":4}}`, string(b))
	var back Record
	require.NoError(t, json.Unmarshal(b, &back))
	requireSameRecord(t, &r, &back)
}

// requireSameRecord is require.Equal where NaN equals NaN.
func requireSameRecord(t require.TestingT, want, have *Record) {
	w, h := *want, *have
	require.True(t, w.Start.Equal(h.Start), "start: %v, want %v", h.Start, w.Start)
	w.Start = h.Start
	require.Equal(t, fmt.Sprint(w.Custom, w.Limits), fmt.Sprint(h.Custom, h.Limits))
	w.Custom, h.Custom, w.Limits, h.Limits = nil, nil, nil, nil
	if len(w.Tokens) == 0 {
		w.Tokens, h.Tokens = nil, h.Tokens[:0:0][:len(h.Tokens)]
	}
	if len(h.Tokens) == 0 {
		h.Tokens = nil
	}
	require.Equal(t, w, h)
}

func TestRecordJSONFirstOutput(t *testing.T) {
	at := []Token{{At: 5, N: 1}, {At: 9, N: 1}}
	for _, c := range []struct {
		name   string
		tokens []Token
		first  time.Duration
		json   string
		back   time.Duration
	}{
		{"the first token event", at, 0, "5", 0},
		{"the first token event, said", at, 5, "5", 0},
		{"after reasoning", at, 9, "9", 9},
		{"reasoning only", at, -1, "null", -1},
		{"no token", nil, 0, "null", 0},
		{"at once", []Token{{At: 0}}, 0, "0", 0},
		{"before the start, as an accumulator has to see it", []Token{{At: -3}}, 0, "-3", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Record{Tokens: c.tokens, FirstOutput: c.first, Outcome: Success}.MarshalJSON()
			require.NoError(t, err)
			assert.Contains(t, string(b), `"first_output_ns":`+c.json+",")
			var r Record
			require.NoError(t, r.UnmarshalJSON(b))
			assert.Equal(t, c.back, r.FirstOutput)
		})
	}
}

func TestRecordJSONKeepsWhatAccumulatorsRepair(t *testing.T) {
	r := Record{Sent: -4, FirstByte: -1, Tokens: []Token{{At: 9}, {At: 3}, {At: -2}}, End: -7}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	assert.JSONEq(t, `{"start_ns":null,"sent_ns":-4,"first_byte_ns":-1,"tokens":[[9,0],[3,0],[-2,0]],"first_output_ns":9,
		"end_ns":-7,"input_tokens":0,"output_tokens":0,"outcome":null}`, string(b))
	var back Record
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, r, back)
}

func TestRecordJSONCutsWhatIsForPeople(t *testing.T) {
	r := Record{Finish: strings.Repeat("é", 200), Detail: strings.Repeat("x", 5000), Outcome: ServerError}
	b, err := json.Marshal(r)
	require.NoError(t, err)
	var back Record
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, strings.Repeat("é", 128), back.Finish)
	assert.Equal(t, strings.Repeat("x", 1024), back.Detail)
	r.Finish = strings.Repeat("a", 255) + "é" // a rune on the edge goes as a whole
	assert.Equal(t, strings.Repeat("a", 255), cut(r.Finish, maxFinish))
}

func many[K ~string](n int) map[K]float64 {
	m := map[K]float64{}
	for i := range n {
		m[K(fmt.Sprintf("x_%d", i))] = 1
	}
	return m
}

func TestRecordJSONRefusesToWrite(t *testing.T) {
	century := time.Duration(maxOffset)
	for _, c := range []struct {
		name, field string
		r           Record
	}{
		{"outcome", "outcome", Record{Outcome: 99}},
		{"long class", "class", Record{Class: strings.Repeat("c", 257)}},
		{"class of bytes", "class", Record{Class: "\xff"}},
		{"sent", "sent_ns", Record{Sent: century + 1}},
		{"first byte", "first_byte_ns", Record{FirstByte: century + 1}},
		{"first output", "first_output_ns", Record{FirstOutput: century + 1}},
		{"end", "end_ns", Record{End: -century - 1}},
		{"token", "tokens", Record{Tokens: []Token{{At: century + 1}}}},
		{"negative token count", "tokens", Record{Tokens: []Token{{N: -1}}}},
		{"too many tokens in one", "tokens", Record{Tokens: []Token{{N: math.MaxInt32 + 1}}}},
		{"too many events", "tokens", Record{Tokens: make([]Token, maxEvents+1)}},
		{"too long", "", Record{Tokens: slicesOf(600_000, Token{At: century, N: 1e9})}},
		{"input", "input_tokens", Record{InputTokens: -1}},
		{"output", "output_tokens", Record{OutputTokens: math.MaxInt32 + 1}},
		{"attempts", "attempts", Record{Attempts: -1}},
		{"custom", "custom", Record{Custom: many[slo.Metric](65)}},
		{"limits", "limits", Record{Limits: many[slo.Metric](65)}},
		{"metric's name", "custom", Record{Custom: map[slo.Metric]float64{slo.Metric("x_" + strings.Repeat("m", 63)): 1}}},
		{"year 1600", "start", Record{Start: time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.r.MarshalJSON()
			var bad *RecordError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, c.field, bad.Field)
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func slicesOf[T any](n int, v T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func manyMetrics(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"x_%d":1`, i))
	}
	return strings.Join(all, ",")
}

func TestRecordJSONRefusesToRead(t *testing.T) {
	const rest = `"sent_ns":0,"end_ns":1,"outcome":"success"}`
	for _, c := range []struct{ name, line, want string }{
		{"nothing", ``, "record: not JSON from byte 0 on"},
		{"no object", `[]`, "record: not JSON from byte 0 on"},
		{"cut", `{"start_ns":12`, "record: not JSON from byte 14 on"},
		{"more", `{` + rest + `{}`, "record: not JSON from byte 44 on"},
		{"comma at the end", `{"sent_ns":0,"end_ns":1,"outcome":"success",}`, "record: not JSON from byte 44 on"},
		{"no comma", `{"sent_ns":0 "end_ns":1,"outcome":"success"}`, "record: not JSON from byte 13 on"},
		{"no quotes", `{sent_ns:0}`, "record: not JSON from byte 1 on"},
		{"no sent", `{"end_ns":1,"outcome":"success"}`, "record: sent_ns: missing"},
		{"no end", `{"sent_ns":0,"outcome":"success"}`, "record: end_ns: missing"},
		{"no outcome", `{"sent_ns":0,"end_ns":1}`, "record: outcome: missing"},
		{"null end", `{"sent_ns":0,"end_ns":null,"outcome":"success"}`, "record: end_ns: missing"},
		{"twice", `{"sent_ns":0,` + rest, "record: sent_ns: there twice"},
		{"fraction", `{"start_ns":1.5,` + rest, "record: start_ns: not a whole number"},
		{"exponent", `{"start_ns":1e3,` + rest, "record: start_ns: not a whole number"},
		{"text for a number", `{"start_ns":"1",` + rest, "record: start_ns: not a whole number"},
		{"only a sign", `{"start_ns":-,` + rest, "record: start_ns: not a whole number"},
		{"leading zero", `{"start_ns":01,` + rest, "record: start_ns: a number that begins with 0"},
		{"19 digits too many", `{"start_ns":9223372036854775808,` + rest, "record: start_ns: a number beyond all measure"},
		{"30 digits", `{"start_ns":` + strings.Repeat("9", 30) + `,` + rest, "record: start_ns: a number beyond all measure"},
		{"long offset", `{"first_byte_ns":3153600000000000001,` + rest, "record: first_byte_ns: over 100 years from the start"},
		{"number for a text", `{"class":1,` + rest, "record: class: not a string"},
		{"open text", `{"class":"a`, "record: class: not a string"},
		{"bad escape", `{"class":"\x",` + rest, "record: class: not a string"},
		{"control character", "{\"class\":\"a\nb\"," + rest, "record: class: not a string"},
		{"long class", `{"class":"` + strings.Repeat("c", 257) + `",` + rest, "record: class: 257 bytes long, at most 256"},
		{"outcome", `{"sent_ns":0,"end_ns":1,"outcome":"good"}`, `record: outcome: there is no "good"`},
		{"long outcome", `{"sent_ns":0,"end_ns":1,"outcome":"` + strings.Repeat("x", 999) + `"}`, `record: outcome: there is no "` + strings.Repeat("x", 40) + `"`},
		{"negative count", `{"output_tokens":-1,` + rest, "record: output_tokens: -1 is not 0 to 2147483647"},
		{"great count", `{"input_tokens":2147483648,` + rest, "record: input_tokens: 2147483648 is not 0 to 2147483647"},
		{"token with no count", `{"tokens":[[1]],` + rest, "record: not JSON from byte 13 on"},
		{"token of three", `{"tokens":[[1,2,3]],` + rest, "record: not JSON from byte 15 on"},
		{"token alone", `{"tokens":[1,2],` + rest, "record: not JSON from byte 11 on"},
		{"token 01", `{"tokens":[[01,2]],` + rest, "record: tokens: a number that begins with 0"},
		{"token with 02", `{"tokens":[[1,02]],` + rest, "record: tokens: a number that begins with 0"},
		{"negative token", `{"tokens":[[1,-2]],` + rest, "record: tokens: -2 is not 0 to 2147483647"},
		{"tokens null in it", `{"tokens":[null],` + rest, "record: not JSON from byte 11 on"},
		{"first output", `{"first_output_ns":0,` + rest, "record: first_output_ns: not after the start, and not the first token event"},
		{"custom text", `{"custom":{"x_a":"1"},` + rest, "record: custom: not a number"},
		{"custom too great", `{"custom":{"x_a":1e999},` + rest, "record: custom: not a number"},
		{"too many tokens", `{"tokens":[` + strings.Repeat("[1,1],", maxEvents) + `[1,1]],` + rest, "record: tokens: over 1048576 events"},
		{"too many metrics", `{"custom":{` + manyMetrics(maxMetrics+1) + `},` + rest, "record: custom: over 64 metrics"},
		{"custom twice", `{"custom":{"x_a":1,"x_a":1},` + rest, "record: custom: the same metric twice"},
		{"limit twice", `{"limits":{"ttft":1},"limits_ns":{"ttft":1},` + rest, "record: limits_ns: the same metric twice"},
		{"limit that is no time", `{"limits_ns":{"speed":1},` + rest, "record: limits_ns: not a threshold of 1 ns to 26 days on a metric that is a time"},
		{"limit of 0", `{"limits_ns":{"ttft":0},` + rest, "record: limits_ns: not a threshold of 1 ns to 26 days on a metric that is a time"},
		{"bad unknown", `{"other":[1,{]},` + rest, "record: not JSON from byte"},
		{"deep unknown", `{"other":` + strings.Repeat("[", 1<<17) + strings.Repeat("]", 1<<17) + `,` + rest, "record: not JSON from byte"},
		{"long", `{"class":"` + strings.Repeat("c", 16<<20) + `",` + rest, "record: over 16 MiB long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Record
			err := r.UnmarshalJSON([]byte(c.line))
			var bad *RecordError
			require.ErrorAs(t, err, &bad)
			assert.Contains(t, err.Error(), c.want)
			assert.Less(t, len(err.Error()), 200)
		})
	}
}

func TestRecordJSONReadsWhatOthersWrite(t *testing.T) {
	line := ` { "outcome" : "success" , "other" : [ { "a]" : "}\"" } , [ ] ] , "sent_ns":1,"end_ns":-0,"n":-1.5e3,"t":true,
		"tokens" : [ [ 1 , 2 ] , [3,0],[ -4,1]],"class":"caf\u00e9", "cl\u0061ss2":"" ,"custom":{ "x_a" : null, "x_b": 1 },
		"first_output_ns":3, "attempts":null } `
	var r Record
	require.NoError(t, r.UnmarshalJSON([]byte(line)))
	requireSameRecord(t, &Record{Class: "café", Sent: 1, Tokens: []Token{{1, 2}, {3, 0}, {-4, 1}}, FirstOutput: 3,
		Outcome: Success, Custom: map[slo.Metric]float64{"x_a": math.NaN(), "x_b": 1}}, &r)

	// Without first_output_ns nobody spoke of reasoning.
	require.NoError(t, r.UnmarshalJSON([]byte(`{"sent_ns":0,"end_ns":1,"outcome":"success","tokens":[[1,1]]}`)))
	assert.Zero(t, r.FirstOutput)
	assert.True(t, r.Start.IsZero())
}

// randomRecord is a record with anything in it that can be written and comes back equal.
func randomRecord(rng *rand.Rand, epoch time.Time) *Record {
	upTo := func(n int64) time.Duration { return time.Duration(rng.Int64N(n) >> rng.IntN(60)) }
	before, after := upTo(1<<61), upTo(1<<61)
	r := &Record{Start: epoch.Add(after - before), Sent: upTo(1 << 61), FirstByte: upTo(1 << 61), End: upTo(1 << 61),
		InputTokens: rng.IntN(1<<31-1) >> rng.IntN(32), OutputTokens: rng.IntN(1<<31-1) >> rng.IntN(32),
		Outcome: Outcome(rng.IntN(outcomes)), Attempts: rng.IntN(3)}
	texts := []string{"", "chat", "quo\"te\\", "<b>&", "é\u2028\x00\t", strings.Repeat("z", 256)}
	r.Class, r.Finish, r.Detail = texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))], texts[rng.IntN(len(texts))]
	for range rng.IntN(5) {
		r.Tokens = append(r.Tokens, Token{upTo(1 << 61), rng.IntN(1<<31-1) >> rng.IntN(32)})
	}
	if len(r.Tokens) > 0 {
		r.FirstOutput = []time.Duration{0, -1, r.Tokens[len(r.Tokens)-1].At}[rng.IntN(3)]
		if r.FirstOutput == r.Tokens[0].At {
			r.FirstOutput = 0
		}
	}
	if rng.IntN(2) == 0 {
		r.Custom = map[slo.Metric]float64{"x_a": rng.NormFloat64(), "x_b": float64(rng.Int64()), "x_\u00fc": rng.ExpFloat64() * 1e-300}
		r.Limits = map[slo.Metric]float64{slo.TTFT: float64(rng.Int64N(maxLimitNanos)+1) / 1e9, slo.TPOT: float64(rng.IntN(1e8)+1) / 1e9,
			slo.Speed: rng.ExpFloat64(), slo.E2E: -rng.ExpFloat64(), "x_a": rng.NormFloat64()}
	}
	return r
}

func TestRecordJSONRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	epoch := time.Unix(0, 0).UTC()
	for range 2000 {
		r := randomRecord(rng, epoch)
		b, err := r.MarshalJSON()
		require.NoError(t, err)
		require.True(t, json.Valid(b), "%s", b)
		var back Record
		require.NoError(t, back.UnmarshalJSON(b), "%s", b)
		requireSameRecord(t, r, &back)
	}
}

// recordOf is a successful record with n token events, 20 ms apart.
func recordOf(n int) *Record {
	r := &Record{Start: time.Unix(1_760_000_000, 123_456_789).UTC(), Sent: 12_345, FirstByte: 99 * time.Millisecond,
		InputTokens: 512, OutputTokens: n, Outcome: Success, Finish: "stop"}
	for i := range n {
		r.Tokens = append(r.Tokens, Token{At: 100*time.Millisecond + time.Duration(i)*20_012_345, N: 1})
		r.End = r.Tokens[i].At + 1000
	}
	return r
}

func BenchmarkRecordWrite(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			r := recordOf(n)
			var buf []byte
			var err error
			b.ReportAllocs()
			for b.Loop() {
				if buf, err = r.appendLine(buf[:0], r.Start); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkRecordRead(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("tokens=%d", n), func(b *testing.B) {
			line, err := recordOf(n).MarshalJSON()
			require.NoError(b, err)
			b.SetBytes(int64(len(line)))
			var s recordScanner
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.scan(line, new(Record)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
