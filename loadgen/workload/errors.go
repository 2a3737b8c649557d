package workload

import (
	"errors"
	"fmt"
	"strconv"
)

// What is wrong with a file, for errors.Is.
var (
	ErrEmpty    = errors.New("holds no request")
	ErrTooLong  = errors.New("line or element is too long")
	ErrTooLarge = errors.New("file is too large")
	ErrOrder    = errors.New("timestamps go back")
)

// FileError says where in a file something is wrong. It never quotes a value of the file: a prompt stays out of
// logs.
type FileError struct {
	File string // as the caller named it
	Line int    // from 1; 0: the file as a whole
	Err  error
}

// Error is file:line: what is wrong.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Err.Error()
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Err.Error()
}

// Unwrap is what is wrong.
func (e *FileError) Unwrap() error { return e.Err }

// OptionError is an option, a law or a field that cannot be meant.
type OptionError struct {
	Name string // of the option, the law or the field
	Why  string // what is wrong and what would be right
}

// Error is the name and why.
func (e *OptionError) Error() string { return "workload: " + e.Name + ": " + e.Why }

func invalid(name, format string, args ...any) error {
	return &OptionError{Name: name, Why: fmt.Sprintf(format, args...)}
}
