"""Waiting for a condition: the only way tests wait. Nothing sleeps for a time that was guessed."""
import threading
import time

_never = threading.Event()


def wait_until(condition, timeout=10.0, what=None):
    """Calls condition until it is true and returns its value; AssertionError after timeout seconds."""
    deadline = time.monotonic() + timeout
    pause = 0.002
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            name = what or getattr(condition, "__name__", "condition")
            raise AssertionError(f"not within {timeout:g} s: {name} (last: {value!r})")
        _never.wait(pause)
        pause = min(pause * 1.5, 0.05)


def elapsed(action):
    """Seconds that action took."""
    start = time.monotonic()
    action()
    return time.monotonic() - start
