package openslo_test

import (
	"bytes"
	"fmt"

	"github.com/goodputkit/goodputkit/goodput/monitor/openslo"
	"github.com/goodputkit/goodputkit/slo"
)

func Example() {
	text, err := openslo.Document{SLO: slo.MustParse("ttft p95 < 800ms"), Service: "chat"}.YAML()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	d, err := openslo.Read(bytes.NewReader(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("#", d.SLO, "in", d.Period)
	// Output:
	// apiVersion: openslo/v1
	// kind: Service
	// metadata:
	//   name: chat
	// spec: {}
	// ---
	// apiVersion: openslo/v1
	// kind: SLO
	// metadata:
	//   name: ttft-p95-61109632e1cc
	//   displayName: ttft p95 < 800ms
	//   annotations:
	//     goodputkit.github.io/objective: ttft p95 < 800ms
	//     goodputkit.github.io/slo: ttft p95 < 800ms
	// spec:
	//   description: Of the requests that the objective is about at least 95% have to be within it.
	//   service: chat
	//   indicator:
	//     metadata:
	//       name: ttft-p95-61109632e1cc
	//       displayName: ttft p95 < 800ms
	//     spec:
	//       ratioMetric:
	//         counter: true
	//         good:
	//           metricSource:
	//             type: Prometheus
	//             spec:
	//               query: goodput_objective_within_requests_total{slo="9a955903a6a432c3",objective="ttft p95 < 800ms"}
	//         total:
	//           metricSource:
	//             type: Prometheus
	//             spec:
	//               query: goodput_objective_requests_total{slo="9a955903a6a432c3",objective="ttft p95 < 800ms"}
	//   timeWindow:
	//     - duration: 30d
	//       isRolling: true
	//   budgetingMethod: Occurrences
	//   objectives:
	//     - displayName: ttft p95 < 800ms
	//       target: 0.95
	// # ttft p95 < 800ms in 720h0m0s
}

// A file of another's needs an annotation that says what its query measures.
func ExampleRead() {
	_, err := openslo.Read(bytes.NewReader([]byte(`
apiVersion: openslo/v1
kind: SLO
metadata: {name: ttft}
spec:
  indicator:
    metadata: {name: ttft}
    spec: {thresholdMetric: {metricSource: {type: Prometheus, spec: {query: ttft_seconds}}}}
  budgetingMethod: Occurrences
  objectives: [{op: lte, value: 0.8, target: 0.95}]
`)))
	fmt.Println(err)
	// Output:
	// openslo: cannot be expressed: SLO "ttft": metadata.annotations: neither a query nor a ratio says what makes a request good: add goodputkit.github.io/objective, such as "ttft p95 < 800ms", or goodputkit.github.io/metric, such as "ttft"
}
