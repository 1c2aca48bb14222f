"""Engines that stop, vanish, come back or change under the gateway's hands; and clocks that jump."""
import contextlib
import os
import signal
import socket
import threading
import time

import pytest

from harness import answers, sse
from harness.fake_engine import FakeEngine, SilentEngine
from harness.gateway import is_sanitized
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, session
from harness.waiting import wait_until

QUICK = {"first_byte": "700ms", "stream_idle": "700ms"}


def home_of(gateway, engines, key):
    return engines[int(gateway.post(PATHS["chat"], body("chat"), session(key)).header("x-warmgate-replica")[3])]


# ---- stalls ----

@pytest.mark.parametrize("phase", ["before the head", "in the head", "behind the head", "behind a packed head", "in a whole body"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_stalls_before_anything_was_passed_on(make_engine, make_gateway, dialect, phase):
    """504 when first_byte is over. Not tried elsewhere: the client has waited its time."""
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, timeouts=QUICK)

    def stall(exchange):
        if phase == "in the head":
            exchange.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-str")
        elif phase == "behind the head":
            exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        elif phase == "behind a packed head":
            exchange.head(200, [("content-type", "text/event-stream"), ("content-encoding", "br")], chunked=True)
        elif phase == "in a whole body":
            exchange.head(200, [("content-type", "application/json")], length=500)
            exchange.send(b'{"id":')
        exchange.wait(threading.Event())
    for engine in engines:
        engine.default = stall
    answer = gateway.post(PATHS[dialect], body(dialect, stream=phase != "in a whole body"))
    assert answer.status == 504 and is_error(dialect, answer.json())
    assert sum(len(e.requests) for e in engines) == 1 and next(r for e in engines for r in e.requests).gone.wait(1)
    assert all(r["healthy"] for r in gateway.replicas())


@pytest.mark.parametrize("phase", ["between events", "in an event"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_stalls_in_mid_stream(make_engine, make_gateway, dialect, phase):
    """An error event and a cut connection when stream_idle is over."""
    engine = make_engine()
    gateway = make_gateway([engine], timeouts=QUICK)

    def stall(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        events = list(answers.EVENTS[dialect](False, 100, 64, "stop"))
        for event in events[:2]:
            exchange.chunk(event)
        if phase == "in an event":
            exchange.chunk(events[2][:20])
        exchange.wait(threading.Event())
    engine.default = stall
    answer = gateway.post(PATHS[dialect], body(dialect, stream=True))
    assert answer.ended == "cut" and DONE[dialect] not in answer.body
    assert is_error(dialect, sse.payloads(answer.body)[-1])
    assert engine.requests[0].gone.wait(1)


@contextlib.contextmanager
def stopped(replica):
    """SIGSTOP: its kernel still accepts, nobody answers."""
    os.kill(replica.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(replica.process.pid, signal.SIGCONT)


def test_a_stopped_process(make_replica, make_gateway):
    """Probes find out within seconds; new turns go elsewhere; clients that leave are let go; what was under way goes on later."""
    replicas = [make_replica(speed=10), make_replica(speed=10)]
    gateway = make_gateway(replicas)
    streaming, leaving = gateway.connect(), gateway.connect()
    answer = streaming.request("POST", PATHS["chat"], body("chat", stream=True, max_tokens=2000, ignore_eos=True), session("a")).answer()
    answer.read_piece()
    at = int(answer.header("x-warmgate-replica")[3])
    with stopped(replicas[at]):
        leaving.request("POST", PATHS["chat"], body("chat"), session("a"))
        wait_until(lambda: gateway.in_flight() >= 2)
        wait_until(lambda: not gateway.replica(f"m/e{at}/0")["healthy"], 30)
        for n in range(5):
            assert gateway.post(PATHS["chat"], body("chat"), session("a" if n == 0 else f"new{n}")).header("x-warmgate-replica") == f"m/e{1 - at}/0"
        leaving.close()
        wait_until(lambda: gateway.in_flight() == 1)
    assert answer.read_all().ended == "chunked" and DONE["chat"] in answer.body
    gateway.wait_healthy()
    for replica in replicas:
        replica.wait_idle()
    streaming.close()


def test_a_stopped_process_before_a_large_body(make_replica, make_gateway):
    """It does not even take the request; the client's leaving is noticed all the same."""
    replica = make_replica()
    gateway = make_gateway([replica])
    with stopped(replica):
        connection = gateway.connect()
        connection.request("POST", PATHS["chat"], body("chat", text="x" * 20_000_000))
        wait_until(lambda: gateway.in_flight() == 1)
        connection.close()
        wait_until(lambda: gateway.in_flight() == 0, 3)


# ---- kept connections that the engine closes ----

class Impatient:
    """Closes a connection as uvicorn does when it was idle too long, but in the worst moments: just when the next request
    comes, or as soon as an answer is out."""

    def __init__(self, seed):
        self.count, self.seed, self.lock, self.last = 0, seed, threading.Lock(), {}

    def __call__(self, exchange):
        with self.lock:
            self.count += 1
            turn, reused = self.count * 7 + self.seed, exchange.request.connection in self.last
            self.last[exchange.request.connection] = True
        if reused and turn % 3 == 0:
            return exchange.reset() if turn % 2 else exchange.close()
        answers.normal()(exchange)
        if turn % 5 == 0:
            exchange.close()


def test_no_client_sees_the_race_of_kept_connections(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines)
    for number, engine in enumerate(engines):
        engine.default = Impatient(number)
    statuses, lock = [], threading.Lock()

    def client(n):
        with gateway.connect() as connection:
            for turn in range(60):
                answer = connection.post(PATHS["chat"], body("chat", stream=turn % 2 == 0), session(f"s{n}"))
                with lock:
                    statuses.append((answer.status, answer.ended))
    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(statuses) == 480 and {s for s, _ in statuses} == {200} and "cut" not in {e for _, e in statuses}
    assert not gateway.metric("warmgate_retries_total"), "each was repeated at home, uncounted"
    assert all(r["healthy"] for r in gateway.replicas())


def test_idle_connections_go_before_uvicorn_closes_them(make_replica, make_gateway):
    """warmgate replica closes after 5 s, as uvicorn does; the gateway's end is closed after 4 s and never meets that."""
    replica = make_replica()
    gateway = make_gateway([replica])
    pid = gateway.process.pid
    gateway.post(PATHS["chat"], body("chat"))
    port = replica.port

    def kept():
        own = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return [r[3] for r in rows if int(r[2].split(":")[1], 16) == port and f"socket:[{r[9]}]" in own]
    assert len(kept()) >= 2  # the request's and the prober's
    wait_until(lambda: len(kept()) == 1, 6)
    assert "08" not in kept(), "none in CLOSE_WAIT"


# ---- down and back ----

def test_one_of_four_down_under_load(make_replica, make_gateway):
    """Connections to it are refused from one moment to the next and later taken again: no client sees any of it."""
    replicas = [make_replica(speed=20, ranks=1) for _ in range(4)]
    gateway = make_gateway(replicas)
    seen, over, lock = [], threading.Event(), threading.Lock()

    def client(n):
        turn = 0
        while not over.is_set():
            turn += 1
            dialect = DIALECTS[(n + turn) % 4]
            answer = gateway.post(PATHS[dialect], body(dialect, stream=turn % 2 == 0), session(f"s{n}"))
            with lock:
                seen.append((answer.status, answer.ended, answer.header("x-warmgate-replica")))
    threads = [threading.Thread(target=client, args=(n,), daemon=True) for n in range(12)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(seen) > 60, 60)
    for number in (1, 2):
        replicas[number].fault("refuse", for_s=40)  # 2 s
        wait_until(lambda: not gateway.replica(f"m/e{number}/0")["healthy"], 10)
        before = len(seen)
        wait_until(lambda: len(seen) > before + 40, 60)
        gateway.wait_healthy()
    over.set()
    for thread in threads:
        thread.join(30)
    assert {status for status, _, _ in seen} == {200} and "cut" not in {ended for _, ended, _ in seen}
    assert len({replica for _, _, replica in seen}) == 4
    gateway.wait_idle()
    for replica in replicas:
        replica.wait_idle()


def test_a_killed_process_and_answers_that_are_not_streamed(make_replica, make_gateway):
    """kill -9 of one of three: what it had begun is answered by the others, for nothing of it had been passed on."""
    replicas = [make_replica(speed=4) for _ in range(3)]
    gateway = make_gateway(replicas)
    connections = [gateway.connect() for _ in range(12)]
    for n, connection in enumerate(connections):
        connection.request("POST", PATHS["chat"], body("chat", max_tokens=150, ignore_eos=True), session(f"s{n}"))
    wait_until(lambda: gateway.in_flight() == 12)
    replicas[1].process.kill()
    for connection in connections:
        answer = connection.answer().read_all()
        assert answer.status == 200 and answer.header("x-warmgate-replica") in ("m/e0/0", "m/e2/0")
        connection.close()
    replicas[1].process.wait()
    replicas[1].stop = lambda: None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_all_down(make_engine, make_gateway, dialect):
    """503 in the client's dialect, with Retry-After, at once, and without a word about where the engines are."""
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines)
    for engine in engines:
        engine.down()
    for turn in range(4):  # the first one finds out itself
        began = time.monotonic()
        answer = gateway.post(PATHS[dialect], body(dialect, stream=turn % 2 == 0))
        assert answer.status == 503 and is_error(dialect, answer.json()) and time.monotonic() - began < 2
        assert 1 <= int(answer.header("retry-after")) <= 30
        shown = answer.body.decode() + str(answer.headers)
        assert "127.0.0.1" not in shown and not any(str(e.port) in shown for e in engines)
    assert gateway.get("/ready").status == 503 and gateway.get("/health").status == 200


def test_first_good_answer_within_a_second(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines)
    for engine in engines:
        engine.down()
    gateway.wait_healthy(count=0)
    threading.Event().wait(3)  # long down: probes have not grown lazy
    for engine in engines:
        engine.up()
    began = time.monotonic()
    wait_until(lambda: gateway.post(PATHS["chat"], body("chat")).status == 200, 10)
    assert time.monotonic() - began < 1.0 + 0.5 * os.getloadavg()[0] / (os.cpu_count() or 1)


def test_the_first_request_after_recovery_is_answered(two):
    """Nobody need wait for the next probe: a request that comes while all are down has them looked at there and then."""
    gateway, engines = two
    for engine in engines:
        engine.down()
    gateway.wait_healthy(count=0)
    for _ in range(10):
        assert gateway.post(PATHS["chat"], body("chat")).status == 503
        engines[1].up()
        assert gateway.post(PATHS["chat"], body("chat")).status == 200
        engines[1].down()
        wait_until(lambda: not gateway.replica("m/e1/0")["healthy"])


def test_a_silent_address_keeps_nobody_waiting(make_gateway):
    """The look has a quarter of a second; an address that does not even refuse takes longer."""
    with SilentEngine() as engine:
        gateway = make_gateway([engine], wait_healthy=False)
        for _ in range(3):
            began = time.monotonic()
            assert gateway.post(PATHS["chat"], body("chat")).status == 503
            assert time.monotonic() - began < 1.5


def test_a_down_engine_is_asked_every_200_ms(two):
    gateway, engines = two
    engines[0].down()
    gateway.wait_healthy(count=1)
    engines[0].healthy = False
    engines[0].up()
    before, began = engines[0].probes, time.monotonic()
    wait_until(lambda: engines[0].probes >= before + 10, 20)
    assert 1.5 < time.monotonic() - began < 8, "/health only, since it says 503"


# ---- somebody else on the port ----

class Page:
    """Another service: answers everything with a page; counts what it is asked."""

    def __init__(self, port):
        self.asked, self._listener = [], socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(50)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        text = b"<html><h1>It works!</h1></html>"
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with sock:
                sock.settimeout(5)
                try:
                    self.asked.append(sock.recv(65536))
                    sock.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (len(text), text))
                except OSError:
                    pass

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def test_port_reused_by_another_service(two):
    """What answers there now is no engine: nothing is sent to it, and the engine is taken up again when it is back."""
    gateway, engines = two
    engines[0].down()
    gateway.wait_healthy(count=1)
    engines[0]._spare.close()
    page = Page(engines[0].port)
    wait_until(lambda: len(page.asked) > 6)
    for n in range(10):
        answer = gateway.post(PATHS["chat"], body("chat"), session(f"s{n}"))
        assert answer.status == 200 and answer.header("x-warmgate-replica") == "m/e1/0"
    assert not any(b"POST" in asked for asked in page.asked)
    assert not gateway.replica("m/e0/0")["healthy"]
    page.close()
    engines[0]._spare = engines[0]._bound(engines[0].port)
    engines[0]._listener = engines[0]._spare
    engines[0].up()
    gateway.wait_healthy()


def test_port_reused_by_an_engine_with_another_model(make_engine, make_gateway):
    """Its replicas are new ones: no session is at home there, and the model's name is the new one's."""
    engine = make_engine()
    gateway = make_gateway([engine], model="m", aliases=["*"])
    assert gateway.post(PATHS["chat"], body("chat"), session("s")).header("x-warmgate-route") == "placed"
    engine.down()
    gateway.wait_healthy(count=0)
    engine.model = "other"
    engine.up()
    gateway.wait_healthy()
    answer = gateway.post(PATHS["chat"], body("chat"), session("s"))
    assert answer.status == 200 and engine.requests[-1].json()["model"] == "other"
    assert answer.header("x-warmgate-route") == "placed"


# ---- names ----

def unshare_works():
    return os.system("unshare -m true 2>/dev/null") == 0


@pytest.mark.skipif(not unshare_works(), reason="needs mount namespaces: unshare -m is not permitted here")
@pytest.mark.parametrize("old_one", ["is gone", "is still there"])
def test_name_that_changes_its_address(make_gateway, tmp_path, old_one):
    """Clients, probes and kept connections all follow the name, also when nothing breaks at the old address."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 localhost\n127.0.0.2 engine.warmgate.test\n")
    old = FakeEngine(host="127.0.0.2")
    new = FakeEngine(host="127.0.0.3", port=old.port)
    named = type("Named", (), {"url": f"http://engine.warmgate.test:{old.port}"})
    try:
        gateway = make_gateway([named], wrapper=["unshare", "-m", "sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"])
        with gateway.connect() as connection:
            assert connection.post(PATHS["chat"], body("chat"), session("s")).status == 200
            assert len(old.requests) == 1 and not new.requests and not new.probes
            hosts.write_text("127.0.0.1 localhost\n127.0.0.3 engine.warmgate.test\n")  # the same file, new words
            if old_one == "is gone":
                old.down()
                gateway.wait_healthy()

            def moved():
                answer = connection.post(PATHS["chat"], body("chat"), session("s"))
                assert answer.status == 200 or old_one == "is gone"
                return new.requests and new.probes
            wait_until(moved, 30)
            before = old.probes, len(old.requests)
            for _ in range(20):
                assert connection.post(PATHS["chat"], body("chat"), session("s")).status == 200
            assert len(old.requests) == before[1]
            wait_until(lambda: new.probes > 4)
            assert old.probes <= before[0] + 2
    finally:
        old.stop(), new.stop()


def test_name_that_cannot_be_found(make_engine, make_gateway):
    """It is a replica that is down, no more."""
    nowhere = type("Named", (), {"url": "http://no-such-engine.invalid:8000"})
    gateway = make_gateway([make_engine(), nowhere], wait_healthy=False)
    gateway.wait_healthy(count=1)
    for n in range(5):
        assert gateway.post(PATHS["chat"], body("chat"), session(f"s{n}")).status == 200


# ---- clocks ----

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"


@pytest.mark.skipif(not os.path.exists(FAKETIME), reason="needs libfaketime (Debian package faketime)")
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer wants to be loaded before libfaketime")
@pytest.mark.parametrize("jump", ["+3d", "-3d"])
def test_wall_clock_jumps(make_engine, make_gateway, tmp_path, jump):
    """Somebody sets the clock: streams, kept connections, sessions and health live by the monotonic one."""
    offset = tmp_path / "offset"
    offset.write_text("+0")
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, environment={"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(offset), "FAKETIME_NO_CACHE": "1",
                                                 "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    gate = threading.Event()
    home = home_of(gateway, engines, "s")
    home.script(answers.normal(gate=gate))
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True), session("s")).answer().read_until(b"one")
        offset.write_text(jump)
        year = time.strftime("%Y-%m-%d", time.gmtime(time.time() + (1 if jump[0] == "+" else -1) * 3 * 86400))
        for n in range(5):
            assert gateway.post(PATHS["chat"], body("chat"), session(f"n{n}")).status == 200
        wait_until(lambda: year in gateway.log(), 10, "the log tells the new time")
        probes = [e.probes for e in engines]
        wait_until(lambda: all(e.probes > p + 4 for e, p in zip(engines, probes)))
        assert not answer.ended and all(r["healthy"] for r in gateway.replicas())
        gate.set()
        assert answer.read_all().ended == "chunked" and DONE["chat"] in answer.body
        again = connection.post(PATHS["chat"], body("chat"), session("s"))
        assert again.header("x-warmgate-route") == "sticky" and engines.index(home) == int(again.header("x-warmgate-replica")[3])
