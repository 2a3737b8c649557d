package workload

import (
	"math/rand/v2"
	"strings"

	"github.com/goodputkit/goodputkit/loadgen"
)

// saltMode says where the key of a pass comes from.
type saltMode uint8

const (
	saltRandom saltMode = iota
	saltSeeded
	saltOff
)

const (
	saltWords = 4
	saltBits  = saltWords * wordBits
	saltMask  = 1<<saltBits - 1
)

// passKey is the key of one pass over the requests: all salts of the pass come from it.
func (o *options) passKey() uint64 {
	switch o.salt {
	case saltSeeded:
		return mix64(o.saltSeed ^ 0x5ea5_0a17_0000_0001)
	case saltOff:
		return mix64(o.seed ^ 0x5ea5_0a17_0000_0002)
	default:
		return rand.Uint64()
	}
}

// mix64 is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix64(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// saltID is the salt of number i under key: 40 bits, which no other of the first 2⁴⁰ numbers has, since each step can
// be undone within 40 bits. Random ones would collide once in a million requests.
func saltID(key, i uint64) uint64 {
	x := (i + key) & saltMask
	x = x * 0x9e3779b97f4a7c15 & saltMask
	x ^= x >> 21
	x = (x + key>>24) & saltMask
	x = x * 0xbf58476d1ce4e5b9 & saltMask
	x ^= x >> 19
	return x * 0x94d049bb133111eb & saltMask
}

// saltPrefix is the line that goes before a prompt.
func saltPrefix(id uint64) string {
	var b strings.Builder
	for i := range saltWords {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(saltWord(id, i))
	}
	b.WriteByte('\n')
	return b.String()
}

// saltWord is the i-th word of a salt. The first takes the highest bits, which change most from one number to the next.
func saltWord(id uint64, i int) string {
	return words[id>>(saltBits-wordBits*(i+1))&(1<<wordBits-1)]
}

// salted is a copy of req whose text begins with the salt: before the first message, which is where a chat template
// puts it, too.
func salted(req loadgen.Request, id uint64, tokens int) loadgen.Request {
	prefix := saltPrefix(id)
	if len(req.Messages) > 0 {
		m := make([]loadgen.Message, len(req.Messages))
		copy(m, req.Messages)
		m[0].Content = prefix + m[0].Content
		req.Messages = m
	} else {
		req.Prompt = prefix + req.Prompt
	}
	if req.InputTokens > 0 {
		req.InputTokens += tokens
	}
	return req
}
