"""Paths that are forwarded though the gateway knows nothing of their bodies, and those that the configuration adds."""
import threading

import pytest

from harness import answers
from harness.requests import PATHS, body
from harness.waiting import wait_until

BUILT_IN = ["/v1/embeddings", "/tokenize", "/detokenize", "/v1/messages/count_tokens", "/v1/rerank", "/v1/score"]


@pytest.mark.parametrize("path", BUILT_IN)
def test_built_in(one, path):
    gateway, engine = one
    raw = b'{"model": "m",  "input": "caf\xc3\xa9"}'
    answer = gateway.post(path + "?q=1", raw)
    assert answer.status == 200
    assert engine.requests[0].target == path + "?q=1" and engine.requests[0].body == raw
    assert answer.header("x-warmgate-replica") == "m/e0/0"


@pytest.mark.parametrize("path", BUILT_IN)
def test_they_count_as_in_flight(one, path):
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.stall(gate))
    with gateway.connect() as connection:
        connection.request("POST", path, {"model": "m", "input": "x", "messages": []})
        wait_until(lambda: engine.requests)
        assert gateway.in_flight() == 1
        gate.set()
        assert connection.answer().read_all().status == 200
    gateway.wait_idle()


def test_configured_paths(make_engine, make_gateway):
    engine = make_engine()
    engine.default = answers.status(200, b"anything")
    gateway = make_gateway([engine], paths=["/v1/audio/speech", "GET /v1/voices"])
    assert gateway.post("/v1/audio/speech", {"model": "m"}).body == b"anything"
    assert gateway.get("/v1/voices").body == b"anything"
    assert gateway.get("/v1/audio/speech").status in (404, 405)
    assert gateway.post("/v1/other", {"model": "m"}).status == 404
    assert [(r.method, r.path) for r in engine.requests] == [("POST", "/v1/audio/speech"), ("GET", "/v1/voices")]


def test_unknown_model_there_too(one):
    gateway, engine = one
    assert gateway.post("/v1/embeddings", {"model": "nope", "input": "x"}).status == 404
    assert not engine.requests


def test_aliases_there_too(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], aliases=["text-*"])
    assert gateway.post("/v1/embeddings", {"model": "text-small", "input": "x"}).status == 200
    assert engine.requests[0].json() == {"model": "m", "input": "x"}


def test_answers_of_these_paths_are_not_looked_into(one):
    """Binary bodies, odd statuses: as they are."""
    gateway, engine = one
    engine.script(answers.status(206, bytes(range(256)), [("content-range", "bytes 0-255/900")]))
    answer = gateway.post("/v1/embeddings", {"model": "m", "input": "x"})
    assert (answer.status, answer.body, answer.header("content-range")) == (206, bytes(range(256)), "bytes 0-255/900")
    assert gateway.post(PATHS["chat"], body("chat")).status == 200
