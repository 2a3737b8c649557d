package httpclient

import (
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/internal/wellformed"
)

// MaxDetail is the longest line, bytes; a record has room for 256.
const MaxDetail = 220

const redacted = "[redacted]"

// Redactor takes out of a server's words what it was told in confidence. Once it is in use nothing may be added to it.
type Redactor struct {
	texts   []string // the fields of a request's body that hold what it says to the server; none: all of it does
	secrets []string // longest first
}

// NewRedactor knows no secret yet. texts are the fields of a request's JSON body in which the user's texts are; none: all
// of a body is taken for such, whatever it is.
func NewRedactor(texts ...string) *Redactor { return &Redactor{texts: texts} }

// AddHeader adds what in a request's header is named like a credential.
func (r *Redactor) AddHeader(h http.Header) {
	for name, values := range h {
		if !credential(name) {
			continue
		}
		for _, v := range values {
			r.Add(v)
			if _, after, ok := strings.Cut(v, " "); ok { // behind the scheme: Bearer, Basic
				r.Add(after)
				if plain, err := base64.StdEncoding.DecodeString(after); err == nil {
					_, password, _ := strings.Cut(string(plain), ":")
					r.Add(password)
				}
			}
		}
	}
}

// AddURL adds what in a URL is a credential: the user's password, or the user alone, and in the query what is named like
// one or long enough to be one.
func (r *Redactor) AddURL(u *url.URL) {
	for name, values := range u.Query() {
		for _, v := range values {
			if credential(name) || len(v) >= 20 {
				r.Add(v)
			}
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		r.Add(password)
		r.Add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password)))
		if password == "" {
			r.Add(u.User.Username())
		}
	}
}

// AddFields adds what a body's fields have, at any depth, that is named like a credential.
func (r *Redactor) AddFields(fields map[string]any) {
	for name, v := range fields {
		switch v := v.(type) {
		case string:
			if credential(name) {
				r.Add(v)
			}
		case map[string]any:
			r.AddFields(v)
		case map[string]string:
			for name, v := range v {
				if credential(name) {
					r.Add(v)
				}
			}
		case []any:
			for _, v := range v {
				r.AddFields(map[string]any{name: v})
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

// Add adds a secret in the forms in which it may be quoted. One of under four bytes keeps nothing out and is no secret.
func (r *Redactor) Add(secret string) {
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
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) })
}

// Line makes one short line of what a server or the network said. request is the body that was sent, whose texts are
// taken out too; cut says that s is the beginning of more.
func (r *Redactor) Line(s string, request []byte, cut bool) string {
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
	s = r.withoutTexts(s, request)
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.IsControl(c) || unicode.Is(unicode.Cf, c)
	}), " ")
	return Short(s, MaxDetail)
}

// Short is s in at most n bytes. It does not point into s, whose memory may be used again.
func Short(s string, n int) string {
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
func (r *Redactor) withoutTexts(s string, request []byte) string {
	switch doc := gjson.ParseBytes(request); {
	case len(r.texts) > 0:
		for _, name := range r.texts {
			s = withoutValue(s, doc.Get(name))
		}
	case len(request) <= MaxQuoted && doc.Type == gjson.JSON && wellformed.JSON(request):
		s = withoutValue(s, doc)
	default:
		s = withoutText(s, string(request[:min(len(request), MaxQuoted)]))
	}
	return s
}

// MaxQuoted is how much of a body of any kind is compared with what the server says, bytes.
const MaxQuoted = 1 << 20

func withoutValue(s string, v gjson.Result) string {
	switch {
	case v.Type == gjson.String:
		return withoutText(s, v.Str, strings.Trim(v.Raw, `"`))
	case v.Type != gjson.JSON: // of which ForEach would give v itself
		return s
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role", "type":
		default:
			s = withoutValue(s, value)
		}
		return true
	})
	return s
}

// withoutText cuts s off where it begins to quote a text, in one of the forms in which it may be written.
func withoutText(s string, forms ...string) string {
	// What is a quotation and no chance, bytes: of the beginning of a text, the whole of a short one, and of any place.
	const begin, least, anywhere = 12, 8, 16
	first := len(s)
	for _, text := range forms {
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
