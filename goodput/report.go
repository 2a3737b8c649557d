package goodput

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/goodputkit/goodputkit/slo"
)

// ReportFormat is the value of a report's "format" key. It changes when a key changes its meaning.
const ReportFormat = "goodput-report/1"

// Report is what is read off an [Accumulator]: the figures of one class, or of all of them together. Two populations
// stand in it, and each figure says which is its own:
//
//   - the cohort: requests whose Start is in the window, each followed to its end. Counts of requests, shares,
//     objectives and percentiles are of the cohort.
//   - the flow: what ended in the window. Rates are flows, divided by the window's length.
//
// A number that does not exist (a share of nobody, a rate over no time) is NaN here and null in JSON, never 0.
//
// Its JSON is stable: keys are added, none is renamed or changes its meaning without another [ReportFormat]. The key
// of each field is in its tag. Times are in seconds, rates in requests/s or tokens/s, shares between 0 and 1.
type Report struct {
	Format      string        `json:"format"`             // ReportFormat
	Class       string        `json:"class,omitempty"`    // the class whose figures these are; "" for the total
	SLO         slo.SLO       `json:"slo"`                // canonical text; of the total: the default SLO
	SLOName     string        `json:"slo_name,omitempty"` // SLO.Name, for people
	Fingerprint string        `json:"fingerprint"`        // of the SLO; of the total with classes: of the default and all classes' together
	Window      Window        `json:"window"`
	Verdict     Verdict       `json:"verdict"`
	Confidence  float64       `json:"confidence"`       // 1 − α of the verdict and of the intervals that go with it: 0.95
	Warnings    []error       `json:"-"`                // "warnings": strings; the total has its classes' too. errors.Is against the Err… values
	Health      *ClientHealth `json:"health,omitempty"` // the client's own condition; nil where nobody measured it. Of the total only

	// The books of the cohort: Offered = Good + Late + each outcome other than success.

	Offered  uint64             `json:"offered"`
	Outcomes map[Outcome]uint64 `json:"outcomes"` // only those that occurred
	Good     uint64             `json:"good"`     // success, and every per-request objective holds
	Late     uint64             `json:"late"`     // success, and one does not

	Attainment       float64    `json:"attainment"`        // Good / Offered; NaN: nobody was offered
	AttainmentCI95   [2]float64 `json:"attainment_ci95"`   // plain Wilson interval: believes that requests are independent
	AttainmentCI     [2]float64 `json:"attainment_ci"`     // the same with the effective sample size; NaN where the run is too short for one
	AttainmentBounds [2]float64 `json:"attainment_bounds"` // with none and with all of the undecided good
	Undecided        uint64     `json:"undecided"`         // unfinished requests that could still have become good

	// Rates: flows over the window's length. NaN where the window has no length.

	WindowS         float64 `json:"window_s"`                // length of the window, s
	OfferedRPS      float64 `json:"offered_rps"`             // cohort / window
	ArrivalRPS      float64 `json:"arrival_rps"`             // (cohort − 1) / (its last Start − its first); NaN: fewer than two instants
	ThroughputRPS   float64 `json:"throughput_rps"`          // ended, whatever the outcome but dropped and unfinished
	SuccessRPS      float64 `json:"success_rps"`             // ended with success
	GoodputRPS      float64 `json:"goodput_rps"`             // ended and good
	OutputTPS       float64 `json:"output_tps"`              // output tokens of what is throughput, tokens/s
	TokenGoodputTPS float64 `json:"token_goodput_tps"`       // output tokens of what is good
	TotalTPS        float64 `json:"total_tps"`               // input and output tokens of what is throughput
	TotalGoodputTPS float64 `json:"total_token_goodput_tps"` // input and output tokens of what is good
	DroppedRPS      float64 `json:"dropped_rps"`             // never sent: no throughput, and in none of the above
	UnfinishedRPS   float64 `json:"unfinished_rps"`          // cut off: likewise

	// Lost is throughput less goodput, split without remainder. A lost request is booked once: under its outcome, or,
	// where that is success, under the first objective in the SLO's order that it misses (the objective's text).

	LostRPS map[string]float64 `json:"lost_rps"` // by cause, requests/s
	Lost    map[string]uint64  `json:"lost"`     // the same as counts
	Flow    Flow               `json:"flow"`     // the counts that the rates come from

	// Objectives in the SLO's order; in JSON an object keyed by the objective's canonical text, in that order. Empty for
	// a total whose classes have SLOs of their own.
	Objectives Objectives `json:"objectives,omitempty"`

	// Percentiles of the cohort's successful requests by name: the metrics that are defined for at least one of them
	// (ttft, ttfo, tpot, itl, e2e, speed, lag, service_ttft, service_e2e, x_…) and input_tokens, output_tokens.
	Percentiles map[string]Distribution `json:"percentiles"`

	Timeline Timeline           `json:"timeline"`
	Worst    []WorstRequest     `json:"worst,omitempty"` // at most 16, worst first
	Notes    Notes              `json:"notes"`           // what the accumulator had to decide for a record
	Classes  map[string]*Report `json:"classes,omitempty"`
}

// AllObjectives are the report's objectives or, where its classes have SLOs of their own, those of each class with its name, in
// the order of the names. Two reports by one SLO need not have the same: a class that nobody named beforehand is in a report only
// where it had requests.
func (r *Report) AllObjectives() iter.Seq2[string, ObjectiveResult] {
	return func(yield func(string, ObjectiveResult) bool) {
		for _, o := range r.Objectives {
			if !yield("", o) {
				return
			}
		}
		if len(r.Objectives) > 0 {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(r.Classes)) {
			for _, o := range r.Classes[name].Objectives {
				if !yield(name, o) {
					return
				}
			}
		}
	}
}

// WindowKind says what a report's window is.
type WindowKind string

// The kinds of window.
const (
	WholeRun    WindowKind = "whole run"    // first Start to last End, both included
	SteadyState WindowKind = "steady state" // set with WithWindow: From included, To as ToIncluded says
)

// Window is the stretch of time that a report is about. Where nothing was observed, or an open steady state has seen
// nothing yet, From and To may be equal: then there are no rates.
type Window struct {
	Kind       WindowKind `json:"kind"`
	From       time.Time  `json:"from,omitzero"` // RFC 3339, ns; not in JSON where nothing was observed
	To         time.Time  `json:"to,omitzero"`
	ToIncluded bool       `json:"to_included"`        // whether what starts or ends at To is inside
	Open       bool       `json:"open,omitempty"`     // the steady state has no end yet; To is then the last instant observed
	WarmupS    float64    `json:"warmup_s,omitempty"` // how long there had been load before From, s; 0: none, or nobody said
}

// SetWarmup says in the report, and in those of its classes, for how long there had been load before the window.
func (r *Report) SetWarmup(d time.Duration) { r.setWarmup(d.Seconds()) }

func (r *Report) setWarmup(s float64) {
	r.Window.WarmupS = s
	for _, c := range r.Classes {
		c.setWarmup(s)
	}
}

// Verdict is what the sample lets one say of the system, where Holds only speaks of the sample.
type Verdict string

// The verdicts.
const (
	Met          Verdict = "met"          // the interval of the share lies wholly at or beyond the target
	Missed       Verdict = "missed"       // that at 1 − α/m, with m objectives in the SLO, lies wholly short of it
	Inconclusive Verdict = "inconclusive" // neither, or the run is too short to say
	NoData       Verdict = "no data"      // there was no request to judge: neither a pass nor a failure
)

// Objectives are results in the order of the SLO.
type Objectives []ObjectiveResult

// ObjectiveResult is one objective, counted over the cohort.
type ObjectiveResult struct {
	Objective slo.Objective `json:"-"` // its canonical text is the key in JSON

	// Share is the share of N that the objective is about: of the requests within the threshold, for error_rate of those
	// that failed, for attainment of those that are good. NaN where N is 0.
	N      uint64  `json:"n"`      // requests in the share: the cohort, less the excluded
	Within uint64  `json:"within"` // successful requests within the threshold; not in JSON for error_rate and attainment
	Share  float64 `json:"share"`
	Holds  bool    `json:"holds"` // the sample's share reaches the target, compared in integers; false of nobody

	Verdict    Verdict    `json:"verdict"`
	Target     float64    `json:"target"`      // what Share is held against: 0.95 for p95, 0.01 for error_rate < 1%
	CI         [2]float64 `json:"ci"`          // interval of Share at Report.Confidence, with the effective sample size; NaN: none
	Inflation  float64    `json:"inflation"`   // φ ≥ 1: variance of Share over that of independent requests; NaN: not known
	EffectiveN float64    `json:"effective_n"` // N / φ
	Batches    int        `json:"batches"`     // batch means that φ was estimated from; 0: plain interval

	// AtLeast is of speed, of which more is better: the value that the objective's percentile of the cohort's successes
	// reach or exceed, of those that have a speed, in tokens/s. Of p95 it is what a table of percentiles calls the P5. NaN,
	// and absent from JSON, of any other metric and where no success has a speed.
	AtLeast float64 `json:"at_least"`

	suffices uint64 // see share.suffices

	Missed    uint64  `json:"missed"`     // successes of the cohort that miss it, whatever else they miss
	MissedRPS float64 `json:"missed_rps"` // the same of the flow, requests/s
	Undefined uint64  `json:"undefined"`  // successes for which the metric is undefined, so that the rule for undefined values decided
	Excluded  uint64  `json:"excluded"`   // those of them that left the share
}

// Flow counts what ended in the window.
type Flow struct {
	Ended            uint64 `json:"ended"` // throughput: neither dropped nor unfinished
	Success          uint64 `json:"success"`
	Good             uint64 `json:"good"`
	Dropped          uint64 `json:"dropped"`
	Unfinished       uint64 `json:"unfinished"`
	InputTokens      uint64 `json:"input_tokens"` // of what ended
	OutputTokens     uint64 `json:"output_tokens"`
	GoodInputTokens  uint64 `json:"good_input_tokens"` // of what is good
	GoodOutputTokens uint64 `json:"good_output_tokens"`
}

// Distribution is the percentiles of one metric over the cohort's successful requests, in the metric's unit: seconds,
// seconds per token, tokens/s, tokens, or the caller's for x_…. Hyndman–Fan type 7; exact for up to 1,000 values, beyond
// within the error that package percentile states. N, Min, Max and Mean are exact. For itl a value is one token's step.
type Distribution struct {
	N    uint64  `json:"n"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"` // NaN, and absent from JSON, where N is below 1,000
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`

	// CI95 has for each percentile in JSON's name ("p50" … "p99_9") a distribution-free interval of the order
	// statistics at 95 % confidence. It believes that the values are independent. NaN: too few values for that bound.
	CI95 map[string][2]float64 `json:"ci95"`
	// Thin names the percentiles above what the sample can carry: fewer than 1/(1−q) values.
	Thin []string `json:"thin,omitempty"`
}

// Timeline is the run in time slices of equal width: at most 512, and no more than there were requests, or 8. It also
// shows what was before the window.
type Timeline struct {
	From   time.Time     `json:"from,omitzero"` // start of the first slice
	Width  time.Duration `json:"width_ns"`
	Slices []Slice       `json:"slices"`
}

// Slice is what happened in one slice of the time line. The first and the last one may be covered in part only.
type Slice struct {
	Offered          uint64 `json:"offered"` // started in the slice
	Ended            uint64 `json:"ended"`   // ended in it, but dropped and unfinished
	Success          uint64 `json:"success"` // ended in it with success
	Good             uint64 `json:"good"`    // ended in it and good
	OutputTokens     uint64 `json:"output_tokens"`
	GoodOutputTokens uint64 `json:"good_output_tokens"`
}

// WorstRequest is one of the requests of the cohort that did worst. Half of the places are for requests that were late,
// by how many times they exceeded a threshold, half for those that failed, by how long they took; either takes places
// that the other leaves free.
type WorstRequest struct {
	Class        string             `json:"class,omitempty"`
	Start        time.Time          `json:"start"`
	Outcome      Outcome            `json:"outcome"`
	Excess       float64            `json:"excess"`           // greatest metric / threshold (speed: its inverse); NaN where it failed, or that metric is undefined
	Missed       []string           `json:"missed,omitempty"` // texts of the objectives it missed
	Values       map[string]float64 `json:"values"`           // its metrics by name; those that are defined
	InputTokens  int                `json:"input_tokens,omitempty"`
	OutputTokens int                `json:"output_tokens,omitempty"`
	Attempts     int                `json:"attempts,omitempty"`
	Finish       string             `json:"finish,omitempty"`
	Detail       string             `json:"detail,omitempty"` // at most 256 bytes
}

// Notes counts the records for which the accumulator had to decide something. All but Limits come with a warning.
type Notes struct {
	Limits        uint64 `json:"limits,omitempty"`         // cohort: brought thresholds of its own, which took the place of its class's
	IgnoredLimits uint64 `json:"ignored_limits,omitempty"` // a threshold of its own was no positive finite number, or on a metric that its SLO does not have
	UsageBelow    uint64 `json:"usage_below,omitempty"`    // the server's output-token count is below the tokens that were seen; the seen count
	NoOutcome     uint64 `json:"no_outcome,omitempty"`     // no valid outcome: booked as server_error
	Repaired      uint64 `json:"repaired,omitempty"`       // times that cannot be meant, put right as Observe says
	Refused       uint64 `json:"refused,omitempty"`        // no Start, or one that is not between the years 1970 and 2150: in no figure
	BadCustom     uint64 `json:"bad_custom,omitempty"`     // a custom value was NaN or infinite: absent
	IgnoredCustom uint64 `json:"ignored_custom,omitempty"` // a custom metric beyond the number that a report carries
	OtherClasses  uint64 `json:"other_classes,omitempty"`  // booked under "other": too many classes
}
