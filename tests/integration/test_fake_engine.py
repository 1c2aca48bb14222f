"""The fake engine itself: what other tests build on holds without a gateway in between."""
import json
import socket
import threading

import pytest

from harness import answers, metrics_text, sse, wire
from harness.requests import DIALECTS, DONE, PATHS, body
from harness.waiting import wait_until


def test_probes_look_like_vllm(make_engine):
    engine = make_engine(ranks=2)
    text = wire.get(engine.url, "/metrics").body.decode()
    assert metrics_text.total(text, "vllm:num_requests_running", engine="1") == 0
    assert metrics_text.total(text, "vllm:kv_cache_usage_perc") == 0
    assert wire.get(engine.url, "/health").status == 200
    assert wire.get(engine.url, "/v1/models").json()["data"][0]["id"] == "m"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_normal_answers(make_engine, dialect, stream):
    engine = make_engine()
    answer = wire.post(engine.url, PATHS[dialect] + "?x=1", body(dialect, stream=stream), [("X-Thing", "a  b")])
    assert answer.status == 200 and answer.ended == ("chunked" if stream else "length")
    assert (DONE[dialect] in answer.body) == stream
    received = engine.requests[0]
    assert received.target.endswith("?x=1") and received.header("x-thing") == "a  b"
    assert received.body == json.dumps(body(dialect, stream=stream)).encode()


def test_scripts_are_used_in_order(make_engine):
    engine = make_engine()
    engine.script(answers.status(503), answers.error_first_event(), answers.reset_after(2))
    assert wire.post(engine.url, PATHS["chat"], body("chat")).status == 503
    assert "error" in sse.payloads(wire.post(engine.url, PATHS["chat"], body("chat")).body)[0]
    assert wire.post(engine.url, PATHS["chat"], body("chat", stream=True)).ended == "cut"
    engine.script(answers.reset_before_head())
    with pytest.raises(ConnectionResetError):
        wire.post(engine.url, PATHS["chat"], body("chat"))


def test_knows_when_its_client_left(make_engine):
    engine, gate = make_engine(), threading.Event()
    engine.script(answers.stall(gate), answers.normal(gate=gate))
    for stream in (False, True):
        connection = wire.Connection(engine.url)
        connection.request("POST", PATHS["chat"], body("chat", stream=stream))
        wait_until(lambda: engine.ranks[0].running == 1)
        connection.close()
        assert engine.requests[-1].gone.wait(5)
        wait_until(lambda: engine.ranks[0].running == 0)


def test_down_refuses_and_up_is_the_same_port(make_engine):
    engine, gate = make_engine(), threading.Event()
    engine.script(answers.normal(gate=gate))
    with wire.Connection(engine.url) as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True)).answer()
        answer.read_until(b"two")
        for _ in range(3):
            engine.down()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", engine.port))
            engine.up()
        assert answer.read_all().ended == "cut"
    assert wire.post(engine.url, PATHS["chat"], body("chat")).status == 200
