// Package browser drives a headless Chromium from tests, over DevTools' pipe: no driver program, no socket, no dependency.
//
// A test is skipped where no Chromium is installed. Where the environment says GOODPUT_BROWSER=required it fails instead, so that a
// machine that is to test pages does not pass because it could not.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// programs are the names that a Chromium goes by.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// Timeout is how long the browser may take for one command before the test fails.
const Timeout = 60 * time.Second

// Browser is a running Chromium. It belongs to one test, whose end ends it.
type Browser struct {
	t     testing.TB
	in    io.WriteCloser
	mu    sync.Mutex
	next  int
	calls map[int]chan reply
	pages map[string]*Page // by session
	err   error            // why nothing more will come
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type reply struct {
	result json.RawMessage
	err    error
}

// Start starts a browser for a test, or skips it.
func Start(t testing.TB) *Browser {
	t.Helper()
	var path string
	for _, name := range programs {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" || runtime.GOOS == "windows" { // where no pipe can be inherited
		if os.Getenv("GOODPUT_BROWSER") == "required" {
			t.Fatalf("GOODPUT_BROWSER=required, and none of %s is installed", strings.Join(programs, ", "))
		}
		t.Skip("no Chromium here")
	}
	b := &Browser{t: t, calls: map[int]chan reply{}, pages: map[string]*Page{}}
	if err := b.start(path); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

func (b *Browser) start(path string) error {
	home, err := os.MkdirTemp("", "goodput-browser-")
	if err != nil {
		return err
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return err
	}
	b.in = in
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+home, "--no-first-run", "--disable-gpu",
		"--disable-dev-shm-usage", "--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-default-apps", "--disable-extensions", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4
	if err := cmd.Start(); err != nil {
		return err
	}
	_, _ = theirIn.Close(), theirOut.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.read(out)
	}()
	b.t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		_ = in.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = cmd.Wait()
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
		_ = out.Close()
		<-read
		for range 20 { // helpers of the browser may still write into it for a moment
			if err := os.RemoveAll(home); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return nil
}

// read takes what the browser says: answers to those who wait for them, and events to their pages.
func (b *Browser) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			b.err = fmt.Errorf("the browser has ended: %w", err)
			for id, c := range b.calls {
				c <- reply{nil, b.err}
				delete(b.calls, id)
			}
			b.mu.Unlock()
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if c, ok := b.calls[m.ID]; ok && m.ID > 0 {
			delete(b.calls, m.ID)
			if m.Error != nil {
				c <- reply{nil, errors.New(m.Error.Message)}
			} else {
				c <- reply{m.Result, nil}
			}
		} else if p := b.pages[m.Session]; p != nil {
			p.event(m)
		}
		b.mu.Unlock()
	}
}

// call has the browser carry out a command.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	if params == nil {
		text = []byte("{}")
	}
	answer := make(chan reply, 1)
	b.mu.Lock()
	if b.err != nil {
		b.mu.Unlock()
		return nil, b.err
	}
	b.next++
	m := message{ID: b.next, Method: method, Params: text, Session: session}
	b.calls[m.ID] = answer
	b.mu.Unlock()
	line, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if _, err := b.in.Write(append(line, 0)); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		return r.result, r.err
	case <-time.After(Timeout):
		return nil, fmt.Errorf("%s: no answer in %v", method, Timeout)
	}
}

// Page is one tab. A method that fails fails the test.
type Page struct {
	b       *Browser
	session string
	loaded  chan struct{}
	said    []string
}

type params map[string]any

// Page opens an empty tab of that size in CSS pixels.
func (b *Browser) Page(width, height int) *Page {
	b.t.Helper()
	p := &Page{b: b, loaded: make(chan struct{}, 16)}
	var target struct{ TargetID string }
	p.into(&target, "", "Target.createTarget", params{"url": "about:blank"})
	var attached struct{ SessionID string }
	p.into(&attached, "", "Target.attachToTarget", params{"targetId": target.TargetID, "flatten": true})
	p.session = attached.SessionID
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		p.do(domain+".enable", nil)
	}
	p.do("Performance.enable", params{"timeDomain": "threadTicks"})
	p.Size(width, height)
	return p
}

// Busy is for how long the page's main thread has had a processor since it began: what else the machine does is no part of it.
func (p *Page) Busy() time.Duration {
	p.b.t.Helper()
	var got struct {
		Metrics []struct {
			Name  string
			Value float64 // s
		}
	}
	p.into(&got, p.session, "Performance.getMetrics", nil)
	for _, m := range got.Metrics {
		if m.Name == "TaskDuration" {
			return time.Duration(m.Value * float64(time.Second))
		}
	}
	p.b.t.Fatal("browser: no TaskDuration")
	return 0
}

func (p *Page) do(method string, params any) { p.b.t.Helper(); p.into(nil, p.session, method, params) }

func (p *Page) into(v any, session, method string, params any) {
	p.b.t.Helper()
	result, err := p.b.call(session, method, params)
	if err == nil && v != nil {
		err = json.Unmarshal(result, v)
	}
	if err != nil {
		p.b.t.Fatalf("browser: %s: %v", method, err)
	}
}

// event keeps what a page has to say for itself; b.mu is held.
func (p *Page) event(m message) {
	switch m.Method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Runtime.exceptionThrown":
		var e struct {
			ExceptionDetails struct {
				Text      string
				Exception struct{ Description string }
			}
		}
		_ = json.Unmarshal(m.Params, &e)
		p.said = append(p.said, "exception: "+e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case "Log.entryAdded":
		var e struct {
			Entry struct{ Source, Level, Text, URL string }
		}
		_ = json.Unmarshal(m.Params, &e)
		if e.Entry.Level == "error" || e.Entry.Level == "warning" || e.Entry.Source == "security" {
			p.said = append(p.said, e.Entry.Level+": "+e.Entry.Text+" "+e.Entry.URL)
		}
	case "Runtime.consoleAPICalled":
		var e struct {
			Type string
			Args []struct{ Value any }
		}
		_ = json.Unmarshal(m.Params, &e)
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			p.said = append(p.said, fmt.Sprintf("console.%s: %v", e.Type, e.Args))
		}
	}
}

// Complaints are the errors and warnings of the page so far: exceptions, console, network, violations of its security policy.
func (p *Page) Complaints() []string {
	p.Eval("0", nil) // what was said before has been heard with the answer
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	return append([]string(nil), p.said...)
}

// Open goes to an address (of a file: file:///…) and waits until everything is loaded.
func (p *Page) Open(url string) {
	p.b.t.Helper()
	for len(p.loaded) > 0 {
		<-p.loaded
	}
	var to struct{ ErrorText string }
	p.into(&to, p.session, "Page.navigate", params{"url": url})
	if to.ErrorText != "" {
		p.b.t.Fatalf("browser: %s: %s", url, to.ErrorText)
	}
	select {
	case <-p.loaded:
	case <-time.After(Timeout):
		p.b.t.Fatalf("browser: %s is not loaded after %v", url, Timeout)
	}
}

// Eval evaluates JavaScript in the page, waits for it where it is a promise, and reads its value into v, which may be nil.
func (p *Page) Eval(expression string, v any) {
	p.b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.into(&r, p.session, "Runtime.evaluate", params{"expression": expression, "returnByValue": true, "awaitPromise": true})
	if e := r.ExceptionDetails; e != nil {
		p.b.t.Fatalf("browser: %s %s\nin %s", e.Text, e.Exception.Description, expression)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, v); err != nil {
		p.b.t.Fatalf("browser: %v: %s\nof %s", err, r.Result.Value, expression)
	}
}

// Settle waits until the page has drawn twice more.
func (p *Page) Settle() {
	p.b.t.Helper()
	p.Eval("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))", nil)
}

// Size sets the size of the window, in CSS pixels.
func (p *Page) Size(width, height int) {
	p.b.t.Helper()
	p.do("Emulation.setDeviceMetricsOverride", params{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
}

// Dark has the page believe that its reader prefers a dark scheme, or a light one.
func (p *Page) Dark(dark bool) {
	p.b.t.Helper()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	p.do("Emulation.setEmulatedMedia", params{"features": []params{{"name": "prefers-color-scheme", "value": scheme}}})
}

// keyCodes are the codes of keys that have no character.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

// Key presses and releases a key, by its name in the DOM: Tab, Enter, ArrowRight …
func (p *Page) Key(name string) {
	p.b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		p.do("Input.dispatchKeyEvent", params{"type": kind, "key": name, "code": name, "windowsVirtualKeyCode": keyCodes[name]})
	}
}

// Screenshot writes the whole page, as far down as it goes, to a PNG file.
func (p *Page) Screenshot(file string) {
	p.b.t.Helper()
	p.save(file, "Page.captureScreenshot", params{"format": "png", "captureBeyondViewport": true})
}

// PDF prints the page to a file.
func (p *Page) PDF(file string) {
	p.b.t.Helper()
	p.save(file, "Page.printToPDF", params{"printBackground": true, "paperWidth": 8.27, "paperHeight": 11.69})
}

func (p *Page) save(file, method string, how params) {
	p.b.t.Helper()
	var r struct{ Data string }
	p.into(&r, p.session, method, how)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		p.b.t.Fatalf("browser: %v", err)
	}
}
