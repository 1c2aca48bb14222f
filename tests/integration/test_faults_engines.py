"""Engines that answer oddly: framing, statuses, interim answers, huge and torn events, codings. What is right goes through byte
for byte; what is broken is tried elsewhere or ends so that nobody takes it for whole; nothing of it meets the next request."""
import gzip
import json
import threading

import pytest

from harness import answers, sse
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, session
from harness.waiting import wait_until

WHOLE = json.dumps(answers.whole_body("chat")).encode()
STREAM = b"".join(answers.chat_events(True, 100, 64, "stop"))
EVENT_STREAM = b"content-type: text/event-stream\r\n"
JSON = b"content-type: application/json\r\n"


def stream_body(dialect="chat", **extra):
    if dialect in ("chat", "completions"):
        extra.setdefault("stream_options", {"include_usage": True})
    return body(dialect, stream=True, **extra)


def good_afterwards(gateway, engine, connection=None):
    """Whatever came last, the next answers are the next requests' own."""
    engine.default = answers.normal()
    for _ in range(2):
        answer = (connection or gateway).post(PATHS["chat"], body("chat"))
        assert answer.status == 200 and answer.body == WHOLE
    assert all(r["healthy"] for r in gateway.replicas())


# ---- statuses and heads ----

@pytest.mark.parametrize("interim", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n" * 3,
                                     b"HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=x\r\n\r\n"], ids=["100", "102 thrice", "103"])
@pytest.mark.parametrize("stream", [False, True])
def test_interim_answers_are_passed_over(one, interim, stream):
    gateway, engine = one
    kind, content = (EVENT_STREAM, STREAM) if stream else (JSON, WHOLE)
    engine.script(answers.raw(interim + b"HTTP/1.1 200 OK\r\n" + kind + b"content-length: %d\r\n\r\n%s" % (len(content), content),
                              then=lambda exchange: None))
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], stream_body() if stream else body("chat"))
        assert connection.take_line().startswith(b"HTTP/1.1 200")
        while connection.take_line():
            pass
        rest = connection.rest_until(b"0\r\n\r\n" if stream else content)
        assert b"HTTP/1.1" not in rest
        good_afterwards(gateway, engine, connection)
    assert len({r.connection for r in engine.requests}) == 1, "the engine's connection is good for more"


def test_interim_answers_without_end(one):
    gateway, engine = one
    engine.default = answers.raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 500)
    assert gateway.post(PATHS["chat"], body("chat")).status in (502, 503)
    good_afterwards(gateway, engine)


def test_switching_protocols_is_no_answer(one):
    gateway, engine = one
    engine.default = answers.raw(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n")
    assert gateway.post(PATHS["chat"], body("chat")).status in (502, 503)
    good_afterwards(gateway, engine)


@pytest.mark.parametrize("head", [b"HTTP/1.1 204 No Content\r\n\r\n", b"HTTP/1.1 304 Not Modified\r\netag: x\r\n\r\n"], ids=["204", "304"])
def test_answers_without_a_body(one, head):
    gateway, engine = one
    engine.script(answers.raw(head, then=lambda exchange: None))
    with gateway.connect() as connection:
        answer = connection.post(PATHS["chat"], body("chat"))
        assert answer.status == int(head[9:12]) and answer.body == b"" and answer.header("transfer-encoding") is None
        good_afterwards(gateway, engine, connection)


def test_204_with_a_body_all_the_same(one):
    """Its bytes are nobody's answer: that connection is not used again."""
    gateway, engine = one
    engine.script(answers.raw(b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", then=lambda exchange: None))
    with gateway.connect() as connection:
        assert connection.post(PATHS["chat"], body("chat")).status == 204
        good_afterwards(gateway, engine, connection)
    assert len({r.connection for r in engine.requests}) == 2


def test_head(make_engine, make_gateway):
    """HEAD of a forwarded path: a length without a body, in both directions."""
    engine = make_engine()
    gateway = make_gateway([engine], paths=["GET /v1/thing"])
    engine.script(answers.raw(b"HTTP/1.1 200 OK\r\n" + JSON + b"content-length: 5000\r\nx-thing: 1\r\n\r\n", then=lambda exchange: None))
    with gateway.connect() as connection:
        answer = connection.request("HEAD", "/v1/thing").answer("HEAD")
        assert answer.status == 200 and answer.header("x-thing") == "1" and answer.header("content-length") == "5000"
        good_afterwards(gateway, engine, connection)
        for path in ("/", "/health"):
            head = connection.request("HEAD", path).answer("HEAD")
            assert head.status == 200
    assert engine.requests[0].method == "HEAD" and len({r.connection for r in engine.requests}) == 1


# ---- lengths and chunks ----

def fixed(length, content, kind=JSON, then=None):
    return answers.raw(b"HTTP/1.1 200 OK\r\n" + kind + b"content-length: %d\r\n\r\n%s" % (length, content), then)


def chunked(chunks, kind=JSON, then=None):
    return answers.raw(b"HTTP/1.1 200 OK\r\n" + kind + b"transfer-encoding: chunked\r\n\r\n" + chunks, then)


BROKEN_WHOLE = {
    "length longer than the body": fixed(len(WHOLE) + 10, WHOLE),
    "length longer, no body": fixed(10, b""),
    "chunk cut": chunked(b"100\r\n" + WHOLE[:100]),
    "chunk size cut": chunked(b"%x\r\n%s\r\n1" % (len(WHOLE), WHOLE)),
    "no last chunk": chunked(b"%x\r\n%s\r\n" % (len(WHOLE), WHOLE)),
    "last chunk half": chunked(b"%x\r\n%s\r\n0\r\n" % (len(WHOLE), WHOLE)),
    "no chunk size": chunked(b"hello\r\n" + WHOLE),
    "chunk longer than it says": chunked(b"5\r\n" + WHOLE + b"\r\n0\r\n\r\n"),
    "both lengths": answers.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
    "two lengths": answers.raw(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!"),
    "no number": answers.raw(b"HTTP/1.1 200 OK\r\ncontent-length: ten\r\n\r\n0123456789"),
    "reset behind the head": fixed(100, b"", then=lambda exchange: exchange.reset()),
    "reset in the body": fixed(len(WHOLE), WHOLE[:50], then=lambda exchange: exchange.reset()),
    "head of 200 kB": answers.raw(b"HTTP/1.1 200 OK\r\nx-big: " + b"a" * 200_000 + b"\r\n\r\n"),
}


@pytest.mark.parametrize("name", BROKEN_WHOLE)
def test_broken_answers_are_tried_elsewhere(two, name):
    """Nothing of them has reached the client yet."""
    gateway, engines = two
    home = engines[int(gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")[3])]
    home.default = BROKEN_WHOLE[name]
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.status == 200 and answer.body == WHOLE and answer.ended == "length"
    home.default = answers.normal()
    wait_until(lambda: all(r["healthy"] for r in gateway.replicas()))
    for engine in engines:
        good_afterwards(gateway, engine)


BROKEN_STREAMS = {
    "length longer than the body": fixed(len(STREAM) + 10, STREAM[:300], EVENT_STREAM),
    "chunk cut": chunked(b"%x\r\n%s" % (len(STREAM), STREAM[:300]), EVENT_STREAM),
    "no last chunk": chunked(b"%x\r\n%s\r\n" % (300, STREAM[:300]), EVENT_STREAM),
    "bad chunk size": chunked(b"%x\r\n%s\r\nzz\r\n" % (300, STREAM[:300]), EVENT_STREAM),
    "no framing, closed": answers.raw(b"HTTP/1.1 200 OK\r\n" + EVENT_STREAM + b"\r\n" + STREAM[:300]),
    "no framing, reset": answers.raw(b"HTTP/1.1 200 OK\r\n" + EVENT_STREAM + b"\r\n" + STREAM[:300], then=lambda exchange: exchange.reset()),
    "HTTP/1.0, closed": answers.raw(b"HTTP/1.0 200 OK\r\n" + EVENT_STREAM + b"\r\n" + STREAM[:300]),
}


@pytest.mark.parametrize("name", BROKEN_STREAMS)
def test_broken_streams_never_end_cleanly(one, name):
    gateway, engine = one
    engine.script(BROKEN_STREAMS[name])
    answer = gateway.post(PATHS["chat"], stream_body())
    assert DONE["chat"] not in answer.body
    if answer.status == 200:
        assert answer.ended == "cut" and is_error("chat", sse.payloads(answer.body)[-1])
    else:  # the nonsense came with the first event: nothing of it was passed on, and there is nobody else to ask
        assert name == "bad chunk size" and answer.status in (502, 503) and is_error("chat", answer.json())
    gateway.wait_healthy()
    good_afterwards(gateway, engine)


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_stream_without_framing_that_is_whole(one, version):
    """The end of the connection is its end; the last event says that it is the right one."""
    gateway, engine = one
    engine.script(answers.raw(version + b" 200 OK\r\n" + EVENT_STREAM + b"\r\n" + STREAM))
    answer = gateway.post(PATHS["chat"], stream_body())
    assert answer.ended == "chunked" and answer.body == STREAM
    good_afterwards(gateway, engine)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("count", [1, 2])
def test_clean_end_in_the_middle(one, dialect, count):
    """The framing says that all is well, the events do not: SDKs would take what came for the whole answer."""
    gateway, engine = one
    engine.script(answers.clean_end_after(count))
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
    assert answer.status == 200 and answer.ended == "cut"
    assert is_error(dialect, sse.payloads(answer.body)[-1])
    assert all(r["healthy"] for r in gateway.replicas())


def test_stream_without_a_single_event(two):
    """Tried elsewhere: nothing was passed on."""
    gateway, engines = two
    home = engines[int(gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")[3])]
    home.script(answers.clean_end_after(0))
    answer = gateway.post(PATHS["chat"], stream_body(), session("s"))
    assert answer.ended == "chunked" and DONE["chat"] in answer.body


@pytest.mark.parametrize("stream", [False, True])
def test_more_bytes_than_the_length_says(one, stream):
    """What comes behind an answer belongs to nobody: not to this client, and not to the next one."""
    gateway, engine = one
    intruder = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nintruder"
    kind, content = (EVENT_STREAM, STREAM) if stream else (JSON, WHOLE)
    for extra in (b"x", intruder):
        engine.script(fixed(len(content), content + extra, kind, then=lambda exchange: None))
        answer = gateway.post(PATHS["chat"], stream_body() if stream else body("chat"))
        assert answer.status == 200 and answer.body == content
        torn = engine.requests[-1].connection
        good_afterwards(gateway, engine)
        assert torn not in {r.connection for r in engine.requests[-2:]}


def test_late_bytes_on_an_idle_connection(one):
    """An engine that speaks without being asked: its connection is thrown away before it is used."""
    gateway, engine = one

    def answer_then_speak(exchange):
        answers.normal()(exchange)
        exchange.send(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nintruder")
    engine.script(answer_then_speak)
    with gateway.connect() as connection:
        assert connection.post(PATHS["chat"], body("chat")).body == WHOLE
        assert engine.requests[0].finished.wait(2)
        good_afterwards(gateway, engine, connection)


# ---- answers before the body was read ----

def early(status, close):
    text = json.dumps({"error": {"message": f"early {status}", "type": "Early", "param": None, "code": status}}).encode()

    def script(exchange):
        exchange.head(status, [("content-type", "application/json"), *([("connection", "close")] if close else [])], length=len(text))
        exchange.send(text)
        if not close:
            exchange.wait(threading.Event())  # neither reads on nor closes
        exchange.close()
    return script


@pytest.mark.parametrize("close", [True, False], ids=["then closes", "then waits"])
@pytest.mark.parametrize("status", [400, 401, 413, 500])
@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_answers_before_the_body_was_read(one, dialect, status, close):
    """A large body that the engine does not want: its answer counts, soon, though the body was not sent to its end."""
    gateway, engine = one
    engine.before_body = early(status, close)
    with gateway.connect(timeout=10) as connection:
        answer = connection.post(PATHS[dialect], body(dialect, text="x" * 20_000_000))
        assert answer.status == status and b"early" in answer.body
        engine.before_body = None
        assert connection.post(PATHS["chat"], body("chat")).status == 200
    gateway.wait_healthy()
    assert len(engine.requests) == 2


@pytest.mark.parametrize("close", [True, False], ids=["then closes", "then waits"])
def test_503_before_the_body_was_read_goes_elsewhere(two, close):
    gateway, engines = two
    home = engines[int(gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")[3])]
    home.before_body = early(503, close)
    with gateway.connect(timeout=10) as connection:
        answer = connection.post(PATHS["chat"], body("chat", text="x" * 20_000_000), session("s"))
    assert answer.status == 200 and answer.body == WHOLE


# ---- statuses of busy engines ----

@pytest.mark.parametrize("retry_after", [None, "1", "25"])
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_busy_answers_are_passed_on(one, dialect, status, retry_after):
    """With their Retry-After if they have one, without if not; with their own body."""
    gateway, engine = one
    text = b'{"error":{"message":"too many","type":"x","param":null,"code":%d}}' % status
    engine.default = answers.status(status, text, [("retry-after", retry_after)] if retry_after else [])
    answer = gateway.post(PATHS[dialect], body(dialect))
    assert answer.status == status and answer.body == text and answer.header("retry-after") == retry_after
    assert len(engine.requests) == 1 and gateway.replicas()[0]["healthy"]


@pytest.mark.parametrize("stream", [False, True])
def test_429_is_never_repeated_and_503_goes_to_another(two, stream):
    gateway, engines = two
    for status, expected in ((429, 429), (503, 200)):
        home = engines[int(gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")[3])]
        before = sum(len(e.requests) for e in engines)
        home.script(answers.status(status, headers=[("retry-after", "2")]))
        answer = gateway.post(PATHS["chat"], body("chat", stream=stream), session("s"))
        assert answer.status == expected
        assert sum(len(e.requests) for e in engines) == before + (1 if status == 429 else 2)


PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>nginx http://10.0.0.7:8000</body></html>"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("status", [404, 500, 502, 503])
def test_html_errors_pass_as_they_are(one, dialect, status):
    """They are what the engine (or what stands before it) said; a retry elsewhere comes first where there is one."""
    gateway, engine = one
    engine.default = answers.raw(b"HTTP/1.1 %d Bad\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n%s" % (status, len(PAGE), PAGE))
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
    assert answer.status == status and answer.body == PAGE and answer.header("content-type") == "text/html"
    good_afterwards(gateway, engine)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_html_error_behind_open_headers_is_an_error_event(make_engine, make_gateway, dialect):
    engine = make_engine()
    gateway = make_gateway([engine], wait={"commit_after": "50ms", "ping_every": "50ms"})
    gate = threading.Event()

    def late(exchange):
        if exchange.wait(gate):
            answers.raw(b"HTTP/1.1 500 Bad\r\ncontent-type: text/html\r\ncontent-length: %d\r\n\r\n%s" % (len(PAGE), PAGE))(exchange)
    engine.default = late
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS[dialect], body(dialect, stream=True)).answer()
        gate.set()
        answer.read_all()
    last = [p for p in sse.payloads(answer.body) if isinstance(p, dict) and p.get("type") != "ping"][-1]
    assert is_error(dialect, last) and b"<html" not in answer.body and answer.ended == "cut"


# ---- events ----

def play(pieces, headers=()):
    def script(exchange):
        exchange.head(200, [("content-type", "text/event-stream"), *headers], chunked=True)
        for piece in pieces:
            exchange.chunk(piece)
        exchange.end()
    return script


def relined(events, line_end):
    return b"".join(events).replace(b"\n", line_end)


def spiced(dialect):
    """A stream with characters of two, three and four bytes in it."""
    return b"".join(answers.EVENTS[dialect](True, 100, 64, "stop")).replace(b"two", "zw\u00e9i\u2603\U0001f600".encode())


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("where", ["first", "middle"])
def test_events_of_a_megabyte(one, dialect, where):
    gateway, engine = one
    events = list(answers.EVENTS[dialect](True, 100, 64, "stop"))
    at = 0 if where == "first" else 2
    events[at] = events[at].replace(b"data: {", b'data: {"pad":"' + b"\xc3\xa9" * 500_000 + b'",', 1)
    assert len(events[at]) > 1_000_000
    engine.script(play(events))
    answer = gateway.post(PATHS[dialect], stream_body(dialect))
    assert answer.ended == "chunked" and answer.body == b"".join(events)


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"], ids=["CRLF", "CR"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_other_line_ends(one, dialect, line_end):
    gateway, engine = one
    events = [e.replace(b"\n", line_end) for e in answers.EVENTS[dialect](True, 100, 64, "stop")]
    engine.script(play(events), play([b"".join(events)]), play([bytes([b]) for b in b"".join(events)]))
    for _ in range(3):
        answer = gateway.post(PATHS[dialect], stream_body(dialect))
        assert answer.ended == "chunked" and answer.body == b"".join(events)
    if dialect in ("chat", "completions"):  # the usage that we asked for is found and taken out there too
        engine.script(play(events))
        answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
        usage = next(e for e in events if b'"choices":[]' in e)
        assert answer.body == b"".join(events).replace(usage, b"")
    wait_until(lambda: gateway.metric("warmgate_prompt_tokens_total", kind="cached") >= 192)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_split_at_every_byte(one, dialect):
    """One stream for each place: inside events, names, escapes, characters. Bytes out are bytes in."""
    gateway, engine = one
    whole = spiced(dialect)
    with gateway.connect() as connection:
        for at in range(1, len(whole)):
            engine.script(play([whole[:at], whole[at:]]))
            answer = connection.post(PATHS[dialect], stream_body(dialect))
            assert answer.body == whole and answer.ended == "chunked", at


@pytest.mark.parametrize("dialect", DIALECTS)
def test_byte_by_byte(one, dialect):
    gateway, engine = one
    whole = spiced(dialect)
    engine.script(play([bytes([b]) for b in whole]))
    assert gateway.post(PATHS[dialect], stream_body(dialect)).body == whole


def test_without_the_usage_chunk_at_every_byte(one):
    """The same where an event is taken out: nothing beside it goes with it."""
    gateway, engine = one
    whole = spiced("chat")
    usage = next(e for e in answers.chat_events(True, 100, 64, "stop") if b'"choices":[]' in e)
    with gateway.connect() as connection:
        for at in range(1, len(whole), 3):
            engine.script(play([whole[:at], whole[at:]]))
            assert connection.post(PATHS["chat"], body("chat", stream=True)).body == whole.replace(usage, b""), at


# ---- compressed ----

@pytest.mark.parametrize("dialect", DIALECTS)
def test_compressed_streams_flow_as_they_come(one, dialect):
    """Not looked into and not held back: the first piece arrives while the engine still has the rest."""
    gateway, engine = one
    packed = gzip.compress(b"".join(answers.EVENTS[dialect](False, 100, 64, "stop")))
    gate = threading.Event()

    def script(exchange):
        exchange.head(200, [("content-type", "text/event-stream"), ("content-encoding", "gzip")], chunked=True)
        exchange.chunk(packed[:20])
        if exchange.wait(gate):
            exchange.chunk(packed[20:])
            exchange.end()
    engine.script(script)
    with gateway.connect(timeout=10) as connection:
        answer = connection.request("POST", PATHS[dialect], body(dialect, stream=True)).answer()
        assert answer.header("content-encoding") == "gzip"
        assert answer.read_piece() == packed[:20]
        gate.set()
        assert answer.read_all().body == packed and answer.ended == "chunked"


def test_compressed_stream_that_dies(one):
    gateway, engine = one
    packed = gzip.compress(STREAM)
    engine.script(chunked(b"%x\r\n%s" % (len(packed), packed[:60]), EVENT_STREAM + b"content-encoding: gzip\r\n"))
    answer = gateway.post(PATHS["chat"], stream_body())
    assert answer.ended == "cut" and packed.startswith(answer.body)


def test_compressed_whole_answers(one):
    gateway, engine = one
    packed = gzip.compress(WHOLE)
    engine.script(fixed(len(packed), packed, JSON + b"content-encoding: gzip\r\n", then=lambda exchange: None))
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.body == packed and answer.header("content-encoding") == "gzip" and answer.ended == "length"
