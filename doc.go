// Package goodputkit is the map of the house; there is nothing in it to call.
//
// Goodput is the throughput that users feel: requests that succeed and meet their service-level objective, per second.
//
//	goodput = successful requests that meet the SLO / time = throughput × attainment
//
// Four rooms, one job each. A package may import what stands lower; nothing imports upwards or sideways.
//
//	examples/                programs and tests to copy from (a module of its own)
//	loadgen/                 makes load, yields records
//	    loadgen/openai       OpenAI-compatible endpoints as a target
//	    loadgen/httptarget   any HTTP service as a target
//	    loadgen/llmsim       a simulated LLM engine: as a server, as a target, in virtual time
//	    loadgen/workload     prompts, length distributions, trace files
//	    loadgen/capacity     how much load a system can take: a sweep, and a search for the goodput limit
//	goodput/                 records in, report out
//	    goodput/curve        the load-latency curve, its limits, and comparing two systems
//	    goodput/report       reports and curves as text, Markdown, CSV, JSON, and a page with charts
//	    goodput/monitor      live windows, error budgets and alerts of a service that runs
//	        goodput/monitor/openslo    its SLO as an OpenSLO file, and back
//	        goodput/monitor/promrules  its alerts as rules for Prometheus, and a Grafana dashboard
//	    goodput/goodputprom  what a monitor counts, for Prometheus (a module of its own)
//	    goodput/goodputotel  the same for OpenTelemetry (a module of its own)
//	    goodput/admission    admit, degrade or refuse against the SLO
//	    goodput/compat       the same records by other tools' rules; vLLM's result files
//	    goodput/posthoc      what a run would have been by other thresholds
//	    goodput/goodputhttp  records of HTTP requests: a middleware, and a client's transport
//	    goodput/goodputtest  assertions for tests of SLO logic
//	slo/     percentile/     what good means    how slow is slow
//
// Start with [github.com/goodputkit/goodputkit/goodput] to measure a service that exists, and with
// [github.com/goodputkit/goodputkit/loadgen] to put load on one;
// package [github.com/goodputkit/goodputkit/loadgen/capacity] finds out how much of it one can take.
package goodputkit
