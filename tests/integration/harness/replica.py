"""`warmgate replica`, the simulated vLLM, as a process of its own: starts it on a free port and reads what it tells."""
import os
import re
import signal
import subprocess
import threading

from . import metrics_text, process, wire
from .gateway import BINARY
from .waiting import wait_until

_LINE = re.compile(r"listening on (http://\S+)")


class Replica:
    """Replica(ranks=4, speed=10, no_admin=True): keywords are the command's flags. No network time unless said."""

    def __init__(self, model="m", **flags):
        self.model, self.flags, self.port = model, {"network": 0, **flags}, 0
        self._start()

    def _start(self):
        self.killed = False
        arguments = ["--listen", f"127.0.0.1:{self.port}", "--model", self.model]
        for name, value in self.flags.items():
            flag = "--" + name.replace("_", "-")
            arguments += [flag] if value is True else [flag, str(value)]
        self.process = subprocess.Popen([str(BINARY), "replica", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        timer = threading.Timer(30, self.process.kill)
        timer.start()
        line = self.process.stdout.readline().decode()
        timer.cancel()
        match = _LINE.search(line)
        if not match:
            raise AssertionError(f"no listening line; exit code {self.process.wait()}; said: {self.process.stderr.read().decode()}")
        self.url = match.group(1)
        self.port = int(self.url.rsplit(":", 1)[1])

    # ---- talking to it ----
    def post(self, target, body, headers=()):
        return wire.post(self.url, target, body, headers)

    def get(self, target, headers=()):
        return wire.get(self.url, target, headers)

    def connect(self, timeout=30.0):
        return wire.Connection(self.url, timeout)

    def chat(self, content="hello", headers=(), **members):
        """One chat turn; content: a text, or the messages."""
        messages = [{"role": "user", "content": content}] if isinstance(content, str) else content
        return self.post("/v1/chat/completions", {"model": self.model, "messages": messages, "max_tokens": 8, **members}, headers)

    # ---- what it tells ----
    def metric(self, name, **labels):
        return metrics_text.total(self.get("/metrics").body.decode(), name, **labels)

    def running(self):
        return self.metric("vllm:num_requests_running")

    def is_idle(self):
        text = self.get("/metrics").body.decode()
        names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
        return all(metrics_text.total(text, name) == 0 for name in names)

    def wait_idle(self, timeout=5):
        wait_until(self.is_idle, timeout, "no request and no block held")

    def resident_mib(self):
        return process.resident_mib(self.process.pid)

    # ---- faults ----
    def fault(self, kind, **members):
        answer = self.post("/fault", {"kind": kind, **members})
        assert answer.status == 200, answer.body
        return answer.json()

    def fault_counts(self):
        return self.get("/fault").json()["counts"]

    def refuses(self):
        try:
            self.connect(timeout=2).close()
        except ConnectionRefusedError:
            return True
        return False

    def kill(self):
        """As the kernel ends a process that has eaten the machine's memory."""
        self.process.kill()
        self.process.wait()
        self.killed = True

    def restart(self):
        """Again, on the same port."""
        self.process.stdout.close()
        self.process.stderr.close()
        self._start()

    def stop(self):
        if self.killed:
            self.process.stdout.close()
            self.process.stderr.close()
            return
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(10)
        finally:
            self.process.kill()
            errors = self.process.stderr.read().decode()
            self.process.stdout.close()
            self.process.stderr.close()
        assert code == 0 and not errors, f"exit code {code}: {errors}"


def run_replica(*arguments):
    """Runs it to its end: (exit code, what it said)."""
    done = subprocess.run([str(BINARY), "replica", *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
                          env=os.environ)
    return done.returncode, (done.stdout + done.stderr).decode()
