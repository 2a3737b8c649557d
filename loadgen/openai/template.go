package openai

import "bytes"

// template spares the parsing of a chunk that is like the one before it. A server sends hundreds of chunks in which
// nothing differs but the text, so that parsing finds in each what it found in the last; comparing them costs a tenth.
//
// What makes it sound: if a JSON text consists of a head that ends with a string's opening quotation mark, of the string's
// characters, and of a tail, then with other characters in their place, none of which is a quotation mark, a backslash or
// a control character, it is JSON again, and the same but for that string.
type template struct {
	head, tail []byte
	some       bool
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
	t.head = append(t.head[:0], data[:i+1]...)
	t.tail = append(t.tail[:0], data[j-1:]...)
	t.some = true
}

// match is the text of a chunk that is like the last one but for its text.
func (t *template) match(data []byte) (text []byte, ok bool) {
	if !t.some || len(data) <= len(t.head)+len(t.tail) || !bytes.HasPrefix(data, t.head) || !bytes.HasSuffix(data, t.tail) {
		return nil, false
	}
	text = data[len(t.head) : len(data)-len(t.tail)]
	for _, c := range text {
		if c < ' ' || c == '"' || c == '\\' {
			return nil, false
		}
	}
	return text, true
}
