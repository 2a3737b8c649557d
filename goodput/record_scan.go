package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// recordScanner reads the JSON of one record in one pass. encoding/json takes several times as long for the token
// events, which are nearly all of a line; it still decides about what is rare: strings with escapes, fractions, the
// values of unknown keys. The zero value is ready, and scanning again with the same one saves allocations.
type recordScanner struct {
	b      []byte
	i      int
	err    error // the first error; all methods do nothing from then on
	tokens []Token
}

// nanos is an instant, or none.
type nanos struct {
	ns    int64
	there bool
}

// scan reads line into r, all but Start: what start_ns counts from is the caller's to know.
func (s *recordScanner) scan(line []byte, r *Record) (start nanos, err error) {
	*r = Record{}
	if len(line) > maxRecordLine {
		return nanos{}, badField("", "over %d MiB long", maxRecordLine>>20)
	}
	s.b, s.i, s.err = line, 0, nil
	var seen uint32 // a bit for each of recordKeys
	var sent, end, output nanos
	for key := range s.object() {
		k := slices.IndexFunc(recordKeys[:], func(name string) bool { return name == string(key) })
		if k < 0 {
			s.skip()
			continue
		}
		name := recordKeys[k]
		if seen&(1<<k) != 0 {
			s.fail(name, "there twice")
			break
		}
		seen |= 1 << k
		if s.null() {
			continue
		}
		switch name {
		case "start_ns":
			start = nanos{s.integer(name), true}
		case "class":
			r.Class = string(s.text(name))
		case "sent_ns":
			sent = nanos{s.integer(name), true}
		case "first_byte_ns":
			r.FirstByte = time.Duration(s.integer(name))
		case "tokens":
			r.Tokens = s.events()
		case "first_output_ns":
			output = nanos{s.integer(name), true}
		case "end_ns":
			end = nanos{s.integer(name), true}
		case "input_tokens":
			r.InputTokens = s.count(name)
		case "output_tokens":
			r.OutputTokens = s.count(name)
		case "outcome":
			r.Outcome = s.outcome()
		case "finish":
			r.Finish = cut(string(s.text(name)), maxFinish)
		case "detail":
			r.Detail = cut(string(s.text(name)), maxDetail)
		case "attempts":
			r.Attempts = s.count(name)
		case "custom", "limits":
			s.metrics(name, r)
		case "limits_ns":
			s.limitsNs(name, r)
		}
	}
	s.end()
	r.Sent, r.End = time.Duration(sent.ns), time.Duration(end.ns)
	switch {
	case !sent.there:
		s.fail("sent_ns", "missing")
	case !end.there:
		s.fail("end_ns", "missing")
	case seen&keyOutcome == 0:
		s.fail("outcome", "missing")
	case !output.there:
		if seen&keyFirstOutput != 0 && len(r.Tokens) > 0 {
			r.FirstOutput = -1
		}
	case len(r.Tokens) > 0 && output.ns == int64(r.Tokens[0].At):
	case output.ns > 0:
		r.FirstOutput = time.Duration(output.ns)
	default:
		s.fail("first_output_ns", "not after the start, and not the first token event")
	}
	if s.err == nil {
		s.err = r.checkBounds()
	}
	return start, s.err
}

// recordKeys are the keys of a record, the most frequent first.
var recordKeys = [...]string{
	"outcome", "first_output_ns", // keyOutcome, keyFirstOutput
	"start_ns", "sent_ns", "tokens", "end_ns", "input_tokens", "output_tokens", "class", "first_byte_ns", "finish",
	"detail", "attempts", "custom", "limits_ns", "limits",
}

const (
	keyOutcome = 1 << iota
	keyFirstOutput
)

func (s *recordScanner) fail(field, problem string) {
	if s.err == nil {
		s.err = &RecordError{Field: field, Problem: problem}
	}
}

func (s *recordScanner) syntax() {
	if s.err == nil {
		s.err = badField("", "not JSON from byte %d on", s.i)
	}
}

// peek is the next byte that is no white space, 0 where there is none.
func (s *recordScanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// accept steps over c if it comes next.
func (s *recordScanner) accept(c byte) bool {
	if s.err != nil || s.peek() != c {
		return false
	}
	s.i++
	return true
}

// expect is accept where nothing else may come.
func (s *recordScanner) expect(c byte) bool {
	ok := s.accept(c)
	if !ok {
		s.syntax()
	}
	return ok
}

// end makes sure that nothing follows.
func (s *recordScanner) end() {
	if s.err == nil && (s.peek() != 0 || s.i < len(s.b)) {
		s.syntax()
	}
}

// object yields the keys of an object. The loop's body has to read the value.
func (s *recordScanner) object() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if !s.expect('{') || s.accept('}') {
			return
		}
		for {
			key := s.text("")
			if !s.expect(':') || !yield(key) || s.accept('}') || !s.expect(',') {
				return
			}
		}
	}
}

// null steps over a null if it comes next.
func (s *recordScanner) null() bool {
	if s.err != nil || s.peek() != 'n' || !bytes.HasPrefix(s.b[s.i:], []byte("null")) {
		return false
	}
	s.i += len("null")
	return true
}

// integer reads a whole number written without fraction and exponent.
func (s *recordScanner) integer(field string) int64 {
	if s.err != nil {
		return 0
	}
	c := s.peek()
	i, b := s.i, s.b
	if c == '-' {
		i++
	}
	from := i
	n, i := digits(b, from, 20) // 19 fit
	s.i = i
	switch {
	case i == from || i < len(b) && (b[i] == '.' || b[i] == 'e' || b[i] == 'E'):
		s.fail(field, "not a whole number")
	case i-from > 1 && b[from] == '0':
		s.fail(field, "a number that begins with 0")
	case i-from > 19 || n > math.MaxInt64:
		s.fail(field, "a number beyond all measure")
	}
	if c == '-' {
		return -int64(n)
	}
	return int64(n)
}

// count reads a whole number from 0 up that an int holds on every machine.
func (s *recordScanner) count(field string) int {
	n := s.integer(field)
	if n < 0 || n > maxCount {
		s.fail(field, fmt.Sprintf("%d is not 0 to %d", n, maxCount))
		return 0
	}
	return int(n)
}

// events reads the token events: [[at, n], …].
func (s *recordScanner) events() []Token {
	s.tokens = s.tokens[:0]
	if !s.expect('[') || s.accept(']') {
		return nil
	}
	for {
		t, ok := s.event()
		if !ok {
			s.expect('[')
			t.At = time.Duration(s.integer("tokens"))
			s.expect(',')
			t.N = s.count("tokens")
			s.expect(']')
		}
		if len(s.tokens) == maxEvents {
			s.fail("tokens", fmt.Sprintf("over %d events", maxEvents))
		}
		s.tokens = append(s.tokens, t)
		if s.accept(']') || !s.expect(',') {
			return slices.Clone(s.tokens)
		}
	}
}

// event reads one token event where it is written without spaces, as ours are, and both numbers are of ordinary size;
// else it reads nothing.
func (s *recordScanner) event() (Token, bool) {
	b := s.b[s.i:]
	if len(b) == 0 || b[0] != '[' {
		return Token{}, false
	}
	at, i := digits(b, 1, 18)
	if i == len(b) || b[i] != ',' {
		return Token{}, false
	}
	n, j := digits(b, i+1, 9)
	if i == 1 || j == i+1 || j == len(b) || b[j] != ']' || b[1] == '0' && i > 2 || b[i+1] == '0' && j > i+2 {
		return Token{}, false
	}
	s.i += j + 1
	return Token{At: time.Duration(at), N: int(n)}, true
}

// digits reads at most most digits from b[i] on and says where they end.
func digits(b []byte, i, most int) (n uint64, end int) {
	for last := min(len(b), i+most); i < last && '0' <= b[i] && b[i] <= '9'; i++ {
		n = n*10 + uint64(b[i]-'0')
	}
	return n, i
}

func (s *recordScanner) outcome() Outcome {
	text := s.text("outcome")
	for o := Success; o.Valid(); o++ {
		if outcomeNames[o] == string(text) {
			return o
		}
	}
	s.fail("outcome", fmt.Sprintf("there is no %.40q", text))
	return 0
}

// metrics reads an object of numbers into Custom or Limits; null is a value that is no number.
func (s *recordScanner) metrics(field string, r *Record) {
	into := &r.Limits
	if field == "custom" {
		into = &r.Custom
	}
	for key := range s.object() {
		v := math.NaN()
		if !s.null() {
			if err := json.Unmarshal(s.value(), &v); err != nil {
				s.fail(field, "not a number")
			}
		}
		s.put(field, into, key, v)
	}
}

// limitsNs reads an object of thresholds that are times into Limits.
func (s *recordScanner) limitsNs(field string, r *Record) {
	for key := range s.object() {
		n := s.integer(field)
		v := float64(n) / 1e9
		if ns, ok := limitNanos(slo.Metric(key), v); !ok || ns != n {
			s.fail(field, "not a threshold of 1 ns to 26 days on a metric that is a time")
		}
		s.put(field, &r.Limits, key, v)
	}
}

func (s *recordScanner) put(field string, m *map[slo.Metric]float64, key []byte, v float64) {
	name := slo.Metric(key)
	switch _, twice := (*m)[name]; {
	case s.err != nil:
	case twice:
		s.fail(field, "the same metric twice")
	case len(*m) == maxMetrics:
		s.fail(field, fmt.Sprintf("over %d metrics", maxMetrics))
	case *m == nil:
		*m = map[slo.Metric]float64{name: v}
	default:
		(*m)[name] = v
	}
}

// text reads a string: a key where field is empty. It is good until the next scan.
func (s *recordScanner) text(field string) []byte {
	if s.err != nil {
		return nil
	}
	if s.peek() != '"' {
		s.noText(field)
		return nil
	}
	for i := s.i + 1; i < len(s.b); i++ {
		if c := s.b[i]; c == '"' {
			text := s.b[s.i+1 : i]
			s.i = i + 1
			return text
		} else if !plain(c) {
			break
		}
	}
	var text string
	if err := json.Unmarshal(s.value(), &text); err != nil {
		s.noText(field)
	}
	return []byte(text)
}

func (s *recordScanner) noText(field string) {
	if field == "" { // a key
		s.syntax()
	} else {
		s.fail(field, "not a string")
	}
}

// value steps over any value and returns its bytes. They may still be no JSON: only the end is found.
func (s *recordScanner) value() []byte {
	s.peek()
	from, depth, quoted := s.i, 0, false
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case quoted && c == '\\':
			s.i++
		case c == '"':
			quoted = !quoted
			if !quoted && depth == 0 {
				s.i++
				return s.b[from:s.i]
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth == 0 && (c == ',' || c == '}' || c == ']'):
			return s.b[from:s.i]
		case c == '}' || c == ']':
			depth--
		}
	}
	s.i = min(s.i, len(s.b))
	return s.b[from:s.i]
}

func (s *recordScanner) skip() {
	if s.err == nil && !json.Valid(s.value()) {
		s.syntax()
	}
}
