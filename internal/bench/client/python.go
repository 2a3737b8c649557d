package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// script is a client as one writes it in Python.
//
//go:embed testdata/client.py
var script string

// findPython is an interpreter that has aiohttp, and what it says of the two's versions; empty: there is none.
func findPython(ctx context.Context) (path, versions string) {
	for _, path := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(ctx, path, "-c", `import sys, aiohttp; print("Python", sys.version.split()[0] + ", aiohttp", aiohttp.__version__)`).Output()
		if err == nil {
			return path, strings.TrimSpace(string(out))
		}
	}
	return "", ""
}

// askPython has the script carry the load out.
func askPython(ctx context.Context, path string, l load) (r result, err error) {
	at := wholePath
	if l.Kind == streaming {
		at = streamPath
	}
	cmd := exec.CommandContext(ctx, path, "-", "--url", l.URL+at, "--id", l.ID, "--requests", fmt.Sprint(l.Requests),
		"--tokens", fmt.Sprint(tokens), "--rate", fmt.Sprint(l.rate()), "--concurrency", fmt.Sprint(l.Size))
	cmd.Stdin, cmd.Stderr = strings.NewReader(script), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, err
	}
	var did struct {
		CPU, Took float64 // s
		Status    string  // /proc/self/status
		Streams   []seen
	}
	if err := json.Unmarshal(out, &did); err != nil {
		return r, err
	}
	if r.RSS, err = readPeak(did.Status); err != nil {
		return r, err
	}
	return r, r.sum(ctx, l, seconds(did.CPU), seconds(did.Took), did.Streams)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
