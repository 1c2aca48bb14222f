"""A client that goes away: the engine's connection is closed at once, in prefill and while streaming, streamed or not."""
import threading

import pytest

from harness import answers
from harness.requests import DIALECTS, PATHS, body
from harness.waiting import wait_until

SOON = 1.0  # seconds; the engine must hear of it well before


def leave(connection, how):
    connection.close() if how == "close" else connection.reset()


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_prefill(one, dialect, stream, how):
    gateway, engine = one
    engine.script(answers.stall(threading.Event()))
    connection = gateway.connect()
    connection.request("POST", PATHS[dialect], body(dialect, stream=stream))
    wait_until(lambda: engine.requests)
    assert gateway.in_flight() == 1
    leave(connection, how)
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_idle()


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_mid_stream(one, dialect, how):
    gateway, engine = one
    engine.script(answers.normal(gate=threading.Event()))
    connection = gateway.connect()
    answer = connection.request("POST", PATHS[dialect], body(dialect, stream=True)).answer()
    answer.read_until(b"one")
    leave(connection, how)
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_idle()


@pytest.mark.parametrize("how", ["close", "reset"])
def test_in_a_body_that_is_not_streamed(one, how):
    gateway, engine = one
    engine.script(answers.normal(gate=threading.Event()))
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], body("chat"))
    wait_until(lambda: engine.requests and engine.requests[0].started.is_set())
    leave(connection, how)
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_idle()


def test_after_the_head_before_the_first_event(one):
    gateway, engine = one
    engine.script(answers.events_then(0, lambda exchange: exchange.wait(threading.Event())))
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], body("chat", stream=True))
    wait_until(lambda: engine.requests and engine.requests[0].started.is_set())
    connection.close()
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_idle()


def test_before_its_body_was_complete(one):
    """Nothing has been sent anywhere yet, and nothing is counted."""
    gateway, engine = one
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], None, [("Content-Length", "1000"), ("Content-Type", "application/json")])
    connection.send(b'{"model":"m"')
    connection.reset()
    gateway.wait_idle()
    assert not engine.requests
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


def test_others_on_the_same_replica_go_on(one):
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.normal(gate=gate), answers.normal(gate=gate))
    leaver, stayer = gateway.connect(), gateway.connect()
    first = leaver.request("POST", PATHS["chat"], body("chat", stream=True)).answer()
    second = stayer.request("POST", PATHS["chat"], body("chat", stream=True)).answer()
    first.read_until(b"one"), second.read_until(b"one")
    leaver.reset()
    wait_until(lambda: sum(r.gone.is_set() for r in engine.requests) == 1)
    gate.set()
    assert second.read_all().ended == "chunked" and b"[DONE]" in second.body


def test_pipelined_bytes_do_not_look_like_leaving(one):
    """A client that sends its next request early has not left."""
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], body("chat"))
        wait_until(lambda: engine.requests)
        connection.request("POST", PATHS["chat"], body("chat", text="second"))
        assert not engine.requests[0].gone.wait(0.2)
        gate.set()
        assert [connection.answer().read_all().status for _ in range(2)] == [200, 200]


def test_leaves_between_two_attempts(two):
    """Gone while the second attempt is in prefill: that one is closed, and the request ends once."""
    gateway, engines = two

    def busy_once(exchange):
        for engine in engines:
            engine.default = answers.stall(threading.Event())
        answers.status(503)(exchange)
    for engine in engines:
        engine.default = busy_once
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], body("chat"))
    wait_until(lambda: sum(len(e.requests) for e in engines) == 2)
    connection.close()
    wait_until(lambda: any(r.gone.is_set() for e in engines for r in e.requests), SOON)
    gateway.wait_idle()
