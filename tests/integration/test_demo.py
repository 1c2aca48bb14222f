"""`warmgate demo`: gateway, simulated replicas and agents in one process."""
import json
import re
import signal
import subprocess
from urllib.request import urlopen

import pytest

from harness.gateway import BINARY
from harness.waiting import wait_until

FIELDS = {"target", "policy", "sessions", "sessions_per_hour", "output_tokens_per_min", "ttfb_p50_s", "ttfb_p95_s", "ttfb_mean_s",
          "replicas_busy", "prefix_hit_share", "stayed_share", "session_time_p50_s", "session_time_p95_s", "wait_p95_s",
          "preemptions", "failures", "turns"}


def demo(*arguments, timeout=90):
    return subprocess.run([str(BINARY), "demo", *arguments], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def test_a_policy_and_off_as_json():
    done = demo("--for", "6s", "--speed", "20", "--json")
    assert done.returncode == 0, done.stderr
    sticky, off = json.loads(done.stdout)["rows"]
    assert (sticky["policy"], off["policy"]) == ("sticky", "off")
    for row in (sticky, off):
        assert set(row) == FIELDS and row["sessions"] == 8 and row["turns"] > 8 and row["failures"] == 0
        assert row["ttfb_p50_s"] > 0 and row["output_tokens_per_min"] > 0
    assert sticky["stayed_share"] == 1
    assert off["stayed_share"] < 0.7
    assert sticky["prefix_hit_share"] > off["prefix_hit_share"]


def test_a_table_and_a_comparison():
    done = demo("--for", "4s", "--sessions", "4", "--ranks", "2")
    assert done.returncode == 0, done.stderr
    for word in ("gateway  http://127.0.0.1:", "qwen3-4b/sim/1", "computed tok", "prefix hits", "TTFT p50", "stayed"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout  # no terminal, no control sequences


@pytest.mark.parametrize("arguments, word", [
    (["--for", "soon"], "--for soon"), (["--policy", "stiky"], "stiky"), (["--preset", "none"], "a4000-qwen3-4b"),
    (["--sessions", "0"], "--sessions"), (["--listen", "nowhere"], "--listen nowhere")])
def test_wrong_use(arguments, word):
    done = demo(*arguments)
    assert done.returncode == 2 and word in done.stderr


def test_interrupted_it_shows_what_there_is():
    """And its figures can be had while it runs, as those of any gateway."""
    process = subprocess.Popen([str(BINARY), "demo", "--for", "10m", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, stdin=subprocess.DEVNULL)
    try:
        urls = dict(re.match(r"(gateway|admin|engine) +(\S+)", process.stderr.readline()).groups() for _ in range(3))
        with urlopen(urls["gateway"] + "/v1/models", timeout=20) as answer:
            assert json.load(answer)["data"][0]["id"] == "qwen3-4b"

        def answered():
            with urlopen(urls["admin"] + "/api/v1/replicas", timeout=20) as answer:
                return sum(row["turns"]["sticky"] for row in json.load(answer)["replicas"])
        wait_until(lambda: answered() >= 3, 30)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 0, err
    told = json.loads(out)
    assert told["interrupted"] and [row["policy"] for row in told["rows"]] == ["sticky"] and told["rows"][0]["turns"] > 0
