"""Clients that misbehave without leaving: slow readers and writers, floods, old and odd HTTP. They cost what they hold and no
more, they end within the limits, and those beside them do not notice."""
import json
import threading

import pytest

from harness import answers, sse
from harness.process import Footprint, resident_mib
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, message
from harness.waiting import elapsed, wait_until

LINE = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"
MIB = 1 << 20
never = threading.Event()


def raw_request(text=None, line=LINE, headers="", stream=False, **extra):
    content = json.dumps(body("chat", text or "hello", stream=stream, **extra)).encode()
    return f"{line}{headers}Content-Length: {len(content)}\r\n\r\n".encode() + content


class Torrent:
    """A script that offers a stream of `mib` MiB and knows how much of it was taken."""

    def __init__(self, mib):
        self.event = sse.data({"choices": [{"index": 0, "delta": {"content": "x" * 32_000}, "finish_reason": None}]})
        self.count, self.sent, self.over = mib * MIB // len(self.event), 0, threading.Event()

    def __call__(self, exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        for _ in range(self.count):
            if exchange.request.gone.is_set():
                break
            exchange.chunk(self.event)
            self.sent += len(self.event)
        exchange.chunk(sse.data("[DONE]"))
        exchange.end()
        self.over.set()

    def stalled(self, for_s=0.4):
        """True once nothing more is taken."""
        before = self.sent
        never.wait(for_s)
        return self.sent == before > 0


# ---- slow readers ----

def test_never_reads(make_engine, make_gateway):
    """Backpressure: the engine is not read further, the gateway holds next to nothing, and after stream_idle it is over."""
    engine = make_engine()
    gateway = make_gateway([engine], timeouts={"stream_idle": "2s"})
    torrent = Torrent(300)
    engine.default = torrent
    gateway.post("/v1/embeddings", body("chat"))
    before = Footprint(gateway)
    with gateway.connect(receive_buffer=8192) as connection:
        connection.request("POST", PATHS["chat"], body("chat", stream=True))
        wait_until(torrent.stalled, 10)
        assert torrent.sent < 64 * MIB, "the rest is in the kernels' socket buffers"
        assert resident_mib(gateway.process.pid) < before.resident_mib + 8
        assert engine.requests[-1].gone.wait(10), "no progress within stream_idle"
        gateway.wait_idle()
        gateway.wait_unconnected()
    before.assert_back()


def test_one_byte_at_a_time(one):
    """A reader that is slow but alive is served to the end; nobody waits for it."""
    gateway, engine = one
    torrent = Torrent(48)
    engine.script(torrent)
    before = Footprint(gateway)
    with gateway.connect(receive_buffer=8192) as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True, stream_options={"include_usage": True})).answer()
        for _ in range(5):
            assert len(connection.take_exactly(1)) == 1
            never.wait(0.3)
            assert elapsed(lambda: gateway.post(PATHS["chat"], body("chat"))) < 2
        assert not torrent.over.is_set() and resident_mib(gateway.process.pid) < before.resident_mib + 8
        assert gateway.in_flight() == 1
        size = 5 + len(connection.rest_until(b"0\r\n\r\n"))
    assert size > torrent.count * len(torrent.event) and answer.status == 200
    gateway.wait_idle()


def test_a_whole_answer_that_nobody_reads(make_engine, make_gateway):
    """Not streamed: what is held back is 4 MB at most, the rest stays with the engine."""
    engine = make_engine()
    gateway = make_gateway([engine], timeouts={"stream_idle": "2s"})
    whole = b'{"x":"' + b"y" * (100 * MIB) + b'"}'
    engine.script(answers.status(200, whole))
    before = Footprint(gateway)
    with gateway.connect(receive_buffer=8192) as connection:
        connection.request("POST", PATHS["chat"], body("chat"))
        assert engine.requests == [] or True
        assert wait_until(lambda: engine.requests and engine.requests[0].gone.wait(0.2), 15)
        assert resident_mib(gateway.process.pid) < before.resident_mib + 24
        gateway.wait_idle()


# ---- slow writers ----

def test_trickled_body(one):
    gateway, engine = one
    request = raw_request("trickle")
    with gateway.connect() as connection:
        for at in range(len(request)):
            connection.send(request[at:at + 1])
        assert connection.answer().read_all().status == 200
    assert request.endswith(engine.requests[0].body) and engine.requests[0].body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_body_that_stops(make_engine, make_gateway, dialect):
    """408 in the client's dialect, and the end of the connection."""
    engine = make_engine()
    gateway = make_gateway([engine], timeouts={"request_body": "300ms"})
    with gateway.connect() as connection:
        connection.request("POST", PATHS[dialect], None, [("Content-Length", "500")])
        connection.send(b'{"model":')
        answer = connection.answer().read_all()
        assert answer.status == 408 and is_error(dialect, answer.json()) and answer.header("connection") == "close"
        connection.close_writing()
        assert connection.closed()
    assert not engine.requests


def test_slow_loris(make_engine, make_gateway):
    """Heads that come byte by byte, for ever: each ends with 408 when its time is over, and others are served meanwhile."""
    gateway = make_gateway([make_engine()], timeouts={"request_head": "1500ms", "keep_alive": "20s"})
    before = Footprint(gateway)
    slow = [gateway.connect() for _ in range(100)]
    for connection in slow:
        connection.send(LINE.encode())
    open_ones, answered = set(slow), 0

    def trickle():
        nonlocal answered
        for connection in list(open_ones):
            try:
                connection.send(b"X")
                connection.sock.settimeout(0.001)
                answered += connection.sock.recv(4096).startswith(b"HTTP/1.1 408")
                open_ones.discard(connection)
            except TimeoutError:
                pass
            except OSError:
                open_ones.discard(connection)
        assert elapsed(lambda: gateway.post(PATHS["chat"], body("chat"))) < 2
        return not open_ones
    wait_until(trickle, 20, "all slow heads are over")
    assert answered >= 90  # of a few the bytes that came behind may have turned the answer into a reset
    for connection in slow:
        connection.close()
    gateway.wait_unconnected()
    before.assert_back()


def test_silent_connections_are_closed_without_a_word(make_engine, make_gateway):
    gateway = make_gateway([make_engine()], timeouts={"keep_alive": "300ms"})
    with gateway.connect() as connection:
        assert connection.rest() == b""
    with gateway.connect() as connection:
        assert connection.get("/health").status == 200
        assert connection.rest() == b""


# ---- too many ----

def test_flood_at_the_limit(make_engine, make_gateway):
    """Over limits.connections: 503 that says so, also for those that have sent their request already; then it recovers."""
    gateway = make_gateway([make_engine()], limits={"connections": 20})
    held = [gateway.connect() for _ in range(20)]
    for connection in held:
        assert connection.get("/health").status == 200
    for _ in range(50):
        with gateway.connect() as connection:
            connection.send(raw_request("x" * 100_000))
            answer = connection.answer().read_all()
            assert answer.status == 503 and answer.header("retry-after") == "1" and answer.header("connection") == "close"
            assert "limits.connections" in message(answer.json())
    silent = [gateway.connect() for _ in range(200)]
    for connection in silent:
        assert connection.answer().read_all().status == 503
    assert gateway.metric("warmgate_connections_refused_total") >= 250
    assert gateway.metric("warmgate_connections") == 20
    for connection in held[:10]:
        assert connection.post(PATHS["chat"], body("chat")).status == 200
    for connection in held:
        connection.close()
    gateway.wait_unconnected()
    assert gateway.post(PATHS["chat"], body("chat")).status == 200
    for connection in silent:
        connection.close()


def write_on(connection, pieces):
    """Whether all could be written to one who has answered already: false if a reset came."""
    assert connection.is_readable(30)
    try:
        for piece in pieces:
            connection.send(piece)
    except ConnectionError:
        return False
    return True


def test_refused_while_it_still_sends(make_engine, make_gateway):
    """A client that writes on after its refusal meets no reset for a while: many would not get to read why. Those refused
    before, more than are read on from at a time, have not used that up."""
    gateway = make_gateway([make_engine()], limits={"connections": 1})
    whole, undisturbed = raw_request("x" * 100_000), 0
    with gateway.connect() as held:
        assert held.get("/health").status == 200
        for _ in range(100):
            with gateway.connect() as connection:
                assert connection.answer().read_all().status == 503
        for _ in range(20):
            with gateway.connect() as connection:
                connection.send(whole[:1000])
                if write_on(connection, (whole[at:at + 10_000] for at in range(1000, len(whole), 10_000))):
                    undisturbed += 1
                    assert connection.answer().read_all().status == 503
    assert undisturbed >= 15  # it is read for a second only, which a busy machine may let pass


REFUSED_EARLY = {
    "too long": (f"{LINE}Content-Length: {3 * MIB}\r\n\r\n", 413),
    "a chunk too many": (f"{LINE}Transfer-Encoding: chunked\r\n\r\n{3 * MIB:x}\r\n" + "x" * (MIB + 1), 413),
    "no HTTP": (f"POST HTTP/1.1\r\nContent-Length: {3 * MIB}\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", REFUSED_EARLY)
def test_refused_early_and_writing_on(make_engine, make_gateway, name):
    """The same for a body that was refused at its head: it is read and thrown away."""
    gateway = make_gateway([make_engine()], limits={"body": "1MiB"})
    raw, status = REFUSED_EARLY[name]
    undisturbed = 0
    for _ in range(5):
        with gateway.connect() as connection:
            connection.send(raw.encode())
            if write_on(connection, [b"x" * 65536] * 31):
                undisturbed += 1
                assert connection.answer().read_all().status == status
    assert undisturbed >= 4


# ---- pipelining and reuse ----

def test_pipelining(one):
    """Many at once: answered in order, one after the other, those of the gateway itself among them."""
    gateway, engine = one
    texts = [f"question {n}" for n in range(40)]
    engine.default = lambda exchange: answers.status(200, json.dumps({"echo": exchange.request.json()["messages"][0]["content"]}).encode())(exchange)
    with gateway.connect() as connection:
        connection.send(b"".join(raw_request(t) + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n" for t in texts))
        for text in texts:
            assert connection.answer().read_all().json() == {"echo": text}
            assert connection.answer("GET").read_all().json() == {"status": "ok"}
    assert len(engine.requests) == 40


def test_pipelined_behind_a_bad_one(one):
    """What follows bytes that made no sense is never read as a request."""
    gateway, engine = one
    rest = gateway.send_raw(raw_request() + b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}" + raw_request("never"))
    assert rest.count(b"HTTP/1.1 ") == 2 and b"HTTP/1.1 400" in rest
    assert len(engine.requests) == 1


REFUSED = {
    "bad json": (raw_request()[:-3] + b"zzz", 400),
    "unknown model": (raw_request(model="nope"), 404),
    "empty body": (LINE.encode() + b"Content-Length: 0\r\n\r\n", 400),
    "no body": (LINE.encode() + b"\r\n", 400),
    "chunked and empty": (LINE.encode() + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    "chunked with a trailer": (LINE.encode() + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Sum: 1\r\n\r\n", 400),
    "unknown path": (b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", 404),
    "wrong method": (b"DELETE /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    "engine's 400": (raw_request(), 400),
    "engine's 500": (raw_request(), 500),
    "engine's 429": (raw_request(), 429),
}


@pytest.mark.parametrize("name", REFUSED)
def test_connection_is_good_after_an_error(one, name):
    gateway, engine = one
    raw, status = REFUSED[name]
    with gateway.connect() as connection:
        for _ in range(3):
            if name.startswith("engine's"):
                engine.script(answers.status(status))
            connection.send(raw)
            answer = connection.answer().read_all()
            assert answer.status == status and answer.ended == "length" and is_error("chat", answer.json()), answer.body
            assert connection.post(PATHS["chat"], body("chat")).status == 200
            streamed = connection.post(PATHS["chat"], body("chat", stream=True))
            assert streamed.ended == "chunked" and DONE["chat"] in streamed.body


# ---- HTTP/1.0 ----

OLD = "POST /v1/chat/completions HTTP/1.0\r\n"


def test_old_http(one):
    """No Host needed; no chunks; the connection ends with the answer, unless keep-alive was asked for and a length is known."""
    gateway, _ = one
    rest = gateway.send_raw(raw_request(line=OLD))
    head, _, content = rest.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200") and b"connection: close" in head.lower() and json.loads(content)["choices"]

    rest = gateway.send_raw(raw_request(line=OLD, stream=True))
    head, _, content = rest.partition(b"\r\n\r\n")
    assert b"chunked" not in head.lower() and content.endswith(b"data: [DONE]\n\n") and content.startswith(b"data: ")

    with gateway.connect() as connection:
        for _ in range(3):
            connection.send(raw_request(line=OLD, headers="Connection: keep-alive\r\n"))
            answer = connection.answer().read_all()
            assert answer.ended == "length" and answer.header("connection") == "keep-alive"


def test_old_http_and_a_broken_stream(one):
    """The end of the connection is the end of the body there: only a reset says that it is none."""
    gateway, engine = one
    engine.script(answers.reset_after(3))
    with gateway.connect() as connection:
        connection.send(raw_request(line=OLD, stream=True))
        with pytest.raises(ConnectionResetError):
            while connection.sock.recv(65536):
                pass


# ---- Expect: 100-continue ----

EXPECTING = "Expect: 100-continue\r\n"


@pytest.mark.parametrize("engine_says_so_too", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_expect_gets_one_interim_answer(one, dialect, engine_says_so_too):
    gateway, engine = one
    if engine_says_so_too:
        good = json.dumps(answers.whole_body(dialect)).encode()
        engine.script(answers.raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\n"
                                  b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(good), good)))
    content = json.dumps(body(dialect)).encode()
    with gateway.connect() as connection:
        connection.send(f"POST {PATHS[dialect]} HTTP/1.1\r\nHost: x\r\n{EXPECTING}Connection: close\r\n"
                        f"Content-Length: {len(content)}\r\n\r\n".encode())
        assert connection.take_exactly(25) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.send(content)
        rest = connection.rest()
    assert rest.startswith(b"HTTP/1.1 200") and rest.count(b"HTTP/1.1 ") == 1
    assert engine.requests[0].body == content and engine.requests[0].header("expect") is None


NO_INTERIM = {
    "too long": (f"{LINE}{EXPECTING}Content-Length: {200 * MIB}\r\n\r\n", 413),
    "unknown path": (f"POST /nowhere HTTP/1.1\r\nHost: x\r\n{EXPECTING}Content-Length: 10\r\n\r\n", 404),
    "control path": (f"POST /sleep HTTP/1.1\r\nHost: x\r\n{EXPECTING}Content-Length: 10\r\n\r\n", 404),
    "wrong method": (f"PUT /v1/chat/completions HTTP/1.1\r\nHost: x\r\n{EXPECTING}Content-Length: 10\r\n\r\n", 405),
    "bad framing": (f"{LINE}{EXPECTING}Content-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", NO_INTERIM)
def test_expect_gets_none_when_refused(one, name):
    gateway, _ = one
    raw, status = NO_INTERIM[name]
    with gateway.connect() as connection:
        connection.send(raw.encode())
        answer = connection.take_line()
        assert answer.split()[1] == str(status).encode()
        connection.close_writing()
        assert b"HTTP/1.1 1" not in connection.rest()


def test_expect_with_the_body_already_there_and_with_none(one):
    """A client need not wait; and one without a body has nothing to wait for."""
    gateway, engine = one
    with gateway.connect() as connection:
        connection.send(raw_request(headers=EXPECTING) + raw_request(headers=EXPECTING))
        assert [connection.answer().read_all().status for _ in range(2)] == [200, 200]
        connection.send(f"{LINE}{EXPECTING}Content-Length: 0\r\n\r\n".encode())
        assert connection.take_line().startswith(b"HTTP/1.1 400")
    assert len(engine.requests) == 2
    rest = gateway.send_raw(raw_request(line=OLD, headers=EXPECTING))
    assert rest.startswith(b"HTTP/1.1 200") and rest.count(b"HTTP/1.1") == 1, "HTTP/1.0 knows no interim answers"
