"""A replica that has room for one context, a turn that holds it until the test opens its gate, and others that wait for its
seat in the gateway: what the tests of policy `warm`'s queue have in common."""
import re
import threading

from harness import answers, sse
from harness.requests import PATHS, body, session
from harness.waiting import wait_until

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
