#!/usr/bin/env python3
"""./dev soak --for 30m: the real binary before three simulated vLLMs under mixed load - turns of growing conversations in all dialects,
streamed and not, made-up session ids, clients that leave, engines that fail in every way, are killed and come back. Samples
memory and descriptors, and fails if either grows over the second half of the run (least squares), if something is in flight
at the end, or if the gateway ended. Writes soak.svg and soak.json into --out."""
import argparse
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO / "tests" / "integration"))

from harness.gateway import Gateway, pool  # noqa: E402
from harness.replica import Replica  # noqa: E402
from harness.requests import DIALECTS, PATHS, body, session  # noqa: E402
from harness.trend import Trend, svg  # noqa: E402
from harness.waiting import wait_until  # noqa: E402

MOST_GROWTH_MIB, MOST_GROWTH_DESCRIPTORS = 4, 8  # of the fitted line, over the second half of the run
SESSIONS = 2_000  # so that the table is full long before the second half
FAULTS = [{"kind": "reset-before-head"}, {"kind": "reset-after-head"}, {"kind": "stall-first", "for_s": 2}, {"kind": "stall-mid", "for_s": 2},
          {"kind": "die-mid"}, {"kind": "status-500", "count": 3}, {"kind": "html-error"}, {"kind": "error-first"}, {"kind": "wrong-length"},
          {"kind": "truncated-chunk"}, {"kind": "slow-first-byte", "delay_s": 2}, {"kind": "refuse", "for_s": 1}, {"kind": "die-group", "for_s": 3},
          {"kind": "cold-restart", "for_s": 2}]


def seconds_of(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; allowed: a number and s, m or h, such as 90s, 30m")
    return float(match.group(1)) * {"s": 1, "m": 60, "h": 3600}[match.group(2)]


class Soak:
    def __init__(self, clients, seed):
        self.folder = tempfile.TemporaryDirectory(prefix="soak-")
        self.replicas = [Replica(speed=20, ranks=ranks) for ranks in (2, 1, 1)]
        self.gateway = Gateway(self.folder.name, [pool(self.replicas, aliases=["claude-*"])], sessions={"limit": SESSIONS},
                               log={"file": f"{self.folder.name}/requests.log"}, wait={"commit_after": "1s", "ping_every": "1s"},
                               timeouts={"first_byte": "20s", "stream_idle": "10s"}, arguments=["--threads", "2"])
        self.stop, self.counts, self.marks = threading.Event(), Counter(), []
        self.samples, self.began = [], time.monotonic()
        self.threads = [threading.Thread(target=self._client, args=(random.Random(seed * 1000 + n),), daemon=True) for n in range(clients)]
        self.threads += [threading.Thread(target=self._trouble, args=(random.Random(seed),), daemon=True),
                         threading.Thread(target=self._made_up, daemon=True)]

    # ---- load ----
    def _client(self, rng):
        """Conversations that grow, end and begin anew; one turn in five is given up on."""
        while not self.stop.is_set():
            key, text, dialect = f"s{rng.randrange(10**9)}", "hello ", rng.choice(DIALECTS)
            for _ in range(rng.randint(1, 12)):
                if self.stop.is_set():
                    return
                text += "and more words of the conversation " * rng.randint(1, 60)
                self._turn(rng, dialect, body(dialect, text, stream=rng.random() < 0.7, model=rng.choice(["m", "claude-x"])), session(key))

    def _turn(self, rng, dialect, request, headers):
        try:
            with self.gateway.connect(timeout=40) as connection:
                for _ in range(rng.randint(1, 3)):
                    connection.request("POST", PATHS[dialect], request, headers)
                    if rng.random() < 0.1:
                        return self._leave(rng, connection, "left before the head")
                    answer = connection.answer()
                    if rng.random() < 0.1:
                        answer.read_piece()
                        return self._leave(rng, connection, "left inside the answer")
                    answer.read_all()
                    self.counts[f"answered {answer.status}" if answer.ended != "cut" else "cut"] += 1
                    if answer.ended == "cut" or answer.header("connection") == "close":
                        return
        except (OSError, ValueError) as error:
            self.counts[type(error).__name__] += 1

    def _leave(self, rng, connection, how):
        self.counts[how] += 1
        connection.reset() if rng.random() < 0.5 else connection.close()

    def _made_up(self):
        """A session id that never comes again, and a request that is refused, ten times a second each."""
        number = 0
        while not self.stop.wait(0.1):
            number += 1
            try:
                with self.gateway.connect(timeout=40) as connection:
                    connection.post(PATHS["chat"], b'{"model":"m",}' + b"x" * (number % 5000), session(f"x{number}"))
                    connection.post(PATHS["chat"], body("chat", max_tokens=1), session(f"made-up-{number}"))
                    self.counts["made-up ids"] += 1
            except (OSError, ValueError) as error:
                self.counts[type(error).__name__] += 1

    def _trouble(self, rng):
        while not self.stop.wait(rng.uniform(2, 6)):
            replica = rng.choice(self.replicas)
            if rng.random() < 0.1:
                word = "engine killed and started"
                replica.process.kill()
                replica.process.wait()
                self.stop.wait(rng.uniform(0.5, 3))
                replica._start()
            else:
                fault = rng.choice(FAULTS)
                word = fault["kind"]
                try:
                    replica.fault(**fault)
                except (OSError, ValueError, AssertionError):
                    continue  # it is down at the moment
            self.marks.append((time.monotonic() - self.began, word))
            self.counts["troubles"] += 1

    # ---- watching ----
    def sample(self):
        process = Path(f"/proc/{self.gateway.process.pid}")
        resident = int(re.search(r"VmRSS:\s+(\d+)", (process / "status").read_text()).group(1)) / 1024
        self.samples.append((time.monotonic() - self.began, resident, len(list((process / "fd").iterdir()))))

    def trends(self):
        seconds = [s for s, _, _ in self.samples]
        return [Trend("memory", "MiB", seconds, [m for _, m, _ in self.samples], MOST_GROWTH_MIB),
                Trend("descriptors", "open", seconds, [d for _, _, d in self.samples], MOST_GROWTH_DESCRIPTORS)]

    def run(self, seconds):
        self.sample()
        idle_descriptors = self.samples[0][2]
        for thread in self.threads:
            thread.start()
        next_word = 60
        while time.monotonic() - self.began < seconds:
            self.stop.wait(min(1.0, seconds / 120))
            assert self.gateway.process.poll() is None, "the gateway ended: " + self.gateway.log()[-2000:]
            self.sample()
            if self.samples[-1][0] > next_word:
                print(f"{self.samples[-1][0] / 60:.0f} min: {self.samples[-1][1]:.1f} MiB, {self.samples[-1][2]} descriptors", flush=True)
                next_word += 60
        self.stop.set()
        for thread in self.threads:
            thread.join(60)
        self.gateway.wait_idle(30)
        wait_until(lambda: len(list(Path(f"/proc/{self.gateway.process.pid}/fd").iterdir())) <= idle_descriptors + 16, 30,
                   "descriptors back to what they were (kept engine connections apart)")
        self.gateway.stop()
        for replica in self.replicas:
            replica.process.kill()
            replica.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, prog="./dev soak", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="examples:\n  ./dev soak --for 5m\n  ./dev soak --for 30m --out docs")
    parser.add_argument("--for", dest="seconds", type=seconds_of, default=seconds_of("30m"), help="how long (90s, 30m, 2h); default 30m")
    parser.add_argument("--clients", type=int, default=12, help="conversations at a time (12)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=REPO / "build", help="folder for soak.svg and soak.json (build)")
    options = parser.parse_args()
    soak = Soak(options.clients, options.seed)
    soak.run(options.seconds)
    trends = soak.trends()
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "soak.svg").write_text(svg(trends, [second for second, _ in soak.marks], f"soak, {options.seconds / 60:.0f} minutes; ticks: something was done to an engine"))
    report = {"seconds": options.seconds, "counts": dict(sorted(soak.counts.items())), "trends": [t.sentence() for t in trends]}
    (options.out / "soak.json").write_text(json.dumps(report, indent=1) + "\n")
    print(", ".join(f"{word}: {n}" for word, n in sorted(soak.counts.items())))
    for trend in trends:
        print(f"{trend.sparkline()}  {trend.sentence()}")
    sys.exit(0 if all(t.ok() for t in trends) else 1)


if __name__ == "__main__":
    main()
