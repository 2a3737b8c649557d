package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// OpenTrace reads a trace from a file: see ReadTrace.
func OpenTrace(path string, opts ...Option) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadTrace(path, f, opts...)
}

// ReadTrace reads a trace; name stands for the file in errors. There are two formats, told apart by the first byte.
//
// Azure's, CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens, in any order and beside others:
//
//	TIMESTAMP,ContextTokens,GeneratedTokens
//	2023-11-16 18:15:46.6805900,374,44
//
// with times like these, in UTC, or with an offset at the end as in the traces of 2024.
//
// Mooncake's, a JSON object a line:
//
//	{"timestamp": 3000, "input_length": 2290, "output_length": 316, "hash_ids": [0, 42, 43, 44, 45]}
//
// with the timestamp in milliseconds and, for each 512 tokens of the prompt, an id that stands for them and all before
// them. "hash_ids" may be missing, other keys are passed over.
//
// In both the first request is at 0. Requests are in order of time: one before its predecessor is ErrOrder, since an
// order made up here would be no trace. It takes what NewTrace takes, and WithMaxLine and WithMaxSize. What is wrong
// with a file is a *FileError.
func ReadTrace(name string, r io.Reader, opts ...Option) (*Trace, error) {
	o, err := newOptions(forTrace, opts)
	if err != nil {
		return nil, err
	}
	t := &Trace{name: name, o: o}
	s := newSource(name, r, o)
	first, err := s.start()
	if err != nil {
		return nil, err
	}
	read := (&azureReader{t: t}).line
	if first == '{' {
		read = (&mooncakeReader{t: t}).line
	}
	if err := s.eachLine(read); err != nil {
		return nil, err
	}
	return t.done()
}

// azureReader reads lines of Azure's format.
type azureReader struct {
	t      *Trace
	at     []int // the columns of time, input and output; nil before the header
	layout int
	first  time.Time
}

// maxColumns bounds what a line of commas costs.
const maxColumns = 256

var azureColumns = []string{"TIMESTAMP", "ContextTokens", "GeneratedTokens"}

// A fraction of a second is taken after the seconds, though no layout has it.
var azureLayouts = []string{"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00", time.RFC3339}

func (a *azureReader) line(text []byte) (bool, error) {
	// The format quotes nothing and has no commas but those between columns.
	cells := strings.SplitN(string(text), ",", maxColumns)
	for i := range cells {
		cells[i] = strings.Trim(cells[i], " \t\"")
	}
	if a.at == nil {
		return false, a.header(cells)
	}
	if len(cells) <= slices.Max(a.at) {
		return false, fmt.Errorf("has %d columns; want those of the header", len(cells))
	}
	at, err := a.time(cells[a.at[0]])
	if err != nil {
		return false, err
	}
	if a.first.IsZero() {
		a.first = at
	}
	off := at.Sub(a.first)
	if off == math.MaxInt64 || off == math.MinInt64 {
		return false, errors.New("TIMESTAMP is centuries from that of the first request")
	}
	e := Entry{At: off}
	for i, n := range []*int{&e.InputTokens, &e.OutputTokens} {
		if *n, err = strconv.Atoi(cells[a.at[i+1]]); err != nil {
			return false, fmt.Errorf("%s is no whole number", azureColumns[i+1])
		}
	}
	return len(a.t.entries)+1 == a.t.o.limit, a.t.add(e)
}

func (a *azureReader) header(cells []string) error {
	for _, want := range azureColumns {
		i := slices.IndexFunc(cells, func(c string) bool { return strings.EqualFold(c, want) })
		if i < 0 {
			return fmt.Errorf("want a header with the columns %s, or JSON lines", strings.Join(azureColumns, ", "))
		}
		a.at = append(a.at, i)
	}
	return nil
}

// time reads an instant, with the layout that fitted the last one first.
func (a *azureReader) time(cell string) (time.Time, error) {
	for i := range azureLayouts {
		k := (a.layout + i) % len(azureLayouts)
		if at, err := time.Parse(azureLayouts[k], cell); err == nil {
			a.layout = k
			return at, nil
		}
	}
	return time.Time{}, errors.New("TIMESTAMP is no time such as 2023-11-16 18:15:46.6805900")
}

// mooncakeReader reads lines of Mooncake's format.
type mooncakeReader struct {
	t     *Trace
	first time.Duration
}

func (m *mooncakeReader) line(text []byte) (bool, error) {
	var row struct {
		Timestamp json.RawMessage `json:"timestamp"`
		Input     json.RawMessage `json:"input_length"`
		Output    json.RawMessage `json:"output_length"`
		HashIDs   json.RawMessage `json:"hash_ids"`
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return false, plainJSON("", "a JSON object", err)
	}
	at, err := milliseconds(row.Timestamp)
	if err != nil {
		return false, err
	}
	if len(m.t.entries) == 0 {
		m.first = at
	}
	e := Entry{At: at - m.first}
	if e.InputTokens, err = parseTokens("input_length", row.Input); err != nil {
		return false, err
	}
	if e.OutputTokens, err = parseTokens("output_length", row.Output); err != nil {
		return false, err
	}
	if row.HashIDs != nil && json.Unmarshal(row.HashIDs, &e.Blocks) != nil {
		return false, errors.New(`"hash_ids" is no list of whole numbers of 0 or more`)
	}
	return len(m.t.entries)+1 == m.t.o.limit, m.t.add(e)
}

// milliseconds reads a JSON number of milliseconds, from 0 to a century.
func milliseconds(raw json.RawMessage) (time.Duration, error) {
	const century = 100 * 365.25 * 24 * 3600 * 1000
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(ms >= 0 && ms <= century) {
		return 0, errors.New(`"timestamp" is no number of milliseconds, from 0 to a century`)
	}
	whole, frac := math.Modf(ms)
	return time.Duration(whole)*time.Millisecond + time.Duration(math.Round(frac*1e6)), nil
}
