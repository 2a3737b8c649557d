package admission

import (
	"bytes"
	"compress/gzip"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/goodputkit/goodputkit/internal/wellformed"
)

// ChatSizes reads the sizes of a request from a body of OpenAI's APIs: chat completions, completions, responses, embeddings. Its
// Request is for [MiddlewareConfig.Request]. The zero ChatSizes has the defaults.
//
// The prompt is estimated by the length of its texts, those of the tools among them; of images, audio and files, whose tokens nobody
// sees from here, nothing counts. That the estimate is too great or too small by some factor does no harm as long as it is so for all:
// what is learnt is learnt in the same measure. The most output is what max_completion_tokens, max_tokens or max_output_tokens says,
// times n. Without "stream": true the answer is one piece ([Request].Whole).
type ChatSizes struct {
	// MaxBody is how much of a body is read before its request is decided, in bytes; 0: 1 MiB. That much may be kept for each
	// request that waits: see [Config.MaxWaiting]. Of a longer one, and of one that is no JSON or in an encoding other than
	// gzip, all that is known is its length, and it is estimated by that.
	MaxBody int64

	// BytesPerToken is how many bytes of text are a token; 0: 4, which is what OpenAI says of English.
	BytesPerToken float64

	// MaxTokens is the model's context length: neither a prompt nor an output counts for more, whatever a request says. 0:
	// 131,072.
	MaxTokens int
}

// defaulted is c with its defaults.
func (c ChatSizes) defaulted() ChatSizes {
	if c.MaxBody <= 0 {
		c.MaxBody = 1 << 20
	}
	if !(c.BytesPerToken > 0) {
		c.BytesPerToken = 4
	}
	if c.MaxTokens <= 0 {
		c.MaxTokens = 1 << 17
	}
	return c
}

// Request reads the body and puts it back: whoever reads req.Body next reads what came, unchanged, with the errors that came.
func (c ChatSizes) Request(req *http.Request) (r Request) {
	c = c.defaulted()
	if req.Body == nil || req.Body == http.NoBody {
		return r
	}
	if req.ContentLength > c.MaxBody {
		r.InputTokens = c.tokens(float64(req.ContentLength) / c.BytesPerToken)
		return r
	}
	text, legible := c.read(req)
	if !legible || !c.sizes(&r, text) {
		r.InputTokens = c.tokens(float64(len(text)) / c.BytesPerToken)
	}
	return r
}

// tokens is a number of tokens that a request may count for.
func (c ChatSizes) tokens(n float64) int { return int(math.Ceil(min(max(n, 0), float64(c.MaxTokens)))) }

// read reads the body, as far as may be, and puts it back; legible: to its end, and it is JSON, unpacked.
func (c ChatSizes) read(req *http.Request) (text []byte, legible bool) {
	text, err := io.ReadAll(io.LimitReader(req.Body, c.MaxBody+1))
	legible = err == nil && int64(len(text)) <= c.MaxBody
	rest := io.Reader(req.Body)
	if err != nil {
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), req.Body}
	switch req.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		if legible {
			text, legible = inflate(text, c.MaxBody)
		}
	default:
		legible = false
	}
	return text, legible && wellformed.JSON(text)
}

// failing is what an error leaves to be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// inflate is what is in a gzip file, as far as may be; whole: to its end.
func inflate(file []byte, most int64) (text []byte, whole bool) {
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		return file, false
	}
	text, err = io.ReadAll(io.LimitReader(z, most+1))
	return text, err == nil && int64(len(text)) <= most
}

// sizes reads the sizes from a body; false: it is no object.
func (c ChatSizes) sizes(r *Request, body []byte) bool {
	doc := gjson.Parse(unsafe.String(unsafe.SliceData(body), len(body))) // of which nothing is kept
	if !doc.IsObject() {
		return false
	}
	var prompt [4]float64 // tokens, by what has them; of a key that stands twice the last one counts, as with others who read it
	var limits limits
	stream := false
	doc.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "messages", "prompt", "input":
			prompt[0] = c.text(v, textDepth)
		case "instructions":
			prompt[1] = c.text(v, textDepth)
		case "tools":
			prompt[2] = float64(len(v.Raw)) / c.BytesPerToken
		case "functions":
			prompt[3] = float64(len(v.Raw)) / c.BytesPerToken
		case "stream":
			stream = v.Type == gjson.True
		default:
			limits.take(key.Str, v)
		}
		return true
	})
	r.InputTokens = c.tokens(prompt[0] + prompt[1] + prompt[2] + prompt[3])
	r.Whole = !stream
	r.MaxOutputTokens = c.tokens(limits.asked())
	return true
}

// limits is what a body says of its output.
type limits struct {
	most  [len(limitKeys)]float64
	n     float64 // how many choices
	least float64 // tokens of each
}

// limitKeys are the keys of the most output, the one that counts first.
var limitKeys = [...]string{"max_completion_tokens", "max_tokens", "max_output_tokens"}

// take takes what stands under a key.
func (l *limits) take(key string, v gjson.Result) {
	if v.Type != gjson.Number {
		return
	}
	switch key {
	case "n":
		l.n = v.Num
	case "min_tokens":
		l.least = v.Num
	default:
		if i := slices.Index(limitKeys[:], key); i >= 0 {
			l.most[i] = v.Num
		}
	}
}

// asked is the most output of all choices; 0: it does not say.
func (l *limits) asked() float64 {
	for _, m := range l.most {
		if m >= 1 {
			return m * max(l.n, 1)
		}
	}
	return 0
}

// textDepth is how deep texts stand in a prompt, and some more.
const textDepth = 8

// text is how many tokens the texts in v are, by their length. A number is a token's number.
func (c ChatSizes) text(v gjson.Result, depth int) (tokens float64) {
	switch v.Type {
	case gjson.Number:
		return 1
	case gjson.String:
		if strings.HasPrefix(v.Str, "data:") {
			return 0
		}
		return float64(len(v.Str)) / c.BytesPerToken
	case gjson.JSON:
		if depth == 0 {
			return float64(len(v.Raw)) / c.BytesPerToken
		}
		v.ForEach(func(key, v gjson.Result) bool {
			switch key.Str {
			case "image_url", "input_image", "image", "input_audio", "audio", "video_url", "file", "file_data", "source":
			default:
				tokens += c.text(v, depth-1)
			}
			return true
		})
	}
	return tokens
}
