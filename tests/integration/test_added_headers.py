"""What the gateway adds to answers: where the turn went and why, a request id, a mark against buffering."""
import re

import pytest

from harness import answers
from harness.requests import DIALECTS, PATHS, body, session


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_route_replica_and_session(two, dialect, stream):
    gateway, engines = two
    for turn, route in enumerate(["placed", "sticky", "sticky"]):
        answer = gateway.post(PATHS[dialect], body(dialect, stream=stream), session("s1"))
        assert answer.header("x-warmgate-route") == route
        assert answer.header("x-warmgate-replica") in ("m/e0/0", "m/e1/0")
        assert re.fullmatch(r"[0-9a-f]{8,16}", answer.header("x-warmgate-session"))
        home = engines[int(answer.header("x-warmgate-replica")[3])]
        assert len(home.requests) == turn + 1
    other = gateway.post(PATHS[dialect], body(dialect), session("s2"))
    assert other.header("x-warmgate-session") != answer.header("x-warmgate-session")


def test_no_url_or_session_value_is_shown(two):
    gateway, engines = two
    answer = gateway.post(PATHS["chat"], body("chat"), session("a-private-session-name"))
    shown = " ".join(v for _, v in answer.headers)
    assert "a-private-session-name" not in shown
    assert not any(str(e.port) in shown for e in engines)


def test_request_id_is_kept_or_made(one):
    gateway, engine = one
    answer = gateway.post(PATHS["chat"], body("chat"), [("X-Request-Id", "mine-17")])
    assert answer.header("x-request-id") == "mine-17" and engine.requests[0].header("x-request-id") == "mine-17"
    made = [gateway.post(PATHS["chat"], body("chat")).header("x-request-id") for _ in range(2)]
    assert all(made) and made[0] != made[1]
    assert [r.header("x-request-id") for r in engine.requests[1:]] == made


def test_streams_are_marked_against_buffering(one):
    gateway, engine = one
    assert gateway.post(PATHS["chat"], body("chat", stream=True)).header("x-accel-buffering") == "no"
    assert gateway.post(PATHS["chat"], body("chat")).header("x-accel-buffering") is None
    engine.script(answers.normal(headers=[("X-Accel-Buffering", "no")]))
    answer = gateway.post(PATHS["chat"], body("chat", stream=True))
    assert [n.lower() for n, _ in answer.headers].count("x-accel-buffering") == 1


def test_engine_errors_carry_the_route_too(one):
    gateway, engine = one
    engine.script(answers.status(400))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 400 and answer.header("x-warmgate-replica") == "m/e0/0" and answer.header("x-request-id")


def test_engine_cannot_fake_our_headers(one):
    gateway, engine = one
    engine.script(answers.normal(headers=[("X-Warmgate-Replica", "elsewhere")]))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert [v for n, v in answer.headers if n.lower() == "x-warmgate-replica"] == ["m/e0/0"]
