"""Requests that two parsers could read differently: refused, the connection closed, the engine never hears of them."""
import pytest

from harness.requests import PATHS, body

LINE = b"POST /v1/chat/completions HTTP/1.1\r\n"
CASES = {
    "length and chunks": (LINE + b"Host: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "chunks and length": (LINE + b"Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400),
    "two lengths": (LINE + b"Host: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", 400),
    "same length twice": (LINE + b"Host: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello", 400),
    "length with plus": (LINE + b"Host: x\r\nContent-Length: +5\r\n\r\nhello", 400),
    "length in hex": (LINE + b"Host: x\r\nContent-Length: 0x5\r\n\r\nhello", 400),
    "list of lengths": (LINE + b"Host: x\r\nContent-Length: 5, 5\r\n\r\nhello", 400),
    "unknown coding": (LINE + b"Host: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", (400, 501)),
    "gzip, chunked": (LINE + b"Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", (400, 501)),
    "chunked, identity": (LINE + b"Host: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", (400, 501)),
    "space before colon": (LINE + b"Host: x\r\nContent-Length : 5\r\n\r\nhello", 400),
    "folded header": (LINE + b"Host: x\r\nX-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n", 400),
    "no host": (LINE + b"Content-Length: 0\r\n\r\n", 400),
    "two hosts": (LINE + b"Host: x\r\nHost: y\r\nContent-Length: 0\r\n\r\n", 400),
    "empty name": (LINE + b"Host: x\r\n: y\r\nContent-Length: 0\r\n\r\n", 400),
    "nul": (LINE + b"Host: x\r\nX-A: a\x00b\r\nContent-Length: 0\r\n\r\n", 400),
    "bad chunk size": (LINE + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", 400),
    "chunk too long": (LINE + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", 400),
    "chunk size overflow": (LINE + b"Host: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", (400, 413)),
    "1.0 with chunks": (b"POST /v1/chat/completions HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "version 2": (b"POST /v1/chat/completions HTTP/2.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n", (400, 505)),
    "no http": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello tls\r\n\r\n", 400),
    "bare line feeds": (b"POST /v1/chat/completions HTTP/1.1\nHost: x\nContent-Length: 0\n\n", 400),
    "target too long": (b"POST /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", (400, 414, 431)),
    "head too large": (LINE + b"Host: x\r\n" + b"X-A: " + b"a" * 40000 + b"\r\n\r\n", (400, 431)),
    "too many headers": (LINE + b"Host: x\r\n" + b"X-A: a\r\n" * 200 + b"\r\n", (400, 431)),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_framing(one, name):
    gateway, engine = one
    raw, status = CASES[name]
    with gateway.connect() as connection:
        connection.send(raw)
        answer = connection.answer().read_all()
        assert answer.status in (status if isinstance(status, tuple) else (status,)), answer.body
        assert answer.json()["error"]["message"]
        assert connection.closed()
    assert not engine.requests
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


def test_smuggled_request_is_never_seen(one):
    gateway, engine = one
    inner = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
    with gateway.connect() as connection:
        connection.send(LINE + b"Host: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
        assert connection.answer().read_all().status == 400
        assert connection.closed()
    assert not engine.requests


def test_half_a_request_then_gone(one):
    gateway, engine = one
    for raw in (LINE, LINE + b"Host: x\r\nContent-Length: 50\r\n\r\nhalf", b"P"):
        connection = gateway.connect()
        connection.send(raw)
        connection.reset()
    assert gateway.post(PATHS["chat"], body("chat")).status == 200
    assert len(engine.requests) == 1
