package workload

import (
	"iter"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/goodputkit/goodputkit/loadgen"
)

// Part is one of the workloads in a mix.
type Part struct {
	Weight   float64                    // its share is Weight over the sum of all
	Requests iter.Seq[*loadgen.Request] // their classes stay: see WithClass
}

// Mix draws each request from one of the parts, each time with the same probabilities and independently. The seed
// decides which, the same in each pass. A mix ends with the first request that its part no longer has, so that the
// shares hold to the end: put Repeat around a part that should not end it.
func Mix(seed uint64, parts ...Part) (iter.Seq[*loadgen.Request], error) {
	if len(parts) == 0 {
		return nil, invalid("Mix", "has no parts; want one or more")
	}
	sums := make([]float64, len(parts))
	sum := 0.0
	for i, p := range parts {
		if p.Requests == nil {
			return nil, invalid("Mix", "part %d has no Requests", i)
		}
		if !(p.Weight > 0) || math.IsInf(p.Weight, 0) {
			return nil, invalid("Mix", "the weight of part %d is %v; want it finite and above 0", i, p.Weight)
		}
		sum += p.Weight
		sums[i] = sum
	}
	if math.IsInf(sum, 0) {
		return nil, invalid("Mix", "the weights' sum is not finite")
	}
	seqs := make([]iter.Seq[*loadgen.Request], len(parts))
	for i, p := range parts {
		seqs[i] = p.Requests
	}
	return func(yield func(*loadgen.Request) bool) {
		r := rand.New(rand.NewPCG(seed, 0x317))
		next := make([]func() (*loadgen.Request, bool), len(seqs))
		for i, s := range seqs {
			n, stop := iter.Pull(s)
			defer stop()
			next[i] = n
		}
		for {
			u := r.Float64() * sum
			i := min(sort.Search(len(sums), func(i int) bool { return sums[i] > u }), len(sums)-1)
			req, ok := next[i]()
			if !ok || !yield(req) {
				return
			}
		}
	}, nil
}

// Repeat passes over the requests again and again, and ends only if a pass has none. In each pass prompts have another
// salt, except with WithSaltSeed and WithoutSalt.
func Repeat(requests iter.Seq[*loadgen.Request]) iter.Seq[*loadgen.Request] {
	return func(yield func(*loadgen.Request) bool) {
		for some := true; some; {
			some = false
			for req := range requests {
				some = true
				if !yield(req) {
					return
				}
			}
		}
	}
}
