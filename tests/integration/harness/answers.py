"""Scripts for the fake engine: what it does with one request. A script is a function of the Exchange.

Streams come in vLLM's order of events (and llama.cpp's, where usage differs); `gate` stalls a stream after its first
content until the test sets the event, so that tests decide when things happen.
"""
import json

from . import sse

PROMPT, CACHED, OUTPUT = 100, 64, 3  # what answers report, unless told otherwise
WORDS = ["one", " two", " three"]


def api_of(path):
    for ending, name in (("/chat/completions", "chat"), ("/completions", "completions"), ("/messages", "messages"),
                         ("/count_tokens", "count_tokens"), ("/responses", "responses")):
        if path.endswith(ending):
            return name
    return "other"


def _openai_usage(prompt, cached):
    usage = {"prompt_tokens": prompt, "total_tokens": prompt + OUTPUT, "completion_tokens": OUTPUT}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    return usage


def _chat_chunk(delta, finish=None):
    return sse.data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
                     "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def chat_events(usage, prompt, cached, finish):
    yield _chat_chunk({"role": "assistant", "content": ""})
    for word in WORDS:
        yield _chat_chunk({"content": word})
    yield _chat_chunk({}, finish)
    if usage:
        yield sse.data({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
                        "usage": _openai_usage(prompt, cached)})
    yield sse.data("[DONE]")


def completions_events(usage, prompt, cached, finish):
    base = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m"}
    for number, word in enumerate(WORDS):
        last = finish if number == len(WORDS) - 1 else None
        yield sse.data({**base, "choices": [{"index": 0, "text": word, "finish_reason": last}]})
    if usage:
        yield sse.data({**base, "choices": [], "usage": _openai_usage(prompt, cached)})
    yield sse.data("[DONE]")


def messages_events(_usage, prompt, cached, finish):
    reason = {"stop": "end_turn", "length": "max_tokens", "abort": None}[finish]  # so vLLM words an abort here
    yield sse.named("message_start", {"message": {"id": "msg_1", "type": "message", "role": "assistant", "content": [],
                                                  "model": "m", "stop_reason": None,
                                                  "usage": {"input_tokens": prompt, "output_tokens": 0}}})
    yield sse.named("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}})
    for word in WORDS:
        yield sse.named("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": word}})
    yield sse.named("content_block_stop", {"index": 0})
    cache = {} if cached is None else {"cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
    yield sse.named("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None},
                                      "usage": {"input_tokens": prompt - (cached or 0), "output_tokens": OUTPUT, **cache}})
    yield sse.named("message_stop", {})


def response_object(response_id, prompt, cached, finish):
    return {"id": response_id, "object": "response", "created_at": 1, "model": "m", "status": "completed",
            "output": [{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": "".join(WORDS), "annotations": []}]}],
            "usage": {"input_tokens": prompt, "input_tokens_details": {"cached_tokens": cached or 0},
                      "output_tokens": OUTPUT, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": prompt + OUTPUT}}


def responses_events(_usage, prompt, cached, finish, response_id="resp_1"):
    whole = response_object(response_id, prompt, cached, finish)
    yield sse.named("response.created", {"response": {**whole, "status": "in_progress", "output": [], "usage": None}})
    for word in WORDS:
        yield sse.named("response.output_text.delta", {"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word})
    yield sse.named("response.completed", {"response": whole})


EVENTS = {"chat": chat_events, "completions": completions_events, "messages": messages_events, "responses": responses_events}


def whole_body(api, prompt=PROMPT, cached=CACHED, finish="stop", response_id="resp_1"):
    text = "".join(WORDS)
    if api == "messages":
        cache = {} if cached is None else {"cache_read_input_tokens": cached, "cache_creation_input_tokens": 0}
        stop = {} if finish == "abort" else {"stop_reason": "end_turn"}  # vLLM leaves it out of an aborted answer
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": text}], **stop,
                "usage": {"input_tokens": prompt - (cached or 0), "output_tokens": OUTPUT, **cache}}
    if api == "responses":
        return response_object(response_id, prompt, cached, finish)
    if api == "count_tokens":
        return {"input_tokens": prompt}
    if api == "completions":
        choice, kind = {"index": 0, "text": text, "finish_reason": finish}, "text_completion"
    elif api == "chat":
        choice, kind = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}, "chat.completion"
    else:
        return {"object": "other"}
    return {"id": "x-1", "object": kind, "created": 1, "model": "m", "choices": [choice], "usage": _openai_usage(prompt, cached)}


def normal(prompt=PROMPT, cached=CACHED, finish="stop", gate=None, before=None, response_id="resp_1", headers=()):
    """A good answer in the request's own dialect, streamed if it asks. before: stall before the head; gate: stall
    behind the first content (of a body that is not streamed: in its middle)."""
    def script(exchange):
        if before is not None and not exchange.wait(before):
            return
        api, request = api_of(exchange.request.path), exchange.request.json() if exchange.request.body else {}
        if request.get("stream") and api in EVENTS:
            asked = (request.get("stream_options") or {}).get("include_usage", False)
            extra = {"response_id": response_id} if api == "responses" else {}
            exchange.head(200, [("content-type", "text/event-stream; charset=utf-8"), *headers], chunked=True)
            for number, event in enumerate(EVENTS[api](asked, prompt, cached, finish, **extra)):
                if number == 3 and gate is not None and not exchange.wait(gate):
                    return
                exchange.chunk(event)
            exchange.end()
            return
        body = json.dumps(whole_body(api, prompt, cached, finish, response_id)).encode()
        exchange.head(200, [("content-type", "application/json"), *headers], length=len(body))
        exchange.send(body[:20])
        if gate is not None and not exchange.wait(gate):
            return
        exchange.send(body[20:])
    return script


def status(code, body=None, headers=()):
    """An answer with that status and an engine's error body (or the given bytes)."""
    if body is None:
        body = json.dumps({"error": {"message": f"engine says {code}", "type": "Err", "param": None, "code": code}}).encode()

    def script(exchange):
        exchange.head(code, [("content-type", "application/json"), *headers], length=len(body))
        exchange.send(body)
    return script


def reset_before_head():
    return lambda exchange: exchange.reset()


def close_before_head():
    return lambda exchange: exchange.close()


def stall(gate):
    """Nothing at all until the gate opens, then a good answer."""
    return normal(before=gate)


def events_then(count, then, headers=()):
    """The first `count` events of a stream, then then(exchange)."""
    def script(exchange):
        exchange.head(200, [("content-type", "text/event-stream"), *headers], chunked=True)
        stream = EVENTS[api_of(exchange.request.path)](False, PROMPT, CACHED, "stop")
        for _ in range(count):
            exchange.chunk(next(stream))
        then(exchange)
    return script


def reset_after(count):
    return events_then(count, lambda exchange: exchange.reset())


def clean_end_after(count):
    """The body ends as if all were well, but events are missing."""
    return events_then(count, lambda exchange: exchange.end())


def error_first_event(code=500, message="engine is unwell"):
    """vLLM's 200 with an error inside."""
    def script(exchange):
        exchange.head(200, [("content-type", "text/event-stream")], chunked=True)
        error = {"message": message, "type": "InternalServerError", "param": None, "code": code}
        if api_of(exchange.request.path) == "messages":
            exchange.chunk(sse.named("error", {"error": {"type": "internal_error", "message": message}}))
        else:
            exchange.chunk(sse.data({"error": error}))
            exchange.chunk(sse.data("[DONE]"))
        exchange.end()
    return script


def raw(data, then=None):
    """These bytes as they are; then closed, unless `then` says otherwise."""
    def script(exchange):
        exchange.send(data)
        (then or (lambda e: e.close()))(exchange)
    return script
