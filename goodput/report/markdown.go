package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// Markdown writes the document as GitHub reads it, for a comment on a pull request: the verdict, the objectives with their shares
// and intervals, what was lost and to what, the client's health, the table of the curve, and folded the SLO and the warnings.
// What came from outside is in it as text: it makes no table break, no link and no mention.
func Markdown(w io.Writer, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	m := &markdown{}
	m.line("## " + escape(d.title()))
	for _, c := range d.cards() {
		m.card(c)
	}
	steps, runs := d.steps(), d.runs()
	if d.Curve != nil {
		for _, s := range d.curveSections() {
			for _, t := range s.Tables {
				m.table(t)
			}
			for _, t := range s.Text {
				m.line(escape(t))
			}
		}
	}
	if d.Comparison != nil {
		m.table(comparisonSection(d.Comparison).Tables[0])
	}
	for _, group := range []struct {
		runs []Run
		kind string
	}{{steps, "load"}, {runs, "run"}} {
		if len(group.runs) == 0 {
			continue
		}
		folded := group.kind == "load"
		t := objectiveTable(group.runs, group.kind)
		t.Folded = folded
		m.table(t)
		m.table(lostTable(group.runs, group.kind))
		if t := classTable(group.runs, group.kind); len(t.Rows) > 0 {
			t.Folded = folded
			m.table(t)
		}
		if group.kind == "run" {
			for _, r := range group.runs {
				of := ""
				if r.Name != "" {
					of = " of " + escape(r.Name)
				}
				m.line("Client" + of + ": " + escape(clientLine(r)))
			}
		}
	}
	for _, s := range d.Sections {
		m.section(s)
	}
	counted := d.countedSection(slices.Concat(runs, steps))
	for _, t := range counted.Tables {
		t.Folded = true
		m.table(t)
	}
	if s := d.warningSection(runs, steps); len(s.Text) > 0 {
		m.line("**Warnings**")
		for _, t := range s.Text {
			m.b.WriteString("- " + escape(t) + "\n")
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(m.b.String(), "\n")+"\n")
	return err
}

// clientLine is what the report says of its client.
func clientLine(r Run) string {
	for _, l := range r.Report.Lines() {
		if l.Name == "Client" {
			return l.Text
		}
	}
	return figure.Absent // the report of a class
}

// lostTable has a row for each run and cause.
func lostTable(runs []Run, kind string) Table {
	t := Table{Caption: "Lost, by cause", Head: []string{"lost to", "requests", "requests/s", "of throughput"}, Words: []int{0}}
	if len(runs) > 1 || runs[0].Name != "" {
		t.Head, t.Words = append([]string{kind}, t.Head...), []int{1}
	}
	for _, r := range runs {
		of := r.Report
		d := figure.Decimals(max(of.ThroughputRPS, of.OfferedRPS), 4)
		for _, cause := range figure.ByCount(of.Lost) {
			share := math.NaN()
			if of.Flow.Ended > 0 {
				share = float64(of.Lost[cause]) / float64(of.Flow.Ended)
			}
			t.Rows = append(t.Rows, inFront(runs, r.Name, clean(cause), figure.Count(of.Lost[cause]), figure.Fixed(of.LostRPS[cause], d), figure.Share(share)))
		}
	}
	return t
}

type markdown struct{ b strings.Builder }

// line writes a paragraph.
func (m *markdown) line(s string) { m.b.WriteString(s + "\n\n") }

func (m *markdown) card(c card) {
	symbol := map[tone]string{fine: "✅ ", wrong: "❌ ", open: "❓ "}[c.Tone]
	name := ""
	if c.Name != "" {
		name = escape(c.Name) + ": "
	}
	if len(c.Alarm) > 0 {
		m.b.WriteString("> **Client: " + escape(c.Alarms) + "**\n")
		for _, a := range c.Alarm {
			m.b.WriteString("> - " + escape(a) + "\n")
		}
		m.b.WriteString("\n")
	}
	m.line(fmt.Sprintf("### %s%s%s: %s %s", name, symbol, escape(c.Badge), escape(c.Figure), escape(c.Unit)))
	for _, l := range c.Lines {
		if l.Name != "Client" { // which has a line of its own below
			m.b.WriteString("- **" + escape(l.Name) + "** " + escape(l.Text) + "\n")
		}
	}
	m.b.WriteString("\n")
}

func (m *markdown) section(s Section) {
	title := "### " + escape(s.Title)
	if s.Label != "" {
		title += " (" + escape(s.Label) + ")"
	}
	m.line(title)
	for _, t := range s.Text {
		m.line(escape(t))
	}
	for _, c := range s.Charts {
		m.line(escape(c.Sentence))
		m.table(c.table())
	}
	for _, t := range s.Tables {
		m.table(t)
	}
}

// table writes a table, folded where it is to be. A table of no rows is left out.
func (m *markdown) table(t Table) {
	if len(t.Rows) == 0 {
		return
	}
	if t.Folded {
		m.line("<details><summary>" + entities(clean(t.Caption)) + "</summary>")
	} else if t.Caption != "" {
		m.line("**" + escape(t.Caption) + "**")
	}
	row := func(cells []string) {
		m.b.WriteString("|")
		for i := range t.Head {
			cell := ""
			if i < len(cells) {
				cell = escape(cells[i])
			}
			m.b.WriteString(" " + cell + " |")
		}
		m.b.WriteString("\n")
	}
	row(t.Head)
	m.b.WriteString("|")
	for i := range t.Head {
		if i == 0 || slices.Contains(t.Words, i) {
			m.b.WriteString(" :-- |")
		} else {
			m.b.WriteString(" --: |")
		}
	}
	m.b.WriteString("\n")
	for _, r := range t.Rows {
		row(r)
	}
	m.b.WriteString("\n")
	if t.Folded {
		m.line("</details>")
	}
}

// escape makes a text stand in Markdown as it is: no markup, no HTML, no entity, no address that becomes a link, and no name or
// number that GitHub turns into a mention or a reference.
func escape(s string) string {
	var b strings.Builder
	text := []rune(strings.Join(strings.Fields(clean(s)), " "))
	next := func(i int) rune {
		if i+1 < len(text) {
			return text[i+1]
		}
		return ' '
	}
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for i, r := range text {
		switch {
		case r == '<' && next(i) != ' ': // "ttft < 1s" opens no tag
			b.WriteString("&lt;")
		case r == '&' && next(i) != ' ':
			b.WriteString("&amp;")
		case r == '@' || r == '#': // a word joiner behind it, which nobody sees, keeps GitHub from reading on
			b.WriteString(`\` + string(r) + joiner)
		case r == '_' && i > 0 && word(text[i-1]) && word(next(i)): // error_rate is one word
			b.WriteRune(r)
		case strings.ContainsRune("\\`*_[]|~$", r):
			b.WriteString(`\` + string(r))
		default:
			b.WriteRune(r)
		}
	}
	return leads(noLinks.Replace(b.String()))
}

// joiner is the word joiner, which has no width.
const joiner = "\u2060"

// noLinks breaks what GitHub makes links of by itself.
var noLinks = strings.NewReplacer("://", ":"+joiner+"//", "www.", "www"+joiner+".", "mailto:", "mailto"+joiner+":", "xmpp:", "xmpp"+joiner+":")

// leads keeps the beginning of a text from beginning a list, a quotation or a line under a title.
func leads(t string) string {
	if t != "" && strings.ContainsRune("-+=>", rune(t[0])) || leadsList(t) {
		return joiner + t
	}
	return t
}

// leadsList reports whether a text begins as a numbered list does.
func leadsList(s string) bool {
	digits := strings.TrimLeft(s, "0123456789")
	return digits != s && (strings.HasPrefix(digits, ". ") || strings.HasPrefix(digits, ") "))
}

// entities makes a text stand in HTML within Markdown as it is.
func entities(s string) string {
	return noLinks.Replace(strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "@", "@"+joiner, "#", "#"+joiner,
		"`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "~", "&#126;", "|", "&#124;", `\`, "&#92;", "$", "&#36;").Replace(s))
}
