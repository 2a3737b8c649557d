package admission

import (
	"fmt"
	"math"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// Config says what is to be defended. Only the SLO has to be there.
type Config struct {
	// SLO is the default objectives. What is admitted is steered by those on ttft, ttfo, service_ttft, tpot, itl, speed, e2e,
	// service_e2e, error_rate and attainment; lag and a caller's own metrics are not seen here, and have no part in it: an SLO
	// of nothing else is refused.
	SLO slo.SLO

	// Classes is what differs for the requests of a class. Any class that it does not name has the defaults.
	Classes map[string]Class

	// Weights is the shares of tenants, relative to each other, each from 1e-6 to 1e6; a tenant that it does not name has 1.
	Weights map[string]float64

	// Floor and Ceiling bound the limit of the tokens in flight. Floor 0: four requests of the mean size. Ceiling 0: none.
	Floor, Ceiling float64

	// MaxWaiting is the most requests that wait; 0: 131,072.
	MaxWaiting int

	// StallAfter is how long nothing may come back while work is in flight, before nothing more is admitted; 0: 30 s; below
	// 0: for ever. Where neither first tokens nor tokens are reported, it has to be longer than an answer takes.
	StallAfter time.Duration
}

// Class is what is different for a class of requests.
type Class struct {
	SLO      slo.SLO // its objectives; zero: the default ones
	Priority int     // added to that of each of its requests
	Ladder   Ladder  // what its requests lose before they are refused
}

const (
	defaultWaiting = 1 << 17
	defaultStall   = 30 * time.Second
)

func (c *Config) validate() error {
	if err := c.SLO.Validate(); err != nil {
		return fmt.Errorf("admission: Config.SLO: %w", err)
	}
	if !seen(c.SLO) {
		return fmt.Errorf("admission: Config.SLO: %v: none of it is seen here: name an objective on ttft, tpot, e2e or error_rate", c.SLO)
	}
	if len(c.Classes) > goodput.MaxClasses {
		return fmt.Errorf("admission: Config.Classes: there are %d, at most %d are allowed", len(c.Classes), goodput.MaxClasses)
	}
	for name, class := range c.Classes {
		if name == "" {
			return fmt.Errorf("admission: Config.Classes: a class has a name: write %q for requests that have none", slo.DefaultClass)
		}
		if !class.SLO.IsZero() {
			if err := class.SLO.Validate(); err != nil {
				return fmt.Errorf("admission: Config.Classes[%q].SLO: %w", name, err)
			}
			if !seen(class.SLO) {
				return fmt.Errorf("admission: Config.Classes[%q].SLO: %v: none of it is seen here: name an objective on ttft, tpot, e2e or error_rate", name, class.SLO)
			}
		}
		for i, d := range class.Ladder {
			if d.MaxOutputTokens < 0 || d.LowerPriority < 0 || d.Budget < 0 {
				return fmt.Errorf("admission: Config.Classes[%q].Ladder[%d]: a field is below 0", name, i)
			}
			if d == (Degradation{}) {
				return fmt.Errorf("admission: Config.Classes[%q].Ladder[%d] takes nothing from a request", name, i)
			}
			if i == 0 {
				continue
			}
			if field := d.milder(class.Ladder[i-1]); field != "" {
				return fmt.Errorf("admission: Config.Classes[%q].Ladder[%d].%s takes less than the step before it, whose place it takes: the mildest comes first, and each says all that is taken",
					name, i, field)
			}
		}
	}
	for tenant, w := range c.Weights {
		if !(w >= leastWeight && w <= mostWeight) {
			return fmt.Errorf("admission: Config.Weights[%q]: a weight is from %v to %v: %v", tenant, leastWeight, mostWeight, w)
		}
	}
	switch {
	case c.Floor < 0 || math.IsNaN(c.Floor) || math.IsInf(c.Floor, 0):
		return fmt.Errorf("admission: Config.Floor: at least 0 and finite, in tokens: %v", c.Floor)
	case c.Ceiling < 0 || math.IsNaN(c.Ceiling) || c.Ceiling > 0 && c.Ceiling < c.Floor:
		return fmt.Errorf("admission: Config.Ceiling: at least the floor, in tokens, or 0: %v", c.Ceiling)
	case c.MaxWaiting < 0:
		return fmt.Errorf("admission: Config.MaxWaiting: at least 0: %d", c.MaxWaiting)
	}
	return nil
}

// seen says whether an SLO has an objective that can steer what is admitted.
func seen(s slo.SLO) bool {
	k, _ := makeClass("", s, Class{}, nil)
	return len(k.rules) > 0
}

// class is a Class made ready.
type class struct {
	name     string
	priority int
	ladder   Ladder
	rules    []rule
	first    float64       // tightest limit of the first token, from the arrival, s; 0: none
	service  float64       // from the admission on; 0: none
	e2e      slo.Threshold // tightest of e2e; zero: none
	perToken float64       // tightest limit of a token, s; 0: none
	running  int           // in flight
	spare    Spare
	output   typical // output tokens
	tail     typical // from the first token to the end, s
}

// rule is one objective as the limit sees it.
type rule struct {
	metric    slo.Metric
	threshold slo.Threshold
	index     int // in the limit
}

// makeClass appends the shares that may miss its objectives to allowed.
func makeClass(name string, s slo.SLO, c Class, allowed []float64) (*class, []float64) {
	k := &class{name: name, priority: c.Priority, ladder: c.Ladder}
	tighten := func(at *float64, limit float64) {
		if *at == 0 || limit < *at {
			*at = limit
		}
	}
	for _, o := range s.Objectives {
		t := o.Threshold
		a := 1 - float64(o.Percentile.PPM())/1e6
		switch o.Metric {
		case slo.TTFT, slo.TTFO:
			tighten(&k.first, t.Limit)
		case slo.ServiceTTFT:
			tighten(&k.service, t.Limit)
		case slo.TPOT, slo.ITL:
			tighten(&k.perToken, t.Limit)
		case slo.Speed:
			tighten(&k.perToken, 1/t.Limit)
		case slo.E2E:
			if k.e2e == (slo.Threshold{}) || t.Limit < k.e2e.Limit {
				k.e2e = t
			}
		case slo.ServiceE2E:
		case slo.ErrorRate:
			a = t.Limit
		case slo.Attainment:
			a = 1 - t.Limit
		default:
			continue
		}
		switch o.Metric {
		case slo.TTFT, slo.TTFO, slo.E2E, slo.Attainment:
			tighten(&k.spare.Share, a)
		}
		k.rules = append(k.rules, rule{o.Metric, t, len(allowed)})
		allowed = append(allowed, a)
	}
	return k, allowed
}
