"""The real binary: starts `warmgate serve` on free ports, reads its line, and at the end asserts what must always hold:
nothing in flight, exit code 0 on SIGTERM."""
import json
import os
import re
import signal
import subprocess
import threading
from pathlib import Path
from urllib.request import Request, urlopen

from . import metrics_text, wire
from .waiting import wait_until

REPO = Path(__file__).resolve().parents[3]
BINARY = Path(os.environ.get("WARMGATE_BIN", REPO / "build" / "warmgate"))


def is_sanitized():
    """Built with a sanitizer (addresses or threads): it reserves terabytes of addresses, and its checks need descriptors
    and memory of their own."""
    if not BINARY.exists():
        return False
    program = BINARY.read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


_LINE = re.compile(r"listening on (http://\S+) admin (http://\S+)")


def pool(engines, model="m", policy=None, aliases=(), spill=None, rehome=None, **engine_keys):
    """A pool's part of the configuration. engines: objects with .url, or {name: object}."""
    named = engines if isinstance(engines, dict) else {f"e{n}": e for n, e in enumerate(engines)}
    routing = {"policy": policy} if policy else {}
    spills = {k: v for k, v in (("threshold", spill), ("rehome", rehome)) if v is not None}
    if spills:
        routing["spill"] = spills
    out = {"model": model, "engines": [{"name": n, "url": e.url, **engine_keys} for n, e in named.items()]}
    if aliases:
        out["aliases"] = list(aliases)
    if routing:
        out["routing"] = routing
    return out


class Gateway:
    def __init__(self, folder, pools, wait_healthy=True, arguments=(), environment=None, wrapper=(), stderr=None, **config):
        """config: further top-level keys of the configuration file. JSON is YAML, so the file is written as JSON. wrapper:
        a command that runs another one in its own process, such as `prlimit --nofile=80`. stderr: a descriptor instead of
        the log file."""
        self.folder, self.wrapper, self.stderr = Path(folder), list(wrapper), stderr
        self.config_file = self.folder / "warmgate.yaml"
        self.config_file.write_text(json.dumps({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "pools": pools, **config}, indent=1))
        self._start(["--config", str(self.config_file), *arguments], environment)
        if wait_healthy:
            self.wait_healthy()

    @classmethod
    def from_engines(cls, folder, engines, arguments=(), environment=None, wait_healthy=True):
        """Without a file: --engine for each."""
        self = cls.__new__(cls)
        self.folder, self.wrapper, self.stderr = Path(folder), [], None
        flags = [a for e in engines for a in ("--engine", e.url)]
        self._start([*flags, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", *arguments], environment)
        if wait_healthy:
            self.wait_healthy()
        return self

    def _start(self, arguments, environment):
        if "WARMGATE_THREADS" in os.environ and "--threads" not in arguments:  # ./dev test --tsan
            arguments = [*arguments, "--threads", os.environ["WARMGATE_THREADS"]]
        self.log_file = self.folder / "warmgate.log"
        self.output = []
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([*self.wrapper, str(BINARY), "serve", *arguments], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=log if self.stderr is None else self.stderr,
                                            env={**os.environ, **(environment or {})})
        self.url = self.admin = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()
        if not self._ready.wait(30) or self.url is None:
            self.process.kill()
            raise AssertionError(f"no listening line; exit code {self.process.wait()}; said:\n{self.log()}")

    def _read_output(self):
        for raw in self.process.stdout:
            line = raw.decode(errors="replace")
            self.output.append(line)
            match = _LINE.search(line)
            if match:
                self.url, self.admin = match.groups()
                self._ready.set()
        self._ready.set()

    # ---- what it shows ----
    def api(self, path, method="GET", body=None):
        """JSON of the admin listener; path without /api/v1."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.admin}/api/v1{path}", data=data, method=method, headers={"Content-Type": "application/json"})
        with urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"null")

    def replicas(self):
        return self.api("/replicas")["replicas"]

    def replica(self, replica_id):
        return next(r for r in self.replicas() if r["id"] == replica_id)

    def in_flight(self):
        return sum(r["in_flight"] for r in self.replicas())

    def turns(self, route):
        return sum(r["turns"][route] for r in self.replicas())

    def metrics(self):
        with urlopen(f"{self.admin}/metrics", timeout=20) as answer:
            return answer.read().decode()

    def metric(self, name, **labels):
        return metrics_text.total(self.metrics(), name, **labels)

    def log(self):
        return self.log_file.read_text(errors="replace") + "".join(self.output)

    def status(self):
        """What `warmgate status` prints of it."""
        return subprocess.run([str(BINARY), "status", "--admin", self.admin.removeprefix("http://")], capture_output=True,
                              text=True, check=True, timeout=30).stdout

    def set_policy(self, pool_name, policy, spill_threshold=None):
        body = {"policy": policy}
        if spill_threshold is not None:
            body["spill_threshold"] = spill_threshold
        return self.api(f"/pools/{pool_name}/policy", "PUT", body)

    # ---- talking to it ----
    def connect(self, timeout=30.0, receive_buffer=None):
        return wire.Connection(self.url, timeout, receive_buffer)

    def post(self, target, body, headers=()):
        return wire.post(self.url, target, body, headers)

    def get(self, target, headers=()):
        return wire.get(self.url, target, headers)

    def send_raw(self, data, timeout=30.0):
        """Everything that comes back to these bytes until the connection ends."""
        with self.connect(timeout) as connection:
            connection.send(data)
            return connection.rest()

    # ---- waiting and the end ----
    def wait_healthy(self, count=None, timeout=20):
        def all_up():
            rows = self.replicas()
            up = [r for r in rows if r["healthy"]]
            return rows and (len(up) == len(rows) if count is None else len(up) == count)
        wait_until(all_up, timeout, "replicas healthy")

    def wait_idle(self, timeout=5):
        wait_until(lambda: self.in_flight() == 0, timeout, "nothing in flight in /api/v1/replicas")
        if self.replicas():  # else there is no row to sum up
            wait_until(lambda: not self.metric("warmgate_in_flight"), timeout, "warmgate_in_flight sums to 0")

    def wait_unconnected(self, timeout=5):
        wait_until(lambda: self.metric("warmgate_connections") == 0, timeout, "no client connection is open")

    def wait_ended(self, timeout=15):
        """For tests that end it themselves: its exit code, and stop() has nothing left to do."""
        code = self.process.wait(timeout)
        self._reader.join(5)
        self.stop = lambda: None
        return code

    def stop(self):
        """Asserts the invariants of a quiet gateway, then ends it with SIGTERM: exit code 0, and soon."""
        if self.process.poll() is not None:
            raise AssertionError(f"ended by itself with {self.process.returncode}:\n{self.log()[-4000:]}")
        try:
            self.wait_idle()
        finally:
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.kill()
                code = f"none within 15 s of SIGTERM (then {self.process.wait()})"
        self._reader.join(5)
        assert code == 0, f"exit code {code}:\n{self.log()[-4000:]}"
