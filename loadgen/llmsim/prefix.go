package llmsim

import (
	"math"
	"strings"
	"time"
)

// prefixCache is the blocks of KV cache whose content is known, by the hash of their tokens and all before them. Those that
// a running sequence has are referenced; the others stay until their room is wanted, the one that was left first goes first.
type prefixCache struct {
	size   int // tokens of a block
	blocks map[uint64]*block
	idle   int   // blocks that nobody references
	lru    block // the head of their ring, in order of leaving
	free   []*block
}

// block is one of the cache.
type block struct {
	hash       uint64
	refs       int    // running sequences that have it
	prev, next *block // in the ring, where refs is 0

	// Who left it last, and when: what is left at one instant is in order of by, whatever the order of the calls.
	left time.Duration
	by   uint64

	// What the plan of this serial would change of refs.
	serial uint64
	delta  int
}

func newPrefixCache(size int) *prefixCache {
	c := &prefixCache{size: size, blocks: make(map[uint64]*block)}
	c.lru.prev, c.lru.next = &c.lru, &c.lru
	return c
}

// planned is how many references b would have after what is planned.
func (b *block) planned(serial uint64) int {
	if b.serial == serial {
		return b.refs + b.delta
	}
	return b.refs
}

// plan plans a change of refs.
func (b *block) plan(serial uint64, change int) {
	if b.serial != serial {
		b.serial, b.delta = serial, 0
	}
	b.delta += change
}

// hits is how many of the blocks are there, from the first on.
func (c *prefixCache) hits(blocks []uint64) int {
	for i, h := range blocks {
		if c.blocks[h] == nil {
			return i
		}
	}
	return len(blocks)
}

// acquire references b and says whether somebody else does.
func (c *prefixCache) acquire(b *block) (shared bool) {
	b.refs++
	if b.refs > 1 {
		return true
	}
	c.idle--
	b.prev.next, b.next.prev = b.next, b.prev
	return false
}

// leave takes a reference to b away, at now, and says whether somebody else has one.
func (c *prefixCache) leave(b *block, now time.Duration, by uint64) (shared bool) {
	if b.left != now {
		b.left, b.by = now, 0
	}
	b.by = max(b.by, by)
	b.refs--
	if b.refs > 0 {
		return true
	}
	c.idle++
	before := c.lru.prev
	for before != &c.lru && before.left == now && before.by > b.by {
		before = before.prev
	}
	b.prev, b.next = before, before.next
	b.prev.next, b.next.prev = b, b
	return false
}

// What leaves the batch when a step ends comes before what is cancelled at that instant, by entry, and that before what is
// preempted when the next step begins.
const (
	byStep       = 0
	byPreemption = math.MaxUint64
)

// add is a new block that one sequence has; nil: there is one of that hash already.
func (c *prefixCache) add(hash uint64) *block {
	if c.blocks[hash] != nil {
		return nil
	}
	b := &block{}
	if n := len(c.free); n > 0 {
		b = c.free[n-1]
		c.free = c.free[:n-1]
	}
	*b = block{hash: hash, refs: 1}
	c.blocks[hash] = b
	return b
}

// evict takes out the block that was left first.
func (c *prefixCache) evict() {
	b := c.lru.next
	c.idle--
	b.prev.next, b.next.prev = b.next, b.prev
	delete(c.blocks, b.hash)
	c.free = append(c.free, b)
}

// hits is how many blocks of q, which waits, the prefix cache has. The last token is always computed, as nothing else says
// what comes after it.
func (e *Engine) hits(q *Sequence) int {
	if e.cache == nil || len(q.job.Blocks) == 0 {
		return 0
	}
	if q.hitsOf != e.serial {
		q.hitsOf = e.serial
		q.hit = e.cache.hits(q.job.Blocks[:min(len(q.job.Blocks), (q.target-1)/e.cache.size)])
	}
	return q.hit
}

// shares is how many tokens of the blocks that q, which waits, would hit are held by others.
func (e *Engine) shares(q *Sequence) (tokens int) {
	for _, h := range q.job.Blocks[:e.hits(q)] {
		if e.cache.blocks[h].planned(e.serial) > 0 {
			tokens += e.cache.size
		}
	}
	return tokens
}

// share gives q, which enters, the blocks that it hits, and returns how many tokens of them are held by others.
func (e *Engine) share(q *Sequence) (tokens int) {
	if e.cache == nil {
		return 0
	}
	n := e.hits(q)
	e.stats.CacheQueried += uint64(q.target)
	e.stats.CacheHits += uint64(n * e.cache.size)
	for _, h := range q.job.Blocks[:n] {
		b := e.cache.blocks[h]
		if e.cache.acquire(b) {
			tokens += e.cache.size
		}
		q.shared = append(q.shared, b)
	}
	q.filled = n
	return tokens
}

// fill makes the blocks of q known that are full and computed.
func (e *Engine) fill(q *Sequence) {
	done := q.prefilled
	if q.state == decoding {
		done = q.length() - 1 // the last token has not been through the model
	}
	for q.filled < len(q.job.Blocks) && (q.filled+1)*e.cache.size <= done {
		if b := e.cache.add(q.job.Blocks[q.filled]); b != nil {
			q.shared = append(q.shared, b)
		} // where there is one already, q's own is nobody else's
		q.filled++
	}
}

// unshare takes the blocks of q away, the last first, so that a beginning stays longer than what comes after it. It returns
// how many tokens others still hold.
func (e *Engine) unshare(q *Sequence, by uint64) (tokens int) {
	for i := len(q.shared) - 1; i >= 0; i-- {
		if e.cache.leave(q.shared[i], e.now, by) {
			tokens += e.cache.size
		}
		q.shared[i] = nil
	}
	q.shared, q.filled = q.shared[:0], 0
	return tokens
}

// makeRoom takes blocks that nobody has out of the cache until so many tokens more have room.
func (e *Engine) makeRoom(tokens int) {
	for e.cache != nil && e.cache.idle > 0 && e.stats.KVUsed+tokens+e.cache.idle*e.cache.size > e.p.KVTokens {
		e.cache.evict()
	}
}

// blocksOf is the hashes of the blocks of j, whose prompt are these texts, a word of which stands for a token. Of a prompt that
// is longer than its text the end is unknown. Where the two are as long, the answer's blocks follow, but for those of one that
// is longer than any Server gives.
func blocksOf(size int, j Job, texts ...string) []uint64 {
	b := newBlockHasher(size, j.Prompt)
	for _, text := range texts {
		b.add(text)
	}
	if b.n == 0 {
		return nil
	}
	if b.n == j.Prompt && j.Output > 0 && j.Output <= maxOutput {
		b.most += j.Output
		b.add(answerText(j.Output))
	}
	return b.blocks
}

// blockHasher hashes the words of texts, which stand for tokens, block by block: each hash is one of all words so far.
// The hash is FNV-1a with 64 bits.
type blockHasher struct {
	size   int // words of a block
	most   int // words that count, at most
	n      int // words so far
	hash   uint64
	blocks []uint64
}

func newBlockHasher(size, most int) *blockHasher {
	return &blockHasher{size: size, most: most, hash: 14695981039346656037}
}

// add goes on with the words of text. See words.
func (b *blockHasher) add(text string) {
	const prime = 1099511628211
	for w := range strings.FieldsSeq(text) {
		if b.n == b.most {
			return
		}
		for i := range len(w) {
			b.hash = (b.hash ^ uint64(w[i])) * prime
		}
		b.hash = (b.hash ^ 0xff) * prime // the end of the word: in UTF-8 there is no such byte
		if b.n++; b.n%b.size == 0 {
			b.blocks = append(b.blocks, b.hash)
		}
	}
}
