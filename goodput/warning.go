package goodput

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goodputkit/goodputkit/internal/figure"
	"github.com/goodputkit/goodputkit/slo"
)

// What a report warns of. Each warning wraps one of these: use errors.Is. The warnings of a class are in the class's
// report and, with its name, in the total's. They survive JSON.
var (
	// ErrRunTooShort: neighbours are too much alike for a verdict, as where latency drifts or swings over the whole run. A run
	// several times as long as that has one, and so has one whose values are far within their thresholds.
	ErrRunTooShort = errors.New("run too short for its load")
	// ErrSampleTooSmall: the sample holds an objective, and has too few requests to show that the system does.
	ErrSampleTooSmall = errors.New("sample too small to tell")
	// ErrFewRequests: below 20 requests there is no telling whether they are independent.
	ErrFewRequests = errors.New("few requests")
	// ErrNoRequests: nothing started in the window.
	ErrNoRequests = errors.New("no request started in the window")
	// ErrNoWindow: the window has no length, so there are no rates.
	ErrNoWindow = errors.New("window of no length")
	// ErrWindowEndedLate: EndWindow came after records beyond the window's end, which are in the rates.
	ErrWindowEndedLate = errors.New("window ended late")
	// ErrThinPercentile: the SLO's percentile is above what the sample can carry, fewer than 1/(1−q) requests.
	ErrThinPercentile = errors.New("sample too small for the percentile")
	// ErrUndefined: successes that have no value of an objective's metric, so that the rule for undefined values decided.
	ErrUndefined = errors.New("metric undefined")
	// ErrUsageBelow: the server's count of output tokens is below the tokens that were seen.
	ErrUsageBelow = errors.New("usage below the tokens seen")
	// ErrRecords: records that could not be meant as they were; see Accumulator.Observe.
	ErrRecords = errors.New("records put right or refused")
	// ErrTooManyClasses: requests booked under OtherClass.
	ErrTooManyClasses = errors.New("too many classes")
)

var warningKinds = []error{ErrRunTooShort, ErrSampleTooSmall, ErrFewRequests, ErrNoRequests, ErrNoWindow, ErrWindowEndedLate, ErrThinPercentile,
	ErrUndefined, ErrUsageBelow, ErrRecords, ErrTooManyClasses}

// parsedWarning is a warning read from a report file.
type parsedWarning struct {
	text string
	kind error
}

func (w *parsedWarning) Error() string { return w.text }
func (w *parsedWarning) Unwrap() error { return w.kind }

// parseWarning finds out which kind a warning's text is of; one that this version does not know is a plain error.
func parseWarning(text string) error {
	for _, kind := range warningKinds {
		if strings.HasPrefix(text, kind.Error()) || strings.Contains(text, ": "+kind.Error()) {
			return &parsedWarning{text, kind}
		}
	}
	return errors.New(text)
}

// warnings says what is to be known about the figures of one class.
func (r *Report) warnings() (w []error) {
	if r.Offered == 0 {
		w = append(w, ErrNoRequests)
	}
	short, few, holds := "", false, true
	var most ObjectiveResult // the one that takes most requests
	for _, o := range r.Objectives {
		if o.suffices > max(most.suffices, o.N) {
			most = o
		}
		holds = holds && o.Holds
		if o.Verdict == Inconclusive && o.Batches == 0 && r.Offered >= minSample && short == "" {
			short = o.Objective.String()
		}
		few = few || o.N > 0 && o.N < minSample
		if o.Undefined > 0 {
			w = append(w, r.undefinedWarning(o))
		}
		if !o.Objective.Metric.Population() && o.N > 0 && float64(o.N)*(1e6-float64(o.Objective.Percentile.PPM())) < 1e6 {
			w = append(w, fmt.Errorf("%w: %s of %d requests", ErrThinPercentile, o.Objective.Percentile, o.N))
		}
	}
	if short != "" {
		w = append(w, fmt.Errorf("%w: neighbours among its %d requests are too much alike to form %d independent batches, as where latency drifts over the whole run (%s)",
			ErrRunTooShort, r.Offered, minBatches, short))
	}
	if holds && most.suffices > 0 {
		w = append(w, fmt.Errorf("%w: it takes about %s requests like these to show %s", ErrSampleTooSmall, figure.Count(most.suffices),
			most.Objective))
	}
	if few {
		w = append(w, fmt.Errorf("%w: below %d the intervals take them as independent", ErrFewRequests, minSample))
	}
	return append(w, r.Notes.warnings()...)
}

// undefinedWarning says for how many successes there is no value of an objective's metric, why where nothing at all was
// seen to arrive, and what became of them.
func (r *Report) undefinedWarning(o ObjectiveResult) error {
	m, successes := o.Objective.Metric, r.Outcomes[Success]
	who := fmt.Sprintf("%d of %d successes have no %s", o.Undefined, successes, m)
	if _, seen := r.Percentiles[string(slo.TTFT)]; !seen && !m.Custom() {
		who = fmt.Sprintf("none of %d successes had a token event (was nothing streamed?), so none has a %s", successes, m)
	}
	return fmt.Errorf("%w: %s; %s %s", ErrUndefined, who, r.SLO.Undefined[m].Words(m), o.Objective)
}

func (n *Notes) warnings() (w []error) {
	warn := func(count uint64, kind error, format string) {
		if count > 0 {
			w = append(w, fmt.Errorf("%w: "+format, kind, count))
		}
	}
	warn(n.UsageBelow, ErrUsageBelow, "%d requests; the tokens seen count")
	warn(n.NoOutcome, ErrRecords, "%d without an outcome, booked as server_error")
	warn(n.Repaired, ErrRecords, "%d with times or token counts that cannot be meant")
	warn(n.Refused, ErrRecords, "%d without a Start between 1970 and 2150, which are in no figure")
	warn(n.IgnoredLimits, ErrRecords, "%d thresholds of their own ignored")
	warn(n.BadCustom, ErrRecords, "%d custom values NaN or infinite")
	warn(n.IgnoredCustom, ErrRecords, "%d custom values ignored, of metrics beyond the number that is kept")
	warn(n.OtherClasses, ErrTooManyClasses, "%d requests booked under other")
	return w
}
