package workload

import (
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/goodputkit/goodputkit/loadgen"
)

// Prompts is requests read from a file.
type Prompts struct {
	name    string
	entries []entry
	skipped int
	o       *options
}

// OpenPrompts reads the prompts of a file: see ReadPrompts.
func OpenPrompts(path string, opts ...Option) (*Prompts, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadPrompts(path, f, opts...)
}

// ReadPrompts reads prompts, one JSON object a line or a JSON array of objects; name stands for the file in errors. The
// whole is read and checked, so that no run begins with a file that is wrong further down. Objects are of two kinds.
//
// A request has "prompt", a text, or "messages", a list of {"role", "content"} whose content is a text or a list of
// {"type": "text", "text"}; and if wanted "class", "max_tokens" (or "output_tokens", which means the same),
// "input_tokens" and "body", extra fields of the request. With "turns", a list of {"content", "think_s", "max_tokens",
// "input_tokens"} of which only the first has to be there, it is the first turn of a session: see loadgen.Conversation.
// think_s is the seconds from the answer before to the turn; without it WithSessions says, or there are none. "id" and
// "metadata" are passed over. Any other key is an error: who writes "temperature" beside the prompt and not into the body
// would not get it.
//
// A ShareGPT conversation has "conversations", a list of {"from", "value"}. It becomes a request with its first turn
// from a human, after the system's text if it has one; with WithSessions also a session with the others. What else it has
// is passed over; one without such a turn is skipped, and Skipped counts it.
//
// It takes WithSeed, WithShuffle, WithSessions, WithoutSalt, WithSaltSeed, WithTokensPerWord, WithTokenCounter, WithClass, WithBody,
// WithLimit, WithMaxLine and WithMaxSize. What is wrong with a file is a *FileError.
func ReadPrompts(name string, r io.Reader, opts ...Option) (*Prompts, error) {
	o, err := newOptions(forPrompts, opts)
	if err != nil {
		return nil, err
	}
	p := &Prompts{name: name, o: o}
	s := newSource(name, r, o)
	first, err := s.start()
	if err != nil {
		return nil, err
	}
	if first == '[' {
		err = s.eachElement(p.add)
	} else {
		err = s.eachLine(p.add)
	}
	if err != nil {
		return nil, err
	}
	if len(p.entries) == 0 {
		return nil, s.fail(0, ErrEmpty)
	}
	if o.shuffle {
		rnd := rand.New(rand.NewPCG(o.seed, 0x5f1e))
		rnd.Shuffle(len(p.entries), func(i, j int) {
			p.entries[i], p.entries[j] = p.entries[j], p.entries[i]
		})
	}
	p.entries = slices.Clip(p.entries)
	return p, nil
}

// add takes one object.
func (p *Prompts) add(text []byte) (done bool, err error) {
	e, err := p.o.parseObject(text)
	switch {
	case err != nil:
		return false, err
	case e == nil:
		p.skipped++
	default:
		p.entries = append(p.entries, *e)
	}
	return p.o.limit > 0 && len(p.entries) == p.o.limit, nil
}

// Len is how many requests there are; a session is one.
func (p *Prompts) Len() int { return len(p.entries) }

// Skipped is how many conversations had no turn from a human.
func (p *Prompts) Skipped() int { return p.skipped }

// String is the name and how many, and nothing of their text.
func (p Prompts) String() string { return fmt.Sprintf("%s: %d prompts", p.name, len(p.entries)) }

// Requests is the requests, each once, with salt unless WithoutSalt says otherwise: the line of four words goes before
// the prompt or the first message, and its tokens are added to the input tokens where these are known. The later turns of
// a session carry that of the first. Requests share their Messages, where there is no salt, and their Body; neither is to
// be changed.
func (p *Prompts) Requests() iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		key := p.o.passKey()
		tokens := int(math.Round(saltWords*p.o.tokensPerWord)) + 1 // the line's end
		r := rand.New(rand.NewPCG(p.o.seed, 0x7417))
		for i, e := range p.entries {
			req := e.request
			if p.o.salt != saltOff {
				req = salted(req, saltID(key, uint64(i)), tokens)
			}
			if !yield(p.o.session(&req, e.turns, r)) {
				return
			}
		}
	}
}
