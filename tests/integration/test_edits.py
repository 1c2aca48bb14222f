"""The few edits to bodies: model aliases, include_usage, Claude Code's billing line; each by splice, each switchable."""
import json

import pytest

from harness import sse
from harness.requests import PATHS, body

BILLING = "x-anthropic-billing-header: cc_version=2.1.332.0b8; cc_entrypoint=sdk-cli;"


def test_alias_is_replaced_by_splice(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], aliases=["claude-*", "gpt-4o-mini"])
    raw = b'{ "max_tokens":8,\n "model" : "claude-opus-9" , "messages":[{"role":"user","content":"my model: \\"claude-opus-9\\""}]}'
    answer = gateway.post(PATHS["messages"], raw)
    assert answer.status == 200
    assert engine.requests[0].body == raw.replace(b'"model" : "claude-opus-9"', b'"model" : "m"')
    assert answer.json()["model"] == "m"  # the answer is left alone
    assert gateway.post(PATHS["chat"], body("chat", model="gpt-4o-mini")).status == 200
    assert gateway.post(PATHS["chat"], body("chat", model="gpt-4o")).status == 404


def test_alias_edit_can_be_switched_off(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], aliases=["claude-*"], edits={"model": False})
    raw = json.dumps(body("messages", model="claude-x")).encode()
    assert gateway.post(PATHS["messages"], raw).status == 200
    assert engine.requests[0].body == raw


@pytest.mark.parametrize("dialect", ["chat", "completions"])
@pytest.mark.parametrize("extra", [{}, {"stream_options": {}}, {"stream_options": None}, {"stream_options": {"include_usage": False}},
                                   {"stream_options": {"x": 1}}])
def test_include_usage_is_added_and_its_chunk_taken_out(one, dialect, extra):
    gateway, engine = one
    asked = body(dialect, stream=True, **extra)
    answer = gateway.post(PATHS[dialect], asked)
    sent = engine.requests[0].json()
    assert sent["stream_options"]["include_usage"] is True
    sent.pop("stream_options")
    assert sent == {k: v for k, v in asked.items() if k != "stream_options"}
    chunks = sse.payloads(answer.body)
    assert chunks[-1] == "[DONE]"
    assert all(c == "[DONE]" or c["choices"] for c in chunks) and not any("usage" in c for c in chunks[:-1])
    assert answer.ended == "chunked"


@pytest.mark.parametrize("dialect", ["chat", "completions"])
def test_usage_chunk_stays_for_those_who_asked(one, dialect):
    gateway, engine = one
    raw = json.dumps(body(dialect, stream=True, stream_options={"include_usage": True})).encode()
    answer = gateway.post(PATHS[dialect], raw)
    assert engine.requests[0].body == raw
    assert sse.payloads(answer.body)[-2]["usage"]["prompt_tokens"] == 100


def test_usage_is_counted_either_way(one):
    gateway, _ = one
    for dialect in PATHS:
        for stream in (False, True):
            assert gateway.post(PATHS[dialect], body(dialect, stream=stream)).status == 200
    gateway.wait_idle()
    assert gateway.metric("warmgate_prompt_tokens_total", kind="cached") == 8 * 64
    assert gateway.metric("warmgate_prompt_tokens_total", kind="computed") == 8 * 36


def test_no_edit_where_not_streamed_or_other_dialect(one):
    gateway, engine = one
    for dialect, stream in (("chat", False), ("messages", True), ("responses", True)):
        raw = json.dumps(body(dialect, stream=stream)).encode()
        gateway.post(PATHS[dialect], raw)
        assert engine.requests[-1].body == raw


def test_include_usage_edit_can_be_switched_off(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], edits={"include_usage": False})
    raw = json.dumps(body("chat", stream=True)).encode()
    assert gateway.post(PATHS["chat"], raw).status == 200
    assert engine.requests[0].body == raw


def claude_code(block_first=True):
    system = [{"type": "text", "text": BILLING}, {"type": "text", "text": "You are Claude Code."}]
    return body("messages", system=system if block_first else BILLING + "\nYou are Claude Code.")


@pytest.mark.parametrize("kind", ["vllm", "llama"])
@pytest.mark.parametrize("as_block", [True, False])
def test_billing_line_is_dropped_but_not_toward_vllm(make_engine, make_gateway, kind, as_block):
    engine = make_engine(kind=kind)
    gateway = make_gateway([engine])
    sent = claude_code(as_block)
    assert gateway.post(PATHS["messages"] + "?beta=true", sent).status == 200
    got = engine.requests[0].json()
    if kind == "vllm":
        assert engine.requests[0].body == json.dumps(sent).encode()
    else:
        assert "x-anthropic-billing-header" not in json.dumps(got)
        assert "You are Claude Code." in json.dumps(got["system"])
        assert {k: v for k, v in got.items() if k != "system"} == {k: v for k, v in sent.items() if k != "system"}


def test_billing_line_edit_can_be_switched_off(make_engine, make_gateway):
    engine = make_engine(kind="llama")
    gateway = make_gateway([engine], edits={"billing_line": False})
    gateway.post(PATHS["messages"], claude_code())
    assert engine.requests[0].body == json.dumps(claude_code()).encode()


def test_engine_key_replaces_the_clients(make_engine, make_gateway):
    engine = make_engine(api_key="engine-secret")
    gateway = make_gateway([engine], api_key_env="WG_TEST_KEY", environment={"WG_TEST_KEY": "engine-secret"})
    for headers in ([("Authorization", "Bearer mine")], [("x-api-key", "mine")], []):
        assert gateway.post(PATHS["chat"], body("chat"), headers).status == 200
        received = engine.requests[-1]
        assert received.header("authorization") == "Bearer engine-secret"
        assert "mine" not in str(received.headers)
    assert "engine-secret" not in gateway.log()
