"""Do a load on a server of chat completions with aiohttp, and print what was seen as JSON.

Streams are requested at the instants that the arguments say; requests for one JSON body are in a closed loop behind a
semaphore. Instants are Unix nanoseconds.
"""

import argparse
import asyncio
import json
import resource
import time

import aiohttp


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


async def stream(session, url, payload, name, due, begin):
    await asyncio.sleep(max(0, begin + due - time.monotonic()))
    at = []
    async with session.post(url, json=payload, headers={"X-Request-Id": name}) as response:
        response.raise_for_status()
        async for line in response.content:
            now = time.time_ns()
            if not line.startswith(b"data: "):
                continue
            data = line[len(b"data: "):].strip()
            if data == b"[DONE]":
                break
            choices = json.loads(data)["choices"]
            if choices and choices[0]["delta"].get("content"):
                at.append(now)
    return at


async def whole(session, semaphore, url, payload):
    async with semaphore:
        async with session.post(url, json=payload) as response:
            response.raise_for_status()
            body = await response.json()
            return body["usage"]["completion_tokens"]


async def run(args):
    payload = {
        "model": "fixed",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": args.tokens,
        "stream": args.rate > 0,
    }
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=120)
    streams = []
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        cpu, begin, zero = used(), time.monotonic(), time.time_ns()
        if args.rate > 0:
            names = [f"{args.id}-{i}" for i in range(args.requests)]
            dues = [i / args.rate for i in range(args.requests)]
            seen = await asyncio.gather(
                *(stream(session, args.url, payload, n, d, begin) for n, d in zip(names, dues))
            )
            streams = [
                {"Name": n, "Due": zero + int(1e9 * d), "Tokens": at} for n, d, at in zip(names, dues, seen)
            ]
        else:
            semaphore = asyncio.Semaphore(args.concurrency)
            await asyncio.gather(*(whole(session, semaphore, args.url, payload) for _ in range(args.requests)))
        cpu, took = used() - cpu, time.monotonic() - begin
    with open("/proc/self/status") as f:
        status = f.read()
    print(json.dumps({"CPU": cpu, "Took": took, "Status": status, "Streams": streams}))


parser = argparse.ArgumentParser()
parser.add_argument("--url")
parser.add_argument("--id")
parser.add_argument("--requests", type=int)
parser.add_argument("--tokens", type=int)
parser.add_argument("--rate", type=float, default=0, help="streams/s; 0: requests for one JSON body, in a closed loop")
parser.add_argument("--concurrency", type=int, default=0)
asyncio.run(run(parser.parse_args()))
