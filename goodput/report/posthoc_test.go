package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/posthoc"
	"github.com/goodputkit/goodputkit/slo"
)

// studied is a run of 200 requests whose first token takes 1 to 200 ms, and what it would have been by other thresholds.
func studied(t *testing.T, n int) *posthoc.Analysis {
	st, err := posthoc.New(slo.MustParse("ttft p95 < 100ms, error_rate < 1%"), posthoc.WithClasses(slo.Set{"<b>": slo.MustParse("ttft p50 < 100ms")}))
	require.NoError(t, err)
	for i := range n {
		at := time.Duration(i+1) * time.Millisecond
		st.Observe(&goodput.Record{Class: []string{"", "<b>"}[i%2], Start: time.Unix(0, 0).Add(time.Duration(i) * 100 * time.Millisecond), Outcome: goodput.Success,
			Tokens: []goodput.Token{{At: at, N: 1}, {At: at + 10*time.Millisecond, N: 1}}, End: at + 10*time.Millisecond})
	}
	return st.Analysis()
}

// Every section of what is chosen after the run says so, in each form for people, and the head stays the run's.
func TestPostHoc(t *testing.T) {
	for _, n := range []int{0, 200} {
		a := studied(t, n)
		d := Document{Runs: []Run{{Report: a.Report}}, Sections: PostHoc(a)}
		for _, s := range d.Sections {
			require.Equal(t, posthoc.Label, s.Label)
			require.NoError(t, s.check())
		}
		for name, write := range map[string]func(*bytes.Buffer) error{
			"text": func(b *bytes.Buffer) error { return Text(b, d) }, "Markdown": func(b *bytes.Buffer) error { return Markdown(b, d) },
			"HTML": func(b *bytes.Buffer) error { return HTML(b, d) },
		} {
			var b bytes.Buffer
			require.NoError(t, write(&b), name)
			assert.GreaterOrEqual(t, strings.Count(strings.ToLower(b.String()), posthoc.Label), len(d.Sections), name)
			if name == "HTML" {
				assert.NotContains(t, b.String(), "<b>")
			}
		}
	}
	sections := PostHoc(studied(t, 200))
	require.Len(t, sections, 5) // the total has two SLOs, so that there is no surface of it
	// Of the default class's 1, 3 … 199 ms 95 % take up to 189 ms.
	var found []string
	for _, row := range sections[3].Tables[0].Rows {
		found = append(found, strings.Join(row, " "))
	}
	assert.Equal(t, "If all thresholds had been others of default", sections[3].Title)
	assert.Equal(t, []string{"the whole SLO 1.89", "ttft p95 < 100ms 1.89 ttft p95 < 189ms", "error_rate < 1% any does not depend on it", "90% of the requests good 1.79"}, found)
}
