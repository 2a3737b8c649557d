// Package figures is what the programs here print alike: where figures come from, tables, and what was to be reached.
package figures

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// A Machine is where figures come from.
type Machine struct {
	CPU     string
	Procs   int
	System  string
	Go      string            // its version
	Load    string            // how busy it was, if the system says
	Modules map[string]string // the versions of the modules in this program, by their paths
}

// ThisMachine is the one that the program runs on, as it is now.
func ThisMachine() Machine {
	m := Machine{
		CPU: "a CPU that does not say its name", Procs: runtime.GOMAXPROCS(0),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Modules: map[string]string{},
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if k, v, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
				m.CPU = strings.TrimSpace(v)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(b), " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.Modules[d.Path] = d.Version
		}
	}
	return m
}

func (m Machine) String() string {
	s := fmt.Sprintf("%s, %d processors, %s, %s", m.CPU, m.Procs, m.System, m.Go)
	if m.Load != "" {
		s += ", load average at the start " + m.Load
	}
	return s
}

// CPUTime is what this process has used, user and system.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are constants
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
