package compat

import (
	"fmt"
	"iter"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// failureOf reads the text that vLLM saved of an error: the reason phrase of an HTTP status, a Python traceback, or its
// own sentence for a stream without a chunk. What the text says of the request or the answer is not kept.
func failureOf(text string) failure {
	if strings.TrimSpace(text) == "" {
		return failure{}
	}
	for code := 300; code < 600; code++ {
		if reason := http.StatusText(code); reason != "" && strings.EqualFold(text, reason) {
			return failure{goodput.OutcomeOfStatus(code, nil), reason}
		}
	}
	if name, _, ok := strings.Cut(text, ": "); ok || name == text { // as WriteVLLM writes it
		if o, err := goodput.ParseOutcome(name); err == nil && o != goodput.Success {
			return failure{o, ""}
		}
	}
	if strings.HasPrefix(text, "Never received a valid chunk") {
		return failure{goodput.Empty, "no chunk"}
	}
	last := strings.TrimSpace(text)
	last = last[strings.LastIndexByte(last, '\n')+1:]
	class, _, _ := strings.Cut(last, ":")
	class = class[strings.LastIndexByte(class, '.')+1:]
	for _, k := range exceptions {
		if strings.Contains(class, k.name) {
			return failure{k.outcome, k.name}
		}
	}
	return failure{goodput.ServerError, "an error of vLLM's client"}
}

// exceptions are what a traceback ends with. The first that is in the class's name counts.
var exceptions = []struct {
	name    string
	outcome goodput.Outcome
}{
	{"Timeout", goodput.Timeout},
	{"CancelledError", goodput.Cancelled},
	{"ClientPayloadError", goodput.Truncated},
	{"ServerDisconnectedError", goodput.ConnectionError},
	{"ClientConnector", goodput.ConnectionError},
	{"ClientOSError", goodput.ConnectionError},
	{"ConnectionResetError", goodput.ConnectionError},
	{"ConnectionRefusedError", goodput.ConnectionError},
	{"BrokenPipeError", goodput.ConnectionError},
	{"JSONDecodeError", goodput.Malformed},
	{"UnicodeDecodeError", goodput.Malformed},
}

// finish checks the columns and says what is not in them.
func (v *vllmReader) finish() error {
	r, c := v.run, &v.run.columns
	if !v.seen["ttfts"] || !v.seen["itls"] {
		if r.Duration > 0 && r.Completed >= 0 {
			return ErrNoDetail
		}
		return fmt.Errorf("%w: it has neither ttfts and itls nor a duration and a count of completed requests", ErrNotVLLM)
	}
	n := len(c.ttft)
	if n == 0 {
		return fmt.Errorf("%w: no requests", ErrNotVLLM)
	}
	for name, l := range map[string]int{"itls": len(c.ends), "input_lens": len(c.input), "output_lens": len(c.output), "start_times": len(c.start),
		"latencies": len(c.latency), "queue_times": len(c.queued), "errors": len(c.failures)} {
		if v.seen[name] && l != n {
			return fmt.Errorf("%w: %d ttfts and %d %s", ErrColumns, n, l, name)
		}
	}
	r.first = math.MaxInt64
	for i, at := range c.start {
		if at >= 0 {
			r.first = min(r.first, at-c.wait(i))
		}
	}
	if r.start = v.start; r.start.IsZero() {
		if r.start = r.Date; r.start.Year() < 1970 || r.start.Year() >= 2150 {
			r.start = time.Unix(0, 0).UTC()
		}
	}
	v.warn()
	return nil
}

// warn says what the records do not have.
func (v *vllmReader) warn() {
	r, c := v.run, &v.run.columns
	warn := func(kind error, format string, args ...any) {
		r.Warnings = append(r.Warnings, fmt.Errorf("%w: "+format, append([]any{kind}, args...)...))
	}
	if !r.started() {
		warn(ErrNoStarts, "all requests begin at one instant here, so the time line and what depends on their order say nothing")
	}
	if c.queued == nil {
		warn(ErrNoQueue, "latencies count from the send; a wait in the client is not known")
	}
	if c.latency == nil {
		warn(ErrNoLatencies, "a request ends with its last chunk here")
	}
	var completed, ends, counts, chunks uint64
	for i := range c.ttft {
		f, gaps := c.failure(i), uint64(len(c.steps(i)))
		tokens := uint64(c.tokens(i))
		switch {
		case f.outcome != 0:
			if c.latency == nil || c.latency[i] <= 0 {
				ends++
			}
			continue
		case tokens == 0:
			counts++
		case gaps+1 > tokens && c.ttft[i] > 0:
			chunks++
		}
		completed++
	}
	if r.noEnds = ends > 0; r.noEnds {
		warn(ErrNoEnd, "%s", counted(ends, "request", "requests"))
	}
	if counts > 0 {
		warn(ErrNoCounts, "of %s; the chunks are counted in their place", counted(counts, "success", "successes"))
	}
	if chunks > 0 {
		warn(ErrChunks, "in %s; their ttft may be that of a chunk with no token in it", counted(chunks, "answer", "answers"))
	}
	if r.Completed >= 0 && uint64(r.Completed) != completed {
		warn(ErrCompleted, "%d, where there are %d", r.Completed, completed)
	}
	if v.bad > 0 {
		warn(ErrValues, "%s, taken for unknown", counted(v.bad, "value", "values"))
	}
}

func (c *columns) steps(i int) []int64 {
	from := 0
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.gaps[from:c.ends[i]]
}

func (c *columns) tokens(i int) int32 {
	if c.output == nil {
		return 0
	}
	return c.output[i]
}

// wait is how long a request waited in the client, ns; 0 where nobody said.
func (c *columns) wait(i int) int64 {
	if c.queued == nil {
		return 0
	}
	return max(c.queued[i], 0)
}

// failure is why a request failed. vLLM saves no flag of success: one that has neither an error's text nor a token nor a
// ttft is one that it knew no text for.
func (c *columns) failure(i int) failure {
	if c.failures != nil && c.failures[i].outcome != 0 {
		return c.failures[i]
	}
	if c.ttft[i] <= 0 && len(c.steps(i)) == 0 && (c.output == nil || c.output[i] == 0) {
		return failure{goodput.ServerError, "an error without a text"}
	}
	return failure{}
}

// Len is the number of requests.
func (r *VLLMRun) Len() int { return len(r.columns.ttft) }

// Records are the requests in the order of the file, which is that of their sending. Start is the send less what the
// request waited in the client, where the file says it; the first token is vLLM's first chunk, and each chunk carries
// tokens that nobody counted (N is 0). OutputTokens is vLLM's count: the server's usage or, without one, that of its
// tokenizer over the text.
func (r *VLLMRun) Records() iter.Seq[*goodput.Record] {
	return func(yield func(*goodput.Record) bool) {
		for i := range r.columns.ttft {
			if !yield(r.record(i)) {
				return
			}
		}
	}
}

func (r *VLLMRun) record(i int) *goodput.Record {
	c := &r.columns
	rec := &goodput.Record{Start: r.start, Outcome: goodput.Success, OutputTokens: int(c.tokens(i))}
	if c.input != nil {
		rec.InputTokens = int(c.input[i])
	}
	rec.Sent = time.Duration(c.wait(i))
	if c.start != nil && c.start[i] >= 0 {
		rec.Start = r.start.Add(time.Duration(c.start[i]-r.first) - rec.Sent)
	}
	steps := c.steps(i)
	if slices.Contains(steps, -1) {
		steps = nil // where one is not known, neither are the instants after it
	}
	if c.ttft[i] > 0 || c.ttft[i] == 0 && len(steps) > 0 {
		at := min(rec.Sent+time.Duration(c.ttft[i]), time.Duration(maxOffset))
		rec.Tokens = append(make([]goodput.Token, 0, 1+len(steps)), goodput.Token{At: at})
		for _, gap := range steps {
			at = min(at+time.Duration(gap), time.Duration(maxOffset))
			rec.Tokens = append(rec.Tokens, goodput.Token{At: at})
		}
		rec.End = at
	} else {
		rec.End = rec.Sent
	}
	if c.latency != nil && c.latency[i] > 0 {
		rec.End = max(rec.End, rec.Sent+time.Duration(c.latency[i]))
	}
	if f := c.failure(i); f.outcome != 0 {
		rec.Outcome, rec.Detail, rec.OutputTokens = f.outcome, f.detail, 0
		if f.outcome == goodput.ConnectionError && len(rec.Tokens) > 0 {
			rec.Outcome = goodput.Truncated // it was lost after the first byte
		}
	}
	return rec
}

// Report judges the run by s as goodput does. Where the file does not say when requests were sent, or when failures ended,
// the window is vLLM's own duration from the first request on or, without that, of no length, so that there are no rates.
// Its warnings have the run's before them.
func (r *VLLMRun) Report(s slo.SLO) *goodput.Report {
	a := r.accumulator(s)
	for rec := range r.Records() {
		a.Observe(rec)
	}
	report := a.Report()
	report.Warnings = append(slices.Clone(r.Warnings), report.Warnings...)
	return report
}

// accumulator is one whose window is vLLM's duration where the records do not say how long the run was.
func (r *VLLMRun) accumulator(s slo.SLO) *goodput.Accumulator {
	if r.timed() {
		return goodput.NewAccumulator(s)
	}
	a := goodput.NewAccumulator(s, goodput.WithWindow(r.start, time.Time{}))
	a.EndWindowWith(r.start.Add(r.Duration))
	return a
}

// timed reports whether the first send and the last end are known.
func (r *VLLMRun) timed() bool { return r.started() && !r.noEnds }

// started reports whether it is known when each request was sent.
func (r *VLLMRun) started() bool {
	return r.columns.start != nil && !slices.Contains(r.columns.start, -1)
}

// Compare scores the run by every tool's rules, vLLM's with the duration that it measured itself. Where the file does not
// say when requests were sent, or when failures ended, that duration is everybody's.
func (r *VLLMRun) Compare(s slo.SLO) *Comparison {
	c := NewScorer(s, WithVLLMDuration(r.Duration))
	if !r.timed() {
		c.acc, c.untimed = r.accumulator(s), true
	}
	for rec := range r.Records() {
		c.Observe(rec)
	}
	out := c.Compare()
	out.Warnings = append(slices.Clone(r.Warnings), out.Warnings...)
	return out
}
