package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// twoCores keeps what the calling thread starts to two cores.
func twoCores() error {
	var all, two unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return os.NewSyscallError("sched_getaffinity", err)
	}
	for cpu := 0; cpu < 64*len(all) && two.Count() < 2; cpu++ {
		if all.IsSet(cpu) {
			two.Set(cpu)
		}
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinity(0, &two))
}

// startServer starts the server. It lives until stop.
func startServer(ctx context.Context) (url string, stop func(), err error) {
	cmd, err := self(ctx, "server", load{})
	if err != nil {
		return "", nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		in.Close()
		cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the server said nothing: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// self is a process of this program in another role.
func self(ctx context.Context, role string, l load) (*exec.Cmd, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	task, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, "-role", role, "-load", string(task))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// asker has clients measured, each in a process of its own.
type asker struct {
	ctx    context.Context
	url    string
	python string // the interpreter
	n      int
}

func (a *asker) ask(c client, l load) (r result, err error) {
	a.n++
	l.URL, l.ID = a.url, strconv.Itoa(a.n)
	if c.do == nil {
		return askPython(a.ctx, a.python, l)
	}
	cmd, err := self(a.ctx, c.name, l)
	if err != nil {
		return r, err
	}
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out, &r)
}
