package admission

import (
	"math"
	"time"
)

// duration is a time in seconds as a Duration, at most some centuries.
func duration(seconds float64) time.Duration {
	if !(seconds < 9e9) {
		return 9e9 * time.Second
	}
	return time.Duration(seconds * 1e9)
}

// sum is a and b, neither below 0, at most what a Duration holds.
func sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Line predicts how long a request's first token takes, once it is admitted, from the prompt tokens that stand before it, its
// own among them: a straight line by least squares, in which an observation counts for less by a factor of e in half a minute,
// though by no more than 2 % with each one that follows: where many come the line is that of the last half minute, and single ones do not
// sway it; where few do, it is that of the last fifty. A line is what a prefill of an engine with a token budget is: so much a step
// and so much a token.
//
// The zero Line knows nothing, and predicts 0. It is a state machine and belongs to one goroutine.
type Line struct {
	w, x, y, xx, xy, yy float64
	ww                  float64 // of the weights' squares
	dev                 float64
	off                 residuals
	a, b                float64 // seconds; seconds a token
	leastA, leastB      float64 // the same with the least slope that there is evidence for
	seen                time.Time
}

const (
	lineKeep   = 0.98 // at least, of the weight of an observation when another one comes
	lineTime   = 30.0 // time constant of the forgetting, s
	lineEnough = 4    // observations by weight, below which there is no slope yet
	lineErrors = 3.0  // standard errors, by which a slope is above nothing before it is taken for a queue: it is looked at all the time
)

// Observe is a first token that came now and took so long, with so many prompt tokens before it.
func (l *Line) Observe(now time.Time, tokens float64, took time.Duration) {
	y := max(took, 0).Seconds()
	keep := max(lineKeep, math.Exp(-max(now.Sub(l.seen), 0).Seconds()/lineTime))
	l.seen = now
	known := l.w > 0
	l.w = l.w*keep + 1
	if known {
		off := y - l.at(tokens)
		l.dev += (math.Abs(off) - l.dev) / l.w
		l.off.observe(off)
	}
	l.x = l.x*keep + tokens
	l.y = l.y*keep + y
	l.xx = l.xx*keep + tokens*tokens
	l.xy = l.xy*keep + tokens*y
	l.yy = l.yy*keep + y*y
	l.ww = l.ww*keep*keep + 1
	l.fit()
}

// fit keeps both of them from being negative: no prompt takes less time than none.
func (l *Line) fit() {
	mx, my := l.x/l.w, l.y/l.w
	v := l.xx/l.w - mx*mx
	if l.w < lineEnough || v <= 1e-9*mx*mx {
		l.a, l.b = my, 0
		l.leastA, l.leastB = l.a, l.b
		return
	}
	slope := (l.xy/l.w - mx*my) / v
	l.b = max(slope, 0)
	if l.a = my - l.b*mx; l.a < 0 {
		l.a, l.b = 0, l.xy/l.xx
	}
	l.leastA, l.leastB = l.a, l.b
	if least := max(slope-lineErrors*l.slopeError(slope, v), 0); least < l.b {
		l.leastA, l.leastB = max(my-least*mx, 0), least
	}
}

// slopeError is the standard error of a slope where the tokens have a variance of v: s²/(n·v), with s² = n/(n-2) times the mean square
// of the residuals, and n = (Σw)²/Σw² observations that weights w are worth. Draper, Smith, Applied Regression Analysis, 1998, 1.4.
func (l *Line) slopeError(slope, v float64) float64 {
	n := l.w * l.w / l.ww
	my := l.y / l.w
	return math.Sqrt(max(l.yy/l.w-my*my-slope*slope*v, 0) / (n - 2) / v)
}

func (l *Line) at(tokens float64) float64 { return l.a + l.b*tokens }

// least is at, by the least slope that there is evidence for. First tokens that differ for reasons of their own have a slope by
// chance, in either direction: it is no queue.
func (l *Line) least(tokens float64) float64 { return l.leastA + l.leastB*tokens }

// beyond is how likely a first token that has so many prompt tokens before it takes so long at least, by the last ones.
func (l *Line) beyond(tokens float64, took time.Duration) float64 {
	return l.off.beyond(took.Seconds() - l.at(tokens))
}

// Predict is how long the first token takes with so many prompt tokens before it, 0 where nothing was observed.
func (l *Line) Predict(tokens float64) time.Duration { return duration(l.at(tokens)) }

// Deviation is how far observations are from the line, in the mean.
func (l *Line) Deviation() time.Duration { return duration(l.dev) }

// Pace is the mean gap between two tokens of one sequence, over all sequences that run, each token alike, of about the last
// two seconds: what the TPOT of all of them would be if it went on so. It follows the batch within a step or two, because
// each step that has become longer is seen by every sequence at once.
//
// The zero Pace knows nothing. It is a state machine and belongs to one goroutine.
type Pace struct {
	sum, n float64
	at     time.Time
}

// paceTime is the time constant of the forgetting, s.
const paceTime = 2.0

// Observe is n tokens of one sequence that came at now, gap after the ones before them.
func (p *Pace) Observe(now time.Time, gap time.Duration, n int) {
	if dt := now.Sub(p.at).Seconds(); dt > 0 && p.n > 0 {
		f := math.Exp(-dt / paceTime)
		p.sum, p.n = p.sum*f, p.n*f
	}
	p.at = now
	p.sum += max(gap, 0).Seconds()
	p.n += float64(n)
}

// Reset forgets all: nothing runs any more.
func (p *Pace) Reset() { *p = Pace{} }

// PerToken is the pace, a time per token; ok is false where no gap was seen.
func (p *Pace) PerToken() (perToken time.Duration, ok bool) {
	if p.n == 0 {
		return 0, false
	}
	return duration(p.sum / p.n), true
}

// Rate is how fast what waits is served, in tokens a second: what was admitted while others waited, over the time in which
// some did. When nothing waits the rate is that of the arrivals, which says nothing, and is not counted. The last 10 s count
// most.
//
// The zero Rate knows nothing. It is a state machine and belongs to one goroutine.
type Rate struct {
	tokens, time float64
	at           time.Time
	waiting      bool
}

const (
	rateTime   = 10.0 // time constant of the forgetting, s
	rateEnough = 2.0  // s of waiting, below which there is no rate yet
)

// Waiting says whether something waits from now on.
func (r *Rate) Waiting(now time.Time, waiting bool) {
	if r.waiting {
		if dt := now.Sub(r.at).Seconds(); dt > 0 {
			f := math.Exp(-dt / rateTime)
			r.tokens *= f
			r.time = r.time*f + rateTime*(1-f)
		}
	}
	r.at, r.waiting = now, waiting
}

// Admitted is something that was admitted, of so many tokens.
func (r *Rate) Admitted(tokens float64) {
	if r.waiting {
		r.tokens += tokens
	}
}

// PerSecond is the rate, in tokens a second; ok is false where too little was seen to say.
func (r *Rate) PerSecond() (rate float64, ok bool) {
	if r.time < rateEnough {
		return 0, false
	}
	return r.tokens / r.time, true
}

// typical is the mean and the mean deviation of sizes, by moving averages.
type typical struct{ n, mean, dev float64 }

func (t *typical) observe(x float64) {
	t.n = min(t.n+1, 64)
	d := math.Abs(x - t.mean)
	t.mean += (x - t.mean) / t.n
	if t.n > 1 {
		t.dev += (d - t.dev) / (t.n - 1)
	}
}
