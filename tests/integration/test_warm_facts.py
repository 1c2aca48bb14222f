"""What `warm` learns of real answers and metrics, and what it makes of engines that tell too little or keep nothing."""

import pytest

from harness.requests import PATHS, body, session
from harness.waiting import wait_until

LONG = "some words that were said before " * 300  # about 9,900 bytes


def chat(gateway, key, text, headers=()):
    answer = gateway.post(PATHS["chat"], body("chat", text, max_tokens=16), [*session(key), *headers])
    assert answer.status == 200, answer.body
    return answer


def row(gateway):
    return gateway.api("/warm")["replicas"][0]


@pytest.fixture
def simulated(make_replica, make_gateway):
    def make(**flags):
        replica = make_replica(speed=200, **flags)
        return make_gateway([replica], policy="warm"), replica
    return make


def test_tokens_per_byte_are_learnt_and_shown(simulated):
    gateway, _ = simulated()
    for n in range(20):
        chat(gateway, f"s{n % 4}", f"{n} " + LONG)
    learnt = gateway.api("/warm")["pools"][0]["tokens_per_byte"]
    assert set(learnt) == {"chat"} and learnt["chat"]["samples"] == 20
    assert 0.2 < learnt["chat"]["value"] < 0.3  # the simulated tokenizer: four bytes a token


def test_a_released_session_is_forgotten(two):
    gateway, engines = two
    gateway.set_policy("m", "warm")
    chat(gateway, "a", LONG)
    wait_until(lambda: gateway.api("/sessions")["known"] == 1, what="the session is known")
    chat(gateway, "a", LONG, [("X-Warmgate-Release", "1")])
    wait_until(lambda: gateway.api("/sessions")["known"] == 0, what="the session is forgotten")
    assert all(r["seats"] == 0 for r in gateway.api("/warm")["replicas"])
    heads = [h for engine in engines for request in engine.requests for h in request.headers]
    assert not any(name.lower().startswith("x-warmgate") for name, _ in heads)


def test_without_prefix_caching_there_are_no_seats_and_one_warning(simulated):
    gateway, _ = simulated(no_prefix_caching=True)
    for n in range(4):
        chat(gateway, "a", LONG * (n + 1))
    assert row(gateway)["keeps_prefixes"] is False and row(gateway)["seats"] == 0
    shown = gateway.status()
    assert "keeps no prefixes" in shown and "--enable-prefix-caching" in shown
    assert gateway.log().count("prefix caching is off") == 1


def test_counters_stand_in_where_answers_do_not_tell(simulated):
    gateway, replica = simulated(no_prompt_tokens_details=True)
    for n in range(1, 13):
        chat(gateway, "a", LONG * n)
        seen = replica.metric("vllm:prefix_cache_queries_total")
        wait_until(lambda: gateway.replicas()[0]["prefix_queries"] == seen, what="the gateway has looked")
    known = row(gateway)["cached_tokens_known"]
    assert known["by_answer"] == 0
    shown = gateway.status()
    assert "--enable-prompt-tokens-details" in shown


def test_a_capacity_that_is_learnt_or_told_is_shown(simulated):
    gateway, _ = simulated(kv_tokens=20000)
    chat(gateway, "a", LONG)
    its = row(gateway)
    assert its["kv_tokens"] == its["seat_capacity_tokens"] == 20000 and its["kv_tokens_learnt"] is False
    assert its["safety_net"] == {"share": 1.0, "steps_down": 0}
    candidate = gateway.api("/decisions")["decisions"][0]["candidates"][0]
    assert candidate["seat_capacity_tokens"] == 20000
