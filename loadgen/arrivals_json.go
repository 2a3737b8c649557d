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
