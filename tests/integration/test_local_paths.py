"""Paths that the gateway answers itself, and those that it refuses: no engine hears of either."""
import pytest

from harness.gateway import pool
from harness.requests import PATHS, body

CONTROL = ["/v1/load_lora_adapter", "/v1/unload_lora_adapter", "/sleep", "/wake_up", "/reset_prefix_cache", "/pause", "/resume",
           "/collective_rpc", "/abort_requests", "/flush_cache", "/scale_elastic_ep", "/slots/0", "/server_info", "/shutdown", "/"]


def test_models_in_openai_shape(make_engine, make_gateway):
    engines = [make_engine(model="a"), make_engine(model="b")]
    gateway = make_gateway(pools=[pool({"x": engines[0]}, model="a"), pool({"y": engines[1]}, model="b", aliases=["gpt-9", "claude-*"])])
    listed = gateway.get("/v1/models").json()
    ids = [m["id"] for m in listed["data"]]
    assert listed["object"] == "list" and {"a", "b", "gpt-9"} <= set(ids)
    assert all(m["object"] == "model" for m in listed["data"])
    assert "*" not in "".join(ids)
    assert gateway.get("/v1/models/a").json()["id"] == "a" or gateway.get("/v1/models/a").status == 404


def test_models_in_anthropic_shape(one):
    gateway, _ = one
    listed = gateway.get("/v1/models?limit=1000", [("anthropic-version", "2023-06-01")]).json()
    assert [m["id"] for m in listed["data"]] == ["m"]
    assert listed["data"][0]["type"] == "model" and listed["has_more"] is False


def test_alive_and_ready(one):
    gateway, engine = one
    assert gateway.get("/health").status == 200
    assert gateway.get("/ready").status == 200
    with gateway.connect() as connection:
        assert connection.exchange("HEAD", "/").status == 200
        assert connection.get("/health").status == 200  # the connection is sound after a HEAD
    engine.down()
    gateway.wait_healthy(count=0)
    assert gateway.get("/health").status == 200
    assert gateway.get("/ready").status == 503
    engine.up()
    gateway.wait_healthy()
    assert gateway.get("/ready").status == 200


def test_ready_wants_every_pool(make_engine, make_gateway):
    engines = [make_engine(model="a"), make_engine(model="b")]
    engines[1].down()
    gateway = make_gateway(pools=[pool({"x": engines[0]}, model="a"), pool({"y": engines[1]}, model="b")], wait_healthy=False)
    gateway.wait_healthy(count=1)
    assert gateway.get("/ready").status == 503
    assert gateway.post(PATHS["chat"], body("chat", model="a")).status == 200


@pytest.mark.parametrize("path", CONTROL)
def test_control_paths_are_not_forwarded(one, path):
    gateway, engine = one
    with gateway.connect() as connection:
        for target in (path, path + "?x=1", path + "/"):
            answer = connection.post(target, {"model": "m"})
            assert answer.status in (404, 405), target
            assert answer.json()["error"]["message"]
        assert connection.post(PATHS["chat"], body("chat")).status == 200
    assert len(engine.requests) == 1


@pytest.mark.parametrize("path", ["/v1//chat/completions", "/v1/./chat/completions", "/v1/x/../chat/completions", "/%761/chat/completions",
                                  "/v1/chat/completions/", "/v1/chat/completions/../../../sleep", "//sleep"])
def test_paths_match_exactly(one, path):
    gateway, engine = one
    assert gateway.post(path, body("chat")).status in (400, 404)
    assert not engine.requests


def test_wrong_method(one):
    gateway, engine = one
    with gateway.connect() as connection:
        assert connection.get(PATHS["chat"]).status in (404, 405)
        assert connection.exchange("DELETE", PATHS["chat"]).status in (404, 405)
    assert not engine.requests


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/realtime", "/anything"])
def test_websocket_is_refused_at_once(one, path):
    gateway, engine = one
    with gateway.connect() as connection:
        connection.request("GET", path, None, [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
                                               ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")])
        assert connection.answer().read_all().status == 426
    assert not engine.requests


def test_admin_paths_are_not_on_the_client_listener(one):
    gateway, _ = one
    for path in ("/metrics", "/api/v1/replicas", "/api/v1/sessions"):
        assert gateway.get(path).status == 404
