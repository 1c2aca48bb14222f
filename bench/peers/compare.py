#!/usr/bin/env python3
"""warmgate beside vllm-router on the same simulated engines: what the clients of agents get, step by step.

Four `warmgate replica` of one rank each, plain vLLM servers to whoever stands before them, run --speed times faster than
the modelled machine. Before them, one at a time under load: warmgate with `warm` and with `sticky`, and vllm-router 0.1.17
with consistent_hash, with sticky_least_loaded and with program scheduling. The last one is told what warmgate has to find
out: the true capacity and the coefficients of the machine, fitted from the preset's own cost model, and all its times are
divided by the speed. It runs twice: as it comes otherwise, and `tuned` with the settings that served it best here.
Beside `warm` as it comes there is its mode `throughput`: residents stay until they pause, as program scheduling lets them.
`warmgate bench` is the client, one run a cell, the same sizes and pauses for all targets of a cell.

Needs vllm-router: python3 -m venv DIR/vr && DIR/vr/bin/pip install --only-binary :all: vllm-router==0.1.17
(bench/peers/install.sh does so for all peers). PEERS_HOME=DIR or --peers-home DIR says where.

  bench/peers/compare.py                                        the table of docs/benchmarks.md, some 25 minutes
  bench/peers/compare.py --sessions 16,32 --thinks none         a part of it
  bench/peers/compare.py --targets warm,program --speed 5       two of the targets, on a slower machine
  bench/peers/compare.py --json rows.json                       keeps the rows; --table rows.json prints them again
"""
import argparse
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What a step costs (src/sim/preset.cpp): seconds, bytes and tokens; and how many tokens a rank's cache holds.
MACHINES = {
    "a4000-qwen3-4b": {"base": 0.030, "kv": 147_456 / 752e9, "share": 1.0, "rate": 4300, "hidden": 0.024, "tokens": 34_000},
    "rtx5090-27b": {"base": 0.014, "kv": 65_536 / 1.07e12, "share": 0.25, "rate": 2500, "hidden": 0.0112, "tokens": 150_000},
}
BATCH = 2048  # tokens of a step
NAMES = {"warm": "warmgate warm", "throughput": "warmgate warm, throughput", "sticky": "warmgate sticky", "hash": "vllm-router consistent_hash",
         "least-loaded": "vllm-router sticky_least_loaded", "program": "vllm-router program scheduling",
         "program-tuned": "the same, tuned"}
OURS = {"warm": {"policy": "warm"}, "throughput": {"policy": "warm", "mode": "throughput"}, "sticky": {"policy": "sticky"}}
# It holds no seat before a window of so many samples of each rank is full, and lets a session go on for so many turns.
TUNED = {"stats_window_size": 20, "max_segment_rounds": 6}
TICK = os.sysconf("SC_CLK_TCK")


def program_settings(preset, speed, others):
    """Its reference settings but for what depends on the machine. A prompt of n tokens takes n/BATCH steps, each with a
    fixed part, its tokens' time, and reading the n/2 tokens of context that there are on average."""
    m = MACHINES[preset]
    a_thousand = (1 / m["rate"] + (m["base"] - m["hidden"]) / BATCH) * 1000
    squared = m["share"] * m["kv"] / (2 * BATCH) * 1e6
    decode_step = m["base"] + m["kv"] * m["tokens"]
    mixed_step = decode_step + BATCH / m["rate"] - m["hidden"]
    return {
        "program_scheduling_enable_key": "auto", "global_queue": True, "binding_strategy": "least_program_count",
        "token_capacity_per_dp_rank": m["tokens"], "metrics_interval_seconds": 1 / speed, "max_acting_ttl_seconds": 10 / speed,
        "force_resume_timeout_seconds": 300 / speed, "shared_prefix_freshness_warmup_seconds": 100 / speed,
        "prefill_cost_model": {"intercept_seconds": m["base"] / speed, "linear_seconds_per_1k_tokens": a_thousand / speed,
                               "quadratic_seconds_per_1k_tokens_squared": squared / speed,
                               "decode_throughput_alpha": decode_step / mixed_step},
        "decode_throughput_model": {"fixed_step_seconds": m["base"] / speed, "batch_step_seconds_per_request": 0.0,
                                    "context_step_seconds_per_token": m["kv"] / speed},
        **others,
    }


# ---- processes ----

def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def cpu_seconds(pid):
    """Of a process and its children, user and system."""
    total, pids = 0.0, [pid]
    while pids:
        one = pids.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            children = Path(f"/proc/{one}/task/{one}/children").read_text().split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / TICK
        pids += [int(child) for child in children]
    return total


def machine_idle():
    fields = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (fields[3] + fields[4]) / TICK


class Fleet:
    """The engines and the targets before them; ended by pid with the run."""

    def __init__(self, options, folder):
        self.options, self.folder, self.processes = options, folder, []
        self.engines = [self.warmgate(f"engine{n}", "replica", "--listen", "127.0.0.1:0", "--preset", options.preset, "--speed",
                                      str(options.speed), "--name", f"r{n}", "--seed", str(n + 1)) for n in range(4)]

    def run(self, name, command, **kwargs):
        log = open(self.folder / f"{name}.log", "wb")
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stderr=log, stdout=log, **kwargs)
        self.processes.append(process)
        return process

    def wait(self, name, process, condition):
        for _ in range(150):
            value = condition()
            if value:
                return value
            if process.poll() is not None:
                break
            time.sleep(0.2)
        sys.exit(f"compare: {name} does not start:\n{(self.folder / f'{name}.log').read_text(errors='replace')[-2000:]}")

    def warmgate(self, name, *arguments):
        """(url, process) of a warmgate subcommand."""
        process = self.run(name, [self.options.binary, *arguments])
        log = self.folder / f"{name}.log"
        line = self.wait(name, process, lambda: re.search(r"listening on (\S+)", log.read_text()))
        return line.group(1), process

    def target(self, name):
        if name in OURS:
            config = self.folder / f"{name}.json"  # JSON is YAML
            config.write_text(json.dumps({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "pools": [
                {"routing": OURS[name], "engines": [{"url": url} for url, _ in self.engines]}]}))
            return self.warmgate(name, "serve", "--config", str(config), "--time-scale", str(self.options.speed))
        flags = ["--policy", "sticky_least_loaded" if name == "least-loaded" else "consistent_hash"]
        if name.startswith("program"):
            others = {**(TUNED if name == "program-tuned" else {}), **self.options.program_settings}
            settings = json.dumps(program_settings(self.options.preset, self.options.speed, others))
            flags += ["--enable-program-scheduling", "--program-scheduling-config-json", settings]
        port, router = free_port(), self.options.peers_home / "vr" / "bin" / "vllm-router"
        process = self.run(name, [router, "--host", "127.0.0.1", "--port", port, "--prometheus-port", free_port(), "--log-level", "warning",
                                  "--worker-startup-check-interval", "1", *flags, "--worker-urls", *[url for url, _ in self.engines]],
                           env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)})  # third-party code gets no variables of ours
        url = f"http://127.0.0.1:{port}"

        def answers():
            try:
                return urllib.request.urlopen(f"{url}/health", timeout=2).status == 200
            except OSError:
                return False
        self.wait(name, process, answers)
        return url, process

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


# ---- one cell ----

def measure(options, fleet, name, url, process, think, sessions):
    command = [options.binary, "bench", "--json", "--url", f"{name}={url}", "--session-header", "x-session-id", "--time-scale",
               options.speed, "--sessions", sessions, "--think", think, "--step", options.step, "--warmup", options.warmup, "--seeds",
               options.seeds, "--preset", options.preset, "--reset-prefix-cache"]
    command += [word for engine, _ in fleet.engines for word in ("--engine", f"{name}={engine}")]
    engines, proxy, idle, began = [cpu_seconds(p.pid) for _, p in fleet.engines], cpu_seconds(process.pid), machine_idle(), time.monotonic()
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    took = time.monotonic() - began
    if not done.stdout:
        sys.exit(f"compare: bench failed before {name}: {done.stderr[-500:]}")
    page = json.loads(done.stdout)
    row = page["rows"][0] if page["rows"] else {"turns": 0}
    shares = [(cpu_seconds(p.pid) - before) / took for (_, p), before in zip(fleet.engines, engines)]
    row.update(target=name, think=think, sessions=sessions, idle_share=(machine_idle() - idle) / took / os.cpu_count(),
               proxy_share=(cpu_seconds(process.pid) - proxy) / took, engine_shares=shares, cores=os.cpu_count(),
               generator_share=page["generator_processor_share"], speed=options.speed)
    return row


def measure_all(options, folder):
    rows, fleet = [], Fleet(options, folder)
    try:
        targets = {name: fleet.target(name) for name in options.targets}
        cells = [(think, sessions) for think in options.thinks for sessions in options.sessions]
        for number, (think, sessions) in enumerate(cells):
            turned = number % len(options.targets)  # nobody is always the first
            for name in options.targets[turned:] + options.targets[:turned]:
                rows.append(measure(options, fleet, name, *targets[name], think, sessions))
                row = rows[-1]
                print(f"{len(rows):3} of {len(cells) * len(targets)}: think {think}, {sessions} sessions, {NAMES[name]}: "
                      f"{row.get('output_tokens_per_min') or 0:.0f} tokens/min, machine idle {row['idle_share']:.0%}", file=sys.stderr, flush=True)
                if options.json:
                    Path(options.json).write_text(json.dumps(rows, indent=1))
    finally:
        fleet.stop()
    return rows


# ---- the table ----

def figure(row, key, form):
    return "-" if row.get(key) is None else format(row[key], form)


def ratio(row, base, key):
    return "-" if not row.get(key) or not base or not base.get(key) else f"{row[key] / base[key]:.2f}x"


def table(rows):
    lines = ["| think | sessions | | tokens/min | to warm | TTFB p50 s | to warm | p95 s | mean s | sessions/h | session p50 s | p95 s | hits % | proxy's CPU |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    lost = []
    for row in sorted(rows, key=lambda r: (r["think"] != "none", r["think"], r["sessions"], list(NAMES).index(r["target"]))):
        base = next((r for r in rows if (r["think"], r["sessions"], r["target"]) == (row["think"], row["sessions"], "warm")), None)
        lines.append(f"| {row['think']} | {row['sessions']} | {NAMES[row['target']]} | {figure(row, 'output_tokens_per_min', ',.0f')} | "
                     f"{ratio(row, base, 'output_tokens_per_min')} | {figure(row, 'ttfb_p50_s', '.2f')} | {ratio(row, base, 'ttfb_p50_s')} | "
                     f"{figure(row, 'ttfb_p95_s', '.2f')} | {figure(row, 'ttfb_mean_s', '.1f')} | {figure(row, 'sessions_per_hour', '.0f')} | "
                     f"{figure(row, 'session_time_p50_s', '.0f')} | {figure(row, 'session_time_p95_s', '.0f')} | "
                     f"{100 * (row.get('prefix_hit_share') or 0):.0f} | {row['proxy_share']:.1%} |")
        if not base or row is base or row["target"] in OURS:
            continue
        where = f"think {row['think']}, {row['sessions']} sessions: {NAMES[row['target']]}"
        if (row.get("output_tokens_per_min") or 0) > base["output_tokens_per_min"]:
            lost.append(f"- {where} has {row['output_tokens_per_min'] / base['output_tokens_per_min'] - 1:.1%} more tokens a minute")
        if row.get("ttfb_p50_s") and row["ttfb_p50_s"] < base["ttfb_p50_s"]:
            lost.append(f"- {where} has a median first byte {base['ttfb_p50_s'] - row['ttfb_p50_s']:.2f} s earlier")
    return lines, lost


def own_share(row):
    """Of the machine, what engines, proxy and generator took."""
    return (sum(row["engine_shares"]) + row["proxy_share"] + row["generator_share"]) / row["cores"]


def report(rows):
    lines, lost = table(rows)
    print("\n".join(lines))
    print("\nWhere a peer was ahead of warm, by however little:" if lost else "\nNo peer was ahead of warm in tokens a minute or median first byte.")
    print("\n".join(lost))
    failures = [f"{NAMES[r['target']]} {r['failures']} (think {r['think']}, {r['sessions']} sessions)" for r in rows if r.get("failures")]
    print("\nNo turn failed." if not failures else "\nTurns that failed: " + ", ".join(failures))
    print("A turn that has not ended when its step does is in no figure, so whoever was never served is not seen; tokens/min is not blind to it.")
    least, most = min(rows, key=lambda r: r["idle_share"]), max(rows, key=own_share)
    print(f"\nAt speed {rows[0]['speed']:g}, of a core at most: {max(max(r['engine_shares']) for r in rows):.0%} for an engine, "
          f"{max(r['proxy_share'] for r in rows):.0%} for a proxy, {max(r['generator_share'] for r in rows):.0%} for the generator; all "
          f"together {own_share(most):.0%} of {most['cores']} cores. The machine was idle for {least['idle_share']:.0%} at least (mean "
          f"{sum(r['idle_share'] for r in rows) / len(rows):.0%}).")
    if least["idle_share"] < 0.15:
        print("That is little" + (": take a lower --speed." if own_share(most) > 0.5 else ", and not our doing: other work makes all times late."))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "warmgate")
    parser.add_argument("--peers-home", type=Path, default=Path(os.environ.get("PEERS_HOME", ROOT / "bench" / "peers" / "home")))
    parser.add_argument("--targets", default=",".join(NAMES), help="of " + ",".join(NAMES))
    parser.add_argument("--sessions", default="8,16,24,32")
    parser.add_argument("--thinks", default="none,exp:3s", help="pauses between turns, as bench's --think")
    parser.add_argument("--preset", default="a4000-qwen3-4b", choices=list(MACHINES))
    parser.add_argument("--speed", type=float, default=10)
    parser.add_argument("--step", default="3m", help="of the modelled time, as are all times (3m)")
    parser.add_argument("--warmup", default="1m")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--program-settings", type=json.loads, default={}, metavar="JSON", help="of program scheduling, instead of ours")
    parser.add_argument("--json", help="all rows into this file, as they come")
    parser.add_argument("--table", nargs="+", help="prints the table of such files and measures nothing")
    options = parser.parse_args()
    if options.table:
        return report([row for file in options.table for row in json.loads(Path(file).read_text())])
    options.targets, options.thinks = options.targets.split(","), options.thinks.split(",")
    options.sessions = [int(n) for n in options.sessions.split(",")]
    unknown = [name for name in options.targets if name not in NAMES]
    if unknown:
        parser.error(f"--targets: there is no {unknown[0]}; allowed: {', '.join(NAMES)}")
    if not options.binary.exists():
        parser.error(f"there is no {options.binary}: ./dev build makes it, --binary names another")
    if set(options.targets) - set(OURS) and not (options.peers_home / "vr" / "bin" / "vllm-router").exists():
        parser.error(f"there is no vllm-router in {options.peers_home}/vr: --help says how to install it")
    with tempfile.TemporaryDirectory() as folder:
        report(measure_all(options, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
