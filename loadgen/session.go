package loadgen

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
)

// Answer is what a session knows of the turn that has ended when it says its next one.
type Answer struct {
	Text                      string // what the assistant said: Content, without reasoning, tool calls and refusals
	InputTokens, OutputTokens int    // as the server counted them; 0: it did not say
}

// Turn is what a user says in a conversation once the answer before is there.
type Turn struct {
	Content     string
	Think       time.Duration // from the end of the answer before to the turn's Start
	InputTokens int           // of this message alone; 0: unknown, and then the request's are, too
	MaxTokens   int           // of the answer; 0: no limit
}

// Conversation is a session of chat messages: first, and then a request for each of the turns, which carries all that
// was said before, the answers as the assistant's messages, and otherwise what first has. Its input tokens, where those
// of first, of the turn and of the answer are known, are their sum.
//
//	loadgen.Conversation(
//		&loadgen.Request{Prompt: "Name a river."},
//		loadgen.Turn{Content: "Where does it rise?", Think: 5 * time.Second},
//	)
//
// What it returns may be used for any number of sessions; turns may not be changed any more.
func Conversation(first *Request, turns ...Turn) *Request {
	r := *first
	if r.Next, r.Left = nil, len(turns); r.Left == 0 {
		return &r
	}
	r.Next = func(a Answer) (*Request, time.Duration) {
		t := turns[0]
		next := r
		next.Prompt, next.MaxTokens, next.InputTokens = "", t.MaxTokens, 0
		if r.InputTokens > 0 && a.OutputTokens > 0 && t.InputTokens > 0 {
			next.InputTokens = r.InputTokens + a.OutputTokens + t.InputTokens
		}
		next.Messages = make([]Message, 0, len(r.Messages)+3)
		if next.Messages = append(next.Messages, r.Messages...); len(r.Messages) == 0 {
			next.Messages = append(next.Messages, Message{"user", r.Prompt})
		}
		next.Messages = append(next.Messages, Message{"assistant", a.Text}, Message{"user", t.Content})
		return Conversation(&next, turns[1:]...), t.Think
	}
	return &r
}

// mostText is the longest answer that a session carries on, in bytes.
const mostText = 4 << 20

var (
	errLongAnswer = fmt.Errorf("an answer was longer than %d bytes", mostText)
	errTurnFailed = errors.New("a turn failed")
	errNextExit   = errors.New("Request.Next ended its goroutine (runtime.Goexit)")
)

// answerText collects the text of an answer for a session, until it is too long.
type answerText struct{ strings.Builder }

func (t *answerText) add(kind TextKind, s string) {
	if kind == Content && t.Len() <= mostText {
		t.WriteString(s)
	}
}

// turn is a later request of a session whose Start is known.
type turn struct {
	at      time.Time
	session uint64 // its Index
	request *Request
}

// turns is a heap, the next turn first. Of two that start in the same instant, that of the older session does.
type turns []turn

func (h turns) Len() int { return len(h) }
func (h turns) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].session < h[j].session
}
func (h turns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *turns) Push(x any)   { *h = append(*h, x.(turn)) }
func (h *turns) Pop() any {
	n := len(*h) - 1
	t := (*h)[n]
	(*h)[n] = turn{}
	*h = (*h)[:n]
	return t
}

// following is a session whose turn has ended well, and that has not said its next one yet.
type following struct {
	call   *Call
	end    time.Time // of its turn
	answer Answer

	next turn
	err  error
}

// ask asks the session. It is the caller's code, which can take its time and can panic: the Book's lock is not held.
func (f *following) ask() {
	f.err = errNextExit
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("Request.Next: %w", asPanic(p))
		}
	}()
	if len(f.answer.Text) > mostText {
		f.err = errLongAnswer
		return
	}
	r, think := f.call.Request.Next(f.answer)
	f.err = nil
	f.next = turn{f.end.Add(max(0, think)), f.call.Index, r}
}

// following is the session of c, whose turn has just been booked: nil where it has ended.
func (b *Book) following(c *Call, rec *goodput.Record) *following {
	if !c.goesOn {
		return nil
	}
	b.asking++
	a := Answer{Text: c.Text, InputTokens: rec.InputTokens, OutputTokens: rec.OutputTokens}
	return &following{call: c, end: c.Start.Add(rec.End), answer: a}
}

// resume takes what a session has said.
func (b *Book) resume(f *following) {
	b.asking--
	b.sched.resume(f, b.now)
}
