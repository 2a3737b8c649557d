package httptarget_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/goodputkit/goodputkit/loadgen"
	"github.com/goodputkit/goodputkit/loadgen/httptarget"
	"github.com/goodputkit/goodputkit/slo"
)

// A search service. An answer is only good if it has found something.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"hits":3}`)
	}))
	defer server.Close()

	target, err := httptarget.New(httptarget.Config{
		URL: server.URL + "/search?q=goodput",
		Check: func(_ *http.Response, body io.Reader) error {
			var answer struct{ Hits int }
			if err := json.NewDecoder(body).Decode(&answer); err != nil {
				return err
			}
			if answer.Hits == 0 {
				return errors.New("nothing was found")
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.CloseIdleConnections()
	result, err := loadgen.Run(context.Background(), target, loadgen.Plan{
		SLO:         slo.MustParse("e2e p99 < 10s, error_rate < 1%"),
		Concurrency: 4,
		Requests:    100,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Report.Offered, "offered,", result.Report.Good, "good")
	// Output: 100 offered, 100 good
}

// A translation service that streams lines of JSON. Each request is made of the workload's prompt.
func ExampleConfig_stream() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		for word := range strings.FieldsSeq(string(text)) {
			fmt.Fprintf(w, "{\"word\":%q}\n", strings.ToUpper(word))
			http.NewResponseController(w).Flush()
		}
		fmt.Fprintln(w, `{"done":true}`)
	}))
	defer server.Close()

	target, err := httptarget.New(httptarget.Config{
		Request: func(_ context.Context, r *loadgen.Request) (*http.Request, error) {
			return http.NewRequest(http.MethodPost, server.URL, strings.NewReader(r.Prompt))
		},
		Stream: httptarget.Lines,
		Piece: func(line []byte) (httptarget.Piece, error) {
			var p struct {
				Word string
				Done bool
			}
			err := json.Unmarshal(line, &p)
			return httptarget.Piece{Token: p.Word != "", Tokens: 1, End: p.Done}, err
		},
		EndMarker: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer target.CloseIdleConnections()
	record := loadgen.Do(context.Background(), target, &loadgen.Request{Prompt: "good work in good time"})
	fmt.Println(record.Outcome, len(record.Tokens), "token events")
	// Output: success 5 token events
}
