"""Clients that leave, in each phase and in each manner: the engine's connection is closed at once, nothing stays counted, no
descriptor stays open. A half-closed connection counts as left: on the wire it looks like a closed one."""
import json
import threading

import pytest

from harness import answers
from harness.fake_engine import SilentEngine
from harness.process import Footprint
from harness.requests import DIALECTS, PATHS, body, session
from harness.waiting import wait_until
from harness.wire import LEAVE

SOON = 1.0
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
BODY = json.dumps(body("chat")).encode()
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY

BEFORE_ANYTHING_WAS_SENT_ON = {
    "connected": b"",
    "half a request line": b"POST /v1/ch",
    "half a head": HEAD,
    "no body yet": HEAD + b"Content-Length: 500\r\n\r\n",
    "half a body": HEAD + b'Content-Length: 500\r\n\r\n{"model":"m",',
    "half a chunk": HEAD + b'Transfer-Encoding: chunked\r\n\r\n40\r\n{"model":',
    "waiting for 100": HEAD + b"Content-Length: 500\r\nExpect: 100-continue\r\n\r\n",
    "half a second request": None,
}


@pytest.mark.parametrize("how", LEAVE)
@pytest.mark.parametrize("phase", BEFORE_ANYTHING_WAS_SENT_ON)
def test_before_anything_was_sent_on(one, phase, how):
    gateway, engine = one
    before = Footprint(gateway)
    connection = gateway.connect()
    if phase == "half a second request":  # between pipelined requests
        connection.send(WHOLE + HEAD)
        assert connection.answer().read_all().status == 200
    else:
        connection.send(BEFORE_ANYTHING_WAS_SENT_ON[phase])
    wait_until(lambda: gateway.metric("warmgate_connections") == 1)
    LEAVE[how](connection)
    gateway.wait_unconnected(SOON)
    assert len(engine.requests) == (phase == "half a second request")
    assert gateway.in_flight() == 0 and gateway.metric("warmgate_requests_in_flight") == 0
    before.assert_back()
    connection.close()


@pytest.mark.parametrize("how", LEAVE)
@pytest.mark.parametrize("phase", ["prefill", "prefill, streamed", "streaming", "half a body that is not streamed", "pings"])
def test_while_the_engine_works(make_engine, make_gateway, phase, how):
    engine = make_engine()
    gateway = make_gateway([engine], wait={"commit_after": "100ms", "ping_every": "50ms"} if phase == "pings" else {})
    in_prefill = phase.startswith("prefill") or phase == "pings"
    stream = phase in ("prefill, streamed", "streaming", "pings")
    engine.default = answers.stall(threading.Event()) if in_prefill else answers.normal(gate=threading.Event())
    before = Footprint(gateway)
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], body("chat", stream=stream))
    if phase == "streaming":
        connection.answer().read_until(b"one")
    elif phase == "pings":
        connection.answer().read_until(b":")
    wait_until(lambda: engine.requests and (in_prefill or engine.requests[0].started.is_set()))
    LEAVE[how](connection)
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_idle()
    gateway.wait_unconnected()
    before.assert_back()
    connection.close()


@pytest.mark.parametrize("how", LEAVE)
def test_in_the_first_of_two_pipelined_requests(one, how):
    """The second one never reaches the engine."""
    gateway, engine = one
    engine.default = answers.stall(threading.Event())
    connection = gateway.connect()
    connection.send(WHOLE + WHOLE)
    wait_until(lambda: engine.requests)
    LEAVE[how](connection)
    assert engine.requests[0].gone.wait(SOON)
    gateway.wait_unconnected()
    assert len(engine.requests) == 1 and gateway.in_flight() == 0
    connection.close()


@pytest.mark.parametrize("how", LEAVE)
def test_with_more_pipelined_than_is_read_ahead(one, how):
    """A client may send its next, large request early; that it leaves must be noticed behind those bytes too."""
    gateway, engine = one
    engine.default = answers.stall(threading.Event())
    connection = gateway.connect()
    connection.send(WHOLE + HEAD + b"Content-Length: 60000\r\n\r\n" + b" " * 60000)
    wait_until(lambda: engine.requests)
    assert not engine.requests[0].gone.wait(0.2)
    LEAVE[how](connection)
    assert engine.requests[0].gone.wait(3 * SOON)
    gateway.wait_unconnected()
    assert len(engine.requests) == 1 and gateway.in_flight() == 0
    connection.close()


@pytest.mark.parametrize("how", LEAVE)
def test_while_the_gateway_has_not_decided(make_gateway, how):
    """Nobody is up, and the look at an engine that does not even refuse takes its time: the client need not wait for that."""
    with SilentEngine() as engine:
        gateway = make_gateway([engine], wait_healthy=False)
        for _ in range(20):
            connection = gateway.connect()
            connection.send(WHOLE)
            LEAVE[how](connection)
            gateway.wait_unconnected(SOON)
            connection.close()
        wait_until(lambda: gateway.log().count("outcome=client_gone") >= 10, 5, "most left before they were refused")
        assert gateway.metric("warmgate_requests_in_flight") == 0 and gateway.metric("warmgate_bugs_total") == 0


@pytest.mark.parametrize("how", LEAVE)
def test_in_the_engines_queue(make_replica, make_gateway, how):
    """One sequence at a time: the second request waits inside the engine, and goes when its client does."""
    replica = make_replica(max_num_seqs=1, speed=1)
    gateway = make_gateway([replica])
    first, second = gateway.connect(), gateway.connect()
    answer = first.request("POST", PATHS["chat"], body("chat", stream=True, max_tokens=200, ignore_eos=True), session("a")).answer()
    second.request("POST", PATHS["chat"], body("chat", stream=True), session("b"))
    wait_until(lambda: replica.metric("vllm:num_requests_waiting") == 1)
    LEAVE[how](second)
    wait_until(lambda: replica.metric("vllm:num_requests_waiting") == 0, SOON)
    wait_until(lambda: gateway.in_flight() == 1, SOON)
    assert answer.read_piece()
    LEAVE[how](first)
    replica.wait_idle()
    gateway.wait_unconnected()
    first.close(), second.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_half_closed_gets_no_half_answer(one, dialect):
    """It is given up whole: nothing of an answer is sent that could be taken for one."""
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", PATHS[dialect], body(dialect))
        wait_until(lambda: engine.requests)
        connection.close_writing()
        assert connection.rest() == b""
    assert engine.requests[0].gone.wait(SOON)


def test_half_closed_behind_a_question_to_the_gateway(one):
    """What needs no engine is answered at once, so it is answered."""
    gateway, _ = one
    with gateway.connect() as connection:
        connection.request("GET", "/v1/models").close_writing()
        assert connection.answer("GET").read_all().status == 200
