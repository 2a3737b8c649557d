package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goodputkit/goodputkit/loadgen"
)

// parseObject makes an entry of one object of a prompts file; nil without an error: a conversation to skip. Errors name
// keys and never quote a value.
func (o *options) parseObject(text []byte) (*entry, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, plainJSON("", "a JSON object", err)
	}
	if fields == nil {
		return nil, errors.New("is null; want a JSON object")
	}
	e := &entry{request: loadgen.Request{Class: o.class, Body: o.body}}
	if turns, ok := fields["conversations"]; ok {
		return o.parseConversation(e, turns)
	}
	return e, o.parseRequest(e, fields)
}

func (o *options) parseRequest(e *entry, fields map[string]json.RawMessage) error {
	req := &e.request
	_, hasPrompt := fields["prompt"]
	_, hasMessages := fields["messages"]
	if hasPrompt == hasMessages {
		return errors.New(`want either "prompt" or "messages", or a ShareGPT "conversations"`)
	}
	// In order, so that of several mistakes always the same is told.
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		raw, err := fields[key], error(nil)
		switch key {
		case "prompt":
			if req.Prompt, err = parseText(key, raw); err == nil && req.Prompt == "" {
				err = errors.New(`"prompt" is empty`)
			}
		case "messages":
			req.Messages, err = parseMessages(raw)
		case "class":
			req.Class, err = parseText(key, raw)
		case "input_tokens":
			req.InputTokens, err = parseTokens(key, raw)
		case "max_tokens", "output_tokens":
			n := 0
			if n, err = parseTokens(key, raw); err == nil && req.MaxTokens != 0 && req.MaxTokens != n {
				err = fmt.Errorf(`"max_tokens" is %d and "output_tokens" %d; they mean the same, want one`, req.MaxTokens, n)
			}
			req.MaxTokens = n
		case "body":
			req.Body, err = parseBody(o.body, raw)
		case "turns":
			e.turns, err = o.parseTurns(raw)
		case "id", "metadata":
		default:
			err = fmt.Errorf(`unknown key %s: fields of the request go into "body"`, shortKey(key))
		}
		if err != nil {
			return err
		}
	}
	if req.InputTokens == 0 && o.count != nil {
		req.InputTokens = o.countTokens(req)
	}
	return nil
}

// countTokens is what the caller's tokenizer makes of the prompt or the messages.
func (o *options) countTokens(req *loadgen.Request) int {
	if len(req.Messages) == 0 {
		return max(0, o.count(req.Prompt))
	}
	sum := 0
	for _, m := range req.Messages {
		sum += max(0, o.count(m.Content))
	}
	return sum
}

func parseMessages(raw json.RawMessage) ([]loadgen.Message, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, plainJSON(`"messages" `, `a list of {"role", "content"}`, err)
	}
	if len(list) == 0 {
		return nil, errors.New(`"messages" is empty`)
	}
	out := make([]loadgen.Message, len(list))
	for i, fields := range list {
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			raw := fields[key]
			name := fmt.Sprintf("messages[%d].%s", i, key)
			var err error
			switch key {
			case "role":
				out[i].Role, err = parseText(name, raw)
			case "content":
				out[i].Content, err = parseContent(name, raw)
			default:
				err = fmt.Errorf(`messages[%d] has the key %s; want "role" and "content" alone`, i, shortKey(key))
			}
			if err != nil {
				return nil, err
			}
		}
		if out[i].Role == "" || fields["content"] == nil {
			return nil, fmt.Errorf(`messages[%d] wants "role" and "content"`, i)
		}
	}
	return out, nil
}

// parseContent takes a text, or the parts of one.
func parseContent(name string, raw json.RawMessage) (string, error) {
	if !bytes.HasPrefix(raw, []byte{'['}) {
		return parseText(name, raw)
	}
	var parts []struct {
		Type string
		Text *string
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", plainJSON(strconv.Quote(name)+" ", `a text or a list of {"type": "text", "text"}`, err)
	}
	var b strings.Builder
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", fmt.Errorf("part %d of %q is no text; only text can be sent", i, name)
		}
		b.WriteString(*p.Text)
	}
	return b.String(), nil
}

func parseText(name string, raw json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		return "", fmt.Errorf("%q is %s; want a text", name, jsonKind(raw))
	}
	return *s, nil
}

func parseTokens(name string, raw json.RawMessage) (int, error) {
	n, err := strconv.Atoi(string(raw))
	if err != nil || n < 1 || n > MaxLength {
		return 0, fmt.Errorf("%q is no whole number from 1 to %d", name, MaxLength)
	}
	return n, nil
}

// parseBody is the extra fields of one request over those of all. Numbers keep their digits.
func parseBody(all map[string]any, raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var own map[string]any
	if err := dec.Decode(&own); err != nil || own == nil {
		return nil, fmt.Errorf(`"body" is %s; want an object`, jsonKind(raw))
	}
	if len(all) == 0 {
		return own, nil
	}
	body := maps.Clone(all)
	maps.Copy(body, own)
	return body, nil
}

// plainJSON is a decoder's error without Go's names in it; what, if not the whole, ends with a space.
func plainJSON(what, want string, err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("%sis no JSON: %w", what, err)
	}
	return fmt.Errorf("%sis not %s", what, want)
}

// jsonKind says what a value is without quoting it.
func jsonKind(raw []byte) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// shortKey quotes a key, or the beginning of one that is none.
func shortKey(key string) string {
	if r := []rune(key); len(r) > 32 {
		key = string(r[:32]) + "…"
	}
	return strconv.Quote(key)
}
