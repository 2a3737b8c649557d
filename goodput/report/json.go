package report

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/internal/figure"
)

// Format is the value of a document's "format" key. It changes when a key changes its meaning.
const Format = "goodput-document/1"

//go:embed schema/*.json
var schemas embed.FS

// Schemas are the JSON Schemas (draft 2020-12) of what this module writes: document.json of what JSON writes, report.json of a
// goodput.Report, curve.json of a curve.Curve, and records.json of a line of a file of records. They describe every key; a
// later version may have more.
func Schemas() fs.FS {
	sub, err := fs.Sub(schemas, "schema")
	if err != nil {
		panic(err) // the folder is in the program
	}
	return sub
}

type limitJSON struct {
	State       string   `json:"state"`
	Rate        *float64 `json:"rate"`
	Lo          *float64 `json:"lo"`
	Hi          *float64 `json:"hi"`
	Confidence  *float64 `json:"confidence"`
	Recommended *float64 `json:"recommended"`
	Headroom    *float64 `json:"headroom"`
	Warnings    []string `json:"warnings,omitempty"`
}

type documentJSON struct {
	Format     string            `json:"format"`
	Title      string            `json:"title,omitempty"`
	Limit      *Limit            `json:"limit,omitempty"`
	Curve      *curve.Curve      `json:"curve,omitempty"`
	Comparison *curve.Comparison `json:"comparison,omitempty"`
	Runs       []Run             `json:"runs,omitempty"`
}

// MarshalJSON writes null for what there is not; an interval that is not bounded above has hi null.
func (l Limit) MarshalJSON() ([]byte, error) {
	j := limitJSON{l.State, figure.OrNull(l.Rate), figure.OrNull(l.Lo), figure.OrNull(l.Hi), figure.OrNull(l.Confidence), figure.OrNull(l.Recommended), figure.OrNull(l.Headroom), nil}
	for _, w := range l.Warnings {
		j.Warnings = append(j.Warnings, w.Error())
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (l *Limit) UnmarshalJSON(b []byte) error {
	var j limitJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	or := func(p *float64, absent float64) float64 {
		if p == nil {
			return absent
		}
		return *p
	}
	nan := math.NaN()
	*l = Limit{j.State, or(j.Rate, nan), or(j.Lo, 0), or(j.Hi, math.Inf(1)), or(j.Confidence, nan), or(j.Recommended, nan), or(j.Headroom, nan), nil}
	for _, w := range j.Warnings {
		l.Warnings = append(l.Warnings, errors.New(w))
	}
	return nil
}

// JSON writes the document as Schemas' document.json describes it: the whole reports, with their time lines and classes. Sections, which
// are for people, are not in it.
func JSON(w io.Writer, d Document) error {
	if err := d.check(); err != nil {
		return err
	}
	if len(d.Runs) == 0 && d.Curve == nil && d.Comparison == nil {
		return ErrNothing
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(documentJSON{Format, d.Title, d.Limit, d.Curve, d.Comparison, d.Runs})
}

// ReadJSON reads a document that JSON wrote. Its comparison is not read again: it is made of reports that are not in it.
func ReadJSON(r io.Reader) (Document, error) {
	var j struct {
		documentJSON
		Comparison json.RawMessage `json:"comparison"` // shadows the one that cannot be read
	}
	if err := json.NewDecoder(r).Decode(&j); err != nil {
		return Document{}, fmt.Errorf("report: %w", err)
	}
	if j.Format != Format {
		return Document{}, fmt.Errorf("report: document of format %.40q, not %q", j.Format, Format)
	}
	d := Document{Title: j.Title, Limit: j.Limit, Curve: j.Curve, Runs: j.Runs}
	return d, d.check()
}
