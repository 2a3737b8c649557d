package goodput_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/goodputkit/goodputkit/goodput"
	"github.com/goodputkit/goodputkit/slo"
)

// What `vegeta encode --to json` writes, without what is not needed here.
const attack = `
{"code":200,"timestamp":"2026-01-01T12:00:00Z","latency":1034695,"error":"","headers":{"Content-Length":["2"]}}
{"code":0,"timestamp":"2026-01-01T12:00:00.1Z","latency":200750544,"error":"Get \"http://127.0.0.1:8080\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)","headers":null}
{"code":200,"timestamp":"2026-01-01T12:00:00.2Z","latency":90467816,"error":"","headers":{"Content-Length":["2"]}}
{"code":503,"timestamp":"2026-01-01T12:00:00.3Z","latency":651751,"error":"503 Service Unavailable","headers":{"Retry-After":["1"]}}
{"code":0,"timestamp":"2026-01-01T12:00:00.4Z","latency":297938,"error":"Get \"http://127.0.0.1:8080\": dial tcp 127.0.0.1:8080: connect: connection refused","headers":null}
{"code":0,"timestamp":"2026-01-01T12:00:00.5Z","latency":297938,"error":"unexpected EOF","headers":null}
`

// The results of another tool become records by what it knows of each request: here vegeta's. It says when it sent a request,
// and not when it had meant to, so that the time for which one waited for a worker is in none of the latencies. A record that
// is to be read again goes to a [goodput.RecordWriter], too.
func ExampleAccumulator_vegeta() {
	acc := goodput.NewAccumulator(slo.MustParse("e2e p95 < 50ms, error_rate < 1%"))
	results := json.NewDecoder(strings.NewReader(attack))
	for {
		var r struct {
			Code      int
			Timestamp time.Time
			Latency   time.Duration
			Error     string
			Headers   http.Header
		}
		if err := results.Decode(&r); err == io.EOF {
			break
		} else if err != nil {
			panic(err)
		}
		outcome := goodput.OutcomeOfStatus(r.Code, r.Headers)
		if r.Code == 0 { // there was no whole answer, and the error says why
			switch {
			case strings.Contains(r.Error, "deadline exceeded"), strings.Contains(r.Error, "Client.Timeout"):
				outcome = goodput.Timeout
			case strings.Contains(r.Error, "unexpected EOF"):
				outcome = goodput.Truncated
			default:
				outcome = goodput.ConnectionError
			}
		}
		acc.Observe(&goodput.Record{Start: r.Timestamp, End: r.Latency, Outcome: outcome})
	}
	report := acc.Report()
	fmt.Println(report.Good, "good and", report.Late, "late of", report.Offered)
	fmt.Println(report.Outcomes)
	// Output:
	// 1 good and 1 late of 6
	// map[success:2 timeout:1 rejected:1 connection_error:1 truncated:1]
}
