// Package prometheus3 shows what this project writes for Prometheus to the packages that Prometheus 3 itself is made of: its parser of rule
// files and of scrapes, its templates and its PromQL engine. Debian's promtool, which the other tests use, is of version 2.
//
// What two versions do not do alike, and rules can trip over:
//
//   - A range selector and the look-back are left-open: a sample exactly at their beginning is not in them any more, so that a window has one sample less.
//   - The le of a classic bucket is written as a float at the scrape: le="1" becomes le="1.0", also of what Go's client exposes.
//   - Names may be of any UTF-8.
//
// It is a module of its own outside the workspace, so that nobody else has Prometheus in a go.sum.
package prometheus3
