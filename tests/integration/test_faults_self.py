"""The gateway's own troubles: told to end, out of descriptors, of disk, of memory, a log that nobody reads. It sheds what it
cannot hold, says so, and is itself again afterwards; the data path never waits for any of it."""
import json
import os
import resource
import signal
import socket
import threading

import pytest

from harness import answers
from harness.gateway import is_sanitized
from harness.process import descriptors
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, session
from harness.waiting import elapsed, wait_until

MIB = 1 << 20
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def refuses(gateway):
    try:
        gateway.connect(timeout=2).close()
        return False
    except OSError:
        return True


# ---- the end ----

@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_drains(two, how):
    """The listener closes at once; idle connections too; what is under way in any phase ends whole; then exit 0."""
    gateway, engines = two
    gate = threading.Event()
    for engine in engines:
        engine.default = answers.normal(gate=gate)
    idle = gateway.connect()
    assert idle.get("/health").status == 200
    streaming, prefilling, sending = gateway.connect(), gateway.connect(), gateway.connect()
    answer = streaming.request("POST", PATHS["chat"], body("chat", stream=True), session("a")).answer().read_until(b"one")
    prefilling.request("POST", PATHS["messages"], body("messages"), session("b"))
    raw = json.dumps(body("chat")).encode()
    sending.send(HEAD + b"Content-Length: %d\r\n\r\n" % len(raw) + raw[:5])
    wait_until(lambda: sum(len(e.requests) for e in engines) == 2 and gateway.metric("warmgate_connections") == 4)
    gateway.process.send_signal(how)
    wait_until(lambda: refuses(gateway))
    assert idle.closed()
    assert gateway.process.poll() is None and not answer.ended
    sending.send(raw[5:])
    gate.set()
    assert answer.read_all().ended == "chunked" and DONE["chat"] in answer.body
    for connection in (prefilling, sending):
        last = connection.answer().read_all()
        assert last.status == 200 and last.header("connection") == "close" and connection.closed()
    assert gateway.wait_ended() == 0
    for connection in (idle, streaming, prefilling, sending):
        connection.close()


def held_stream(make_engine, make_gateway, line="HTTP/1.1", **timeouts):
    engine = make_engine()
    engine.default = answers.normal(gate=threading.Event())
    gateway = make_gateway([engine], timeouts=timeouts)
    connection = gateway.connect()
    raw = json.dumps(body("chat", stream=True)).encode()
    connection.send(f"POST /v1/chat/completions {line}\r\nHost: x\r\nContent-Length: {len(raw)}\r\n\r\n".encode() + raw)
    return gateway, engine, connection, connection.answer().read_until(b"one")


def test_drain_has_a_limit(make_engine, make_gateway):
    gateway, engine, connection, answer = held_stream(make_engine, make_gateway, drain="500ms")
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.wait_ended(10) == 0
    assert answer.read_all().ended == "cut"
    assert engine.requests[0].gone.wait(2)
    assert "timeouts.drain is over: 1 connection(s) are cut off" in gateway.log()
    connection.close()


def test_second_signal_ends_at_once(make_engine, make_gateway):
    gateway, engine, connection, answer = held_stream(make_engine, make_gateway, drain="60s")
    gateway.process.send_signal(signal.SIGTERM)
    wait_until(lambda: refuses(gateway))
    assert gateway.process.poll() is None
    gateway.process.send_signal(signal.SIGTERM)
    assert elapsed(lambda: gateway.wait_ended(10)) < 3
    assert answer.read_all().ended == "cut"
    assert engine.requests[0].gone.wait(2)
    connection.close()


def test_a_stream_without_framing_is_reset_at_the_end(make_engine, make_gateway):
    """For HTTP/1.0 a closed connection is the end of the answer: a cut one must not look like that."""
    gateway, _, connection, _ = held_stream(make_engine, make_gateway, line="HTTP/1.0", drain="300ms")
    gateway.process.send_signal(signal.SIGTERM)
    with pytest.raises(ConnectionResetError):
        while connection.sock.recv(65536):
            pass
    assert gateway.wait_ended(10) == 0
    connection.close()


# ---- descriptors ----

def test_out_of_descriptors(make_engine, make_gateway):
    """A process that may open 72: as many clients as it can also serve, the others get 503; no engine seems down for it."""
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, wrapper=["prlimit", "--nofile=72:72"], timeouts={"upstream_keep_alive": "300ms"})
    wait_until(lambda: gateway.log().count("RLIMIT_NOFILE") == 1)
    before = descriptors(gateway.process.pid)
    clients, results = [], []
    for n in range(150):
        clients.append(gateway.connect())
        clients[-1].request("POST", PATHS["chat"], body("chat"), session(f"s{n}"))
    for client in clients:
        answer = client.answer().read_all()
        results.append(answer.status)
        assert answer.status == 200 or (answer.status == 503 and answer.header("retry-after") and "descriptors" in answer.body.decode())
    assert 5 < results.count(200) < 40 and results.count(503) > 100
    assert descriptors(gateway.process.pid) <= 72
    gateway.api("/replicas")
    held = [c for c, status in zip(clients, results) if status == 200]
    for _ in range(3):  # those that are in are served, all at a time
        for client in held:
            client.request("POST", PATHS["chat"], body("chat", stream=True), session("s"))
        for client in held:
            assert DONE["chat"] in client.answer().read_all().body
    assert all(r["healthy"] for r in gateway.replicas()) and gateway.log().count("is down") == 0
    for client in clients:
        client.close()
    gateway.wait_unconnected()
    wait_until(lambda: descriptors(gateway.process.pid) <= before + 3, 10)
    assert gateway.post(PATHS["chat"], body("chat")).status == 200


@pytest.mark.skipif(is_sanitized(), reason="the sanitizer's look at an object's type takes a descriptor")
def test_descriptors_gone_under_it(make_engine, make_gateway):
    """Its limit falls while it runs: accepting pauses, said once, and goes on when there are descriptors again."""
    gateway = make_gateway([make_engine()], timeouts={"upstream_keep_alive": "300ms"})
    pid = gateway.process.pid
    with gateway.connect() as inside:
        assert inside.post(PATHS["chat"], body("chat")).status == 200
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (descriptors(pid), hard))
        waiting = [gateway.connect() for _ in range(10)]  # by the kernel
        wait_until(lambda: "cannot accept connections" in gateway.log())
        assert inside.get("/health").status == 200
        for connection in waiting:
            connection.request("POST", PATHS["chat"], body("chat"))
        never = threading.Event()
        never.wait(0.5)  # several attempts to accept
        assert gateway.log().count("cannot accept connections") == 1
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        statuses = [connection.answer().read_all().status for connection in waiting]
        assert set(statuses) <= {200, 503} and statuses.count(200) >= 5, "503: one that came in while engines could not be dialled"
        for connection in waiting:
            connection.close()
        wait_until(lambda: gateway.log().count("connections are accepted again") == 1)
        assert gateway.log().count("cannot accept connections") == 1
    gateway.wait_healthy()


@pytest.mark.skipif(is_sanitized(), reason="the sanitizer's look at an object's type takes a descriptor")
def test_no_descriptor_to_dial_with_blames_nobody(make_engine, make_gateway):
    """That an engine cannot be reached for want of our own descriptors says nothing about the engine, neither to its prober
    nor where a request meets it."""
    engine = make_engine()
    gateway = make_gateway([engine], arguments=["--time-scale", "10"])  # asks every 100 ms
    pid = gateway.process.pid
    with gateway.connect() as inside:
        assert inside.get("/health").status == 200
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, hard))
        engine.drop_connections()  # the prober's among them
        refusal = inside.post(PATHS["chat"], body("chat"))
        assert refusal.status == 503 and refusal.header("retry-after") and is_error("chat", refusal.json()), refusal.body
        threading.Event().wait(1)  # three missed probes would be enough
        asked = engine.probes
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        wait_until(lambda: engine.probes > asked)
        assert "is down" not in gateway.log(), gateway.log()
        assert all(r["healthy"] for r in gateway.replicas())
        assert inside.post(PATHS["chat"], body("chat")).status == 200


# ---- the log ----

def busy(gateway, count=300):
    """Requests that must all be answered, and how long the slowest took."""
    slowest = 0
    with gateway.connect() as connection:
        for n in range(count):
            slowest = max(slowest, elapsed(lambda: connection.post(PATHS["chat"], body("chat"), session(f"s{n}"))))
    return slowest


def test_disk_full(make_engine, make_gateway):
    """Lines are lost and counted, said once on standard error; requests do not notice."""
    gateway = make_gateway([make_engine()], log={"file": "/dev/full"})
    assert busy(gateway) < 2
    wait_until(lambda: gateway.metric("warmgate_log_lines_dropped_total") >= 300)
    assert gateway.log().count("log file /dev/full: No space left on device") == 1


def in_a_small_disk(folder, kib):
    """The command runs with a file system of its own at `folder`, so small that it fills up."""
    script = f'mount -t tmpfs -o size={kib}k none {folder} && exec "$@"'
    return ["unshare", "-m", "sh", "-c", script, "sh"]


def unshare_works():
    return os.system("unshare -m true 2>/dev/null") == 0


@pytest.mark.skipif(not unshare_works(), reason="needs mount namespaces: unshare -m is not permitted here")
def test_disk_fills_up_and_has_room_again(make_engine, make_gateway, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    gateway = make_gateway([make_engine()], wrapper=in_a_small_disk(disk, 64), log={"file": f"{disk}/warmgate.log"})
    inside = f"/proc/{gateway.process.pid}/root{disk}/warmgate.log"
    assert busy(gateway) < 2
    wait_until(lambda: gateway.metric("warmgate_log_lines_dropped_total") > 0)
    assert gateway.log().count("No space left on device") == 1
    os.truncate(inside, 0)

    def tells_again():
        gateway.post(PATHS["chat"], body("chat"))
        with open(inside, "rb") as log:
            return b"log lines were lost" in log.read()
    wait_until(tells_again)
    with open(inside, "rb") as log:
        assert all(b" " in line for line in log.read().splitlines()[1:]), "no torn line"


@pytest.mark.parametrize("reader", ["comes later", "there but does not read"])
def test_log_into_a_pipe_that_nobody_reads(make_engine, make_gateway, tmp_path, reader):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if reader != "comes later" else None
    gateway = make_gateway([make_engine()], log={"file": str(pipe)})
    assert busy(gateway, 1500) < 2
    wait_until(lambda: gateway.metric("warmgate_log_lines_dropped_total") > 0, 20)
    with os.fdopen(held, "rb") if held is not None else open(pipe, "rb") as log:
        lines = log.readline(), log.readline()
        assert all(line.startswith(b"20") and line.endswith(b"\n") for line in lines)
        gateway.process.send_signal(signal.SIGTERM)
        assert elapsed(lambda: gateway.wait_ended()) < 8 and gateway.process.returncode == 0


def test_standard_error_that_nobody_reads(make_engine, make_gateway):
    """A blocking pipe, as from `warmgate ... 2>&1 | less`: full, and the gateway neither waits for it nor hangs at its end."""
    reading, writing = os.pipe()
    gateway = make_gateway([make_engine()], stderr=writing)
    assert busy(gateway, 1500) < 2
    wait_until(lambda: gateway.metric("warmgate_log_lines_dropped_total") > 0, 20)
    gateway.process.send_signal(signal.SIGTERM)
    assert elapsed(lambda: gateway.wait_ended()) < 8 and gateway.process.returncode == 0
    os.close(reading), os.close(writing)


# ---- memory ----

def uploads(gateway, count, mib):
    """So many bodies of so many MiB at once, the last byte of each held back: (status, Retry-After, body) of those that were
    answered before, and the connections of those that were not."""
    piece, refused, waiting = b" " * MIB, [], []
    lock = threading.Lock()

    def upload(n):
        connection = gateway.connect(timeout=60)
        try:
            connection.request("POST", PATHS[DIALECTS[n % 4]], None, [("Content-Length", str(mib * MIB)), ("Content-Type", "application/json")])
            for at in range(mib):
                connection.send(piece if at < mib - 1 else piece[:-1])
        except OSError:
            pass  # answered and closed meanwhile
        connection.sock.settimeout(2)
        try:
            answer = connection.answer().read_all()
            with lock:
                refused.append((DIALECTS[n % 4], answer))
            connection.close()
        except TimeoutError:
            with lock:
                waiting.append(connection)
        except OSError as error:
            with lock:
                refused.append((DIALECTS[n % 4], error))
    threads = [threading.Thread(target=upload, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    return refused, waiting


@pytest.mark.big
@pytest.mark.skipif(is_sanitized(), reason="the sanitizer itself needs more addresses than there are")
@pytest.mark.parametrize("bodies", ["auto", "64GiB"], ids=["with a bound", "allocations fail"])
def test_two_gigabytes_of_address_space(make_engine, make_gateway, bodies):
    """More and larger bodies than fit: those that do not get 503 in their dialect, the process lives, the others go on."""
    engine = make_engine()
    gateway = make_gateway([engine], wrapper=["prlimit", f"--as={2 << 30}"], limits={"body": "256MiB", "bodies": bodies})
    refused, waiting = uploads(gateway, 14, 200)
    assert gateway.process.poll() is None
    assert len(refused) >= 4 and len(waiting) >= 3, (refused, waiting)
    for dialect, answer in refused:
        assert answer.status == 503 and is_error(dialect, answer.json()) and answer.header("retry-after") == "1"
        assert "memory" in answer.body.decode()
    small = gateway.post(PATHS["chat"], body("chat"))
    assert small.status in (200, 503)
    for connection in waiting:
        connection.close()
    gateway.wait_unconnected()
    wait_until(lambda: gateway.post(PATHS["chat"], body("chat")).status == 200)
    assert gateway.post(PATHS["chat"], body("chat", text="x" * (100 * MIB))).status == 200
    assert gateway.metric("warmgate_bugs_total") == 0
    assert gateway.metric("warmgate_requests_total", outcome="refused") >= len(refused)


def test_bound_of_all_bodies(make_engine, make_gateway):
    """limits.bodies holds also over requests that wait with their bodies, and over buffers that idle connections keep."""
    engine = make_engine()
    gateway = make_gateway([engine], limits={"bodies": "4MiB", "body": "3MiB"})
    gate = threading.Event()
    engine.default = answers.stall(gate)
    connections = [gateway.connect() for _ in range(12)]
    for connection in connections:
        connection.request("POST", PATHS["chat"], body("chat", text="x" * 700_000))
    wait_until(lambda: len(engine.requests) + (gateway.metric("warmgate_requests_total", outcome="refused") or 0) == 12)
    served = len(engine.requests)
    gate.set()
    statuses = [connection.answer().read_all().status for connection in connections]
    assert statuses.count(200) == served < 6 and statuses.count(503) == 12 - served
    for connection in connections:
        connection.close()
    idle = [gateway.connect() for _ in range(40)]
    for connection in idle:
        assert connection.post(PATHS["chat"], body("chat", text="x" * 200_000)).status == 200
    for connection in idle:
        connection.close()
    for _ in range(8):  # and those who leave within a body give back what it took
        with gateway.connect() as leaver:
            leaver.send(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n" + b"x" * 1_000_000)
    gateway.wait_unconnected()
    assert gateway.post(PATHS["chat"], body("chat", text="x" * 2_000_000)).status == 200


# ---- nothing left open ----

def test_nobody_else_is_hurt_by_a_port_scan(one):
    """Connections that send nothing, garbage, or TLS."""
    gateway, _ = one
    for garbage in (b"", b"\x00" * 50, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"SSH-2.0-x\r\n", b"\r\n\r\n", os.urandom(300)):
        with gateway.connect() as connection:
            connection.send(garbage)
            connection.sock.shutdown(socket.SHUT_WR)
            rest = connection.rest()
            assert rest == b"" or rest.startswith((b"HTTP/1.1 400", b"HTTP/1.1 505"))
    gateway.wait_unconnected()
