package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// WithOnChange has f called for each alert that goes from one state to another, one call at a time and in their order, by
// the goroutine of one that asked. It may ask the monitor itself. A panic of f is that of who asked; packages goodputprom and goodputotel,
// which ask from a goroutine of another library, make it an error of the scrape.
func WithOnChange(f func(Change)) Option {
	return func(m *Monitor) { m.onChange = append(m.onChange, f) }
}

// WithLogger has each change of an alert's state logged: a firing one as a warning, any other as information, but for debugging
// alone the one between no data and inactive, which a quiet service has at its start and whenever nobody comes. The line has
// the SLO's own name, where it has one, by which it is found in Prometheus.
// That is when somebody asks, as State and a scrape do; where nobody does, have [Monitor.Watch] ask.
func WithLogger(l *slog.Logger) Option {
	return WithOnChange(func(c Change) {
		quiet := func(s AlertState) bool { return s == NoData || s == Inactive }
		level := slog.LevelInfo
		switch {
		case c.Alert.State == Firing:
			level = slog.LevelWarn
		case quiet(c.From) && quiet(c.Alert.State):
			level = slog.LevelDebug
		}
		l.LogAttrs(context.Background(), level, "goodput alert "+c.Alert.State.String(), slog.String("from", c.From.String()), slog.Any("alert", c.Alert))
	})
}

// tell gives the changes that nobody was told of to the callbacks. Another goroutine that is telling already, or a callback
// up the stack, takes them too.
func (m *Monitor) tell() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.telling {
		return
	}
	m.telling = true
	defer func() { m.telling = false }()
	for len(m.untold) > 0 {
		c := m.untold[0]
		m.untold = m.untold[1:]
		m.mu.Unlock()
		func() {
			defer m.mu.Lock() // also where a callback panics
			for _, f := range m.onChange {
				f(c)
			}
		}()
	}
	m.untold = nil
}

// Watch judges the alerts at once and then every so often, until the context is over, whose error it returns: for those
// who want callbacks and have nobody who asks. It starts no goroutine.
func (m *Monitor) Watch(ctx context.Context, every time.Duration) error {
	if every <= 0 {
		return fmt.Errorf("monitor: Watch: %w", errors.New("the interval has to be above 0"))
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		m.Alerts()
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-t.C:
		}
	}
}
