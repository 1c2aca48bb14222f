#!/usr/bin/env python3
"""What the gateway costs: CPU microseconds of its process per request and per streamed event, beside what the load itself
takes. The engine is a bare socket server in this process; CPU time comes from /proc, so the load generator's own speed
does not matter. The engine writes events as fast as it can, so that one read brings many: the figure per event is a lower
bound, of a busy stream.

usage: ./dev bench [--requests N] [--events N] [--connections N] [--json]
"""
import argparse
import json
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "integration"))

from harness import answers, sse  # noqa: E402
from harness.fake_engine import FakeEngine  # noqa: E402
from harness.gateway import Gateway, pool  # noqa: E402
from harness.requests import PATHS, body, session  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mib(pid):
    line = next(l for l in Path(f"/proc/{pid}/status").read_text().splitlines() if l.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def together(count, work):
    threads = [threading.Thread(target=work, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measure(gateway, work):
    """(CPU seconds of the gateway, wall seconds)"""
    before, start = cpu_seconds(gateway.process.pid), time.monotonic()
    work()
    return cpu_seconds(gateway.process.pid) - before, time.monotonic() - start


def bench_requests(gateway, engine, options):
    each = options.requests // options.connections

    def client(number):
        with gateway.connect(timeout=120) as connection:
            for _ in range(each):
                answer = connection.post(PATHS["chat"], body("chat", text="x" * 1000), session(f"s{number}"))
                assert answer.status == 200, answer.body
    client(0)  # warm
    cpu, wall = measure(gateway, lambda: together(options.connections, client))
    return {"what": "request", "count": each * options.connections, "cpu_us_each": 1e6 * cpu / (each * options.connections), "wall_s": wall}


def bench_events(gateway, engine, options):
    each = options.events // options.connections
    event = sse.data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                      "choices": [{"index": 0, "delta": {"content": " word"}, "finish_reason": None}]})

    def play(exchange):
        exchange.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        for _ in range(each):
            exchange.chunk(event)
        exchange.chunk(sse.data("[DONE]"))
        exchange.end()
    engine.default = play

    def client(number):
        with gateway.connect(timeout=120) as connection:
            answer = connection.request("POST", PATHS["chat"], body("chat", stream=True), session(f"s{number}")).answer()
            while answer.read_piece():
                answer.body = answer.body[-64:]
            assert answer.ended == "chunked", answer.ended
    cpu, wall = measure(gateway, lambda: together(options.connections, client))
    return {"what": "streamed event", "count": each * options.connections, "cpu_us_each": 1e6 * cpu / (each * options.connections), "wall_s": wall}


def main():
    parser = argparse.ArgumentParser(prog="./dev bench", description="CPU cost of the gateway per request and per streamed event.")
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    engine = FakeEngine()
    engine.default = answers.normal()
    with tempfile.TemporaryDirectory(prefix="warmgate-bench-") as folder:
        gateway = Gateway(folder, [pool([engine])], log={"file": str(Path(folder) / "requests.log")})
        try:
            rows = [bench_requests(gateway, engine, options), bench_events(gateway, engine, options)]
            memory = resident_mib(gateway.process.pid)
        finally:
            gateway.stop()
            engine.stop()
    if options.json:
        print(json.dumps({"rows": rows, "resident_mib": memory}))
        return
    for row in rows:
        print(f"{row['count']:>8} x {row['what']:<15} {row['cpu_us_each']:8.1f} us CPU each   ({row['wall_s']:.1f} s in all)")
    print(f"resident memory afterwards: {memory:.1f} MiB")


if __name__ == "__main__":
    main()
