package openslo

import (
	"errors"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/monitor"
	"github.com/goodputkit/goodputkit/slo"
)

// MaxFile is how many bytes a file may have that is read or written.
const MaxFile = 1 << 20

// DefaultService is the service of an SLO where a Document says nothing else.
const DefaultService = "goodput"

// A Document is an SLO with what OpenSLO says beside it. Only SLO is required to write one.
type Document struct {
	SLO     slo.SLO
	Period  time.Duration     // of the error budget, in whole minutes; 0: 30 days, or, of one that was read, not said
	Service string            // name of the service; "": DefaultService, or not said
	Match   map[string]string // labels that the series have to have, such as job; part of the queries, and not read back

	Warnings []error // what Read left out, since it is not about the objectives
}

// What can be wrong.
var (
	ErrSyntax        = errors.New("openslo: not an OpenSLO v1 file")
	ErrInexpressible = errors.New("openslo: cannot be expressed")
)

const (
	apiVersion  = "openslo/v1"
	kindSLO     = "SLO"
	kindSLI     = "SLI"
	kindService = "Service"
	occurrences = "Occurrences"
	prometheus  = "Prometheus"

	// The annotations.
	objectiveNote = "goodputkit.github.io/objective"
	metricNote    = "goodputkit.github.io/metric"
	sloNote       = "goodputkit.github.io/slo"
	nameNote      = "goodputkit.github.io/slo-name"

	// Package goodputprom's counters.
	ownCounters   = "goodput_objective_"
	totalCounter  = ownCounters + "requests_total"
	withinCounter = ownCounters + "within_requests_total"

	defaultPeriod = monitor.DefaultPeriod
	maxObjectName = 63   // of RFC 1123
	maxDisplayed  = 63   // characters of a displayName, to OpenSLO's own validator
	maxDocuments  = 1024 // of a file
	maxKeys       = 256  // of a mapping, since they are told apart in quadratic time
)

// object is any of the file's; the spec depends on the kind.
type object[Spec any] struct {
	APIVersion string   `yaml:"apiVersion"`
	Kind       string   `yaml:"kind"`
	Metadata   metadata `yaml:"metadata"`
	Spec       Spec     `yaml:"spec"`
}

type metadata struct {
	Name        string            `yaml:"name"`
	DisplayName string            `yaml:"displayName,omitempty"`
	Labels      yaml.Node         `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

type serviceSpec struct {
	Description string `yaml:"description,omitempty"`
}

type sloSpec struct {
	Description     string       `yaml:"description,omitempty"`
	Service         string       `yaml:"service,omitempty"`
	Indicator       *indicator   `yaml:"indicator,omitempty"`
	IndicatorRef    string       `yaml:"indicatorRef,omitempty"`
	TimeWindow      []timeWindow `yaml:"timeWindow,omitempty"`
	BudgetingMethod string       `yaml:"budgetingMethod"`
	Objectives      []objective  `yaml:"objectives"`
	AlertPolicies   yaml.Node    `yaml:"alertPolicies,omitempty"`
}

type timeWindow struct {
	Duration  string    `yaml:"duration"`
	IsRolling *bool     `yaml:"isRolling,omitempty"`
	Calendar  yaml.Node `yaml:"calendar,omitempty"`
}

type objective struct {
	DisplayName     string    `yaml:"displayName,omitempty"`
	Op              string    `yaml:"op,omitempty"`
	Value           *float64  `yaml:"value,omitempty"`
	Target          *float64  `yaml:"target,omitempty"`
	TargetPercent   *float64  `yaml:"targetPercent,omitempty"`
	TimeSliceTarget yaml.Node `yaml:"timeSliceTarget,omitempty"`
	TimeSliceWindow yaml.Node `yaml:"timeSliceWindow,omitempty"`
	Indicator       yaml.Node `yaml:"indicator,omitempty"` // of a composite SLO, as the next two
	IndicatorRef    yaml.Node `yaml:"indicatorRef,omitempty"`
	CompositeWeight yaml.Node `yaml:"compositeWeight,omitempty"`
}

type indicator struct {
	Metadata metadata `yaml:"metadata"`
	Spec     sliSpec  `yaml:"spec"`
}

type sliSpec struct {
	Description     string       `yaml:"description,omitempty"`
	ThresholdMetric *metric      `yaml:"thresholdMetric,omitempty"`
	RatioMetric     *ratioMetric `yaml:"ratioMetric,omitempty"`
}

type ratioMetric struct {
	Counter *bool   `yaml:"counter,omitempty"`
	Good    *metric `yaml:"good,omitempty"`
	Bad     *metric `yaml:"bad,omitempty"`
	Total   *metric `yaml:"total,omitempty"`
	RawType string  `yaml:"rawType,omitempty"`
	Raw     *metric `yaml:"raw,omitempty"`
}

type metric struct {
	MetricSource metricSource `yaml:"metricSource"`
}

// metricSource is where a metric comes from. What its spec has depends on the type, and can be a credential: it stays a node, which
// nothing decodes and so no error quotes.
type metricSource struct {
	MetricSourceRef string    `yaml:"metricSourceRef,omitempty"`
	Type            string    `yaml:"type,omitempty"`
	Spec            yaml.Node `yaml:"spec"`
}

// target is the share that an objective asks for, in billionths.
func target(o slo.Objective) int64 { return 1e9 - o.Budget() }
