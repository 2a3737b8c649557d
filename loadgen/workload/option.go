package workload

import (
	"fmt"
	"maps"
	"math"
)

// Defaults of the options.
const (
	DefaultMaxLine     = 16 << 20 // bytes
	DefaultMaxSize     = 1 << 30  // bytes
	DefaultBlockTokens = 512
)

// kind says what an option can be given to.
type kind uint8

const (
	forPrompts kind = 1 << iota
	forSynthetic
	forTrace

	forFiles = forPrompts | forTrace
	forText  = forSynthetic | forTrace
	forAll   = forPrompts | forSynthetic | forTrace
)

var kindNames = map[kind]string{forPrompts: "prompts", forSynthetic: "synthetic requests", forTrace: "a trace"}

// Option changes how requests are read or made. Each says to what it can be given; elsewhere it is an error and not
// ignored.
type Option struct {
	name  string
	kinds kind
	apply func(*options) error
}

type options struct {
	seed          uint64
	salt          saltMode
	saltSeed      uint64
	tokensPerWord float64
	template      int
	class         string
	body          map[string]any
	limit         int
	shuffle       bool
	noText        bool
	maxLine       int
	maxSize       int64
	block         int
	count         func(string) int
	sessions      bool
	think         Lengths // in ms; nil: none
}

func newOptions(k kind, opts []Option) (*options, error) {
	o := &options{tokensPerWord: 1, maxLine: DefaultMaxLine, maxSize: DefaultMaxSize, block: DefaultBlockTokens}
	for _, opt := range opts {
		if opt.apply == nil {
			return nil, invalid("Option", "is the zero value; want one that a function of this package made")
		}
		if opt.kinds&k == 0 {
			return nil, invalid(opt.name, "cannot be given to %s", kindNames[k])
		}
		if err := opt.apply(o); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// set is an option that cannot be wrong.
func set(name string, k kind, f func(*options)) Option {
	return Option{name, k, func(o *options) error { f(o); return nil }}
}

// atLeastOne is an option with a whole number of 1 or more.
func atLeastOne[T int | int64](name string, k kind, n T, f func(*options)) Option {
	return Option{name, k, func(o *options) error {
		if n < 1 {
			return invalid(name, "is %d; want 1 or more", n)
		}
		f(o)
		return nil
	}}
}

// WithSeed seeds lengths, words and order, which are the same whenever the same seed is given, also in each pass over
// Requests. The default is the seed 0. It does not seed the salt: see WithSaltSeed. For everything.
func WithSeed(seed uint64) Option {
	return set("WithSeed", forAll, func(o *options) { o.seed = seed })
}

// WithoutSalt keeps prompts as they are: those of a file go out verbatim, synthetic ones are the same in each run with
// the same seed, so that a rerun finds them in the server's prefix cache. For everything.
func WithoutSalt() Option {
	return set("WithoutSalt", forAll, func(o *options) { o.salt = saltOff })
}

// WithSaltSeed makes the salt reproducible: each pass over Requests has the same, other seeds have others. Without it
// the salt of each pass is drawn anew from a source that nobody can seed. For everything.
func WithSaltSeed(seed uint64) Option {
	return set("WithSaltSeed", forAll, func(o *options) { o.salt, o.saltSeed = saltSeeded, seed })
}

// WithTokensPerWord says how many tokens the server's tokenizer makes of one word of this package, in place of 1: see
// the package comment. It is from 0.1 to 100. For everything; of prompts it tells the length of the salt.
func WithTokensPerWord(ratio float64) Option {
	const name = "WithTokensPerWord"
	return Option{name, forAll, func(o *options) error {
		if !(ratio >= 0.1 && ratio <= 100) {
			return invalid(name, "is %v; want a number of tokens from 0.1 to 100", ratio)
		}
		o.tokensPerWord = ratio
		return nil
	}}
}

// WithTemplateTokens says how many tokens the server's chat template adds to each prompt. They count towards the
// input tokens that are asked for, so so many fewer are written. The default is 0. For synthetic requests and traces.
func WithTemplateTokens(n int) Option {
	const name = "WithTemplateTokens"
	return Option{name, forText, func(o *options) error {
		if n < 0 || n > MaxLength {
			return invalid(name, "is %d; want 0 to %d", n, MaxLength)
		}
		o.template = n
		return nil
	}}
}

// WithoutText makes requests with token counts and no prompt, for a simulator that looks at nothing else. For synthetic
// requests and traces.
func WithoutText() Option {
	return set("WithoutText", forText, func(o *options) { o.noText = true })
}

// WithClass is the class of each request that does not bring its own. For everything.
func WithClass(class string) Option {
	return set("WithClass", forAll, func(o *options) { o.class = class })
}

// WithBody gives each request extra fields, such as "temperature", or "ignore_eos" for servers that know it, without
// which an answer may end before its limit. A prompt's own body goes before it, field by field. For everything.
func WithBody(body map[string]any) Option {
	body = maps.Clone(body)
	return set("WithBody", forAll, func(o *options) { o.body = body })
}

// WithLimit stops after n requests; of a file the rest is not read. For everything.
func WithLimit(n int) Option {
	return atLeastOne("WithLimit", forAll, n, func(o *options) { o.limit = n })
}

// WithShuffle puts what was read in an order drawn from the seed. After WithLimit these are the first of the file. For
// prompts.
func WithShuffle() Option {
	return set("WithShuffle", forPrompts, func(o *options) { o.shuffle = true })
}

// WithTokenCounter counts tokens while a file is read, so never during a run: the input tokens of each prompt and turn
// that does not say how many it has, and of a ShareGPT conversation also the answers, which become the limits. A
// count of 0, or less, is unknown. For prompts.
func WithTokenCounter(count func(text string) int) Option {
	const name = "WithTokenCounter"
	return Option{name, forPrompts, func(o *options) error {
		if count == nil {
			return invalid(name, "is nil; want a function that counts the tokens of a text")
		}
		o.count = count
		return nil
	}}
}

// WithMaxLine bounds one line, or one element of a JSON array and what stands between two of them, in bytes, in place of
// DefaultMaxLine. A longer one is ErrTooLong. For files.
func WithMaxLine(bytes int) Option {
	return atLeastOne("WithMaxLine", forFiles, bytes, func(o *options) { o.maxLine = min(bytes, math.MaxInt32) })
}

// WithMaxSize bounds what is read of a file, in bytes, in place of DefaultMaxSize. A larger one is ErrTooLarge. What was
// read is kept in memory. For files.
func WithMaxSize(bytes int64) Option {
	return atLeastOne("WithMaxSize", forFiles, bytes, func(o *options) { o.maxSize = min(bytes, math.MaxInt64-1) })
}

// WithBlockTokens is how many tokens a hash id of a trace stands for, in place of DefaultBlockTokens. For traces.
func WithBlockTokens(n int) Option {
	const name = "WithBlockTokens"
	return Option{name, forTrace, func(o *options) error {
		if n < 1 || n > MaxLength {
			return invalid(name, "is %d; want 1 to %d", n, MaxLength)
		}
		o.block = n
		return nil
	}}
}

// String is the option's name.
func (o Option) String() string { return fmt.Sprintf("workload.%s", o.name) }
