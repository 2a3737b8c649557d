package openai

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// template spares the parsing of a chunk that is like the one before it. A server sends hundreds of chunks in which
// nothing differs but the text, and in the Responses API their number, so that parsing finds in each what it found in the
// last; comparing them costs a tenth.
//
// What makes it sound: if a JSON text consists of a head that ends with a string's opening quotation mark, of the string's
// characters, and of a tail, then with other characters in their place, none of which is a quotation mark, a backslash or
// a control character, it is JSON again, and the same but for that string. So it is with other digits in place of a whole
// number, of which nothing but a zero begins with 0.
type template struct {
	head, tail numbered
	some       bool
}

// numbered is a piece of a chunk that may have a number in it, which counts for nothing.
type numbered struct {
	before, after []byte
	number        bool // between them; else there is no after
}

func (p *numbered) set(piece []byte, at, n int) {
	p.number = at >= 0 && at+n <= len(piece)
	if !p.number {
		p.before = append(p.before[:0], piece...)
		return
	}
	p.before = append(p.before[:0], piece[:at]...)
	p.after = append(p.after[:0], piece[at+n:]...)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// isNumber says whether digits are a number as JSON has them.
func isNumber(digits []byte) bool { return len(digits) == 1 || len(digits) > 1 && digits[0] != '0' }

// cutPrefix is what follows p at the beginning of b.
func (p *numbered) cutPrefix(b []byte) (rest []byte, ok bool) {
	if b, ok = bytes.CutPrefix(b, p.before); !ok || !p.number {
		return b, ok
	}
	i := 0
	for i < len(b) && digit(b[i]) {
		i++
	}
	if !isNumber(b[:i]) {
		return nil, false
	}
	return bytes.CutPrefix(b[i:], p.after)
}

// cutSuffix is what precedes p at the end of b.
func (p *numbered) cutSuffix(b []byte) (rest []byte, ok bool) {
	if p.number {
		if b, ok = bytes.CutSuffix(b, p.after); !ok {
			return nil, false
		}
		i := len(b)
		for i > 0 && digit(b[i-1]) {
			i--
		}
		if !isNumber(b[i:]) {
			return nil, false
		}
		b = b[:i]
	}
	return bytes.CutSuffix(b, p.before)
}

// set takes the chunk that was parsed as the one to compare with, if it has exactly one text.
func (t *template) set(data []byte, c *chunk) {
	t.some = false
	if c.texts != 1 || c.err.Exists() {
		return
	}
	i := c.text.Index
	j := i + len(c.text.Raw)
	if i <= 0 || j > len(data) || string(data[i:j]) != c.text.Raw || data[i] != '"' {
		return
	}
	at, n := -1, len(c.number.Raw)
	if k := c.number.Index; n > 0 && k > 0 && k+n <= len(data) && string(data[k:k+n]) == c.number.Raw && allDigits(c.number) {
		at = k
	}
	t.head.set(data[:i+1], at, n)
	t.tail.set(data[j-1:], at-(j-1), n)
	t.some = true
}

func allDigits(v gjson.Result) bool {
	for i := range len(v.Raw) {
		if !digit(v.Raw[i]) {
			return false
		}
	}
	return true
}

// match is the text of a chunk that is like the last one but for its text.
func (t *template) match(data []byte) (text []byte, ok bool) {
	if !t.some {
		return nil, false
	}
	if text, ok = t.head.cutPrefix(data); !ok {
		return nil, false
	}
	if text, ok = t.tail.cutSuffix(text); !ok || len(text) == 0 {
		return nil, false
	}
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return text, true
}
