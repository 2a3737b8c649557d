package goodput

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// ReadReport judges the records of a file as its header says, and so gives again the report of the run that wrote it,
// the client's health and the warnings in the footer included. Counts, shares and rates are the same; percentiles of
// more than 1,000 values are so where the records were observed in the order in which they were written, and else
// within the error that package percentile states.
//
// The file is read twice, for where the steady state ended may stand in its last line only. The errors are those of
// [ReadRecords] and [RecordReader.All], among them [ErrIncomplete] and, where the header has no SLO, [ErrNoSLO]. With
// [AllowIncomplete] the report of an incomplete file warns of it.
//
// To judge by another SLO, or to read from something that cannot seek, observe what ReadRecords yields.
func ReadReport(r io.ReadSeeker, opts ...ReadOption) (*Report, error) {
	last, err := lastLine(r)
	if err != nil {
		return nil, err
	}
	rr, err := ReadRecords(r, opts...)
	if err != nil {
		return nil, err
	}
	a, err := rr.header.accumulator(last)
	if err != nil {
		return nil, rr.lines.blame(err)
	}
	for rec, err := range rr.All() {
		if err != nil {
			return nil, err
		}
		a.Observe(rec)
		if rr.each != nil {
			rr.each(a, rec)
		}
	}
	report := a.Report()
	report.Health = rr.footer.Health
	report.setWarmup(rr.footer.Window.WarmupS)
	for _, w := range rr.footer.Warnings {
		report.Warnings = append(report.Warnings, parseWarning(w))
	}
	if !rr.footed || !rr.footer.Complete || rr.footer.Records != rr.records {
		report.Warnings = append(report.Warnings, fmt.Errorf("%w: records are missing from the file that was read", ErrIncomplete))
	}
	return report, nil
}

// lastLine is the last line of a file, as far as a footer can be long, and sets r back to the beginning.
func lastLine(r io.ReadSeeker) ([]byte, error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(max(0, size-maxHeaderLine-2), io.SeekStart); err != nil { // its line end may be two bytes
		return nil, err
	}
	end, err := io.ReadAll(io.LimitReader(r, maxHeaderLine+2))
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	end = bytes.TrimSpace(end)
	return end[bytes.LastIndexByte(end, '\n')+1:], nil
}

// accumulator is one that judges as the header says, over the window in the footer, if that is what last is.
func (h *RecordsHeader) accumulator(last []byte) (*Accumulator, error) {
	if h.SLO.IsZero() {
		return nil, fmt.Errorf("%w to judge the records by", ErrNoSLO)
	}
	w := h.Window
	if bytes.HasPrefix(last, footerStart) {
		// A footer that cannot be read is found again, with its line, at the end of the records.
		if f, err := parseFooter(last, h.Start); err == nil && f.Window.Kind != "" {
			w = f.Window
		}
	}
	var opts []Option
	if h.Confidence > 0 {
		opts = append(opts, WithConfidence(h.Confidence))
	}
	if len(h.Classes) > 0 {
		opts = append(opts, WithClasses(h.Classes))
	}
	end := w.To
	if w.Kind == SteadyState {
		if w.ToIncluded {
			end = time.Time{} // EndWindowWith knows how
		}
		opts = append(opts, WithWindow(w.From, end))
	}
	a, err := newAccumulator(h.SLO, opts...)
	if err != nil {
		return nil, err
	}
	if w.Kind == SteadyState && w.ToIncluded {
		if !validStart(w.To) {
			return nil, errors.New("the window ends before 1970 or after 2150")
		}
		a.EndWindowWith(w.To)
	}
	return a, nil
}
