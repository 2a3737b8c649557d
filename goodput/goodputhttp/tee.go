package goodputhttp

import (
	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/goodput/monitor"
)

// Tee is all of the sinks as one: each gets every record, in their order, and also where one before it panics. They get the same
// record, so that none of them may change it. A [monitor.Monitor] among them is told of the beginnings too, as [Config.Monitor] is. Records for
// a file go through a [goodput.RecordWriter], whose Close says what went wrong:
//
//	goodputhttp.Tee(acc, m, goodputhttp.SinkFunc(func(r *goodput.Record) { _ = file.Write(r) }))
//
// It panics if one of them is nil.
func Tee(sinks ...Sink) Sink {
	var all tee
	for _, s := range sinks {
		if s == nil {
			panic("goodputhttp: Tee: a sink is nil")
		}
		if more, ok := s.(tee); ok {
			all = append(all, more...)
		} else {
			all = append(all, s)
		}
	}
	return all
}

type tee []Sink

// Observe gives r to each.
func (t tee) Observe(r *goodput.Record) {
	if len(t) == 0 {
		return
	}
	defer t[1:].Observe(r)
	t[0].Observe(r)
}

// take is the monitor that is told of beginnings, m or, without one, the first among the sinks; and the sinks that are left.
func take(s Sink, m *monitor.Monitor) (Sink, *monitor.Monitor) {
	if s == nil {
		return nil, m
	}
	all, ok := s.(tee)
	if !ok {
		all = tee{s}
	}
	var left tee
	for _, s := range all {
		if own, ok := s.(*monitor.Monitor); ok && (m == nil || m == own) {
			m = own
		} else {
			left = append(left, s)
		}
	}
	switch len(left) {
	case 0:
		return nil, m
	case 1:
		return left[0], m
	}
	return left, m
}
