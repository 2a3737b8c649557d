package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// A machine is where figures come from.
type machine struct {
	cpu     string
	procs   int
	system  string
	goes    string            // the version of Go
	load    string            // how busy it was, if the system says
	modules map[string]string // the versions of the subjects
}

func thisMachine() machine {
	m := machine{
		cpu: "a CPU that does not say its name", procs: runtime.GOMAXPROCS(0),
		system: runtime.GOOS + "/" + runtime.GOARCH, goes: runtime.Version(), modules: map[string]string{},
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for sc := bufio.NewScanner(f); sc.Scan(); {
			if k, v, ok := strings.Cut(sc.Text(), ":"); ok && strings.TrimSpace(k) == "model name" {
				m.cpu = strings.TrimSpace(v)
				break
			}
		}
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(b), " ")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.modules[d.Path] = d.Version
		}
	}
	return m
}

func (m machine) String() string {
	s := fmt.Sprintf("%s, %d processors, %s, %s", m.cpu, m.procs, m.system, m.goes)
	if m.load != "" {
		s += ", load average at the start " + m.load
	}
	return s
}
