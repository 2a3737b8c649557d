package httpclient

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Header puts the fields that a user gave into h, in place of what is there, and returns the host among them, which
// net/http takes elsewhere. Its error names the field and never its value.
func Header(h, given http.Header) (host string, err error) {
	for name, values := range given {
		name = http.CanonicalHeaderKey(name)
		if !isToken(name) {
			return "", fmt.Errorf("%q is no name of a field", name)
		}
		for _, v := range values {
			if !IsFieldValue(v) {
				return "", fmt.Errorf("the value of %s has a character that no header can carry", name)
			}
		}
		switch name {
		case "Content-Length", "Transfer-Encoding", "Connection":
			return "", fmt.Errorf("%s is set by the client itself", name)
		case "Host":
			if len(values) > 0 {
				host = values[0]
			}
		default:
			h[name] = slices.Clone(values)
		}
	}
	return host, nil
}

// isToken says whether s can be the name of a header field (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}) < 0
}

// IsFieldValue says whether s can be the value of a header field (RFC 9110, section 5.5).
func IsFieldValue(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) < 0
}
