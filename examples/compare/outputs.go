package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/goodput/report"
)

// described is what A and B are. Of an endpoint's address only the host is named: the rest may have a secret in it.
func (o *options) described() (both [2]string) {
	for i := range both {
		switch {
		case o.files[i] != nil:
			both[i] = fmt.Sprintf("%d files of records, from %s", len(o.files[i]), plain(filepath.Base(o.files[i][0])))
		case o.urls[i] == "":
			both[i] = fmt.Sprintf("a simulated engine with at most %d sequences in a batch", simulatedBatch[i])
		default:
			both[i] = plain(o.models[i])
			if u, err := url.Parse(o.urls[i]); err == nil && u.Host != "" {
				both[i] += " at " + plain(u.Host)
			}
		}
	}
	return both
}

// head says what stands above a comparison: what A and B are, what was promised, what either was asked, and what the client that asked says of itself.
func head(systems [2]string, sides [2][]*goodput.Report) string {
	var b strings.Builder
	line := func(name, text string) { fmt.Fprintf(&b, "%-15s%s\n", name, text) }
	for i, what := range systems {
		line(name(i), what)
	}
	first := sides[0][0]
	line("SLO", first.SLO.String())
	for _, class := range slices.Sorted(maps.Keys(first.Classes)) {
		if own := first.Classes[class].SLO.String(); own != first.SLO.String() {
			line("", "of "+plain(class)+": "+own)
		}
	}
	if a, b := loadOf(sides[0]), loadOf(sides[1]); a == b {
		line("Load", a)
	} else {
		line("Load of A", a)
		line("Load of B", b)
	}
	runs, measured := 0, 0
	var unsound []string
	for i, side := range sides {
		for n, r := range side {
			runs++
			if r.Health == nil {
				continue
			}
			measured++
			if v := r.Health.Verdict; v != "" && v != goodput.Valid {
				why := plain(strings.Join(r.Health.Reasons, "; "))
				unsound = append(unsound, strings.TrimSuffix(fmt.Sprintf("%s in run %s %d: %s", plain(string(v)), name(i), n+1, why), ": "))
			}
		}
	}
	switch {
	case measured == 0:
		line("Client", "nobody measured it")
	case len(unsound) == 0:
		line("Client", fmt.Sprintf("valid in %d of %d runs", measured, runs))
	default:
		line("Client", fmt.Sprintf("not valid in %d of %d runs: it may have had a part in the figures", len(unsound), runs))
		for _, text := range unsound {
			line("", text)
		}
	}
	return b.String()
}

// loadOf is what one side was asked, in words, by its first run.
func loadOf(side []*goodput.Report) string {
	for _, l := range side[0].Lines() {
		if l.Name == "Load" {
			return l.Text
		}
	}
	return "nobody said"
}

// plain is a text from a file in one line, without what a terminal takes for an order.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// document is the comparison with its runs, for people.
func document(c *curve.Comparison, systems [2]string, sides [2][]*goodput.Report) report.Document {
	d := report.Document{Title: "Comparison of A and B", Comparison: c,
		Sections: []report.Section{{Title: "What was compared", Text: []string{"A: " + systems[0], "B: " + systems[1]}}}}
	for i, side := range sides {
		for n, r := range side {
			d.Runs = append(d.Runs, report.Run{Name: fmt.Sprint(name(i), " ", n+1), Report: r})
		}
	}
	return d
}

// write writes the files that were asked for.
func (o *options) write(c *curve.Comparison, d report.Document) error {
	for _, f := range []struct {
		name string
		how  func(io.Writer, report.Document) error
	}{
		{o.html, report.HTML}, {o.csv, report.CSV},
		{o.json, func(w io.Writer, _ report.Document) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(c)
		}},
	} {
		if f.name == "" {
			continue
		}
		var b bytes.Buffer // a file is written whole or not at all
		if err := f.how(&b, d); err != nil {
			return err
		}
		if err := os.WriteFile(f.name, b.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}
