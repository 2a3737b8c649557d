package compat

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// A VLLMHeader is what a vLLM result says beside its requests. All of it may be left out.
type VLLMHeader struct {
	Model, Backend, Label string
	Date                  time.Time // when the run was over; zero: the end of the last request
	RequestRate           float64   // requests/s asked for; 0: not said, +Inf: as fast as they go
	MaxConcurrency        int       // 0: no bound
	SLO                   slo.SLO   // request_goodput is by its objectives on ttft, tpot and e2e; zero: null
}

// WriteVLLM writes records as the result that vLLM's benchmark would have saved with --save-result --save-detailed, for
// what reads such files: vLLM's own bench sweep plot, dashboards, scripts. Times are what vLLM measures: from the send, a
// request's end its last chunk; start_times count from the first arrival, as those of vLLM count from anywhere.
//
// What is no success is a failure there, with the outcome in errors, and in none of the figures; what was never sent is
// left out. Neither prompts nor answers are in records: generated_texts are empty. Figures are vLLM's formulas, so that
// request_throughput, request_goodput and the rest are not what a goodput.Report says: see [Scorer].
//
// It is an error if there is nothing to write, or a record has no usable start (ErrRefused): nothing is written then.
//
// The lists of a result come one after the other, so all records are held in memory: some 120 bytes a request and 8 a chunk.
func WriteVLLM(w io.Writer, records iter.Seq2[*goodput.Record, error], h VLLMHeader) error {
	v := &vllmWriter{header: h}
	for r, err := range records {
		if err == nil {
			err = v.take(r)
		}
		if err != nil {
			return err
		}
	}
	if len(v.rows) == 0 {
		return errors.New("compat: vLLM result: there are no records that were sent")
	}
	v.b = bufio.NewWriterSize(w, 64<<10)
	v.write()
	return v.b.Flush()
}

type vllmWriter struct {
	header VLLMHeader
	b      *bufio.Writer
	rows   []row
	gaps   []int64 // of all rows, one after the other
	errs   []string
	base   time.Time
	fields int
}

func (v *vllmWriter) take(r *goodput.Record) error {
	if r.Outcome == goodput.Dropped {
		return nil
	}
	if !usable(r.Start) {
		return fmt.Errorf("compat: vLLM result: %w: %v", ErrRefused, r.Start)
	}
	if v.base.IsZero() {
		v.base = r.Start
	}
	w := row{start: int64(r.Start.Sub(v.base))}
	w.read(r, func(gap int64, _ uint32) { v.gaps = append(v.gaps, gap) })
	text := ""
	if !w.isSuccess() {
		if text = w.outcome.String(); r.Detail != "" {
			text += ": " + r.Detail
		}
	}
	v.rows, v.errs = append(v.rows, w), append(v.errs, text)
	return nil
}

// vllmRules are vLLM's, but that a stream with an error in it is a failure.
var vllmRules = rules{known: []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E}, noLimits: true, fromSend: true, toLast: true, tpot: tpotMinusOne, undefined: undefinedHolds}

func (v *vllmWriter) write() {
	u := &vllmRules
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i := range v.rows {
		w := &v.rows[i]
		first, last = min(first, w.start), max(last, w.start+w.end)
	}
	date := v.header.Date
	if date.IsZero() {
		date = v.base.Add(time.Duration(last))
	}
	limits := limitsOf(v.header.SLO)
	var completed, ok, input, output uint64
	var ttft, tpot, itl, e2e []value
	from := 0
	for i := range v.rows {
		w := &v.rows[i]
		gaps := v.gaps[from : from+max(int(w.events)-1, 0)]
		from += len(gaps)
		if !w.isSuccess() {
			continue
		}
		completed++
		input, output = input+uint64(w.in), output+uint64(w.n)
		if u.judge(w, limits) == good {
			ok++
		}
		ttft = append(ttft, value{seconds(max(u.ttft(w), 0)), 1})
		e2e = append(e2e, value{seconds(u.e2e(w)), 1})
		if dt, n := u.tpotOf(w); n > 0 {
			tpot = append(tpot, value{float64(dt) / float64(n) / 1e9, 1})
		}
		for _, g := range gaps {
			itl = append(itl, value{seconds(g), 1})
		}
	}
	duration := seconds(last - first)
	rate := func(n uint64) float64 { return float64(n) / duration }

	v.b.WriteByte('{')
	v.text("date", date.UTC().Format("20060102-150405"))
	v.text("endpoint_type", v.header.Backend)
	v.text("backend", v.header.Backend)
	v.text("label", v.header.Label)
	v.text("model_id", v.header.Model)
	v.text("tokenizer_id", v.header.Model)
	v.number("num_prompts", float64(len(v.rows)))
	switch {
	case math.IsInf(v.header.RequestRate, 1):
		v.text("request_rate", "inf")
	case v.header.RequestRate > 0:
		v.number("request_rate", v.header.RequestRate)
	default:
		v.null("request_rate")
	}
	v.null("burstiness")
	if v.header.MaxConcurrency > 0 {
		v.number("max_concurrency", float64(v.header.MaxConcurrency))
	} else {
		v.null("max_concurrency")
	}
	v.number("duration", duration)
	v.number("completed", float64(completed))
	v.number("failed", float64(uint64(len(v.rows))-completed))
	v.number("total_input_tokens", float64(input))
	v.number("total_output_tokens", float64(output))
	v.number("request_throughput", rate(completed))
	if v.header.SLO.IsZero() {
		v.null("request_goodput")
	} else {
		v.number("request_goodput", rate(ok))
	}
	v.number("output_throughput", rate(output))
	v.number("total_token_throughput", rate(input+output))
	v.list("input_lens", func(w *row) float64 { return float64(w.in) })
	v.list("output_lens", func(w *row) float64 {
		if !w.isSuccess() {
			return 0
		}
		return float64(w.n)
	})
	v.list("ttfts", func(w *row) float64 { return seconds(max(u.ttft(w), 0)) })
	v.itls()
	v.list("latencies", func(w *row) float64 {
		if !w.isSuccess() {
			return seconds(w.end - w.sent)
		}
		return seconds(u.e2e(w))
	})
	v.list("start_times", func(w *row) float64 { return seconds(w.start + w.sent - first) })
	v.list("queue_times", func(w *row) float64 { return seconds(w.sent) })
	v.strings("generated_texts", func(int) string { return "" })
	v.strings("errors", func(i int) string { return v.errs[i] })
	v.number("max_output_tokens_per_s", v.peakTokens())
	v.number("max_concurrent_requests", float64(v.peakRequests()))
	v.number("rtfx", 0)
	for _, m := range []struct {
		name   string
		values []value
	}{{"ttft", ttft}, {"tpot", tpot}, {"itl", itl}, {"e2el", e2e}} {
		v.distribution(m.name, distributionOf(m.values, linear))
	}
	v.b.WriteString("}\n")
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// distribution writes what vLLM does of a metric, in milliseconds; of none it writes nothing, where vLLM has a 0.
func (v *vllmWriter) distribution(name string, d Distribution) {
	if d.N == 0 {
		return
	}
	for _, f := range []struct {
		stat string
		v    float64
	}{{"mean", d.Mean}, {"median", d.P50}, {"std", d.Std}, {"p50", d.P50}, {"p90", d.P90}, {"p95", d.P95}, {"p99", d.P99}} {
		v.number(f.stat+"_"+name+"_ms", f.v*1000)
	}
}

// peakRequests is the most requests in flight at once, a request that ends when another begins not being one of them.
func (v *vllmWriter) peakRequests() (peak int) {
	type event struct {
		at   int64
		step int
	}
	var events []event
	for i := range v.rows {
		if w := &v.rows[i]; w.isSuccess() {
			events = append(events, event{w.start + w.sent, 1}, event{w.start + w.sent + vllmRules.e2e(w), -1})
		}
	}
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.step, b.step)) })
	now := 0
	for _, e := range events {
		now += e.step
		peak = max(peak, now)
	}
	return peak
}

// peakTokens is the most chunks within one of the whole seconds that count from the first send.
func (v *vllmWriter) peakTokens() float64 {
	begin := int64(math.MaxInt64)
	for i := range v.rows {
		if w := &v.rows[i]; w.isSuccess() {
			begin = min(begin, w.start+w.sent)
		}
	}
	seconds := map[int64]int{}
	peak, from := 0, 0
	for i := range v.rows {
		w := &v.rows[i]
		gaps := v.gaps[from : from+max(int(w.events)-1, 0)]
		from += len(gaps)
		if !w.isSuccess() || w.events == 0 {
			continue
		}
		at := w.start + w.first - begin
		for k := range w.events {
			if k > 0 {
				at += gaps[k-1]
			}
			seconds[at/1e9]++
			peak = max(peak, seconds[at/1e9])
		}
	}
	return float64(peak)
}

func (v *vllmWriter) key(name string) {
	if v.fields++; v.fields > 1 {
		v.b.WriteString(", ")
	}
	v.quote(name)
	v.b.WriteString(": ")
}

func (v *vllmWriter) quote(s string) {
	text, _ := json.Marshal(s) // of a string there is no error
	v.b.Write(text)
}

func (v *vllmWriter) text(name, s string) { v.key(name); v.quote(s) }

func (v *vllmWriter) null(name string) { v.key(name); v.b.WriteString("null") }

// number writes a number; one that there is not is null.
func (v *vllmWriter) number(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		v.null(name)
		return
	}
	v.key(name)
	v.float(x)
}

func (v *vllmWriter) float(x float64) {
	v.b.Write(strconv.AppendFloat(v.b.AvailableBuffer(), x, 'g', -1, 64))
}

func (v *vllmWriter) elements(name string, write func(i int)) {
	v.key(name)
	v.b.WriteByte('[')
	for i := range v.rows {
		if i > 0 {
			v.b.WriteString(", ")
		}
		write(i)
	}
	v.b.WriteByte(']')
}

func (v *vllmWriter) list(name string, of func(*row) float64) {
	v.elements(name, func(i int) { v.float(of(&v.rows[i])) })
}

func (v *vllmWriter) strings(name string, of func(int) string) {
	v.elements(name, func(i int) { v.quote(of(i)) })
}

func (v *vllmWriter) itls() {
	from := 0
	v.elements("itls", func(i int) {
		v.b.WriteByte('[')
		for k := range max(int(v.rows[i].events)-1, 0) {
			if k > 0 {
				v.b.WriteString(", ")
			}
			v.float(seconds(v.gaps[from]))
			from++
		}
		v.b.WriteByte(']')
	})
}
