package compat

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Errors of vLLM's result files, for errors.Is. Where the bytes are no JSON the error is a [*SyntaxError] as well.
var (
	// ErrNotVLLM: the file is JSON, and no result of vLLM's benchmark.
	ErrNotVLLM = errors.New("not a result of vLLM's benchmark")
	// ErrNoDetail: the result has figures of the run alone. Only with --save-detailed has it requests.
	ErrNoDetail = errors.New("the result has no requests: it was saved without --save-detailed")
	// ErrTruncated: the file ends in the middle.
	ErrTruncated = errors.New("the file ends too early")
	// ErrColumns: the lists of a result are not of one length, one is there twice, or an element is of the wrong kind.
	ErrColumns = errors.New("the lists of the result do not fit each other")
	// ErrTooLarge: more requests or more chunks than a reader takes; see WithMaxValues.
	ErrTooLarge = errors.New("too many values")
)

// What a vLLM result does not say, for errors.Is with [VLLMRun.Warnings].
var (
	// ErrNoStarts: the version that wrote it saved no start_times (they came with vllm-project/vllm#32667). All requests
	// begin at the same instant here: rates are as vLLM's, and what depends on the order of requests in time (the time
	// line, verdicts and intervals that allow for it) says nothing.
	ErrNoStarts = errors.New("no start_times")
	// ErrNoQueue: no queue_times. Latencies then count from the send, and whether a request waited in the client before
	// it is not known.
	ErrNoQueue = errors.New("no queue_times")
	// ErrNoLatencies: no latencies, as in every version before they were saved: a request ends with its last chunk.
	ErrNoLatencies = errors.New("no latencies")
	// ErrNoEnd: requests that failed, of which nobody said when: they end with their last chunk or, without one, at once.
	ErrNoEnd = errors.New("failures without an end")
	// ErrNoCounts: successes of which nobody counted the tokens.
	ErrNoCounts = errors.New("no output tokens")
	// ErrChunks: answers with more chunks than tokens, since vLLM takes a chunk with a role alone, or an empty one, for a
	// token. Their ttft may be that of a chunk that carried none, and N is the number of chunks.
	ErrChunks = errors.New("more chunks than tokens")
	// ErrCompleted: the file counts more or fewer completed requests than there are here. An error that vLLM saved
	// without a text is told from a success by its having no token and no ttft.
	ErrCompleted = errors.New("the file counts other requests as completed")
	// ErrValues: values that are none (NaN, negative), taken for unknown.
	ErrValues = errors.New("values that are none")
)

// A VLLMOption changes how a vLLM result is read.
type VLLMOption func(*vllmReader)

// DefaultMaxValues is how many numbers of requests and chunks are read unless WithMaxValues says otherwise: 256 MiB of them.
const DefaultMaxValues = 32 << 20

// WithMaxValues bounds memory: at most n numbers of requests and chunks, of 8 bytes each, and an error that is
// [ErrTooLarge] beyond.
func WithMaxValues(n int) VLLMOption { return func(r *vllmReader) { r.left = n } }

// WithRunStart is the instant at which the first request was due. vLLM saves only times of a clock that began anywhere, and
// the local time at the run's end; without this option that time, taken for UTC, is the start.
func WithRunStart(t time.Time) VLLMOption { return func(r *vllmReader) { r.start = t } }

// A VLLMRun is one result that vLLM's benchmark saved with --save-result --save-detailed.
type VLLMRun struct {
	Date           time.Time // when it was saved, local time of that machine, read as UTC; zero: not said
	Model, Backend string
	RequestRate    float64       // requests/s asked for; +Inf: as fast as they go; NaN: not said
	MaxConcurrency int           // 0: no bound, or not said
	Duration       time.Duration // by vLLM's clock; 0: not said
	Completed      int           // what it counted as successful; −1: not said
	Warnings       []error       // what the file does not say; errors.Is against the Err… values

	// Figures are all other numbers of the result by their key: what vLLM printed, in milliseconds where the key ends so.
	Figures map[string]float64

	start   time.Time
	first   int64 // of start_times less queue_times, the least
	noEnds  bool  // there are failures of which nobody said when they ended
	columns columns
}

// columns are the lists of a result, each nil where it is not there. Times are in ns, −1: unknown.
type columns struct {
	input, output                []int32 // tokens; 0: unknown
	ttft, start, latency, queued []int64
	gaps                         []int64 // of all requests, one after the other
	ends                         []int   // of each request, its end in gaps
	failures                     []failure
}

// A failure is what an error's text says; the zero failure is no error.
type failure struct {
	outcome goodput.Outcome
	detail  string
}

type vllmReader struct {
	scanner
	left  int
	start time.Time
	run   *VLLMRun
	bad   uint64 // values that are none
	seen  map[string]bool
}

// VLLMRuns reads the results in a file one after the other: --append-result makes files of several. An error ends the
// sequence and comes with a nil run; it is one of ErrNotVLLM, ErrNoDetail, ErrTruncated, ErrColumns, ErrTooLarge, a
// [*SyntaxError], or the reader's own. Memory is bounded whatever the file says: see [WithMaxValues].
func VLLMRuns(r io.Reader, opts ...VLLMOption) iter.Seq2[*VLLMRun, error] {
	return func(yield func(*VLLMRun, error) bool) {
		v := &vllmReader{scanner: scanner{r: bufio.NewReaderSize(r, 64<<10)}}
		for first := true; ; first = false {
			v.left, v.start = DefaultMaxValues, time.Time{}
			for _, o := range opts {
				o(v)
			}
			b, err := v.peek()
			if err == nil && b == eof {
				if !first {
					return
				}
				err = fmt.Errorf("%w: it is empty", ErrNotVLLM)
			}
			if err == nil {
				err = v.read(b)
			}
			if err != nil {
				yield(nil, fmt.Errorf("compat: vLLM result: %w", err))
				return
			}
			if !yield(v.run, nil) {
				return
			}
		}
	}
}

// ReadVLLM reads a file with one result. A second one is an error: see [VLLMRuns].
func ReadVLLM(r io.Reader, opts ...VLLMOption) (*VLLMRun, error) {
	var only *VLLMRun
	for run, err := range VLLMRuns(r, opts...) {
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, errors.New("compat: vLLM result: there are several in the file")
		}
		only = run
	}
	return only, nil
}

// read reads one result, whose first byte is b.
func (v *vllmReader) read(b byte) error {
	if b != '{' {
		return fmt.Errorf("%w: it is no object", ErrNotVLLM)
	}
	v.run, v.bad, v.seen = &VLLMRun{RequestRate: math.NaN(), Completed: -1, Figures: map[string]float64{}}, 0, map[string]bool{}
	if err := v.object(v.field); err != nil {
		return err
	}
	return v.finish()
}

// maxFigures bounds Figures.
const maxFigures = 1000

func (v *vllmReader) field(key string) error {
	c := &v.run.columns
	list := func(read func() error) error {
		b, err := v.peek()
		switch {
		case err != nil:
			return err
		case b == 'n': // null
			return v.skip(0)
		case b != '[' && b != eof:
			return fmt.Errorf("%w: %s is no list", ErrColumns, key)
		case v.seen[key]:
			return fmt.Errorf("%w: %s is there twice", ErrColumns, key)
		}
		v.seen[key] = true
		return v.array(read)
	}
	switch key {
	case "input_lens":
		return list(func() error { return v.count(&c.input) })
	case "output_lens":
		return list(func() error { return v.count(&c.output) })
	case "ttfts":
		return list(func() error { return v.time(&c.ttft) })
	case "latencies":
		return list(func() error { return v.time(&c.latency) })
	case "queue_times":
		return list(func() error { return v.time(&c.queued) })
	case "start_times":
		return list(func() error { return v.time(&c.start) })
	case "itls":
		return list(func() error {
			b, err := v.peek()
			if err != nil {
				return err
			}
			if b != '[' && b != eof {
				return fmt.Errorf("%w: itls is no list of lists", ErrColumns)
			}
			if err := v.array(func() error { return v.time(&c.gaps) }); err != nil {
				return err
			}
			return push(v, &c.ends, len(c.gaps))
		})
	case "errors":
		return list(func() error {
			b, err := v.peek()
			if err != nil {
				return err
			}
			if b != '"' {
				if err := v.skip(0); err != nil {
					return err
				}
				return push(v, &c.failures, failure{})
			}
			text, err := v.text()
			if err != nil {
				return err
			}
			return push(v, &c.failures, failureOf(text))
		})
	}
	return v.scalar(key)
}

// push appends one value, as long as there may be more.
func push[T any](v *vllmReader, list *[]T, x T) error {
	if v.left--; v.left < 0 {
		return ErrTooLarge
	}
	*list = append(*list, x)
	return nil
}

func (v *vllmReader) time(list *[]int64) error {
	x, err := v.element()
	if err != nil {
		return err
	}
	ns := int64(-1)
	switch {
	case x >= 0 && x < float64(maxOffset)/1e9:
		ns = int64(math.Round(x * 1e9))
	case !math.IsNaN(x):
		v.bad++
	}
	return push(v, list, ns)
}

func (v *vllmReader) count(list *[]int32) error {
	x, err := v.element()
	if err != nil {
		return err
	}
	n := int32(0)
	switch {
	case x >= 0 && x <= maxTokens && x == math.Trunc(x):
		n = int32(x)
	case !math.IsNaN(x):
		v.bad++
	}
	return push(v, list, n)
}

// element is a number in a list; NaN for null.
func (v *vllmReader) element() (float64, error) {
	b, err := v.peek()
	if err != nil {
		return 0, err
	}
	if b == '"' || b == '[' || b == '{' || b == 't' || b == 'f' {
		return 0, fmt.Errorf("%w: byte %d is no number", ErrColumns, v.off)
	}
	x, err := v.number()
	if err == errNoNumber {
		return math.NaN(), nil
	}
	if err == nil && math.IsNaN(x) {
		v.bad++
	}
	return x, err
}

// scalar reads a field that is no list of requests.
func (v *vllmReader) scalar(key string) error {
	b, err := v.peek()
	if err != nil {
		return err
	}
	switch {
	case b == '"':
		text, err := v.text()
		if err != nil {
			return err
		}
		switch key {
		case "model_id":
			v.run.Model = text
		case "backend":
			v.run.Backend = text
		case "endpoint_type":
			if v.run.Backend == "" {
				v.run.Backend = text
			}
		case "date":
			v.run.Date, _ = time.Parse("20060102-150405", text)
		case "request_rate":
			if text == "inf" {
				v.run.RequestRate = math.Inf(1)
			}
		}
		return nil
	case b == '-' || b >= '0' && b <= '9' || b == 'N' || b == 'I':
		x, err := v.number()
		if err != nil {
			return err
		}
		switch key {
		case "duration":
			if x > 0 && x < float64(maxOffset)/1e9 {
				v.run.Duration = time.Duration(math.Round(x * 1e9))
			}
		case "completed":
			if x >= 0 && x < maxTokens {
				v.run.Completed = int(x)
			}
		case "request_rate":
			v.run.RequestRate = x
		case "max_concurrency":
			if x >= 0 && x < maxTokens {
				v.run.MaxConcurrency = int(x)
			}
		default:
			if len(v.run.Figures) < maxFigures {
				v.run.Figures[key] = x
			}
		}
		return nil
	}
	return v.skip(0)
}
