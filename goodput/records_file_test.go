package goodput

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

var fileStart = time.Date(2026, 3, 1, 12, 0, 0, 123_456_789, time.UTC)

func fileHeader() RecordsHeader {
	chat := slo.MustParse("ttft p95 < 400ms, undefined ttft: excluded")
	chat.Name = "interactive"
	return RecordsHeader{
		Start: fileStart, SLO: slo.MustParse("ttft p95 < 2s, error_rate < 1%"), Classes: slo.Set{"chat": chat},
		Window: Window{Kind: SteadyState, From: fileStart.Add(time.Second), Open: true},
		About:  map[string]string{"target": "<llmsim>", "arrivals": "poisson 5/s"},
	}
}

// readAll reads a whole file; err is that of the header or of the records.
func readAll(r io.Reader, opts ...ReadOption) (*RecordReader, []*Record, error) {
	rr, err := ReadRecords(r, opts...)
	if err != nil {
		return nil, nil, err
	}
	var all []*Record
	for rec, err := range rr.All() {
		if err != nil {
			return rr, all, err
		}
		all = append(all, rec)
	}
	return rr, all, nil
}

func fileOf(t require.TestingT, h RecordsHeader, f RecordsFooter, records ...*Record) []byte {
	var b bytes.Buffer
	w, err := NewRecordWriter(&b, h)
	require.NoError(t, err)
	for _, r := range records {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close(f))
	return b.Bytes()
}

func TestRecordsFileLines(t *testing.T) {
	start := fileStart.In(time.FixedZone("", 3600))
	h := fileHeader()
	h.Start = start
	end := Window{Kind: SteadyState, From: start.Add(time.Second), To: start.Add(3 * time.Second), ToIncluded: true}
	got := fileOf(t, h, RecordsFooter{Complete: true, Window: end, Health: &ClientHealth{Verdict: Valid, Offered: 1, Sent: 1, LagP50: 1e-5, LagP99: 1e-5, LagMax: 1e-5}, Warnings: []string{"short warm-up"}},
		&Record{Start: start.Add(5), End: 7, Outcome: Empty})
	assert.Equal(t, `{"format":"goodput-records/1","start":"2026-03-01T12:00:00.123456789Z",`+
		`"slo":"ttft p95 < 2s, error_rate < 1%","classes":{"chat":"ttft p95 < 400ms, undefined ttft: excluded"},`+
		`"class_slo_names":{"chat":"interactive"},"fingerprint":"`+h.Classes.Fingerprint(h.SLO)+`",`+
		`"about":{"arrivals":"poisson 5/s","target":"<llmsim>"},"window_ns":[1000000000,null]}
{"start_ns":5,"sent_ns":0,"tokens":[],"first_output_ns":null,"end_ns":7,"input_tokens":0,"output_tokens":0,"outcome":"empty"}
{"footer":true,"records":1,"complete":true,"health":{"verdict":"valid","offered":1,"sent":1,"retried":0,`+
		`"lag_p50_s":0.00001,"lag_p99_s":0.00001,"lag_max_s":0.00001},"warnings":["short warm-up"],`+
		`"window_ns":[1000000000,3000000000],"window_end_included":true}
`, string(got))
}

func TestRecordsFileRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var records []*Record
	for range 500 {
		records = append(records, randomRecord(rng, fileStart))
	}
	records = append(records, &Record{Outcome: Dropped}) // nobody knows its start
	footer := RecordsFooter{Complete: true, Health: &ClientHealth{Verdict: Suspect, Reasons: []string{"busy"}, Offered: 501, Sent: 500},
		Window: Window{Kind: SteadyState, From: fileStart.Add(-5), To: fileStart.Add(9)}, Warnings: []string{"one", "two"}}
	file := fileOf(t, fileHeader(), footer, records...)
	for name, r := range map[string]io.Reader{"whole": bytes.NewReader(file), "byte by byte": iotest.OneByteReader(bytes.NewReader(file)),
		"CRLF, blank lines": strings.NewReader(strings.ReplaceAll(string(file), "\n", "\r\n\n")),
		"last end missing":  bytes.NewReader(bytes.TrimSuffix(file, []byte("\n")))} {
		t.Run(name, func(t *testing.T) {
			rr, got, err := readAll(r)
			require.NoError(t, err)
			assert.Equal(t, fileHeader(), rr.Header())
			require.Len(t, got, len(records))
			for i := range records {
				requireSameRecord(t, records[i], got[i])
			}
			f, ok := rr.Footer()
			require.True(t, ok)
			assert.Equal(t, uint64(501), f.Records)
			assert.True(t, f.Complete)
			assert.Equal(t, footer.Window, f.Window)
			assert.Equal(t, footer.Warnings, f.Warnings)
			assert.Equal(t, footer.Health.Reasons, f.Health.Reasons)
		})
	}
}

func TestRecordsFileWithoutSLO(t *testing.T) {
	file := fileOf(t, RecordsHeader{Start: fileStart}, RecordsFooter{Complete: true})
	rr, got, err := readAll(bytes.NewReader(file))
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Equal(t, RecordsHeader{Start: fileStart}, rr.Header())
}

func TestRecordsFileManyWriters(t *testing.T) {
	var b bytes.Buffer
	w, err := NewRecordWriter(&b, RecordsHeader{Start: fileStart})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 200 {
				assert.NoError(t, w.Write(&Record{Start: fileStart, Sent: time.Duration(g), End: time.Duration(i), Tokens: make([]Token, i), Outcome: Success}))
			}
		})
	}
	wg.Wait()
	require.NoError(t, w.Close(RecordsFooter{Complete: true}))
	_, got, err := readAll(&b)
	require.NoError(t, err)
	next := make([]time.Duration, 8)
	for _, r := range got { // each goroutine's in its order
		require.Equal(t, next[r.Sent], r.End)
		require.Len(t, r.Tokens, int(r.End))
		next[r.Sent]++
	}
	assert.Len(t, got, 1600)
}

func TestRecordWriterRefusesHeaders(t *testing.T) {
	good := fileHeader()
	for name, change := range map[string]func(*RecordsHeader){
		"no Start":                    func(h *RecordsHeader) { h.Start = time.Time{} },
		"the year 11026 is not":       func(h *RecordsHeader) { h.Start = h.Start.AddDate(9000, 0, 0) },
		"p100":                        func(h *RecordsHeader) { h.SLO.Objectives[0].Percentile = 100 },
		"a class has a name":          func(h *RecordsHeader) { h.Classes = slo.Set{"": h.SLO} },
		"classes without an SLO":      func(h *RecordsHeader) { h.SLO = slo.SLO{} },
		`no kind "other"`:             func(h *RecordsHeader) { h.Window.Kind = "other" },
		"From is missing":             func(h *RecordsHeader) { h.Window.From = time.Time{} },
		"To is missing, before From":  func(h *RecordsHeader) { h.Window.Open, h.Window.To = false, fileStart },
		"confidence 1 is not between": func(h *RecordsHeader) { h.Confidence = 1 },
		"over 1 MiB long":             func(h *RecordsHeader) { h.About["long"] = strings.Repeat("x", 1<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			h := good
			h.SLO.Objectives = append([]slo.Objective(nil), good.SLO.Objectives...)
			h.About = map[string]string{}
			change(&h)
			_, err := NewRecordWriter(io.Discard, h)
			require.ErrorContains(t, err, name)
			assert.ErrorContains(t, err, "goodput: header of records: ")
		})
	}
}

func TestRecordWriterSaysWhatItLeftOut(t *testing.T) {
	var b bytes.Buffer
	w, err := NewRecordWriter(&b, RecordsHeader{Start: fileStart})
	require.NoError(t, err)
	var bad *RecordError
	require.ErrorAs(t, w.Write(&Record{Start: fileStart, Outcome: Success, InputTokens: -1}), &bad)
	require.ErrorAs(t, w.Write(&Record{Start: fileStart.AddDate(150, 0, 0), Outcome: Success}), &bad)
	assert.Equal(t, "start_ns", bad.Field)
	require.NoError(t, w.Write(&Record{Start: fileStart, Outcome: Success}))
	require.ErrorIs(t, w.Close(RecordsFooter{Complete: true, LeftOut: 3}), ErrIncomplete)
	require.ErrorIs(t, w.Close(RecordsFooter{}), ErrClosed)
	require.ErrorIs(t, w.Write(&Record{Start: fileStart, Outcome: Success}), ErrClosed)
	require.ErrorIs(t, w.Flush(), ErrClosed)

	_, got, err := readAll(bytes.NewReader(b.Bytes()))
	require.ErrorIs(t, err, ErrIncomplete)
	require.ErrorContains(t, err, "line 3: incomplete, as the footer says: 5 left out")
	assert.Len(t, got, 1)
	rr, got, err := readAll(bytes.NewReader(b.Bytes()), AllowIncomplete())
	require.NoError(t, err)
	assert.Len(t, got, 1)
	f, ok := rr.Footer()
	assert.True(t, ok)
	assert.Equal(t, RecordsFooter{Records: 1, LeftOut: 5}, f)
}

// failing is a writer that has room for n bytes.
type failing struct{ n int }

var errFull = errors.New("full")

func (w *failing) Write(p []byte) (int, error) {
	if w.n -= len(p); w.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestRecordWriterPassesErrorsOn(t *testing.T) {
	w, err := NewRecordWriter(&failing{}, RecordsHeader{Start: fileStart})
	require.NoError(t, err) // it is in the buffer
	require.ErrorIs(t, w.Flush(), errFull)
	require.ErrorIs(t, w.Write(&Record{Start: fileStart, Outcome: Success}), errFull)
	require.ErrorIs(t, w.Close(RecordsFooter{Complete: true}), errFull)

	w, err = NewRecordWriter(&failing{n: 100}, RecordsHeader{Start: fileStart})
	require.NoError(t, err)
	require.NoError(t, w.Write(&Record{Start: fileStart, Outcome: Success}))
	require.ErrorIs(t, w.Close(RecordsFooter{Complete: true}), errFull)

	w, err = NewRecordWriter(io.Discard, RecordsHeader{Start: fileStart})
	require.NoError(t, err)
	require.ErrorContains(t, w.Close(RecordsFooter{Window: Window{Kind: SteadyState}}), "goodput: footer of records: window: From is missing")
	require.NoError(t, w.Close(RecordsFooter{}), "one may try again")
}

func TestReadRecordsRefuses(t *testing.T) {
	file := string(fileOf(t, fileHeader(), RecordsFooter{Complete: true}, recordAt(1), recordAt(2), recordAt(3)))
	lines := strings.SplitAfter(file, "\n")
	header, one, footer := lines[0], lines[1], lines[4]
	for _, c := range []struct {
		name, file string
		is         error // nil: none of the values
		want       string
		read       int // records before the error
	}{
		{"nothing", "", ErrNotRecords, "line 1: not a file of records: it is empty", 0},
		{"something else", "ttft,e2e\n", ErrNotRecords, "line 1: not a file of records: it has no header", 0},
		{"records alone", one + footer, ErrNotRecords, "line 1: not a file of records: it has no header", 0},
		{"later format", strings.Replace(file, "records/1", "records/2", 1), ErrNotRecords, `line 1: not a file of records: format "goodput-records/2", want "goodput-records/1"`, 0},
		{"no start", `{"format":"goodput-records/1"}`, nil, "line 1: header: no start", 0},
		{"start in the year 0", `{"format":"goodput-records/1","start":"0000-01-01T00:00:00Z"}`, nil, "line 1: record: start: the year 0 is not 1679 to 2261", 0},
		{"other start", `{"format":"goodput-records/1","start":"today"}`, nil, "line 1: header: ", 0},
		{"another SLO", strings.Replace(file, "p95 < 2s", "p95 < 3s", 1), ErrFingerprint, "line 1: the SLO does not match its fingerprint", 0},
		{"another class's SLO", strings.Replace(file, "400ms", "500ms", 1), ErrFingerprint, "line 1: the SLO does not match its fingerprint", 0},
		{"no SLO beside the classes", strings.Replace(file, `"slo"`, `"old"`, 1), nil, "line 1: header: no slo", 0},
		{"bad SLO", strings.Replace(file, "p95 < 2s", "p95 < 2", 1), nil, "line 1: header: ", 0},
		{"window turned round", strings.Replace(file, "[1000000000,null]", "[1,0]", 1), nil, "line 1: window_ns is not [from, to]", 0},
		{"negative warm-up", strings.Replace(file, `[1000000000,null]`, `[1000000000,null],"warmup_ns":-1`, 1), nil, "line 1: warmup_ns is below 0", 0},
		{"window with no start", strings.Replace(file, "[1000000000,null]", "[null,0]", 1), nil, "line 1: window_ns is not [from, to]", 0},
		{"confidence", strings.Replace(file, `"start"`, `"confidence":-1,"start"`, 1), nil, "line 1: header: confidence is not between 0 and 1", 0},
		{"class without a name", strings.Replace(file, `{"chat"`, `{""`, 1), nil, "line 1: header: slo: class", 0},
		{"long header", `{"format":"` + strings.Repeat("x", 1<<20) + `"}`, ErrNotRecords, "line 1: not a file of records: longer than 1 MiB", 0},
		{"no footer", header + one + one, ErrIncomplete, "line 4: incomplete: the file ends without a footer", 2},
		{"header alone", header, ErrIncomplete, "line 2: incomplete: the file ends without a footer", 0},
		{"cut in a record", header + one + one[:40], ErrIncomplete, "line 3: incomplete: it breaks off in a line: record: not JSON", 1},
		{"cut in the footer", header + one + footer[:20], ErrIncomplete, "line 3: incomplete: it breaks off in a line: footer: ", 1},
		{"a line is missing", header + one + one + footer, ErrIncomplete, "line 4: incomplete: the footer counts 3 records, and there are 2", 2},
		{"a line too many", header + one + one + one + one + footer, nil, "line 6: the footer counts 3 records, and there are 4", 4},
		{"bad line", header + one + "{}\n" + footer, nil, "line 3: record: sent_ns: missing", 1},
		{"negative count", header + strings.Replace(one, `"input_tokens":0`, `"input_tokens":-1`, 1) + footer, nil, "line 2: record: input_tokens: -1 is not", 0},
		{"start out of reach", header + strings.Replace(one, `"start_ns":1,`, `"start_ns":3153600000000000001,`, 1) + footer, nil, "line 2: record: start_ns: over 100 years from the file's start", 0},
		{"bad footer", header + one + `{"footer":1}` + "\n", nil, "line 3: footer: ", 1},
		{"more after the footer", file + one, nil, "line 6: the file goes on after its footer", 3},
		{"long line", header + strings.Repeat("x", 17<<20), nil, "line 2: longer than 16 MiB", 0},
		{"long footer", header + `{"footer":true` + strings.Repeat(" ", 1<<20) + "}\n", nil, "line 2: longer than 1 MiB", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			rr, got, err := readAll(strings.NewReader(c.file))
			var line *LineError
			require.ErrorAs(t, err, &line)
			assert.Contains(t, err.Error(), "goodput: records, "+c.want)
			assert.NotContains(t, err.Error(), "\n")
			for _, is := range []error{ErrNotRecords, ErrFingerprint, ErrIncomplete} {
				assert.Equal(t, is == c.is, errors.Is(err, is), "%v", is)
			}
			assert.Len(t, got, c.read)
			if rr != nil {
				for range rr.All() {
					assert.Fail(t, "nothing comes after an error")
				}
			}
		})
	}
}

func recordAt(ns time.Duration) *Record {
	return &Record{Start: fileStart.Add(ns), End: 10, Outcome: Success}
}

func TestReadRecordsAllowIncomplete(t *testing.T) {
	file := string(fileOf(t, fileHeader(), RecordsFooter{Complete: true}, recordAt(1), recordAt(2), recordAt(3)))
	lines := strings.SplitAfter(file, "\n")
	for _, c := range []struct {
		name, file string
		read       int
		footer     bool
	}{
		{"no footer", strings.Join(lines[:3], ""), 2, false},
		{"cut in a record", strings.Join(lines[:3], "") + lines[3][:20], 2, false},
		{"cut in the footer", strings.Join(lines[:4], "") + lines[4][:20], 3, false},
		{"a line is missing", strings.Join(lines[:2], "") + lines[4], 1, true},
		{"nothing is missing", file, 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			rr, got, err := readAll(strings.NewReader(c.file), AllowIncomplete())
			require.NoError(t, err)
			assert.Len(t, got, c.read)
			_, footer := rr.Footer()
			assert.Equal(t, c.footer, footer)
		})
	}
	for name, file := range map[string]string{
		"bad line": lines[0] + "{}\n" + lines[1], "too many records": file[:len(file)-len(lines[4])] + lines[3] + lines[4],
		"more after the footer": file + lines[1],
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := readAll(strings.NewReader(file), AllowIncomplete())
			var line *LineError
			require.ErrorAs(t, err, &line)
		})
	}
}

func TestReadRecordsReadsOnAfterABreak(t *testing.T) {
	file := fileOf(t, fileHeader(), RecordsFooter{Complete: true}, recordAt(1), recordAt(2), recordAt(3))
	rr, err := ReadRecords(bytes.NewReader(file))
	require.NoError(t, err)
	_, ok := rr.Footer()
	assert.False(t, ok)
	for r, err := range rr.All() {
		require.NoError(t, err)
		assert.Equal(t, time.Duration(1), r.Start.Sub(fileStart))
		break
	}
	var rest []time.Duration
	for r, err := range rr.All() {
		require.NoError(t, err)
		rest = append(rest, r.Start.Sub(fileStart))
	}
	assert.Equal(t, []time.Duration{2, 3}, rest)
}

// endless is a reader that never comes to an end of a line.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '['
	}
	e.read += len(p)
	return len(p), nil
}

func TestReadRecordsBoundsALineThatNeverEnds(t *testing.T) {
	var e endless
	_, _, err := readAll(&e)
	require.ErrorContains(t, err, "line 1: not a file of records: longer than 1 MiB")
	assert.Less(t, e.read, 2<<20)

	e.read = 0
	header := bytes.SplitAfter(fileOf(t, fileHeader(), RecordsFooter{}), []byte("\n"))[0]
	_, _, err = readAll(io.MultiReader(bytes.NewReader(header), &e))
	require.ErrorContains(t, err, "line 2: longer than 16 MiB")
	assert.Less(t, e.read, 17<<20)
}

func TestReadRecordsPassesErrorsOn(t *testing.T) {
	file := fileOf(t, fileHeader(), RecordsFooter{Complete: true}, recordAt(1))
	_, got, err := readAll(io.MultiReader(bytes.NewReader(file[:len(file)-20]), iotest.ErrReader(errFull)), AllowIncomplete())
	require.ErrorIs(t, err, errFull)
	assert.Len(t, got, 1)
}

func FuzzReadRecords(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	f.Add([]byte(nil), false)
	f.Add(fileOf(f, fileHeader(), RecordsFooter{Complete: true, Health: &ClientHealth{Verdict: Valid}}, recordAt(1), recordOf(3)), false)
	f.Add(fileOf(f, RecordsHeader{Start: fileStart}, RecordsFooter{LeftOut: 1}, randomRecord(rng, fileStart), randomRecord(rng, fileStart)), true)
	f.Fuzz(func(t *testing.T, file []byte, incomplete bool) {
		var opts []ReadOption
		if incomplete {
			opts = append(opts, AllowIncomplete())
		}
		rr, records, err := readAll(bytes.NewReader(file), opts...)
		if err != nil {
			var line *LineError
			require.ErrorAs(t, err, &line)
		}
		if rr == nil {
			return
		}
		// What was read can be written, and reads the same.
		footer, _ := rr.Footer()
		again := fileOf(t, rr.Header(), RecordsFooter{Window: footer.Window, Health: footer.Health, Warnings: footer.Warnings}, records...)
		back, same, err := readAll(bytes.NewReader(again), AllowIncomplete())
		require.NoError(t, err, "%s", again)
		require.Equal(t, fmt.Sprint(rr.Header()), fmt.Sprint(back.Header()))
		require.Len(t, same, len(records))
		for i := range same {
			requireSameRecord(t, records[i], same[i])
		}
		if report, err := ReadReport(bytes.NewReader(file), opts...); err == nil {
			require.NotContains(t, report.String(), "\x1b")
			requireBooksClose(t, report)
		}
	})
}

func BenchmarkRecordWriter(b *testing.B) {
	w, err := NewRecordWriter(io.Discard, fileHeader())
	require.NoError(b, err)
	r := recordOf(100)
	r.Start = fileStart
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := w.Write(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
