package openai

import "github.com/goodputkit/goodputkit/internal/sse"

const (
	maxBody  = 16 << 20 // the longest JSON body, bytes
	keptBody = 64 << 10 // memory of a body that is worth keeping

	// What is read at once, bytes: a stream of tokens comes in small pieces, and there are many streams.
	leastRead, mostRead = 1 << 10, 4 << 10
)

// scratch is the memory that one answer is read with.
type scratch struct {
	buf    []byte
	body   []byte
	parser sse.Parser
	answer answer
}

func newScratch() *scratch { return &scratch{buf: make([]byte, leastRead)} }

func (s *scratch) reset() {
	s.answer = answer{finished: s.answer.finished[:0]} // it holds the request
	s.parser.Reset()
	s.body = s.body[:0]
	if cap(s.body) > keptBody {
		s.body = nil
	}
}
