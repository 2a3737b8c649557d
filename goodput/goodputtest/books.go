package goodputtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"

	"github.com/goodputkit/goodputkit/goodput"
)

// BooksClose asserts that every request is in the report's books exactly once: offered = good + late + each outcome other than
// success; throughput = goodput + lost, and no less than success; each class for itself, and the total their sum. It fails where there
// was no request, for then nothing was shown.
func BooksClose(t TestingT, r *goodput.Report) bool {
	if h, ok := t.(helper); ok {
		h.Helper()
	}
	if why := absent(r); why != "" {
		return assert.Fail(t, why)
	}
	if open := openBooks("", r); len(open) > 0 {
		return assert.Fail(t, "the books do not close\n  "+strings.Join(open, "\n  "))
	}
	if r.Offered == 0 && r.Flow.Ended == 0 {
		return assert.Fail(t, "no data is no pass: no request started in the window, and none ended in it")
	}
	return true
}

func openBooks(of string, r *goodput.Report) (open []string) {
	check := func(what string, got, want uint64, sum string) {
		if got != want {
			open = append(open, fmt.Sprintf("%s%s is %d, and %s is %d", of, what, got, sum, want))
		}
	}
	var failed, lost uint64
	for o, n := range r.Outcomes {
		if o != goodput.Success {
			failed += n
		}
	}
	for _, n := range r.Lost {
		lost += n
	}
	f := &r.Flow
	check("offered", r.Offered, r.Good+r.Late+failed, "good + late + failed")
	check("success", r.Outcomes[goodput.Success], r.Good+r.Late, "good + late")
	check("throughput", f.Ended, f.Good+lost, "goodput + lost")
	if f.Good > f.Success || f.Success > f.Ended {
		open = append(open, fmt.Sprintf("%sgoodput %d ≤ success %d ≤ throughput %d does not hold", of, f.Good, f.Success, f.Ended))
	}
	if len(r.Classes) == 0 {
		return open
	}
	var offered, good, late, ended uint64
	for _, name := range slices.Sorted(maps.Keys(r.Classes)) {
		c := r.Classes[name]
		offered, good, late, ended = offered+c.Offered, good+c.Good, late+c.Late, ended+c.Flow.Ended
		open = append(open, openBooks("class "+name+": ", c)...)
	}
	check("offered", r.Offered, offered, "that of its classes")
	check("good", r.Good, good, "that of its classes")
	check("late", r.Late, late, "that of its classes")
	check("throughput", f.Ended, ended, "that of its classes")
	return open
}
