"""Clients that leave in every phase, engines that fail in every way, all at once: afterwards nothing is in flight, in the
API and in the metrics, and no engine is left computing for nobody."""
import random
import threading

import pytest

from harness import answers
from harness.requests import DIALECTS, PATHS, body, session
from harness.waiting import wait_until

CLIENTS = 120


def half_a_request(gateway, rng, dialect):
    connection = gateway.connect()
    connection.request("POST", PATHS[dialect], None, [("Content-Length", "500")])
    connection.send(b'{"model":"m"')
    return connection


def sent(gateway, rng, dialect):
    connection = gateway.connect()
    connection.request("POST", PATHS[dialect], body(dialect, stream=rng.random() < 0.7), session(f"s{rng.randrange(20)}"))
    return connection


def head_seen(gateway, rng, dialect):
    connection = sent(gateway, rng, dialect)
    connection.answer()
    return connection


def some_body_seen(gateway, rng, dialect):
    connection = sent(gateway, rng, dialect)
    connection.answer().read_piece()
    return connection


def whole(gateway, rng, dialect):
    connection = sent(gateway, rng, dialect)
    connection.answer().read_all()
    return connection


PHASES = [half_a_request, sent, head_seen, some_body_seen, whole]


def engine_scripts(gate):
    """What the engines do, in turn: some answer, some stall until the end, some fail."""
    return [answers.normal(), answers.normal(gate=gate), answers.stall(gate), answers.reset_after(2), answers.reset_before_head(),
            answers.status(503), answers.status(500), answers.error_first_event(), answers.close_before_head(), answers.normal(finish="abort")]


def client(gateway, seed):
    rng = random.Random(seed)
    for _ in range(3):
        connection = None
        try:
            connection = rng.choice(PHASES)(gateway, rng, rng.choice(DIALECTS))
        except (OSError, ValueError):
            pass
        finally:
            if connection is not None:
                connection.close() if rng.random() < 0.5 else connection.reset()


@pytest.mark.parametrize("policy", ["sticky", "off", "least"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_nothing_leaks(make_engine, make_gateway, policy, ranks):
    engines = [make_engine(ranks=ranks), make_engine(ranks=ranks), make_engine(ranks=ranks)]
    gateway = make_gateway(engines, policy=policy, wait={"commit_after": "50ms", "ping_every": "50ms"})
    gate = threading.Event()
    for number, engine in enumerate(engines):
        rng = random.Random(number)
        scripts = engine_scripts(gate)
        engine.default = lambda exchange, rng=rng, scripts=scripts: rng.choice(scripts)(exchange)
    # Those that read on need an end of the stalls.
    release = threading.Timer(1.5, gate.set)
    release.start()
    threads = [threading.Thread(target=client, args=(gateway, seed), daemon=True) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    gateway.wait_idle(timeout=10)
    wait_until(lambda: all(rank.running == 0 for e in engines for rank in e.ranks), 10, "engines idle")
    for engine in engines:
        engine.default = answers.normal()
    gateway.wait_healthy()
    for dialect in DIALECTS:
        assert gateway.post(PATHS[dialect], body(dialect)).status == 200


@pytest.mark.parametrize("stream", [False, True])
def test_all_leave_in_prefill(two, stream):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.stall(threading.Event())
    connections = [gateway.connect() for _ in range(100)]
    for number, connection in enumerate(connections):
        connection.request("POST", PATHS["chat"], body("chat", stream=stream), session(f"s{number}"))
    wait_until(lambda: gateway.in_flight() == 100)
    for connection in connections:
        connection.reset()
    gateway.wait_idle()
    wait_until(lambda: all(r.gone.is_set() for e in engines for r in e.requests))


def test_all_leave_in_mid_stream(two):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.normal(gate=threading.Event())
    connections = [gateway.connect() for _ in range(60)]
    for number, connection in enumerate(connections):
        connection.request("POST", PATHS["messages"], body("messages", stream=True), session(f"s{number}"))
    for connection in connections:
        connection.answer().read_until(b"one")
    assert gateway.in_flight() == 60
    for connection in connections:
        connection.reset()
    gateway.wait_idle()
    wait_until(lambda: all(rank.running == 0 for e in engines for rank in e.ranks))


def test_engines_die_under_load(two):
    gateway, engines = two
    for engine in engines:
        engine.default = answers.normal(gate=threading.Event())
    connections = [gateway.connect() for _ in range(40)]
    for number, connection in enumerate(connections):
        connection.request("POST", PATHS["chat"], body("chat", stream=True), session(f"s{number}"))
    answers_seen = [connection.answer().read_until(b"one") for connection in connections]
    for engine in engines:
        engine.down()
    assert {a.read_all().ended for a in answers_seen} == {"cut"}
    gateway.wait_idle()
    for engine in engines:
        engine.default = answers.normal()
        engine.up()
    gateway.wait_healthy()
