package httpclient

import (
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// epoch is what instants are counted from, by the monotonic clock.
var epoch = time.Now()

// stepTolerance is how far two clocks may seem to have moved against each other, ns, before one counts as set: they are
// read one after the other, and what comes between is small but where the thread loses its processor there.
const stepTolerance = int64(time.Millisecond)

// arrivalClock makes instants of the monotonic clock of the kernel's stamps, which are of the wall clock. It is a
// connection's: its instants never fall.
type arrivalClock struct {
	apart int64 // the wall clock's reading less the monotonic clock's, when they were last read
	last  int64 // the instant of the last read
	some  bool  // they have been read
}

// at is the arrival of what was stamped with stamp, ns of Unix time, and read at wall, ns of the same, and mono, ns since
// the epoch. Where there is no stamp (0), where it is of the future, or the wall clock was set since the last read, it is
// mono.
func (c *arrivalClock) at(stamp, wall, mono int64) int64 {
	at, apart := mono, wall-mono
	moved := apart - c.apart
	set := c.some && (moved > stepTolerance || moved < -stepTolerance)
	if c.apart = apart; stamp != 0 && !set {
		at = min(mono, stamp-apart)
	}
	if c.some {
		at = max(at, c.last)
	}
	c.last, c.some = at, true
	return at
}

// reader is whose answer a connection is reading.
type reader struct {
	attempt atomic.Pointer[attempt]
}

// arrived says when the last bytes came, in ns since the epoch.
func (r *reader) arrived(at int64) {
	if a := r.attempt.Load(); a != nil {
		a.arrival.Store(at)
	}
}

// stampedOf is the connection below c that says when bytes came; nil: there is none.
func stampedOf(c net.Conn) *reader {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if a, ok := c.(aheadConn); ok {
		c = a.Conn
	}
	if s, ok := c.(*stamped); ok {
		return &s.reader
	}
	return nil
}

// arrivingBody is a body of which it is known when the last bytes came.
type arrivingBody struct {
	io.ReadCloser
	of *attempt
}

// arrival is when the bytes came that were read last; not ok: nobody knows.
func (b *arrivingBody) arrival() (time.Time, bool) {
	ns := b.of.arrival.Load()
	return epoch.Add(time.Duration(ns)), ns != 0
}

// Close closes the body. The connection may serve another request from then on, and is not to hold on to this one.
func (b *arrivingBody) Close() error {
	err := b.ReadCloser.Close()
	b.of.leave()
	if c := b.of.pooled.Swap(nil); c != nil {
		c.free()
	}
	return err
}
