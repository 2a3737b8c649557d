package capacity

import (
	"math"
	"slices"

	"github.com/goodputkit/goodputkit/slo"
)

// series is the observations of one objective.
type series struct {
	objective slo.Objective
	leaves    float64 // the share that may be bad
	of        []observation
	nth       []int // the probe of each, by its place in the search
}

// series are those of all objectives, of the probes whose client was sound. Not each report has each: a class may have had no
// requests.
func (s *search) series() (all []series) {
	type key struct {
		class string
		nth   int // of the objectives of the class
	}
	index := map[key]int{}
	for _, p := range sorted(s.probes) {
		if p.ClientLimited() {
			continue
		}
		var at key
		for class, o := range p.Report.AllObjectives() {
			if at.nth++; at.class != class {
				at = key{class, 0}
			}
			bad, leaves := badShare(&o)
			i, known := index[at]
			if !known {
				i, index[at] = len(all), len(all)
				all = append(all, series{objective: o.Objective, leaves: leaves})
			}
			if o.N > 0 {
				all[i].of = append(all[i].of, observation{p.Rate, bad, float64(o.N), o.EffectiveN})
				all[i].nth = append(all[i].nth, slices.Index(s.probes, p))
			}
		}
	}
	for _, one := range all {
		correlate(one.of)
	}
	return all
}

// What the effective sample sizes of single probes do not say of themselves.
const (
	// So many requests a probe is worth of which too few batches are left that are not alike. Package goodput gives those up
	// whose 20 last batches correlate by more than a half: at a half they are worth 20·(1−½)/(1+½) that are not.
	unbatched = 7
	// Neighbours are alike for a time that grows no faster than the rate to this power, up to 88 % of the capacity. That of
	// M/M/1 is 1/(√μ−√λ)² (P. M. Morse, "Stochastic properties of waiting lines", Operations Research 3 (1955)), which at ρ of
	// the capacity grows as the power √ρ/(1−√ρ).
	growth = 15
)

// correlate lowers effective sample sizes, of observations in the order of their rates, to what longer runs show. The busier a
// queue, the longer neighbours are alike, and a short run cannot see that: it is at least for as long as at a lower rate. And
// it is for what growth leaves of a higher one: a run that ended before the first of a spell of bad requests has seen nothing
// of how long spells are, and would outweigh all that have.
func correlate(obs []observation) {
	seen := slices.Clone(obs)
	for i := range obs {
		o := &obs[i]
		if math.IsNaN(o.n) {
			o.n = min(unbatched, o.requests)
		}
		for _, other := range seen {
			if other.requests < o.requests || math.IsNaN(other.n) {
				continue
			}
			phi := other.requests / other.n * shrunk(o.rate, other.rate)
			o.n = min(o.n, max(1, o.requests/phi))
		}
	}
}

// alike is for how many requests neighbours are known to be alike at a rate: the greatest variance inflation of a probe at
// a lower one, or of what growth leaves of a higher one.
func (s *search) alike(rate float64) float64 {
	most := 1.0
	for _, p := range s.probes {
		if p.ClientLimited() {
			continue
		}
		for _, o := range p.Report.AllObjectives() {
			if phi := o.Inflation * shrunk(rate, p.Rate); phi > most { // NaN: not known
				most = phi
			}
		}
	}
	return most
}

// shrunk is what a variance inflation at one rate leaves of itself at another.
func shrunk(rate, of float64) float64 { return math.Pow(min(1, rate/of), growth) }
