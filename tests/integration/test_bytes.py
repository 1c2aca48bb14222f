"""What a client sends reaches the engine byte for byte, but for the few things that are named here; and back."""
import json
import os
import threading

import pytest

from harness import answers, wire
from harness.requests import DIALECTS, PATHS, body


def lower(headers):
    return [(n.lower(), v) for n, v in headers]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_body_and_query_pass_unchanged(one, dialect):
    gateway, engine = one
    text = json.dumps(body(dialect, "snow ☃ \U0001f600", zz=1.50, a={"n": 1e3}), ensure_ascii=False, indent=3)
    odd = text.replace('"stream"', '"str\\u0065am"').encode()
    answer = gateway.post(PATHS[dialect] + "?beta=true&x=%2F", odd)
    assert answer.status == 200
    assert engine.requests[0].body == odd
    assert engine.requests[0].target == PATHS[dialect] + "?beta=true&x=%2F"


def test_client_headers_pass_in_order(one):
    gateway, engine = one
    sent = [("X-Custom", "one"), ("x-custom", "two"), ("User-Agent", "Agent/1.0 (x)"), ("anthropic-beta", "a,b"),
            ("Authorization", "Bearer secret"), ("X-Odd", "\xe9 \t inner"), ("Accept-Encoding", "br, zstd")]
    assert gateway.post(PATHS["chat"], body("chat"), sent).status == 200
    received = engine.requests[0].headers
    assert [h for h in received if h in sent] == sent


def test_hop_by_hop_headers_stop_here(one):
    gateway, engine = one
    sent = [("Connection", "keep-alive, X-Private"), ("X-Private", "1"), ("Keep-Alive", "timeout=9"), ("TE", "trailers"),
            ("Proxy-Authorization", "Basic x"), ("Proxy-Connection", "keep-alive"), ("Upgrade", "h2c"), ("X-Public", "1")]
    assert gateway.post(PATHS["chat"], body("chat"), sent).status == 200
    names = {n for n, _ in lower(engine.requests[0].headers)}
    assert "x-public" in names
    assert not names & {"x-private", "keep-alive", "te", "proxy-connection", "proxy-authorization", "upgrade"}
    assert engine.requests[0].header("host") == f"127.0.0.1:{engine.port}"


@pytest.mark.parametrize("ranks", [1, 2])
def test_clients_cannot_steer(make_engine, make_gateway, ranks):
    engine = make_engine(ranks=ranks)
    gateway = make_gateway([engine])
    for _ in range(2):
        gateway.post(PATHS["chat"], body("chat"), [("X-Data-Parallel-Rank", "7"), ("x-vllm-priority", "-5")])
    for request in engine.requests:
        assert request.header("x-vllm-priority") is None
        assert request.header("x-data-parallel-rank") in ((None, "0") if ranks == 1 else ("0", "1"))


def test_framing_is_rebuilt(one):
    gateway, engine = one
    raw = json.dumps(body("chat")).encode()
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(raw[i:i + 7]), raw[i:i + 7]) for i in range(0, len(raw), 7)) + b"0\r\n\r\n"
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], chunks, [("Transfer-Encoding", "chunked")])
        assert connection.answer().read_all().status == 200
    assert engine.requests[0].body == raw
    assert engine.requests[0].header("content-length") == str(len(raw))
    assert engine.requests[0].header("transfer-encoding") is None


def test_expect_continue_is_answered_here(one):
    gateway, engine = one
    raw = json.dumps(body("chat")).encode()
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], None, [("Content-Length", str(len(raw))), ("Expect", "100-continue"),
                                                         ("Content-Type", "application/json")])
        assert connection.take_line().startswith(b"HTTP/1.1 100")
        assert connection.take_line() == b""
        connection.send(raw)
        assert connection.answer().read_all().status == 200
    assert engine.requests[0].header("expect") is None


def test_large_body_arrives_whole(one):
    gateway, engine = one
    text = body("chat", text=os.urandom(4_000_000).hex())
    assert gateway.post(PATHS["chat"], text).status == 200
    assert engine.requests[0].body == json.dumps(text).encode()


def test_two_requests_in_one_write(one):
    gateway, engine = one
    raw = json.dumps(body("chat")).encode()
    single = b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (PATHS["chat"].encode(), len(raw), raw)
    with gateway.connect() as connection:
        connection.send(single + single)
        assert [connection.answer().read_all().status for _ in range(2)] == [200, 200]
    assert engine.bodies == [raw, raw]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_answer_bytes_pass_unchanged(one, dialect):
    gateway, engine = one
    direct = wire.post(engine.url, PATHS[dialect], body(dialect)).body
    answer = gateway.post(PATHS[dialect], body(dialect))
    assert answer.body == direct
    extra = {"stream_options": {"include_usage": True}} if dialect in ("chat", "completions") else {}
    streamed = body(dialect, stream=True, **extra)
    direct = wire.post(engine.url, PATHS[dialect], streamed).body
    answer = gateway.post(PATHS[dialect], streamed)
    assert answer.body == direct and answer.ended == "chunked"
    assert answer.header("content-type").startswith("text/event-stream")


def test_engine_headers_come_back(one):
    gateway, engine = one
    engine.script(answers.normal(headers=[("X-Engine", "a"), ("x-engine", "b"), ("Keep-Alive", "timeout=5"), ("Connection", "x-hop"),
                                          ("x-hop", "1")]))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert [v for n, v in answer.headers if n.lower() == "x-engine"] == ["a", "b"]
    assert answer.header("x-hop") is None and answer.header("keep-alive") is None


def test_stream_is_relayed_as_it_comes(one):
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.normal(gate=gate))
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True)).answer()
        answer.read_until(b" two")
        assert not answer.ended and b"three" not in answer.body
        gate.set()
        assert answer.read_all().ended == "chunked" and b"[DONE]" in answer.body


def test_body_until_close_ends_whole(one):
    """An engine that frames by closing: the client gets all of it, in a frame of ours."""
    gateway, engine = one
    text = json.dumps(answers.whole_body("chat")).encode()
    engine.script(answers.raw(b"HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n" + text))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 200 and answer.body == text and answer.ended in ("length", "chunked")
