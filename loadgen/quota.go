package loadgen

// quota is how often a control group of this process was held to a CPU quota, and was halted for having used it up.
type quota struct{ periods, halted uint64 }

// worst is the quota that halted its group in the largest share of its periods, between two readings of all; zero: there
// was none.
func worst(before, after map[string]quota) (w quota) {
	for group, q := range after {
		b := before[group]
		if q.periods <= b.periods || q.halted < b.halted {
			continue // nothing ran, or it is another group of that name
		}
		q = quota{q.periods - b.periods, q.halted - b.halted}
		if w.periods == 0 || q.halted*w.periods > w.halted*q.periods {
			w = q
		}
	}
	return w
}
