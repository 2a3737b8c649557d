package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput/admission"
	"github.com/goodputkit/goodputkit/slo"
)

// ladders is what requests of a class lose before they are refused, by class, as --ladder gives it.
type ladders map[string]admission.Class

// set reads a ladder such as "default: tokens 512; tokens 128, priority 1". A step that cannot be meant the controller refuses.
func (l ladders) set(text string) error {
	name, steps, ok := strings.Cut(text, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return fmt.Errorf("want a class and its steps, such as '%s: tokens 512; tokens 128, priority 1'", slo.DefaultClass)
	}
	if _, twice := l[name]; twice {
		return fmt.Errorf("the class %q has one already", name)
	}
	var ladder admission.Ladder
	for step := range strings.SplitSeq(steps, ";") {
		d, err := degradation(step)
		if err != nil {
			return err
		}
		ladder = append(ladder, d)
	}
	l[name] = admission.Class{Ladder: ladder}
	return nil
}

// degradation reads a step such as "tokens 128, priority 1, budget 4s".
func degradation(text string) (d admission.Degradation, err error) {
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		words := strings.Fields(part)
		if len(words) != 2 || given[words[0]] {
			return d, fmt.Errorf("a step is 'tokens N', 'priority N' or 'budget TIME', or more of them with commas between: %q", strings.TrimSpace(text))
		}
		given[words[0]] = true
		switch words[0] {
		case "tokens":
			d.MaxOutputTokens, err = atLeastOne(words[1])
		case "priority":
			d.LowerPriority, err = atLeastOne(words[1])
		case "budget":
			if d.Budget, err = time.ParseDuration(words[1]); err == nil && d.Budget <= 0 {
				err = errors.New("is above 0")
			}
		default:
			err = errors.New("is none of tokens, priority, budget")
		}
		if err != nil {
			return d, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
	}
	return d, nil
}

func atLeastOne(text string) (int, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0, errors.New("want a whole number, at least 1")
	}
	return int(n), nil
}
