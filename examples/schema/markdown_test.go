package schema

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/slo"
)

// What a Markdown processor makes of a report whose texts are all from an enemy: tables of equally many cells and the texts as they
// are, but no link, no picture, no script, no emphasis, no title and no list that the report does not have by itself.
func TestMarkdownOfHostileTexts(t *testing.T) {
	for _, evil := range []string{
		"</td></table><script>alert(1)</script>", "![x](https://evil.example/a.png)", "[x](javascript:alert(1))", "https://evil.example", "www.evil.example", "<https://evil.example>",
		"a | b | c", "**bold** _it_ ~~gone~~ `code`", "# a title", "- a list", "1. a list", "> a quotation", "a\n\n# b", "&lt;b&gt;", `a\|b\`, "a <b>b</b>", "</details>", "<!-- -->", "$x$", "===", "---", "me@evil.example", "mailto:me@evil.example",
	} {
		by := slo.MustParse("e2e p95 < 1s, ttft p95 < 1s")
		by.Name = evil
		a := goodput.NewAccumulator(by, goodput.WithClasses(slo.Set{evil: by}))
		for i := range 25 {
			a.Observe(&goodput.Record{Class: evil, Start: time.Unix(int64(i), 0), End: time.Second, Outcome: goodput.ServerError, Detail: evil})
		}
		r := a.Report()
		r.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{evil}}
		doc := func(s string) report.Document {
			return report.Document{Title: s, Runs: []report.Run{{Name: s, Report: r}}, Sections: []report.Section{{Title: s, Label: s, Text: []string{s},
				Tables: []report.Table{{Caption: s, Head: []string{s, s}, Rows: [][]string{{s, s}}}, {Caption: s, Head: []string{s}, Rows: [][]string{{s}}, Folded: true}}}}}
		}
		render := func(d report.Document) string {
			var md, out bytes.Buffer
			require.NoError(t, report.Markdown(&md, d))
			require.NoError(t, goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe())).Convert(md.Bytes(), &out))
			return out.String()
		}
		tags := func(page string) []string { return regexp.MustCompile(`</?[a-zA-Z!][^>]*>`).FindAllString(page, -1) }
		a2 := goodput.NewAccumulator(by, goodput.WithClasses(slo.Set{"tame": by}))
		for i := range 25 {
			a2.Observe(&goodput.Record{Class: "tame", Start: time.Unix(int64(i), 0), End: time.Second, Outcome: goodput.ServerError, Detail: "tame"})
		}
		page := render(doc(evil))
		r = a2.Report()
		r.SLOName, r.SLO.Name = "tame", "tame"
		r.Health = &goodput.ClientHealth{Verdict: goodput.Invalid, Reasons: []string{"tame"}}
		for _, c := range r.Classes {
			c.SLOName = "tame"
		}
		require.Equal(t, tags(render(doc("tame"))), tags(page), "%q makes markup:\n%s", evil, page)
		assert.NotContains(t, page, "<a ")
		assert.Equal(t, strings.Count(page, "<table>"), strings.Count(page, "</table>"))
	}
}
