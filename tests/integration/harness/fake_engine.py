"""A scripted engine on a real socket: speaks enough vLLM (or llama.cpp) to be discovered and probed, and does with each
request what the test's script says. Records every request verbatim and knows when its client went away.

    engine = FakeEngine(model="m", ranks=2)
    engine.script(answers.status(503), answers.normal())   # the next two requests; others get engine.default
    engine.requests[0].body                                # bytes as they came
    engine.down(); engine.up()                             # connections refused, and back on the same port

One thread a connection. Owner: the test that made it; stop() closes everything.
"""
import json
import select
import socket
import struct
import threading
from dataclasses import dataclass, field

from . import answers, metrics_text

PROBES = {"/health", "/metrics", "/v1/models", "/props", "/slots", "/version", "/load"}


def read_until(sock, pending, mark):
    """(what stands before the mark, what has come behind it); (None, b"") if the peer ends first."""
    while mark not in pending:
        data = sock.recv(65536)
        if not data:
            return None, b""
        pending += data
    before, _, behind = pending.partition(mark)
    return before, behind


class SilentEngine:
    """An address that takes connections and says nothing, nor refuses any."""

    def __enter__(self):
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self._socket.listen(1)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        return self

    def __exit__(self, *_):
        self._socket.close()


@dataclass
class Rank:
    """Figures of one rank, as /metrics shows them; `running` moves with the requests that are open here."""
    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0
    kv_tokens: int = 34000
    prefix_queries: int = 0
    prefix_hits: int = 0
    generated: int = 0
    prefix_caching: bool = True


@dataclass
class Received:
    """One request as it came off the wire."""
    method: str
    target: str
    headers: list
    head: bytes
    body: bytes
    connection: int
    gone: threading.Event = field(default_factory=threading.Event)       # the client closed before the answer's end
    finished: threading.Event = field(default_factory=threading.Event)   # the script has ended
    started: threading.Event = field(default_factory=threading.Event)    # the answer's head is out

    @property
    def path(self):
        return self.target.split("?")[0]

    def header(self, name):
        values = [v for n, v in self.headers if n.lower() == name.lower()]
        return values[0] if values else None

    def json(self):
        return json.loads(self.body)


class Exchange:
    """What a script can do with one request's connection."""

    def __init__(self, engine, sock, request):
        self.engine, self.sock, self.request = engine, sock, request
        self.keep = True       # the connection serves another request afterwards
        self.chunked = False

    def send(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            self.left()

    def head(self, status, headers=(), length=None, chunked=False):
        lines = [f"HTTP/1.1 {status} X", *(f"{n}: {v}" for n, v in headers)]
        if length is not None:
            lines.append(f"content-length: {length}")
        if chunked:
            lines.append("transfer-encoding: chunked")
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n")
        self.request.started.set()

    def chunk(self, data):
        self.send(b"%x\r\n%s\r\n" % (len(data), data))

    def end(self):
        self.send(b"0\r\n\r\n")

    def left(self):
        self.keep = False
        self.request.gone.set()

    def client_left(self):
        try:
            return self.sock.recv(1, socket.MSG_PEEK) == b""
        except OSError:
            return True

    def wait(self, gate):
        """True once the gate is open; False if the client goes away or the engine stops first."""
        poller = select.poll()
        poller.register(self.sock, select.POLLIN | select.POLLRDHUP)
        while not gate.is_set():
            if self.engine.stopped.is_set() or self.request.gone.is_set():
                self.keep = False
                return False
            if poller.poll(10) and self.client_left():
                self.left()
                return False
        return True

    def reset(self):
        self.keep = False
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()

    def close(self):
        self.keep = False
        self.sock.close()


class FakeEngine:
    def __init__(self, model="m", ranks=1, kind="vllm", api_key=None, host="127.0.0.1", port=0):
        self.model, self.kind, self.api_key = model, kind, api_key
        self.ranks = [Rank() for _ in range(ranks)]
        self.default, self.before_body = answers.normal(), None  # before_body(exchange): answers without having read the body
        self.requests, self.connections, self.probes = [], 0, 0
        self.healthy, self.slots, self.max_model_len = True, 4, 4096
        self.stopped = threading.Event()
        self._scripts, self._sockets, self._dropped, self._lock = [], set(), set(), threading.Lock()
        self.host = host
        self._listener = self._bound(port)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self.listening = False
        self.up()

    # ---- the test's side ----
    def script(self, *scripts):
        with self._lock:
            self._scripts.extend(scripts)

    def down(self, reset=True):
        """Connections are refused from now on; those that are open are reset."""
        with self._lock:
            if not self.listening:
                return
            self.listening = False
            listener, self._listener = self._listener, self._spare
        listener.shutdown(socket.SHUT_RDWR)  # wakes accept()
        listener.close()
        self.drop_connections(reset)

    def up(self):
        self._spare = self._bound(self.port)  # keeps the port ours while down
        self._listener.listen(512)
        self.listening = True
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def drop_connections(self, reset=True):
        with self._lock:
            sockets = list(self._sockets)
            self._dropped.update(sockets)  # a request that comes before the reader is awake gets no answer either
        for sock in sockets:
            try:
                if reset:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    sock.shutdown(socket.SHUT_RDWR)
                if reset:
                    sock.shutdown(socket.SHUT_RD)  # wakes a blocked reader; its close then sends the reset
            except OSError:
                pass

    def stop(self):
        self.stopped.set()
        self.down()
        self._spare.close()

    @property
    def bodies(self):
        return [r.body for r in self.requests]

    # ---- the socket's side ----
    def _bound(self, port):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.host, port))
        return sock

    def _accept(self, listener):
        while True:
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                if not self.listening or self._listener is not listener:
                    sock.close()
                    return
                self.connections += 1
                self._sockets.add(sock)
                number = self.connections
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock, number):
        pending = b""
        try:
            while True:
                request, pending = self._read(sock, pending, number)
                if request is None or sock in self._dropped or not self._answer(sock, request):
                    return
        except OSError:
            pass
        finally:
            with self._lock:
                self._sockets.discard(sock)
            sock.close()

    def _read(self, sock, pending, number):
        head, rest = read_until(sock, pending, b"\r\n\r\n")
        if head is None:
            return None, b""
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [(n, v.strip()) for n, _, v in (l.partition(":") for l in lines)]
        length = int(next((v for n, v in headers if n.lower() == "content-length"), 0))
        if self.before_body and target.split("?")[0] not in PROBES:
            request = Received(method, target, headers, head, b"", number)
            self.requests.append(request)
            self.before_body(Exchange(self, sock, request))
            return None, b""
        parts, have = [rest], len(rest)
        while have < length:
            data = sock.recv(1 << 20)
            if not data:
                return None, b""
            parts.append(data)
            have += len(data)
        rest = b"".join(parts)
        return Received(method, target, headers, head, rest[:length], number), rest[length:]

    def _answer(self, sock, request):
        exchange = Exchange(self, sock, request)
        if request.path in PROBES and request.method == "GET":
            self.probes += 1
            self._probe(exchange)
            return exchange.keep
        rank = self._rank_of(request)
        with self._lock:
            self.requests.append(request)
            script = self._scripts.pop(0) if self._scripts else self.default
            rank.running += 1
        try:
            script(exchange)
        except OSError:
            exchange.left()
        finally:
            with self._lock:
                rank.running -= 1
            request.finished.set()
        return exchange.keep

    def _rank_of(self, request):
        value = request.header("x-data-parallel-rank") or "0"
        return self.ranks[int(value)] if value.isdigit() and int(value) < len(self.ranks) else self.ranks[0]

    def _probe(self, exchange):
        path = exchange.request.path
        if self.api_key and path.startswith("/v1") and exchange.request.header("authorization") != f"Bearer {self.api_key}":
            return answers.status(401, b'{"error":"Unauthorized"}')(exchange)
        bodies = {"/health": self._health, "/metrics": self._metrics, "/v1/models": self._models, "/props": self._props,
                  "/slots": self._slots}
        status, kind, body = bodies.get(path, lambda: (404, "application/json", '{"detail":"Not Found"}'))()
        exchange.head(status, [("content-type", kind)], length=len(body.encode()))
        exchange.send(body.encode())

    def _health(self):
        return 200 if self.healthy else 503, "application/json", '{"status":"ok"}' if self.kind == "llama" else ""

    def _metrics(self):
        text = metrics_text.llama(self.ranks[0]) if self.kind == "llama" else metrics_text.vllm(self.model, self.ranks)
        return 200, "text/plain; version=0.0.4; charset=utf-8", text

    def _models(self):
        card = {"id": self.model, "object": "model", "created": 1, "owned_by": self.kind}
        card.update({"meta": {"n_ctx": self.max_model_len}} if self.kind == "llama" else {"max_model_len": self.max_model_len})
        return 200, "application/json", json.dumps({"object": "list", "data": [card]})

    def _props(self):
        if self.kind != "llama":
            return 404, "application/json", '{"detail":"Not Found"}'
        return 200, "application/json", json.dumps({"total_slots": self.slots, "model_alias": self.model})

    def _slots(self):
        if self.kind != "llama":
            return 404, "application/json", '{"detail":"Not Found"}'
        return 200, "application/json", json.dumps([{"id": n, "n_ctx": self.max_model_len, "is_processing": False}
                                                    for n in range(self.slots)])
