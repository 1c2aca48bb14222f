"""The policy `sticky` on real sockets: place on the least, stay at home, spill above the threshold, come back."""
import threading
from contextlib import ExitStack

import pytest

from harness import answers
from harness.requests import PATHS, body, session
from harness.waiting import wait_until


class Held:
    """Requests that are held open at their engine until released."""

    def __init__(self, gateway):
        self.gateway, self.gate, self.connections = gateway, threading.Event(), []

    def send(self, key, dialect="chat"):
        """Sends a streamed turn of a session, waits for its head; returns (replica, route)."""
        connection = self.gateway.connect()
        connection.request("POST", PATHS[dialect], body(dialect, stream=True), session(key))
        answer = connection.answer().read_until(b"one")
        self.connections.append((connection, answer))
        return answer.header("x-warmgate-replica"), answer.header("x-warmgate-route")

    def release(self):
        self.gate.set()
        for connection, answer in self.connections:
            assert answer.read_all().ended == "chunked"
            connection.close()
        self.connections = []
        self.gateway.wait_idle()  # a client may see the end of an answer before the fleet does


@pytest.fixture
def held(two):
    gateway, engines = two
    turns = Held(gateway)
    for engine in engines:
        engine.default = answers.normal(gate=turns.gate)
    with ExitStack() as stack:
        stack.callback(turns.release)
        yield turns


def test_conversations_spread_and_stay(two):
    gateway, _ = two
    homes = {}
    for turn in range(3):
        for key in ("a", "b", "c", "d"):
            answer = gateway.post(PATHS["chat"], body("chat"), session(key))
            assert answer.header("x-warmgate-route") == ("sticky" if turn else "placed")
            assert homes.setdefault(key, answer.header("x-warmgate-replica")) == answer.header("x-warmgate-replica")
    assert sorted(homes.values()) == ["m/e0/0", "m/e0/0", "m/e1/0", "m/e1/0"]


def test_placement_counts_what_is_in_flight(held):
    busy = held.send("a")[0]
    placed = [held.send(key)[0] for key in ("b", "c", "d")]
    assert placed.count(busy) == 1 and len(set(placed)) == 2


def test_placement_looks_at_kv_use(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    engines[0].ranks[0].kv_usage = 0.55
    gateway = make_gateway(engines)
    wait_until(lambda: gateway.replica("m/e0/0")["kv_usage"] == 0.55)
    for key in range(4):
        assert gateway.post(PATHS["chat"], body("chat"), session(f"k{key}")).header("x-warmgate-replica") == "m/e1/0"


def test_kv_is_left_out_if_one_replica_has_no_gauge(make_engine, make_gateway):
    engines = [make_engine(), make_engine(kind="llama")]
    engines[0].ranks[0].kv_usage = 0.9
    gateway = make_gateway(engines)
    wait_until(lambda: gateway.replica("m/e0/0")["kv_usage"] == 0.9)
    homes = {gateway.post(PATHS["chat"], body("chat"), session(f"k{n}")).header("x-warmgate-replica") for n in range(2)}
    assert homes == {"m/e0/0", "m/e1/0"}
    assert gateway.replica("m/e1/0")["kv_usage"] is None


def test_spills_above_the_threshold_and_comes_home(held):
    gateway = held.gateway
    gateway.set_policy("m", "sticky", 1)
    home = held.send("s")[0]
    assert held.send("s") == (home, "sticky")  # one in flight: at the threshold, not above
    replica, route = held.send("s")            # two in flight: above it
    assert route == "spilled" and replica != home
    assert gateway.turns("spilled") == 1
    held.release()
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert (answer.header("x-warmgate-replica"), answer.header("x-warmgate-route")) == (home, "sticky")


def test_stays_if_the_others_are_above_it_too(held):
    held.gateway.set_policy("m", "sticky", 0)
    homes = {key: held.send(key)[0] for key in ("a", "b")}
    assert len(set(homes.values())) == 2
    assert held.send("a") == (homes["a"], "sticky")


def test_spill_with_rehome_moves_the_home(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, spill=0, rehome=True)
    turns = Held(gateway)
    for engine in engines:
        engine.default = answers.normal(gate=turns.gate)
    home = turns.send("s")[0]
    replica, route = turns.send("s")
    turns.release()
    assert route == "spilled" and replica != home
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert (answer.header("x-warmgate-replica"), answer.header("x-warmgate-route")) == (replica, "sticky")


def test_threshold_auto_is_a_quarter_of_what_the_engine_runs(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, max_num_seqs=8)
    turns = Held(gateway)
    for engine in engines:
        engine.default = answers.normal(gate=turns.gate)
    home = turns.send("s")[0]
    routes = [turns.send("s") for _ in range(3)]
    assert routes == [(home, "sticky"), (home, "sticky"), (routes[2][0], "spilled")] and routes[2][0] != home
    turns.release()


def test_threshold_of_llama_is_its_slots(make_engine, make_gateway):
    engines = [make_engine(kind="llama"), make_engine(kind="llama")]  # four slots: N = 1
    gateway = make_gateway(engines)
    turns = Held(gateway)
    for engine in engines:
        engine.default = answers.normal(gate=turns.gate)
    home = turns.send("s")[0]
    assert turns.send("s") == (home, "sticky")
    assert turns.send("s")[1] == "spilled"
    turns.release()


def test_sessions_of_different_keys_do_not_meet(two):
    """The same session value under another API key is another session."""
    gateway, _ = two
    marks = {gateway.post(PATHS["chat"], body("chat"), [*session("same"), ("Authorization", f"Bearer {key}")]).header("x-warmgate-session")
             for key in ("k1", "k2", "k1")}
    assert len(marks) == 2


def test_aliases_share_a_session(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, aliases=["claude-*"])
    first = gateway.post(PATHS["messages"], body("messages", model="claude-a"), session("s"))
    for model in ("claude-b", "m"):
        answer = gateway.post(PATHS["messages"], body("messages", model=model), session("s"))
        assert answer.header("x-warmgate-route") == "sticky"
        assert answer.header("x-warmgate-session") == first.header("x-warmgate-session")
