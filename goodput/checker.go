package goodput

import (
	"math"

	"github.com/goodputkit/goodputkit/slo"
)

// kind is what an objective is about. The first ones are the indices of the metrics, mTTFT to mServiceE2E.
type kind uint8

const (
	kCustom     kind = builtins + iota // x_…
	kErrorRate                         // of a population, as is
	kAttainment                        // this
)

func (k kind) population() bool { return k >= kErrorRate }

func kindOf(m slo.Metric) (kind, bool) {
	switch m {
	case slo.TTFT:
		return mTTFT, true
	case slo.TTFO:
		return mTTFO, true
	case slo.TPOT:
		return mTPOT, true
	case slo.ITL:
		return mITL, true
	case slo.E2E:
		return mE2E, true
	case slo.Speed:
		return mSpeed, true
	case slo.Lag:
		return mLag, true
	case slo.ServiceTTFT:
		return mServiceTTFT, true
	case slo.ServiceE2E:
		return mServiceE2E, true
	case slo.ErrorRate:
		return kErrorRate, true
	case slo.Attainment:
		return kAttainment, true
	}
	return kCustom, m.Custom()
}

// rule is an objective made ready to judge a request: integers, and no name to look up.
type rule struct {
	kind     kind
	undef    undefRule
	limit    int64   // ns; for speed 1e-9 tokens/s
	perToken int64   // ns
	custom   float64 // the limit of a custom metric
	metric   slo.Metric
}

type undefRule uint8

const (
	undefDefault undefRule = iota
	undefHolds
	undefMisses
	undefExcluded
)

// checker is an SLO compiled once. Bit i of its masks is about objective i.
type checker struct {
	slo   slo.SLO
	text  []string // canonical text of each objective
	rules []rule
	each  uint64 // the objectives that are judged request by request
}

func compile(s slo.SLO) *checker {
	c := &checker{slo: s}
	for i, o := range s.Objectives {
		k, _ := kindOf(o.Metric)
		r := ruleOf(o, k, s.Undefined[o.Metric])
		if !k.population() {
			c.each |= 1 << i
		}
		c.rules = append(c.rules, r)
		c.text = append(c.text, o.String())
	}
	return c
}

func ruleOf(o slo.Objective, k kind, undef slo.UndefinedRule) rule {
	r := rule{kind: k, metric: o.Metric, custom: o.Threshold.Limit}
	r.limit, r.perToken = o.Threshold.Billionths()
	switch undef {
	case slo.UndefinedHolds:
		r.undef = undefHolds
	case slo.UndefinedMisses:
		r.undef = undefMisses
	case slo.UndefinedExcluded:
		r.undef = undefExcluded
	}
	return r
}

// judgement is what a checker says of one successful request.
type judgement struct {
	within    uint64 // objectives that hold
	undefined uint64 // objectives whose metric is undefined, so that a rule decided
	excluded  uint64 // those of them that decide nothing
}

// missed are the objectives that do not hold.
func (j judgement) missed(c *checker) uint64 { return c.each &^ (j.within | j.excluded) }

type verdictOf uint8

const (
	misses verdictOf = iota
	holds
	undefined
)

// judge compares a request with every threshold. The outcome is not looked at.
func (c *checker) judge(s *sample, r *Record) (j judgement) {
	for i := range c.rules {
		rule := &c.rules[i]
		if rule.kind.population() {
			continue
		}
		bit := uint64(1) << i
		var within, undef bool
		if len(r.Limits) > 0 {
			own := rule.own(r.Limits)
			within, undef = own.decide(s, r)
		} else {
			within, undef = rule.decide(s, r)
		}
		if within {
			j.within |= bit
		}
		if undef {
			j.undefined |= bit
			if rule.undef == undefExcluded {
				j.excluded |= bit
			}
		}
	}
	return j
}

// decide says whether the rule holds, the rule for undefined values included, and whether that one decided.
func (rule *rule) decide(s *sample, r *Record) (within, undef bool) {
	v := rule.compare(s, r)
	if v != undefined {
		return v == holds, false
	}
	switch rule.undef {
	case undefHolds:
		v = holds
	case undefDefault:
		v = rule.undefinedByDefault(s)
	}
	return v == holds, true
}

// undefinedByDefault: an answer of one token had no step that could be late. Anything else was not seen.
func (rule *rule) undefinedByDefault(s *sample) verdictOf {
	switch rule.kind {
	case mTPOT, mITL, mSpeed:
		if s.n == 1 {
			return holds
		}
	}
	return misses
}

// compare holds a metric against its threshold, inclusive and in integers.
func (rule *rule) compare(s *sample, r *Record) verdictOf {
	switch rule.kind {
	case mTTFT:
		return atMost(s.first, rule.limit)
	case mTTFO:
		return atMost(s.ttfo, rule.limit)
	case mE2E:
		return atMost(s.e2e, rule.scaled(s.n))
	case mLag:
		return atMost(s.sent, rule.limit)
	case mServiceTTFT:
		if s.first < 0 {
			return undefined
		}
		return atMost(s.first-s.sent, rule.limit)
	case mServiceE2E:
		return atMost(s.e2e-s.sent, rule.scaled(s.n))
	case mTPOT: // t_k − t₁ ≤ limit · (N − n₁)
		n := s.later()
		if n == 0 {
			return undefined
		}
		return unless(less(rule.limit, n, s.last-s.first, 1))
	case mITL: // of the worst step: t_{i+1} − t_i ≤ limit · n_{i+1}
		if s.gapTokens == 0 {
			return undefined
		}
		return unless(less(rule.limit, s.gapTokens, s.gap, 1))
	case mSpeed: // (N − n₁) · 1e9 · 1e9 ≥ limit · (t_k − t₁), with the limit in 1e-9 tokens/s and the time in ns
		n := s.later()
		if n == 0 {
			return undefined
		}
		return unless(less(n, 1e18, rule.limit, s.last-s.first))
	case kCustom:
		v, ok := r.custom(rule.metric)
		if !ok {
			return undefined
		}
		return unless(v > rule.custom)
	}
	return misses
}

func atMost(v, limit int64) verdictOf {
	if v < 0 {
		return undefined
	}
	return unless(v > limit)
}

func unless(late bool) verdictOf {
	if late {
		return misses
	}
	return holds
}

// scaled is a time threshold for that many output tokens; an unknown number adds nothing.
func (rule *rule) scaled(tokens int64) int64 {
	if rule.perToken == 0 {
		return rule.limit
	}
	if tokens > (math.MaxInt64-rule.limit)/rule.perToken {
		return math.MaxInt64
	}
	return rule.limit + rule.perToken*tokens
}

// own is the rule with the threshold that a request brought along in place of its class's, where it brought a usable one.
func (rule *rule) own(limits map[slo.Metric]float64) rule {
	own := *rule
	v, ok := limits[rule.metric]
	if !ok || !usableLimit(rule.kind, v) {
		return own
	}
	own.limit, own.perToken = slo.Threshold{Limit: v}.Billionths()
	own.custom = v
	return own
}

// usableLimit reports whether v can be meant as a threshold: a finite number, and above 0 but for a custom metric.
func usableLimit(k kind, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	return k == kCustom || v > 0
}

// ownLimits counts the thresholds that a request brought along: those that take a place, and the others.
func (c *checker) ownLimits(limits map[slo.Metric]float64) (used, ignored int) {
	for m, v := range limits {
		if k, ok := kindOf(m); ok && !k.population() && usableLimit(k, v) && c.has(m) {
			used++
		} else {
			ignored++
		}
	}
	return used, ignored
}

func (c *checker) has(m slo.Metric) bool {
	for i := range c.rules {
		if c.rules[i].metric == m {
			return true
		}
	}
	return false
}

// undecided reports whether a request in flight at age e2e could still become good: no threshold has passed yet. A
// threshold that grows with the output, tpot, speed and custom metrics are never passed before the end.
func (c *checker) undecided(s *sample, r *Record) bool {
	for i := range c.rules {
		rule := c.rules[i]
		if rule.kind.population() {
			continue
		}
		if len(r.Limits) > 0 {
			rule = rule.own(r.Limits)
		}
		if rule.passed(s) {
			return false
		}
	}
	return true
}

func (rule *rule) passed(s *sample) bool {
	// A metric that is not there at the end may, by the SLO's own rule, do no harm.
	forgiven := rule.undef == undefHolds || rule.undef == undefExcluded
	awaited := func(v, age int64) bool {
		if v < 0 {
			return !forgiven && age > rule.limit
		}
		return v > rule.limit
	}
	switch rule.kind {
	case mTTFT:
		return awaited(s.first, s.e2e)
	case mTTFO:
		return awaited(s.ttfo, s.e2e)
	case mServiceTTFT:
		if s.first < 0 {
			return awaited(-1, s.e2e-s.sent)
		}
		return awaited(s.first-s.sent, 0)
	case mE2E:
		return rule.perToken == 0 && s.e2e > rule.limit
	case mServiceE2E:
		return rule.perToken == 0 && s.e2e-s.sent > rule.limit
	case mLag:
		return s.sent > rule.limit
	case mITL:
		return s.gapTokens > 0 && less(rule.limit, s.gapTokens, s.gap, 1)
	}
	return false
}

// excess is by how many times the request exceeds the worst of the thresholds that it misses; NaN where each of those
// metrics is undefined.
func (c *checker) excess(missed uint64, s *sample, r *Record) float64 {
	worst := math.NaN()
	for i := range c.rules {
		if missed&(1<<i) == 0 {
			continue
		}
		rule := c.rules[i]
		if len(r.Limits) > 0 {
			rule = rule.own(r.Limits)
		}
		if x := rule.ratio(s, r); x > worst || math.IsNaN(worst) {
			worst = x
		}
	}
	return worst
}

func (rule *rule) ratio(s *sample, r *Record) float64 {
	if rule.kind == kCustom {
		v, ok := r.custom(rule.metric)
		if x := v / rule.custom; ok && rule.custom > 0 && !math.IsInf(x, 0) {
			return x
		}
		return math.NaN()
	}
	v := s.value(int(rule.kind))
	switch {
	case v == absent:
		return math.NaN()
	case rule.kind == mSpeed:
		return float64(rule.limit) / 1e9 / v
	case rule.kind == mE2E || rule.kind == mServiceE2E:
		return v * 1e9 / float64(max(rule.scaled(s.n), 1))
	}
	return v * 1e9 / float64(max(rule.limit, 1))
}
