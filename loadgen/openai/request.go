package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
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
		isFixed := func(name string) bool { return t.fields[name] != nil }
		if names := slices.Sorted(maps.Keys(req.Body)); slices.ContainsFunc(names, isFixed) {
			fixed = join(nil, f, slices.Sorted(maps.Keys(f)))
		} else {
			fixed = join(slices.Clip(fixed), f, names)
		}
	}
	q := query{limit: t.endpoint.limit(f), choices: t.endpoint.choices(f), body: make([]byte, 0, len(fixed)+len(req.Prompt)+len(req.Prompt)/8+128)}
	b := append(q.body, '{')
	switch name := t.endpoint.input(); {
	case f[name] != nil:
	case len(req.Messages) == 0 && name == "messages":
		b = append(b, `"messages":[{"role":"user","content":`...)
		b = append(gjson.AppendJSONString(b, req.Prompt), `}],`...)
	case len(req.Messages) == 0:
		b = append(append(append(b, '"'), name...), `":`...)
		b = append(gjson.AppendJSONString(b, req.Prompt), ',')
	case !t.endpoint.messages():
		return query{}, cannot(fmt.Sprintf("Request.Messages: %s take a Prompt; chat completions and responses take Messages", t.endpoint))
	case req.Prompt != "":
		return query{}, cannot("Request.Prompt: Messages are there too; only one of them can be meant")
	default:
		b = append(append(append(b, '"'), name...), `":`...)
		messages, _ := json.Marshal(req.Messages) // strings cannot fail
		b = append(append(b, messages...), ',')
	}
	if names := t.endpoint.limits(); req.MaxTokens > 0 && len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return f[name] != nil }) {
		q.limit = req.MaxTokens
		b = append(append(append(b, '"'), names[0]...), `":`...)
		b = append(strconv.AppendInt(b, int64(req.MaxTokens), 10), ',')
	}
	if len(fixed) == 0 {
		b = bytes.TrimSuffix(b, []byte{','})
	}
	q.body = append(append(b, fixed...), '}')
	return q, nil
}

// cannot is the failure of a request that cannot be sent: the caller's mistake.
func cannot(detail string) error { return loadgen.Fail(goodput.ClientError, detail) }

// whole is a count in a request's field; 0: it has none that counts something.
func whole(raw json.RawMessage) int {
	if len(raw) == 0 {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 1 || f > math.MaxInt32 {
		return 0
	}
	return int(f)
}
