// Package report writes what was measured for those who are to look at it: a Document, which is one report, several side by side,
// or a load-latency curve with its steps.
//
//	err := report.HTML(w, report.Document{Title: "Engine A", Curve: c})
//
// The writers, all of the same document:
//
//	Text      for a terminal: what the parts print by themselves
//	Markdown  for a comment on a pull request
//	CSV       a line for each step or run, RFC 4180, with a header that is stable (CSVHeader)
//	JSON      all there is, as the published JSON Schemas describe it (Schemas)
//	HTML      one page with charts that needs no network and no other file
//
// A number that does not exist is "–" in what people read, null in JSON and an empty field in CSV, and no chart draws it: it is
// never 0. What stands in names, in errors and in other texts from outside is text in each form, and cannot become markup.
//
// # The page
//
// First stands the verdict: that of each run, or the goodput limit of the curve. Then come, as far as there is something to show,
// latency over load with the SLO as a line and the bloat zone shaded; throughput and goodput over load; throughput split into
// goodput and what was lost, by cause; latency by percentile; time lines; the client's health; the SLO with its fingerprint;
// and the warnings. Charts are drawn by uPlot, which is in the page with its licence. Each has what it shows in a sentence, which a
// screen reader says, and a table of its values beneath it.
//
// # More sections
//
// What stands above or beside this package (a search, figures chosen after the run, another tool's rules) puts its findings into
// Sections, made of texts, tables and charts: every writer for people shows them as it shows its own. A figure that must not be taken
// for the headline has its Section.Label.
package report
