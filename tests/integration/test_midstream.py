"""Death in mid-stream, or a finish reason `abort` that no client asked for: the dialect's error event, then the connection
is destroyed. Never a clean end, which SDKs take for a finished answer."""
from pathlib import Path

import pytest

from harness import answers, sse
from harness.gateway import REPO
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, session
from harness.waiting import wait_until


def assert_broken_off(dialect, answer):
    assert answer.status == 200 and answer.ended == "cut", answer.body[-300:]
    assert DONE[dialect] not in answer.body
    assert b"one" in answer.body  # what had come before
    events = sse.split(answer.body)
    assert events[-1].endswith(b"\n\n"), "the error event is whole"
    last = sse.payload(events[-1])
    assert is_error(dialect, last), last
    if dialect in ("messages", "responses"):
        assert events[-1].startswith(b"event: ")


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_engine_dies_mid_stream(two, dialect, how):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.events_then(3, lambda e: e.reset() if how == "reset" else e.close())
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
    assert_broken_off(dialect, answer)
    assert sum(len(e.requests) for e in engines) == 1  # no second answer is spliced on


@pytest.mark.parametrize("dialect", DIALECTS)
def test_engine_dies_inside_an_event(one, dialect):
    """The half event is closed off, so that the error event is one of its own."""
    gateway, engine = one

    def half(exchange):
        exchange.chunk(b'data: {"half": "and th')
        exchange.close()
    engine.default = answers.events_then(3, half)
    assert_broken_off(dialect, gateway.post(PATHS[dialect], body(dialect, stream=True)))


@pytest.mark.parametrize("dialect", ["chat", "completions", "messages"])
def test_unasked_abort(two, dialect):
    """A rank of vLLM was killed: streams of the other ranks end like good ones, but for their finish reason."""
    gateway, engines = two
    for engine in engines:
        engine.default = answers.normal(finish="abort")
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True), session("s"))
    assert answer.ended == "cut" and DONE[dialect] not in answer.body and b'"abort"' not in answer.body
    assert is_error(dialect, sse.payloads(answer.body)[-1])
    home = answer.header("x-warmgate-replica")
    wait_until(lambda: not gateway.replica(home)["healthy"])
    other = gateway.post(PATHS[dialect], body(dialect, stream=True), session("s"))
    assert other.header("x-warmgate-replica") != home


SAMPLES = Path(__file__).parent / "data"
KILLED = {"chat, another rank": ("chat", REPO / "tests/data/engine-samples/vllm-stream-while-engine-killed.sse"),
          "chat, the killed rank": ("chat", SAMPLES / "vllm-killed-chat-killed-rank.sse"),
          "messages, another rank": ("messages", SAMPLES / "vllm-killed-messages-other-rank.sse"),
          "messages, the killed rank": ("messages", SAMPLES / "vllm-killed-messages-killed-rank.sse")}


@pytest.mark.parametrize("name", KILLED)
def test_recorded_streams_of_a_killed_engine(one, name):
    """The very bytes that vLLM 0.32 sent when the core of one rank was killed. Messages of another rank end with a
    stop_reason of null and a clean message_stop."""
    dialect, file = KILLED[name]
    recorded = file.read_bytes().replace(b"\r\n", b"\n").split(b"\n\ncurl")[0]
    start = min(i for i in (recorded.find(b"data:"), recorded.find(b"event:")) if i >= 0)
    gateway, engine = one

    def play(exchange):
        exchange.head(200, [("content-type", "text/event-stream; charset=utf-8")], chunked=True)
        for event in sse.split(recorded[start:]):
            exchange.chunk(event)
        exchange.end()
    engine.default = play
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
    assert answer.ended == "cut" and DONE[dialect] not in answer.body and b'"abort"' not in answer.body
    assert is_error(dialect, sse.payloads(answer.body)[-1])
    wait_until(lambda: not gateway.replica("m/e0/0")["healthy"])


@pytest.mark.parametrize("dialect", ["chat", "completions", "messages"])
def test_unasked_abort_of_a_whole_answer_is_tried_elsewhere(two, dialect):
    gateway, engines = two
    answer = gateway.post(PATHS[dialect], body(dialect), session("s"))
    home = answer.header("x-warmgate-replica")
    engines[int(home[3])].default = answers.normal(finish="abort")
    answer = gateway.post(PATHS[dialect], body(dialect), session("s"))
    assert answer.status == 200 and answer.header("x-warmgate-replica") != home
    assert not gateway.replica(home)["healthy"]


def test_reset_mid_stream_takes_the_engine_out(two):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.reset_after(3)
    answer = gateway.post(PATHS["chat"], body("chat", stream=True), session("s"))
    dead = engines[int(answer.header("x-warmgate-replica")[3])]
    assert answer.ended == "cut"
    for engine in engines:
        engine.default = answers.normal()
    # The client sends it again at once: not to the one that has just died, unless it proved itself meanwhile.
    again = gateway.post(PATHS["chat"], body("chat", stream=True), session("s"))
    assert again.status == 200 and again.ended == "chunked"
    assert dead is not None


def test_large_body_cut_after_it_began_to_flow(one):
    """Beyond what is held back of a body that is not streamed: cut, never a clean end."""
    gateway, engine = one

    def cut(exchange):
        exchange.head(200, [("content-type", "application/json")], length=9_000_000)
        exchange.send(b'{"x":"' + b"a" * 6_000_000)
        exchange.close()
    engine.default = cut
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.ended == "cut" or answer.status in (502, 503)


def test_large_body_arrives_whole(one):
    gateway, engine = one
    text = b'{"x":"' + b"a" * 9_000_000 + b'"}'
    engine.script(answers.status(200, text))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 200 and answer.body == text and answer.ended in ("length", "chunked")


def test_event_larger_than_what_is_held(one):
    """Events are relayed whole up to 64 KB; larger ones flow in pieces and arrive unchanged."""
    gateway, engine = one
    big = sse.data({"choices": [{"index": 0, "delta": {"content": "x" * 300_000}, "finish_reason": None}]})
    end = sse.data("[DONE]")

    def play(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        for start in range(0, len(big), 10_000):
            exchange.chunk(big[start:start + 10_000])
        exchange.chunk(end)
        exchange.end()
    engine.script(play)
    answer = gateway.post(PATHS["chat"], body("chat", stream=True, stream_options={"include_usage": True}))
    assert answer.body == big + end and answer.ended == "chunked"


def test_events_cut_at_every_odd_place(one):
    """Chunks that end inside events, lines and characters: the bytes come out the same."""
    gateway, engine = one
    whole = b"".join(answers.chat_events(True, 10, 5, "stop")).replace(b"two", "zwei☃".encode())

    def play(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        for start in range(0, len(whole), 3):
            exchange.chunk(whole[start:start + 3])
        exchange.end()
    engine.script(play)
    answer = gateway.post(PATHS["chat"], body("chat", stream=True, stream_options={"include_usage": True}))
    assert answer.body == whole and answer.ended == "chunked"
