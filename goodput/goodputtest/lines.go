package goodputtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// worstShown is how many requests a message shows.
const worstShown = 5

// lines is a message: a sentence, and labelled lines below it.
type lines struct{ strings.Builder }

func (b *lines) add(label, format string, args ...any) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	if label != "" {
		fmt.Fprintf(b, "  %-8s  ", label)
	}
	fmt.Fprintf(b, format, args...)
}

// worst shows the worst requests among those of a kind.
func (b *lines) worst(r *goodput.Report, of func(*goodput.WorstRequest) bool) {
	label := "worst"
	for i, shown := 0, 0; i < len(r.Worst) && shown < worstShown; i++ {
		w := &r.Worst[i]
		if !of(w) {
			continue
		}
		shown++
		text := w.Start.UTC().Format(time.RFC3339Nano) + " " + w.Outcome.String()
		if w.Class != "" && w.Class != slo.DefaultClass {
			text = figure.Clean(w.Class, 40) + " " + text
		}
		for _, m := range slo.Metrics() {
			if v, ok := w.Values[string(m)]; ok && slices.Contains(shownMetrics, m) {
				text += ", " + string(m) + " " + value(m)(v)
			}
		}
		switch n := w.OutputTokens; {
		case n == 1:
			text += ", 1 token"
		case n > 1:
			text += ", " + figure.Count(n) + " tokens"
		}
		if w.Detail != "" {
			text += ": " + figure.Clean(w.Detail, 120)
		}
		b.add(label, "%s", text)
		label = " "
	}
}

var shownMetrics = []slo.Metric{slo.TTFT, slo.TPOT, slo.E2E}
