package workload

import (
	"math"
	"math/rand/v2"
	"strings"
)

// corpusWords is how many words a corpus has. A power of two, so that a hash picks a word.
const corpusWords = 1 << 16

// corpus is a text of random words, of which prompts are pieces: copying a piece takes a fraction of the time of drawing
// its words, and a simulated hour makes hundreds of thousands of prompts.
type corpus struct {
	text string
	at   []uint32 // where word i begins; one more for the end. Each word ends with a space
}

func newCorpus(seed uint64) *corpus {
	r := rand.New(rand.NewPCG(seed, 0x7e87))
	c := &corpus{at: make([]uint32, 1, corpusWords+1)}
	var b strings.Builder
	for range corpusWords {
		b.WriteString(words[r.Uint32()%uint32(len(words))])
		b.WriteByte(' ')
		c.at = append(c.at, uint32(b.Len()))
	}
	c.text = b.String()
	return c
}

// write appends n words from word `from`, going on at the beginning after the end.
func (c *corpus) write(b *strings.Builder, from uint64, n int) {
	for i := int(from % corpusWords); n > 0; i = 0 {
		k := min(n, corpusWords-i)
		b.WriteString(c.text[c.at[i]:c.at[i+k]])
		n -= k
	}
}

// size is about how many bytes n words take.
func (c *corpus) size(n int) int { return int(float64(n)*float64(len(c.text))/corpusWords) + 64 }

// writer makes prompts of given lengths.
type writer struct {
	corpus        *corpus
	seed, key     uint64
	tokensPerWord float64
	template      int
	block         int
}

// newCorpus is nil where no text is wanted.
func (o *options) newCorpus() *corpus {
	if o.noText {
		return nil
	}
	return newCorpus(o.seed)
}

func (o *options) newWriter(c *corpus) *writer {
	return &writer{
		corpus: c, seed: o.seed, key: o.passKey(), tokensPerWord: o.tokensPerWord, template: o.template, block: o.block,
	}
}

// words is how many words make about that many tokens, at least one.
func (w *writer) words(tokens int) int {
	return max(1, int(math.Round(float64(tokens)/w.tokensPerWord)))
}

// prompt is the text of request i with so many input tokens, of which the first blocks are shared with whatever other
// request has the same ids there.
func (w *writer) prompt(i uint64, tokens int, blocks []uint64) string {
	if w.corpus == nil {
		return ""
	}
	total := w.words(max(1, tokens-w.template))
	var b strings.Builder
	b.Grow(w.corpus.size(total))
	written := 0
	for k, id := range blocks {
		if end := min(w.words((k+1)*w.block), total); end > written {
			w.chunk(&b, blockStream, id, end-written)
			written = end
		}
	}
	if written < total {
		w.chunk(&b, requestStream, i, total-written)
	}
	return b.String()[:b.Len()-1] // without the last space
}

// Requests and blocks have salts of their own, so that request 7 does not begin like block 7.
const (
	requestStream = 0x51e9
	blockStream   = 0xb10c
)

// chunk appends n words that belong to number id of a stream: the salt, which differs from id to id and from pass to
// pass, then a piece of the corpus, which depends on the seed alone.
func (w *writer) chunk(b *strings.Builder, stream, id uint64, n int) {
	salt := saltID(mix64(w.key^stream), id)
	for i := range min(saltWords, n) {
		b.WriteString(saltWord(salt, i))
		b.WriteByte(' ')
	}
	if n > saltWords {
		w.corpus.write(b, mix64(w.seed^stream^mix64(id)), n-saltWords)
	}
}
