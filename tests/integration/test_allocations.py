"""The steady state of a stream allocates nothing: heap allocations of the whole process are counted while thousands of
events pass. A page of metrics or a probe allocates too, hence the small allowance."""
import struct
import subprocess
import threading

import pytest
from harness import sse
from harness.gateway import Gateway, is_sanitized, pool
from harness.requests import PATHS, body, session

WARM, EVENTS = 200, 2000
ALLOWED = 0.02  # allocations an event: what probes and timers make meanwhile


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    if is_sanitized():
        pytest.skip("a sanitizer counts allocations itself")
    target = tmp_path_factory.mktemp("shim") / "count_allocations.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", str(target), __file__.replace("test_allocations.py", "harness/count_allocations.c")],
                   check=True)
    return target


class Lockstep:
    """A stream whose next event is sent when the test asks for it, so that each is a read and a write of its own."""

    def __init__(self, dialect):
        self.dialect, self.next = dialect, threading.Semaphore(0)
        self.events = {"chat": lambda n: sse.data({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                                   "choices": [{"index": 0, "delta": {"content": f" word{n}"}, "finish_reason": None}]}),
                       "messages": lambda n: sse.named("content_block_delta", {"index": 0, "delta": {"type": "text_delta",
                                                                                                    "text": f" word{n}"}})}

    def __call__(self, exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        for number in range(WARM + EVENTS):
            exchange.chunk(self.events[self.dialect](number))
            self.next.acquire()
        exchange.end()


@pytest.mark.parametrize("dialect", ["chat", "messages"])
def test_no_allocation_per_event(shim, tmp_path, make_engine, dialect):
    counter = tmp_path / "allocations"
    counter.write_bytes(bytes(8))
    engine, stream = make_engine(), Lockstep(dialect)
    engine.script(stream)
    gateway = Gateway(tmp_path, [pool([engine])], environment={"LD_PRELOAD": str(shim), "ALLOCATIONS": str(counter)})
    try:
        answer = gateway.connect().request("POST", PATHS[dialect], body(dialect, stream=True), session("s")).answer()

        def count():
            return struct.unpack("q", counter.read_bytes())[0]

        def pass_events(first, last):
            for number in range(first, last):
                answer.body = b""
                answer.read_until(f" word{number}\"".encode())
                stream.next.release()
        pass_events(0, WARM)
        before = count()
        assert before > 1000, "the shim does not count"
        pass_events(WARM, WARM + EVENTS)
        per_event = (count() - before) / EVENTS
        print(f"{dialect}: {per_event:.4f} allocations an event")
        assert per_event <= ALLOWED
    finally:
        gateway.stop()
