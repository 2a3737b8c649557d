// Package examples is what people copy from: each folder below it is a program or a test that stands by itself.
// It is a module of its own, so that what its programs draw and print with reaches no importer of the library.
package examples
