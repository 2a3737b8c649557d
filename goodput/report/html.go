package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
)

//go:embed assets/page.html
var pageHTML string

//go:embed assets/page.css
var pageCSS string

//go:embed assets/page.js
var pageJS string

//go:embed assets/uplot/uPlot.iife.min.js
var uplotJS string

//go:embed assets/uplot/uPlot.min.css
var uplotCSS string

//go:embed assets/uplot/LICENSE
var uplotLicence string

// fixed is what is the same in every page: its style, its script and the policy that lets a browser run these two and nothing else.
var fixed = sync.OnceValue(func() (f struct {
	page          *template.Template
	style, script template.HTML
	policy        string
}) {
	style := uplotCSS + pageCSS
	script := "/*\nuPlot\n" + uplotLicence + "*/\n" + uplotJS + "\n" + pageJS
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	f.page = template.Must(template.New("page").Parse(pageHTML))
	f.style, f.script = template.HTML("<style>"+style+"</style>"), template.HTML("<script>"+script+"</script>")
	f.policy = "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; base-uri 'none'; form-action 'none'"
	return f
})

// HTML writes the document as one page that needs nothing else: no network, no file beside it. It has the verdict first, then
// charts, each with its table, and at the end the SLO with its fingerprint and the warnings. It is for light and dark, for a phone,
// for a keyboard (arrow keys walk a chart's values) and a screen reader, and it can be printed. A content security policy
// in it lets the browser run its own script and nothing else; what stands in names and errors is text and never markup.
func HTML(w io.Writer, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	f := fixed()
	page := pageData{Title: clean(d.title()), Policy: f.policy, Style: f.style, Script: f.script}
	for _, c := range d.cards() {
		page.Cards = append(page.Cards, pageCard{c, map[tone]string{fine: "✓ ", wrong: "✗ ", open: "? "}[c.Tone]})
	}
	var charts []chartJSON
	for i, s := range d.sections() {
		p := pageSection{ID: "s" + strconv.Itoa(i+1), Title: clean(s.Title), Label: clean(s.Label), List: s.Title == "Warnings"}
		for _, t := range s.Text {
			p.Text = append(p.Text, clean(t))
		}
		for _, t := range s.Tables {
			p.Tables = append(p.Tables, newPageTable(t))
		}
		for _, c := range s.Charts {
			c.Title, c.Sentence = clean(c.Title), clean(c.Sentence)
			p.Charts = append(p.Charts, pageChart{c, len(charts), newPageTable(c.table())})
			p.Threes = c.Small && len(s.Charts) != 2 && len(s.Charts) != 4
			charts = append(charts, newChartJSON(&c))
		}
		page.Sections = append(page.Sections, p)
	}
	data, err := json.Marshal(charts) // with <, > and & escaped, so that no text ends the element
	if err != nil {
		return err
	}
	page.Data = template.HTML(`<script type="application/json" id="charts">` + string(data) + `</script>`)
	var b bytes.Buffer // a template that fails half way writes nothing
	if err := f.page.Execute(&b, page); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// pageData is what the template shows.
type pageData struct {
	Title, Policy       string
	Style, Script, Data template.HTML
	Cards               []pageCard
	Sections            []pageSection
}

type pageCard struct {
	card
	Symbol string
}

type pageSection struct {
	ID, Title, Label string
	Text             []string
	List, Threes     bool
	Charts           []pageChart
	Tables           []pageTable
}

type pageChart struct {
	Chart
	Index  int
	Values pageTable
}

type pageTable struct{ Table }

// newPageTable has every text of a table fit to be shown, and its rows equally long.
func newPageTable(t Table) pageTable {
	fit := func(cells []string) []string {
		out := make([]string, len(t.Head))
		for i, c := range cells {
			out[i] = clean(c)
		}
		return out
	}
	p := pageTable{Table{Caption: clean(t.Caption), Head: fit(t.Head), Words: t.Words, Folded: t.Folded}}
	for _, row := range t.Rows {
		p.Rows = append(p.Rows, fit(row))
	}
	return p
}

// IsWords reports whether a column is aligned to the left.
func (t pageTable) IsWords(i int) bool { return slices.Contains(t.Words, i) }

// table is a chart's values as a table: a row for each x that has any.
func (c *Chart) table() Table {
	t := Table{Caption: "Values of " + c.Title, Head: []string{c.X.Label}, Folded: true}
	for _, s := range c.Series {
		t.Head = append(t.Head, clean(s.Name))
	}
	for i, x := range c.At {
		row := []string{c.X.name(x)}
		any := false
		for _, s := range c.Series {
			cell := text(c.Y.Unit, s.Values[i])
			any = any || finite(s.Values[i])
			if s.Lo != nil && finite(s.Lo[i]) && finite(s.Hi[i]) {
				cell += " (" + text(c.Y.Unit, s.Lo[i]) + " to " + text(c.Y.Unit, s.Hi[i]) + ")"
			}
			row = append(row, cell)
		}
		if any {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// name is what a value of x is called.
func (a *Axis) name(x float64) string {
	if a.Unit == Category {
		return clean(a.Names[int(x)])
	}
	return text(a.Unit, x)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// number is a figure of a chart: null where there is none, and no more digits than can be seen.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if !finite(float64(n)) {
		return []byte("null"), nil
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(float64(n), 'g', 7, 64), 64)
	if err != nil {
		return nil, fmt.Errorf("report: %v: %w", float64(n), err)
	}
	return json.Marshal(short)
}

func numbers(v []float64) (all []number) {
	for _, x := range v {
		all = append(all, number(x))
	}
	return all
}

// chartJSON is a chart as the page's script reads it.
type chartJSON struct {
	X       axisJSON     `json:"x"`
	Y       axisJSON     `json:"y"`
	At      []number     `json:"at"`
	Series  []seriesJSON `json:"series"`
	Lines   []lineJSON   `json:"lines,omitempty"`
	Bands   []bandJSON   `json:"bands,omitempty"`
	Points  []pointJSON  `json:"points,omitempty"`
	Stacked bool         `json:"stacked,omitempty"`
}

type axisJSON struct {
	Label string   `json:"label"`
	Unit  Unit     `json:"unit"`
	Log   bool     `json:"log,omitempty"`
	Names []string `json:"names,omitempty"`
	Ticks []number `json:"ticks,omitempty"`
}

type seriesJSON struct {
	Name   string   `json:"name"`
	Values []number `json:"values"`
	Lo     []number `json:"lo,omitempty"`
	Hi     []number `json:"hi,omitempty"`
	Role   Role     `json:"role,omitempty"`
	Dashed bool     `json:"dashed,omitempty"`
	Steps  bool     `json:"steps,omitempty"`
}

type lineJSON struct {
	Name string `json:"name"`
	At   number `json:"at"`
	X    bool   `json:"x,omitempty"`
}

type bandJSON struct {
	Name string `json:"name"`
	From number `json:"from"`
	To   number `json:"to"`

	Interval bool `json:"interval,omitempty"`
}

type pointJSON struct {
	Name string `json:"name"`
	X    number `json:"x"`
	Y    number `json:"y"`
}

func newChartJSON(c *Chart) chartJSON {
	axis := func(a *Axis) axisJSON {
		j := axisJSON{Label: clean(a.Label), Unit: a.Unit, Log: a.Log, Ticks: numbers(a.Ticks)}
		for _, n := range a.Names {
			j.Names = append(j.Names, clean(n))
		}
		return j
	}
	j := chartJSON{X: axis(&c.X), Y: axis(&c.Y), At: numbers(c.At), Stacked: c.Stacked}
	for _, s := range c.Series {
		j.Series = append(j.Series, seriesJSON{clean(s.Name), numbers(s.Values), numbers(s.Lo), numbers(s.Hi), s.Role, s.Dashed, s.Steps})
	}
	for _, l := range c.Lines {
		if finite(l.At) {
			j.Lines = append(j.Lines, lineJSON{clean(l.Name), number(l.At), l.X})
		}
	}
	for _, b := range c.Bands {
		if finite(b.From) && finite(b.To) {
			j.Bands = append(j.Bands, bandJSON{clean(b.Name), number(b.From), number(b.To), b.Interval})
		}
	}
	for _, p := range c.Points {
		if finite(p.X) && finite(p.Y) {
			j.Points = append(j.Points, pointJSON{clean(p.Name), number(p.X), number(p.Y)})
		}
	}
	return j
}
