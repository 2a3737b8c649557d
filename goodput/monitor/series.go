package monitor

import "time"

// seriesPoints is how many steps a series has at most.
const seriesPoints = 240

// Series is the counts of a window step by step, from the oldest to the newest, which is not over yet. A step is a whole
// number of slots.
type Series struct {
	Window time.Duration `json:"-"`    // "window_s" in JSON, in seconds
	Step   time.Duration `json:"-"`    // "step_s" in JSON, in seconds
	From   time.Time     `json:"from"` // beginning of the first step

	Watched []time.Duration `json:"-"` // how much of each step the monitor was there; a rate is a count divided by that; "watched_s" in JSON, in seconds
	Offered []uint64        `json:"offered"`
	Ended   []uint64        `json:"ended"` // throughput
	Decided []uint64        `json:"decided"`
	Good    []uint64        `json:"good"`

	OutputTokens     []uint64 `json:"output_tokens"`
	GoodOutputTokens []uint64 `json:"good_output_tokens"`

	Objectives []ObjectiveSeries `json:"objectives"`
}

// ObjectiveSeries is how many of how many requests were bad by an objective, step by step.
type ObjectiveSeries struct {
	SLO       string   `json:"slo"` // its name
	Objective string   `json:"objective"`
	Allowed   float64  `json:"allowed"`
	Bad       []uint64 `json:"bad"`
	Total     []uint64 `json:"total"`
}

// Series is the last d of all classes together, in at most 240 steps. An error wraps [ErrWindow]: d is not between 1 s and
// [MaxWindow].
func (m *Monitor) Series(d time.Duration) (*Series, error) {
	if err := checkWindow(d); err != nil {
		return nil, err
	}
	r := m.read()
	defer m.mu.Unlock()
	i, first, last := extent(d, r.now)
	width := int64(layout[i].width)
	each := (last-first)/seriesPoints + 1 // slots a step
	s := &Series{Window: d, Step: time.Duration(each * width), From: instant(first * width)}
	for _, g := range m.groups {
		for k := range g.objects {
			s.Objectives = append(s.Objectives, ObjectiveSeries{SLO: g.name, Objective: g.objects[k].text, Allowed: g.objects[k].allowed})
		}
	}
	for at := first; at <= last; at += each {
		r.step(s, i, at, min(at+each-1, last))
	}
	return s, nil
}

// step appends the slots from..to of ring i.
func (r *reading) step(s *Series, i int, from, to int64) {
	var watched [1]uint64
	r.m.watched[i].sum(watched[:], from, to)
	s.Watched = append(s.Watched, time.Duration(watched[0]))
	var all [base]uint64
	k := 0
	for _, g := range r.m.groups {
		n := make([]uint64, g.ringCols())
		for _, c := range r.m.classes.Load().All {
			if c.group == g {
				c.rings[i].sum(n, from, to)
			}
		}
		for col := range all {
			all[col] += n[col]
		}
		for o := range g.objects {
			bad, total := g.objects[o].bad(g, n)
			s.Objectives[k].Bad = append(s.Objectives[k].Bad, bad)
			s.Objectives[k].Total = append(s.Objectives[k].Total, total)
			k++
		}
	}
	s.Offered = append(s.Offered, all[cOffered])
	s.Ended = append(s.Ended, all[cEnded])
	s.Decided = append(s.Decided, all[cDecided])
	s.Good = append(s.Good, all[cGood])
	s.OutputTokens = append(s.OutputTokens, all[cOut])
	s.GoodOutputTokens = append(s.GoodOutputTokens, all[cGoodOut])
}
