package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"

	"github.com/goodputkit/goodputkit/loadgen"
)

// bar shows how the run stands, where somebody watches.
type bar struct {
	b *progressbar.ProgressBar
}

const barSteps = 1000

// newBar is silent unless w is a terminal.
func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok {
		return &bar{}
	}
	if st, err := f.Stat(); err != nil || st.Mode()&os.ModeCharDevice == 0 {
		return &bar{}
	}
	return &bar{progressbar.NewOptions(barSteps, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(24), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(true))}
}

func (b *bar) show(p loadgen.Progress) {
	if b.b == nil {
		return
	}
	phase := ""
	switch {
	case p.Warmup:
		phase = "warming up, "
	case p.Cooldown:
		phase = "cooling down, "
	case p.Drain:
		phase = "draining, "
	}
	b.b.Describe(fmt.Sprintf("%s%d in flight, goodput %.1f of %.1f requests/s", phase, p.InFlight, p.Goodput, p.Throughput))
	if done, ok := p.Fraction(); ok {
		_ = b.b.Set(int(done * barSteps)) // an error says that it could not be drawn: the run goes on
	}
}

func (b *bar) finish() {
	if b.b != nil {
		_ = b.b.Finish()
	}
}
