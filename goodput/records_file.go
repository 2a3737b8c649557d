package goodput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// RecordsFormat is the value of the "format" key in the first line of a file of records. It changes when a key changes
// its meaning.
const RecordsFormat = "goodput-records/1"

// Errors of files of records, for errors.Is. One that a line is to blame for is inside a [*LineError].
var (
	// ErrNotRecords: the first line is no header of a file of records, or one of a format that this version does not know.
	ErrNotRecords = errors.New("not a file of records")
	// ErrFingerprint: the SLO in the header is not the one that the fingerprint beside it was made of.
	ErrFingerprint = errors.New("the SLO does not match its fingerprint")
	// ErrIncomplete: records are missing from the file. [AllowIncomplete] reads it all the same.
	ErrIncomplete = errors.New("incomplete")
	// ErrNoSLO: there is nothing in the file to judge its records by.
	ErrNoSLO = errors.New("no SLO")
	// ErrClosed: the [RecordWriter] has been closed.
	ErrClosed = errors.New("goodput: the RecordWriter is closed")
)

// maxHeaderLine bounds the first and the last line, in bytes.
const maxHeaderLine = 1 << 20

// RecordsHeader is the first line of a file of records: what one has to know beside the records to give the same report
// again.
type RecordsHeader struct {
	Start   time.Time // of the run; the file's start_ns count from it. RFC 3339 in JSON; read back in UTC
	SLO     slo.SLO   // what the records are judged by; zero: nothing yet
	Classes slo.Set   // SLOs of classes of their own; only beside an SLO

	// Window is the steady state as far as it is known beforehand, Open where its end is not; zero: the whole run. Its
	// instants should be made of Start (Start.Add), so that a step of the wall clock does not come between them.
	Window Window

	Confidence float64 // of verdicts and intervals; 0: DefaultConfidence

	// About is for people: the target, the load, the version of the server. No secrets.
	About map[string]string
}

// RecordsFooter is the last line of a file of records.
type RecordsFooter struct {
	Records  uint64        // lines between header and footer; Close counts them itself
	Complete bool          // every record that there was is in the file
	LeftOut  uint64        // records that are not; Close adds those that it could not write
	Window   Window        // the steady state as it turned out; zero: as the header says
	Health   *ClientHealth // nil: nobody measured the client
	Warnings []string      // what the report warns of beyond what an Accumulator sees by itself
}

// A LineError says which line of a file of records is wrong, counted from 1.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("goodput: records, line %d: %v", e.Line, e.Err)
}

// Unwrap is the error without the line.
func (e *LineError) Unwrap() error { return e.Err }

// headerLine is RecordsHeader as JSON. Its first key tells a file of records from any other.
type headerLine struct {
	Format      string            `json:"format"`
	Start       time.Time         `json:"start"`
	SLO         *slo.SLO          `json:"slo,omitempty"`
	SLOName     string            `json:"slo_name,omitempty"`
	Classes     slo.Set           `json:"classes,omitempty"`
	ClassNames  map[string]string `json:"class_slo_names,omitempty"` // SLO.Name by class
	Fingerprint string            `json:"fingerprint,omitempty"`
	Confidence  float64           `json:"confidence,omitempty"`
	About       map[string]string `json:"about,omitempty"`
	windowLine
}

// footerLine is RecordsFooter as JSON. Its first key tells it from a record.
type footerLine struct {
	Footer   bool          `json:"footer"`
	Records  uint64        `json:"records"`
	Complete bool          `json:"complete"`
	LeftOut  uint64        `json:"left_out,omitempty"`
	Health   *ClientHealth `json:"health,omitempty"`
	Warnings []string      `json:"warnings,omitempty"`
	windowLine
}

// footerStart is what a footer begins with, and no record.
var footerStart = []byte(`{"footer":`)

// windowLine is a steady state in nanoseconds from the file's start. A null end is open.
type windowLine struct {
	Window   *[2]*int64 `json:"window_ns,omitempty"`
	Included bool       `json:"window_end_included,omitempty"`
	Warmup   int64      `json:"warmup_ns,omitempty"`
}

func lineOfWindow(w Window, epoch time.Time) (windowLine, error) {
	if w.Kind != SteadyState {
		if w.Kind != "" && w.Kind != WholeRun {
			return windowLine{}, fmt.Errorf("window: there is no kind %.40q", string(w.Kind))
		}
		return windowLine{}, nil
	}
	from := int64(w.From.Sub(epoch))
	if w.From.IsZero() || !inNanos(from) {
		return windowLine{}, errors.New("window: From is missing, or over 100 years from Start")
	}
	line := windowLine{Window: &[2]*int64{&from}}
	if !w.Open {
		to := int64(w.To.Sub(epoch))
		if w.To.IsZero() || to < from || !inNanos(to) {
			return windowLine{}, errors.New("window: To is missing, before From, or over 100 years from Start")
		}
		line.Window[1], line.Included = &to, w.ToIncluded
	}
	line.Warmup = int64(math.Round(w.WarmupS * 1e9))
	return line, nil
}

func (l windowLine) window(epoch time.Time) (Window, error) {
	if l.Window == nil {
		return Window{}, nil
	}
	from, to := l.Window[0], l.Window[1]
	if from == nil || !inNanos(*from) || to != nil && (*to < *from || !inNanos(*to)) {
		return Window{}, errors.New("window_ns is not [from, to] with from ≤ to")
	}
	if l.Warmup < 0 || !inNanos(l.Warmup) {
		return Window{}, errors.New("warmup_ns is below 0, or over 100 years")
	}
	w := Window{Kind: SteadyState, From: epoch.Add(time.Duration(*from)), WarmupS: time.Duration(l.Warmup).Seconds()}
	if w.Open = to == nil; !w.Open {
		w.To, w.ToIncluded = epoch.Add(time.Duration(*to)), l.Included
	}
	return w, nil
}

// line is the header as JSON, or says what is wrong with it.
func (h *RecordsHeader) line() ([]byte, error) {
	if h.Start.IsZero() {
		return nil, errors.New("no Start")
	}
	if err := checkYear(h.Start); err != nil {
		return nil, err
	}
	l := headerLine{Format: RecordsFormat, Start: h.Start.UTC(), About: h.About, Confidence: h.Confidence}
	if !validConfidence(h.Confidence) {
		return nil, fmt.Errorf("confidence %v is not between 0 and 1", h.Confidence)
	}
	if h.SLO.IsZero() {
		if len(h.Classes) > 0 {
			return nil, errors.New("classes without an SLO for the other classes")
		}
	} else {
		if err := h.SLO.Validate(); err != nil {
			return nil, err
		}
		if err := h.Classes.Validate(); err != nil {
			return nil, err
		}
		l.SLO, l.SLOName, l.Classes = &h.SLO, h.SLO.Name, h.Classes
		l.Fingerprint = h.Classes.Fingerprint(h.SLO)
		for class, s := range h.Classes {
			if s.Name != "" {
				if l.ClassNames == nil {
					l.ClassNames = map[string]string{}
				}
				l.ClassNames[class] = s.Name
			}
		}
	}
	var err error
	if l.windowLine, err = lineOfWindow(h.Window, h.Start); err != nil {
		return nil, err
	}
	return jsonLine(l)
}

// validConfidence is of a header: 0 is the default.
func validConfidence(c float64) bool { return c >= 0 && c < 1 }

// parseHeader reads the first line.
func parseHeader(line []byte) (RecordsHeader, error) {
	var format struct{ Format string }
	if err := json.Unmarshal(line, &format); err != nil || format.Format == "" {
		return RecordsHeader{}, fmt.Errorf("%w: it has no header", ErrNotRecords)
	}
	if format.Format != RecordsFormat {
		return RecordsHeader{}, fmt.Errorf("%w: format %.40q, want %q", ErrNotRecords, format.Format, RecordsFormat)
	}
	var l headerLine
	if err := json.Unmarshal(line, &l); err != nil {
		return RecordsHeader{}, fmt.Errorf("header: %w", err)
	}
	if l.Start.IsZero() {
		return RecordsHeader{}, errors.New("header: no start")
	}
	if err := checkYear(l.Start); err != nil {
		return RecordsHeader{}, err
	}
	if !validConfidence(l.Confidence) {
		return RecordsHeader{}, errors.New("header: confidence is not between 0 and 1")
	}
	h := RecordsHeader{Start: l.Start.UTC(), About: l.About, Confidence: l.Confidence}
	if l.SLO != nil {
		h.SLO, h.Classes = *l.SLO, l.Classes
		if err := h.Classes.Validate(); err != nil {
			return RecordsHeader{}, fmt.Errorf("header: %w", err)
		}
		if h.Classes.Fingerprint(h.SLO) != l.Fingerprint {
			return RecordsHeader{}, ErrFingerprint
		}
		h.SLO.Name = l.SLOName
		for class, name := range l.ClassNames {
			if s, ok := h.Classes[class]; ok {
				s.Name = name
				h.Classes[class] = s
			}
		}
	} else if len(l.Classes) > 0 || l.Fingerprint != "" {
		return RecordsHeader{}, errors.New("header: no slo")
	}
	var err error
	h.Window, err = l.window(h.Start)
	return h, err
}

func (f *RecordsFooter) line(epoch time.Time) ([]byte, error) {
	w, err := lineOfWindow(f.Window, epoch)
	if err != nil {
		return nil, err
	}
	return jsonLine(footerLine{Footer: true, Records: f.Records, Complete: f.Complete, LeftOut: f.LeftOut,
		Health: f.Health, Warnings: f.Warnings, windowLine: w})
}

func parseFooter(line []byte, epoch time.Time) (RecordsFooter, error) {
	var l footerLine
	if err := json.Unmarshal(line, &l); err != nil {
		return RecordsFooter{}, fmt.Errorf("footer: %w", err)
	}
	w, err := l.window(epoch)
	return RecordsFooter{Records: l.Records, Complete: l.Complete, LeftOut: l.LeftOut, Window: w, Health: l.Health,
		Warnings: l.Warnings}, err
}

// jsonLine is v on one line, with "<" as it is, since SLOs are full of it.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	if b.Len() > maxHeaderLine {
		return nil, fmt.Errorf("over %d MiB long", maxHeaderLine>>20)
	}
	return b.Bytes(), nil
}
