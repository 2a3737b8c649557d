#!/usr/bin/env python3
"""Scores records.jsonl with the peers' own functions and prints golden.json.

    python3 golden.py --make > records.jsonl      # the records, which are in the repository
    python3 golden.py --vllm DIR@COMMIT --aiperf DIR@COMMIT --guidellm DIR@COMMIT --inference-perf DIR@COMMIT \
        --distserve DIR@COMMIT --mlperf DIR@COMMIT records.jsonl > golden.json

Each DIR is a checkout of the project (vllm-project/vllm, ai-dynamo/aiperf, vllm-project/guidellm,
kubernetes-sigs/inference-perf, LLMServe/DistServe, mlcommons/inference). The functions are taken out of its source files
by name and run as they are, between stand-ins for the classes around them, so that nothing of a peer is installed and
nothing of its code is in here. What is in golden.json was made from the text of those functions at the commits in it,
their comments and the branches that these records do not reach left out; how GuideLLM counts errored and cancelled requests, and loadgen its time per token, is not in
those functions: it is as vllm-project/guidellm#1085 and loadgen/logging.cc say, and done here. Needs Python 3.11, numpy, and g++ for loadgen. What a record is to a peer (which outcomes
it would have called a success, which instants it would have seen) is said in the function of that peer.
"""

import argparse
import ast
import collections
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import types
import typing
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SLO = {"ttft": 0.4, "tpot": 0.030, "e2e": 2.5}  # seconds
QUANTILES = [50, 90, 95, 99]


def make():
    """200 records with everything in them that the rules differ on."""
    rng = random.Random(20260301)
    print(json.dumps({"format": "goodput-records/1", "start": "2026-03-01T12:00:00Z"}, separators=(",", ":")))
    at, n = 0, 0
    for i in range(200):
        at += int(rng.expovariate(20) * 1e9)
        rec = {"start_ns": at}
        sent = rng.choice([0, 0, int(rng.uniform(0, 2e6)), int(rng.expovariate(1 / 0.12) * 1e9)])
        rec["sent_ns"] = sent
        outcome = rng.choices(
            ["success", "timeout", "rate_limited", "server_error", "stream_error", "connection_error", "truncated", "empty", "cancelled", "unfinished", "dropped"],
            [165, 6, 5, 3, 8, 3, 3, 3, 2, 3, 3])[0]
        tokens, t = [], sent + int(rng.lognormvariate(-1.6, 0.7) * 1e9)
        events = rng.choice([1, 2, 5, 20, 60, 60, 90])
        step = rng.lognormvariate(-3.9, 0.35)
        for k in range(events):
            tokens.append([t, rng.choice([1, 1, 1, 1, 2, 3]) if i % 3 else 1])
            t += int(step * rng.uniform(0.4, 1.6) * 1e9) + 1
        seen = sum(k for _, k in tokens)
        usage = 0 if i % 11 == 5 else seen + (i % 7 == 3)
        end = tokens[-1][0] + int(rng.uniform(0, 5e6))
        if outcome in ("rate_limited", "server_error", "empty"):
            tokens, usage, end = [], 0, sent + int(rng.uniform(1e6, 30e6))
        if outcome in ("connection_error", "dropped"):
            tokens, usage, end = [], 0, sent + int(rng.uniform(0, 3e6))
        if outcome == "timeout":
            end = 5_000_000_000
        if outcome in ("stream_error", "truncated", "cancelled", "unfinished"):
            usage = 0
        if outcome == "stream_error":
            outcome = "server_error"
        rec["tokens"], rec["first_output_ns"] = tokens, tokens[0][0] if tokens else None
        rec["end_ns"] = end
        rec["input_tokens"] = 0 if outcome in ("dropped", "connection_error") else rng.randrange(20, 900)
        rec["output_tokens"] = usage
        rec["outcome"] = outcome
        print(json.dumps(rec, separators=(",", ":")))
        n += 1
    print(json.dumps({"footer": True, "records": n, "complete": True}, separators=(",", ":")))


def take(path, names, space, methods=None):
    """Runs the definitions of those names in that file, decorators and base classes left out, in the name space."""
    import __future__

    tree = ast.parse(Path(path).read_text())
    body = []
    for node in tree.body:
        targets = [t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            targets.append(node.target.id)
        if getattr(node, "name", None) not in names and not set(targets) & set(names):
            continue
        if isinstance(node, ast.ClassDef):
            keep = [d for d in node.decorator_list if isinstance(d, ast.Name) and d.id == "dataclass"]
            node.decorator_list, node.bases, node.keywords = keep, [ast.Name("Stub", ast.Load())], []
            if methods is not None:
                node.body = [m for m in node.body if getattr(m, "name", None) in methods or
                             isinstance(m, (ast.Assign, ast.AnnAssign)) and any(
                                 getattr(t, "id", None) in methods for t in getattr(m, "targets", [getattr(m, "target", None)]))] or [ast.Pass()]
            for m in node.body:
                if isinstance(m, ast.FunctionDef):
                    m.decorator_list = [d for d in m.decorator_list if isinstance(d, ast.Name) and d.id in ("property", "classmethod", "staticmethod")]
        body.append(node)
    missing = set(names) - {getattr(n, "name", None) for n in body} - {
        getattr(t, "id", None) for n in body for t in getattr(n, "targets", [getattr(n, "target", None)])}
    assert not missing, f"{path} has no {missing}"
    tree.body = body
    ast.fix_missing_locations(tree)
    space.setdefault("Stub", Stub)
    exec(compile(tree, str(path), "exec", flags=__future__.annotations.compiler_flag, dont_inherit=True), space)
    return space


class Stub:
    """Stands for a base class: takes any field, gives any item."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def __class_getitem__(cls, _):
        return cls


NS = types.SimpleNamespace


class Record:
    def __init__(self, d):
        self.start, self.sent, self.end = d["start_ns"], d.get("sent_ns", 0), d["end_ns"]
        self.tokens = d.get("tokens", [])
        self.input, self.usage, self.outcome = d.get("input_tokens", 0), d.get("output_tokens", 0), d["outcome"]
        self.seen = sum(n for _, n in self.tokens)
        self.output = self.usage or self.seen
        self.ok = self.outcome == "success"

    def at(self, offset):
        return 1000.0 + (self.start + offset) / 1e9

    @property
    def first(self):
        return self.tokens[0][0]

    @property
    def last(self):
        return self.tokens[-1][0]


def ms(values):
    return {k: v / 1000 for k, v in values.items()}


def vllm(root, recs, strict=False):
    """bench serve sees instants from the send on; a stream in which a chunk came before an error event is a success.
    strict: only what the records call a success is one, as WriteVLLM writes it."""
    space = take(root / "vllm/benchmarks/serve.py", ["MILLISECONDS_TO_SECONDS_CONVERSION", "BenchmarkMetrics", "calculate_metrics"],
                 dict(np=np, warnings=warnings, dataclass=dataclass, TERM_PLOTLIB_AVAILABLE=False, print=lambda *a, **k: None))
    recs = [r for r in recs if r.outcome != "dropped"]
    outputs = []
    for r in recs:
        ok = r.ok if strict else bool(r.tokens) and (r.ok or r.outcome in ("server_error", "rate_limited", "rejected"))
        at = [r.at(t) for t, _ in r.tokens]
        outputs.append(NS(success=ok, error="", prompt_len=r.input, output_tokens=r.output, generated_text="", input_audio_duration=0.0,
                          start_time=r.at(r.sent), ttft=at[0] - r.at(r.sent) if ok else 0.0, itl=[b - a for a, b in zip(at, at[1:])] if ok else [],
                          latency=at[-1] - r.at(r.sent) if ok else 0.0))
    dur = max(r.at(r.end) for r in recs) - min(r.at(0) for r in recs)
    m, _ = space["calculate_metrics"](None, outputs, dur, None, QUANTILES, {"ttft": SLO["ttft"] * 1e3, "tpot": SLO["tpot"] * 1e3, "e2el": SLO["e2e"] * 1e3})
    dist = lambda name: {"mean": getattr(m, f"mean_{name}_ms") / 1e3, **{f"p{p}": v / 1e3 for p, v in getattr(m, f"percentiles_{name}_ms")}}
    if strict:
        flat = {k: v for k, v in m.__dict__.items() if not isinstance(v, list)}
        flat["duration"] = dur
        flat["total_input_tokens"], flat["total_output_tokens"] = flat.pop("total_input"), flat.pop("total_output")
        for name in ("ttft", "tpot", "itl", "e2el"):
            flat.update({f"p{p}_{name}_ms": v for p, v in getattr(m, f"percentiles_{name}_ms")})
        return flat
    return dict(completed=m.completed, failed=m.failed, good=round(m.request_goodput * dur), duration_s=dur, throughput_rps=m.request_throughput,
                goodput_rps=m.request_goodput, output_tps=m.output_throughput, total_tps=m.total_token_throughput, ttft=dist("ttft"), tpot=dist("tpot"),
                itl=dist("itl"), e2e=dist("e2el"), max_concurrent_requests=m.max_concurrent_requests, max_output_tokens_per_s=m.max_output_tokens_per_s)


def aiperf(root, recs):
    """A record with an error has no metrics of its own; the clock runs from the send to the last content."""
    class NoMetricValue(Exception):
        pass

    class Values(dict):
        def get_or_raise(self, metric):
            if self.get(metric.tag) is None:
                raise NoMetricValue(metric.tag)
            return self[metric.tag]

    types_ = root / "src/aiperf/metrics/types"
    space = dict(NoMetricValue=NoMetricValue, ClassVar=typing.ClassVar, STREAMED_REQUEST_TAG="streamed", np=np, MetricResult=lambda **k: NS(**k))
    for name in ("OutputSequenceLengthMetric", "RequestCountMetric", "ErrorRequestCountMetric"):
        space[name] = type(name, (), {"tag": name})
    take(types_ / "request_latency_metric.py", ["RequestLatencyMetric"], space, ["_parse_record", "tag"])
    take(types_ / "ttft_metric.py", ["TTFTMetric"], space, ["_parse_record", "tag"])
    take(types_ / "inter_token_latency_metric.py", ["_mismatch_warned", "_decode_token_count", "InterTokenLatencyMetric"], space, ["_parse_record", "tag"])
    take(types_ / "inter_chunk_latency_metric.py", ["InterChunkLatencyMetric"], space, ["_parse_record", "tag"])
    take(types_ / "max_response_metric.py", ["MaxResponseTimestampMetric"], space, ["_parse_record", "tag"])
    take(types_ / "good_request_count_metric.py", ["GoodRequestCountMetric"], space, ["_parse_record", "_passes", "_is_good", "tag", "_thresholds"])
    take(types_ / "good_request_fraction_metric.py", ["GoodRequestFractionMetric"], space, ["_derive_value", "tag"])
    take(root / "src/aiperf/metrics/metric_dicts.py", ["_PERCENTILE_QS", "metric_result_from_array"], space)
    by_tag = {space[n].tag: space[n] for n in ("TTFTMetric", "InterTokenLatencyMetric", "RequestLatencyMetric")}
    for c in by_tag.values():
        c.flags = NS(has_flags=lambda _: False)
    space["MetricRegistry"] = NS(get_class=by_tag.get)
    space["MetricFlags"] = NS(LARGER_IS_BETTER=1)
    good = space["GoodRequestCountMetric"]()
    good._thresholds = {"time_to_first_token": SLO["ttft"] * 1e9, "inter_token_latency": SLO["tpot"] * 1e9, "request_latency": SLO["e2e"] * 1e9}
    recs = [r for r in recs if r.outcome != "dropped"]
    valid = [r for r in recs if r.ok]
    columns, goods, ends, begins, output, total = collections.defaultdict(list), 0, [], [], 0, 0
    for r in valid:
        content = [NS(perf_ns=r.start + t) for t, _ in r.tokens]
        record = NS(start_perf_ns=r.start + r.sent, timestamp_ns=r.start + r.sent, content_responses=content, responses=[NS(perf_ns=r.start + r.end)],
                    token_counts=None)
        record.request = record
        values = Values({"OutputSequenceLengthMetric": r.output})
        if content:
            values["streamed"] = 1
        for name in ("RequestLatencyMetric", "TTFTMetric", "InterTokenLatencyMetric", "InterChunkLatencyMetric"):
            metric = space[name]()
            try:
                values[metric.tag] = metric._parse_record(record, values)
            except NoMetricValue:
                continue
            v = values[metric.tag]
            columns[metric.tag].extend(v if isinstance(v, list) else [v])
        goods += good._parse_record(record, values)
        ends.append(space["MaxResponseTimestampMetric"]()._parse_record(record, values))
        begins.append(record.timestamp_ns)
        output += r.output
        total += r.output + r.input
    dur = (max(ends) - min(begins)) / 1e9
    fraction = space["GoodRequestFractionMetric"]()._derive_value(
        {good.tag: goods, "RequestCountMetric": len(valid), "ErrorRequestCountMetric": len(recs) - len(valid)})

    def dist(tag):
        v = np.array(columns[tag], dtype=np.float64)
        m = space["metric_result_from_array"](tag, "", "", v, float(v.sum()))
        return {"mean": m.avg / 1e9, **{f"p{q}": getattr(m, f"p{q}") / 1e9 for q in QUANTILES}}

    return dict(completed=len(valid), failed=len(recs) - len(valid), good=goods, attainment=fraction, duration_s=dur, throughput_rps=len(valid) / dur,
                goodput_rps=goods / dur, output_tps=output / dur, total_tps=total / dur, ttft=dist("time_to_first_token"), tpot=dist("inter_token_latency"),
                itl=dist("inter_chunk_latency"), e2e=dist("request_latency"))


def guidellm(root, recs):
    """Errored requests do not conform, those that the run's end cancelled are in no figure, undetermined ones neither."""
    schemas = root / "src/guidellm/schemas"
    space = dict(np=np, math=math)
    take(schemas / "base/request_stats.py", ["GenerativeRequestStats"], space,
         ["request_latency", "prompt_tokens", "output_tokens", "time_to_first_token_ms", "inter_token_latency_ms", "first_token_iteration", "last_token_iteration"])
    take(schemas / "benchmark/goodput.py", ["GoodputSLO"], space, ["is_conforming", "evaluate_objectives"])
    take(schemas / "base/statistics.py", ["Percentiles", "DistributionSummary"], space, ["from_pdf", "from_values"])
    space["DistributionSummary"]._to_weighted_ndarray = staticmethod(
        lambda v, num_values_per_item: np.array([x if isinstance(x, tuple) else (x, 1.0) for x in v], dtype=float))
    space["DistributionSummary"]._sample_pdf = staticmethod(lambda *_: None)
    slo = space["GoodputSLO"](ttft_ms=SLO["ttft"] * 1e3, tpot_ms=SLO["tpot"] * 1e3, e2el_ms=SLO["e2e"] * 1e3)
    sent = [r for r in recs if r.outcome != "dropped"]
    stats, good, determined = [], 0, 0
    for r in sent:
        if r.outcome in ("cancelled", "unfinished"):
            continue
        if not r.ok:
            determined += 1
            continue
        timings = NS(request_start=r.at(r.sent), request_end=r.at(r.end), token_iterations=len(r.tokens),
                     first_token_iteration=r.at(r.first) if r.tokens else None, last_token_iteration=r.at(r.last) if r.tokens else None)
        s = space["GenerativeRequestStats"](info=NS(timings=timings), input_metrics=NS(total_tokens=r.input or None), output_metrics=NS(total_tokens=r.usage or None))
        verdict = slo.is_conforming(s.time_to_first_token_ms, s.inter_token_latency_ms, s.request_latency * 1000)
        if verdict is not None:
            determined += 1
            good += verdict
        stats.append(s)
    dur = max(r.at(r.end) for r in sent) - min(r.at(r.sent) for r in sent)

    def dist(values, scale):
        d = space["DistributionSummary"].from_values(values)
        return {"mean": d.mean * scale, **{f"p{q}": getattr(d.percentiles, f"p{q}") * scale for q in QUANTILES}}

    output = sum(s.output_tokens or 0 for s in stats)
    total = output + sum(s.prompt_tokens or 0 for s in stats)
    return dict(completed=len(stats), failed=len([r for r in sent if not r.ok and r.outcome not in ("cancelled", "unfinished")]), requests=determined, good=good,
                attainment=good / determined, duration_s=dur, throughput_rps=len(stats) / dur, goodput_rps=good / dur, output_tps=output / dur, total_tps=total / dur,
                ttft=dist([s.time_to_first_token_ms or 0.0 for s in stats], 1e-3),
                tpot=dist([(s.inter_token_latency_ms or 0.0, (s.output_tokens or 1.0) - 1.0) for s in stats], 1e-3),
                e2e=dist([s.request_latency or 0.0 for s in stats], 1))


def inference_perf(root, recs):
    """A request with an error is in no latency and not in goodput's denominator; the run's length has it."""
    streamed = type("StreamedResponseMetrics", (NS,), {})
    space = take(root / "inference_perf/reportgen/base.py",
                 ["SERVER_OUTPUT_TOKEN_KEYS", "safe_float", "summarize", "server_reported_tokens", "effective_output_tokens", "calculate_goodput_metrics",
                  "compute_request_latency_metrics"],
                 dict(np=np, defaultdict=collections.defaultdict, StreamedResponseMetrics=streamed))
    sent = [r for r in recs if r.outcome != "dropped"]
    ok, columns = [], collections.defaultdict(list)
    for r in sent:
        if not r.ok:
            continue
        times = [r.at(t) for t, n in r.tokens for _ in range(max(n, 1))]
        m = NS(start_time=r.at(r.sent), end_time=r.at(r.end), ttft_slo_sec=None, tpot_slo_sec=None,
               info=NS(request_metrics=NS(text=NS(input_tokens=r.input)), response_metrics=streamed(output_token_times=times, output_tokens=r.output, server_usage=None)))
        for k, v in space["compute_request_latency_metrics"](m).items():
            columns[k].append(v)
        ok.append(m)
    config = NS(constraints={"ttft": SLO["ttft"], "tpot": SLO["tpot"], "request_latency": SLO["e2e"]})
    g = space["calculate_goodput_metrics"](ok, config, columns["time_to_first_token"], columns["time_per_output_token"], columns["normalized_time_per_output_token"],
                                           columns["request_latency"], columns["inter_token_latency"])
    total_time = max(r.at(r.end) for r in sent) - min(r.at(r.sent) for r in sent)

    def dist(values):
        s = space["summarize"]([v for v in values if v is not None], QUANTILES)
        return {"mean": s["mean"], "p50": s["median"], **{f"p{q}": s[f"p{q}"] for q in QUANTILES[1:]}}

    output = sum(m.info.response_metrics.output_tokens for m in ok)
    total = output + sum(m.info.request_metrics.text.input_tokens for m in ok)
    return dict(completed=len(ok), failed=len(sent) - len(ok), requests=g["total_requests"], good=g["good_requests"], attainment=g["goodput_percentage"] / 100,
                duration_s=total_time, throughput_rps=len(ok) / total_time, goodput_rps=g["request_goodput"], token_goodput_tps=g["token_goodput"],
                output_tps=output / total_time, total_tps=total / total_time, ttft=dist(columns["time_to_first_token"]), tpot=dist(columns["time_per_output_token"]),
                itl=dist([v for d in columns["inter_token_latency_deltas"] for v in d]), e2e=dist(columns["request_latency"]))


def distserve(root, recs):
    """Only answers are in its results: a request that failed is sent again until it has one."""
    path = next(p for p in sorted(root.rglob("structs.py")) if "get_slo_attainment" in p.read_text())
    space = take(path, ["RequestResult", "count_valid_results", "get_slo_attainment"], {})
    results = [space["RequestResult"](r.input, r.output, r.at(r.sent), r.at(r.end), [r.at(t) for t, _ in r.tokens]) for r in recs if r.ok and r.tokens]
    good = space["count_valid_results"](results, SLO["ttft"], SLO["tpot"])
    mean = lambda name: {"mean": float(np.mean([getattr(x, name) for x in results]))}
    return dict(completed=len(results), requests=len(results), good=good, attainment=space["get_slo_attainment"](results, SLO["ttft"], SLO["tpot"]),
                ttft=mean("ftl"), tpot=mean("tpot"), e2e=mean("latency"))


HARNESS = r"""
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <map>
#include <tuple>
#include <vector>
typedef int64_t QuerySampleLatency;
enum class TestScenario { SingleStream, MultiStream, Server, Offline };
struct Percentile { double percentile; QuerySampleLatency sample_latency = 0; };
struct PerformanceSummary {
  struct { TestScenario scenario = TestScenario::Server; std::chrono::nanoseconds target_latency{0}; bool use_token_latencies = true; } settings;
  struct { std::vector<QuerySampleLatency> sample_latencies; size_t queries_issued = 0;
    struct { std::vector<QuerySampleLatency> first_token_latencies, time_per_output_token_arr; std::vector<int64_t> tokens_per_sample; } token_results; } pr;
  size_t sample_count = 0, query_count = 0, overlatency_query_count = 0, overlatency_first_token_count = 0; int64_t token_count = 0;
  QuerySampleLatency sample_latency_min, sample_latency_max, sample_latency_mean, first_token_latency_min, first_token_latency_max, first_token_latency_mean,
      time_per_output_token_min, time_per_output_token_max, time_per_output_token_mean;
  Percentile target_latency_percentile{0.99}, token_target_latency_percentile{0.99}, target_tpot_percentile{0.99};
  std::vector<Percentile> latency_percentiles{{.5}, {.9}, {.95}, {.99}}, token_latency_percentiles{{.5}, {.9}, {.95}, {.99}}, tpot_percentiles{{.5}, {.9}, {.95}, {.99}};
  void ProcessLatencies();
  void ProcessTokenLatencies();
};
namespace mlperf { namespace loadgen {
struct MinPassingQueriesFinder {
  int64_t operator()(int64_t t, double p, double d, double c);
  std::map<std::tuple<double, double, double>, std::map<int64_t, int64_t>> caches_;
};
#include "early.inc"
#include "results.inc"
int main() {
  PerformanceSummary s; size_t n; int64_t e, f, t, k;
  std::cin >> n;
  for (size_t i = 0; i < n; i++) {
    std::cin >> e >> f >> t >> k;
    s.pr.sample_latencies.push_back(e); s.pr.token_results.first_token_latencies.push_back(f);
    s.pr.token_results.time_per_output_token_arr.push_back(t); s.pr.token_results.tokens_per_sample.push_back(k);
  }
  s.pr.queries_issued = n;
  s.ProcessLatencies();
  auto out = [](const char* name, QuerySampleLatency mean, std::vector<Percentile>& p) {
    std::cout << "\"" << name << "\":{\"mean\":" << mean << ",\"p50\":" << p[0].sample_latency << ",\"p90\":" << p[1].sample_latency << ",\"p95\":" << p[2].sample_latency
              << ",\"p99\":" << p[3].sample_latency << "},"; };
  std::cout << "{"; out("e2e", s.sample_latency_mean, s.latency_percentiles); out("ttft", s.first_token_latency_mean, s.token_latency_percentiles);
  out("tpot", s.time_per_output_token_mean, s.tpot_percentiles);
  std::cout << "\"tokens\":" << s.token_count << ",\"early\":[";
  mlperf::loadgen::MinPassingQueriesFinder find;
  std::cin >> n;
  for (size_t i = 0; i < n; i++) { std::cin >> t; std::cout << (i ? "," : "") << "[" << t << "," << find(t, 0.99, 0.0, 0.99) << "]"; }
  std::cout << "]}" << std::endl;
}
"""


def mlperf(root, recs):
    """The clock runs from the scheduled instant; a sample that never completes is not known to it; one token is an error."""
    early = (root / "loadgen/early_stopping.cc").read_text()
    results = (root / "loadgen/results.cc").read_text()
    early = early[early.index("double lbeta"):]
    results = results[results.index("void PerformanceSummary::ProcessLatencies()"):results.index("bool PerformanceSummary::EarlyStopping")]
    # Statistics per query are of MultiStream alone and need fields that the stand-in has not.
    results = re.sub(r"(if \(settings\.scenario != TestScenario::MultiStream\) \{\s*return;\s*\}).*?\n\}\n", r"\1\n}\n", results, count=1, flags=re.S)
    ok = [r for r in recs if r.ok and r.tokens and r.output > 1]
    wanted = [0, 1, 2, 5, 10, 37, 120]
    lines = [str(len(ok))] + [f"{r.end} {r.first} {(r.end - r.first) // (r.output - 1)} {r.output}" for r in ok] + [str(len(wanted)), " ".join(map(str, wanted))]
    with tempfile.TemporaryDirectory() as tmp:
        Path(tmp, "early.inc").write_text(early)
        Path(tmp, "results.inc").write_text(results)
        Path(tmp, "main.cc").write_text(HARNESS)
        subprocess.run(["g++", "-std=c++17", "-o", f"{tmp}/main", f"{tmp}/main.cc"], check=True)
        text = subprocess.run([f"{tmp}/main"], input="\n".join(lines), capture_output=True, text=True, check=True).stdout
    out = json.loads(text)
    for name in ("ttft", "tpot", "e2e"):
        out[name] = {k: v / 1e9 for k, v in out[name].items()}
    begin = min(r.start for r in recs)
    final = max(ok, key=lambda r: r.start)
    done = (final.start + final.end - begin) / 1e9
    return dict(completed=len(ok), duration_s=done, throughput_rps=(len(ok) - 1) / done, output_tps=out["tokens"] / done, ttft=out["ttft"], tpot=out["tpot"],
                e2e=out["e2e"], early=out["early"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", action="store_true")
    peers = {"vllm": vllm, "aiperf": aiperf, "guidellm": guidellm, "inference-perf": inference_perf, "distserve": distserve, "mlperf": mlperf}
    for name in peers:
        parser.add_argument("--" + name)
    parser.add_argument("records", nargs="?")
    args = parser.parse_args()
    if args.make:
        return make()
    lines = [json.loads(line) for line in open(args.records)]
    recs = [Record(d) for d in lines[1:-1]]
    golden = {"slo": SLO, "made_by": "golden.py, with numpy " + np.__version__, "commits": {}, "scores": {}}
    for name, score in peers.items():
        where = getattr(args, name.replace("-", "_"))
        root, _, commit = where.rpartition("@")
        golden["commits"][name] = commit
        golden["scores"][name] = score(Path(root), recs)
        if name == "vllm":
            golden["vllm_result"] = vllm(Path(root), recs, strict=True)
    json.dump(golden, sys.stdout, indent=1, default=float)
    print()


if __name__ == "__main__":
    main()
