package loadgen

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDetail bounds a record's Detail, in bytes.
const maxDetail = 256

var (
	urlPattern = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)
	// What looks like a key: a bearer or basic token, a vendor's prefix, a field that is named so.
	keyPattern = regexp.MustCompile(`(?i)\b(?:(bearer|basic)\s+[^\s"',;]+|((?:x-)?api[-_ ]?key|access[-_ ]?token|authorization|secret|password)("?\s*[=:]\s*"?)(?:(?:bearer|basic)\s+)?[^\s"',;]+|(sk|pk|rk|hf|gsk|xai)[-_][a-z0-9*_-]{6,})`)
)

// clean makes one bounded line of s that can stand in a record: no control characters, no credentials. An error's text
// quotes what the server sent and which URL was asked, and either can hold a key.
func clean(s string) string {
	if len(s) > 16*maxDetail {
		s = s[:16*maxDetail]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
	}), " ")
	s = urlPattern.ReplaceAllStringFunc(s, bareURL)
	s = keyPattern.ReplaceAllString(s, "$1$2$3$4[redacted]")
	if len(s) <= maxDetail {
		return s
	}
	const more = "…"
	cut := maxDetail - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// bareURL is the URL without its user, query and fragment.
func bareURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		scheme, _, _ := strings.Cut(s, "://")
		return scheme + "://[redacted]"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}
