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

// common is what the bodies of requests have in common.
type common struct {
	fields  map[string]json.RawMessage
	joined  []byte // the same, without braces
	limit   int    // output tokens of one choice; 0: they set no limit
	choices int    // answers that they ask for, at least 1
	input   bool   // the input is among them
	limited bool   // a limit is, whatever it is worth
}

func (e Endpoint) common(f map[string]json.RawMessage, joined []byte) common {
	limited := slices.ContainsFunc(e.limits(), func(name string) bool { return f[name] != nil })
	return common{f, joined, e.limit(f), e.choices(f), f[e.input()] != nil, limited}
}

// query makes the body of a request.
func (t *Target) query(req *loadgen.Request) (query, error) {
	c := &t.common
	if len(req.Body) > 0 {
		f := maps.Clone(c.fields)
		if err := overlay(f, req.Body); err != nil {
			return query{}, cannot("Request.Body: " + err.Error())
		}
		joined := c.joined
		isCommon := func(name string) bool { return t.common.fields[name] != nil }
		if names := slices.Sorted(maps.Keys(req.Body)); slices.ContainsFunc(names, isCommon) {
			joined = join(nil, f, slices.Sorted(maps.Keys(f)))
		} else {
			joined = join(slices.Clip(joined), f, names)
		}
		own := t.endpoint.common(f, joined)
		c = &own
	}
	q := query{limit: c.limit, choices: c.choices, body: make([]byte, 0, len(c.joined)+len(req.Prompt)+len(req.Prompt)/8+128)}
	b := append(q.body, '{')
	switch name := t.endpoint.input(); {
	case c.input:
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
	if names := t.endpoint.limits(); req.MaxTokens > 0 && len(names) > 0 && !c.limited {
		q.limit = req.MaxTokens
		b = append(append(append(b, '"'), names[0]...), `":`...)
		b = append(strconv.AppendInt(b, int64(req.MaxTokens), 10), ',')
	}
	if len(c.joined) == 0 {
		b = bytes.TrimSuffix(b, []byte{','})
	}
	q.body = append(append(b, c.joined...), '}')
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
