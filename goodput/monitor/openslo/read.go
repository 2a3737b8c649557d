package openslo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/goodputkit/goodputkit/slo"
)

// Read reads an SLO from a file of OpenSLO v1 objects, one YAML document each: of its objectives each is one object of kind SLO. What
// [Document.YAML] wrote is read back as it was, but for Match.
//
// An error wraps [ErrSyntax] where it is no such file, or is longer than [MaxFile], or has an alias, and [ErrInexpressible] where it is one and means what cannot be said
// here; then it names the object and the field. It quotes no query and nothing else of a metricSource's spec.
func Read(r io.Reader) (Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return Document{}, fmt.Errorf("openslo: %w", err)
	}
	if len(text) > MaxFile {
		return Document{}, fmt.Errorf("%w: longer than %d bytes", ErrSyntax, MaxFile)
	}
	f, err := objects(text)
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	d, err := f.document()
	if err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrInexpressible, err)
	}
	return d, nil
}

// file is the objects of one.
type file struct {
	slos     []object[sloSpec]
	slis     map[string]sliSpec
	warnings []error
}

// header is what every object has.
type header struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string `yaml:"kind"`
}

// objects reads them: first as nodes, which expands nothing and shows what is too much and of which kind each is, then as what
// they are.
func objects(text []byte) (*file, error) {
	var kinds []string
	for nodes := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var n yaml.Node
		if err := nodes.Decode(&n); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, oneLine(err)
		}
		if len(kinds) == maxDocuments {
			return nil, fmt.Errorf("more than %d YAML documents", maxDocuments)
		}
		kind, err := kindOf(&n)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", len(kinds)+1, oneLine(err))
		}
		kinds = append(kinds, kind)
	}
	f := &file{slis: map[string]sliSpec{}}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	for i, kind := range kinds {
		if err := f.add(decoder, kind); err != nil {
			return nil, fmt.Errorf("document %d, kind %s: %w", i+1, kind, oneLine(err))
		}
	}
	if len(f.slos) == 0 {
		return nil, errors.New("there is no object of kind SLO in it")
	}
	return f, nil
}

// oneLine is the first of the errors of a document.
func oneLine(err error) error {
	if all := (*yaml.TypeError)(nil); errors.As(err, &all) && len(all.Errors) > 0 {
		text, _, _ := strings.Cut(all.Errors[0], " in type openslo.") // the type is this package's own
		return errors.New(text)
	}
	return err
}

// kindOf is the kind of the object that a document has; "" where it is empty.
func kindOf(n *yaml.Node) (string, error) {
	if err := checkNode(n); err != nil {
		return "", err
	}
	if len(n.Content) == 0 || !present(n.Content[0]) {
		return "", nil
	}
	if n.Content[0].Kind != yaml.MappingNode {
		return "", fmt.Errorf("line %d: an object is a mapping that begins with apiVersion, and each is a YAML document of its own", n.Content[0].Line)
	}
	var h header
	if err := n.Decode(&h); err != nil {
		return "", err
	}
	if h.APIVersion != apiVersion {
		return "", fmt.Errorf("apiVersion: %.40q is not %s", h.APIVersion, apiVersion)
	}
	if h.Kind == "" {
		return "", errors.New("kind: it has none")
	}
	return h.Kind, nil
}

// checkNode refuses what costs more than its length: aliases, and mappings of very many keys.
func checkNode(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return fmt.Errorf("line %d: aliases are not read", n.Line)
	case n.Kind == yaml.MappingNode && len(n.Content) > 2*maxKeys:
		return fmt.Errorf("line %d: a mapping of more than %d keys", n.Line, maxKeys)
	}
	for _, c := range n.Content {
		if err := checkNode(c); err != nil {
			return err
		}
	}
	return nil
}

func present(n *yaml.Node) bool { return n.Kind != 0 && n.Tag != "!!null" }

func (f *file) add(d *yaml.Decoder, kind string) error {
	switch kind {
	case kindSLO:
		var o object[sloSpec]
		if err := d.Decode(&o); err != nil {
			return err
		}
		if o.Metadata.Name == "" {
			return errors.New("metadata.name: it has none")
		}
		if slices.ContainsFunc(f.slos, func(other object[sloSpec]) bool { return other.Metadata.Name == o.Metadata.Name }) {
			return fmt.Errorf("metadata.name: there is another %.70q", o.Metadata.Name)
		}
		if len(f.slos) == slo.MaxObjectives {
			return fmt.Errorf("there are more than %d of them", slo.MaxObjectives)
		}
		f.slos = append(f.slos, o)
	case kindSLI:
		var o object[sliSpec]
		if err := d.Decode(&o); err != nil {
			return err
		}
		if _, twice := f.slis[o.Metadata.Name]; twice || o.Metadata.Name == "" {
			return fmt.Errorf("metadata.name: %.70q is missing, or there is another", o.Metadata.Name)
		}
		f.slis[o.Metadata.Name] = o.Spec
	case kindService:
		var o object[serviceSpec]
		return d.Decode(&o)
	case "", "DataSource", "AlertPolicy", "AlertCondition", "AlertNotificationTarget":
		var n yaml.Node
		if err := d.Decode(&n); err != nil {
			return err
		}
		if kind != "" {
			f.warnings = append(f.warnings, fmt.Errorf("left out: an object of kind %s", kind))
		}
	default:
		return fmt.Errorf("kind: %.40q is none of OpenSLO v1", kind)
	}
	return nil
}

// document puts the SLOs together.
func (f *file) document() (Document, error) {
	d := Document{Warnings: f.warnings}
	var text string // of the annotation that has the whole
	for i := range f.slos {
		o := &f.slos[i]
		fail := func(field string, err error) error {
			return fmt.Errorf("SLO %.70q: %s: %w", o.Metadata.Name, field, err)
		}
		one, field, err := f.objective(o, &d)
		if err != nil {
			return d, fail(field, err)
		}
		period, field, err := window(o.Spec.TimeWindow)
		if err != nil {
			return d, fail(field, err)
		}
		whole, name := o.Metadata.Annotations[sloNote], o.Metadata.Annotations[nameNote]
		if i == 0 {
			text, d.Service, d.Period, d.SLO.Name = whole, o.Spec.Service, period, name
		}
		other := fmt.Errorf("another than that of %.70q, and there is one SLO in a file", f.slos[0].Metadata.Name)
		switch {
		case whole != text:
			return d, fail("metadata.annotations["+sloNote+"]", other)
		case name != d.SLO.Name:
			return d, fail("metadata.annotations["+nameNote+"]", other)
		case o.Spec.Service != d.Service:
			return d, fail("spec.service", other)
		case period != d.Period:
			return d, fail("spec.timeWindow", other)
		}
		d.SLO.Objectives = append(d.SLO.Objectives, one)
	}
	if text != "" {
		if err := d.restore(text); err != nil {
			return d, fmt.Errorf("metadata.annotations[%s]: %w", sloNote, err)
		}
	}
	return d, d.SLO.Validate()
}

// restore takes from the annotation what the objects do not say: the order, and the rules for undefined values.
func (d *Document) restore(text string) error {
	whole, err := slo.Parse(text)
	if err != nil {
		return err
	}
	in := func(s slo.SLO, o slo.Objective) bool {
		return slices.ContainsFunc(s.Objectives, func(x slo.Objective) bool { return x.String() == o.String() })
	}
	for _, o := range whole.Objectives {
		if !in(d.SLO, o) {
			return fmt.Errorf("it has %s, and there is no object for that", o)
		}
	}
	for _, o := range d.SLO.Objectives {
		if !in(whole, o) {
			return fmt.Errorf("there is an object for %s, and it does not have that", o)
		}
	}
	if len(whole.Objectives) != len(d.SLO.Objectives) {
		return errors.New("there are two objects for one of its objectives")
	}
	whole.Name = d.SLO.Name
	d.SLO = whole
	return nil
}

// window is the period of a time window; 0 where there is none.
func window(all []timeWindow) (d time.Duration, field string, err error) {
	if len(all) == 0 {
		return 0, "", nil
	}
	w := all[0]
	switch {
	case len(all) > 1:
		return 0, "spec.timeWindow", errors.New("there is more than one")
	case present(&w.Calendar):
		return 0, "spec.timeWindow[0].calendar", errors.New("the period of an error budget is rolling")
	case w.IsRolling == nil || !*w.IsRolling:
		return 0, "spec.timeWindow[0].isRolling", errors.New("the period of an error budget is rolling, and this has to be true")
	}
	if d, err = duration(w.Duration); err != nil {
		return 0, "spec.timeWindow[0].duration", err
	}
	return d, "", nil
}

// duration reads the specification's shorthand.
func duration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%.20q is no whole number, of at least 1, of m, h, d or w", text)
	if text == "" {
		return 0, bad
	}
	unit := map[byte]time.Duration{'m': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}[text[len(text)-1]]
	switch text[len(text)-1] {
	case 'M', 'Q', 'Y':
		return 0, fmt.Errorf("%.20q has no one length: write it in days", text)
	}
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 32)
	if err != nil || n == 0 || unit == 0 || n > uint64(10*365*24*time.Hour/unit) {
		return 0, bad
	}
	return time.Duration(n) * unit, nil
}
