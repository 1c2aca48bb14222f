#!/usr/bin/env python3
"""Runs scenario files against the real binary: `warmgate serve --time-scale` in front of `warmgate replica --speed`.
The format's reference is docs/scenarios.md; the runner over the virtual driver (src/sim/scenario_run.cpp) reads the same
files. Scenario time runs `speed` times faster than real time.

usage: tests/scenario/live.py FILE...        WARMGATE_BIN overrides build/warmgate. Exit code 1 if one fails.
"""
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.request import Request, urlopen

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "integration"), str(HERE)]

from harness import metrics_text, process               # noqa: E402
from harness.gateway import BINARY, Gateway, pool      # noqa: E402
from harness.waiting import wait_until                 # noqa: E402
from talker import Talker, seconds                     # noqa: E402

_never = threading.Event()
PATIENCE = 20.0        # real seconds that an `until` gets at least, however fast the scenario runs


def pairs(words):
    """{key: value} of KEY=VALUE words."""
    return dict(word.split("=", 1) for word in words)


def expectation(word):
    match = re.fullmatch(r"([a-z_.]+)(=|!=|>=|<=)(.+)", word)
    return match.groups() if match else (word, "=", "yes")


def names(word):
    if ".." not in word:
        return [word]
    (stem, first), (_, last) = (re.fullmatch(r"(.*?)(\d+)", part).groups() for part in word.split(".."))
    return [f"{stem}{n}" for n in range(int(first), int(last) + 1)]


def holds(actual, sign, wanted):
    if isinstance(actual, (int, float)) and not isinstance(actual, bool):
        wanted = seconds(wanted) if re.fullmatch(r"[0-9.]+(ms|s|m|h)", wanted) else float(wanted)
    if sign in ("=", "!="):
        return (actual == wanted) == (sign == "=")
    return actual >= wanted if sign == ">=" else actual <= wanted


class Replica:
    """One `warmgate replica` process."""

    def __init__(self, number, fleet, log):
        arguments = ["replica", "--listen", "127.0.0.1:0", "--name", f"e{number}", "--preset", fleet.get("preset", "a4000-qwen3-4b"),
                     "--ranks", fleet.get("ranks", "1"), "--speed", str(fleet["speed"]), "--seed", str(number + 1)]
        for key, flag in (("balancer", "--balancer"), ("kv_tokens", "--kv-tokens"), ("max_num_seqs", "--max-num-seqs")):
            if key in fleet:
                arguments += [flag, fleet[key]]
        self.process = subprocess.Popen([str(BINARY), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        line = self.process.stdout.readline()
        match = re.search(r"listening on (http://\S+)", line)
        if not match:
            raise AssertionError(f"warmgate replica said {line!r}")
        self.url = match.group(1)

    def get(self, path):
        with urlopen(self.url + path, timeout=10) as answer:
            return answer.read().decode()

    def order(self, **fault):
        data = json.dumps({k: v for k, v in fault.items() if v is not None}).encode()
        with urlopen(Request(self.url + "/fault", data=data, headers={"Content-Type": "application/json"}), timeout=10) as answer:
            answer.read()

    def working_on(self):
        """Requests in its engine; none while it is down."""
        try:
            page = self.get("/metrics")
        except OSError:
            return 0
        return int(metrics_text.total(page, "vllm:num_requests_running") + metrics_text.total(page, "vllm:num_requests_waiting"))

    def stop(self):
        process.end(self.process)
        self.process.stdout.close()


class Step:
    """What a line asked for: when it began, and what of it is still going on."""

    def __init__(self, began):
        self.began = self.ended = began
        self.threads = []


class Run:
    def __init__(self, file, folder):
        self.file = Path(file)
        self.failures, self.log = [], []
        lines = [(n, line.split("#")[0].split()) for n, line in enumerate(self.file.read_text().splitlines(), 1)]
        self.lines = [(n, words) for n, words in lines if words]
        self.fleet = pairs(next(words for _, words in self.lines if words[0] == "fleet")[1:])
        self.fleet.setdefault("speed", "20")
        self.speed = float(self.fleet["speed"])
        self.folder = Path(folder)
        self.replicas, self.gateway, self.talkers = [], None, {}

    # ---- the fleet ----
    def start(self):
        fleet = self.fleet
        self.errors = open(self.folder / "replicas.log", "w")
        for number in range(int(fleet.get("engines", 1))):
            self.replicas.append(Replica(number, fleet, self.errors))
        pools = [pool(self.replicas, model=self.model(), policy=fleet.get("policy", "sticky"),
                      aliases=[a for a in fleet.get("aliases", "").split(",") if a],
                      spill=int(fleet["spill"]) if "spill" in fleet else None,
                      rehome=True if fleet.get("rehome") == "yes" else None, max_num_seqs=int(fleet.get("max_num_seqs", 32)))]
        self.gateway = Gateway(self.folder, pools, arguments=["--time-scale", str(self.speed)])
        for number, words in self.lines:
            if words[0] == "session":
                for name in names(words[1]):
                    self.talkers[name] = Talker(self, name, pairs(words[2:]))

    def model(self):
        return "qwen3-4b" if "qwen" in self.fleet.get("preset", "a4000-qwen3-4b") else "qwen3.6-27b"

    def url_for(self, engine):
        return self.gateway.url if engine is None else self.replicas[engine].url

    def stop(self):
        try:
            if self.gateway:
                self.gateway.stop()
        finally:
            for replica in self.replicas:
                replica.stop()
            self.errors.close()

    # ---- time ----
    def now(self):
        return (time.monotonic() - self.zero) * self.speed

    def wait_for(self, moment):
        left = (moment - self.now()) / self.speed
        if left > 0:
            _never.wait(left)

    # ---- steps ----
    def run(self):
        self.zero = time.monotonic()
        last, everything = Step(0.0), []
        for number, words in self.lines:
            if words[0] == "end":
                self.finish(everything)
                self.check_soon(number, words[2:], PATIENCE)
                return
            if words[0] not in ("at", "with"):
                continue
            when = words[1]
            if words[0] == "with":
                self.wait_for(last.began + seconds(when[1:]))
            elif when.startswith("+"):
                self.finish([last])
                self.wait_for(last.ended + seconds(when[1:]))
            else:
                self.wait_for(seconds(when))
            last = Step(self.now())
            everything.append(last)
            self.begin(last, number, words[2:])
        self.finish(everything)

    def finish(self, steps):
        for step in steps:
            for thread in step.threads:
                thread.join(120)
                if thread.is_alive():
                    raise AssertionError(f"{self.file.name}: a turn does not come to an end: {thread.name}")
                step.ended = max(step.ended, self.now())
            step.threads = []

    def begin(self, step, number, words):
        if words[0] == "fault":
            self.fault(number, pairs(words[1:]))
        elif words[0] == "policy":
            spill = pairs(words[2:]).get("spill")
            self.gateway.set_policy(self.model(), words[1], int(spill) if spill else None)
        elif words[0] == "until":
            within = next((seconds(w[7:]) for w in words if w.startswith("within=")), 60.0)
            self.check_soon(number, [w for w in words[1:] if not w.startswith("within=")], max(within / self.speed, PATIENCE))
        elif words[0] == "expect":
            self.check_soon(number, words[1:], 1.0)
        else:
            self.talk(step, number, words)
            return
        step.ended = self.now()

    def talk(self, step, number, words):
        split = words.index("expect") if "expect" in words else len(words)
        what = pairs(words[2:split])
        expects = [expectation(w) for w in words[split + 1:]]
        for name in names(words[0]):
            talker = self.talkers[name]
            if words[1] == "rekey":
                talker.life += 1
                continue
            if words[1] == "compact":
                talker.compact()
                continue
            thread = threading.Thread(target=self.job, args=(talker, words[1], what, expects, number), name=f"{name} of line {number}", daemon=True)
            step.threads.append(thread)
            thread.start()

    def job(self, talker, verb, what, expects, number):
        try:
            for time_left in range(int(what.get("times", 1)), 0, -1):
                answer = talker.title(what) if verb == "title" else talker.turn(what)
                self.check_answer(number, answer, expects)
                if time_left > 1:
                    _never.wait(seconds(what.get("pause", "0s")) / self.speed)
        except Exception as error:  # a thread's error must fail the scenario
            self.failures.append(f"{self.file.name}:{number}: {talker.name}: {error!r}")

    def fault(self, number, what):
        at = what.get("engine") or what.get("replica")
        if at.endswith(".home"):
            at = self.talkers[at[:-5]].home
        engine, _, rank = at.partition("/")
        with_rank = "replica" in what and rank not in ("", "any")
        self.replicas[int(engine[1:])].order(
            kind=what["kind"], count=int(what["count"]) if "count" in what else None, for_s=seconds(what["for"]) if "for" in what else None,
            rank=int(rank) if with_rank else None, after_tokens=int(what.get("after", 4)))

    # ---- what is expected ----
    def check_answer(self, number, answer, expects):
        said = f"{answer.talker} {answer.outcome} {answer.status} {answer.route} {answer.replica} cached {answer.cached}/{answer.prompt}"
        self.log.append(f"{self.now():8.2f} line {number} {said}")
        for name, sign, value in expects:
            actual = self.attempts(answer) if name == "attempts" else getattr(answer, name)
            if name == "replica":
                value = self.replica_meant(value, answer)
            if not holds(actual, sign, value):
                self.failures.append(f"{self.file.name}:{number}: expected {name}{sign}{value}, came: {said}")

    def attempts(self, answer):
        """As the request log counts them; the line comes a moment after the answer."""
        line = re.compile(rf"id={answer.request_id} .*\battempts=(\d+)")
        return int(wait_until(lambda: line.search(self.gateway.log()), what=f"a line for {answer.request_id}").group(1))

    def replica_meant(self, value, answer):
        name, _, what = value.partition(".")
        if not what:
            return value
        places = answer.places if name == answer.talker else self.talkers[name].places()
        return places[what]

    def figures(self):
        rows = self.gateway.replicas()
        ranks = [r for r in rows if r["rank"] is not None]
        found = {"in_flight": sum(r["in_flight"] for r in rows), "up": sum(r["healthy"] for r in ranks),
                 "busiest": max((r["in_flight"] for r in ranks), default=0), "quietest": min((r["in_flight"] for r in ranks), default=0)}
        found.update({f"turns.{route}": sum(r["turns"][route] for r in rows) for route in ("placed", "sticky", "spilled", "moved", "off", "unsteered")})
        warm = self.gateway.api("/warm")
        found.update({"waiting": sum(p["waiting"] for p in warm["pools"]), "seats": sum(r["seats"] for r in warm["replicas"]),
                      "hits.missed": sum(r["hits"]["missed"] for r in warm["replicas"])})
        return found

    def figure(self, name):
        if name in ("engines_idle", "running"):
            running = sum(replica.working_on() for replica in self.replicas)
            return running if name == "running" else ("yes" if running == 0 else "no")
        if name == "sessions":
            return self.gateway.api("/sessions")["known"]
        return self.figures()[name]

    def check_soon(self, number, words, patience):
        """All of them, at the same time, within so many real seconds."""
        wanted = [expectation(w) for w in words]
        came = {}

        def all_hold():
            came.update({name: self.figure(name) for name, _, _ in wanted})
            return all(holds(came[name], sign, value) for name, sign, value in wanted)
        try:
            wait_until(all_hold, patience)
        except AssertionError:
            self.failures.append(f"{self.file.name}:{number}: expected {' '.join(words)}, came: {came}")


def run_file(file, folder):
    """The failures of one scenario, and its log."""
    run = Run(file, folder)
    try:
        run.start()
        run.run()
    finally:
        run.stop()
    return run.failures, run.log


def main(files):
    bad = 0
    for file in files:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            failures, log = run_file(file, folder)
        print(f"{'FAILED' if failures else 'passed'} {Path(file).name} {time.monotonic() - began:.1f} s")
        for line in failures + (log if failures else []):
            print("   ", line)
        bad += bool(failures)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
