#!/usr/bin/env python3
"""What the gateway holds and what it does when nothing happens: memory of thousands of open streams, CPU while idle
before 64 replicas, CPU per request with two I/O loops against one, and the cost of a decision.

  ./dev bench limits             all of it, some three minutes
  ./dev bench limits --only memory,idle
"""
import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cost import BASE, ROOT, RUN, start_gateway, wait_for, run_peer

TICK = os.sysconf("SC_CLK_TCK")
CHECKS = ("memory", "idle", "loops", "decision")


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


# ---- memory: streams that stay open ----------------------------------------------------------------------------------

REQUEST = (b'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nx-session-id: s%d\r\n'
           b'x-sim-events: 1000\r\nx-sim-interval-ms: 4000\r\nContent-Length: %d\r\n\r\n%s')
BODY = b'{"messages":[{"role":"user","content":"' + b"hello " * 400 + b'"}],"model":"sim","stream":true,"max_tokens":9}'


async def open_stream(number, limit):
    async with limit:
        reader, writer = await asyncio.open_connection("127.0.0.1", BASE + 110, limit=4096)
        writer.write(REQUEST % (number, len(BODY), BODY))
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in head[:20]:
            raise RuntimeError(head.decode())
        await reader.readuntil(b"data:")
    return reader, writer


async def drain(reader):
    while await reader.read(65536):
        pass


async def memory_of(pid, counts):
    rows, streams, limit = [], [], asyncio.Semaphore(200)
    for count in counts:
        streams += await asyncio.gather(*[open_stream(n, limit) for n in range(len(streams), count)])
        drains = [asyncio.create_task(drain(reader)) for reader, _ in streams]
        await asyncio.sleep(9)  # two events on each
        rows.append((count, resident_mib(pid)))
        for task in drains:
            task.cancel()
        await asyncio.gather(*drains, return_exceptions=True)
    for _, writer in streams:
        writer.transport.abort()
    return rows


def check_memory(options, work):
    fleet = subprocess.Popen([str(RUN), "fleet", "--out", str(work)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    gateway = None
    try:
        wait_for(f"http://127.0.0.1:{BASE}/stats", fleet)
        gateway = start_gateway(options.binary, work)
        idle = resident_mib(gateway.pid)
        print(f"memory, no stream: {idle:.0f} MiB")
        for count, mib in asyncio.run(memory_of(gateway.pid, [1000, 9000])):
            bound = {1000: 60, 9000: 360}[count]
            print(f"memory, {count} open streams: {mib:.0f} MiB (at most {bound}): {'fine' if mib <= bound else 'TOO MUCH'}")
    finally:
        for process in filter(None, (gateway, fleet)):
            process.terminate()
            process.wait()


# ---- idle ------------------------------------------------------------------------------------------------------------

def start_replica(binary):
    process = subprocess.Popen([binary, "replica", "--listen", "127.0.0.1:0", "--ranks", "4"], stdout=subprocess.PIPE, text=True)
    return process, re.search(r"http://\S+", process.stdout.readline())[0]


def check_idle(options, work):
    replicas = [start_replica(options.binary) for _ in range(16)]
    gateway = None
    try:
        engines = [word for _, url in replicas for word in ("--engine", url)]
        gateway = subprocess.Popen([options.binary, "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *engines],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        gateway.stdout.readline()
        time.sleep(3)
        before, start = cpu_seconds(gateway.pid), time.monotonic()
        time.sleep(options.idle_for)
        share = (cpu_seconds(gateway.pid) - before) / (time.monotonic() - start)
        print(f"idle, 64 replicas scraped each second: {100 * share:.2f} % of a core (at most 1): {'fine' if share <= 0.01 else 'TOO MUCH'}")
    finally:
        for process in filter(None, [gateway, *(process for process, _ in replicas)]):
            process.terminate()
            process.wait()


# ---- two loops -------------------------------------------------------------------------------------------------------

def check_loops(options, work):
    figures = {1: [], 2: []}
    fleet = subprocess.Popen([str(RUN), "fleet", "--out", str(work)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{BASE}/stats", fleet)
        for number in range(options.passes):
            for loops in (1, 2) if number % 2 == 0 else (2, 1):
                options.rounds, options.secs = 1, 3
                rows = run_peer("warmgate", options.binary, options, work, "W", threads=loops)
                figures[loops] += [(r["cpu_us_per_unit"], r["done"] / r["seconds"]) for r in rows]
    finally:
        fleet.terminate()
        fleet.wait()
    one, two = (statistics.median(cpu for cpu, _ in figures[n]) for n in (1, 2))
    print(f"256 connections: {one:.1f} µs a request with one I/O loop, {two:.1f} with two: {two / one:.2f}x (at most 1.1): "
          f"{'fine' if two <= 1.1 * one else 'TOO MUCH'}")
    if (os.cpu_count() or 1) < 6:
        print(f"256 connections, requests per second of two loops against one: skipped ({os.cpu_count()} cores, it takes six)")
    else:
        rates = [statistics.median(rate for _, rate in figures[n]) for n in (1, 2)]
        print(f"256 connections, two loops serve {rates[1] / rates[0]:.2f}x the requests of one (at least 1.8)")


def check_decision(options, work):
    test = Path(options.binary).parent / "fleet_test"
    if not test.exists():
        print(f"decision: skipped: there is no {test}")
        return
    out = subprocess.run([test, "--gtest_filter=Cost.*"], capture_output=True, text=True).stdout
    print("\n".join(line for line in out.splitlines() if line.startswith(("decision", "turn of warm", "memory"))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build-release" / "warmgate"))
    parser.add_argument("--only", default=",".join(CHECKS))
    parser.add_argument("--passes", type=int, default=4, help="of the loops (4)")
    parser.add_argument("--idle-for", type=float, default=20, help="seconds (20)")
    parser.set_defaults(policy="sticky")  # of the gateway, as cost.py starts it
    options = parser.parse_args()
    for name in options.only.split(","):
        if name not in CHECKS:
            sys.exit(f"limits: there is no {name}; there are {', '.join(CHECKS)}")
        with tempfile.TemporaryDirectory() as folder:
            globals()[f"check_{name}"](options, Path(folder))


if __name__ == "__main__":
    main()
