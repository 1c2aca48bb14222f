"""Policy `warm` before simulated vLLMs with small caches, each a process of its own: sessions take turns, and replicas that
are killed give back whom they have not answered."""
import random
import threading

import pytest

from harness import sse
from harness.requests import DONE, PATHS
from harness.waiting import wait_until

SPEED = 20
TOKENS = 3000  # of a first message; a cache of 8,000 holds two such contexts, not three
PING = (b"event: ping", b":")


def made_up(name, tokens):
    """So many tokens (four bytes each) of text that no other session has."""
    dice = random.Random(name)
    return "".join(f"{dice.randrange(1000):03d} " for _ in range(tokens))


@pytest.fixture
def make_fleet(make_replica, make_gateway):
    def make(count, kv_tokens, **config):
        replicas = [make_replica(speed=SPEED, kv_tokens=kv_tokens, name=f"r{n}") for n in range(count)]
        return replicas, make_gateway(replicas, policy="warm", arguments=["--time-scale", str(SPEED)], **config)
    return make


class Talk:
    """A conversation in a thread of its own: turn after turn, as an agent that calls tools."""

    def __init__(self, gateway, name, turns, output=60, leave=lambda turn: False):
        self.gateway, self.name, self.turns, self.output, self.leave = gateway, name, turns, output, leave
        self.messages = [{"role": "user", "content": made_up(name, TOKENS)}]
        self.heard, self.problem = [], None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def ask(self, connection):
        return connection.request("POST", PATHS["messages"], {"model": "m", "max_tokens": 1000, "stream": True, "messages": self.messages,
                                                              "tools": [{"name": "look", "input_schema": {"type": "object"}}]},
                                  [("x-session-key", self.name), ("x-output-tokens", str(self.output)), ("x-finish", "tool_calls")])

    def _run(self):
        try:
            for turn in range(self.turns):
                with self.gateway.connect(timeout=60) as connection:
                    self.ask(connection)
                    if self.leave(turn):
                        continue
                    answer = connection.answer().read_all()
                self.heard.append(answer)
                assert answer.status == 200 and DONE["messages"] in answer.body, (answer.status, answer.ended, answer.body[-300:])
                self.messages += [{"role": "assistant", "content": "did it"}, {"role": "user", "content": made_up(f"{self.name}/{turn}", 20)}]
        except Exception as problem:  # shown by join()
            self.problem = problem

    def join(self):
        self.thread.join(90)
        assert not self.thread.is_alive(), f"{self.name} waits for ever"
        if self.problem:
            raise AssertionError(f"{self.name}: {self.problem!r}") from self.problem


def cached(answer):
    usage = [p["usage"] for p in sse.payloads(answer.body) if p["type"] == "message_delta"][-1]
    return usage.get("cache_read_input_tokens", 0)


def waiting(gateway):
    return gateway.api("/warm")["pools"][0]["waiting"]


def all_over(gateway, replicas):
    gateway.wait_idle()
    assert waiting(gateway) == 0
    for replica in replicas:
        replica.wait_idle()
    # Nobody comes back: the seats are free when their hold is over.
    wait_until(lambda: all(row["unread"] == 0 for row in gateway.api("/warm")["replicas"]))


def test_sessions_take_turns_and_keep_their_caches(make_fleet):
    replicas, gateway = make_fleet(2, 8000)
    talks = [Talk(gateway, f"s{n}", 5) for n in range(8)]
    wait_until(lambda: waiting(gateway) >= 2, what="more contexts than fit")
    for talk in talks:
        talk.join()
    later = [cached(answer) for talk in talks for answer in talk.heard[1:]]
    assert sum(tokens > 2500 for tokens in later) >= 0.6 * len(later), f"cached tokens of later turns: {later}"
    rows = gateway.api("/warm")["replicas"]
    assert all(row["learnt"]["prefill_tokens_per_s"] > 0 and row["hits"]["missed"] <= row["hits"]["expected"] for row in rows)
    all_over(gateway, replicas)


def test_a_killed_replica_returns_its_waiters(make_fleet):
    replicas, gateway = make_fleet(2, 4800)  # one context each
    for replica in replicas:
        replica.fault("stall-head", count=1, for_s=100_000)
    first = Talk(gateway, "first", 1)
    wait_until(lambda: gateway.in_flight() == 1)
    second = Talk(gateway, "second", 1)
    wait_until(lambda: gateway.in_flight() == 2)
    behind = [Talk(gateway, f"behind{n}", 2) for n in range(3)]
    wait_until(lambda: waiting(gateway) == 3)
    dead = next(n for n in range(2) if gateway.replica(f"m/e{n}/0")["in_flight"] == 1)
    replicas[dead].kill()
    # The other one stalls too: who was at the dead one waits now in front of those three.
    wait_until(lambda: waiting(gateway) == 4 and gateway.in_flight() == 1)
    wait_until(lambda: not gateway.replica(f"m/e{dead}/0")["healthy"])
    replicas[dead].restart()
    for talk in behind:
        talk.join()
    served = [talk for talk in (first, second) if talk.heard]
    assert len(served) == 1 and served[0].heard[0].header("x-warmgate-replica") == f"m/e{dead}/0"
    replicas[1 - dead].kill()
    for talk in (first, second):
        talk.join()
    replicas[1 - dead].restart()
    gateway.wait_healthy()
    all_over(gateway, replicas)


def test_leavers_and_deaths_leave_nothing_behind(make_fleet):
    """Two thirds give up on every other turn, a replica is killed twice; who stays is served or told so, and all counters
    are at rest in the end."""
    replicas, gateway = make_fleet(2, 8000, wait={"commit_after": "200ms", "ping_every": "100ms"})
    talks = [Talk(gateway, f"s{n}", 6, leave=lambda turn, n=n: n % 3 > 0 and turn % 2 == 1) for n in range(9)]
    for _ in range(2):
        wait_until(lambda: gateway.replica("m/e0/0")["in_flight"] > 0 or not any(t.thread.is_alive() for t in talks))
        replicas[0].kill()
        wait_until(lambda: not gateway.replica("m/e0/0")["healthy"])
        replicas[0].restart()
        gateway.wait_healthy()
    for talk in talks:
        talk.thread.join(90)
        assert not talk.thread.is_alive(), f"{talk.name} waits for ever"
        if talk.problem:  # it was being answered by the replica that died: told in the dialect, not cut off silently
            assert talk.heard[-1].ended == "cut" and b"event: error" in talk.heard[-1].body, repr(talk.problem)
    all_over(gateway, replicas)
