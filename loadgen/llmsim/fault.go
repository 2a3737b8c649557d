package llmsim

import (
	"fmt"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"time"

	"github.com/goodputkit/goodputkit/internal/panicsite"
)

// FaultError is the end of a machine, and says whose doing it was: a Policy that planned what cannot be, or nothing while
// work waits; a Router of a decode pool that has no answer; any of them, or a Model of one's own, that panics; or the clock's, which
// has no instant for what would come next. What the machine would have done next nobody knows, so it does nothing more.
//
//   - A Runner cuts the run off at that instant. It returns the error, which is Result.Cut too, beside what was found so far.
//   - Of a Target the requests in flight fail with the error, and so do those that come after.
//   - A Server answers both with 500 and the error's text, a stream that is being sent ends with an error event, and
//     GET /health is 503.
//   - An Engine, or any Machine that one drives oneself, panics with a *FaultError, and is not to be called again.
type FaultError struct {
	Of     string // whose: "policy main.greedy", "router sticky", "the clock", or "a machine *main.machine"
	Detail string // what it did, in one line
	Err    error  // the panic's value, where that was an error; else nil
}

func (e *FaultError) Error() string { return "llmsim: " + e.Of + ": " + e.Detail }
func (e *FaultError) Unwrap() error { return e.Err }

// faultOf is the fault of whom a panic is that is being recovered: p is its value, nil where a goroutine was ended.
func faultOf(whose string, p any) *FaultError {
	f := &FaultError{Of: whose}
	switch p := p.(type) {
	case *FaultError:
		return p
	case nil:
		f.Detail = "its policy, its router or itself ended the goroutine (runtime.Goexit)"
		return f
	case error:
		f.Err = p
	}
	f.Detail = fmt.Sprintf("panic: %v", p)
	if at := panicsite.Find(); at != "" {
		f.Detail += " (" + at + ")"
	}
	return f
}

// policyName calls a policy by its type, a function by its name and where it is.
func policyName(p Policy) string {
	f, ok := p.(PolicyFunc)
	if !ok {
		return fmt.Sprintf("policy %T", p)
	}
	pc := reflect.ValueOf(f).Pointer()
	file, line := runtime.FuncForPC(pc).FileLine(pc)
	return fmt.Sprintf("policy %s (%s:%d)", path.Base(runtime.FuncForPC(pc).Name()), filepath.Base(file), line)
}

// guarded is a machine that does not panic: the first panic is its end, and its fault.
type guarded struct {
	m     Machine
	fault *FaultError // nil: it works
	in    bool        // a call is under way
}

func (g *guarded) submit(now time.Duration, j Job) error {
	var err error
	if g.fault == nil {
		err = g.try(now, j)
	}
	if g.fault != nil {
		return g.fault
	}
	return err
}

func (g *guarded) try(now time.Duration, j Job) (err error) {
	defer g.leave()
	g.in = true
	err = g.m.Submit(now, j)
	g.in = false
	return err
}

func (g *guarded) cancel(now time.Duration, id uint64) (was bool) {
	if g.fault != nil {
		return false
	}
	defer g.leave()
	g.in = true
	was = g.m.Cancel(now, id)
	g.in = false
	return was
}

func (g *guarded) next() (at time.Duration, ok bool) {
	if g.fault != nil {
		return 0, false
	}
	defer g.leave()
	g.in = true
	at, ok = g.m.Next()
	g.in = false
	return at, ok
}

func (g *guarded) advance(to time.Duration) (events []Event) {
	if g.fault != nil {
		return nil
	}
	defer g.leave()
	g.in = true
	events = g.m.Advance(to)
	g.in = false
	return events
}

// stats is the machine's state, and none after its end.
func (g *guarded) stats() (s Stats) {
	if g.fault != nil {
		return Stats{}
	}
	defer g.leave()
	g.in = true
	s = g.m.Stats()
	g.in = false
	return s
}

// leave, deferred, recovers what a call has left under way.
func (g *guarded) leave() {
	if g.in {
		g.in, g.fault = false, faultOf(fmt.Sprintf("a machine %T", g.m), recover())
	}
}
