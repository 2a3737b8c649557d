package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
)

// Text writes the document for a terminal: what String says of each of its parts, and the tables of its sections.
func Text(w io.Writer, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	var parts []string
	if d.Title != "" {
		parts = append(parts, clean(d.Title)+"\n")
	}
	if d.Limit != nil {
		var b strings.Builder
		c := d.limitCard()
		for _, l := range c.Lines {
			if l.Name != "Searched" && l.Name != "Recommended" { // which the curve says
				continue
			}
			b.WriteString(figure.Wrap(fmt.Sprintf("%-15s", l.Name), l.Text, 100))
		}
		parts = append(parts, b.String())
	}
	if d.Curve != nil {
		parts = append(parts, d.Curve.String())
	}
	if d.Comparison != nil {
		parts = append(parts, d.Comparison.String())
	}
	for _, r := range d.runs() {
		text := r.Report.String()
		if r.Name != "" {
			text = "── " + clean(r.Name) + "\n" + text
		}
		parts = append(parts, text)
	}
	for _, s := range d.Sections {
		parts = append(parts, s.text())
	}
	_, err := io.WriteString(w, strings.Join(parts, "\n"))
	return err
}

func (s *Section) text() string {
	title := "── " + clean(s.Title)
	if s.Label != "" {
		title += " (" + clean(s.Label) + ")"
	}
	text := title + "\n"
	for _, t := range s.Text {
		text += figure.Wrap("", clean(t), 100)
	}
	for _, t := range s.allTables() {
		table := figure.Table{Left: map[int]bool{}}
		for _, i := range t.Words {
			table.Left[i] = true
		}
		for _, row := range append([][]string{t.Head}, t.Rows...) {
			cells := make([]string, len(row))
			for i, c := range row {
				cells[i] = figure.Clean(c, 60)
			}
			table.Row(cells...)
		}
		text += "\n" + clean(t.Caption) + "\n" + table.String()
	}
	return text
}

// allTables are the tables of a section, and those of its charts, for where nothing can be drawn.
func (s *Section) allTables() (all []Table) {
	for _, c := range s.Charts {
		t := c.table()
		t.Caption = c.Title + ". " + c.Sentence
		all = append(all, t)
	}
	return append(all, s.Tables...)
}
