"""Server-sent events, as tests write and read them."""
import json


def data(value):
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return f"data: {text}\n\n".encode()


def named(event, value):
    return f"event: {event}\n".encode() + data({"type": event, **value})


def split(body):
    """The events of a body, each with its blank line; bytes behind the last one come as a last, unfinished element."""
    parts = body.split(b"\n\n")
    whole = [p + b"\n\n" for p in parts[:-1]]
    return whole + [parts[-1]] if parts[-1] else whole


def payload(event):
    """The JSON of an event's data, the text if it is none, None for a comment."""
    lines = [l[5:].lstrip() for l in event.decode().splitlines() if l.startswith("data:")]
    if not lines:
        return None
    try:
        return json.loads("\n".join(lines))
    except ValueError:
        return "\n".join(lines)


def payloads(body):
    return [p for p in map(payload, split(body)) if p is not None]
