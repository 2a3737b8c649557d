package curve

// WidestInterval is the widest that the interval of a limit may be, as a share of the limit, for the limit to stand alone: a
// wider one is shown in its place. With the default head-room of a fifth, a recommended load lies below every interval that is not wide and
// has the limit in its middle.
const WidestInterval = 0.20

// Wide reports whether an interval from lo to hi, as a search finds it for a limit, is wider than WidestInterval × limit. One that is
// not bounded, 0 or +Inf, is wide.
func Wide(limit, lo, hi float64) bool { return !(lo > 0 && hi-lo <= WidestInterval*limit) }
