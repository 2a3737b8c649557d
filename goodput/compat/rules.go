package compat

import "slices"

// Tool names a tool whose rules are known here.
type Tool string

// The tools, in the order of their columns.
const (
	VLLM          Tool = "vLLM bench serve"
	AIPerf        Tool = "AIPerf"
	GuideLLM      Tool = "GuideLLM"
	InferencePerf Tool = "inference-perf"
	DistServe     Tool = "DistServe"
	MLPerf        Tool = "MLPerf Server"
)

// Tools are all of them.
func Tools() []Tool { return []Tool{VLLM, AIPerf, GuideLLM, InferencePerf, DistServe, MLPerf} }

// A Rule is one statement on how a tool counts, with where it is written.
type Rule struct {
	Says   string
	Source string // file and function, in the project's repository at the commit of Rulebook
}

// A Rulebook is the rules of one tool, as they were read at one commit. Other versions may differ.
type Rulebook struct {
	Tool    Tool
	Project string // repository, owner/name
	Commit  string // of the file that has most of the rules
	Rules   []Rule
}

// Rules is the rulebook of a tool; ok is false for one that is not known.
func Rules(t Tool) (b Rulebook, ok bool) {
	i := slices.IndexFunc(rulebooks, func(b Rulebook) bool { return b.Tool == t })
	if i < 0 {
		return Rulebook{}, false
	}
	b = rulebooks[i]
	b.Rules = slices.Clone(b.Rules)
	return b, true
}

var rulebooks = []Rulebook{
	{VLLM, "vllm-project/vllm", "009e6d4a1cd6ba3fb2a9fc00f4ec06f5297232a1", []Rule{
		{"Goodput is a rate of requests: those good over the duration. No share is printed, and the percentile of an objective has no place in it.", "vllm/benchmarks/serve.py: calculate_metrics"},
		{"ttft, tpot and e2el are judged, inclusively; no other metric.", "vllm/benchmarks/serve.py: check_goodput_args, calculate_metrics"},
		{"The clock of a request starts with its sending, after the wait for a place in flight.", "vllm/benchmarks/lib/endpoint_request_func.py: async_request_openai_chat_completions"},
		{"A request ends with its last chunk that has choices.", "vllm/benchmarks/lib/endpoint_request_func.py: async_request_openai_chat_completions"},
		{"Any chunk with choices is a token, also one with a role alone.", "vllm/benchmarks/lib/endpoint_request_func.py: async_request_openai_chat_completions"},
		{"A request is a success once a chunk came and no exception was raised: an error event in the stream is ignored.", "vllm/benchmarks/lib/endpoint_request_func.py: async_request_openai_chat_completions"},
		{"tpot is (latency − ttft) / (tokens − 1); for one token it is 0 and holds, and is in no percentile.", "vllm/benchmarks/serve.py: calculate_metrics"},
		{"itl is the gap between chunks, one step each.", "vllm/benchmarks/serve.py: calculate_metrics"},
		{"Failed requests are in no latency, no rate and no token count.", "vllm/benchmarks/serve.py: calculate_metrics"},
		{"The duration runs from before the first request was made to when the last had ended, failed ones included.", "vllm/benchmarks/serve.py: benchmark"},
		{"Percentiles are numpy's, linear between order statistics.", "vllm/benchmarks/serve.py: calculate_metrics"},
	}},
	{AIPerf, "ai-dynamo/aiperf", "58dd5dea729ceece71b0afbea12994030bf70d8b", []Rule{
		{"A request is good when each metric of --goodput is within its threshold; one that has no value for one of them is not.", "src/aiperf/metrics/types/good_request_count_metric.py: GoodRequestCountMetric"},
		{"good_request_fraction is good over valid and errored requests.", "src/aiperf/metrics/types/good_request_fraction_metric.py: GoodRequestFractionMetric"},
		{"request_latency runs from the send to the last response with content.", "src/aiperf/metrics/types/request_latency_metric.py: RequestLatencyMetric"},
		{"inter_token_latency is a request's (request_latency − ttft) / (tokens − 1), by default whatever the first chunk carried; below two tokens there is none.", "src/aiperf/metrics/types/inter_token_latency_metric.py: InterTokenLatencyMetric"},
		{"The gaps between chunks are inter_chunk_latency.", "src/aiperf/metrics/types/inter_chunk_latency_metric.py: InterChunkLatencyMetric"},
		{"The duration runs from the first send to the last content of valid requests.", "src/aiperf/metrics/types/min_request_metric.py, max_response_metric.py"},
		{"Percentiles are linear between order statistics, of valid requests.", "src/aiperf/metrics/metric_dicts.py: metric_result_from_array"},
	}},
	{GuideLLM, "vllm-project/guidellm", "1a145a40306de0b70cadff08ffebdf59adf032bb", []Rule{
		{"A request conforms when ttft, inter-token latency (for tpot) and request latency are within their objectives; without a value for one of them it is undetermined, and in neither part of the share.", "src/guidellm/schemas/benchmark/goodput.py: GoodputSLO.is_conforming"},
		{"Errored requests do not conform; those cancelled by the end of the run are left out.", "vllm-project/guidellm#1085"},
		{"The clock starts with the request and ends with the response.", "src/guidellm/schemas/base/request_stats.py: GenerativeRequestStats.request_latency"},
		{"Inter-token latency is a request's (last − first) / (tokens − 1), undefined below two tokens.", "src/guidellm/schemas/base/request_stats.py: GenerativeRequestStats.inter_token_latency_ms"},
		{"In distributions a value that there is not is 0; inter-token latencies are weighted by tokens − 1.", "src/guidellm/benchmark/schemas/generative/metrics.py: GenerativeMetrics.compile"},
		{"A percentile is the smallest value that at least that share does not exceed.", "src/guidellm/schemas/base/statistics.py: Percentiles.from_pdf"},
		{"Without the server's usage each chunk is one token.", "src/guidellm/schemas/base/request_stats.py: GenerativeRequestStats.output_tokens"},
	}},
	{InferencePerf, "kubernetes-sigs/inference-perf", "010d12fb62cc3157b6bd228ef93dd865c7a05194", []Rule{
		{"goodput_percentage is good over successful requests.", "inference_perf/reportgen/base.py: summarize_requests, calculate_goodput_metrics"},
		{"ttft, tpot, itl (the mean of a request's steps), ntpot and request_latency are judged; a value that there is not is a miss.", "inference_perf/reportgen/base.py: calculate_goodput_metrics"},
		{"An answer of one token has neither ttft nor tpot.", "inference_perf/reportgen/base.py: compute_request_latency_metrics"},
		{"Each token of a chunk has the chunk's instant: steps within a chunk are 0.", "inference_perf/reportgen/base.py: correct_streamed_response_metrics"},
		{"Rates divide by the time from the first send to the last end, failed requests included; goodput by that of the successful ones.", "inference_perf/reportgen/base.py: summarize_requests, calculate_goodput_metrics"},
		{"Percentiles are numpy's, linear between order statistics.", "inference_perf/reportgen/base.py: summarize"},
	}},
	{DistServe, "LLMServe/DistServe", "edc675dc16e37a6020aed1f9951d9edbe24a18e9", []Rule{
		{"Attainment is the share of answers with ttft and tpot within both limits, inclusively.", "distserve/evaluation/2-benchmark-serving/lib/structs.py: get_slo_attainment"},
		{"tpot is (last − first) / (tokens − 1), 0 for one token.", "distserve/evaluation/2-benchmark-serving/lib/structs.py: RequestResult"},
		{"A request that failed is sent again until it is answered; its clock goes on.", "distserve/evaluation/2-benchmark-serving/2-benchmark-serving.py: send_request"},
		{"The clock starts with the sending.", "distserve/evaluation/2-benchmark-serving/2-benchmark-serving.py: send_request"},
		{"Goodput is the rate at which attainment reaches 90 %, interpolated between runs: one run has an attainment alone.", "distserve/evaluation/ae-scripts/e2e/_plot.py: find_intersection"},
	}},
	{MLPerf, "mlcommons/inference", "05a9cec3596d4018ed22b934d9b8c04b7369086c", []Rule{
		{"The clock of a sample starts when it was scheduled, not when it was issued.", "loadgen/loadgen.cc: ResponseDelegateDetailed::SampleComplete, TokenComplete"},
		{"tpot is (latency − ttft) / (tokens − 1) in whole nanoseconds; one token is an error.", "loadgen/logging.cc: AsyncLog::RecordSampleCompletion"},
		{"A run is valid or not: the P99 of ttft and the P99 of tpot, or that of latency, have to be within their limits.", "loadgen/results.cc: PerformanceSummary::PerfConstraintsMet; loadgen/mlperf.conf"},
		{"A percentile is the value at index n·p of the sorted values, cut to a whole number.", "loadgen/results.cc: PerformanceSummary::ProcessLatencies"},
		{"With t samples above the limit there have to be t + h samples, where h makes so few a 1 % event at the limit.", "loadgen/early_stopping.cc: MinPassingQueriesFinder"},
		{"The last sample has to be scheduled at least 600 s after the first.", "loadgen/results.cc: PerformanceSummary::MinDurationMet; loadgen/mlperf.conf"},
		{"Rates are (n − 1) over the time until the last issued sample was done.", "loadgen/results.cc: PerformanceSummary::LogSummary"},
		{"A sample that never completes is not known to it: the run does not end.", "loadgen/loadgen.cc: IssueQueries"},
	}},
}
