package monitor

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Figure is a number that may be absent, and then is NaN: a share of nothing is no share. In JSON an absent one is null.
type Figure float64

// Absent reports whether there is no such number.
func (f Figure) Absent() bool { return math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) }

// MarshalJSON is the number, or null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if f.Absent() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figure) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*f = Figure(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err == nil {
		*f = Figure(v)
	}
	return err
}

func ratio(a, b uint64) Figure {
	if b == 0 {
		return Figure(math.NaN())
	}
	return Figure(float64(a) / float64(b))
}

// Window is the counts of the last while, and what follows from them. Rates are per second in which the monitor was
// there: a downtime between a snapshot and its restoration is a gap in the window, and makes no rate lower.
type Window struct {
	Window  time.Duration `json:"-"`    // as asked for; "window_s" in JSON, in seconds
	From    time.Time     `json:"from"` // a slot's beginning: up to one slot more than asked for
	To      time.Time     `json:"to"`
	Watched time.Duration `json:"-"` // how much of it the monitor was there; "watched_s" in JSON, in seconds

	Offered  uint64 `json:"offered"`
	Ended    uint64 `json:"ended"` // throughput
	Recorded uint64 `json:"recorded"`
	Success  uint64 `json:"success"`
	Decided  uint64 `json:"decided"`
	Good     uint64 `json:"good"`

	OutputTokens     uint64 `json:"output_tokens"`
	GoodOutputTokens uint64 `json:"good_output_tokens"`

	Attainment Figure `json:"attainment"` // good / decided
	ErrorRate  Figure `json:"error_rate"` // not successful / recorded

	OfferedRate Figure `json:"offered_rps"`
	Throughput  Figure `json:"throughput_rps"`
	SuccessRate Figure `json:"success_rps"`
	Goodput     Figure `json:"goodput_rps"`
	OutputRate  Figure `json:"output_tps"`
	TokenRate   Figure `json:"token_goodput_tps"` // token goodput
}

func (w *Window) set(n []uint64) {
	w.Offered, w.Ended, w.Recorded, w.Success = n[cOffered], n[cEnded], n[cRecorded], n[cSuccess]
	w.Decided, w.Good, w.OutputTokens, w.GoodOutputTokens = n[cDecided], n[cGood], n[cOut], n[cGoodOut]
	w.Attainment = ratio(w.Good, w.Decided)
	w.ErrorRate = ratio(w.Recorded-w.Success, w.Recorded)
	rate := func(n uint64) Figure {
		if w.Watched <= 0 {
			return Figure(math.NaN())
		}
		return Figure(float64(n) / w.Watched.Seconds())
	}
	w.OfferedRate, w.Throughput, w.SuccessRate, w.Goodput = rate(w.Offered), rate(w.Ended), rate(w.Success), rate(w.Good)
	w.OutputRate, w.TokenRate = rate(w.OutputTokens), rate(w.GoodOutputTokens)
}

// window is a window with those counts.
func (r *reading) window(d time.Duration, counts []uint64) Window {
	i, first, last := extent(d, r.now)
	var watched [1]uint64
	r.m.watched[i].sum(watched[:], first, last)
	w := Window{Window: d, From: instant(first * int64(layout[i].width)), To: instant(r.now), Watched: time.Duration(watched[0])}
	w.set(counts)
	return w
}

// Window is the last d of all classes together. An error wraps [ErrWindow]: d is not between 1 s and [MaxWindow].
func (m *Monitor) Window(d time.Duration) (Window, error) {
	if err := checkWindow(d); err != nil {
		return Window{}, err
	}
	r := m.read()
	defer m.mu.Unlock()
	return r.window(d, r.all(d)), nil
}

// ClassWindow is the last d of one class. A class that has had no request has none in the window either.
func (m *Monitor) ClassWindow(name string, d time.Duration) (Window, error) {
	if err := checkWindow(d); err != nil {
		return Window{}, err
	}
	r := m.read()
	defer m.mu.Unlock()
	if c := m.lookup(name); c != nil {
		return r.window(d, r.class(c, d)), nil
	}
	return r.window(d, make([]uint64, base)), nil
}

func checkWindow(d time.Duration) error {
	if d < time.Second || d > MaxWindow {
		return windowError(d, time.Second)
	}
	return nil
}
