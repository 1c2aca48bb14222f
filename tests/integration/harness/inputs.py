"""Lists of hostile inputs in tests/data, which the unit tests read too (src/core/test_inputs.h has the format)."""
import re
from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|.)")
_PLAIN = {b"r": b"\r", b"n": b"\n", b"t": b"\t"}


def entries(name):
    """[(verdict, why, bytes)] of one file below tests/data."""
    out = []
    for line in (DATA / name).read_bytes().split(b"\n"):
        if line.startswith(b"  "):
            out[-1][2].extend(_ESCAPE.sub(_unescape, line[2:]))
        elif line and not line.startswith(b"#"):
            verdict, _, why = line.decode().partition(" ")
            out.append((verdict, why, bytearray()))
    return [(verdict, why, bytes(raw)) for verdict, why, raw in out]


def _unescape(match):
    code = match.group(1)
    return bytes([int(code[1:], 16)]) if len(code) == 3 else _PLAIN.get(code, code)
