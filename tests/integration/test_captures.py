"""Real clients' requests, as captured: all are served, and what belongs to one conversation goes to one replica."""
import json
import re

import pytest

from harness.gateway import REPO

CAPTURES = REPO / "tests" / "data" / "captures"
FILES = sorted(p.name for p in CAPTURES.glob("*.jsonl") if not p.name.startswith("retry-timelines"))
_SHORT = re.compile(r"«(\d+) chars, id ([^»]*)»")


def expand(value):
    """A shortened text becomes as many characters, the same for the same id."""
    if isinstance(value, str):
        return _SHORT.sub(lambda m: (m.group(2) + " ").ljust(8, "x") * (int(m.group(1)) // 8) or "x", value)
    if isinstance(value, list):
        return [expand(v) for v in value]
    return {k: expand(v) for k, v in value.items()} if isinstance(value, dict) else value


def requests_of(file):
    """[(record, headers to send, body bytes or None)]"""
    out = []
    for line in (CAPTURES / file).read_text().splitlines():
        record = json.loads(line)
        body = record.get("body")
        raw = None if body in (None, "") else json.dumps(expand(body), ensure_ascii=False).encode()
        skipped = {"host", "content-length", "transfer-encoding", "connection"}
        # Some values hold an ellipsis where the capture was shortened: its UTF-8 bytes.
        out.append((record, [(n, v.encode().decode("latin-1")) for n, v in record["headers"] if n.lower() not in skipped], raw))
    return out


def own_id(record):
    """The conversation's id as the client itself sent it, sub-agents told apart; None if it sends none."""
    headers = {n.lower(): v for n, v in record["headers"]}
    if "x-claude-code-session-id" in headers:
        return headers["x-claude-code-session-id"], headers.get("x-claude-code-agent-id")
    for name in ("thread-id", "x-session-affinity", "session_id"):
        if name in headers:
            return headers[name]
    return None


@pytest.mark.parametrize("file", FILES)
def test_requests_of(make_engine, make_gateway, file):
    engines = [make_engine(), make_engine(), make_engine()]
    gateway = make_gateway(engines, aliases=["*"])
    homes = {}
    for record, headers, raw in requests_of(file):
        with gateway.connect() as connection:
            answer = connection.exchange(record["method"], record["url"], raw, headers)
        assert answer.status == 200, (record["scenario"], answer.body[:300])
        if raw is None:
            continue
        replica, mark = answer.header("x-warmgate-replica"), answer.header("x-warmgate-session")
        assert mark
        if own_id(record) is not None:
            assert homes.setdefault(own_id(record), (replica, mark)) == (replica, mark), record["scenario"]
    marks = [mark for _, mark in homes.values()]
    assert len(set(marks)) == len(marks), "different conversations, different marks"
