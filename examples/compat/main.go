// Command compat scores a run by goodput's rules and by those of vLLM's bench serve, AIPerf, GuideLLM, inference-perf,
// DistServe and MLPerf's server scenario, side by side, and says what makes the difference.
//
//	go run ./examples/compat FILE --slo 'ttft p95 < 800ms, tpot p95 < 50ms'
//
// FILE is a file of records, as examples/bench --records writes it, or a result of vLLM's benchmark, saved with
// --save-result --save-detailed. A file of records may have its SLO with it; --goodput takes vLLM's way to write one.
//
//	go run ./examples/compat vllm-result.json --goodput 'ttft:800 tpot:50' --markdown
//	go run ./examples/compat records.jsonl --vllm result.json    # the other way: what vLLM would have saved
//
// The exit status is 0, 2 for options that cannot be meant, and 1 for any other error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/compat"
	"github.com/goodputkit/goodputkit/slo"
)

// The exit statuses.
const (
	exitDone  = 0
	exitError = 1
	exitUsage = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// options is what the command line asks for.
type options struct {
	file     string
	slo      slo.SLO
	markdown bool
	report   bool
	vllm     string
}

func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("compat", flag.ContinueOnError)
	f.SetOutput(io.Discard) // an error is one line, which the caller prints
	f.Usage = func() {}
	f.TextVar(&o.slo, "slo", slo.SLO{}, "the service-level objective; without it that of a file of records")
	vllm := f.String("goodput", "", "the same as vLLM's --goodput takes it, in milliseconds: ttft:800 tpot:50 e2el:8000")
	f.BoolVar(&o.markdown, "markdown", false, "write Markdown")
	f.BoolVar(&o.report, "report", false, "print goodput's own report in full before it")
	f.StringVar(&o.vllm, "vllm", "", "file to write the records to as vLLM's benchmark would have saved them")
	for len(args) > 0 { // options may stand on either side of the file
		switch err := f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			f.SetOutput(help)
			fmt.Fprint(help, "Usage: compat FILE [options]\n\nScores a file of records, or a result of vLLM's benchmark, by the rules of several tools.\n\n")
			f.PrintDefaults()
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("%w (--help lists the options)", err)
		}
		if args = f.Args(); len(args) > 0 {
			if o.file != "" {
				return nil, fmt.Errorf("one file, and not %q too", args[0])
			}
			o.file, args = args[0], args[1:]
		}
	}
	if o.file == "" {
		return nil, errors.New("which file? (--help lists the options)")
	}
	if *vllm != "" {
		if !o.slo.IsZero() {
			return nil, errors.New("--slo or --goodput, not both")
		}
		var err error
		if o.slo, err = slo.ParseVLLM(*vllm, slo.P95); err != nil {
			return nil, fmt.Errorf("--goodput: %w", err)
		}
	}
	return o, nil
}

// run is the program without the process around it, so that tests can call it.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintln(stderr, "compat:", err)
		return exitUsage
	}
	switch err := score(o, stdout); {
	case errors.Is(err, errNoSLO):
		fmt.Fprintln(stderr, "compat:", err)
		return exitUsage
	case err != nil:
		fmt.Fprintln(stderr, "compat:", err)
		return exitError
	}
	return exitDone
}

var errNoSLO = errors.New("there is no SLO in the file: give one with --slo or --goodput")

func score(o *options, stdout io.Writer) error {
	f, err := os.Open(o.file)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := goodput.ReadRecords(f)
	if err == nil {
		return ofRecords(o, f, records, stdout)
	}
	if !errors.Is(err, goodput.ErrNotRecords) {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return ofVLLM(o, f, stdout)
}

func ofRecords(o *options, f *os.File, records *goodput.RecordReader, stdout io.Writer) error {
	if o.slo.IsZero() {
		o.slo = records.Header().SLO
	}
	if o.slo.IsZero() {
		return errNoSLO
	}
	c := compat.NewScorer(o.slo)
	for r, err := range records.All() {
		if err != nil {
			return err
		}
		c.Observe(r)
	}
	o.print(stdout, c.Compare())
	if o.vllm == "" {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	again, err := goodput.ReadRecords(f)
	if err != nil {
		return err
	}
	if err := notSame(f, o.vllm); err != nil {
		return err
	}
	out, err := os.OpenFile(o.vllm, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	about := again.Header().About
	err = compat.WriteVLLM(out, again.All(), compat.VLLMHeader{Model: about["model"], Backend: "openai-chat", Label: "goodputkit", SLO: o.slo})
	return errors.Join(err, out.Close())
}

// notSame refuses to write over the file that is read.
func notSame(f *os.File, name string) error {
	in, err := f.Stat()
	if err != nil {
		return err
	}
	if out, err := os.Stat(name); err == nil && os.SameFile(in, out) {
		return fmt.Errorf("--vllm %s: it is the file of records itself", name)
	}
	return nil
}

func ofVLLM(o *options, f io.Reader, stdout io.Writer) error {
	if o.vllm != "" {
		return errors.New("--vllm is for a file of records")
	}
	if o.slo.IsZero() {
		return errNoSLO
	}
	for r, err := range compat.VLLMRuns(f) {
		if err != nil {
			return fmt.Errorf("%s is no file of records, and: %w", o.file, err)
		}
		o.print(stdout, r.Compare(o.slo))
	}
	return nil
}

func (o *options) print(w io.Writer, c *compat.Comparison) {
	if o.report {
		fmt.Fprintln(w, c.Report)
	}
	if o.markdown {
		fmt.Fprint(w, c.Markdown())
	} else {
		fmt.Fprint(w, c)
	}
}
