"""What the gateway finds out about engines by itself, and what it advises."""
import json

from harness.gateway import Gateway, pool
from harness import answers
from harness.requests import PATHS, body, session
from harness.waiting import wait_until


def test_engines_by_flag_alone(make_engine, tmp_path):
    engines = [make_engine(model="qwen3-4b", ranks=2), make_engine(model="qwen3-4b")]
    gateway = Gateway.from_engines(tmp_path, engines)
    try:
        assert len(gateway.replicas()) == 3 and {r["pool"] for r in gateway.replicas()} == {"qwen3-4b"}
        assert [m["id"] for m in gateway.get("/v1/models").json()["data"]] == ["qwen3-4b"]
        assert gateway.post(PATHS["chat"], body("chat", model="qwen3-4b")).status == 200
        assert gateway.post(PATHS["chat"], body("chat", model="other")).status == 404
    finally:
        gateway.stop()


def test_spare_places_of_pools_are_not_shown(make_engine, tmp_path):
    """Each --engine could serve a model of its own. Those that share one leave places without a name behind."""
    gateway = Gateway.from_engines(tmp_path, [make_engine(model="qwen3-4b") for _ in range(4)])
    try:
        assert [pool["pool"] for pool in gateway.api("/warm")["pools"]] == ["qwen3-4b"]
        assert [line for line in gateway.status().splitlines() if "session" in line] == ["qwen3-4b (sticky): no session is active"]
        assert gateway.post(PATHS["chat"], body("chat", model="qwen3-4b")).status == 200
    finally:
        gateway.stop()


def test_figures_of_vllm(make_engine, make_gateway):
    engine = make_engine(ranks=2)
    engine.ranks[1].running, engine.ranks[1].waiting, engine.ranks[1].kv_usage = 3, 2, 0.25
    engine.ranks[1].prefix_queries, engine.ranks[1].prefix_hits, engine.ranks[1].kv_tokens = 1000, 750, 17000
    gateway = make_gateway([engine])
    row = wait_until(lambda: next((r for r in gateway.replicas() if r["id"] == "m/e0/1" and r["running"] == 3), None))
    assert (row["waiting"], row["kv_usage"], row["kv_tokens"], row["prefix_queries"], row["prefix_hits"]) == (2, 0.25, 17000, 1000, 750)
    assert row["rank"] == 1 and row["healthy"] is True


def test_figures_of_llama(make_engine, make_gateway):
    engine = make_engine(kind="llama")
    gateway = make_gateway([engine])
    engine.ranks[0].running, engine.ranks[0].waiting = 2, 5
    row = wait_until(lambda: next((r for r in gateway.replicas() if r["running"] == 2), None))
    assert row["waiting"] == 5 and row["kv_usage"] is None


def test_engine_behind_a_key(make_engine, make_gateway):
    engine = make_engine(api_key="k", ranks=2)
    gateway = make_gateway([engine], api_key_env="WG_ENGINE_KEY", environment={"WG_ENGINE_KEY": "k"})
    assert len(gateway.replicas()) == 2
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


def test_mixed_pools(make_engine, make_gateway):
    engines = {"v": make_engine(model="a", ranks=2), "l": make_engine(model="a", kind="llama"), "x": make_engine(model="b")}
    gateway = make_gateway(pools=[pool({k: engines[k] for k in ("v", "l")}, model="a"), pool({"x": engines["x"]}, model="b", policy="least")])
    assert {r["id"] for r in gateway.replicas()} == {"a/v/0", "a/v/1", "a/l/0", "b/x/0"}
    for n in range(6):
        assert gateway.post(PATHS["chat"], body("chat", model="b"), session(f"s{n}")).header("x-warmgate-replica") == "b/x/0"
    homes = {gateway.post(PATHS["chat"], body("chat", model="a"), session(f"s{n}")).header("x-warmgate-replica") for n in range(6)}
    assert homes == {"a/v/0", "a/v/1", "a/l/0"}


def shown(gateway, words):
    return words in gateway.log() and words in json.dumps(gateway.api("/replicas"))


def test_warns_once_of_prefix_caching_off(make_engine, make_gateway):
    engine = make_engine()
    engine.ranks[0].prefix_caching = False
    gateway = make_gateway([engine])
    wait_until(lambda: shown(gateway, "--enable-prefix-caching"))
    gateway.post(PATHS["chat"], body("chat"))
    assert gateway.log().count("--enable-prefix-caching") == 1


def test_warns_once_of_missing_cached_tokens(make_engine, make_gateway):
    """vLLM without --enable-prompt-tokens-details answers without cached tokens: they count as computed and are marked."""
    engine = make_engine()
    engine.default = answers.normal(cached=None)
    gateway = make_gateway([engine])
    for dialect in ("chat", "messages"):
        for stream in (False, True):
            gateway.post(PATHS[dialect], body(dialect, stream=stream))
    wait_until(lambda: shown(gateway, "--enable-prompt-tokens-details"))
    assert gateway.log().count("--enable-prompt-tokens-details") == 1
    gateway.wait_idle()
    assert sum(gateway.metric("warmgate_prompt_tokens_total", kind=kind) or 0 for kind in ("computed", "unmeasured")) == 400
    assert not gateway.metric("warmgate_prompt_tokens_total", kind="cached")


def test_no_warning_for_a_well_set_up_engine(one):
    gateway, _ = one
    gateway.post(PATHS["chat"], body("chat"))
    gateway.wait_idle()
    assert "--enable-" not in gateway.log()
