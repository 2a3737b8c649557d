package goodput

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/slo"
)

func randomRefSLO(r *rand.Rand) refSLO {
	metrics := []string{"ttft", "ttfo", "tpot", "itl", "e2e", "speed", "lag", "service_ttft", "service_e2e", "error_rate", "attainment", "x_a", "x_b"}
	rules := map[string]string{}
	for _, m := range metrics {
		if !slices.Contains([]string{"e2e", "service_e2e", "lag", "error_rate", "attainment"}, m) {
			rules[m] = []string{"", "", "", "holds", "misses", "excluded"}[r.IntN(6)]
		}
	}
	var s refSLO
	if r.IntN(8) == 0 { // of the population alone
		return refSLO{{metric: metrics[9+r.IntN(2)], limit: int64(1 + r.IntN(99))}}
	}
	for range 1 + r.IntN(5) {
		o := refObjective{metric: metrics[r.IntN(len(metrics))], ppm: int64(1+r.IntN(99)) * 10000}
		o.rule = rules[o.metric]
		switch {
		case o.population():
			o.ppm, o.limit = 0, int64(1+r.IntN(99))
		case o.metric == "speed":
			o.limit, o.ppm = int64(1+r.IntN(5))*100, max(o.ppm, 1e6-o.ppm)
		case strings.HasPrefix(o.metric, "x_"):
			o.limit = int64(r.IntN(5))
		case o.metric == "tpot" || o.metric == "itl":
			o.limit = int64(1+r.IntN(6)) * 5e6 / int64(1+r.IntN(3))
		default:
			o.limit = int64(1+r.IntN(8)) * 10e6
		}
		if (o.metric == "e2e" || o.metric == "service_e2e") && r.IntN(2) == 0 {
			o.perToken = int64(1+r.IntN(4)) * 5e6
			if r.IntN(3) == 0 {
				o.limit = 0
			}
		}
		if !slices.ContainsFunc(s, func(b refObjective) bool { return b.metric == o.metric && b.ppm == o.ppm }) {
			s = append(s, o)
		}
	}
	return s
}

func randomRefRecord(r *rand.Rand) *Record {
	step := func(n int) time.Duration { return time.Duration(r.IntN(n)) * 10 * time.Millisecond }
	rec := &Record{Start: epoch.Add(step(40)), Outcome: Success, Class: []string{"", "", "default", "a", "b", "c"}[r.IntN(6)]}
	if r.IntN(4) == 0 {
		rec.Outcome = Outcomes()[r.IntN(len(Outcomes()))]
	}
	if r.IntN(6) == 0 {
		rec.Outcome = Unfinished
	}
	if r.IntN(3) == 0 {
		rec.Sent = step(3)
	}
	at := rec.Sent
	sum := 0
	for range r.IntN(5) {
		at += step(3)
		n := r.IntN(4)
		rec.Tokens = append(rec.Tokens, Token{at, n})
		sum += max(n, 1)
	}
	rec.End = at + step(4)
	if len(rec.Tokens) > 0 {
		switch r.IntN(4) {
		case 0:
			rec.FirstOutput = -1
		case 1:
			rec.FirstOutput = rec.Tokens[r.IntN(len(rec.Tokens))].At
		}
	}
	switch r.IntN(3) {
	case 0:
		rec.OutputTokens = max(0, sum+r.IntN(5)-1)
	case 1:
		rec.OutputTokens = r.IntN(3)
	}
	rec.InputTokens = r.IntN(20)
	if r.IntN(3) > 0 {
		rec.Custom = map[slo.Metric]float64{"x_a": float64(r.IntN(5))}
		if r.IntN(2) == 0 {
			rec.Custom["x_b"] = float64(r.IntN(9)) / 2
		}
	}
	if r.IntN(4) == 0 {
		rec.Limits = map[slo.Metric]float64{}
		for range 1 + r.IntN(3) {
			m := []slo.Metric{"ttft", "ttfo", "tpot", "itl", "e2e", "speed", "lag", "service_ttft", "service_e2e", "x_a", "x_b"}[r.IntN(11)]
			switch m {
			case "speed":
				rec.Limits[m] = float64(1+r.IntN(5)) * 100
			case "x_a", "x_b":
				rec.Limits[m] = float64(r.IntN(5))
			default:
				rec.Limits[m] = float64(1+r.IntN(8)) * 0.01
			}
		}
	}
	return rec
}

// refCase is random SLOs, records and a window, and accumulators for them.
type refCase struct {
	def     refSLO
	set     map[string]refSLO
	window  refWindow
	records []*Record
	closeAt time.Time // EndWindow or EndWindowWith; zero: neither
}

func randomRefCase(seed uint64) refCase {
	r := rand.New(rand.NewPCG(seed, 11))
	c := refCase{def: randomRefSLO(r), set: map[string]refSLO{}}
	for _, class := range []string{"a", "default", "unused"} {
		if r.IntN(4) == 0 {
			c.set[class] = randomRefSLO(r)
		}
	}
	step := func(n int) time.Duration { return time.Duration(r.IntN(n)) * 10 * time.Millisecond }
	c.window = refWindow{from: epoch.Add(step(30))}
	c.window.to = c.window.from.Add(step(25)) // now and then of no length
	switch r.IntN(5) {
	case 0, 1:
		c.window = refWindow{whole: true}
	case 2:
		c.window.open = true
	case 3:
		c.closeAt = c.window.to
		c.window.included = r.IntN(2) == 0
	}
	for range r.IntN(80) {
		c.records = append(c.records, randomRefRecord(r))
	}
	return c
}

func (c *refCase) options() (opts []Option) {
	if len(c.set) > 0 {
		set := slo.Set{}
		for class, s := range c.set {
			set[class] = s.slo()
		}
		opts = append(opts, WithClasses(set))
	}
	switch {
	case c.window.whole:
	case c.window.open || !c.closeAt.IsZero():
		opts = append(opts, WithWindow(c.window.from, time.Time{}))
	default:
		opts = append(opts, WithWindow(c.window.from, c.window.to))
	}
	return opts
}

func (c *refCase) accumulator() *Accumulator {
	a := NewAccumulator(c.def.slo(), c.options()...)
	if !c.closeAt.IsZero() {
		if c.window.included {
			a.EndWindowWith(c.closeAt)
		} else {
			a.EndWindow(c.closeAt)
		}
	}
	return a
}

func className(name string) string {
	if name == "" {
		return "default"
	}
	return name
}

func (c *refCase) sloOf(class string) refSLO {
	if own, ok := c.set[className(class)]; ok {
		return own
	}
	return c.def
}

// check compares a whole report, total and classes.
func (c *refCase) check(t *testing.T, name string, r *Report) {
	t.Helper()
	classes := map[string][]*Record{}
	for class := range c.set {
		classes[class] = nil
	}
	for _, rec := range c.records {
		classes[className(rec.Class)] = append(classes[className(rec.Class)], rec)
	}
	length := c.window.length(c.records)
	total := c.def
	if len(c.set) > 0 {
		total = nil
	}
	refCheck(t, name, r, c.records, c.window, length, c.sloOf, total)
	if r.Classes == nil {
		for class := range classes {
			assert.Equal(t, "default", class, name)
		}
		return
	}
	require.Len(t, r.Classes, len(classes), name)
	for class, records := range classes {
		refCheck(t, name+", class "+class, r.Classes[class], records, c.window, length, c.sloOf, c.sloOf(class))
	}
}

func TestReportsAreThoseOfTheReference(t *testing.T) {
	for seed := range uint64(50) {
		c := randomRefCase(seed)
		name := fmt.Sprintf("seed %d", seed)
		r := observe(c.accumulator(), c.records...)
		c.check(t, name, r)

		// Judge says of each record what the books say.
		set := slo.Set{}
		for class, s := range c.set {
			set[class] = s.slo()
		}
		j := NewJudge(c.def.slo(), set)
		for _, rec := range c.records {
			v, s := newRef(rec), c.sloOf(rec.Class)
			want := Judgement{First: -1, Undecided: rec.Outcome == Unfinished && v.undecided(s)}
			if rec.Outcome == Success {
				want.First = v.first(s)
				want.Good = want.First < 0
			}
			got := j.Judge(rec)
			got.missed, got.undefined = 0, 0
			assert.Equal(t, want, got, name)
		}

		// Neither in parts, merged in any order, nor encoded, nor through a file are the figures others.
		parts := make([]*Accumulator, 3)
		for i := range parts {
			parts[i] = c.accumulator()
		}
		for i, rec := range c.records {
			parts[i*i%3].Observe(rec)
		}
		for i := range parts {
			b, err := parts[i].MarshalBinary()
			require.NoError(t, err)
			parts[i] = new(Accumulator)
			require.NoError(t, parts[i].UnmarshalBinary(b), name)
		}
		if !c.window.open { // where the window is open it ends with the last record of the part
			require.NoError(t, parts[1].Merge(parts[2]), name)
			require.NoError(t, parts[1].Merge(parts[0]), name)
			c.check(t, name+", merged", parts[1].Report())
		}

		var file bytes.Buffer
		h := RecordsHeader{Start: epoch, SLO: c.def.slo()}
		if len(set) > 0 {
			h.Classes = set
		}
		w, err := NewRecordWriter(&file, h)
		require.NoError(t, err)
		for _, rec := range c.records {
			require.NoError(t, w.Write(rec))
		}
		require.NoError(t, w.Close(RecordsFooter{Complete: true, Window: r.Window}))
		again, err := ReadReport(bytes.NewReader(file.Bytes()))
		require.NoError(t, err, name)
		c.check(t, name+", from a file", again)

		b, err := json.Marshal(r)
		require.NoError(t, err)
		var back Report
		require.NoError(t, json.Unmarshal(b, &back), name)
		c.check(t, name+", from JSON", &back)
		if t.Failed() {
			t.Logf("%s: SLO %s, classes %v, window %+v", name, c.def.slo(), c.set, c.window)
			return
		}
	}
}
