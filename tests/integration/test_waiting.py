"""Signs of life: a streamed request that waits gets its head and then pings; later errors come as events."""
import threading

import pytest

from harness import answers, sse
from harness.requests import DIALECTS, DONE, PATHS, body, is_error
from harness.waiting import elapsed, wait_until

QUICK = {"commit_after": "300ms", "ping_every": "200ms"}
PING = {"messages": b"event: ping", "chat": b":", "completions": b":", "responses": b":"}


@pytest.fixture
def quick(make_engine, make_gateway):
    engine = make_engine()
    return make_gateway([engine], wait=QUICK), engine


def pings(dialect, text):
    return sum(e.startswith(PING[dialect]) for e in sse.split(text))


def without_pings(dialect, text):
    return b"".join(e for e in sse.split(text) if not e.startswith(PING[dialect]))


@pytest.mark.parametrize("head_first", [True, False], ids=["engine's head is out", "engine says nothing"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_head_and_pings_while_the_engine_is_silent(quick, dialect, head_first):
    gateway, engine = quick
    gate = threading.Event()

    def wait_then_answer(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        if exchange.wait(gate):
            for event in answers.EVENTS[dialect](False, 100, 64, "stop"):
                exchange.chunk(event)
            exchange.end()
    engine.script(wait_then_answer if head_first else answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", PATHS[dialect], body(dialect, stream=True))
        answer = connection.answer()
        assert answer.status == 200 and answer.header("content-type").startswith("text/event-stream")
        while pings(dialect, answer.body) < 3:
            assert answer.read_piece()
        gate.set()
        answer.read_all()
    assert answer.ended == "chunked" and DONE[dialect] in answer.body
    assert without_pings(dialect, answer.body) == b"".join(answers.EVENTS[dialect](False, 100, 64, "stop"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pings_in_mid_stream(quick, dialect):
    gateway, engine = quick
    gate = threading.Event()
    engine.script(answers.normal(gate=gate))
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS[dialect], body(dialect, stream=True)).answer()
        answer.read_until(b"one")
        while pings(dialect, answer.body) < 2:
            assert answer.read_piece()
        gate.set()
        answer.read_all()
    assert answer.ended == "chunked"
    assert without_pings(dialect, answer.body) == b"".join(answers.EVENTS[dialect](False, 100, 64, "stop"))


def test_no_ping_inside_an_event(quick):
    """An event that stalls in its middle is not torn by a ping."""
    gateway, engine = quick
    gate = threading.Event()
    big = sse.data({"choices": [{"index": 0, "delta": {"content": "x" * 100_000}, "finish_reason": None}]})

    def play(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        exchange.chunk(big[:80_000])
        if exchange.wait(gate):
            exchange.chunk(big[80_000:] + sse.data("[DONE]"))
            exchange.end()
    engine.script(play)
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], body("chat", stream=True, stream_options={"include_usage": True}))
        wait_until(lambda: engine.requests)
        threading.Timer(0.8, gate.set).start()
        answer = connection.answer().read_all()
    assert without_pings("chat", answer.body) == big + sse.data("[DONE]")


def test_quick_answers_have_normal_status(quick):
    gateway, engine = quick
    engine.script(answers.status(400))
    answer = gateway.post(PATHS["chat"], body("chat", stream=True))
    assert answer.status == 400
    assert pings("chat", gateway.post(PATHS["chat"], body("chat", stream=True)).body) == 0


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("late", ["status 400", "status 503", "reset"])
def test_late_errors_are_events(quick, dialect, late):
    gateway, engine = quick
    gate = threading.Event()
    script = {"status 400": answers.status(400), "status 503": answers.status(503), "reset": answers.reset_before_head()}[late]

    def wait_then_fail(exchange):
        if exchange.wait(gate):
            script(exchange)
    engine.default = wait_then_fail
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS[dialect], body(dialect, stream=True)).answer()
        assert answer.status == 200
        gate.set()
        answer.read_all()
    last = [p for p in sse.payloads(answer.body) if isinstance(p, dict) and p.get("type") != "ping"][-1]
    assert is_error(dialect, last) and DONE[dialect] not in answer.body
    if late == "status 400":
        assert b"engine says 400" in answer.body


def test_answers_that_are_not_streamed_wait_in_silence(quick):
    gateway, engine = quick
    gate = threading.Event()
    engine.script(answers.stall(gate))
    threading.Timer(1.0, gate.set).start()
    answers_time = []
    took = elapsed(lambda: answers_time.append(gateway.post(PATHS["chat"], body("chat"))))
    assert took > 0.9 and answers_time[0].status == 200 and answers_time[0].json()["choices"]


def test_gone_while_pinged(quick):
    gateway, engine = quick
    engine.script(answers.stall(threading.Event()))
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS["messages"], body("messages", stream=True)).answer()
        answer.read_until(b"event: ping")
    assert engine.requests[0].gone.wait(1)
    gateway.wait_idle()
