"""What a process holds, from /proc: descriptors and memory, before a storm and after it."""
import os
import re
import subprocess

from .gateway import is_sanitized
from .waiting import wait_until


def end(process, patience=10):
    """Asks it to end, and ends it if it does not."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_mib(pid):
    """Of its memory what is in RAM."""
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


class Footprint:
    """What a gateway holds now; assert_back() waits until it holds no more than that again."""

    def __init__(self, gateway):
        self.pid = gateway.process.pid
        self.descriptors, self.resident_mib = descriptors(self.pid), resident_mib(self.pid)

    def assert_back(self, more_descriptors=4, more_mib=12, timeout=15):
        """A few descriptors may be kept connections to engines; memory is compared loosely, for malloc keeps some (and a
        sanitizer all that was freed, so there it is not compared)."""
        wait_until(lambda: descriptors(self.pid) <= self.descriptors + more_descriptors, timeout,
                   f"descriptors back to {self.descriptors} (+{more_descriptors})")
        if not is_sanitized():
            assert resident_mib(self.pid) <= self.resident_mib + more_mib, (self.resident_mib, resident_mib(self.pid))
