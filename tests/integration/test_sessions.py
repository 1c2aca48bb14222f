"""Who belongs together: keys that agents send, sub-agents beside their parent, the fingerprint of those who send none."""
import json
import threading

import pytest

from harness import answers
from harness.requests import PATHS, body, session
from harness.waiting import wait_until

PARENT = "11111111-2222-4333-8444-555555555555"


def claude(session_id=PARENT, agent=None):
    return [("X-Claude-Code-Session-Id", session_id), *([("x-claude-code-agent-id", agent)] if agent else [])]


SUB_AGENTS = {
    "Claude Code": ("messages", claude(), lambda n: claude(agent=f"a{n:016x}")),
    "opencode": ("chat", [("x-session-affinity", "ses_parent"), ("x-session-id", "ses_parent")],
                 lambda n: [("x-session-affinity", f"ses_{n}"), ("x-session-id", f"ses_{n}"), ("x-parent-session-id", "ses_parent")]),
    "Codex": ("responses", [("session-id", PARENT), ("thread-id", PARENT)],
              lambda n: [("session-id", PARENT), ("thread-id", f"{n:08d}-0000-7000-8000-000000000000"), ("x-codex-parent-thread-id", PARENT)]),
}


@pytest.mark.parametrize("client", SUB_AGENTS)
def test_sub_agents_start_beside_their_parent(two, client):
    gateway, engines = two
    dialect, parent, child = SUB_AGENTS[client]
    home = gateway.post(PATHS[dialect], body(dialect), parent)
    marks = set()
    for n in range(4):
        answer = gateway.post(PATHS[dialect], body(dialect, text=f"child {n}"), child(n))
        assert answer.header("x-warmgate-replica") == home.header("x-warmgate-replica")
        assert answer.header("x-warmgate-route") == "placed"
        again = gateway.post(PATHS[dialect], body(dialect, text=f"child {n}, more"), child(n))
        assert again.header("x-warmgate-route") == "sticky"
        marks.add(answer.header("x-warmgate-session"))
    assert len(marks) == 4 and home.header("x-warmgate-session") not in marks


def test_sub_agents_go_elsewhere_when_the_parents_is_over_its_threshold(make_engine, make_gateway):
    gate = threading.Event()
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, spill=0)
    home = gateway.post(PATHS["messages"], body("messages"), claude()).header("x-warmgate-replica")
    busy = engines[int(home[3])]
    busy.script(answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", PATHS["messages"], body("messages"), claude())
        wait_until(lambda: len(busy.requests) == 2)
        answer = gateway.post(PATHS["messages"], body("messages"), claude(agent="a0123456789abcdef"))
        assert answer.header("x-warmgate-replica") != home
        gate.set()
        assert connection.answer().read_all().status == 200


KEYS = {
    "operator": (session("op"), {}),
    "x-session-id": ([("x-session-id", "v1")], {}),
    "session_id header": ([("session_id", "v2")], {}),
    "goose": ([("agent-session-id", "20260809_29")], {}),
    "open webui": ([("X-OpenWebUI-Chat-Id", "chat-7")], {}),
    "conversation header": ([("x-conversation-id", "c9")], {}),
    "prompt_cache_key": ([], {"prompt_cache_key": "pck"}),
    "promptCacheKey": ([], {"promptCacheKey": "pck2"}),
    "metadata.session_id": ([], {"metadata": {"session_id": "ms"}}),
    "metadata.user_id": ([], {"metadata": {"user_id": json.dumps({"device_id": "d", "session_id": PARENT})}}),
    "old metadata.user_id": ([], {"metadata": {"user_id": f"user_abc_account__session_{PARENT}"}}),
}


@pytest.mark.parametrize("source", KEYS)
def test_same_key_same_home_whatever_the_text(two, source):
    gateway, _ = two
    headers, extra = KEYS[source]
    texts = ["first words", "quite other words", "third"]
    found = [gateway.post(PATHS["chat"], body("chat", text=t, **extra), headers) for t in texts]
    assert [a.header("x-warmgate-route") for a in found] == ["placed", "sticky", "sticky"]
    assert len({a.header("x-warmgate-session") for a in found}) == 1


@pytest.mark.parametrize("header", ["x-request-id", "x-correlation-id", "traceparent"])
def test_what_is_no_key(two, header):
    gateway, _ = two
    found = [gateway.post(PATHS["chat"], body("chat", text=t), [(header, "same-value")]) for t in ("one thing", "another thing")]
    assert len({a.header("x-warmgate-session") for a in found}) == 2


@pytest.mark.parametrize("value", ["", "x" * 257, "with space", "caf\xe9"])
def test_unusable_values_are_passed_over(two, value):
    gateway, _ = two
    found = [gateway.post(PATHS["chat"], body("chat", text=t), session(value)) for t in ("one thing", "another thing")]
    assert [a.status for a in found] == [200, 200]
    assert len({a.header("x-warmgate-session") for a in found}) == 2


def conversation(turns, opening):
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": opening}]
    for n in range(turns):
        messages += [{"role": "assistant", "content": f"answer {n}"}, {"role": "user", "content": f"question {n}"}]
    return {"model": "m", "messages": messages, "max_tokens": 8}


def test_fingerprint_holds_over_turns(two):
    gateway, _ = two
    for opening in ("hello", "good morning"):
        found = [gateway.post(PATHS["chat"], conversation(n, opening)) for n in range(4)]
        assert [a.header("x-warmgate-route") for a in found] == ["placed", "sticky", "sticky", "sticky"]
        assert len({a.header("x-warmgate-session") for a in found}) == 1


def test_operator_header_can_be_renamed(make_engine, make_gateway):
    gateway = make_gateway([make_engine(), make_engine()], sessions={"key_header": "x-my-chat"})
    found = [gateway.post(PATHS["chat"], body("chat", text=t), [("X-My-Chat", "a")]) for t in ("one", "two")]
    assert len({a.header("x-warmgate-session") for a in found}) == 1


def test_table_is_bounded_and_flood_spares_the_living(make_engine, make_gateway):
    gateway = make_gateway([make_engine(), make_engine()], sessions={"limit": 100})
    with gateway.connect() as connection:
        for turn in range(3):
            living = connection.post(PATHS["chat"], body("chat"), session("living"))
        for n in range(400):
            assert connection.post(PATHS["chat"], body("chat"), session(f"flood{n}")).status == 200
        answer = connection.post(PATHS["chat"], body("chat"), session("living"))
    assert answer.header("x-warmgate-route") == "sticky"
    assert answer.header("x-warmgate-replica") == living.header("x-warmgate-replica")
    assert len(gateway.api("/sessions")["sessions"]) <= 100
