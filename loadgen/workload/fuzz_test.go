package workload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/goodputkit/goodputkit/loadgen"
)

func addFiles(f *testing.F, names ...string) {
	for _, name := range names {
		b, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(b)
	}
}

// requireFileError: whatever is wrong is an error of the documented kind, in one line.
func requireFileError(t *testing.T, err error) {
	t.Helper()
	var fe *FileError
	require.True(t, errors.As(err, &fe), "%v", err)
	require.NotContains(t, err.Error(), "\n")
	require.GreaterOrEqual(t, fe.Line, 0)
}

// requireSameError: what is told does not depend on how a file arrives, except where it exceeds a bound and something
// else is wrong, too: then it is what is seen first.
func requireSameError(t *testing.T, whole, byByte error) {
	t.Helper()
	require.Error(t, byByte)
	for _, err := range []error{whole, byByte} {
		if errors.Is(err, ErrTooLong) || errors.Is(err, ErrTooLarge) {
			return
		}
	}
	require.EqualError(t, byByte, whole.Error())
}

// unfold is the requests and all later turns of their sessions, without the functions that say these.
func unfold(reqs []*loadgen.Request) (all []*loadgen.Request) {
	for _, r := range reqs {
		turns, _ := chain(r)
		all = append(all, turns...)
	}
	for _, r := range all {
		r.Next = nil
	}
	return all
}

func FuzzReadPrompts(f *testing.F) {
	addFiles(f, "prompts.jsonl", "sharegpt.json")
	f.Add([]byte("[{\"prompt\":\n\"a\"},\n{\"prompt\":'b'}]"))
	f.Add([]byte("\xef\xbb\xbf\r\n[ ]x"))
	f.Add([]byte(`{"prompt":"a","turns":[{"content":"b","think_s":1.5,"max_tokens":2}]}`))
	f.Add([]byte("{\"conversations\":[]}\n{\"prompt\":\"a\",\"max_tokens\":5}"))
	f.Add([]byte(`[{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],"body":{"n":1}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := []Option{WithMaxLine(300), WithMaxSize(2000), WithoutSalt(), WithSessions(Fixed(5))}
		p, err := ReadPrompts("p", bytes.NewReader(data), opts...)
		q, slow := ReadPrompts("p", iotest.OneByteReader(bytes.NewReader(data)), opts...)
		if err != nil {
			requireFileError(t, err)
			requireSameError(t, err, slow)
			require.LessOrEqual(t, err.(*FileError).Line, 1+bytes.Count(data, []byte{'\n'}))
			return
		}
		require.NoError(t, slow)
		reqs := take(p.Requests(), 0)
		require.Len(t, reqs, p.Len())
		reqs = unfold(reqs)
		require.Equal(t, reqs, unfold(take(q.Requests(), 0)))
		for _, r := range reqs {
			require.NotEqual(t, r.Prompt == "", len(r.Messages) == 0)
			require.True(t, r.MaxTokens >= 0 && r.MaxTokens <= MaxLength)
			require.True(t, r.InputTokens >= 0 && r.InputTokens <= MaxLength*(1+len(r.Messages)))
		}
		// Nothing is lost: the standard library sees as many objects.
		text := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			for line := range strings.Lines(string(text)) {
				if strings.TrimSpace(line) != "" {
					list = append(list, nil)
				}
			}
		}
		require.Equal(t, len(list), p.Len()+p.Skipped())
	})
}

func FuzzReadTrace(f *testing.F) {
	addFiles(f, "azure.csv", "mooncake.jsonl")
	f.Fuzz(func(t *testing.T, data []byte) {
		opts := []Option{WithMaxLine(300), WithMaxSize(2000), WithoutText()}
		tr, err := ReadTrace("t", bytes.NewReader(data), opts...)
		slow, slowErr := ReadTrace("t", iotest.OneByteReader(bytes.NewReader(data)), opts...)
		if err != nil {
			requireFileError(t, err)
			requireSameError(t, err, slowErr)
			return
		}
		require.NoError(t, slowErr)
		entries := slices.Collect(tr.Entries())
		require.Equal(t, entries, slices.Collect(slow.Entries()))
		require.Zero(t, entries[0].At)
		require.Len(t, take(tr.Requests(), 0), tr.Len())
		for i, e := range entries {
			require.True(t, e.InputTokens >= 1 && e.InputTokens <= MaxLength && e.OutputTokens >= 1 && e.OutputTokens <= MaxLength)
			require.LessOrEqual(t, len(e.Blocks)*DefaultBlockTokens, e.InputTokens+DefaultBlockTokens-1)
			require.True(t, i == 0 || e.At >= entries[i-1].At)
		}
		// Written down in each format, it is read as the same.
		var azure, mooncake strings.Builder
		azure.WriteString("TIMESTAMP,ContextTokens,GeneratedTokens\n")
		for _, e := range entries {
			at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(e.At)
			fmt.Fprintf(&azure, "%s,%d,%d\r\n", at.Format("2006-01-02 15:04:05.999999999"), e.InputTokens, e.OutputTokens)
			ids, err := json.Marshal(append([]uint64{}, e.Blocks...))
			require.NoError(t, err)
			fmt.Fprintf(&mooncake, `{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":%s}`+"\n",
				e.At.Milliseconds(), e.InputTokens, e.OutputTokens, ids)
		}
		if entries[len(entries)-1].At < 99*365*24*time.Hour {
			again := slices.Collect(readTrace(t, azure.String(), WithoutText()).Entries())
			for i, e := range entries {
				e.Blocks = nil
				require.Equal(t, e, again[i])
			}
			again = slices.Collect(readTrace(t, mooncake.String(), WithoutText()).Entries())
			for i, e := range entries {
				e.At = e.At.Truncate(time.Millisecond)
				require.Equal(t, e.At, again[i].At)
				require.True(t, slices.Equal(e.Blocks, again[i].Blocks))
			}
		}
	})
}
