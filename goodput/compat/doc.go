// Package compat scores one set of records by the rules of other tools beside goodput's own, and says what makes the
// difference. It reads and writes the result files of vLLM's benchmark, too.
//
//	c := compat.NewScorer(slo.MustParse("ttft p95 < 400ms, tpot p95 < 30ms"))
//	for r, err := range records.All() {
//		…
//		c.Observe(r)
//	}
//	fmt.Print(c.Compare())
//
// Two tools that look at the same run print different numbers, since they differ in who is in the denominator, from when
// a clock runs, what a one-token answer is worth, and how long the run was. A [Comparison] has the figures of each side by
// side and, for each tool, the [Difference] that each of its rules makes here: those that make none are not in it.
// The differences in attainment are taken one after the other, from our rules to the tool's, so that they add up.
//
//	vLLM bench serve
//	  - 11 failed requests left out of the denominator: attainment +4.1 points
//	  - counts from the send: 34 of 200 requests had waited in the client, up to 1.9 s: attainment +2.5 points
//
// # The rules
//
// [Rules] has them, each with project, commit and source. In short:
//
//	                  share of              clock from  e2e ends with  tpot           one token        a failure is
//	ours              all offered           arrival     the end        tokens − first holds            a miss
//	vLLM bench serve  (prints a rate only)  send        last chunk     tokens − 1     holds (tpot 0)   left out; after a first chunk an error is none
//	AIPerf            all sent              send        last content   tokens − 1     misses           a miss
//	GuideLLM          decided requests      send        the end        tokens − 1     left out         a miss; cut off by the run: left out
//	inference-perf    successes             send        the end        tokens − 1     misses, no ttft  left out
//	DistServe         answers               send        the end        tokens − 1     holds (tpot 0)   sent again until answered
//	MLPerf Server     answers               arrival     the end        tokens − 1     not allowed      not known
//
// A record says how a request ended by goodput's rules. What another client would have made of the same bytes is known
// in part only: where a tool's own rule is documented here (an error in a stream that had begun), it is applied, and
// every other record that is no success counts as failed. Token counts are the record's, where some tools would run a
// tokenizer over the text. What was dropped was never sent, and so is in no other tool's figures.
//
// # Results of vLLM's benchmark
//
// [ReadVLLM] reads what vllm bench serve saves with --save-result --save-detailed, [WriteVLLM] writes it. What a version
// did not save is unknown and not 0, and [VLLMRun.Warnings] says so: start_times came in early 2026, latencies and
// queue_times after them; before that benchmark_serving.py wrote the same lists. The format has no flag of success. A
// request failed where there is an error's text, or neither a token nor a ttft; the text's last line says as what.
//
//	run, err := compat.ReadVLLM(file)
//	…
//	fmt.Print(run.Report(s))  // goodput's own report
//	fmt.Print(run.Compare(s)) // everybody's
//
// # Memory
//
// Percentiles of request metrics are exact for every tool, since some are defined on single values: a [Scorer] keeps 88
// bytes a request. Percentiles of steps (itl) come from package percentile's digests, exact up to 1,000 values and within
// its error beyond.
package compat
