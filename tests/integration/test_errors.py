"""Bad input: an error in the client's own dialect that says what and where, and a connection that is sound afterwards."""
import json

import pytest

from harness.gateway import pool
from harness.requests import DIALECTS, PATHS, body, is_error, message


def refused(gateway, dialect, raw, status, *words, headers=()):
    """Posts raw, expects that status and those words; then a good request on the same connection must work."""
    with gateway.connect() as connection:
        answer = connection.post(PATHS[dialect], raw, headers)
        assert answer.status == status, answer.body
        assert answer.header("content-type").startswith("application/json") and answer.ended == "length"
        error = answer.json()
        assert is_error(dialect, error), error
        for word in words:
            assert word.lower() in message(error).lower(), (word, error)
        assert connection.post(PATHS[dialect], body(dialect)).status == 200
    return error


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("raw, words", [
    (b'{"messages":[]}', ["model"]),
    (b'{"model":null}', ["model"]),
    (b'{"model":["m"]}', ["model"]),
    (b'{"model":"m","a":1,"model":"m"}', ["model", "twice|duplicate"]),
    (b'{"model":"m","stream":true,"str\\u0065am":false}', ["stream", "twice|duplicate"]),
    (b'{"model":"m",}', []),
    (b'{"model":"m"} x', []),
    (b'[1]', ["object"]),
    (b'', []),
    (b'hello', []),
    (b'{"model":"m"', []),
    (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b',"model":"m"}', []),
    (b'{"model":"m","a":"\xff\xfe"}', []),
], ids=["no model", "null model", "list model", "duplicate model", "duplicate by escape", "trailing comma", "trailing bytes", "array",
        "empty", "no json", "cut", "too deep", "no utf-8"])
def test_bad_bodies(one, dialect, raw, words):
    gateway, engine = one
    with gateway.connect() as connection:
        answer = connection.post(PATHS[dialect], raw)
        assert answer.status == 400, answer.body
        error = answer.json()
        assert is_error(dialect, error)
        for word in words:
            assert any(w in message(error).lower() for w in word.split("|")), error
        assert connection.post(PATHS[dialect], body(dialect)).status == 200
    assert len(engine.requests) == 1
    if dialect == "messages":
        assert error["error"]["type"] == "invalid_request_error"
    else:
        assert error["error"]["code"] == 400


def test_bad_json_says_where(one):
    gateway, _ = one
    error = refused(gateway, "chat", b'{"model":"m", "messages" [1]}', 400)
    assert any(ch.isdigit() for ch in message(error)), error


def test_unknown_model_lists_those_there_are(make_engine, make_gateway):
    a, b = make_engine(model="m"), make_engine(model="other-model")
    gateway = make_gateway(pools=[pool({"x": a}, model="m", aliases=["gpt-9"]), pool({"y": b}, model="other-model")])
    for dialect in DIALECTS:
        error = refused(gateway, dialect, body(dialect, model="nope"), 404, "nope", "m", "other-model")
    error = refused(gateway, "messages", body("messages", model="nope"), 404)
    assert error["error"]["type"] == "not_found_error"


def test_no_engine_up(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine])
    engine.down()
    gateway.wait_healthy(count=0)
    for dialect in DIALECTS:
        for stream in (False, True):
            with gateway.connect() as connection:
                answer = connection.post(PATHS[dialect], body(dialect, stream=stream))
                assert answer.status == 503 and is_error(dialect, answer.json())
                assert 1 <= int(answer.header("retry-after")) <= 30
                assert str(engine.port) not in answer.body.decode()
                assert connection.get("/health").status == 200
    assert gateway.post(PATHS["messages"], body("messages")).json()["error"]["type"] == "overloaded_error"
    engine.up()
    gateway.wait_healthy()
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


def test_no_engine_up_from_the_start(make_engine, make_gateway):
    """An engine that is down at start is retried and taken up."""
    engine = make_engine()
    engine.down()
    gateway = make_gateway([engine], wait_healthy=False)
    assert gateway.post(PATHS["chat"], body("chat")).status == 503
    engine.up()
    gateway.wait_healthy()
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


def test_anthropic_version_makes_errors_anthropic(one):
    gateway, _ = one
    answer = gateway.post("/v1/nowhere", b"{}", [("anthropic-version", "2023-06-01")])
    assert answer.status == 404 and answer.json()["type"] == "error"


@pytest.mark.big
def test_200_mb_body_is_refused(one):
    """By its length, before it is read."""
    gateway, engine = one
    with gateway.connect() as connection:
        connection.request("POST", PATHS["chat"], None, [("Content-Length", str(200 << 20)), ("Content-Type", "application/json")])
        answer = connection.answer().read_all()
        assert answer.status == 413 and is_error("chat", answer.json())
        assert "32" in message(answer.json())  # what is allowed
    assert gateway.post(PATHS["chat"], body("chat")).status == 200
    assert len(engine.requests) == 1


@pytest.mark.big
@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_200_mb_body_of_one_who_writes_on(one, dialect):
    """A client that writes all of it before it reads still gets the answer, chunked or not."""
    gateway, engine = one
    piece = b"x" * (1 << 20)
    for framing in (("Content-Length", str(200 << 20)), ("Transfer-Encoding", "chunked")):
        with gateway.connect() as connection:
            connection.request("POST", PATHS[dialect], None, [framing, ("Content-Type", "application/json")])
            try:
                for _ in range(200):
                    connection.send(piece if framing[0] == "Content-Length" else b"%x\r\n%s\r\n" % (len(piece), piece))
            except OSError:
                pass  # the gateway may close once it has answered
            answer = connection.answer().read_all()
            assert answer.status == 413 and is_error(dialect, answer.json())
    assert gateway.post(PATHS[dialect], body(dialect)).status == 200
    assert len(engine.requests) == 1


def test_body_limit_is_configurable(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], limits={"body": "1KiB"})
    assert gateway.post(PATHS["chat"], body("chat", text="x" * 2000)).status == 413
    assert gateway.post(PATHS["chat"], body("chat")).status == 200
    assert json.loads(engine.requests[0].body)["model"] == "m"
