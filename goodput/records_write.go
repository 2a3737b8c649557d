package goodput

import (
	"bufio"
	"fmt"
	"io"
	"sync"
	"time"
)

// A RecordWriter writes a file of records as JSON lines: a [RecordsHeader], a line for each record as
// [Record.MarshalJSON] describes it, with start_ns counted from the header's start, and a [RecordsFooter], without which
// readers take the file for incomplete. Prompts and answers are in none of them.
//
//	{"format":"goodput-records/1","start":"2026-03-01T12:00:00.5Z","slo":"ttft p95 < 2s","fingerprint":"a0b4…","window_ns":[1000000000,null]}
//	{"start_ns":1200000000,"sent_ns":31000,"tokens":[[105000000,1],[125000000,1]],"first_output_ns":105000000,"end_ns":126000000,…}
//	{"footer":true,"records":1,"complete":true,"window_ns":[1000000000,9000000000],"window_end_included":true}
//
// window_ns is the steady state, [from, to) in nanoseconds from start, or with to in it where window_end_included says
// so; null for to: not known yet. Without it the window is the whole run. The footer's takes the place of the header's.
// Other keys are classes (SLO by class), slo_name, class_slo_names, confidence and about in the header; left_out, health
// (a [ClientHealth]), warnings and warmup_ns (how long there had been load before the window) in the footer.
//
// The methods may be called from any goroutine; the records stand in the order of the calls. They go through a buffer
// of 64 KiB, so that a Write may have to wait for the writer below, and what is to outlive a process that is killed has to be
// flushed.
type RecordWriter struct {
	epoch time.Time
	lines sync.Pool // *[]byte

	mu      sync.Mutex
	w       *bufio.Writer
	records uint64
	leftOut uint64
	err     error // of the writer below, or ErrClosed
}

// NewRecordWriter writes the header to w. It refuses one that cannot be meant: no Start, an invalid SLO, a window that
// ends before it begins, over 1 MiB in all.
func NewRecordWriter(w io.Writer, h RecordsHeader) (*RecordWriter, error) {
	line, err := h.line()
	if err != nil {
		return nil, fmt.Errorf("goodput: header of records: %w", err)
	}
	rw := &RecordWriter{epoch: h.Start, w: bufio.NewWriterSize(w, 64<<10)}
	_, err = rw.w.Write(line)
	return rw, err
}

// Write appends r, and keeps nothing of it. A [*RecordError] means that this record cannot be written; the file is then
// incomplete and its footer says so, but it goes on. Any other error is that of the writer below and stays.
func (w *RecordWriter) Write(r *Record) error {
	buf, _ := w.lines.Get().(*[]byte)
	if buf == nil {
		buf = new([]byte)
	}
	line, err := r.appendLine((*buf)[:0], w.epoch)
	line = append(line, '\n')
	*buf = line
	if cap(line) <= 1<<20 { // the odd giant is not kept
		defer w.lines.Put(buf)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	if err != nil {
		w.leftOut++
		return err
	}
	w.records++
	_, w.err = w.w.Write(line)
	return w.err
}

// Flush hands everything that was written to the writer below.
func (w *RecordWriter) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.err
}

// Close writes the footer and flushes; the writer below stays open. Records are counted here, and records that Write
// refused are added to LeftOut. Where any was left out the file says that it is incomplete, whatever f says; if f calls
// it complete, Close returns an error that is [ErrIncomplete]. Without a Close, or after an error of the writer below,
// the file has no footer.
func (w *RecordWriter) Close(f RecordsFooter) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	claimed := f.Complete
	f.Records = w.records
	f.LeftOut += w.leftOut
	f.Complete = f.Complete && f.LeftOut == 0
	line, err := f.line(w.epoch)
	if err != nil {
		return fmt.Errorf("goodput: footer of records: %w", err)
	}
	if _, w.err = w.w.Write(line); w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return w.err
	}
	w.err = ErrClosed
	if claimed && !f.Complete {
		return fmt.Errorf("goodput: the file of records is %w: %d left out", ErrIncomplete, f.LeftOut)
	}
	return nil
}
