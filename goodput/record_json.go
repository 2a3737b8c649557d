package goodput

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/goodputkit/goodputkit/slo"
)

// The bounds of a record's JSON. They keep small what a damaged or hostile file can do, and every sum of a start and an
// offset within int64 nanoseconds.
const (
	maxRecordLine = 16 << 20      // bytes of one record
	maxEvents     = 1 << 20       // token events of a record
	maxCount      = math.MaxInt32 // tokens of an event or a request, attempts: an int on every machine
	maxClass      = 256           // bytes
	maxFinish     = 256           // bytes; a longer one is cut
	maxDetail     = 1024          // bytes; a longer one is cut
	maxMetrics    = 64            // entries of Custom, and of Limits
	maxLimitNanos = 1 << 51       // 26 days: up to there a float64 of seconds tells nanoseconds apart
)

// A RecordError says which field of a record cannot be meant, by its JSON key, and why. No text of a request or an
// answer is in it.
type RecordError struct {
	Field   string // "sent_ns", "tokens", …; "" where the whole line is no record
	Problem string
}

func (e *RecordError) Error() string {
	if e.Field == "" {
		return "record: " + e.Problem
	}
	return "record: " + e.Field + ": " + e.Problem
}

func badField(field, format string, args ...any) error {
	return &RecordError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// checkBounds says why r cannot be written, as a *RecordError. Instants in the wrong order, an unknown outcome or a
// threshold that is none do pass: an Accumulator has rules for them and counts them, and has to find them again in a
// file.
func (r *Record) checkBounds() error {
	if r.Outcome != 0 && !r.Outcome.Valid() {
		return badField("outcome", "there is no %v", r.Outcome)
	}
	if len(r.Class) > maxClass {
		return badField("class", "%d bytes long, at most %d", len(r.Class), maxClass)
	}
	if !utf8.ValidString(r.Class) {
		return badField("class", "not UTF-8")
	}
	for _, f := range [...]struct {
		name string
		d    time.Duration
	}{{"sent_ns", r.Sent}, {"first_byte_ns", r.FirstByte}, {"first_output_ns", r.FirstOutput}, {"end_ns", r.End}} {
		if !inNanos(int64(f.d)) {
			return badField(f.name, "over 100 years from the start")
		}
	}
	if len(r.Tokens) > maxEvents {
		return badField("tokens", "over %d events", maxEvents)
	}
	for i, t := range r.Tokens {
		if !inNanos(int64(t.At)) {
			return badField("tokens", "event %d is over 100 years from the start", i)
		}
		if t.N < 0 || t.N > maxCount {
			return badField("tokens", "event %d carries %d tokens, not 0 to %d", i, t.N, maxCount)
		}
	}
	for _, f := range [...]struct {
		name string
		n    int
	}{{"input_tokens", r.InputTokens}, {"output_tokens", r.OutputTokens}, {"attempts", r.Attempts}} {
		if f.n < 0 || f.n > maxCount {
			return badField(f.name, "%d is not 0 to %d", f.n, maxCount)
		}
	}
	if err := checkNames("custom", r.Custom); err != nil {
		return err
	}
	return checkNames("limits", r.Limits)
}

func checkNames(field string, m map[slo.Metric]float64) error {
	if len(m) > maxMetrics {
		return badField(field, "%d metrics, at most %d", len(m), maxMetrics)
	}
	for name := range m {
		if len(name) > slo.MaxMetricName || !utf8.ValidString(string(name)) {
			return badField(field, "the name of a metric is over %d bytes long or not UTF-8", slo.MaxMetricName)
		}
	}
	return nil
}

// checkYear refuses an instant that Unix nanoseconds cannot tell.
func checkYear(t time.Time) error {
	if y := t.UTC().Year(); y < 1679 || y > 2261 {
		return badField("start", "the year %d is not 1679 to 2261", y)
	}
	return nil
}

func inNanos(n int64) bool { return -maxOffset <= n && n <= maxOffset }

// limitNanos is a threshold on m in nanoseconds. It is not ok where m is no time, or v not a whole number of them.
func limitNanos(m slo.Metric, v float64) (ns int64, ok bool) {
	ns = int64(math.Round(min(v*1e9, maxLimitNanos)))
	return ns, m.IsTime() && ns > 0 && float64(ns)/1e9 == v
}

// MarshalJSON gives the record as one line, exact to the nanosecond:
//
//	{"start_ns":1760000000000000000,"sent_ns":1000,"tokens":[[105000000,1],[125000000,4]],"first_output_ns":105000000,
//	"end_ns":126000000,"input_tokens":50,"output_tokens":5,"outcome":"success"}
//
// start_ns is Unix time; in a file of records it counts from the start that the header names. Without a Start it is
// null. Every other _ns is an offset from Start. tokens is a list of [at, n], n = 0: nobody said. first_output_ns is
// null where there was no output, or reasoning only. outcome is the name, null where nobody said. Where there is
// something to say there are also class, first_byte_ns, finish, detail, attempts, custom (metric → value), limits_ns
// (metric → threshold in whole nanoseconds) and limits (all other thresholds, in the metric's base unit). In the last
// three null is a value that is no number.
//
// Finish is cut to 256 bytes and Detail to 1,024. What cannot be meant at all is a [*RecordError]: a negative count or
// one over 2³¹ − 1, over 2²⁰ token events, a time over 100 years from the record's start, a class name over 256 bytes, over 64 metrics in
// Custom or Limits, over 16 MiB in all.
func (r Record) MarshalJSON() ([]byte, error) {
	b := appendKey([]byte{'{'}, "start_ns")
	if r.Start.IsZero() {
		b = append(b, "null"...)
	} else {
		if err := checkYear(r.Start); err != nil {
			return nil, err
		}
		b = strconv.AppendInt(b, r.Start.UnixNano(), 10)
	}
	return r.appendFields(b)
}

// appendLine appends the record with start_ns counted from epoch, without a line feed.
func (r *Record) appendLine(b []byte, epoch time.Time) ([]byte, error) {
	b = appendKey(append(b, '{'), "start_ns")
	if r.Start.IsZero() {
		b = append(b, "null"...)
	} else {
		start := int64(r.Start.Sub(epoch))
		if !inNanos(start) {
			return b, badField("start_ns", "over 100 years from the file's start")
		}
		b = strconv.AppendInt(b, start, 10)
	}
	return r.appendFields(b)
}

// appendFields appends all that comes after start_ns, the closing brace included.
func (r *Record) appendFields(b []byte) ([]byte, error) {
	if err := r.checkBounds(); err != nil {
		return b, err
	}
	if r.Class != "" {
		b = appendText(appendKey(b, "class"), r.Class)
	}
	b = appendInt(b, "sent_ns", int64(r.Sent))
	if r.FirstByte != 0 {
		b = appendInt(b, "first_byte_ns", int64(r.FirstByte))
	}
	b = append(appendKey(b, "tokens"), '[')
	for i, t := range r.Tokens {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(append(b, '['), int64(t.At), 10)
		b = strconv.AppendInt(append(b, ','), int64(t.N), 10)
		b = append(b, ']')
	}
	b = append(b, ']')
	switch {
	case r.FirstOutput > 0:
		b = appendInt(b, "first_output_ns", int64(r.FirstOutput))
	case r.FirstOutput == 0 && len(r.Tokens) > 0:
		b = appendInt(b, "first_output_ns", int64(r.Tokens[0].At))
	default:
		b = append(appendKey(b, "first_output_ns"), "null"...)
	}
	b = appendInt(b, "end_ns", int64(r.End))
	b = appendInt(b, "input_tokens", int64(r.InputTokens))
	b = appendInt(b, "output_tokens", int64(r.OutputTokens))
	b = appendKey(b, "outcome")
	if r.Outcome == 0 {
		b = append(b, "null"...)
	} else {
		b = appendText(b, r.Outcome.String())
	}
	if r.Finish != "" {
		b = appendText(appendKey(b, "finish"), cut(r.Finish, maxFinish))
	}
	if r.Detail != "" {
		b = appendText(appendKey(b, "detail"), cut(r.Detail, maxDetail))
	}
	if r.Attempts != 0 {
		b = appendInt(b, "attempts", int64(r.Attempts))
	}
	if len(r.Custom) > 0 {
		b = appendMetrics(b, "custom", r.Custom)
	}
	if len(r.Limits) > 0 {
		b = appendLimits(b, r.Limits)
	}
	b = append(b, '}')
	if len(b) > maxRecordLine {
		return b, badField("", "over %d MiB long", maxRecordLine>>20)
	}
	return b, nil
}

// appendKey appends "key": and, but behind an opening brace, a comma before it.
func appendKey(b []byte, key string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func appendInt(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(appendKey(b, key), n, 10)
}

func appendLimits(b []byte, limits map[slo.Metric]float64) []byte {
	times, others := map[slo.Metric]float64{}, map[slo.Metric]float64{}
	for m, v := range limits {
		if ns, ok := limitNanos(m, v); ok {
			times[m] = float64(ns) // exact: it is below 2⁵³
		} else {
			others[m] = v
		}
	}
	if len(times) > 0 {
		b = appendMetrics(b, "limits_ns", times)
	}
	if len(others) > 0 {
		b = appendMetrics(b, "limits", others)
	}
	return b
}

// appendMetrics appends m as an object, in the order of the names.
func appendMetrics(b []byte, key string, m map[slo.Metric]float64) []byte {
	b = append(appendKey(b, key), '{')
	for i, name := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, string(name)), ':')
		switch v := m[name]; {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1<<53:
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		default:
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		}
	}
	return append(b, '}')
}

// appendText appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if !plain(s[i]) {
			quoted, _ := json.Marshal(s) // a string always marshals
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// plain says whether c stands for itself between quotes.
func plain(c byte) bool { return ' ' <= c && c <= '~' && c != '"' && c != '\\' }

// cut is s, or its longest beginning of at most n bytes that ends with a whole rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// UnmarshalJSON reads what MarshalJSON gives; a record that was in r before is gone. sent_ns, end_ns and outcome have to
// be there; what else is absent or null was not said. A key that it does not know is skipped. Whatever MarshalJSON
// refuses, a key that is there twice and a number that is not whole where it has to be is a [*RecordError].
func (r *Record) UnmarshalJSON(data []byte) error {
	var s recordScanner
	start, err := s.scan(data, r)
	if err == nil && start.there {
		r.Start = time.Unix(0, start.ns).UTC()
	}
	return err
}
