"""`warmgate bench`: agents in a closed loop against real servers, with the report that comes of it."""
import json
import os
import pty
import re
import signal
import subprocess
import threading

import pytest

from harness import answers
from harness.gateway import BINARY
from harness.waiting import wait_until

FIELDS = {"target", "policy", "sessions", "sessions_per_hour", "output_tokens_per_min", "ttfb_p50_s", "ttfb_p95_s", "ttfb_mean_s",
          "replicas_busy", "prefix_hit_share", "stayed_share", "session_time_p50_s", "session_time_p95_s", "wait_p95_s",
          "preemptions", "failures", "turns"}
QUICK = ["--step", "60s", "--warmup", "20s"]


def bench(*arguments, timeout=120):
    return subprocess.run([str(BINARY), "bench", *arguments], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


def rows_of(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


@pytest.fixture
def fast(make_replica, make_gateway):
    """(gateway, replica): four ranks, both 20 times faster than the modelled machine."""
    replica = make_replica(model="m", ranks=4, speed=20, network=0.2)
    return make_gateway([replica], ranks=4, max_num_seqs=32, arguments=["--time-scale", "20"]), replica


def test_two_policies_through_the_admin_api(fast):
    gateway, _ = fast
    done = bench("--url", gateway.url, "--admin", gateway.admin, "--compare", "off,sticky", "--sessions", "4", *QUICK,
                 "--time-scale", "20", "--json")
    off, sticky = rows_of(done)
    page = json.loads(done.stdout)
    assert (off["policy"], sticky["policy"]) == ("off", "sticky")
    for row in (off, sticky):
        assert FIELDS <= set(row) and row["sessions"] == 4 and row["turns"] > 4 and row["failures"] == 0
        assert row["ttfb_p50_s"] > 0 and row["replicas_busy"] > 0 and row["preemptions"] is not None
    assert sticky["stayed_share"] == 1 and off["stayed_share"] < 0.7
    assert sticky["prefix_hit_share"] > off["prefix_hit_share"] + 0.1
    target = page["targets"][0]
    assert target["prefix_hits_from"] == "engines" and target["ranks"] == 4 and target["engines"] == 1
    assert target["bytes_per_token_measured"] and target["bytes_per_token"] == pytest.approx(4, abs=0.1)
    assert gateway.api("/pools/m/policy")["policy"] == "sticky"  # as it was before


def test_prompts_differ_from_arm_to_arm(make_engine, make_gateway):
    """Else the second arm would find in the caches what the first one left there."""
    engine = make_engine()
    gateway = make_gateway([engine])
    done = bench("--url", gateway.url, "--admin", gateway.admin, "--compare", "off,sticky", "--sessions", "2", "--scale", "0.01",
                 "--step", "1s", "--warmup", "0s", "--time-scale", "2", "--json")
    off, sticky = rows_of(done)
    assert off["turns"] > 0 and sticky["turns"] > 0
    heads = {}
    for request in engine.requests:
        body = json.loads(request.body)
        system = body["messages"][0]["content"]
        if system != "You are a tool.":
            heads.setdefault(system, set()).add(len(system))
    assert len(heads) == 2 and len({size for sizes in heads.values() for size in sizes}) == 1


def test_two_targets_side_by_side(fast):
    gateway, replica = fast
    done = bench("--url", f"gateway={gateway.url}", "--url", f"bare={replica.url}", "--admin", f"gateway={gateway.admin}",
                 "--sessions", "4", *QUICK, "--time-scale", "20", "--dialect", "anthropic", "--json")
    ours, bare = rows_of(done)
    assert (ours["target"], ours["policy"], bare["target"], bare["policy"]) == ("gateway", "sticky", "bare", "-")
    assert ours["stayed_share"] == 1 and bare["stayed_share"] < 0.7


def test_a_table_with_its_sources(make_replica):
    replica = make_replica(model="m", ranks=1, speed=50)
    done = bench("--url", replica.url, "--sessions", "1,2", "--seeds", "2", "--step", "30s", "--warmup", "0s", "--time-scale", "50",
                 "--reset-prefix-cache")
    assert done.returncode == 0, done.stderr
    for word in ("TTFB p50 s", "prefix hits %", "bytes a token (learnt from its usage)", "prefix hits from the engines' counters",
                 "no turn failed", "the load generator used"):
        assert word in done.stdout
    assert "\x1b" not in done.stderr and "left" in done.stderr  # no terminal: plain lines


def test_a_target_that_answers_errors_only(make_engine):
    engine = make_engine()
    engine.default = answers.status(503)
    done = bench("--url", engine.url, "--sessions", "3", "--scale", "0.01", "--step", "2s", "--warmup", "0s")
    assert done.returncode == 1
    assert "(100.0 %)" in done.stdout and "x status 503" in done.stdout
    assert "more than 5 % of the turns failed" in done.stderr


def test_a_few_failures_are_shown_and_no_more(make_replica):
    replica = make_replica(model="m", ranks=1, speed=50)
    replica.fault("status-500", count=1)
    replica.fault("die-mid", count=1)
    done = bench("--url", replica.url, "--sessions", "8", "--scale", "0.05", "--step", "200s", "--warmup", "0s", "--time-scale", "50", "--json")
    page = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert sum(page["failures_by_kind"].values()) <= 2 and page["failed_share"] < 0.05


def test_nobody_listens():
    done = bench("--url", "http://127.0.0.1:1", "--sessions", "1")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["warmgate bench: http://127.0.0.1:1/v1/models: refused while connecting"]
    assert done.stdout == ""


def test_an_admin_address_that_is_none(fast):
    gateway, _ = fast
    done = bench("--url", gateway.url, "--admin", gateway.url, "--compare", "off,sticky")
    assert done.returncode == 1 and "is no warmgate's admin address" in done.stderr


@pytest.mark.parametrize("arguments, word", [
    ([], "--url"),
    (["--url", "nowhere"], "--url nowhere"),
    (["--url", "http://h/v1"], "without /v1"),
    (["--url", "http://h", "--url", "http://h"], "NAME=URL"),
    (["--url", "http://h", "--compare", "off"], "--compare needs --admin"),
    (["--url", "http://h", "--admin", "http://h:1", "--compare", "stiky"], "stiky"),
    (["--url", "a=http://h", "--url", "b=http://h", "--admin", "http://h:1"], "there are: a, b"),
    (["--url", "http://h", "--sessions", "4,0"], "'0'"),
    (["--url", "http://h", "--step", "0s"], "--step"),
    (["--url", "http://h", "--step", "soon"], "soon"),
    (["--url", "http://h", "--think", "slow"], "slow"),
    (["--url", "http://h", "--workload", "nothing"], "--workload"),
    (["--url", "http://h", "--preset", "none"], "a4000-qwen3-4b"),
    (["--url", "http://h", "--dialect", "latin"], "latin"),
    (["--url", "http://h", "--api-key-env", "NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE")])
def test_wrong_use(arguments, word):
    done = bench(*arguments)
    assert done.returncode == 2 and word in done.stderr and len(done.stderr.strip().splitlines()) <= 2


def test_interrupted_it_keeps_what_was_measured(make_replica):
    replica = make_replica(model="m", ranks=1, speed=50)
    process = subprocess.Popen([str(BINARY), "bench", "--url", replica.url, "--sessions", "2", "--step", "10h", "--warmup", "0s",
                                "--time-scale", "50", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: replica.metric("vllm:request_success_total") >= 6, 40)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert process.returncode == 130, err
    page = json.loads(out)
    assert page["interrupted"] and page["rows"][0]["turns"] > 0
    replica.wait_idle()


def test_on_a_terminal_one_line_over_itself(make_replica):
    replica = make_replica(model="m", ranks=1, speed=50)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([str(BINARY), "bench", "--url", replica.url, "--sessions", "1", "--step", "50s", "--warmup", "0s",
                                "--time-scale", "50"], stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    seen = []

    def read():
        try:
            while block := os.read(ours, 4096):
                seen.append(block)
        except OSError:  # the other side is closed
            pass
    reader = threading.Thread(target=read)
    reader.start()
    out, _ = process.communicate(timeout=60)
    reader.join(20)
    os.close(ours)
    text = b"".join(seen).decode()
    assert process.returncode == 0 and b"no turn failed" in out
    assert "\r\x1b[K[" in text and re.search(r"\d+:\d\d left  -, 1 sessions", text)


def test_live_and_virtual_agree(fast):
    """The same policy, machine and sessions: over HTTP, and in virtual time."""
    gateway, _ = fast
    live = rows_of(bench("--url", gateway.url, "--admin", gateway.admin, "--compare", "sticky", "--sessions", "8", "--step", "3m",
                         "--warmup", "30s", "--time-scale", "20", "--json"))[0]
    done = subprocess.run([str(BINARY), "simulate", "--policies", "sticky", "--sessions", "8", "--step", "3m", "--warmup", "30s",
                           "--seeds", "3", "--json"], capture_output=True, text=True, timeout=60, check=True)
    virtual = json.loads(done.stdout)["rows"][0]
    assert live["prefix_hit_share"] == pytest.approx(virtual["prefix_hit_share"], abs=0.03)
    assert live["stayed_share"] == virtual["stayed_share"] == 1
    assert live["output_tokens_per_min"] == pytest.approx(virtual["output_tokens_per_min"], rel=0.25)


def test_seats_pay_over_http_too(fast):
    """24 sessions where twelve contexts fit: `warm` keeps caches that `sticky` and `off` lose, and the usual turn waits less."""
    gateway, _ = fast
    rows = rows_of(bench("--url", gateway.url, "--admin", gateway.admin, "--compare", "off,sticky,warm", "--sessions", "24", "--step", "2m",
                         "--warmup", "1m", "--time-scale", "20", "--json"))
    off, sticky, warm = rows
    assert warm["prefix_hit_share"] > 0.55 > 0.45 > max(off["prefix_hit_share"], sticky["prefix_hit_share"])
    assert warm["ttfb_p50_s"] < 0.5 * min(off["ttfb_p50_s"], sticky["ttfb_p50_s"])
    assert warm["failures"] == 0 and warm["wait_p95_s"] > 1
