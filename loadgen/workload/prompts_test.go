package workload

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

func TestJSONLines(t *testing.T) {
	p, err := OpenPrompts("testdata/prompts.jsonl", WithoutSalt(), WithClass("other"))
	require.NoError(t, err)
	want := []*loadgen.Request{
		{Class: "chat", Prompt: "Name three rivers.", InputTokens: 9, MaxTokens: 40},
		{Class: "other", Messages: []loadgen.Message{{Role: "system", Content: "Be brief."},
			{Role: "user", Content: "What is a queue?"}}, MaxTokens: 25},
		{Class: "other", Prompt: "Sum up: the load rose, and then it fell.", Body: map[string]any{
			"temperature": json.Number("0"), "seed": json.Number("9007199254740993")}},
	}
	require.Equal(t, want, take(p.Requests(), 0))
	assert.Equal(t, 3, p.Len())
	assert.Equal(t, 0, p.Skipped())
	assert.Equal(t, "testdata/prompts.jsonl: 3 prompts", p.String())
}

func TestShareGPT(t *testing.T) {
	p, err := OpenPrompts("testdata/sharegpt.json", WithoutSalt(), WithTokenCounter(func(s string) int {
		return len(strings.Fields(s))
	}))
	require.NoError(t, err)
	want := []*loadgen.Request{
		{Prompt: "How long is a mile?", InputTokens: 5, MaxTokens: 3},
		{Messages: []loadgen.Message{{Role: "system", Content: "Answer in one line."},
			{Role: "user", Content: `Spell "queue".`}}, InputTokens: 6, MaxTokens: 5},
	}
	require.Equal(t, want, take(p.Requests(), 0))
	assert.Equal(t, 1, p.Skipped())
}

func TestShareGPTWithoutCounterKnowsNoTokens(t *testing.T) {
	p, err := OpenPrompts("testdata/sharegpt.json", WithoutSalt())
	require.NoError(t, err)
	for r := range p.Requests() {
		assert.Zero(t, r.InputTokens)
		assert.Zero(t, r.MaxTokens)
	}
}

func TestConversationsByLineAndByRole(t *testing.T) {
	p := prompts(t, `{"conversations":[{"role":"user","content":"one"},{"role":"assistant","content":"x"}]}`+"\n"+
		`{"conversations":null}`+"\n"+`{"conversations":[{"from":"gpt","value":"x"}],"any":"key"}`, WithoutSalt())
	require.Equal(t, []*loadgen.Request{{Prompt: "one"}}, take(p.Requests(), 0))
	assert.Equal(t, 2, p.Skipped())
	p = prompts(t, `{"conversations":[]}`+"\n"+`{"prompt":"two"}`+"\n"+`{"prompt":"three"}`)
	assert.Equal(t, []int{2, 1}, []int{p.Len(), p.Skipped()}, "one to skip at the beginning ends nothing")
}

// The same file, however it is written down and however it arrives.
func TestFramings(t *testing.T) {
	objects := []string{`{"prompt":"one"}`, `{"prompt":"two ]}, \" {","max_tokens":3}`, `{"prompt":"drei ü"}`}
	want := []*loadgen.Request{{Prompt: "one"}, {Prompt: `two ]}, " {`, MaxTokens: 3}, {Prompt: "drei ü"}}
	for name, text := range map[string]string{
		"lines":              strings.Join(objects, "\n"),
		"lines, ended":       strings.Join(objects, "\n") + "\n",
		"CRLF":               strings.Join(objects, "\r\n") + "\r\n",
		"blank lines":        "\n\n" + strings.Join(objects, "\n \t\n\r\n") + "\n\n",
		"BOM":                "\xef\xbb\xbf" + strings.Join(objects, "\n"),
		"array":              "[" + strings.Join(objects, ",") + "]",
		"array, spread":      "\xef\xbb\xbf \r\n[\n" + strings.Join(objects, "\n,\r\n\r\n") + "\n]\n\n",
		"array of pretty":    "[\n" + strings.ReplaceAll(strings.Join(objects, ","), `"prompt"`, "\n\"prompt\"\n") + "]",
		"array, one element": "[" + strings.Join(objects, ", ") + " ] ",
	} {
		p, err := ReadPrompts("f", strings.NewReader(text), WithoutSalt())
		require.NoError(t, err, name)
		require.Equal(t, want, take(p.Requests(), 0), name)
		p, err = ReadPrompts("f", iotest.OneByteReader(strings.NewReader(text)), WithoutSalt())
		require.NoError(t, err, name)
		require.Equal(t, want, take(p.Requests(), 0), name)
	}
}

func TestObjectsAreRefused(t *testing.T) {
	for object, want := range map[string]string{
		`x`:                            "is no JSON: invalid character 'x' looking for beginning of value",
		`{"prompt":"a`:                 "is no JSON: unexpected end of JSON input",
		`{"prompt":"a"}{"prompt":"b"}`: "is no JSON: invalid character '{' after top-level value",
		`"secret"`:                     "is not a JSON object",
		`12`:                           "is not a JSON object",
		`null`:                         "is null; want a JSON object",
		`{}`:                           `want either "prompt" or "messages", or a ShareGPT "conversations"`,
		`{"prompt":"a","messages":[{"role":"user","content":"secret"}]}`: `want either "prompt" or "messages"`,
		`{"prompt":""}`:                                    `"prompt" is empty`,
		`{"prompt":7}`:                                     `"prompt" is a number; want a text`,
		`{"prompt":null}`:                                  `"prompt" is null; want a text`,
		`{"prompt":["secret"]}`:                            `"prompt" is a list; want a text`,
		`{"prompt":"a","class":true}`:                      `"class" is a boolean; want a text`,
		`{"prompt":"a","max_tokens":0}`:                    `"max_tokens" is no whole number from 1 to 4194304`,
		`{"prompt":"a","max_tokens":-3}`:                   `"max_tokens" is no whole number`,
		`{"prompt":"a","max_tokens":1.5}`:                  `"max_tokens" is no whole number`,
		`{"prompt":"a","max_tokens":"12"}`:                 `"max_tokens" is no whole number`,
		`{"prompt":"a","max_tokens":99999999999999999999}`: `"max_tokens" is no whole number`,
		`{"prompt":"a","output_tokens":4194305}`:           `"output_tokens" is no whole number`,
		`{"prompt":"a","input_tokens":null}`:               `"input_tokens" is no whole number`,
		`{"prompt":"a","max_tokens":5,"output_tokens":6}`:  `"max_tokens" is 5 and "output_tokens" 6; they mean the same`,
		`{"prompt":"a","temperature":0}`:                   `unknown key "temperature": fields of the request go into "body"`,
		`{"prompt":"a","body":[1]}`:                        `"body" is a list; want an object`,
		`{"prompt":"a","body":null}`:                       `"body" is null; want an object`,
		`{"messages":[]}`:                                  `"messages" is empty`,
		`{"messages":"secret"}`:                            `"messages" is not a list of {"role", "content"}`,
		`{"messages":[null]}`:                              `messages[0] wants "role" and "content"`,
		`{"messages":[{"role":"user"}]}`:                   `messages[0] wants "role" and "content"`,
		`{"messages":[{"content":"secret"}]}`:              `messages[0] wants "role" and "content"`,
		`{"messages":[{"role":"user","content":5}]}`:       `"messages[0].content" is a number; want a text`,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"secret"}}]}]}`: `part 0 of "messages[0].content" is no text`,
		`{"messages":[{"role":"user","content":[5]}]}`:                                                 `"messages[0].content" is not a text or a list of {"type": "text", "text"}`,
		`{"messages":[{"role":"assistant","content":"a","tool_calls":[]}]}`:                            `messages[0] has the key "tool_calls"`,
		`{"conversations":"secret"}`:                                                                   `"conversations" is not a list of {"from", "value"}`,
		`{"conversations":[{"from":"gpt"}]}`:                                                           `turn 0 of "conversations" wants "from" and "value"`,
		`{"conversations":[{"from":"human","value":5}]}`:                                               `"conversations" is not a list of`,
		`{"prompt":"a","` + strings.Repeat("k", 1000) + `":"secret"}`:                                  `unknown key "` + strings.Repeat("k", 32) + `…"`,
		"{\"prompt\":\"a\xff\"}":                                                                       "is not UTF-8",
	} {
		text := "{\"prompt\":\"first\"}\r\n\n" + object + "\n{\"prompt\":\"last\"}\n"
		_, err := ReadPrompts("dir/p.jsonl", strings.NewReader(text))
		require.ErrorContains(t, err, "dir/p.jsonl:3: "+want, object)
		require.NotContains(t, err.Error(), "secret")
		require.NotContains(t, err.Error(), "\n")
		var fe *FileError
		require.ErrorAs(t, err, &fe)
		require.Equal(t, 3, fe.Line)

		if json.Valid([]byte(object)) {
			_, err = ReadPrompts("p.json", strings.NewReader("[\n{\"prompt\":\n\"first\"},\n\n"+object+",\n{\"prompt\":\"b\"}]"))
			require.ErrorContains(t, err, "p.json:5: "+want, object)
		}
	}
}

func TestArraysAreRefused(t *testing.T) {
	const ok = `{"prompt":"a"}`
	for text, want := range map[string]string{
		"[":                              "p:1: the file ends within the JSON array",
		"[\n" + ok:                       "p:2: the file ends within the JSON array",
		"[\n" + ok + ",\n":               "p:3: the file ends within the JSON array",
		"[\n" + ok + ",\n\n{\"prom":      "p:4: the file ends within the JSON array",
		"[\n" + ok + "\n\n" + ok + "]":   "p:4: expected comma after array element",
		"[" + ok + ",\n" + ok + ",\n\n]": "p:4: invalid character ']'",
		"[\n" + ok + ",\n{\"prompt\":\n'a'},\n" + ok + "]":               "p:4: invalid character '\\'' looking for beginning of value",
		"[\n" + ok + ",\n" + ok + ",\n\n{\"prompt\": \"a\"\n,\n,}\n, 5]": "p:7: invalid character ','",
		"[" + ok + "\n}":        "p:2: invalid character '}' after array element",
		"[" + ok + "]\n\n5":     "p:3: something follows the JSON array",
		"[" + ok + "]\n]":       "p:2: something follows the JSON array",
		"[" + ok + "]\n[\n[\n5": "p:2: something follows the JSON array",
		"[\n5]":                 "p:2: is not a JSON object",
		"\n\n[]":                "p: holds no request",
	} {
		for _, r := range []func() error{
			func() error { _, err := ReadPrompts("p", strings.NewReader(text)); return err },
			func() error { _, err := ReadPrompts("p", iotest.OneByteReader(strings.NewReader(text))); return err },
		} {
			require.ErrorContains(t, r(), want, "%q", text)
		}
	}
}

func TestFilesAreRefused(t *testing.T) {
	for text, want := range map[string]error{
		"":                       ErrEmpty,
		"\n \r\n":                ErrEmpty,
		"\xef\xbb\xbf":           ErrEmpty,
		`{"conversations":[]}`:   ErrEmpty,
		`[{"conversations":[]}]`: ErrEmpty,
	} {
		_, err := ReadPrompts("p", strings.NewReader(text))
		require.ErrorIs(t, err, want, "%q", text)
		require.EqualError(t, err, "p: holds no request")
	}
	_, err := ReadPrompts("p", strings.NewReader("\xff\xfe{\x00"))
	require.EqualError(t, err, "p:1: is UTF-16; want UTF-8")
	_, err = OpenPrompts(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	broken := errors.New("the disk is gone")
	for _, head := range []string{"", " ", `{"prompt":"a"}` + "\n", `{"prompt":"a"`, `[{"prompt":"a"}`, `[`} {
		_, err = ReadPrompts("p", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(head+"      "))))
		require.ErrorIs(t, err, iotest.ErrTimeout, "%q", head)
		_, err = ReadPrompts("p", &failing{strings.NewReader(head), broken})
		require.ErrorIs(t, err, broken, "%q", head)
	}
}

type failing struct {
	r   *strings.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	if f.r.Len() > 0 {
		return f.r.Read(p)
	}
	return 0, f.err
}

func TestLongLinesAndElements(t *testing.T) {
	line := func(n int) string { return `{"prompt":"` + strings.Repeat("a", n-13) + `"}` }
	require.Len(t, line(100), 100)
	for name, c := range map[string]struct {
		text, want string
	}{
		"line":         {line(100) + "\n" + line(101) + "\n", "p:2: line or element is too long: more than 100 bytes"},
		"last line":    {line(100) + "\r\n" + line(101), "p:2: line or element is too long"},
		"longer line":  {line(100) + "\n" + line(1000) + "\n", "p:2: line or element is too long"},
		"blank line":   {line(100) + "\n" + strings.Repeat(" ", 200) + "\n", "p:2: line or element is too long"},
		"element":      {"[" + line(100) + ",\n" + line(101) + "\n]", "p:2: line or element is too long"},
		"huge element": {"[" + line(100) + ",\n" + line(1<<20) + "\n]", "p:2: line or element is too long"},
		"blank array":  {"[" + line(100) + "," + strings.Repeat(" ", 1<<20) + "]", "p:1: line or element is too long"},
		"blanks":       {"[" + line(100) + "," + strings.Repeat(" ", 100) + line(100) + "]", "p:1: line or element is too long"},
		"last blanks":  {"[" + line(100) + strings.Repeat(" ", 101) + "]", "p:1: line or element is too long"},
	} {
		_, err := ReadPrompts("p", strings.NewReader(c.text), WithMaxLine(100))
		require.ErrorIs(t, err, ErrTooLong, name)
		require.ErrorContains(t, err, c.want, name)
	}
	blanks := strings.Repeat(" ", 100)
	for _, text := range []string{
		line(100) + "\r\n" + line(100) + "\n" + line(100), "[" + line(100) + " ,\n" + line(100) + "]",
		"[" + blanks + line(100) + blanks[:40] + "," + blanks[:59] + line(100) + blanks + "]" + blanks + blanks,
	} {
		for _, r := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			_, err := ReadPrompts("p", r, WithMaxLine(100))
			require.NoError(t, err)
		}
	}
}

// endless is a file without an end. What is read of it is counted.
type endless struct {
	head string
	fill string
	n    int
}

func (e *endless) Read(p []byte) (int, error) {
	src := e.fill
	if e.n < len(e.head) {
		src = e.head[e.n:]
	}
	n := copy(p, src)
	e.n += n
	return n, nil
}

func TestEndlessFilesAreBounded(t *testing.T) {
	long := strings.Repeat("a", 4096)
	for name, e := range map[string]*endless{
		"line":    {head: `{"prompt":"`, fill: long},
		"string":  {head: `[{"prompt":"`, fill: long},
		"spaces":  {head: `[`, fill: strings.Repeat(" ", 4096)},
		"nothing": {fill: strings.Repeat("\n", 4096)},
		"lines":   {fill: `{"prompt":"a"}` + "\n"},
		"array":   {head: `[{"prompt":"a"}`, fill: `,{"prompt":"a"}`},
		"trace":   {head: "TIMESTAMP,ContextTokens,GeneratedTokens\n", fill: "2024-01-01 00:00:00,1,1\n"},
	} {
		const size = 1 << 18
		read := func() error {
			_, err := ReadPrompts("p", e, WithMaxLine(1<<16), WithMaxSize(size))
			return err
		}
		if name == "trace" {
			read = func() error {
				_, err := ReadTrace("p", e, WithMaxLine(1<<16), WithMaxSize(size))
				return err
			}
		}
		err := read()
		require.Error(t, err, name)
		require.True(t, errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooLarge), "%s: %v", name, err)
		require.LessOrEqual(t, e.n, size+1, name)
	}
}

func TestMaxSizeIsExact(t *testing.T) {
	const text = `{"prompt":"a"}` + "\n"
	_, err := ReadPrompts("p", strings.NewReader(text), WithMaxSize(int64(len(text))))
	require.NoError(t, err)
	_, err = ReadPrompts("p", strings.NewReader(text), WithMaxSize(int64(len(text))-1))
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "file is too large: more than 14 bytes")
}

func TestWithLimitReadsNoFurther(t *testing.T) {
	for _, text := range []string{"{\"prompt\":\"a\"}\n{\"prompt\":\"b\"}\nrubbish", `[{"prompt":"a"},{"prompt":"b"},rubbish`} {
		p := prompts(t, text, WithLimit(2), WithoutSalt())
		require.Equal(t, []*loadgen.Request{{Prompt: "a"}, {Prompt: "b"}}, take(p.Requests(), 0))
		_, err := ReadPrompts("p", strings.NewReader(text), WithLimit(3))
		require.Error(t, err)
	}
}

func TestWithShuffleIsADrawnOrder(t *testing.T) {
	var b strings.Builder
	for i := range 50 {
		b.WriteString(`{"prompt":"` + strconv.Itoa(i) + `"}` + "\n")
	}
	order := func(opts ...Option) []string {
		var out []string
		for r := range prompts(t, b.String(), append(opts, WithoutSalt())...).Requests() {
			out = append(out, r.Prompt)
		}
		return out
	}
	plain, one, two := order(), order(WithShuffle(), WithSeed(1)), order(WithShuffle(), WithSeed(2))
	assert.Equal(t, "0", plain[0])
	assert.Equal(t, one, order(WithShuffle(), WithSeed(1)))
	assert.NotEqual(t, one, two)
	assert.NotEqual(t, plain, one)
	assert.ElementsMatch(t, plain, one)
}

func TestWithBodyGoesBehindTheOwn(t *testing.T) {
	all := map[string]any{"top_p": 0.5, "seed": 1}
	p := prompts(t, `{"prompt":"a","body":{"seed":2}}`+"\n"+`{"prompt":"b"}`, WithBody(all))
	all["seed"] = 3 // the option has a copy
	reqs := take(p.Requests(), 0)
	assert.Equal(t, map[string]any{"top_p": 0.5, "seed": json.Number("2")}, reqs[0].Body)
	assert.Equal(t, map[string]any{"top_p": 0.5, "seed": 1}, reqs[1].Body)
}

func TestWithTokenCounterLeavesWhatTheFileSays(t *testing.T) {
	p := prompts(t, `{"prompt":"a b c","input_tokens":77}`+"\n"+`{"prompt":"a b c","max_tokens":5}`+"\n"+
		`{"messages":[{"role":"user","content":"x y"},{"role":"user","content":"z"}]}`,
		WithoutSalt(), WithTokenCounter(func(s string) int { return len(strings.Fields(s)) }))
	reqs := take(p.Requests(), 0)
	assert.Equal(t, []int{77, 3, 3}, []int{reqs[0].InputTokens, reqs[1].InputTokens, reqs[2].InputTokens})
	assert.Equal(t, []int{0, 5, 0}, []int{reqs[0].MaxTokens, reqs[1].MaxTokens, reqs[2].MaxTokens})
	p = prompts(t, `{"prompt":"a"}`, WithTokenCounter(func(string) int { return -1 }))
	assert.Zero(t, take(p.Requests(), 0)[0].InputTokens)
}
