"""Health: how fast an engine is out, what brings it back, and that sessions keep their homes over a flap."""
import threading

import pytest

from harness import answers
from harness.requests import PATHS, body, session
from harness.waiting import elapsed, wait_until


def healthy(gateway):
    return {r["id"]: r["healthy"] for r in gateway.replicas()}


def test_refused_takes_all_ranks_out_at_once(make_engine, make_gateway):
    ranked, single = make_engine(ranks=3), make_engine()
    gateway = make_gateway({"big": ranked, "small": single})
    assert len(gateway.replicas()) == 4
    homes = {}
    for n in range(8):
        answer = gateway.post(PATHS["chat"], body("chat"), session(f"s{n}"))
        homes[answer.header("x-warmgate-replica")] = f"s{n}"
    on_big = next(key for replica, key in homes.items() if "/big/" in replica)
    ranked.down()
    assert gateway.post(PATHS["chat"], body("chat"), session(on_big)).header("x-warmgate-replica") == "m/small/0"
    assert healthy(gateway) == {"m/big/0": False, "m/big/1": False, "m/big/2": False, "m/small/0": True}
    ranked.up()
    gateway.wait_healthy()


def test_down_is_noticed_without_traffic(two):
    gateway, engines = two
    engines[0].down()
    assert elapsed(lambda: gateway.wait_healthy(count=1)) < 4
    assert healthy(gateway)["m/e0/0"] is False


def test_recovers_within_a_second(two):
    gateway, engines = two
    engines[0].down()
    gateway.wait_healthy(count=1)
    engines[0].up()
    assert elapsed(gateway.wait_healthy) < 1.5  # probes of a down engine come every 200 ms


def test_flap_keeps_homes(two):
    gateway, engines = two
    homes = {f"s{n}": gateway.post(PATHS["chat"], body("chat"), session(f"s{n}")).header("x-warmgate-replica") for n in range(6)}
    assert len(set(homes.values())) == 2
    for engine in engines:
        engine.down()
    gateway.wait_healthy(count=0)
    for engine in engines:
        engine.up()
    gateway.wait_healthy()
    for key, home in homes.items():
        answer = gateway.post(PATHS["chat"], body("chat"), session(key))
        assert (answer.header("x-warmgate-route"), answer.header("x-warmgate-replica")) == ("sticky", home)


def test_home_that_is_down_is_replaced_once(two):
    gateway, engines = two
    home = gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-replica")
    engine = engines[int(home[3])]
    engine.down()
    gateway.wait_healthy(count=1)
    moved = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert moved.header("x-warmgate-replica") != home and moved.header("x-warmgate-route") in ("placed", "moved")
    engine.up()
    gateway.wait_healthy()
    after = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert after.header("x-warmgate-replica") == moved.header("x-warmgate-replica")
    assert after.header("x-warmgate-route") == "sticky"


def test_health_503_takes_three_misses(two):
    gateway, engines = two
    engines[0].healthy = False
    gateway.wait_healthy(count=1)
    assert healthy(gateway) == {"m/e0/0": False, "m/e1/0": True}
    engines[0].healthy = True
    gateway.wait_healthy()


def test_unasked_abort_is_distrusted_for_six_seconds(make_engine, make_gateway):
    """A dying vLLM group still answers /health for about 5 s. The fleet's clock runs four times faster here."""
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, arguments=["--time-scale", "4"])
    for engine in engines:
        engine.default = answers.normal(finish="abort")
    answer = gateway.post(PATHS["chat"], body("chat", stream=True), session("s"))
    assert answer.ended == "cut"
    out = answer.header("x-warmgate-replica")
    wait_until(lambda: not gateway.replica(out)["healthy"])
    back = elapsed(lambda: wait_until(lambda: gateway.replica(out)["healthy"], 10))
    assert 1.0 < back < 4.0


def test_reset_mid_stream_is_not_distrusted_for_long(two):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.reset_after(3)
    gateway.post(PATHS["chat"], body("chat", stream=True))
    assert elapsed(gateway.wait_healthy) < 3


def test_in_flight_survives_health_changes(two):
    """Requests under way are not forgotten when their replica goes down and comes back."""
    gateway, engines = two
    gate = threading.Event()
    for engine in engines:
        engine.default = answers.normal(gate=gate)
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True)).answer()
        answer.read_until(b"one")
        home = answer.header("x-warmgate-replica")
        engine = engines[int(home[3])]
        engine.healthy = False
        wait_until(lambda: not gateway.replica(home)["healthy"])
        assert gateway.replica(home)["in_flight"] == 1
        engine.healthy = True
        gateway.wait_healthy()
        assert gateway.replica(home)["in_flight"] == 1
        gate.set()
        assert answer.read_all().ended == "chunked"


@pytest.mark.parametrize("seen_down", [True, False], ids=["seen down", "between two looks"])
@pytest.mark.parametrize("change", ["ranks", "model"])
def test_engine_that_comes_back_as_another(make_engine, make_gateway, change, seen_down):
    engines = [make_engine(ranks=2), make_engine()]
    gateway = make_gateway(engines)
    if seen_down:
        engines[0].down()
        gateway.wait_healthy(count=1)
    if change == "ranks":
        engines[0].ranks = engines[0].ranks[:1] + [type(engines[0].ranks[0])() for _ in range(2)]
    else:
        engines[0].model = "renamed"
    if seen_down:
        engines[0].up()
    if change == "ranks":
        wait_until(lambda: sum("/e0/" in r["id"] and r["healthy"] for r in gateway.replicas()) == 3)
        return
    wait_until(lambda: all(r["healthy"] for r in gateway.replicas()))
    engines[1].down()
    gateway.wait_healthy(count=2)

    def renamed():
        answer = gateway.post(PATHS["chat"], body("chat"))
        return answer.status == 200 and engines[0].requests[-1].json()["model"] == "renamed"
    assert renamed() if seen_down else wait_until(renamed)
    engines[1].up()
