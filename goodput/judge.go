package goodput

import (
	"math/bits"

	"github.com/goodputkit/goodputkit/slo"
)

// A Judge decides single records by an SLO, exactly as an [Accumulator] does, and books nothing. It is compiled once and
// allocates nothing; its methods may be called from any goroutine.
type Judge struct {
	def *checker
	own map[string]*checker
}

// NewJudge judges by s, and the classes in set, which may be nil, by their own SLO. It panics if one of them is invalid
// (see [slo.SLO.Validate]).
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

func (j *Judge) checker(class string) *checker {
	if len(j.own) == 0 {
		return j.def
	}
	if class == "" {
		class = slo.DefaultClass
	}
	if c, ok := j.own[class]; ok {
		return c
	}
	return j.def
}

// SLO is what a class is judged by.
func (j *Judge) SLO(class string) slo.SLO { return cloneSLO(j.checker(class).slo) }

// Judgement is what an SLO says of one record. Objectives are named by their index in the SLO of the record's class.
type Judgement struct {
	Good      bool // success, and every per-request objective holds
	Undecided bool // unfinished, and no threshold has passed yet: it could still become good

	// First is the first objective in the SLO's order that the record misses, under which it is booked as lost; −1
	// where it misses none or where it failed, so that the outcome is the cause.
	First int

	missed, undefined uint64
}

// Misses reports whether a success misses objective i, whatever else it misses.
func (j Judgement) Misses(i int) bool { return i >= 0 && j.missed&(1<<i) != 0 }

// Undefined reports whether the metric of objective i is undefined for a success, so that the rule for undefined values decided.
func (j Judgement) Undefined(i int) bool { return i >= 0 && j.undefined&(1<<i) != 0 }

// Judge decides one record.
func (j *Judge) Judge(r *Record) Judgement {
	var s sample
	s.measure(r)
	return j.judge(&s, r)
}

// Measure decides one record, and fills v with the values that it was decided by: what Judge and [Record.Measure] give, from
// one pass over the record.
func (j *Judge) Measure(r *Record, v *Values) Judgement {
	*v = Values{custom: r.Custom}
	v.s.measure(r)
	return j.judge(&v.s, r)
}

func (j *Judge) judge(s *sample, r *Record) Judgement {
	c := j.checker(r.Class)
	v := Judgement{First: -1}
	switch r.Outcome {
	case Success:
		by := c.judge(s, r)
		v.missed, v.undefined = by.missed(c), by.undefined
		if v.Good = v.missed == 0; !v.Good {
			v.First = bits.TrailingZeros64(v.missed)
		}
	case Unfinished:
		v.Undecided = c.undecided(s, r)
	}
	return v
}

// Good reports whether r is a success for which every per-request objective holds.
func (j *Judge) Good(r *Record) bool { return r.Outcome == Success && j.Judge(r).Good }

// Cause is why a record is lost, as it stands in a report's Lost: the name of its outcome, or the text of the objective
// that it misses first; "" where it is good.
func (j *Judge) Cause(r *Record) string {
	v := j.Judge(r)
	switch {
	case v.Good:
		return ""
	case v.First >= 0:
		return j.checker(r.Class).text[v.First]
	case !r.Outcome.Valid():
		return ServerError.String()
	}
	return r.Outcome.String()
}
