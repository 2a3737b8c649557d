package report_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/goodput/report"
)

// A document from elsewhere is refused or can be written in every form, and as JSON comes back the same.
func FuzzReadJSON(f *testing.F) {
	for _, d := range []report.Document{one("one", hundred(14)), one("", nothing()), hostile()} {
		d.Sections = nil
		if len(d.Runs) > 1 {
			d.Runs = d.Runs[1:]
		}
		for _, r := range d.Runs { // short, so that what is changed is not one of its time slices
			r.Report.Timeline.Slices = r.Report.Timeline.Slices[:min(len(r.Report.Timeline.Slices), 3)]
			for _, c := range r.Report.Classes {
				c.Timeline.Slices = nil
			}
		}
		var b bytes.Buffer
		require.NoError(f, report.JSON(&b, d))
		f.Add(b.Bytes())
	}
	f.Add([]byte(`{"format":"goodput-document/1","limit":{"state":"found","rate":null,"lo":1,"hi":null},"runs":[{"name":"x","report":{"format":"goodput-report/1"}}]}`))
	f.Add([]byte(`{"format":"goodput-document/1","curve":{"format":"goodput-curve/1","axis":"rate","headroom":0.2,"points":[{"load":2,"report":{"format":"goodput-report/1"}},{"load":2,"report":{"format":"goodput-report/1"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := report.ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if report.JSON(&first, d) != nil { // a report that cannot be written, such as one with an outcome that is none
			return
		}
		again, err := report.ReadJSON(bytes.NewReader(first.Bytes()))
		require.NoError(t, err)
		require.NoError(t, report.JSON(&second, again))
		require.Equal(t, first.String(), second.String())
		for how, w := range writers {
			require.NoError(t, w(io.Discard, d), how)
		}
	})
}
