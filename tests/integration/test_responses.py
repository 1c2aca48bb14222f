"""The Responses API keeps its state inside one engine: follow-ups, reads and cancels go where the response was made."""
import threading

import pytest

from harness import answers
from harness.requests import PATHS, body
from harness.waiting import wait_until


def make_response(gateway, engines, response_id, stream=False, text="make one"):
    """A response with that id; returns the replica that made it."""
    for engine in engines:
        engine.default = answers.normal(response_id=response_id)
    answer = gateway.post(PATHS["responses"], body("responses", text=text, stream=stream))
    assert answer.status == 200
    for engine in engines:
        engine.default = answers.normal()
    return answer.header("x-warmgate-replica")


@pytest.mark.parametrize("stream", [False, True])
def test_follow_ups_go_where_it_was_made(two, stream):
    gateway, engines = two
    made = {f"made_{n}": make_response(gateway, engines, f"made_{n}", stream, text=f"opening {n}") for n in range(4)}
    assert len(set(made.values())) == 2
    for response_id, replica in made.items():
        for _ in range(2):
            answer = gateway.post(PATHS["responses"], body("responses", text="next", previous_response_id=response_id))
            assert answer.header("x-warmgate-replica") == replica


def test_reads_and_cancels_too(two):
    gateway, engines = two
    made = {f"made_{n}": make_response(gateway, engines, f"made_{n}", text=f"opening {n}") for n in range(4)}
    for response_id, replica in made.items():
        engine = engines[int(replica[3])]
        assert gateway.get(f"/v1/responses/{response_id}?stream=false").status == 200
        assert engine.requests[-1].target == f"/v1/responses/{response_id}?stream=false" and engine.requests[-1].method == "GET"
        assert gateway.post(f"/v1/responses/{response_id}/cancel", b"").status == 200
        assert engine.requests[-1].path == f"/v1/responses/{response_id}/cancel"


def test_unknown_response_is_404(two):
    gateway, engines = two
    answer = gateway.get("/v1/responses/resp_unknown")
    assert answer.status == 404 and "resp_unknown" in answer.json()["error"]["message"] or answer.status == 404
    assert not any(e.requests for e in engines)


def test_never_spilled(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, spill=0)
    replica = make_response(gateway, engines, "resp_a")
    home = engines[int(replica[3])]
    gate = threading.Event()
    home.default = answers.stall(gate)
    connections = [gateway.connect() for _ in range(3)]
    before = len(home.requests)
    for connection in connections:
        connection.request("POST", PATHS["responses"], body("responses", text="more", previous_response_id="resp_a"))
    wait_until(lambda: len(home.requests) == before + 3)
    gate.set()
    for connection in connections:
        answer = connection.answer().read_all()
        assert answer.header("x-warmgate-replica") == replica
        connection.close()


def test_its_engine_is_down(two):
    """Nobody else knows the response: an error rather than another replica's guess."""
    gateway, engines = two
    replica = make_response(gateway, engines, "resp_a")
    home = engines[int(replica[3])]
    other = engines[1 - int(replica[3])]
    home.down()
    gateway.wait_healthy(count=1)
    heard = len(other.requests)
    answer = gateway.get("/v1/responses/resp_a")
    assert answer.status == 503 and int(answer.header("retry-after")) >= 1
    assert len(other.requests) == heard
    home.up()
    gateway.wait_healthy()
    assert gateway.get("/v1/responses/resp_a").status == 200
