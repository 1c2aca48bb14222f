"""Storms: thousands of clients that leave at random, floods that come and go. Afterwards nothing is in flight, descriptors and
memory are back, and the engines are idle."""
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness import answers
from harness.process import Footprint
from harness.requests import DIALECTS, DONE, PATHS, body, session
from harness.waiting import elapsed, wait_until

LEAVER = Path(__file__).parent / "harness" / "leaver.py"


def aborts(gateway, processes, count, first_seed):
    """So many clients that leave, from several processes; all of them must have been able to connect."""
    running = [subprocess.Popen([sys.executable, str(LEAVER), gateway.url, str(count), str(first_seed + n)], stdout=subprocess.PIPE)
               for n in range(processes)]
    said = [process.communicate(timeout=110)[0].split() for process in running]
    assert [int(words[0]) for words in said] == [count] * processes
    return sum(int(words[1]) for words in said)


@pytest.mark.parametrize("threads", [1, 2])
def test_ten_thousand_aborts_at_random(make_replica, make_gateway, threads):
    replicas = [make_replica(speed=50, ranks=2), make_replica(speed=50)]
    gateway = make_gateway(replicas, timeouts={"upstream_keep_alive": "500ms"}, arguments=["--threads", str(threads)],
                           log={"level": "warning"})
    for kind in ("reset-before-head", "die-mid", "status-500", "error-first", "wrong-length"):
        replicas[0].fault(kind, share=0.03, count=100_000, seed=3)
    aborts(gateway, 2, 500, 1)  # tables and buffers grow to their size
    gateway.wait_idle(), gateway.wait_unconnected()
    before = Footprint(gateway)
    took = elapsed(lambda: aborts(gateway, 4, 2500, 100))
    gateway.wait_idle(10), gateway.wait_unconnected(10)
    for replica in replicas:
        with replica.connect() as connection:
            connection.exchange("DELETE", "/fault")
        wait_until(replica.is_idle, 10, "engine idle")
    before.assert_back(more_descriptors=6)
    assert gateway.metric("warmgate_requests_in_flight") == 0 and gateway.metric("warmgate_bugs_total") == 0
    assert took < 110
    gateway.wait_healthy()
    assert gateway.post(PATHS["chat"], body("chat"), session("after")).status == 200


def test_floods_that_come_and_go(make_engine, make_gateway):
    """Five times as many connections as are allowed, five times over; between them it is as new."""
    engine = make_engine()
    gateway = make_gateway([engine], limits={"connections": 100}, timeouts={"upstream_keep_alive": "500ms"})
    gateway.post(PATHS["chat"], body("chat"))
    before = None
    for _ in range(5):
        flood = [gateway.connect() for _ in range(500)]
        wait_until(lambda: sum(c.is_readable() for c in flood) == 400, 20, "400 of 500 refused")
        inside = [c for c in flood if not c.is_readable()]  # not the first 100 that asked: several loops accept
        for connection in flood:
            assert connection in inside or connection.answer().status == 503
        for connection in inside[:20]:
            assert DONE["chat"] in connection.post(PATHS["chat"], body("chat", stream=True)).body
        for connection in flood:
            connection.reset()
        gateway.wait_unconnected()
        assert gateway.post(PATHS["chat"], body("chat")).status == 200
        before = before or Footprint(gateway)
    before.assert_back()


def test_streams_cut_by_their_engines_all_at_once(make_engine, make_gateway):
    """And again, and again: what a broken stream held is given back."""
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, timeouts={"upstream_keep_alive": "500ms"})
    before = None
    for _ in range(4):
        gate = threading.Event()
        for engine in engines:
            engine.default = answers.normal(gate=gate)
        connections = [gateway.connect() for _ in range(80)]
        for n, connection in enumerate(connections):
            dialect = DIALECTS[n % 4]
            connection.request("POST", PATHS[dialect], body(dialect, stream=True), session(f"s{n}"))
        streams = [connection.answer().read_until(b"one") for connection in connections]
        for engine in engines:
            engine.down()
        assert {stream.read_all().ended for stream in streams} == {"cut"}
        for connection in connections:
            connection.close()
        gateway.wait_idle(), gateway.wait_unconnected()
        for engine in engines:
            engine.up()
        gateway.wait_healthy()
        before = before or Footprint(gateway)
    before.assert_back()
