package main

import (
	"bytes"
	"math"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/internal/bench/figures"
)

// TestClients has each client do a few requests. All see every token, in order, and none before the server wrote it.
func TestClients(t *testing.T) {
	srv := httptest.NewServer(handler(2*time.Millisecond, 0))
	defer srv.Close()
	for _, l := range []load{{Kind: streaming, Size: 1000}, {Kind: closedLoop, Size: 2}, {Kind: fixedRate, Size: 1000}, {Kind: virtual, Size: 1000}} {
		l.Requests, l.URL = 5, srv.URL
		for _, c := range l.clients() {
			t.Run(l.Kind+", "+c.name, func(t *testing.T) {
				l.ID = c.name
				if c.do == nil {
					python, _ := findPython(t.Context())
					if python == "" {
						t.Skip("no python3 has aiohttp")
					}
					if l.Kind == fixedRate {
						return // it has only a closed loop of these
					}
					r, err := askPython(t.Context(), python, l)
					require.NoError(t, err)
					check(t, l, r)
					return
				}
				saw, err := c.do(t.Context(), l)
				require.NoError(t, err)
				var streams []seen
				if saw != nil {
					streams, err = saw()
					require.NoError(t, err)
				}
				for _, s := range streams {
					assert.IsNonDecreasing(t, s.Tokens)
				}
				r := result{RSS: 1}
				require.NoError(t, r.sum(t.Context(), l, time.Millisecond, time.Second, streams))
				check(t, l, r)
				assert.Equal(t, 5.0, r.Rate)
			})
		}
	}
}

func check(t *testing.T, l load, r result) {
	assert.Positive(t, r.CPU)
	assert.Positive(t, r.RSS)
	assert.Positive(t, r.Rate)
	if l.Kind == streaming {
		assert.Positive(t, r.Late)
		assert.Positive(t, r.LateP50)
	}
}

func TestCompare(t *testing.T) {
	l := load{Kind: streaming, Requests: 2}
	stream := func(name string, due, first int64) seen {
		s := seen{Name: name, Due: due * 1e6}
		for i := range int64(tokens) {
			s.Tokens = append(s.Tokens, (first+10*i)*1e6)
		}
		return s
	}
	streams := []seen{stream("a", 100, 153), stream("b", 200, 256)}
	var r result
	require.NoError(t, r.compare(l, streams, map[string]int64{"a": 152e6, "b": 253e6, "other": 0}))
	assert.Equal(t, result{Late: 2, LateP50: 2, LateP99: 2.98, Nominal: 4.5, NominalP50: 4.5, NominalP99: 5.97, StepP99: 10}, r)
	assert.EqualError(t, r.compare(l, streams[:1], nil), "1 streams and not 2")
	assert.EqualError(t, r.compare(l, streams, nil), "the server does not know one of the streams")
	streams[1].Tokens = streams[1].Tokens[1:]
	assert.EqualError(t, r.compare(l, streams, map[string]int64{"a": 1}), "99 token events and not 100")
}

func TestPeak(t *testing.T) {
	peak, err := readPeak("VmPeak:\t 1 kB\nVmHWM:\t    15625 kB\nVmRSS:\t 3 kB\n")
	require.NoError(t, err)
	assert.Equal(t, 16.0, peak)
	_, err = readPeak("VmPeak:\t 1 kB\n")
	assert.Error(t, err)
	own, err := peakRSS()
	require.NoError(t, err)
	assert.Greater(t, own, 1.0)
}

func TestRatio(t *testing.T) {
	p := part{did: map[string][]result{"a": {{CPU: 2}, {CPU: 30}, {CPU: 4}}, "b": {{CPU: 1}, {CPU: 10}, {CPU: 8}, {CPU: 9}}}}
	assert.Equal(t, 2.0, p.ratio("a", "b", cpu), "of each round's own: 2, 3 and 1/2")
	assert.Equal(t, 4.0, p.median("a", cpu))
	assert.True(t, math.IsNaN(p.median("c", cpu)))
	assert.True(t, math.IsNaN(p.ratio("a", "c", cpu)))
}

// madeUp is results in which every goal is reached, some of them just so.
func madeUp() results {
	r := results{machine: figures.Machine{CPU: "a CPU", Procs: 2, System: "plan9/arm", Go: "go1.26"}, rounds: 1}
	for _, l := range loads(time.Second) {
		p := part{l, map[string][]result{}}
		for _, c := range l.clients() {
			if c.do != nil {
				p.did[c.name] = []result{{CPU: 10, RSS: 50, Rate: 100, Late: 0.4, StepP99: 12}}
			}
		}
		r.parts = append(r.parts, p)
	}
	r.part(streaming, 100).did[theRun][0].Late = 0.44
	r.part(virtual, 0).did[theRun][0].Rate = 50
	r.part(streaming, 100).did[bareLoop][0].CPU = 9
	return r
}

func TestGoals(t *testing.T) {
	missed := func(r results) (names []string) {
		for _, g := range r.goals() {
			if !g.Holds() {
				names = append(names, g.What)
			}
		}
		return names
	}
	r := madeUp()
	assert.Empty(t, missed(r))
	r.part(streaming, 100).did[theRun][0].Late = 0.51
	r.part(streaming, 500).did[theRun][0].StepP99 = 12.6
	r.part(streaming, 1000).did[theRun][0].CPU = 11.6
	r.part(streaming, manyStreams).did[theRun][0].RSS = 101
	r.part(closedLoop, 0).did[theRunHTTP][0].CPU = 10.1
	for _, vegeta := range []string{theAttacker, theAttack} {
		r.part(fixedRate, 0).did[vegeta][0].CPU = 12
	}
	r.part(fixedRate, 0).did[theRunOpenAI][0].CPU = 11.6
	r.part(virtual, 0).did[theRun][0].Rate = 49
	assert.Equal(t, []string{
		"100 streams: mean error of the first token",
		"100 streams: the same / bare loop",
		"500 streams: P99 of steps",
		"1,000 streams: CPU per event / bare loop",
		"1,400 streams: resident memory",
		"a closed loop: CPU per request, loadgen.Run, httptarget / vegeta, the attacker alone",
		"a closed loop: CPU per request, loadgen.Run, httptarget / vegeta, with its metrics",
		"a constant rate: CPU per request, loadgen.Run, openai / bare loop, on time",
		"a bubble: requests/s, bare loop / loadgen.Run",
	}, missed(r))
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	assert.Zero(t, madeUp().write(&b))
	lines := strings.Split(b.String(), "\n")
	for _, want := range []string{
		"a CPU, 2 processors, plan9/arm, go1.26.",
		"| loadgen.Run | 100 | 0.44 | 0.00 | 0.00 | 0.00 | 0.00 | 0.00 | 12.0 | 10.0 | 1.11 | 50.0 |",
		"| vegeta, the attacker alone | 16 at once | 10.0 | 1.00 | 100 | 50.0 |",
		"| vegeta, the attacker alone | 2,000/s | 10.0 | 1.00 | 100 | 50.0 |",
		"| bare loop | 100 | 10.0 |",
		"| 100 streams: the same / bare loop | 1.10 | 1.15 | holds |",
	} {
		assert.Contains(t, lines, want)
	}
	assert.NotContains(t, b.String(), pythonClient+" |", "it was not there")
	assert.Contains(t, b.String(), "without the Python client: no python3 has aiohttp")
	columns := 0
	for _, l := range lines { // a table's rows are as long as its head
		n := strings.Count(l, "|")
		if n > 0 && columns > 0 {
			assert.Equal(t, columns, n, l)
		}
		columns = n
	}
}
