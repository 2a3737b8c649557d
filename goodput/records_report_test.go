package goodput

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

// header is what a run of the worked case would write.
func (v vector) header() RecordsHeader {
	h := RecordsHeader{Start: time.Unix(0, 0), SLO: slo.MustParse(strings.Join(v.SLO, ", "))}
	if v.WindowNS != nil {
		h.Window = Window{Kind: SteadyState, From: time.Unix(0, v.WindowNS[0]), To: time.Unix(0, v.WindowNS[1])}
	}
	for class, texts := range v.Classes {
		if h.Classes == nil {
			h.Classes = slo.Set{}
		}
		h.Classes[class] = slo.MustParse(strings.Join(texts, ", "))
	}
	return h
}

func requireSameReport(t *testing.T, want, have *Report) {
	w, err := json.Marshal(want)
	require.NoError(t, err)
	h, err := json.Marshal(have)
	require.NoError(t, err)
	require.Equal(t, string(w), string(h))
	require.Equal(t, want.String(), have.String())
}

func TestReadReportGivesTheSameReportAgain(t *testing.T) {
	for _, v := range readVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			a := v.accumulator()
			var records []*Record
			for _, r := range v.Records {
				records = append(records, r.record())
				a.Observe(records[len(records)-1])
			}
			want := a.Report()
			have, err := ReadReport(bytes.NewReader(fileOf(t, v.header(), RecordsFooter{Complete: true}, records...)))
			require.NoError(t, err)
			requireSameReport(t, want, have)
		})
	}
}

func TestReadReportOfARunWithEverything(t *testing.T) {
	start := time.Now() // with a monotonic reading, as in a run
	chat := slo.MustParse("ttft p90 < 150ms, x_cost p50 < 3")
	chat.Name = "interactive"
	h := RecordsHeader{Start: start, SLO: slo.MustParse("e2e p95 < 2s, error_rate < 1%"), Classes: slo.Set{"chat": chat}, Confidence: 0.9,
		Window: Window{Kind: SteadyState, From: start.Add(time.Second), Open: true}}
	h.SLO.Name = "all"
	for name, included := range map[string]bool{"end included": true, "end not included": false} {
		t.Run(name, func(t *testing.T) {
			a := NewAccumulator(h.SLO, WithClasses(h.Classes), WithConfidence(h.Confidence), WithWindow(h.Window.From, time.Time{}))
			var b bytes.Buffer
			w, err := NewRecordWriter(&b, h)
			require.NoError(t, err)
			var last time.Time
			for i := range 2500 {
				last = start.Add(time.Duration(i) * 2 * time.Millisecond)
				r := recordOf(1 + i%7)
				r.Start, r.Class = last, []string{"", "chat", "batch"}[i%3]
				r.Tokens[0].At += time.Duration(i%100) * time.Millisecond
				switch {
				case i%50 == 0:
					r.Outcome, r.Detail = ServerError, "overloaded"
				case i%31 == 0:
					r.Custom, r.Limits = map[slo.Metric]float64{"x_cost": float64(i)}, map[slo.Metric]float64{slo.E2E: 0.1}
				case i%97 == 0:
					r.Outcome = 0
				case i%89 == 0:
					r.End = -1
				}
				a.Observe(r)
				require.NoError(t, w.Write(r))
				if i == 1000 { // known only now, and not later than the end itself
					if to := start.Add(4 * time.Second); included {
						a.EndWindowWith(to)
					} else {
						a.EndWindow(to)
					}
				}
			}
			want := a.Report()
			want.Health = &ClientHealth{Verdict: Suspect, Reasons: []string{"busy"}, Offered: 2500, Sent: 2500,
				InFlight: &InFlight{Mean: 2, Little: 2}, Runtime: &GoRuntime{Waits: PhaseTimes{N: 9, P99: 1}}, CPU: &CPU{Procs: 2, Client: 1.5, Host: &Host{CPUs: 2, Others: 0.5}}}
			warning := errors.New("warm-up shorter than the P99 of e2e")
			want.Warnings = append(want.Warnings, warning)
			require.NoError(t, w.Close(RecordsFooter{Complete: true, Window: want.Window, Health: want.Health, Warnings: []string{warning.Error()}}))

			have, err := ReadReport(bytes.NewReader(b.Bytes()))
			require.NoError(t, err)
			requireSameReport(t, want, have)
			assert.Equal(t, SteadyState, have.Window.Kind)
			assert.Equal(t, included, have.Window.ToIncluded)
			assert.InDelta(t, 3, have.WindowS, 1e-9)
			assert.Equal(t, "interactive", have.Classes["chat"].SLOName)
			assert.Equal(t, 0.9, have.Confidence)
		})
	}
}

func TestReadReportRefuses(t *testing.T) {
	h := fileHeader()
	closed := h
	closed.Window = Window{Kind: SteadyState, From: fileStart, To: fileStart.Add(time.Second)}
	old, oldWindow := closed, closed
	old.Window.From = fileStart.AddDate(-90, 0, 0)
	oldWindow.Window = Window{Kind: SteadyState, From: fileStart, To: fileStart.AddDate(99, 0, 0).AddDate(30, 0, 0), ToIncluded: true}
	oldWindow.Start = fileStart.AddDate(50, 0, 0)
	complete := RecordsFooter{Complete: true}
	full := fileOf(t, closed, complete, recordAt(1), recordAt(2))
	for _, c := range []struct {
		name string
		file []byte
		is   error
		want string
	}{
		{"nothing", nil, ErrNotRecords, "line 1: not a file of records: it is empty"},
		{"no SLO", fileOf(t, RecordsHeader{Start: fileStart}, complete), ErrNoSLO, "line 1: no SLO to judge the records by"},
		{"incomplete", fileOf(t, closed, RecordsFooter{LeftOut: 1}, recordAt(1)), ErrIncomplete, "line 3: incomplete, as the footer says: 1 left out"},
		{"cut", full[:len(full)-3], ErrIncomplete, "line 4: incomplete: it breaks off in a line: footer: "},
		{"a window from before all time", fileOf(t, old, complete), nil, "line 1: WithWindow: from is"},
		{"a window to after all time", fileOf(t, oldWindow, complete), nil, "line 1: the window ends before 1970 or after 2150"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := ReadReport(bytes.NewReader(c.file))
			assert.Nil(t, r)
			require.ErrorContains(t, err, "goodput: records, "+c.want)
			if c.is != nil {
				assert.ErrorIs(t, err, c.is)
			}
		})
	}
}

func TestReadReportAllowIncomplete(t *testing.T) {
	full := fileOf(t, fileHeader(), RecordsFooter{Complete: true}, recordAt(time.Second), recordAt(2*time.Second))
	for name, file := range map[string][]byte{"cut": full[:len(full)-3], "said so": fileOf(t, fileHeader(), RecordsFooter{LeftOut: 1}, recordAt(time.Second), recordAt(2*time.Second))} {
		t.Run(name, func(t *testing.T) {
			r, err := ReadReport(bytes.NewReader(file), AllowIncomplete())
			require.NoError(t, err)
			assert.Equal(t, uint64(2), r.Offered)
			require.ErrorIs(t, errors.Join(r.Warnings...), ErrIncomplete)
			assert.True(t, r.Window.Open)
			assert.Contains(t, r.String(), "incomplete: records are missing")
		})
	}
	r, err := ReadReport(bytes.NewReader(full), AllowIncomplete())
	require.NoError(t, err)
	assert.NotErrorIs(t, errors.Join(r.Warnings...), ErrIncomplete, "nothing is missing")
}

// noSeek is a reader that cannot go back.
type noSeek struct{ io.Reader }

func (noSeek) Seek(int64, int) (int64, error) { return 0, errFull }

func TestReadReportPassesErrorsOn(t *testing.T) {
	_, err := ReadReport(noSeek{strings.NewReader("")})
	require.ErrorIs(t, err, errFull)
}
