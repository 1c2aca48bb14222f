"""The queue of policy `warm` as operators meet it: what they see of it, and what they can set."""
import json
import re
import subprocess
import threading

import pytest

from harness import answers, sse
from harness.gateway import BINARY
from harness.queue_world import QUICK, TOKENS, fine, long_body, millis, pings
from harness.requests import DIALECTS, PATHS, body, is_error, message, session
from harness.waiting import wait_until


# ---- what operators see ----

def test_the_wait_shows_in_header_log_record_and_metrics(make_world):
    world = make_world(log={"format": "text"})
    gate, held = world.hold("first")
    connection = world.gateway.connect()
    connection.request("POST", PATHS["chat"], long_body("chat"), [("x-request-id", "rq-waiter"), *session("second")])
    world.wait_for_waiters(1)
    wait_until(lambda: world.pool()["longest_wait_s"] > 0.5)
    assert world.gateway.metric("warmgate_waiting", pool="m") == 1 and world.gateway.metric("warmgate_seats") == 1
    gate.set()
    answer = connection.answer().read_all()
    waited = millis(answer, "wait")
    assert waited > 500
    logged = float(re.search(r"waited_ms=([0-9.]+)", world.line("rq-waiter")).group(1))
    assert abs(logged - waited) < 5
    assert world.gateway.metric("warmgate_waiting") == 0
    firsts = world.line("session=" + held.answer().read_all().header("x-warmgate-session"))  # dialling takes a moment too
    both = waited + float(re.search(r"waited_ms=([0-9.]+)", firsts).group(1))
    assert abs(world.gateway.metric("warmgate_wait_seconds_sum", pool="m") * 1000 - both) < 10
    mark = answer.header("x-warmgate-session")
    decided = world.gateway.api(f"/decisions?session={mark}")["decisions"]
    assert len(decided) == 1 and abs(decided[0]["waited_s"] * 1000 - waited) < 100
    assert decided[0]["candidates"][0]["may_take"] and decided[0]["rule"] in world.line("rq-waiter")
    connection.close()


def test_the_heads_that_sessions_share_are_shown(make_world):
    """The first turn of another session finds just the head cached: so large it is."""
    world = make_world()
    for key, cached in (("first", 0), ("second", 1_696), ("third", 1_696)):
        world.engine.default = answers.normal(prompt=2_000, cached=cached)
        answer = world.gateway.post(PATHS["messages"], body("messages", f"I am {key}", system="You are a coder. " * 100), session(key))
        assert answer.status == 200
    assert world.gateway.api("/warm")["heads"]["known"] == 1
    (head,) = world.gateway.api("/warm")["heads"]["latest"]
    assert head["tokens"] == 1_696 and head["replicas"] == 1 and len(head["head"]) == 12


def test_every_request_is_logged_with_the_rule_that_decided_it(make_world):
    """One event may decide on several: another policy lets the whole queue go."""
    world = make_world(engines=2, log={"format": "json"})
    assert world.gateway.post(PATHS["chat"], long_body("chat"), session("begun")).status == 200
    held = [world.hold(f"h{n}") for n in range(2)]
    waiters = [world.waiter("chat", key) for key in ("begun", "fresh", "another")]
    world.gateway.set_policy("m", "sticky")
    seen = []
    for connection in waiters:
        mark = connection.answer().read_all().header("x-warmgate-session")
        rule = world.gateway.api(f"/decisions?session={mark}")["decisions"][0]["rule"]
        lines = wait_until(lambda: [json.loads(line) for line in world.gateway.log().splitlines() if mark in line and rule in line])
        assert lines[-1]["rule"] == rule and lines[-1]["session"] == mark
        seen.append(rule)
    assert len(set(seen)) == 2, "the one that had begun has a home"
    for gate, connection in held:
        gate.set()
        assert connection.answer().read_all().status == 200


def status(gateway, *arguments):
    done = subprocess.run([str(BINARY), "status", "--admin", gateway.admin, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_status_shows_the_queue_and_explains_a_decision(make_world):
    world = make_world(engines=2)
    assert world.gateway.post(PATHS["chat"], long_body("chat"), session("first")).status == 200
    (gate, held), (other_gate, _) = world.hold("first"), world.hold("other")
    waiter = world.waiter("chat", "second")
    code, said, _ = status(world.gateway)
    assert code == 0 and "1 wait for a seat, the longest for" in said and "sessions fit" in said
    gate.set()
    answer = waiter.answer().read_all()
    mark = answer.header("x-warmgate-session")
    code, said, _ = status(world.gateway, "--session", mark)
    assert code == 0
    assert re.search(r"s ago: placed m/e\d/0 after \d+\.\d\d s: seat: the cheapest", said)
    lines = [line for line in said.splitlines() if re.match(r" +m/e\d/0", line)]
    assert len(lines) == 2, "every candidate is there"
    assert all("= backlog" in line and "prefill" in line and "crowd" in line and "displaced" in line for line in lines)
    assert sum("cannot take it: no room" in line for line in lines) == 1, "the other is full"
    assert "it waited because it was new" in said
    assert re.search(r"measured: prompt 3k, of it cached 0k; answer \d+ tokens", said), "apart from what was estimated"
    code, said, _ = status(world.gateway, "--session", "0123456789ab")
    assert code == 0 and "no decision" in said and "is not known" in said
    held.answer().read_all()
    other_gate.set()


def test_a_session_is_shown_with_its_lineages(make_world):
    world = make_world()
    answer = world.gateway.post(PATHS["chat"], long_body("chat"), session("first"))
    mark = answer.header("x-warmgate-session")

    def shown():
        return world.gateway.api(f"/sessions?session={mark}")["sessions"]
    wait_until(lambda: shown()[0]["in_flight"] == 0)
    row = shown()[0]
    assert (len(shown()), row["session"], row["class"], row["sub_agents_in_flight"]) == (1, mark, "conversation", 0)
    (lineage,) = row["lineages"]
    assert (lineage["home"], lineage["turns"], lineage["waits_for"]) == ("m/e0/0", 1, "person")
    assert lineage["context_tokens"] > TOKENS and lineage["expected_pause_s"] > 1 and lineage["away_s"] >= 0
    assert "lineages" not in world.gateway.api("/sessions")["sessions"][0], "only where one is asked for"
    code, said, _ = status(world.gateway, "--session", mark)
    assert code == 0 and "waits for person" in said and "no seat is held for it" in said
    decided = world.gateway.api(f"/decisions?session={mark}")["decisions"][0]
    assert decided["measured"]["prompt_tokens"] == TOKENS and decided["measured"]["cached_tokens"] == 0
    assert decided["waited_because"] is None


def test_a_parent_waits_for_its_sub_agents(make_world):
    world = make_world()
    parent = world.gateway.post(PATHS["messages"], long_body("messages"), [("x-claude-code-session-id", "s")])
    mark = parent.header("x-warmgate-session")

    def shown():
        return world.gateway.api(f"/sessions?session={mark}")["sessions"][0]
    wait_until(lambda: shown()["in_flight"] == 0)
    names = [("x-claude-code-session-id", "s"), ("x-claude-code-agent-id", "a1234567890abcdef")]
    gate = threading.Event()
    world.engine.default = fine(before=gate)
    world.gates.append(gate)
    agents = [world.gateway.connect().request("POST", PATHS["messages"], long_body("messages", stream=stream), names) for stream in (False, True)]
    wait_until(lambda: shown()["sub_agents_in_flight"] == 2)
    assert shown()["lineages"][0]["waits_for"] == "sub-agents"
    agents[1].close()  # one leaves, the other is answered
    wait_until(lambda: shown()["sub_agents_in_flight"] == 1)
    gate.set()
    assert agents[0].answer().read_all().status == 200
    wait_until(lambda: shown()["sub_agents_in_flight"] == 0)
    agents[0].close()


# ---- rules that operators set ----

@pytest.mark.parametrize("dialect", DIALECTS)
def test_max_wait_refuses_only_who_has_not_begun(make_world, dialect):
    world = make_world(admission={"max_wait": "700ms"})
    begun = world.gateway.post(PATHS[dialect], long_body(dialect), session("begun"))
    assert begun.status == 200
    gate, _ = world.hold("first")
    again = world.waiter(dialect, "begun")
    fresh = world.waiter(dialect, "fresh")
    refused = fresh.answer().read_all()
    assert refused.status == 503 and 1 <= int(refused.header("retry-after")) <= 30
    assert is_error(dialect, refused.json()) and "max_wait" in message(refused.json())
    decided = next(d for d in world.gateway.api("/decisions")["decisions"] if "max_wait" in d["rule"])
    assert decided["replica"] is None and decided["waited_s"] > 0.6
    assert "refused after" in status(world.gateway, "--session", decided["session"])[1]
    assert world.waiting() == 1 and world.gateway.in_flight() == 1
    gate.set()
    assert again.answer().read_all().status == 200


def test_max_wait_after_pings_is_an_error_event(make_world):
    world = make_world(admission={"max_wait": "1s"}, wait=QUICK)
    world.hold("first")
    answer = world.waiter("messages", "fresh", stream=True).answer().read_all()
    assert answer.status == 200 and pings("messages", answer.body) >= 1 and answer.ended == "cut"
    error = sse.payloads(answer.body)[-1]
    assert is_error("messages", error) and error["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("policy", ["off", "round-robin", "least", "hash", "sticky"])
def test_another_policy_lets_all_go_at_once(make_world, policy):
    world = make_world()
    gate, held = world.hold("first")
    waiters = [world.waiter("chat", f"w{n}") for n in range(4)]
    world.gateway.set_policy("m", policy)
    for connection in waiters:
        assert connection.answer().read_all().status == 200
    assert world.waiting() == 0
    world.gateway.set_policy("m", "warm")
    again = world.waiter("chat", "w9")
    gate.set()
    for connection in (held, again):
        assert connection.answer().read_all().status == 200


def test_waiting_begins_when_warm_is_switched_on(make_world):
    """Seats of turns that were sent under another policy count too."""
    world = make_world()
    world.gateway.set_policy("m", "sticky")
    gate, held = world.hold("first")
    world.gateway.set_policy("m", "warm")
    waiter = world.waiter("chat", "second")
    gate.set()
    for connection in (held, waiter):
        assert connection.answer().read_all().status == 200
