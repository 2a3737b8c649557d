package loadgen

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pacers are those of this system, by name.
func pacers() map[string]func() pacer {
	return map[string]func() pacer{"real time": newPacer, "timer": func() pacer { return newTimerPacer() }}
}

// A pacer does not return before the instant, nor after it for one that has passed.
func TestPacerSleeps(t *testing.T) {
	for name, open := range pacers() {
		t.Run(name, func(t *testing.T) {
			p := open()
			defer p.stop()
			for range 3 {
				at := time.Now().Add(ms / 10)
				p.until(at)
				assert.False(t, time.Now().Before(at))
			}
			p.until(time.Now())
			p.until(time.Time{})
		})
	}
}

// One that sleeps for good is woken, whether it sleeps already or not yet; a wake that came too late for its sleep does not
// keep it from the next, and one after stop does nothing.
func TestPacerIsWoken(t *testing.T) {
	for name, open := range pacers() {
		t.Run(name, func(t *testing.T) {
			p := open()
			never := time.Now().Add(200 * 365 * 24 * time.Hour)
			p.wake()
			p.wake()
			p.until(never)
			for range 200 {
				woken := make(chan struct{})
				go func() { p.wake(); close(woken) }()
				p.until(never)
				<-woken
			}
			p.stop()
			p.wake()
		})
	}
}

// In a bubble it is the bubble's time that passes.
func TestPacerInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPacer()
		defer p.stop()
		require.IsType(t, newTimerPacer(), p)
		start := time.Now()
		p.until(start.Add(time.Hour))
		assert.Equal(t, time.Hour, time.Since(start))
		time.AfterFunc(time.Minute, p.wake)
		p.until(start.Add(2 * time.Hour))
		assert.Equal(t, time.Hour+time.Minute, time.Since(start))
	})
}
