package slo

import "time"

// Chat is for a person who reads along: ttft p95 < 800ms, e2e p95 < 8s, error_rate < 1%.
func Chat() SLO {
	return SLO{Name: "chat", Objectives: []Objective{
		{TTFT, P95, Within(800 * time.Millisecond)},
		{E2E, P95, Within(8 * time.Second)},
		{ErrorRate, 0, Threshold{Limit: 0.01}},
	}}
}

// CodeCompletion is for an editor that completes while somebody types: ttft p95 < 300ms, e2e p95 < 2s, error_rate < 1%.
func CodeCompletion() SLO {
	return SLO{Name: "code completion", Objectives: []Objective{
		{TTFT, P95, Within(300 * time.Millisecond)},
		{E2E, P95, Within(2 * time.Second)},
		{ErrorRate, 0, Threshold{Limit: 0.01}},
	}}
}

// Summarization is for a job that nobody watches: e2e p95 < 60s, error_rate < 1%.
func Summarization() SLO {
	return SLO{Name: "summarization", Objectives: []Objective{
		{E2E, P95, Within(time.Minute)},
		{ErrorRate, 0, Threshold{Limit: 0.01}},
	}}
}
