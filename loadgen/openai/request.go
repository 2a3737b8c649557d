package openai

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/loadgen"
)

// maxChoices bounds n, and the index of a choice in an answer.
const maxChoices = 4096

// query is one request, ready to be sent, and what its answer is judged by.
type query struct {
	body    []byte
	limit   int // output tokens of one choice; 0: the request sets no limit
	choices int // answers that were asked for, at least 1
}

// query makes the body of a request.
func (t *Target) query(req *loadgen.Request) (query, error) {
	f, fixed := t.fields, t.fixed
	if len(req.Body) > 0 {
		f = maps.Clone(f)
		if err := overlay(f, req.Body); err != nil {
			return query{}, cannot("Request.Body: " + err.Error())
		}
		fixed = join(f)
	}
	q := query{limit: limit(f), choices: choices(f), body: make([]byte, 0, len(fixed)+len(req.Prompt)+len(req.Prompt)/8+128)}
	b := append(q.body, '{')
	switch name := t.input(); {
	case f[name] != nil:
	case name == "prompt":
		if len(req.Messages) > 0 {
			return query{}, cannot("Request.Messages: completions take a Prompt; chat completions take Messages")
		}
		b = append(b, `"prompt":`...)
		b = append(gjson.AppendJSONString(b, req.Prompt), ',')
	case len(req.Messages) == 0:
		b = append(b, `"messages":[{"role":"user","content":`...)
		b = append(gjson.AppendJSONString(b, req.Prompt), `}],`...)
	case req.Prompt != "":
		return query{}, cannot("Request.Prompt: Messages are there too; only one of them can be meant")
	default:
		b = append(b, `"messages":`...)
		messages, _ := json.Marshal(req.Messages) // strings cannot fail
		b = append(append(b, messages...), ',')
	}
	if f["max_tokens"] == nil && f["max_completion_tokens"] == nil && req.MaxTokens > 0 {
		q.limit = req.MaxTokens
		b = append(b, `"max_tokens":`...)
		b = append(strconv.AppendInt(b, int64(req.MaxTokens), 10), ',')
	}
	q.body = append(append(b, fixed...), '}')
	return q, nil
}

// input is the field that holds what the model is to answer.
func (t *Target) input() string {
	if t.endpoint == Completions {
		return "prompt"
	}
	return "messages"
}

// cannot is the failure of a request that cannot be sent: the caller's mistake.
func cannot(detail string) error { return loadgen.Fail(goodput.ClientError, detail) }

// limit is the request's own token limit by its fields: the lower one where both are there; 0: none.
func limit(f map[string]json.RawMessage) int {
	l := 0
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		if n := whole(f[name]); n > 0 && (l == 0 || n < l) {
			l = n
		}
	}
	return l
}

// choices is how many answers the fields ask for: n for each prompt.
func choices(f map[string]json.RawMessage) int {
	n := max(1, whole(f["n"]))
	if list := gjson.ParseBytes(f["prompt"]); list.IsArray() {
		if first := list.Get("0"); first.Type == gjson.String || first.IsArray() {
			n *= int(list.Get("#").Int())
		}
	}
	return min(n, maxChoices)
}

// whole is a count in a request's field; 0: it has none that counts something.
func whole(raw json.RawMessage) int {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 1 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}
