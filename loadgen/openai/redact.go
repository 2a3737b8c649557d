package openai

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	maxDetail = 220 // the longest detail, bytes; a record has room for 256
	redacted  = "[redacted]"
)

// redactor takes out of a server's words what it was told in confidence.
type redactor struct {
	secrets []string // longest first
}

// newRedactor knows the key, and what in the header, the URL and the body is named like a credential. u still has its
// user.
func newRedactor(c Config, u *url.URL) *redactor {
	r := &redactor{}
	r.add(c.APIKey)
	for name, values := range c.Header {
		if !credential(name) {
			continue
		}
		for _, v := range values {
			r.add(v)
			if _, after, ok := strings.Cut(v, " "); ok { // behind the scheme: Bearer, Basic
				r.add(after)
				if plain, err := base64.StdEncoding.DecodeString(after); err == nil {
					_, password, _ := strings.Cut(string(plain), ":")
					r.add(password)
				}
			}
		}
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if credential(name) || len(v) >= 20 {
				r.add(v)
			}
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		r.add(password)
		r.add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)))
		if password == "" {
			r.add(u.User.Username())
		}
	}
	for name, v := range c.Body {
		if s, ok := v.(string); ok && credential(name) {
			r.add(s)
		}
	}
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// credential says whether a field's name is that of a secret.
func credential(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"auth", "key", "token", "secret", "password", "credential", "cookie", "sig", "session"} {
		if strings.Contains(name, part) && !strings.HasPrefix(name, "max_") {
			return true
		}
	}
	return false
}

// add adds a secret in the forms in which it may be quoted. One of under four bytes keeps nothing out and is no secret.
func (r *redactor) add(secret string) {
	if len(secret) < 4 {
		return
	}
	html, _ := json.Marshal(secret)
	quoted := strconv.Quote(secret)
	quoted = quoted[1 : len(quoted)-1]
	for _, form := range []string{
		secret, quoted, strings.ReplaceAll(quoted, "/", `\/`), string(html[1 : len(html)-1]),
		url.QueryEscape(secret), url.PathEscape(secret),
	} {
		if !slices.Contains(r.secrets, form) {
			r.secrets = append(r.secrets, form)
		}
	}
}

// line makes one short line of what a server or the network said. request is the body that was sent, whose texts are
// taken out too; cut says that s is the beginning of more.
func (r *redactor) line(s string, request []byte, cut bool) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for _, secret := range r.secrets {
		s = strings.ReplaceAll(s, secret, redacted)
	}
	if cut { // it may end within a secret
		for _, secret := range r.secrets {
			for n := min(len(secret)-1, len(s)); n >= 4; n-- {
				if strings.HasSuffix(s, secret[:n]) {
					s = s[:len(s)-n]
					break
				}
			}
		}
	}
	s = withoutTexts(s, request)
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
	}), " ")
	return short(s, maxDetail)
}

// short is s in at most n bytes. It does not point into s, whose memory may be used again.
func short(s string, n int) string {
	if len(s) <= n {
		return strings.Clone(s)
	}
	n -= len("…")
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// withoutTexts cuts s off where it begins to quote a text of the request.
func withoutTexts(s string, request []byte) string {
	doc := gjson.ParseBytes(request)
	for _, name := range []string{"messages", "prompt"} {
		s = withoutText(s, doc.Get(name))
	}
	return s
}

func withoutText(s string, v gjson.Result) string {
	if v.Type == gjson.String {
		const most, least = 12, 8 // bytes of a text that are looked for: fewer could be there by chance
		for _, text := range []string{v.Str, strings.Trim(v.Raw, `"`)} {
			text = text[:min(len(text), most)]
			if len(text) < least {
				continue
			}
			if i := strings.Index(s, text); i >= 0 {
				s = s[:i] + redacted
			}
		}
		return s
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role", "type":
		default:
			s = withoutText(s, value)
		}
		return true
	})
	return s
}

// reason is a finish reason as it can be recorded: the server may say anything there.
func (r *redactor) reason(s string) string {
	switch s {
	case "stop", "length", "tool_calls", "content_filter", "function_call", "error":
		return s
	}
	return short(r.line(s, nil, false), 64)
}
