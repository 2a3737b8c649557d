package admission

import (
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// GrantedHeader is the response header that says what became of a request's limits: each field of its body that was made less, or
// that was put in, with what it is now, as a dictionary of RFC 9651: "max_tokens=128". An answer that ends at that number was cut by
// the grant, and is not one that lost its end. An answer to a body that went on as it came has no such header.
const GrantedHeader = "Goodput-Granted"

// Degrade is for [MiddlewareConfig.Degrade]. Where fewer output tokens were granted than the body asks for, those of its
// max_completion_tokens, max_tokens and max_output_tokens that say more become what was granted: over n where it asks for several
// choices, rounded down, and at least 1 and its min_tokens. No other byte of the body changes. The result is the value of [GrantedHeader].
//
// Where the body has no limit, or null, chat completions get max_tokens, and responses max_output_tokens, by the end of the path.
// Completions without one stay as they are: their API's own default is 16, which may be less. So does a limit that is no number of 1
// or more, and each body whose sizes nobody knows: one that is too long, is no object in JSON, or is in an encoding other than gzip.
// One in gzip goes on unpacked. Digests of the body are taken out of the header: they are none of the new one.
//
// maxOutputTokens is what the body now asks for, over all choices: more than was granted where min_tokens or n wants more; 0: it says
// nothing, or nobody knows what.
func (c ChatSizes) Degrade(req *http.Request, g Grant) (granted string, maxOutputTokens int) {
	c = c.defaulted()
	if g.MaxOutputTokens <= 0 || req.Body == nil || req.Body == http.NoBody || req.ContentLength > c.MaxBody {
		return "", 0
	}
	came := req.Body
	text, legible := c.read(req)
	if !legible {
		return "", 0
	}
	pieces, granted, maxOutputTokens := c.rewrite(text, req.URL.Path, g.MaxOutputTokens)
	if granted == "" {
		return "", maxOutputTokens
	}
	body := func() (io.ReadCloser, error) {
		readers := make([]io.Reader, len(pieces))
		for i, piece := range pieces {
			readers[i] = strings.NewReader(piece)
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(readers...), came}, nil
	}
	req.Body, _ = body()
	if req.GetBody != nil {
		req.GetBody = body
	}
	req.Header = req.Header.Clone() // it is others', too
	for _, name := range []string{"Content-Encoding", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
		req.Header.Del(name)
	}
	if req.ContentLength >= 0 {
		req.ContentLength = 0
		for _, piece := range pieces {
			req.ContentLength += int64(len(piece))
		}
		if req.Header.Get("Content-Length") != "" {
			req.Header.Set("Content-Length", strconv.FormatInt(req.ContentLength, 10))
		}
	}
	return granted, maxOutputTokens
}

// rewrite is a body, in pieces, with no more than so many output tokens, what was changed ("": nothing), and how many it asks for then.
func (c ChatSizes) rewrite(body []byte, path string, most int) (pieces []string, granted string, asks int) {
	text := unsafe.String(unsafe.SliceData(body), len(body)) // which nobody changes
	doc := gjson.Parse(text)
	if !doc.IsObject() {
		return nil, "", 0
	}
	type field struct {
		key int // in limitKeys
		v   gjson.Result
	}
	var fields []field
	var limits limits
	var said [len(limitKeys)]bool // by the last of a key that stands twice
	empty := true
	doc.ForEach(func(key, v gjson.Result) bool {
		empty = false
		limits.take(key.Str, v)
		i := slices.IndexFunc(limitKeys[:], func(name string) bool { return strings.EqualFold(name, key.Str) }) // as engines in Go take it
		if i >= 0 {
			fields = append(fields, field{i, v})
			said[i] = v.Type != gjson.Null
		}
		return true
	})
	each := math.Floor(max(float64(most)/max(limits.n, 1), 1, math.Ceil(limits.least)))
	asked := c.tokens(limits.asked())
	if asked > 0 && asked <= most || each > float64(c.MaxTokens) {
		return nil, "", asked
	}
	add := -1 // the key of the limit that there is not
	if said == [len(limitKeys)]bool{} {
		if add = keyOf(path); add == 1 && slices.ContainsFunc(fields, func(f field) bool { return f.key == 0 }) {
			add = 0 // it is there, as null
		}
	}
	number := strconv.FormatFloat(each, 'f', -1, 64)
	var changed [len(limitKeys)]bool
	at := 0
	put := func(from, to, key int, what string) {
		pieces = append(pieces, text[at:from], what)
		at, changed[key] = to, true
	}
	for _, f := range fields {
		if f.v.Type == gjson.Number && f.v.Num > each || f.v.Type == gjson.Null && f.key == add {
			put(f.v.Index, f.v.Index+len(f.v.Raw), f.key, number)
		}
	}
	if add >= 0 && !changed[add] {
		end := strings.LastIndexByte(text, '}')
		member := strconv.Quote(limitKeys[add]) + ":" + number
		if !empty {
			member = "," + member
		}
		put(end, end, add, member)
	}
	var names []string
	for i, name := range limitKeys {
		if changed[i] {
			names = append(names, name+"="+number)
			if i == add || limits.most[i] > each {
				limits.most[i] = each
			}
		}
	}
	return append(pieces, text[at:]), strings.Join(names, ", "), c.tokens(limits.asked())
}

// keyOf is the key of the limit that a request to a path has, in limitKeys; below 0: nobody knows, or one without is short anyway.
func keyOf(path string) int {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return 1
	case strings.HasSuffix(path, "/responses"):
		return 2
	}
	return -1
}
