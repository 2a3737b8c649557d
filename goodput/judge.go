package goodput

import "github.com/goodputkit/goodputkit/slo"

// A Judge says of single records whether they are good, and books nothing. Its methods may be called from any
// goroutine.
type Judge struct {
	def *checker
	own map[string]*checker
}

// NewJudge judges by s, and the classes in set by their own SLO. It panics if one of them is invalid (see
// [slo.SLO.Validate]).
func NewJudge(s slo.SLO, set slo.Set) *Judge {
	if err := s.Validate(); err != nil {
		panic("goodput: NewJudge: " + err.Error())
	}
	if err := set.Validate(); err != nil {
		panic("goodput: NewJudge: " + err.Error())
	}
	j := &Judge{def: compile(cloneSLO(s)), own: make(map[string]*checker, len(set))}
	for class, s := range set {
		j.own[class] = compile(cloneSLO(s))
	}
	return j
}

// Good reports whether r is a success for which every per-request objective holds, as an [Accumulator] counts it.
func (j *Judge) Good(r *Record) bool {
	if r.Outcome != Success {
		return false
	}
	class := r.Class
	if class == "" {
		class = slo.DefaultClass
	}
	c, ok := j.own[class]
	if !ok {
		c = j.def
	}
	m := measure(r)
	return c.judge(&m, r).missed(c) == 0
}
