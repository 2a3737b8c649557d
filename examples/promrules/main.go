// Command promrules writes what Prometheus and Grafana need to watch an SLO, and the SLO as an OpenSLO file.
//
//	go run ./examples/promrules 'ttft p95 < 800ms, error_rate < 1%' --out rules
//	promtool test rules rules/*.test.yaml
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/goodput/monitor/openslo"
	"github.com/goodputkit/goodputkit/goodput/monitor/promrules"
	"github.com/goodputkit/goodputkit/slo"
)

func main() {
	os.Exit(status(run(os.Args[1:], os.Stdout), os.Stderr))
}

// status is the exit status: 0 also for help, else 2. Errors are one line.
func status(err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(stderr, "promrules:", err)
	return 2
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("promrules", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one line, which main prints
	flags.Usage = func() {}
	dir := flags.String("out", ".", "directory that the files go to")
	source := flags.String("source", "goodput", "whose metrics: goodput, vllm or sglang")
	name := flags.String("name", "", "name of the SLO, as in the service; without one its fingerprint is the label")
	job := flags.String("job", "", "scrape job that the series have to be of")
	service := flags.String("service", openslo.DefaultService, "name of the service in the OpenSLO file")
	period := flags.Duration("period", monitor.DefaultPeriod, "period of the error budgets, from 1h to 8928h; 720h are 30 days, 2160h a quarter")
	var text []string
	for len(args) > 0 { // the SLO may stand before the flags
		if strings.HasPrefix(args[0], "-") {
			switch err := flags.Parse(args); {
			case errors.Is(err, flag.ErrHelp):
				flags.SetOutput(out)
				fmt.Fprint(out, "Usage: promrules SLO [options]\n\nWrites Prometheus rules, their tests and a dashboard for an SLO such as 'ttft p95 < 800ms, error_rate < 1%', and the SLO as an OpenSLO file.\n\n")
				flags.PrintDefaults()
				return err
			case err != nil:
				return fmt.Errorf("%w (--help lists the options)", err)
			}
			args = flags.Args()
			continue
		}
		text, args = append(text, args[0]), args[1:]
	}
	if len(text) == 0 {
		return errors.New("which SLO? (--help shows one)")
	}
	s, err := slo.Parse(strings.Join(text, ", "))
	if err != nil {
		return err
	}
	s.Name = *name
	p := promrules.Plan{SLO: s, Source: promrules.Source(*source), Period: max(*period, time.Nanosecond)}
	if *job != "" {
		p.Match = map[string]string{"job": *job}
	}
	rules, err := p.Rules()
	if err != nil {
		return err
	}
	const file = "goodput-rules.yaml"
	files := rules.Tests(file)
	files[file], files["goodput-dashboard.json"] = rules.YAML(), rules.Dashboard()
	if p.Source == promrules.Goodput { // its queries are on the counters that package goodputprom exports
		d := openslo.Document{SLO: s, Period: p.Period, Service: *service, Match: p.Match}
		if files["goodput-openslo.yaml"], err = d.YAML(); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(*dir, name), files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(out, filepath.Join(*dir, name))
	}
	fmt.Fprintf(out, "scrape and evaluate at least every %v, and keep samples for %v\n", rules.ScrapeInterval(), p.Period)
	for _, b := range rules.Bounds {
		fmt.Fprintln(out, b)
	}
	for _, w := range rules.Warnings {
		fmt.Fprintln(out, "left out:", w)
	}
	return nil
}
