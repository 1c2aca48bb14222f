"""What operators see: one log line a request, metrics, the admin API; never bodies, keys or engine addresses to clients."""
import json
import threading

import pytest

from harness import answers, metrics_text, wire
from harness.requests import PATHS, body, session
from harness.waiting import wait_until

REPLICA_KEYS = {"pool", "id", "url", "rank", "healthy", "in_flight", "queued", "turns", "running", "waiting", "kv_usage", "kv_tokens",
                "prefix_queries", "prefix_hits"}


def log_lines(gateway, word):
    return [line for line in gateway.log().splitlines() if word in line]


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_one_line_a_request(make_engine, make_gateway, log_format):
    engine = make_engine()
    gateway = make_gateway([engine], log={"format": log_format})
    for number, stream in enumerate((False, True)):
        gateway.post(PATHS["chat"] + "?secret=query", body("chat", text="private words", stream=stream),
                     [("x-request-id", f"rq-{number}"), ("Authorization", "Bearer sk-private"), *session("private-session")])
        wait_until(lambda: log_lines(gateway, f"rq-{number}"))
        lines = log_lines(gateway, f"rq-{number}")
        assert len(lines) == 1
        if log_format == "json":
            record = json.loads(lines[0])
            assert record["status"] == 200 and "m/e0/0" in lines[0]
        assert "m/e0/0" in lines[0] and ("placed" in lines[0] or "sticky" in lines[0])
    for hidden in ("private words", "sk-private", "private-session", "secret=query"):
        assert hidden not in gateway.log()


def test_refused_and_broken_requests_are_logged_too(one):
    gateway, engine = one
    gateway.post(PATHS["chat"], body("chat", model="nope"), [("x-request-id", "rq-unknown")])
    engine.script(answers.reset_after(3))
    gateway.post(PATHS["chat"], body("chat", stream=True), [("x-request-id", "rq-broken")])
    for request_id in ("rq-unknown", "rq-broken"):
        wait_until(lambda: log_lines(gateway, request_id))
        assert len(log_lines(gateway, request_id)) == 1


def test_replicas_have_the_promised_shape(two):
    gateway, engines = two
    gateway.post(PATHS["chat"], body("chat"))
    for row in gateway.replicas():
        assert REPLICA_KEYS <= set(row)
        assert {"placed", "sticky", "spilled", "moved", "off", "unsteered"} <= set(row["turns"])
    assert {r["url"] for r in gateway.replicas()} == {e.url for e in engines}


def test_sessions_are_listed_without_their_values(two):
    gateway, _ = two
    mark = gateway.post(PATHS["chat"], body("chat"), session("private-session")).header("x-warmgate-session")
    listed = gateway.api("/sessions")
    assert len(listed["sessions"]) == 1
    assert "private-session" not in json.dumps(listed) and mark in json.dumps(listed)


def test_metrics_are_well_formed(two):
    gateway, _ = two
    for stream in (False, True):
        gateway.post(PATHS["chat"], body("chat", stream=stream), session("s"))
    gateway.post(PATHS["chat"], body("chat", model="nope-from-a-client"))
    gateway.wait_idle()
    text = gateway.metrics()
    rows = metrics_text.parse(text)
    assert rows and all(name.startswith("warmgate_") for name, _, _ in rows)
    assert len({(n, tuple(sorted(l.items()))) for n, l, _ in rows}) == len(rows)
    assert "nope-from-a-client" not in text  # labels come from the configuration only
    typed = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert all(n in typed or n.rsplit("_", 1)[0] in typed for n, _, _ in rows)
    assert metrics_text.total(text, "warmgate_prompt_tokens_total", kind="cached") == 128


def test_in_flight_is_shown_while_it_lasts(one):
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], body("chat"))
        wait_until(lambda: engine.requests)
        assert gateway.in_flight() == 1 and gateway.metric("warmgate_in_flight") == 1
        gate.set()
        connection.answer().read_all()
    gateway.wait_idle()


def test_admin_answers_unknown_paths_and_methods(one):
    gateway, _ = one
    assert wire.get(gateway.admin, "/api/v1/nothing").status == 404
    assert wire.post(gateway.admin, "/api/v1/replicas", {}).status in (404, 405)
    assert wire.post(gateway.admin, PATHS["chat"], body("chat")).status == 404
