// Package panicsite says where a panic began.
package panicsite

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// Find is where the panic that is being recovered began, as file:line: the first frame below the runtime's. "": there is none.
func Find() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
