"""The queue of policy `warm` when replicas die or the gateway ends, and who waits in it beside others of his session."""
import signal
import threading

import pytest

from harness import answers
from harness.queue_world import LONG, QUICK, fine, long_body
from harness.requests import DONE, PATHS, body, session
from harness.waiting import wait_until


# ---- the end of a replica, and ours ----

@pytest.mark.parametrize("streamed", [True, False])
def test_a_replica_that_dies_gives_its_requests_back_to_the_queue(make_world, streamed):
    world = make_world(engines=2, wait=QUICK)
    holders = [world.hold(f"h{n}", stream=streamed) for n in range(2)]
    waiter = world.waiter("chat", "waiter", stream=streamed)
    dead = next(n for n, engine in enumerate(world.engines) if engine.requests[-1].header("x-session-key") == "h0")
    alive = world.engines[1 - dead]
    world.engines[dead].down()
    world.wait_for_waiters(2)
    assert world.gateway.in_flight() == 1
    order = []
    alive.default = lambda exchange: (order.append(exchange.request.header("x-session-key")), fine()(exchange))
    holders[1][0].set()
    for connection in (holders[0][1], holders[1][1], waiter):
        answer = connection.answer().read_all()
        assert answer.status == 200 and answer.ended == ("chunked" if streamed else "length")
    assert order == ["h0", "waiter"], "it is back where it was: in front"
    world.gateway.wait_idle()
    assert world.waiting() == 0


@pytest.mark.parametrize("agents", [True, False], ids=["ids of their own", "one id"])
def test_many_at_once_of_one_session_wait_as_others_do(make_world, agents):
    world = make_world(engines=2)
    gate = threading.Event()
    for engine in world.engines:
        engine.default = fine(before=gate)
    waiters = []
    for number in range(20):
        connection = world.gateway.connect()
        world.open_connections.append(connection)
        names = [("x-claude-code-session-id", "s"), *([("x-claude-code-agent-id", f"a{number}")] if agents else [])]
        waiters.append(connection.request("POST", PATHS["messages"], body("messages", f"task {number} {LONG}"), names))
    wait_until(lambda: world.waiting() + world.gateway.in_flight() == 20)
    assert world.gateway.in_flight() <= 4, "no engine holds more than one such context, and one may stand ready"
    gate.set()
    assert [connection.answer().read_all().status for connection in waiters] == [200] * 20
    assert world.waiting() == 0


def reset_when(gate):
    return lambda exchange: exchange.wait(gate) and exchange.reset()


class ResetWhileOneWaits:
    """Two engines with a turn each, `h0` to be reset at its one when `die` opens, and one that waits."""

    def __init__(self, world):
        self.world = world
        self.die, lost = world.hold("h0", script=reset_when)
        self.first = next(engine for engine in world.engines if engine.requests)
        self.other_gate, kept = world.hold("h1")
        self.waiter = world.waiter("chat", "waiter")
        self.held = [lost, kept]

    def block(self, page):
        """(a look has asked for that page, it may have it)"""
        asked, told, before = threading.Event(), threading.Event(), getattr(self.first, page)
        setattr(self.first, page, lambda: (asked.set(), told.wait(20), before())[-1])
        return asked, told

    def all_are_served(self):
        answer = self.waiter.answer().read_all()
        assert answer.status == 200 and self.world.engines[int(answer.header("x-warmgate-replica")[3])] is self.first
        assert "attempts=1 " in self.world.line("session=" + answer.header("x-warmgate-session"))
        self.other_gate.set()
        for connection in self.held:
            assert connection.answer().read_all().status == 200


def test_nobody_is_sent_after_a_reset_until_a_look_has_told(make_world):
    world = make_world(engines=2, log={"format": "text", "level": "debug"})
    reset = ResetWhileOneWaits(world)
    asked, told = reset.block("_health")
    reset.die.set()
    world.wait_for_waiters(2)  # the seat of h0 is free, and nobody takes it
    wait_until(lambda: "reset a request before its answer" in world.gateway.log())
    assert asked.wait(10)
    assert world.waiting() == 2 and len(reset.first.requests) == 1
    told.set()  # it was nothing
    reset.all_are_served()


def test_a_look_that_began_before_a_reset_does_not_count(make_world):
    world = make_world(engines=2)
    reset = ResetWhileOneWaits(world)
    asked, told = reset.block("_metrics")
    assert asked.wait(10)  # it has said that it is well
    reset.die.set()
    world.wait_for_waiters(2)
    asked_again, told_again = reset.block("_health")
    told.set()
    assert asked_again.wait(10)
    assert world.waiting() == 2 and len(reset.first.requests) == 1
    told_again.set()
    reset.all_are_served()


def test_a_head_that_goes_out_while_a_retry_waits_says_so(make_world):
    world = make_world(engines=2, wait={"commit_after": "1s", "ping_every": "150ms"})
    holders = [world.hold(f"h{n}", stream=n == 0) for n in range(2)]
    dead = next(engine for engine in world.engines if engine.requests[-1].header("x-session-key") == "h0")
    dead.down()
    world.wait_for_waiters(1)
    answer = holders[0][1].answer()
    assert (answer.header("x-warmgate-route"), answer.header("x-warmgate-replica")) == ("waiting", "-")
    holders[1][0].set()
    assert answer.read_all().ended == "chunked" and DONE["chat"] in answer.body


def test_sigterm_lets_those_in_the_queue_be_served(make_world):
    world = make_world()
    gate, held = world.hold("first")
    waiters = [world.waiter("chat", "w0"), world.waiter("messages", "w1", stream=True)]
    world.gateway.process.terminate()
    wait_until(lambda: "draining" in world.gateway.log())
    gate.set()
    for connection in (held, *waiters):
        answer = connection.answer().read_all()
        assert answer.status == 200 and answer.header("connection") == "close"
    assert world.gateway.wait_ended() == 0


def test_sigterm_waits_no_longer_than_told(make_world):
    world = make_world(timeouts={"drain": "500ms"})
    world.hold("first")
    waiters = [world.waiter("chat", f"w{n}", stream=n == 0) for n in range(2)]
    world.gateway.process.terminate()
    assert world.gateway.wait_ended() == 0
    for connection in waiters:
        assert connection.rest() == b""
    assert "cut off" in world.gateway.log()


def test_a_gateway_that_was_stopped_for_a_while_loses_nobody(make_world):
    """To its clock that is a jump: timers are late, holds are over, clients have left meanwhile."""
    world = make_world(wait=QUICK)
    gate, held = world.hold("first")
    stays, leaves = world.waiter("chat", "stays", stream=True), world.waiter("chat", "leaves")
    world.gateway.process.send_signal(signal.SIGSTOP)
    leaves.close()
    threading.Event().wait(1.5)
    gate.set()
    world.gateway.process.send_signal(signal.SIGCONT)
    for connection in (held, stays):
        answer = connection.answer().read_all()
        assert answer.status == 200 and answer.ended in ("chunked", "length")
    world.gateway.wait_idle()
    assert world.waiting() == 0


def test_a_path_that_names_no_rank_does_not_wait(make_engine, make_gateway):
    """vLLM chooses the rank of /v1/responses itself: nobody could keep a seat there for anybody."""
    engine = make_engine(ranks=2)
    for rank in engine.ranks:
        rank.kv_tokens = 4000
    gateway, gate = make_gateway([engine], policy="warm"), threading.Event()
    engine.default = answers.normal(before=gate)
    connections = [gateway.connect().request("POST", PATHS["responses"], long_body("responses"), session(f"s{n}")) for n in range(5)]
    wait_until(lambda: len(engine.requests) == 5)
    gate.set()
    for connection in connections:
        assert connection.answer().read_all().header("x-warmgate-route") == "unsteered"
        connection.close()
