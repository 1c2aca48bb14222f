"""Requests in the four dialects, so that one test can be run over all of them."""

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
DIALECTS = list(PATHS)
DONE = {"chat": b"data: [DONE]", "completions": b"data: [DONE]", "messages": b'"message_stop"', "responses": b'"response.completed"'}
FIRST_CONTENT = {"chat": b'"one"', "completions": b'"one"', "messages": b'"one"', "responses": b'"one"'}


def body(dialect, text="hello there", stream=False, model="m", **extra):
    out = {"model": model, "stream": stream}
    if dialect == "completions":
        out.update(prompt=text, max_tokens=8)
    elif dialect == "responses":
        out.update(input=text, max_output_tokens=8)
    else:
        out.update(messages=[{"role": "user", "content": text}], max_tokens=8)
    return {**out, **extra}


def session(key):
    """The operator's own header: the simplest way to name a conversation."""
    return [("x-session-key", key)]


def is_error(dialect, value):
    """True for an error object in this dialect's shape (of a body or of an event)."""
    if dialect in ("messages", "count_tokens"):
        return value.get("type") == "error" and bool(value["error"].get("type")) and bool(value["error"].get("message"))
    if dialect == "responses" and value.get("type") in ("error", "response.failed"):
        return True
    return isinstance(value.get("error"), dict) and bool(value["error"].get("message"))


def message(value):
    """The message of an error object, whichever shape."""
    error = value.get("error")
    return error["message"] if isinstance(error, dict) else value.get("message") or str(value)
