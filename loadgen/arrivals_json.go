package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MarshalJSON is {"process":"constant","rate":5}.
func (c Constant) MarshalJSON() ([]byte, error) {
	type fields Constant // without its methods
	return marshalProcess("constant", fields(c))
}

// MarshalJSON is {"process":"poisson","rate":5,"seed":1}.
func (p Poisson) MarshalJSON() ([]byte, error) {
	type fields Poisson
	return marshalProcess("poisson", fields(p))
}

// MarshalJSON is {"process":"gamma","rate":5,"burstiness":0.5,"seed":1}.
func (g Gamma) MarshalJSON() ([]byte, error) {
	type fields Gamma
	return marshalProcess("gamma", fields(g))
}

// MarshalJSON is {"process":"replay","at_ns":[0,1000],"speed":2}.
func (r Replay) MarshalJSON() ([]byte, error) {
	type fields Replay
	return marshalProcess("replay", fields(r))
}

// MarshalJSON is {"process":"weibull","rate":5,"shape":0.5,"seed":1}.
func (w Weibull) MarshalJSON() ([]byte, error) {
	type fields Weibull
	return marshalProcess("weibull", fields(w))
}

// MarshalJSON is {"process":"mmpp","quiet":{"rate":5,"for_ns":1000},"burst":{"rate":50,"for_ns":1000},"seed":1}.
func (m MMPP) MarshalJSON() ([]byte, error) {
	type fields MMPP
	return marshalProcess("mmpp", fields(m))
}

// MarshalJSON is {"process":"ramp","from":1,"to":10,"over_ns":1000,"exponential":true,"even":true,"seed":0}.
func (r Ramp) MarshalJSON() ([]byte, error) {
	type fields Ramp
	return marshalProcess("ramp", fields(r))
}

// MarshalJSON is {"process":"steps","steps":[{"rate":5,"for_ns":1000},{"rate":10}],"even":true,"seed":0}.
func (s Steps) MarshalJSON() ([]byte, error) {
	type fields Steps
	return marshalProcess("steps", fields(s))
}

// MarshalJSON is {"process":"sine","mean":10,"amplitude":5,"period_ns":1000,"phase_ns":250,"even":true,"seed":0}.
func (s Sine) MarshalJSON() ([]byte, error) {
	type fields Sine
	return marshalProcess("sine", fields(s))
}

// marshalProcess puts the name before the fields, of which there is at least one.
func marshalProcess(name string, fields any) ([]byte, error) {
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"process":%q,%s`, name, b[1:]), nil
}

var processes = map[string]func([]byte) (Arrivals, error){
	"constant": readProcess[Constant],
	"poisson":  readProcess[Poisson],
	"gamma":    readProcess[Gamma],
	"weibull":  readProcess[Weibull],
	"mmpp":     readProcess[MMPP],
	"ramp":     readProcess[Ramp],
	"steps":    readProcess[Steps],
	"sine":     readProcess[Sine],
	"replay":   readProcess[Replay],
}

// UnmarshalArrivals reads what a process of this package marshals to. It refuses an unknown process, an unknown key and
// a process that its Validate refuses.
func UnmarshalArrivals(data []byte) (Arrivals, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("loadgen: arrivals: %w", err)
	}
	var name string
	if raw, ok := keys["process"]; ok {
		if err := json.Unmarshal(raw, &name); err != nil {
			return nil, fmt.Errorf("loadgen: arrivals: process: %w", err)
		}
	}
	read, ok := processes[name]
	if !ok {
		return nil, fmt.Errorf("loadgen: arrivals: the process is %q, not one of %s", name, strings.Join(slices.Sorted(maps.Keys(processes)), ", "))
	}
	delete(keys, "process")
	fields, err := json.Marshal(keys)
	if err != nil {
		return nil, fmt.Errorf("loadgen: arrivals: %w", err)
	}
	a, err := read(fields)
	if err != nil {
		return nil, fmt.Errorf("loadgen: arrivals: %s: %w", name, err)
	}
	return a, nil
}

func readProcess[T interface {
	Arrivals
	Validate() error
}](fields []byte) (Arrivals, error) {
	var v T
	dec := json.NewDecoder(bytes.NewReader(fields))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return v, v.Validate()
}
