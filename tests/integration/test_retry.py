"""Which failures go to another replica before the client has seen a byte, and which pass as they are."""
import json
import threading

import pytest

from harness import answers, sse
from harness.requests import DIALECTS, PATHS, body, is_error, session
from harness.waiting import wait_until


def settle(gateway, engines, key="s", dialect="chat"):
    """Places session `key`; returns (home engine, the other one, home's replica id)."""
    answer = gateway.post(PATHS[dialect], body(dialect), session(key))
    replica = answer.header("x-warmgate-replica")
    home = engines[int(replica[3])]
    return home, engines[1 - int(replica[3])], replica


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_refused_connection_goes_to_another_replica(two, dialect, stream):
    gateway, engines = two
    home, other, replica = settle(gateway, engines)
    home.down()
    answer = gateway.post(PATHS[dialect], body(dialect, stream=stream), session("s"))
    assert answer.status == 200 and answer.header("x-warmgate-replica") != replica
    assert answer.ended == ("chunked" if stream else "length")
    # The home is down, so the session has a new one.
    again = gateway.post(PATHS[dialect], body(dialect), session("s"))
    assert again.header("x-warmgate-route") == "sticky" and again.header("x-warmgate-replica") != replica
    home.up()
    gateway.wait_healthy()


TO_ANOTHER = {
    "reset before head": answers.reset_before_head(),
    "closed before head": answers.close_before_head(),
    "502": answers.status(502),
    "503": answers.status(503),
    "half a head": answers.raw(b"HTTP/1.1 200 OK\r\ncontent-ty"),
    "no http": answers.raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "error as first event": answers.error_first_event(),
    "abort as whole answer": answers.normal(finish="abort"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", TO_ANOTHER)
def test_goes_to_another_replica(two, name, stream):
    if (name == "error as first event") != stream and name.endswith("event"):
        pytest.skip("only streams have events")
    if name == "abort as whole answer" and stream:
        pytest.skip("in a stream, content has gone out before the abort: test_midstream.py")
    gateway, engines = two
    home, other, replica = settle(gateway, engines)
    home.default = TO_ANOTHER[name]
    answer = gateway.post(PATHS["chat"], body("chat", stream=stream), session("s"))
    assert answer.status == 200 and answer.header("x-warmgate-replica") != replica
    assert answer.ended == ("chunked" if stream else "length")
    assert (b"[DONE]" in answer.body) == stream and b"engine" not in answer.body
    assert other.requests[-1].body == home.requests[-1].body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_first_event_error_in_every_dialect(two, dialect):
    gateway, engines = two
    home, _, replica = settle(gateway, engines, dialect=dialect)
    home.default = answers.error_first_event()
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True), session("s"))
    assert answer.header("x-warmgate-replica") != replica and answer.ended == "chunked"
    assert not any(isinstance(p, dict) and is_error(dialect, p) for p in sse.payloads(answer.body))


def test_busy_is_not_down(two):
    """A 503 sends the turn elsewhere once, but the session keeps its home."""
    gateway, engines = two
    home, _, replica = settle(gateway, engines)
    home.script(answers.status(503))
    assert gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica") != replica
    assert all(r["healthy"] for r in gateway.replicas())
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.header("x-warmgate-replica") == replica and answer.header("x-warmgate-route") == "sticky"


PASS_AS_THEY_ARE = [400, 401, 403, 404, 409, 422, 429, 500, 501]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("code", PASS_AS_THEY_ARE)
def test_passes_as_it_is(two, code, stream):
    gateway, engines = two
    text = json.dumps({"error": {"message": "prompt is too long: 5 > 4", "type": "Odd", "param": None, "code": code}}).encode()
    for engine in engines:
        engine.default = answers.status(code, text, [("retry-after", "7"), ("x-engine", "yes")])
    answer = gateway.post(PATHS["chat"], body("chat", stream=stream), session("s"))
    assert answer.status == code and answer.body == text
    assert answer.header("retry-after") == "7" and answer.header("x-engine") == "yes"
    assert sum(len(e.requests) for e in engines) == 1
    assert all(r["healthy"] for r in gateway.replicas())


def test_at_most_two_retries(make_engine, make_gateway):
    engines = [make_engine() for _ in range(5)]
    gateway = make_gateway(engines)
    text = b'{"error":{"message":"busy here","type":"x","code":503}}'
    for engine in engines:
        engine.default = answers.status(503, text)
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 503
    assert sum(len(e.requests) for e in engines) == 3
    assert sorted(len(e.requests) for e in engines)[-1] == 1  # each at another URL


def test_every_replica_fails_before_the_head(two):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.reset_before_head()
    for dialect in DIALECTS:
        answer = gateway.post(PATHS[dialect], body(dialect))
        assert answer.status in (502, 503) and is_error(dialect, answer.json())
    assert len({str(e.port) for e in engines if str(e.port) in answer.body.decode()}) == 0


def test_stale_idle_connection_is_tried_again_at_home(two):
    """The engine closes an idle connection just as it is used: one more try at the same replica, on a fresh one."""
    gateway, engines = two
    home, other, replica = settle(gateway, engines)
    used = home.requests[-1].connection

    def reset_if_reused(exchange):
        answers.reset_before_head()(exchange) if exchange.request.connection == used else answers.normal()(exchange)
    home.default = reset_if_reused
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.status == 200 and answer.header("x-warmgate-replica") == replica
    assert answer.header("x-warmgate-route") == "sticky"
    assert not other.requests
    assert home.requests[-1].connection != used
    assert gateway.replica(replica)["healthy"]


def test_closed_idle_connections_are_not_used(two):
    gateway, engines = two
    home, other, replica = settle(gateway, engines)
    for _ in range(10):
        home.drop_connections(reset=False)
        answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
        assert answer.status == 200 and answer.header("x-warmgate-replica") == replica
    assert not other.requests


def test_connections_to_engines_are_reused(one):
    gateway, engine = one
    with gateway.connect() as connection:
        for _ in range(10):
            assert connection.post(PATHS["chat"], body("chat")).status == 200
    assert len({r.connection for r in engine.requests}) == 1


def test_body_cut_before_anything_was_passed_on(two):
    """Not streamed, Content-Length says more than comes: the body was held, so another replica answers."""
    gateway, engines = two
    home, _, replica = settle(gateway, engines)

    def too_short(exchange):
        exchange.head(200, [("content-type", "application/json")], length=1000)
        exchange.send(b'{"id":')
        exchange.close()
    home.default = too_short
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.status == 200 and answer.json()["choices"] and answer.header("x-warmgate-replica") != replica


def test_retries_are_counted_once_in_flight(two):
    """While the second attempt is under way, the request is in flight at one replica only."""
    gateway, engines = two
    home, other, replica = settle(gateway, engines)
    gate = threading.Event()
    home.default, other.default = answers.status(503), answers.stall(gate)
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], body("chat"), session("s"))
        wait_until(lambda: other.requests)
        assert gateway.replica(replica)["in_flight"] == 0 and gateway.in_flight() == 1
        gate.set()
        assert connection.answer().read_all().status == 200
