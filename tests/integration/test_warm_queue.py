"""The queue of policy `warm` as clients meet it: short and long waits, errors behind a 200, and leaving it."""
import select

import pytest

from harness import answers, sse
from harness.process import Footprint
from harness.queue_world import QUICK, TOKENS, fine, long_body, millis, pings, without_pings
from harness.requests import DIALECTS, DONE, PATHS, is_error, message, session
from harness.wire import LEAVE


# ---- what a client sees ----

@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_short_wait_looks_like_none(make_world, dialect, stream):
    world = make_world()
    gate, held = world.hold("first")
    waiter = world.waiter(dialect, "second", stream=stream)
    assert world.gateway.in_flight() == 1 and world.reached() == 1, world.story()
    gate.set()
    answer = waiter.answer().read_all()
    assert (answer.status, answer.header("x-warmgate-route"), answer.header("x-warmgate-replica")) == (200, "placed", "m/e0/0")
    assert answer.ended == ("chunked" if stream else "length") and millis(answer, "wait") > 0
    if stream:
        assert DONE[dialect] in answer.body and pings(dialect, answer.body) == 0
    assert held.answer().read_all().status == 200


def test_a_short_wait_keeps_the_engines_status(make_world):
    world = make_world()
    gate, _ = world.hold("first")
    waiter = world.waiter("chat", "second", stream=True)
    world.engine.script(answers.status(400, headers=[("x-of-the-engine", "yes")]))
    gate.set()
    answer = waiter.answer().read_all()
    assert answer.status == 400 and answer.header("x-of-the-engine") == "yes" and b"engine says 400" in answer.body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_wait_is_200_and_pings(make_world, dialect):
    world = make_world(wait=QUICK)
    gate, _ = world.hold("first")
    answer = world.waiter(dialect, "second", stream=True).answer()
    assert answer.status == 200 and answer.header("content-type").startswith("text/event-stream")
    assert (answer.header("x-warmgate-route"), answer.header("x-warmgate-replica")) == ("waiting", "-")
    assert answer.header("x-accel-buffering") == "no" and answer.header("x-request-id")
    assert millis(answer, "wait") >= 290 and "engine" not in answer.header("server-timing")
    while pings(dialect, answer.body) < 3:
        assert answer.read_piece()
    assert world.reached() == 1
    gate.set()
    answer.read_all()
    assert answer.ended == "chunked" and DONE[dialect] in answer.body
    assert without_pings(dialect, answer.body) == b"".join(answers.EVENTS[dialect](False, TOKENS, 0, "stop"))


def test_who_does_not_stream_waits_without_a_byte(make_world):
    world = make_world(wait=QUICK)
    gate, _ = world.hold("first")
    silent = world.waiter("messages", "second")
    pinged = world.waiter("messages", "third", stream=True).answer()
    while pings("messages", pinged.body) < 4:
        assert pinged.read_piece()
    assert not select.select([silent.sock], [], [], 0)[0]
    gate.set()
    answer = silent.answer().read_all()
    assert answer.status == 200 and answer.json()["type"] == "message" and millis(answer, "wait") > 300
    assert pinged.read_all().ended == "chunked"


LATE = {"status 400": answers.status(400), "status 503": answers.status(503), "reset": answers.reset_before_head(),
        "error first": answers.error_first_event(), "dies in mid-stream": answers.reset_after(3)}


@pytest.mark.parametrize("late", LATE)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_goes_wrong_after_a_long_wait_is_an_event(make_world, dialect, late):
    world = make_world(wait=QUICK)
    gate, _ = world.hold("first")
    answer = world.waiter(dialect, "second", stream=True).answer()
    assert answer.status == 200
    world.engine.default = LATE[late]
    gate.set()
    answer.read_all()
    last = [p for p in sse.payloads(answer.body) if isinstance(p, dict) and p.get("type") != "ping"][-1]
    assert is_error(dialect, last)
    if late != "error first":  # that is the engine's own stream, which ends as the engine ends it
        assert DONE[dialect] not in answer.body and answer.ended == "cut"
    if late == "status 400":
        assert b"engine says 400" in answer.body


@pytest.mark.parametrize("streamed", [True, False])
def test_the_last_replica_goes_down_while_some_wait(make_world, streamed):
    world = make_world(wait=QUICK)
    world.hold("first")
    waiter = world.waiter("messages", "second", stream=streamed)
    answer = waiter.answer() if streamed else None  # its 200 is out
    world.engine.down()
    answer = (answer or waiter.answer()).read_all()
    error = [p for p in sse.payloads(answer.body) if p.get("type") == "error"][-1] if streamed else answer.json()
    assert is_error("messages", error) and "replica" in message(error)
    assert answer.status == (200 if streamed else 503)
    if not streamed:
        assert 1 <= int(answer.header("retry-after")) <= 30
    assert world.waiting() == 0


# ---- who leaves ----

@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("phase", ["silent", "pinged", "whole"])
@pytest.mark.parametrize("how", LEAVE)
def test_who_leaves_the_queue_leaves_no_trace(make_world, how, phase, threads):
    world = make_world(wait=QUICK, threads=threads)
    gate, held = world.hold("first")
    before = Footprint(world.gateway)
    ahead = world.waiter("chat", "ahead")
    leaver = world.gateway.connect()
    leaver.request("POST", PATHS["chat"], long_body("chat", stream=phase != "whole"), [("x-request-id", "rq-leaver"), *session("leaver")])
    world.wait_for_waiters(2)
    behind = world.waiter("chat", "behind")
    if phase == "pinged":
        leaver.answer().read_until(b":")
    LEAVE[how](leaver)
    world.wait_for_waiters(2)
    assert "outcome=client_gone" in world.line("rq-leaver") and "route=waiting" in world.line("rq-leaver")
    assert world.gateway.in_flight() == 1 and world.reached() == 1, world.story()

    order = []
    world.engine.default = lambda exchange: (order.append(exchange.request.header("x-session-key")), fine()(exchange))
    gate.set()
    for connection in (held, ahead, behind):
        assert connection.answer().read_all().status == 200
    assert order == ["ahead", "behind"], "nobody else lost a place"
    leaver.close()
    world.end()
    world.gateway.wait_idle()
    assert world.waiting() == 0
    before.assert_back()


def test_a_storm_of_leavers(make_world):
    """Dozens come, wait and leave; those that stay are served in the order in which they came."""
    world = make_world()
    gate, _ = world.hold("first")
    stayed, leavers = [], []
    for number in range(30):
        connection = world.send("chat", f"s{number}", stream=number % 2 == 0)
        (stayed if number % 10 == 0 else leavers).append((f"s{number}", connection))
        world.wait_for_waiters(number + 1)
    for number, (_, connection) in enumerate(leavers):
        list(LEAVE.values())[number % 3](connection)
    world.wait_for_waiters(len(stayed))
    order = []
    world.engine.default = lambda exchange: (order.append(exchange.request.header("x-session-key")), fine()(exchange))
    gate.set()
    for _, connection in stayed:
        assert connection.answer().read_all().status == 200
    assert order == [name for name, _ in stayed]
    world.gateway.wait_idle()
    assert world.waiting() == 0 and world.gateway.api("/warm")["replicas"][0]["unread"] == 0
