package monitor

import (
	"fmt"

	"github.com/goodputkit/goodputkit/goodput"
)

// undefinedWarning says for how many successes since counting began there is no value of an objective's metric, and what became
// of them; "": for none.
func (r *reading) undefinedWarning(g *group, o *objective) string {
	undefined, successes := r.undefined(g, o)
	if undefined == 0 {
		return ""
	}
	who := ""
	if len(r.m.groups) > 1 {
		who = g.name + ": "
	}
	return fmt.Sprintf("%s%v: %d of %d successes have no %s; %s %s", who, goodput.ErrUndefined, undefined, successes, o.Metric,
		g.slo.Undefined[o.Metric].Words(o.Metric), o.text)
}

// undefined is of how many successes since counting began the rule for undefined values decided an objective.
func (r *reading) undefined(g *group, o *objective) (undefined, successes uint64) {
	if o.j < 0 {
		return 0, 0
	}
	for _, c := range r.m.classes.Load().All {
		if c.group == g {
			undefined += c.total[c.undefinedBy(o.j)]
			successes += c.total[cSuccess]
		}
	}
	return undefined, successes
}
