// Package goodput measures goodput: records in, report out.
package goodput
