package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/goodputkit/goodputkit/goodput/curve"
	"github.com/goodputkit/goodputkit/goodput/report"
	"github.com/goodputkit/goodputkit/loadgen/capacity"
)

// document is what was found, for people.
func (o *options) document(c *curve.Curve, l *capacity.Limit) report.Document {
	d := report.Document{Title: "Capacity of " + o.system(), Curve: c}
	if l != nil {
		d.Limit = &report.Limit{State: string(l.State), Rate: l.Rate, Lo: l.Lo, Hi: l.Hi, Confidence: l.Confidence, Recommended: l.Recommended, Headroom: l.Headroom, Warnings: l.Warnings}
	}
	return d
}

// system is what was measured. Of an endpoint's address only the host is named: the rest may have a secret in it.
func (o *options) system() string {
	if o.url == "" {
		return "a simulated engine, OPT-13B on four A100"
	}
	if u, err := url.Parse(o.url); err == nil && u.Host != "" {
		return o.model + " at " + u.Host
	}
	return o.model
}

// write writes the files that were asked for. found is what stands in that of --json.
func (o *options) write(found any, d report.Document, stderr io.Writer) error {
	for _, f := range []struct {
		name string
		how  func(io.Writer, report.Document) error
	}{
		{o.html, report.HTML}, {o.markdown, report.Markdown}, {o.csv, report.CSV},
		{o.json, func(w io.Writer, _ report.Document) error {
			e := json.NewEncoder(w)
			e.SetIndent("", "  ")
			return e.Encode(found)
		}},
	} {
		if f.name == "" || d.Curve == nil && f.name != o.json { // not one probe was over
			continue
		}
		var b bytes.Buffer // a file is written whole or not at all
		if err := f.how(&b, d); err != nil {
			return err
		}
		if err := os.WriteFile(f.name, b.Bytes(), 0o600); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "written: %s\n", f.name)
	}
	return nil
}
