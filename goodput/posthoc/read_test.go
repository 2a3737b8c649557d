package posthoc

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// file is a run as a file of records; cut leaves out its footer.
func (v run) file(t testing.TB, cut bool) *os.File {
	t.Helper()
	name := filepath.Join(t.TempDir(), "records")
	var b bytes.Buffer
	h := goodput.RecordsHeader{Start: time.Unix(0, 0), SLO: v.slo, Classes: v.set}
	w, err := goodput.NewRecordWriter(&b, h)
	require.NoError(t, err)
	for _, r := range v.records {
		require.NoError(t, w.Write(r))
	}
	f := goodput.RecordsFooter{Complete: true}
	if v.window != nil {
		f.Window = goodput.Window{Kind: goodput.SteadyState, From: v.window[0], To: v.window[1]}
	}
	if !cut {
		require.NoError(t, w.Close(f))
	} else {
		require.NoError(t, w.Flush())
	}
	require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
	r, err := os.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func TestReadIsWhatObservingGives(t *testing.T) {
	for _, v := range allRuns(t, 10) {
		t.Run(v.name, func(t *testing.T) {
			a, err := Read(v.file(t, false))
			require.NoError(t, err)
			want, err := json.Marshal(v.analysis(t))
			require.NoError(t, err)
			got, err := json.Marshal(a)
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(got))
		})
	}
}

func TestReadRefuses(t *testing.T) {
	v := vectors(t)[0]
	_, err := Read(v.file(t, true))
	require.ErrorIs(t, err, goodput.ErrIncomplete)
	a, err := Read(v.file(t, true), AllowIncomplete())
	require.NoError(t, err)
	require.ErrorIs(t, a.Report.Warnings[len(a.Report.Warnings)-1], goodput.ErrIncomplete)
	_, err = Read(bytes.NewReader([]byte("{}\n")))
	require.ErrorIs(t, err, goodput.ErrNotRecords)
	v.slo = slo.SLO{}
	v.set = nil
	_, err = Read(v.file(t, false))
	require.ErrorIs(t, err, goodput.ErrNoSLO)
	_, err = Read(bytes.NewReader(nil), WithClasses(slo.Set{}))
	require.ErrorContains(t, err, "a file says its classes")
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for text, o := range map[string]Option{
		"WithScales: scale 0 is not from 0.001":          WithScales(1, 0),
		"WithScales: scale 100 is not from 0.001":        WithScales(100),
		"WithScales: scale 0.33333 has more than four":   WithScales(0.33333),
		"at most 64 are allowed":                         WithTPOT(func() (all []time.Duration) { return make65() }()...),
		"WithTTFT: 0s is no threshold":                   WithTTFT(0),
		"WithTPOT: -1s is no threshold":                  WithTPOT(-time.Second),
		"WithAttainment: 1 is not between":               WithAttainment(1),
		"AllowIncomplete is for files":                   AllowIncomplete(),
		"WithWindow: from is after to":                   WithWindow(time.Unix(2, 0), time.Unix(1, 0)),
		"WithWindow: from is after to, or one is not be": WithWindow(time.Time{}, time.Time{}),
		`class "a"`: WithClasses(slo.Set{"a": {}}),
	} {
		_, err := New(slo.Chat(), o)
		require.ErrorContains(t, err, text)
	}
	_, err := New(slo.SLO{})
	require.ErrorIs(t, err, slo.ErrEmpty)
}

func make65() (all []time.Duration) {
	for i := range 65 {
		all = append(all, time.Duration(i+1))
	}
	return all
}

// Nothing of a record stays but counts: once the tables are there, a record takes none.
func TestMemoryIsBounded(t *testing.T) {
	st, err := New(slo.MustParse("ttft p95 < 50ms, e2e p95 < 100ms"))
	require.NoError(t, err)
	i := 0
	observe := func() {
		i++
		r := goodput.Record{Start: time.Unix(0, int64(i)*1e6), Outcome: goodput.Success, End: time.Duration(i%997) * time.Millisecond,
			Tokens: []goodput.Token{{At: time.Duration(i%997) * time.Millisecond, N: 1}}}
		st.Observe(&r)
	}
	for range 20000 {
		observe()
	}
	assert.LessOrEqual(t, testing.AllocsPerRun(2000, observe), 2.0) // the record's own, and none that stays
	for _, c := range []*counts{&st.classes[slo.DefaultClass].good, &st.classes[slo.DefaultClass].flow} {
		assert.Equal(t, c.upTo([]scale{never - 1})[0], uint64(i))
	}
}

// Everything that is not at scale 1 says in JSON that it was chosen after the run, and a number that there is not is null.
func TestJSON(t *testing.T) {
	v := run{slo: slo.MustParse("ttft p95 < 50ms, speed p90 >= 10tok/s, error_rate < 1%")}
	b, err := json.Marshal(v.analysis(t, WithScales(0.5)))
	require.NoError(t, err)
	assert.JSONEq(t, `{"format":"goodput-posthoc/1",
		"fixed_before_the_run":{"slo":"ttft p95 < 50ms, speed p90 >= 10tok/s, error_rate < 1%","fingerprint":"`+v.slo.Fingerprint()+`","verdict":"no data","offered":0,"good":0,"attainment":null,"goodput_rps":null},
		"chosen_after_the_run":{"attainment_target":0.9,"total":{"slo":"ttft p95 < 50ms, speed p90 >= 10tok/s, error_rate < 1%","offered":0,
			"scale_curve":[
				{"chosen":"after the run","scale":0.5,"good":0,"attainment":null,"goodput_rps":null,"token_goodput_tps":null,"holds":false,"objectives":[
					{"n":0,"count":0,"share":null,"holds":false,"scales":true},{"n":0,"count":0,"share":null,"holds":false,"scales":true},{"n":0,"count":0,"share":null,"holds":false,"scales":false}]},
				{"chosen":"before the run","scale":1,"good":0,"attainment":null,"goodput_rps":null,"token_goodput_tps":null,"holds":false,"objectives":[
					{"n":0,"count":0,"share":null,"holds":false,"scales":true},{"n":0,"count":0,"share":null,"holds":false,"scales":true},{"n":0,"count":0,"share":null,"holds":false,"scales":false}]}],
			"tightest":{"chosen":"after the run","state":"no data","scale":null},
			"attains":{"chosen":"after the run","state":"no data","scale":null},
			"objectives":[
				{"objective":"ttft p95 < 50ms","chosen":"after the run","state":"no data","scale":null},
				{"objective":"speed p90 >= 10tok/s","chosen":"after the run","state":"no data","scale":null},
				{"objective":"error_rate < 1%","chosen":"after the run","state":"no data","scale":null}]}}}`, string(b))
	for _, v := range vectors(t) {
		a := v.analysis(t)
		assert.GreaterOrEqual(t, strings.Count(a.String(), Label), 2*(1+len(a.Classes)), v.name)
		b, err := json.Marshal(a)
		require.NoError(t, err, v.name)
		var any map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(b, &any))
		require.Len(t, any, 3)
	}
}
