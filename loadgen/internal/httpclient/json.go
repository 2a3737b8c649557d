package httpclient

import "github.com/tidwall/gjson"

// shallow is a length of JSON that cannot be nested so deeply that the recursion of its check needs much stack, bytes.
const shallow = 16 << 10

const maxDepth = 1000

// Valid says whether b is JSON. gjson, which reads it, does not check.
func Valid(b []byte) bool {
	return (len(b) <= shallow || !tooDeep(b)) && gjson.ValidBytes(b)
}

// tooDeep says whether b nests more than maxDepth objects and arrays.
func tooDeep(b []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
