package openai

import (
	"encoding/base64"
	"encoding/json"
	"html"
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
	r.addFields(c.Body)
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
	r.secrets = slices.Compact(r.secrets)
	return r
}

// addFields adds what a body's fields have, at any depth, that is named like a credential.
func (r *redactor) addFields(fields map[string]any) {
	for name, v := range fields {
		switch v := v.(type) {
		case string:
			if credential(name) {
				r.add(v)
			}
		case map[string]any:
			r.addFields(v)
		case map[string]string:
			for name, v := range v {
				if credential(name) {
					r.add(v)
				}
			}
		case []any:
			for _, v := range v {
				r.addFields(map[string]any{name: v})
			}
		}
	}
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
	inJSON, _ := json.Marshal(secret)
	quoted := strconv.Quote(secret)
	quoted = quoted[1 : len(quoted)-1]
	for _, form := range []string{
		secret, quoted, strings.ReplaceAll(quoted, "/", `\/`), string(inJSON[1 : len(inJSON)-1]),
		url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret),
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
	for _, name := range []string{"messages", "prompt", "input", "instructions"} {
		s = withoutText(s, doc.Get(name))
	}
	return s
}

func withoutText(s string, v gjson.Result) string {
	if v.Type == gjson.String {
		// What is a quotation and no chance, bytes: of the beginning of a text, the whole of a short one, and of any place.
		const begin, least, anywhere = 12, 8, 16
		first := len(s)
		for _, text := range []string{v.Str, strings.Trim(v.Raw, `"`)} {
			if len(text) < least {
				continue
			}
			for _, i := range []int{strings.Index(s, text[:min(len(text), begin)]), quotation(s, text, anywhere)} {
				if i >= 0 {
					first = min(first, i)
				}
			}
		}
		if first < len(s) {
			s = s[:first] + redacted
		}
		return s
	}
	if v.Type != gjson.JSON { // of which ForEach would give v itself
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

// quotation is the first place in s where n bytes stand as they do somewhere in text; -1: there is none.
func quotation(s, text string, n int) int {
	if len(text) < n || len(s) < n {
		return -1
	}
	at := make(map[string]int, len(s)-n+1) // by those bytes
	for i := len(s) - n; i >= 0; i-- {
		at[s[i:i+n]] = i
	}
	first := -1
	for i := 0; i+n <= len(text) && first != 0; i++ {
		if j, ok := at[text[i:i+n]]; ok && (first < 0 || j < first) {
			first = j
		}
	}
	return first
}

// reason is a finish reason as it can be recorded: the server may say anything there.
func (r *redactor) reason(s string) string {
	switch s {
	case "stop", "length", "tool_calls", "content_filter", "function_call", "error", "completed", "max_output_tokens":
		return s
	}
	return short(r.line(s, nil, false), 64)
}
