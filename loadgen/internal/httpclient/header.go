package httpclient

import (
	"errors"
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
				if host = values[0]; strings.ContainsAny(host, " \t") {
					return "", errors.New("the value of Host has a blank in it")
				}
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

// impossible is why req cannot be sent as it is; nil: it can. It quotes no value. net/http finds most of that only once there
// is a connection, and the rest while it writes.
func impossible(req *http.Request) error {
	if req.Method != "" && !isToken(req.Method) {
		return fmt.Errorf("%q is no method", req.Method)
	}
	if !IsFieldValue(req.Host) || strings.ContainsAny(req.Host, " \t") {
		return errors.New("the value of Host has a character that no header can carry")
	}
	for _, h := range []http.Header{req.Header, req.Trailer} {
		for name, values := range h {
			if !isToken(name) {
				return fmt.Errorf("%q is no name of a field", name)
			}
			for _, v := range values {
				if !IsFieldValue(v) {
					return fmt.Errorf("the value of %s has a character that no header can carry", name)
				}
			}
		}
	}
	return nil
}
