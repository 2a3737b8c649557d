package goodput

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// A RecordReader reads what a [RecordWriter] wrote.
type RecordReader struct {
	lines      lineReader
	header     RecordsHeader
	footer     RecordsFooter
	footed     bool // there was a footer
	incomplete bool // is allowed
	records    uint64
	done       bool
	scanner    recordScanner
	each       func(*Accumulator, *Record)
}

// A ReadOption changes what a file of records has to be like.
type ReadOption func(*RecordReader)

// AllowIncomplete reads a file from which records are missing: its footer says so, counts more records than there are,
// or is not there, because the program that wrote the file came to no regular end. A last line without its line feed is
// then left out where it is no record. Lines in the midst of the file that are no records are still errors.
func AllowIncomplete() ReadOption { return func(r *RecordReader) { r.incomplete = true } }

// ReadRecords reads the header of a file of records. An error says the line ([*LineError]) and is [ErrNotRecords] where
// the file is something else, and [ErrFingerprint] where the SLO was changed after the run.
//
// A file may come from anywhere: a line is at most 16 MiB long, and memory is bounded by the longest line.
func ReadRecords(r io.Reader, opts ...ReadOption) (*RecordReader, error) {
	rr := &RecordReader{lines: lineReader{r: bufio.NewReaderSize(r, 64<<10)}}
	for _, o := range opts {
		o(rr)
	}
	line, err := rr.lines.next(maxHeaderLine)
	if err == io.EOF {
		err = fmt.Errorf("%w: it is empty", ErrNotRecords)
	}
	if long := tooLong(0); errors.As(err, &long) { // as no header is
		err = fmt.Errorf("%w: %w", ErrNotRecords, err)
	}
	if err == nil {
		rr.header, err = parseHeader(line)
	}
	if err != nil {
		return nil, rr.lines.blame(err)
	}
	return rr, nil
}

// Header is the first line.
func (r *RecordReader) Header() RecordsHeader { return r.header }

// Footer is the last line, and whether it was there. It is known after the last record.
func (r *RecordReader) Footer() (RecordsFooter, bool) { return r.footer, r.footed }

// All yields the records in the order of the file; each is the caller's to keep. An error ends the sequence and comes
// with a nil Record: a [*LineError], which is [ErrIncomplete] where records are missing. That may be known only at the
// end: what was made of the records until then is worth nothing. Another All reads on from where the last one stopped.
func (r *RecordReader) All() iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		for !r.done {
			rec, err := r.next()
			if err == io.EOF {
				r.done = true
				return
			}
			if err != nil {
				r.done = true
				yield(nil, r.lines.blame(err))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// next is the next record, or io.EOF after a footer that is as it has to be.
func (r *RecordReader) next() (*Record, error) {
	line, err := r.lines.next(maxRecordLine)
	if err == io.EOF {
		if r.incomplete {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("%w: the file ends without a footer", ErrIncomplete)
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(line, footerStart) {
		return nil, r.end(line)
	}
	rec := new(Record)
	start, err := r.scanner.scan(line, rec)
	if err == nil && start.there {
		if !inNanos(start.ns) {
			err = badField("start_ns", "over 100 years from the file's start")
		}
		rec.Start = r.header.Start.Add(time.Duration(start.ns))
	}
	if err != nil {
		return nil, r.torn(err)
	}
	r.records++
	return rec, nil
}

// torn is what an error in the current line comes to: if its line feed is missing, somebody was cut off while writing it.
func (r *RecordReader) torn(err error) error {
	switch {
	case err == io.EOF || !r.lines.torn:
		return err
	case r.incomplete:
		return io.EOF
	default:
		return fmt.Errorf("%w: it breaks off in a line: %w", ErrIncomplete, err)
	}
}

// end reads the footer. It returns io.EOF where all is well.
func (r *RecordReader) end(line []byte) error {
	if len(line) > maxHeaderLine {
		return tooLong(maxHeaderLine)
	}
	f, err := parseFooter(line, r.header.Start)
	if err != nil {
		return r.torn(err)
	}
	r.footer, r.footed = f, true
	switch {
	case f.Records < r.records:
		return fmt.Errorf("the footer counts %d records, and there are %d", f.Records, r.records)
	case r.incomplete:
	case f.Records > r.records:
		return fmt.Errorf("%w: the footer counts %d records, and there are %d", ErrIncomplete, f.Records, r.records)
	case !f.Complete:
		return fmt.Errorf("%w, as the footer says: %d left out", ErrIncomplete, f.LeftOut)
	}
	_, err = r.lines.next(maxRecordLine)
	if err == nil {
		return errors.New("the file goes on after its footer")
	}
	return err
}

// lineReader reads lines of bounded length and counts them. Empty ones are skipped.
type lineReader struct {
	r    *bufio.Reader
	long []byte // of a line that does not fit the reader's buffer
	n    int
	torn bool // the last line had no line feed
}

// tooLong is the error of a line that is longer than that, in bytes.
type tooLong int

func (n tooLong) Error() string { return fmt.Sprintf("longer than %d MiB", int(n)>>20) }

// next is the next line without its end; it is good until the next call. After the last line: io.EOF.
func (l *lineReader) next(limit int) ([]byte, error) {
	for {
		l.n++
		line, err := l.read(limit)
		l.torn = err == io.EOF
		if err != nil && !(err == io.EOF && len(line) > 0) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) read(limit int) ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	l.long = l.long[:0]
	for err == bufio.ErrBufferFull {
		if len(l.long)+len(line) > limit+1 {
			return nil, tooLong(limit)
		}
		l.long = append(l.long, line...)
		line, err = l.r.ReadSlice('\n')
	}
	l.long = append(l.long, line...)
	if len(l.long) > limit+1 {
		return nil, tooLong(limit)
	}
	return l.long, err
}

func (l *lineReader) blame(err error) error { return &LineError{Line: l.n, Err: err} }
