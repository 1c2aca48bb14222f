"""The other policies, switched at run time by the admin API; what each does with ranks and with engines."""
import json
import threading
from urllib.error import HTTPError

import pytest

from harness import answers
from harness.requests import DIALECTS, PATHS, body, session
from harness.waiting import wait_until

POLICIES = ["off", "round-robin", "least", "hash", "sticky"]


def ranks_of(engine, dialect=None):
    return [r.header("x-data-parallel-rank") for r in engine.requests if dialect is None or r.path == PATHS[dialect]]


@pytest.mark.parametrize("policy", POLICIES)
def test_put_and_get(two, policy):
    gateway, _ = two
    gateway.set_policy("m", policy)
    assert gateway.api("/pools/m/policy")["policy"] == policy
    assert gateway.post(PATHS["chat"], body("chat"), session("s")).status == 200


def test_spill_threshold_by_api(two):
    gateway, _ = two
    gateway.set_policy("m", "sticky", 3)
    assert gateway.api("/pools/m/policy")["spill_threshold"] == 3
    gateway.set_policy("m", "sticky", "auto")
    assert gateway.api("/pools/m/policy")["spill_threshold"] == "auto"


@pytest.mark.parametrize("sent", [{"policy": "fastest"}, {"policy": 3}, {"policy": "sticky", "spill_threshold": -1},
                                  {"policy": "sticky", "spill_threshold": "many"}, [1]])
def test_bad_policies_are_refused_in_words(two, sent):
    gateway, _ = two
    before = gateway.api("/pools/m/policy")
    with pytest.raises(HTTPError) as refused:
        gateway.api("/pools/m/policy", "PUT", sent)
    assert refused.value.code == 400
    assert json.loads(refused.value.read())
    assert gateway.api("/pools/m/policy") == before


def test_unknown_pool_is_404(two):
    gateway, _ = two
    for method, sent in (("GET", None), ("PUT", {"policy": "off"})):
        with pytest.raises(HTTPError) as refused:
            gateway.api("/pools/nope/policy", method, sent)
        assert refused.value.code == 404


def test_round_robin_takes_turns(make_engine, make_gateway):
    engine, other = make_engine(ranks=2), make_engine()
    gateway = make_gateway([engine, other], policy="round-robin")
    seen = [gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica") for _ in range(6)]
    assert seen[:3] == seen[3:] and len(set(seen[:3])) == 3
    assert sorted(ranks_of(engine)) == ["0", "0", "1", "1"]
    assert gateway.turns("placed") == 6


def test_hash_depends_on_the_session_alone(make_engine, make_gateway):
    engine = make_engine(ranks=4)
    gateway = make_gateway([engine], policy="hash")
    first = [gateway.post(PATHS["chat"], body("chat"), session(f"s{n}")).header("x-warmgate-replica") for n in range(12)]
    second = [gateway.post(PATHS["chat"], body("chat"), session(f"s{n}")).header("x-warmgate-replica") for n in range(12)]
    assert first == second and len(set(first)) > 1


def test_least_goes_where_nothing_is_in_flight(make_engine, make_gateway):
    gate = threading.Event()
    engines = [make_engine(), make_engine(), make_engine()]
    gateway = make_gateway(engines, policy="least")
    for engine in engines:
        engine.default = answers.stall(gate)
    connections = [gateway.connect() for _ in range(6)]
    for number, connection in enumerate(connections):
        connection.request("POST", PATHS["chat"], body("chat"), session("same"))
        wait_until(lambda: sum(len(e.requests) for e in engines) == number + 1)
    assert [len(e.requests) for e in engines] == [2, 2, 2]
    gate.set()
    for connection in connections:
        assert connection.answer().read_all().status == 200
        connection.close()


def test_off_leaves_ranks_to_the_engine(make_engine, make_gateway):
    engine = make_engine(ranks=2)
    gateway = make_gateway([engine], policy="off")
    for dialect in DIALECTS:
        assert gateway.post(PATHS[dialect], body(dialect), session("s")).header("x-warmgate-route") == "off"
    assert set(ranks_of(engine)) == {None}
    whole = [r for r in gateway.replicas() if r["rank"] is None]
    assert len(whole) == 1 and whole[0]["turns"]["off"] == 4


def test_off_over_engines_spreads_by_their_own_figures(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    engines[0].ranks[0].waiting = 50
    gateway = make_gateway(engines, policy="off")
    wait_until(lambda: gateway.replica("m/e0/0")["waiting"] == 50)
    for n in range(4):
        answer = gateway.post(PATHS["chat"], body("chat"), session(f"s{n}"))
        assert (answer.header("x-warmgate-replica"), answer.header("x-warmgate-route")) == ("m/e1/0", "off")


@pytest.mark.parametrize("dialect", ["chat", "completions", "messages"])
def test_ranks_are_steered(make_engine, make_gateway, dialect):
    engine = make_engine(ranks=2)
    gateway = make_gateway([engine])
    homes = {}
    for turn in range(3):
        for key in ("a", "b"):
            answer = gateway.post(PATHS[dialect], body(dialect, stream=turn == 1), session(key))
            rank = engine.requests[-1].header("x-data-parallel-rank")
            assert answer.header("x-warmgate-replica") == f"m/e0/{rank}"
            assert homes.setdefault(key, rank) == rank
    assert sorted(homes.values()) == ["0", "1"]


def test_responses_on_ranks_are_unsteered(make_engine, make_gateway):
    """vLLM ignores the rank header there: none is sent, it is logged once, and counted."""
    engine = make_engine(ranks=2)
    gateway = make_gateway([engine])
    for _ in range(3):
        answer = gateway.post(PATHS["responses"], body("responses"), session("s"))
        assert answer.header("x-warmgate-route") == "unsteered"
    assert ranks_of(engine) == [None] * 3
    assert gateway.turns("unsteered") == 3
    assert gateway.metric("warmgate_in_flight") == 0


def test_switching_keeps_homes(two):
    gateway, _ = two
    home = gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")
    gateway.set_policy("m", "round-robin")
    for _ in range(3):
        gateway.post(PATHS["chat"], body("chat"), session("s"))
    gateway.set_policy("m", "sticky")
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.header("x-warmgate-route") == "sticky"
    assert answer.header("x-warmgate-replica") in (home, "m/e0/0", "m/e1/0")


@pytest.mark.parametrize("policy", POLICIES)
def test_policy_of_the_command_line(make_engine, make_gateway, policy):
    engine = make_engine()
    gateway = make_gateway([engine], arguments=["--policy", policy])
    assert gateway.api("/pools/m/policy")["policy"] == policy
