"""The bodies of tests/data/hostile-json.txt through the real binary: what passes reaches the engine byte for byte, what is refused
is answered in words, in the client's dialect, on a connection that goes on, and the engine never hears of it."""
import re

import pytest

from harness.gateway import REPO
from harness.inputs import entries
from harness.recorder import Recorder
from harness.requests import PATHS, is_error, message

ROWS = entries("hostile-json.txt")
LONG = {  # as docs/json.md names them
    "nesting 256 deep": ("pass", b'{"model":"m","x":' + b"[" * 255 + b"]" * 255 + b"}"),
    "nesting 257 deep": ("400", b'{"model":"m","x":' + b"[" * 256 + b"]" * 256 + b"}"),
    "a million opening brackets": ("400", b'{"model":"m","x":' + b"[" * 1_000_000),
    "a key of a megabyte": ("pass", b'{"model":"m","' + b"k" * 1_000_000 + b'":1}'),
    "a number of a million digits": ("pass", b'{"model":"m","x":' + b"9" * 1_000_000 + b"}"),
    "50,000 members": ("pass", b'{"model":"m"' + b"".join(b',"k%d":0' % n for n in range(50_000)) + b"}"),
    "a model's name of a megabyte": ("404", b'{"model":"' + b"m" * 1_000_000 + b'"}'),
}


@pytest.fixture
def recorded(make_gateway):
    """(gateway, engine): the engine takes anything, since not all that passes is JSON to everybody."""
    engine = Recorder()
    yield make_gateway([engine], aliases=["gpt-*"]), engine
    engine.stop()


@pytest.mark.parametrize("verdict,body", [(v, b) for v, _, b in ROWS] + list(LONG.values()), ids=[w for _, w, _ in ROWS] + list(LONG))
def test_row(recorded, verdict, body):
    gateway, engine = recorded
    with gateway.connect() as connection:
        answer = connection.post(PATHS["chat"], body)
        if verdict == "pass":
            assert answer.status == 200 and engine.bodies == [body]
            return
        assert answer.status == int(verdict) and engine.requests == []
        assert is_error("chat", answer.json()) and len(message(answer.json())) < 1000
        assert connection.post(PATHS["chat"], {"model": "m"}).status == 200


def test_refusals_speak_the_dialect(one):
    gateway, engine = one
    for dialect in PATHS:
        answer = gateway.post(PATHS[dialect], b'{"model":"m",}')
        assert answer.status == 400 and is_error(dialect, answer.json())
        assert "at byte 13" in message(answer.json())
    assert engine.requests == []


def test_an_escaped_model_is_replaced_where_it_stands(recorded):
    gateway, engine = recorded
    body = b'\xef\xbb\xbf{"x":"\\ud800","mod\\u0065l" : "gp\\u0074-4" ,"n":1e999,"messages":[]}'
    assert gateway.post(PATHS["chat"], body).status == 200
    assert engine.bodies == [body.replace(b'"gp\\u0074-4"', b'"m"')]


def test_the_table_has_every_row():
    cells = re.findall(r"(?m)^\| (.*?) \| (passes|\d{3})", (REPO / "docs" / "json.md").read_text())
    said = {why: verdict.replace("passes", "pass") for why, verdict in cells}
    assert said == {**{w: v for v, w, _ in ROWS}, **{w: v for w, (v, _) in LONG.items()}}
