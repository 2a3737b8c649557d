package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goodputkit/goodputkit/goodput"
)

// outputs are where records and the report go. nil: nowhere.
type outputs struct {
	records, json *output
}

// open opens what the options name, before the run: a place that cannot be written to is to be known then.
func (o *options) open(stdout io.Writer) (out outputs, err error) {
	defer func() {
		if err != nil {
			out.close()
		}
	}()
	if o.records == "-" && o.json == "-" {
		return out, errors.New("--records and --json cannot both be standard output")
	}
	if out.records, err = openOutput("--records", o.records, 0o600, stdout); err != nil {
		return out, err
	}
	if out.json, err = openOutput("--json", o.json, 0o666, stdout); err != nil {
		return out, err
	}
	return out, out.checkApart(o.prompts)
}

// checkApart refuses two options that name one file.
func (out *outputs) checkApart(prompts string) error {
	type named struct {
		option string
		info   os.FileInfo
	}
	var seen []named
	if info, err := os.Stat(prompts); err == nil {
		seen = append(seen, named{"--prompts", info})
	}
	for _, one := range []*output{out.records, out.json} {
		if one == nil || one.file == nil {
			continue
		}
		info, err := one.file.Stat()
		if err != nil {
			return fmt.Errorf("%s: %w", one.option, err)
		}
		for _, other := range seen {
			if info.Mode().IsRegular() && os.SameFile(other.info, info) {
				return fmt.Errorf("%s and %s are one file", other.option, one.option)
			}
		}
		seen = append(seen, named{one.option, info})
	}
	return nil
}

func (out *outputs) close() error { return errors.Join(out.records.close(), out.json.close()) }

// output is a file, or standard output. What a file had in it is lost with the first write, and not before.
type output struct {
	option  string
	w       io.Writer
	file    *os.File // nil: standard output
	created bool
	written bool
}

func openOutput(option, name string, mode os.FileMode, stdout io.Writer) (*output, error) {
	switch name {
	case "":
		return nil, nil
	case "-":
		return &output{option: option, w: stdout}, nil
	}
	_, err := os.Stat(name)
	created := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, mode)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return &output{option: option, w: f, file: f, created: created}, nil
}

func (o *output) Write(p []byte) (int, error) {
	if o.file != nil && !o.written {
		if info, err := o.file.Stat(); err == nil && info.Mode().IsRegular() {
			if err := o.file.Truncate(0); err != nil {
				return 0, err
			}
		}
	}
	o.written = true
	return o.w.Write(p)
}

func (o *output) isStdout() bool { return o != nil && o.file == nil }

func (o *output) writeReport(r *goodput.Report) error {
	if o == nil {
		return nil
	}
	e := json.NewEncoder(o)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false) // "ttft p95 < 800ms" is to be read
	return e.Encode(r)
}

// close leaves no empty file behind where there was none before.
func (o *output) close() error {
	if o == nil || o.file == nil {
		return nil
	}
	err := o.file.Close()
	if o.created && !o.written {
		err = errors.Join(err, os.Remove(o.file.Name()))
	}
	return err
}
