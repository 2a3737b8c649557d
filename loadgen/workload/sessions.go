package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/goodputkit/goodputkit/loadgen"
)

// entry is what an object of a prompts file holds: a request, and the turns of the session that it begins.
type entry struct {
	request loadgen.Request
	turns   []entryTurn
}

// entryTurn is a turn whose think time may be left to be drawn.
type entryTurn struct {
	loadgen.Turn
	think bool // is given
}

// maxThink bounds a think time.
const maxThink = 24 * time.Hour

// WithSessions reads a ShareGPT conversation as a whole: each later turn from a human is a turn of a session, which
// carries what the server has answered and not what the file has. think is the law of the time from an answer to the turn
// after it, for turns that do not say theirs, in milliseconds in place of tokens: LogNormal{Median: 8000, Sigma: 0.5} has
// a median of 8 s. It is drawn from the seed, the same in each pass; nil: no time at all. For prompts.
func WithSessions(think Lengths) Option {
	const name = "WithSessions"
	return Option{name, forPrompts, func(o *options) error {
		if think != nil {
			if err := validate(name, think); err != nil {
				return err
			}
		}
		o.sessions, o.think = true, think
		return nil
	}}
}

// parseTurns takes the "turns" of a request.
func (o *options) parseTurns(raw json.RawMessage) ([]entryTurn, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, plainJSON(`"turns" `, `a list of {"content", "think_s", "max_tokens"}`, err)
	}
	turns := make([]entryTurn, len(list))
	for i, fields := range list {
		t := &turns[i]
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			name, raw, err := fmt.Sprintf("turns[%d].%s", i, key), fields[key], error(nil)
			switch key {
			case "content":
				t.Content, err = parseText(name, raw)
			case "think_s":
				t.Think, err = parseSeconds(name, raw)
				t.think = true
			case "max_tokens", "output_tokens":
				t.MaxTokens, err = parseTokens(name, raw)
			case "input_tokens":
				t.InputTokens, err = parseTokens(name, raw)
			default:
				err = fmt.Errorf(`turns[%d] has the key %s; want "content", "think_s", "max_tokens" and "input_tokens" alone`, i, shortKey(key))
			}
			if err != nil {
				return nil, err
			}
		}
		if t.Content == "" {
			return nil, fmt.Errorf(`turns[%d] wants "content"`, i)
		}
		if t.InputTokens == 0 && o.count != nil {
			t.InputTokens = max(0, o.count(t.Content))
		}
	}
	return turns, nil
}

func parseSeconds(name string, raw json.RawMessage) (time.Duration, error) {
	s, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(s >= 0 && s <= maxThink.Seconds()) {
		return 0, fmt.Errorf("%q is no number of seconds from 0 to %.0f", name, maxThink.Seconds())
	}
	return time.Duration(math.Round(s * 1e9)), nil
}

// said is one message of a ShareGPT conversation.
type said struct {
	From, Value   *string
	Role, Content *string // newer files
}

// parseConversation makes a request of the first turn from a human, and what the system said before it; the others are
// turns, where these are wanted. What a human says before there is an answer is one turn. It is nil where no human speaks.
func (o *options) parseConversation(e *entry, raw json.RawMessage) (*entry, error) {
	var list []said
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, plainJSON(`"conversations" `, `a list of {"from", "value"}`, err)
	}
	system := ""
	var humans, answers []string // of each turn
	for i, t := range list {
		from, value := t.From, t.Value
		if from == nil {
			from = t.Role
		}
		if value == nil {
			value = t.Content
		}
		if from == nil || value == nil {
			return nil, fmt.Errorf(`turn %d of "conversations" wants "from" and "value"`, i)
		}
		n := len(humans)
		switch *from {
		case "system":
			if n == 0 {
				system = *value
			}
		case "human", "user":
			switch {
			case *value == "", n > 0 && !o.sessions:
			case n > 0 && answers[n-1] == "":
				humans[n-1] += "\n" + *value
			default:
				humans, answers = append(humans, *value), append(answers, "")
			}
		default: // gpt, assistant, chatgpt, bing, bard, …
			if n > 0 && answers[n-1] == "" {
				answers[n-1] = *value
			}
		}
	}
	if len(humans) == 0 {
		return nil, nil
	}
	req := &e.request
	if system == "" {
		req.Prompt = humans[0]
	} else {
		req.Messages = []loadgen.Message{{Role: "system", Content: system}, {Role: "user", Content: humans[0]}}
	}
	if o.count != nil {
		req.InputTokens, req.MaxTokens = o.countTokens(req), o.countAnswer(answers[0])
	}
	if o.sessions {
		for i, text := range humans[1:] {
			t := loadgen.Turn{Content: text}
			if o.count != nil {
				t.InputTokens, t.MaxTokens = max(0, o.count(text)), o.countAnswer(answers[i+1])
			}
			e.turns = append(e.turns, entryTurn{Turn: t})
		}
	}
	return e, nil
}

// countAnswer is the limit that an answer's length makes.
func (o *options) countAnswer(text string) int {
	if text == "" {
		return 0
	}
	return max(0, o.count(text))
}

// session is the request with which the session of an entry begins, which is as yet without its turns.
func (o *options) session(req *loadgen.Request, turns []entryTurn, r *rand.Rand) *loadgen.Request {
	if len(turns) == 0 {
		return req
	}
	all := make([]loadgen.Turn, len(turns))
	for i, t := range turns {
		if all[i] = t.Turn; !t.think && o.think != nil {
			all[i].Think = min(time.Duration(draw(o.think, r))*time.Millisecond, maxThink)
		}
	}
	return loadgen.Conversation(req, all...)
}
