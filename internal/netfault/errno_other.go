//go:build !unix && !windows

package netfault

// Nothing is known of this system's errors: what package net says of them has to do.

var exhaustion []error

func gaveUp(error) bool  { return false }
func isErrno(error) bool { return false }

// Text is the system's word for why a system call failed: nothing is known of that here.
func Text(error) string { return "" }
