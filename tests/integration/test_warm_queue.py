"""The queue of policy `warm` as clients meet it: a replica that has room for one context, a turn that holds it until the
test opens its gate, and others that wait for its seat in the gateway."""
import json
import re
import select
import signal
import subprocess
import threading

import pytest

from harness import answers, sse
from harness.gateway import BINARY
from harness.process import Footprint
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, message, session
from harness.waiting import wait_until
from harness.wire import LEAVE

QUICK = {"commit_after": "300ms", "ping_every": "150ms"}
PING = {"messages": b"event: ping", "chat": b":", "completions": b":", "responses": b":"}
LONG, TOKENS = "word " * 2000, 2500  # of that text; the replicas here hold 4,000


def fine(**kwargs):
    """A good answer that counts the long prompt as it is: what engines report is learnt from."""
    return answers.normal(prompt=TOKENS, cached=0, **kwargs)


def long_body(dialect, **extra):
    return body(dialect, LONG, **extra)


def pings(dialect, text):
    return sum(e.startswith(PING[dialect]) for e in sse.split(text))


def without_pings(dialect, text):
    return b"".join(e for e in sse.split(text) if not e.startswith(PING[dialect]))


def millis(answer, name):
    return float(re.search(rf"{name};dur=([0-9.]+)", answer.header("server-timing")).group(1))


class World:
    """Engines with room for one long context each, and a gateway before them with policy `warm`."""

    def __init__(self, make_engine, make_gateway, engines=1, **config):
        self.engines = [make_engine() for _ in range(engines)]
        for engine in self.engines:
            engine.ranks[0].kv_tokens = 4000
            engine.default = fine()
        self.gateway = make_gateway(self.engines, policy="warm", **config)
        self.open_connections, self.gates = [], []

    @property
    def engine(self):
        return self.engines[0]

    def hold(self, key, script=lambda gate: fine(before=gate), **extra):
        """A long turn that some engine works on until its gate opens: (gate, connection)."""
        gate, before = threading.Event(), self.reached()
        for engine in self.engines:
            engine.script(script(gate))
        connection = self.send("chat", key, **extra)
        wait_until(lambda: self.reached() == before + 1, what="a turn is at an engine")
        for engine in self.engines:  # the others' scripts were not for their next requests
            with engine._lock:
                engine._scripts.clear()
        self.gates.append(gate)
        return gate, connection

    def send(self, dialect, key, **extra):
        connection = self.gateway.connect()
        self.open_connections.append(connection)
        return connection.request("POST", PATHS[dialect], long_body(dialect, **extra), session(key))

    def waiter(self, dialect, key, **extra):
        """A long turn that waits in the queue."""
        before = self.waiting()
        connection = self.send(dialect, key, **extra)
        self.wait_for_waiters(before + 1)
        return connection

    def reached(self):
        return sum(len(engine.requests) for engine in self.engines)

    def story(self):
        """What happened, for the message of an assertion: who reached an engine and how that ended, and the log."""
        who = [(r.header("x-session-key"), r.header("x-request-id"), "over" if r.finished.is_set() else "under way", r.gone.is_set())
               for engine in self.engines for r in engine.requests]
        return f"{who}\n{self.gateway.log()[-3000:]}"

    def pool(self):
        return self.gateway.api("/warm")["pools"][0]

    def waiting(self):
        return self.pool()["waiting"]

    def wait_for_waiters(self, count):
        wait_until(lambda: self.waiting() == count, what=f"{count} in the queue")

    def line(self, word):
        """The request's line in the log."""
        return wait_until(lambda: [line for line in self.gateway.log().splitlines() if word in line and " status=" in line])[0]

    def end(self):
        for gate in self.gates:
            gate.set()
        for connection in self.open_connections:
            connection.close()


@pytest.fixture
def make_world(make_engine, make_gateway):
    made = []

    def make(**kwargs):
        made.append(World(make_engine, make_gateway, **kwargs))
        return made[-1]
    yield make
    for world in made:
        world.end()


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


# ---- what operators see ----

def test_the_wait_shows_in_header_log_record_and_metrics(make_world):
    world = make_world(log={"format": "text"})
    gate, held = world.hold("first")
    connection = world.gateway.connect()
    connection.request("POST", PATHS["chat"], long_body("chat"), [("x-request-id", "rq-waiter"), *session("second")])
    world.wait_for_waiters(1)
    wait_until(lambda: world.pool()["longest_wait_s"] > 0.5)
    assert world.gateway.metric("warmgate_waiting", pool="m") == 1 and world.gateway.metric("warmgate_seats") == 1
    gate.set()
    answer = connection.answer().read_all()
    waited = millis(answer, "wait")
    assert waited > 500
    logged = float(re.search(r"waited_ms=([0-9.]+)", world.line("rq-waiter")).group(1))
    assert abs(logged - waited) < 5
    assert world.gateway.metric("warmgate_waiting") == 0
    firsts = world.line("session=" + held.answer().read_all().header("x-warmgate-session"))  # dialling takes a moment too
    both = waited + float(re.search(r"waited_ms=([0-9.]+)", firsts).group(1))
    assert abs(world.gateway.metric("warmgate_wait_seconds_sum", pool="m") * 1000 - both) < 10
    mark = answer.header("x-warmgate-session")
    decided = world.gateway.api(f"/decisions?session={mark}")["decisions"]
    assert len(decided) == 1 and abs(decided[0]["waited_s"] * 1000 - waited) < 100
    assert decided[0]["candidates"][0]["may_take"] and decided[0]["rule"] in world.line("rq-waiter")
    connection.close()


def test_every_request_is_logged_with_the_rule_that_decided_it(make_world):
    """One event may decide on several: another policy lets the whole queue go."""
    world = make_world(engines=2, log={"format": "json"})
    assert world.gateway.post(PATHS["chat"], long_body("chat"), session("begun")).status == 200
    held = [world.hold(f"h{n}") for n in range(2)]
    waiters = [world.waiter("chat", key) for key in ("begun", "fresh", "another")]
    world.gateway.set_policy("m", "sticky")
    seen = []
    for connection in waiters:
        mark = connection.answer().read_all().header("x-warmgate-session")
        rule = world.gateway.api(f"/decisions?session={mark}")["decisions"][0]["rule"]
        lines = wait_until(lambda: [json.loads(line) for line in world.gateway.log().splitlines() if mark in line and rule in line])
        assert lines[-1]["rule"] == rule and lines[-1]["session"] == mark
        seen.append(rule)
    assert len(set(seen)) == 2, "the one that had begun has a home"
    for gate, connection in held:
        gate.set()
        assert connection.answer().read_all().status == 200


def status(gateway, *arguments):
    done = subprocess.run([str(BINARY), "status", "--admin", gateway.admin, *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_status_shows_the_queue_and_explains_a_decision(make_world):
    world = make_world(engines=2)
    assert world.gateway.post(PATHS["chat"], long_body("chat"), session("first")).status == 200
    (gate, held), (other_gate, _) = world.hold("first"), world.hold("other")
    waiter = world.waiter("chat", "second")
    code, said, _ = status(world.gateway)
    assert code == 0 and "1 wait for a seat, the longest for" in said and "sessions fit" in said
    gate.set()
    answer = waiter.answer().read_all()
    mark = answer.header("x-warmgate-session")
    code, said, _ = status(world.gateway, "--session", mark)
    assert code == 0
    assert re.search(r"s ago: placed m/e\d/0 after \d+\.\d\d s: seat: the cheapest", said)
    lines = [line for line in said.splitlines() if re.match(r" +m/e\d/0", line)]
    assert len(lines) == 2, "every candidate is there"
    assert all("= backlog" in line and "prefill" in line and "crowd" in line and "displaced" in line for line in lines)
    assert sum("cannot take it" in line for line in lines) == 1, "the other is full"
    code, said, _ = status(world.gateway, "--session", "0123456789ab")
    assert code == 0 and "no decision" in said
    held.answer().read_all()
    other_gate.set()


# ---- rules that operators set ----

@pytest.mark.parametrize("dialect", DIALECTS)
def test_max_wait_refuses_only_who_has_not_begun(make_world, dialect):
    world = make_world(admission={"max_wait": "700ms"})
    begun = world.gateway.post(PATHS[dialect], long_body(dialect), session("begun"))
    assert begun.status == 200
    gate, _ = world.hold("first")
    again = world.waiter(dialect, "begun")
    fresh = world.waiter(dialect, "fresh")
    refused = fresh.answer().read_all()
    assert refused.status == 503 and 1 <= int(refused.header("retry-after")) <= 30
    assert is_error(dialect, refused.json()) and "max_wait" in message(refused.json())
    assert world.waiting() == 1 and world.gateway.in_flight() == 1
    gate.set()
    assert again.answer().read_all().status == 200


def test_max_wait_after_pings_is_an_error_event(make_world):
    world = make_world(admission={"max_wait": "1s"}, wait=QUICK)
    world.hold("first")
    answer = world.waiter("messages", "fresh", stream=True).answer().read_all()
    assert answer.status == 200 and pings("messages", answer.body) >= 1 and answer.ended == "cut"
    error = sse.payloads(answer.body)[-1]
    assert is_error("messages", error) and error["error"]["type"] == "overloaded_error"


@pytest.mark.parametrize("policy", ["off", "round-robin", "least", "hash", "sticky"])
def test_another_policy_lets_all_go_at_once(make_world, policy):
    world = make_world()
    gate, held = world.hold("first")
    waiters = [world.waiter("chat", f"w{n}") for n in range(4)]
    world.gateway.set_policy("m", policy)
    for connection in waiters:
        assert connection.answer().read_all().status == 200
    assert world.waiting() == 0
    world.gateway.set_policy("m", "warm")
    again = world.waiter("chat", "w9")
    gate.set()
    for connection in (held, again):
        assert connection.answer().read_all().status == 200


def test_waiting_begins_when_warm_is_switched_on(make_world):
    """Seats of turns that were sent under another policy count too."""
    world = make_world()
    world.gateway.set_policy("m", "sticky")
    gate, held = world.hold("first")
    world.gateway.set_policy("m", "warm")
    waiter = world.waiter("chat", "second")
    gate.set()
    for connection in (held, waiter):
        assert connection.answer().read_all().status == 200


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
