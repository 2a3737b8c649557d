package workload

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
)

// Entry is one request of a trace.
type Entry struct {
	At           time.Duration // when it arrived, from the trace's beginning
	InputTokens  int
	OutputTokens int
	Blocks       []uint64 // ids of the blocks that its prompt begins with; requests with the same ids share the text
	Class        string
}

// Trace is requests that were seen: when they arrived, and how long they were. Arrivals and Requests go together, the
// n-th request at the n-th instant.
type Trace struct {
	name    string
	entries []Entry
	o       *options
	corpus  *corpus
}

// NewTrace is a trace from anywhere; name is for people. Entries are in order of At, from 0, with at least one token in
// and out, and at most as many blocks as hold the input (see WithBlockTokens). It takes WithSeed, WithoutSalt,
// WithSaltSeed, WithTokensPerWord, WithTemplateTokens, WithoutText, WithClass, WithBody, WithLimit and WithBlockTokens.
// What is wrong with an entry is a *FileError whose line counts entries from 1.
func NewTrace(name string, entries []Entry, opts ...Option) (*Trace, error) {
	o, err := newOptions(forTrace, opts)
	if err != nil {
		return nil, err
	}
	if o.limit > 0 && len(entries) > o.limit {
		entries = entries[:o.limit]
	}
	t := &Trace{name: name, entries: make([]Entry, 0, len(entries)), o: o}
	for i, e := range entries {
		err := t.add(e)
		if i == 0 && e.At < 0 {
			err = fmt.Errorf("is at %v; want 0 or later", e.At)
		}
		if err != nil {
			return nil, &FileError{File: name, Line: i + 1, Err: err}
		}
	}
	return t.done()
}

// add checks an entry and takes it.
func (t *Trace) add(e Entry) error {
	if e.InputTokens < 1 || e.InputTokens > MaxLength || e.OutputTokens < 1 || e.OutputTokens > MaxLength {
		return fmt.Errorf("has %d tokens in and %d out; want 1 to %d", e.InputTokens, e.OutputTokens, MaxLength)
	}
	if most := (e.InputTokens + t.o.block - 1) / t.o.block; len(e.Blocks) > most {
		return fmt.Errorf("has %d blocks for %d input tokens; want at most %d of %d tokens each",
			len(e.Blocks), e.InputTokens, most, t.o.block)
	}
	if n := len(t.entries); n > 0 && e.At < t.entries[n-1].At {
		return fmt.Errorf("%w: it is %v before the one above; sort by time", ErrOrder, t.entries[n-1].At-e.At)
	}
	e.Blocks = slices.Clone(e.Blocks)
	t.entries = append(t.entries, e)
	return nil
}

// done is the trace with all its entries.
func (t *Trace) done() (*Trace, error) {
	if len(t.entries) == 0 {
		return nil, &FileError{File: t.name, Err: ErrEmpty}
	}
	t.entries = slices.Clip(t.entries)
	t.corpus = t.o.newCorpus()
	return t, nil
}

// Len is how many requests there are.
func (t *Trace) Len() int { return len(t.entries) }

// Span is the time from the first to the last arrival.
func (t *Trace) Span() time.Duration { return t.entries[len(t.entries)-1].At - t.entries[0].At }

// Rate is the mean rate of the trace as it was, in requests/s: its gaps over its span. It is +Inf where all requests come at one
// instant, NaN where there is one.
func (t *Trace) Rate() float64 { return float64(len(t.entries)-1) / t.Span().Seconds() }

// Entries is the entries in order. Their Blocks are not to be changed.
func (t *Trace) Entries() iter.Seq[Entry] { return slices.Values(t.entries) }

// Times is when the requests arrived, from the trace's beginning.
func (t *Trace) Times() []time.Duration {
	times := make([]time.Duration, len(t.entries))
	for i, e := range t.entries {
		times[i] = e.At
	}
	return times
}

// Arrivals is the trace's instants, at speed times their speed: 1 is as it was, 2 in half the time. For the Arrivals of
// the plan whose Workload is Requests.
func (t *Trace) Arrivals(speed float64) loadgen.Replay {
	return loadgen.Replay{At: t.Times(), Speed: speed}
}

// String is the name, how many requests and how long.
func (t Trace) String() string {
	return fmt.Sprintf("%s: %d requests in %v", t.name, len(t.entries), t.Span().Round(time.Millisecond))
}

// Requests is the requests in order, each with a prompt of random words that is as long as the trace says. Where there
// are blocks, the prompt consists of their texts, which are the same wherever the id is, and the salt is one of the
// block and not of the request: a prefix cache sees the sharing that was there, and nothing of the last pass. Requests
// share their Body, which is not to be changed.
func (t *Trace) Requests() iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		w := t.o.newWriter(t.corpus)
		for i, e := range t.entries {
			req := &loadgen.Request{
				Class:       e.Class,
				Prompt:      w.prompt(uint64(i), e.InputTokens, e.Blocks),
				InputTokens: e.InputTokens,
				MaxTokens:   e.OutputTokens,
				Body:        t.o.body,
			}
			if req.Class == "" {
				req.Class = t.o.class
			}
			if !yield(req) {
				return
			}
		}
	}
}
