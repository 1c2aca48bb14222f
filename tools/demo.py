#!/usr/bin/env python3
"""The demo before real engines: two llama.cpp servers, the gateway before them, concurrent conversations of growing length in all
dialects, a live table per replica, then a summary. Ends by itself after --for, or by Ctrl-C; nothing is left running.

usage: ./dev demo --real [--for 60s] [--conversations N]
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "integration")]

from demo_conversation import Conversation, DIALECTS  # noqa: E402
from demo_table import Table, read_rows, summary  # noqa: E402
from harness.llama import LlamaServer  # noqa: E402

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def seconds(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r}: a time like 60s or 2m")
    return float(match.group(1)) * UNITS[match.group(2)]


def start_gateway(binary, engines, log_file):
    """(process, url, admin url)"""
    command = [str(binary), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
    for engine in engines:
        command += ["--engine", engine.url]
    with open(log_file, "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
                                   process_group=0)  # a terminal's Ctrl-C reaches only us: we end the others in order
    for line in process.stdout:
        match = re.search(r"listening on (\S+) admin (\S+)", line)
        if match:
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, *match.groups()
    raise RuntimeError(f"the gateway ended with {process.wait()}: {Path(log_file).read_text(errors='replace')[-800:]}")


def stop_process(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def wait_ready(admin, stop, timeout=20):
    deadline = time.monotonic() + timeout
    while not stop.is_set() and time.monotonic() < deadline:
        rows = read_rows(admin)
        if rows and all(r["healthy"] for r in rows):
            return
        stop.wait(0.1)


def finish(players, deadline):
    """Waits for the turns under way."""
    for player in players:
        player.join(max(0.0, deadline - time.monotonic()))


def play(options, folder, stop):
    """Starts everything, plays until stop is set, stops everything. Returns the exit code."""
    engines, gateway, players = [], None, []
    try:
        print("starting two llama.cpp servers (SmolLM2-135M, one thread each)", flush=True)
        for number in (1, 2):
            engines.append(LlamaServer(folder / f"llama{number}.log"))
        gateway, url, admin = start_gateway(options.binary, engines, folder / "warmgate.log")
        print(f"gateway  {url}   try: curl {url}/v1/models")
        print(f"admin    {admin}   {admin}/api/v1/replicas  {admin}/metrics")
        print(f"engines  {'  '.join(e.url for e in engines)}\n", flush=True)
        wait_ready(admin, stop)
        players = [Conversation(url, number, DIALECTS[number % len(DIALECTS)], streamed=number // len(DIALECTS) % 2 == 0, stop=stop)
                   for number in range(options.conversations)]
        for player in players:
            player.start()
        table, started = Table(sys.stdout), time.monotonic()
        while not stop.is_set() and time.monotonic() - started < options.duration and gateway.poll() is None:
            table.show(read_rows(admin), players, time.monotonic() - started)
            stop.wait(table.interval)
        interrupted, died = stop.is_set(), gateway.poll()
        stop.set()
        if died is not None:
            print(f"\nthe gateway ended with {died}; its log:\n{(folder / 'warmgate.log').read_text(errors='replace')[-2000:]}")
            return 1
        if not interrupted:
            finish(players, time.monotonic() + 15)
        figures = read_rows(admin)  # before turns are broken off: those count whole as computed
        for player in players:
            player.hang_up()
        finish(players, time.monotonic() + 10)
        table.show(figures, players, time.monotonic() - started)
        print(summary(figures, read_rows(admin), players, time.monotonic() - started))
        return 1 if any(p.failures for p in players) or not (interrupted or any(p.turns for p in players)) else 0
    finally:
        stop.set()
        if gateway is not None and gateway.poll() is None:
            stop_process(gateway)
        for engine in engines:
            engine.stop()


def main():
    parser = argparse.ArgumentParser(prog="./dev demo --real", description="Real engines, the gateway, conversations, a live table.")
    parser.add_argument("--for", dest="duration", type=seconds, default=60.0, metavar="60s", help="how long to play (default 60s)")
    parser.add_argument("--conversations", type=int, default=4, metavar="N", help="how many at a time (default 4: one a dialect)")
    parser.add_argument("--binary", type=Path, default=Path(os.environ.get("WARMGATE_BIN", ROOT / "build" / "warmgate")), help=argparse.SUPPRESS)
    options = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="warmgate-demo-") as folder:
        return play(options, Path(folder), stop)


if __name__ == "__main__":
    sys.exit(main())
