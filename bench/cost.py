#!/usr/bin/env python3
"""What the gateway costs beside nginx: CPU microseconds of the process per request and per streamed event, as multiples
of nginx in the same run. The peers take turns, pass by pass, so that a busy minute of the machine hits all of them.

Workloads: A 1 KB chat, 16 connections; B 100 KB growing conversations; C 400 KB; D 100 streams, per SSE event;
LA, LB: latency added at one connection, A and B. Everything is on in the gateway: session key, routing by `sticky` (or
--policy), accounting, usage, metrics, and the request log into a file.

Needs Go 1.21 and nginx; envoy and others if bench/peers/install.sh has put them into PEERS_HOME.

  ./dev bench                                   the table of docs/performance.md, some five minutes
  ./dev bench --peers nginx,haproxy,envoy       beside others too
  ./dev bench --workloads C --passes 1          a quick look
  ./dev bench --policy warm --workloads A,B --peers vllm-router-hash,vllm-router-sticky,vllm-router-program
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "bench" / "peers" / "run.sh"
BASE = int(os.environ.get("PEERS_BASE", "22100"))
TARGETS = {"A": 1.5, "B": 1.5, "C": 1.3, "D": 1.2}
NAMES = {"A": "A 1 KB", "B": "B 100 KB", "C": "C 400 KB", "D": "D per event", "LA": "A added latency, p50",
         "LB": "B added latency, p50"}


def wait_for(url, process):
    for _ in range(100):
        if process.poll() is not None:
            sys.exit(f"cost: ended at once: {process.args}")
        try:
            return urllib.request.urlopen(url, timeout=1).read()
        except OSError:
            time.sleep(0.1)
    sys.exit(f"cost: nothing answers at {url}")


def start_gateway(binary, work, threads=1, policy="sticky"):
    config = work / "warmgate.yaml"
    engines = "\n".join(f"      - url: http://127.0.0.1:{BASE + n}" for n in range(1, 5))
    config.write_text(f"listen: 127.0.0.1:{BASE + 110}\nadmin: 127.0.0.1:{BASE + 111}\npools:\n  - routing: {{policy: {policy}}}\n"
                      f"    engines:\n{engines}\n"
                      f"log: {{file: {work}/requests.log}}\n")
    process = subprocess.Popen([binary, "serve", "--config", str(config), "--threads", str(threads)],
                               stdout=subprocess.DEVNULL,
                               stderr=open(work / "gateway.err", "w"))
    wait_for(f"http://127.0.0.1:{BASE + 110}/health", process)
    time.sleep(1.2)  # until the engines have been found
    return process


def run_peer(peer, binary, options, work, workloads, threads=1):
    command = [str(RUN), "--workloads", workloads, "--rounds", str(options.rounds), "--secs", str(options.secs), "--waves", "1",
               "--out", str(work)]
    gateway = None
    if peer == "warmgate":
        gateway = start_gateway(binary, work, threads, options.policy)
        command += ["--url", f"http://127.0.0.1:{BASE + 110}", "--pid", str(gateway.pid), "--name", peer] + (["--no-pin"] if threads > 1 else [])
    else:
        command.append(peer)
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"cost: {peer} failed:\n{done.stdout[-500:]}{done.stderr[-1500:]}")
    finally:
        if gateway:
            gateway.terminate()
            gateway.wait()
    return [json.loads(line) for line in (work / f"{peer}.jsonl").read_text().splitlines()]


def measure(options, work):
    """{(workload, peer): [result]}"""
    results = {}
    peers = options.peers.split(",") + ["warmgate"]
    fleet = subprocess.Popen([str(RUN), "fleet", "--out", str(work)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{BASE}/stats", fleet)
        for number in range(options.passes):
            for peer in peers if number % 2 == 0 else reversed(peers):
                print(f"pass {number + 1} of {options.passes}: {peer}", file=sys.stderr, flush=True)
                for result in run_peer(peer, options.binary, options, work, options.workloads):
                    results.setdefault((result["workload"], peer), []).append(result)
    finally:
        fleet.terminate()
        fleet.wait()
    return peers, results


def figure(result):
    if result["workload"].startswith("L"):
        return result["p50_us"] - result["direct_p50_us"]
    return result["cpu_us_per_unit"]


def table(peers, results, workloads):
    lines = ["| workload | target | " + " | ".join(peers) + " | warmgate / nginx | of the best rounds |",
             "|---|---|" + "---|" * (len(peers) + 2)]
    for workload in workloads:
        figures = {peer: sorted(figure(r) for r in results[workload, peer]) for peer in peers}
        cells = [f"{v[0]:.0f} / **{statistics.median(v):.1f}** / {v[-1]:.0f}" for v in figures.values()]
        nginx, ours = figures.get("nginx"), figures["warmgate"]
        ratios = [f"**{statistics.median(ours) / statistics.median(nginx):.2f}**", f"{ours[0] / nginx[0]:.2f}"] if nginx else ["-", "-"]
        target = f"<= {TARGETS[workload]}" if workload in TARGETS else "<= envoy"
        lines.append(f"| {NAMES.get(workload, workload)} | {target} | " + " | ".join(cells + ratios) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build-release" / "warmgate"))
    parser.add_argument("--peers", default="nginx", help="names of run.sh list, by comma (nginx)")
    parser.add_argument("--policy", default="sticky", help="of the gateway (sticky)")
    parser.add_argument("--workloads", default="A,B,C,D,LA,LB")
    parser.add_argument("--passes", type=int, default=5, help="each peer once a pass (5)")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of a pass (2)")
    parser.add_argument("--secs", type=float, default=2, help="seconds of a round of A, B and C (2)")
    parser.add_argument("--json", help="all results into this file")
    options = parser.parse_args()
    if not Path(options.binary).exists():
        sys.exit(f"cost: there is no {options.binary}; ./dev build release makes it")
    with tempfile.TemporaryDirectory() as folder:
        peers, results = measure(options, Path(folder))
    if options.json:
        Path(options.json).write_text(json.dumps([r for rows in results.values() for r in rows]))
    print("CPU in µs, lowest / **median** / highest round; latency in µs:\n")
    print(table(peers, results, options.workloads.split(",")))
    failed = sum(r["errors"] for (_, peer), rows in results.items() if peer == "warmgate" for r in rows)
    done = sum(r["done"] for (_, peer), rows in results.items() if peer == "warmgate" for r in rows)
    print(f"\nwarmgate: {failed} errors of {done + failed}; "
          f"most memory {max(r['rss_peak_kb'] for (_, p), rows in results.items() if p == 'warmgate' for r in rows) / 1024:.0f} MiB")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
