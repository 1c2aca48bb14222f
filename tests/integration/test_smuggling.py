"""The inputs of tests/data/smuggling through the real binary, one after the other on fresh connections, each with a second, clean
request behind it: what is refused is answered once and never reaches the engine, nor does what follows it; what is taken
reaches the engine in one framing, once for each answer. The same bytes through nginx and haproxy keep the table of
docs/http-strictness.md honest about who is stricter."""
import re

import pytest

from harness import answers, smuggling
from harness.gateway import REPO, Gateway, pool
from harness.recorder import Recorder, ambiguities
from harness.requests import PATHS, body
from harness.smuggling import CLEAN, REFUSED, TAKEN


def name(entry):
    return entry[1]


@pytest.fixture(scope="module")
def recorder():
    engine = Recorder()
    yield engine
    engine.stop()


@pytest.fixture(scope="module")
def gateway(recorder, tmp_path_factory):
    gateway = Gateway(tmp_path_factory.mktemp("smuggling"), [pool([recorder])])
    yield gateway
    gateway.stop()


def test_there_is_enough_of_it():
    assert len(REFUSED) >= 100 and len(TAKEN) >= 20
    assert len({why for _, why, _ in REFUSED + TAKEN}) == len(REFUSED + TAKEN)


@pytest.mark.parametrize("entry", REFUSED, ids=name)
def test_refused(gateway, recorder, entry):
    status, _, raw = entry
    recorder.requests.clear()
    assert smuggling.send(gateway.url, raw + CLEAN) == ([int(status)], True)
    assert recorder.requests == []


@pytest.mark.parametrize("entry", TAKEN, ids=name)
def test_taken_in_one_framing(gateway, recorder, entry):
    _, _, raw = entry
    recorder.requests.clear()
    answers, closed = smuggling.send(gateway.url, raw + CLEAN)
    requests = list(recorder.requests)
    # HTTP/1.0 without keep-alive ends the connection before the clean request.
    expected = raw.count(b'{"model":"m"') or 1
    clean = b"HTTP/1.0" not in raw
    assert answers == [200] * (expected + clean) and closed
    assert len(requests) == len(answers)
    assert [ambiguities(r) for r in requests] == [[]] * len(requests)
    assert all(r.header("x-clean") is None for r in requests[:expected])
    assert [b'{"model":"m","messages":[],"max_tokens":1}'] * expected == [r.body for r in requests[:expected]]


@pytest.mark.parametrize("kind", ["nginx", "haproxy"])
def test_the_others_take_plain_requests(recorder, kind):
    """The harness itself: a plain request passes both, so that a refusal in the table is theirs and not ours."""
    proxy = smuggling.Proxy(kind, recorder)
    try:
        recorder.requests.clear()
        assert smuggling.send(proxy.url, TAKEN[0][2] + CLEAN) == ([200, 200], True)
        assert len(recorder.requests) == 2
    finally:
        proxy.stop()


def test_the_table_has_every_row():
    text = (REPO / "docs" / "http-strictness.md").read_text()
    rows = re.findall(r"(?m)^\| (.*?) \| (\d+|forwards)", text)
    assert [why for why, _ in rows if why in {w for _, w, _ in REFUSED + TAKEN}] == [why for _, why, _ in REFUSED + TAKEN]


# ---- the other direction: answers that nobody asked for ----
OWN = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 13\r\n\r\n{"own": true}'
ALIEN = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n{"alien": true}'


@pytest.mark.parametrize("surplus", [ALIEN, b"\r\n" + ALIEN, b"x", b"HTTP/1.1 100 Continue\r\n\r\n"], ids=["an answer", "a blank line", "noise", "an interim"])
def test_bytes_behind_an_answer_reach_nobody(one, surplus):
    gateway, engine = one
    engine.script(answers.raw(OWN + surplus, then=lambda exchange: None))
    assert gateway.post(PATHS["chat"], body("chat")).body == b'{"own": true}'
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 200 and b"alien" not in answer.body
    assert [r.connection for r in engine.requests][0] != engine.requests[1].connection


def test_an_answer_on_an_idle_connection_reaches_nobody(one):
    gateway, engine = one
    held = []

    def answer_and_keep(exchange):
        held.append(exchange)
        exchange.send(OWN)
    engine.script(answer_and_keep)
    assert gateway.post(PATHS["chat"], body("chat")).body == b'{"own": true}'
    held[0].send(ALIEN)
    answer = gateway.post(PATHS["chat"], body("chat"))
    assert answer.status == 200 and b"alien" not in answer.body
    assert engine.requests[0].connection != engine.requests[1].connection
