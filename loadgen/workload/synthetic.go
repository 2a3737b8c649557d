package workload

import (
	"iter"
	"math/rand/v2"

	"github.com/goodputkit/goodputkit/loadgen"
)

// Synthetic is requests whose lengths follow laws and whose prompts are random English words.
type Synthetic struct {
	shape  Shape
	o      *options
	corpus *corpus
}

// NewSynthetic is requests of that shape. It takes WithSeed, WithoutSalt, WithSaltSeed, WithTokensPerWord,
// WithTemplateTokens, WithoutText, WithClass, WithBody and WithLimit; without the last they never end.
func NewSynthetic(shape Shape, opts ...Option) (*Synthetic, error) {
	o, err := newOptions(forSynthetic, opts)
	if err != nil {
		return nil, err
	}
	if err := validate("Shape.Input", shape.Input); err != nil {
		return nil, err
	}
	if shape.Output != nil {
		if err := validate("Shape.Output", shape.Output); err != nil {
			return nil, err
		}
	}
	return &Synthetic{shape, o, o.newCorpus()}, nil
}

// String is the shape.
func (s Synthetic) String() string { return s.shape.String() }

// Requests is the requests. Each pass over them draws the same lengths and, but for the salt, the same words. Requests
// share their Body, which is not to be changed.
func (s *Synthetic) Requests() iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		// Two sources, so that another law of the output leaves the inputs as they are.
		in := rand.New(rand.NewPCG(s.o.seed, 0x1a))
		out := rand.New(rand.NewPCG(s.o.seed, 0x0b))
		w := s.o.newWriter(s.corpus)
		for i := 0; s.o.limit == 0 || i < s.o.limit; i++ {
			req := &loadgen.Request{Class: s.o.class, Body: s.o.body, InputTokens: draw(s.shape.Input, in)}
			if s.shape.Output != nil {
				req.MaxTokens = draw(s.shape.Output, out)
			}
			req.Prompt = w.prompt(uint64(i), req.InputTokens, nil)
			if !yield(req) {
				return
			}
		}
	}
}
