package openslo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/goodput/internal/exposition"
	"github.com/goodputkit/goodputkit/slo"
)

var (
	objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// YAML is the document as a file of several YAML documents: the Service, then an SLO for each objective. An error wraps
// [ErrInexpressible] and names the field: an SLO that is invalid, a period that is no whole number of minutes, a name that OpenSLO does not allow.
func (d Document) YAML() ([]byte, error) {
	if d.Period == 0 {
		d.Period = defaultPeriod
	}
	if d.Service == "" {
		d.Service = DefaultService
	}
	if err := d.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(object[serviceSpec]{APIVersion: apiVersion, Kind: kindService, Metadata: metadata{Name: d.Service}})
	for _, o := range d.SLO.Objectives {
		if err == nil {
			err = e.Encode(d.object(o))
		}
	}
	if err != nil { // only what this package made itself
		panic("openslo: " + err.Error())
	}
	if b.Len() > MaxFile {
		return nil, fmt.Errorf("%w: the file would have %d bytes, at most %d are allowed", ErrInexpressible, b.Len(), MaxFile)
	}
	return b.Bytes(), nil
}

func (d *Document) check() error {
	if err := d.SLO.Validate(); err != nil {
		return fmt.Errorf("%w: SLO: %w", ErrInexpressible, err)
	}
	if !utf8.ValidString(d.SLO.Name) {
		return fmt.Errorf("%w: SLO: the name is no UTF-8", ErrInexpressible)
	}
	if d.Period < time.Minute || d.Period%time.Minute != 0 {
		return fmt.Errorf("%w: Period: %v is no whole number of minutes", ErrInexpressible, d.Period)
	}
	if len(d.Service) > maxObjectName || !objectName.MatchString(d.Service) {
		return fmt.Errorf("%w: Service: %.70q is no name: up to %d of a to z, 0 to 9 and -", ErrInexpressible, d.Service, maxObjectName)
	}
	for name, value := range d.Match {
		if !labelName.MatchString(name) || strings.HasPrefix(name, "__") || slices.Contains([]string{"slo", "objective"}, name) {
			return fmt.Errorf("%w: Match: %.40q is no label name, or taken", ErrInexpressible, name)
		}
		if !utf8.ValidString(value) || strings.Contains(value, "\uFFFD") { // which no query can have
			return fmt.Errorf("%w: Match: the value of %s is no UTF-8, or has U+FFFD", ErrInexpressible, name)
		}
	}
	return nil
}

// object is the SLO of one objective.
func (d *Document) object(o slo.Objective) object[sloSpec] {
	label, text := exposition.Label(d.SLO), o.String()
	name, yes := d.name(o), true
	share := float64(target(o)) / 1e9
	out := object[sloSpec]{APIVersion: apiVersion, Kind: kindSLO, Metadata: metadata{
		Name: name, DisplayName: displayed(text),
		Annotations: map[string]string{objectiveNote: text, sloNote: d.SLO.String()},
	}}
	if d.SLO.Name != "" {
		out.Metadata.Annotations[nameNote] = d.SLO.Name
	}
	counter := func(name string) *metric {
		of := []string{"slo=" + strconv.Quote(label), "objective=" + strconv.Quote(text)}
		for _, l := range slices.Sorted(maps.Keys(d.Match)) {
			of = append(of, l+"="+strconv.Quote(d.Match[l]))
		}
		query := name + "{" + strings.Join(of, ",") + "}"
		source := metricSource{Type: prometheus}
		if err := source.Spec.Encode(map[string]string{"query": query}); err != nil { // a map of strings
			panic("openslo: " + err.Error())
		}
		return &metric{source}
	}
	out.Spec = sloSpec{
		Description: fmt.Sprintf("Of the requests that the objective is about at least %s%% have to be within it.", percent(target(o))),
		Service:     d.Service,
		Indicator: &indicator{metadata{Name: name, DisplayName: displayed(text)}, sliSpec{
			RatioMetric: &ratioMetric{Counter: &yes, Good: counter(withinCounter), Total: counter(totalCounter)},
		}},
		TimeWindow:      []timeWindow{{Duration: shorthand(d.Period), IsRolling: &yes}},
		BudgetingMethod: occurrences,
		Objectives:      []objective{{DisplayName: displayed(text), Target: &share}},
	}
	return out
}

// name is that of an objective's SLO: what it is of, and a hash that tells it from the same objective of another SLO or of other series.
func (d *Document) name(o slo.Objective) string {
	name := strings.NewReplacer("_", "-", ".", "-").Replace(string(o.Metric))
	if !o.Metric.Population() {
		name += "-" + strings.ReplaceAll(o.Percentile.String(), ".", "-")
	}
	of := exposition.Label(d.SLO) + "\n" + o.String()
	for _, l := range slices.Sorted(maps.Keys(d.Match)) {
		of += "\n" + l + "=" + strconv.Quote(d.Match[l])
	}
	sum := sha256.Sum256([]byte(of))
	return strings.TrimRight(name[:min(len(name), 40)], "-") + "-" + hex.EncodeToString(sum[:6])
}

// displayed is a displayName; "", and so none, where the text is longer than one may be.
func displayed(text string) string {
	if utf8.RuneCountInString(text) > maxDisplayed {
		return ""
	}
	return text
}

// percent writes billionths in percent.
func percent(n int64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%d.%07d", n/1e7, n%1e7), "0"), ".")
}

// shorthand is whole minutes in the largest of the units that gives a whole number.
func shorthand(d time.Duration) string {
	switch {
	case d%(24*time.Hour) == 0:
		return strconv.FormatInt(int64(d/(24*time.Hour)), 10) + "d"
	case d%time.Hour == 0:
		return strconv.FormatInt(int64(d/time.Hour), 10) + "h"
	}
	return strconv.FormatInt(int64(d/time.Minute), 10) + "m"
}
