// Package wellformed checks foreign text before it is read, at a cost that is bounded whatever the text is.
package wellformed

import "github.com/tidwall/gjson"

// shallow is a length of JSON that cannot be nested so deeply that the recursion of its check needs much stack, bytes.
const shallow = 16 << 10

const maxDepth = 1000

// JSON says whether b is JSON, and nests no more than 1,000 objects and arrays where it is longer than 16 KiB. gjson, which
// reads it, does not check; and its own check recurses, so that 1 MiB of brackets takes a stack of 240 MB.
func JSON(b []byte) bool {
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
