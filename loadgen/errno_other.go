//go:build !unix && !windows

package loadgen

// Nothing is known of this system's errors: what package net says of them has to do.

var exhaustion []error

func gaveUp(error) bool  { return false }
func isErrno(error) bool { return false }
