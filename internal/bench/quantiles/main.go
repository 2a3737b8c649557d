// Command quantiles measures this project's quantiles beside those of others, on the same values: what an add costs with
// one, two and eight goroutines at one instance, how much memory it takes, and how far its percentiles are from those of the
// sorted values. From internal/bench:
//
//	GOWORK=off go run ./quantiles > table.md
//
// The values are log-normal, like latencies: a median of 0.1 s, a P99 of 1 s. All take turns, round by round, so that what
// else the machine does meets all alike; printed are medians over the rounds, as Markdown. A type that is not for several
// goroutines has a mutex. The CPU time of one goroutine's adds stands beside the time that passes: it says the same on an
// idle machine, and something on a busy one. The exit status is 1 where a figure is above what this project has set itself.
//
// The same as benchmarks of the testing package, one after the other:
//
//	GOWORK=off go test -run '^$' -bench . ./quantiles
package main

import (
	"flag"
	"fmt"
	"os"
)

// goroutines is how many share an instance.
var goroutines = []int{1, 2, 8}

func main() {
	rounds := flag.Int("rounds", 9, "times that each is measured; at least 5")
	values := flag.Int("values", 1_000_000, "values that each gets; at least 1,000")
	flag.Parse()
	if *rounds < 5 || *values < 1000 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	r := measureAll(*rounds, *values)
	missed := r.write(os.Stdout)
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "quantiles: %d figures are above what they are to be at most\n", missed)
		os.Exit(1)
	}
}
