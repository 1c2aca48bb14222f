"""Made-up session ids without end, through the real binary: its memory stays bounded, and conversations that are alive keep their
home. (A million of them at once, without sockets: src/fleet/flood_test.cpp.)"""
import itertools
import os
import re
import threading
import time

from harness import wire
from harness.gateway import is_sanitized
from harness.requests import PATHS, body, session
from harness.waiting import wait_until

SECONDS = float(os.environ.get("WARMGATE_FLOOD_SECONDS", "20"))
LIMIT, LIVING, BATCH = 400, 40, 100
BODY = b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}'


def resident_mib(gateway):
    with open(f"/proc/{gateway.process.pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Flood(threading.Thread):
    """One connection: batches of pipelined requests, each with an id of its own; a batch's answers are read before the next."""

    def __init__(self, gateway, number, until):
        super().__init__(daemon=True)
        self.gateway, self.number, self.until, self.sent, self.wrong = gateway, number, until, 0, 0

    def run(self):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nX-Session-Key: made-up-%d-%d\r\n\r\n%s"
        ids = itertools.count()
        with wire.Connection(self.gateway.url, 60) as connection:
            while time.monotonic() < self.until:
                connection.send(b"".join(head % (len(BODY), self.number, next(ids), BODY) for _ in range(BATCH)))
                for _ in range(BATCH):
                    self.wrong += connection.answer().read_all().status != 200
                self.sent += BATCH


def test_made_up_ids_do_not_push_out_living_conversations(make_replica, make_gateway):
    replicas = [make_replica(speed=1000), make_replica(speed=1000)]
    gateway = make_gateway(replicas, sessions={"limit": LIMIT})
    living = {f"living-{n}": None for n in range(LIVING)}

    def turn(key):
        answer = gateway.post(PATHS["chat"], body("chat", max_tokens=1), session(key))
        return answer.header("x-warmgate-replica"), answer.header("x-warmgate-route")

    for key in living:
        living[key] = turn(key)[0]
        assert turn(key) == (living[key], "sticky")
    until = time.monotonic() + SECONDS
    floods = [Flood(gateway, number, until) for number in range(4)]
    for flood in floods:
        flood.start()
    early = late = 0.0
    moved, turns, keys = [], 0, itertools.cycle(living)
    while time.monotonic() < until:
        # So slowly that between two turns of a conversation three times as many ids come as the table holds.
        wait_until(lambda: sum(f.sent for f in floods) >= turns * 3 * LIMIT / LIVING or time.monotonic() > until, SECONDS + 5)
        key = next(keys)
        where = turn(key)
        turns += 1
        if where != (living[key], "sticky"):
            moved.append((key, living[key], where))
        if sum(f.sent for f in floods) >= 6 * LIMIT:  # the table is full
            late = resident_mib(gateway)
            early = early or late
    for flood in floods:
        flood.join(60)
        assert not flood.is_alive() and flood.wrong == 0
    sent = sum(f.sent for f in floods)
    print(f"{sent} made-up ids, {turns} turns of living conversations, memory {early:.1f} -> {late:.1f} MiB")
    assert moved == []
    assert sent > 7 * LIMIT, "too slow to say anything"
    assert late - early < 16 or is_sanitized(), "a sanitizer keeps what was freed"
    assert all(turn(key) == (home, "sticky") for key, home in living.items())
    shown = gateway.api("/sessions")
    assert len(shown["sessions"]) <= LIMIT
