"""One session of a scenario, as a real client: what it says in its dialect, under its key, and what it hears.
Owner: the runner in live.py. Turns of one session never overlap; title calls run beside them."""
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field

from harness.wire import Connection

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
DONE = {"chat": "[DONE]", "completions": "[DONE]", "messages": "message_stop", "responses": "response.completed"}


def seconds(text):
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s|m|h)", text).groups()
    return float(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def made_up(text, first, count):
    """`count` tokens (four bytes each) of the endless text named `text`."""
    return "".join(hashlib.md5(f"{text}/{n}".encode()).hexdigest()[:4] for n in range(first, first + count))


@dataclass
class Heard:
    """An answer, as far as it came."""
    talker: str
    status: int = 0
    outcome: str = "refused"
    route: str = "none"
    replica: str = "-"
    prompt: int = 0
    cached: int = 0
    waited: float = 0.0
    request_id: str = ""     # in the gateway's log
    output: int = 0
    ttfb: float = 1e9
    text: str = ""
    response_id: str = ""
    events: int = 0          # with content
    ended: bool = False      # the dialect's last event came
    error: bool = False
    places: dict = field(default_factory=dict)


class Talker:
    def __init__(self, run, name, keys):
        self.run, self.name = run, name
        self.dialect, self.key = keys.get("dialect", "chat"), keys.get("key", "claude-code")
        self.parent, self.model = keys.get("parent"), keys.get("model")
        self.streamed = keys.get("stream", "yes") == "yes"
        self.engine = int(keys["engine"][1:]) if "engine" in keys else None  # it talks to that one itself
        self.head, self.first = int(keys.get("head", 1000)), int(keys.get("first", 1000))
        self.life, self.turns, self.said, self.asked = 0, 0, 0, 0
        self.history = []                 # (role, text)
        self.home = self.home_before = self.last = self.last_before = "-"
        self.response_id = None
        self.one_at_a_time = threading.Lock()
        self.state = threading.Lock()

    def places(self):
        return {"home": self.home, "home.before": self.home_before, "last": self.last, "last.before": self.last_before}

    def session_id(self):
        return hashlib.md5(f"{self.run.file.name}/{self.name}/{self.life}".encode()).hexdigest()

    # ---- what it sends ----
    def key_headers(self):
        own, parent = self.session_id(), self.run.talkers[self.parent].session_id() if self.parent else None
        if self.key == "claude-code":
            agent = [("x-claude-code-agent-id", "a" + own[:16])] if parent else []
            return [("x-claude-code-session-id", parent or own), *agent]
        if self.key == "codex":
            return [("session-id", parent or own), ("thread-id", own), *([("x-codex-parent-thread-id", parent)] if parent else [])]
        if self.key == "opencode":
            return [("x-session-affinity", own), ("x-session-id", own), *([("x-parent-session-id", parent)] if parent else [])]
        header = {"operator": "x-session-key", "goose": "agent-session-id"}.get(self.key)
        return [(header, own)] if header else []

    def body(self, system, messages, out, model):
        limit = out + 16
        body = {"model": model or self.model or self.run.model(), "stream": self.streamed}
        turns = [{"role": role, "content": text} for role, text in messages]
        if self.dialect == "chat":
            body.update(messages=[{"role": "system", "content": system}, *turns], max_tokens=limit)
        elif self.dialect == "completions":
            body.update(prompt=system + "".join(text for _, text in messages), max_tokens=limit)
        elif self.dialect == "messages":
            body.update(system=system, messages=turns, max_tokens=limit)
        else:
            body.update(instructions=system, input=turns, max_output_tokens=limit)
            if self.key == "previous" and self.response_id:
                body.update(previous_response_id=self.response_id, input=turns[-1:])
        if self.streamed and self.dialect in ("chat", "completions"):
            body["stream_options"] = {"include_usage": True}
        if self.key == "prompt-cache-key":
            body["prompt_cache_key"] = self.session_id()
        return body

    def say(self, tokens):
        text = made_up(f"{self.name}", self.said, tokens)
        self.said += tokens
        return text

    def turn(self, what):
        with self.one_at_a_time:
            out = int(what.get("out", 60))
            text = self.say(self.first if self.turns == 0 else int(what.get("add", 400)))
            self.history.append(("user", text))
            heard = self.ask(self.body(made_up("head", 0, self.head), self.history, out, what.get("model")), out, what)
            self.turns += 1
            if heard.outcome == "ok":
                self.history.append(("assistant", heard.text or made_up("a tool was called", 0, out)))
                self.response_id = heard.response_id or self.response_id
            return heard

    def compact(self):
        """The client has made a summary of all that was said, which comes with the next turn."""
        with self.one_at_a_time:
            self.history.clear()

    def title(self, what):
        out = int(what.get("out", 60))
        system = "Generate a title for this conversation. " + made_up("title", 0, 90)
        return self.ask(self.body(system, [("user", made_up(f"title of {self.name}", 0, 50))], out, what.get("model")), out, what)

    # ---- what it hears ----
    def ask(self, body, out, what):
        headers = [*self.key_headers(), ("x-output-tokens", str(out)), ("x-finish", "tool_calls" if what.get("ends") == "tool" else "stop")]
        if "fault" in what:
            kind, *rest = what["fault"].split(";")
            names = {"for": "for_s", "after": "after_tokens"}
            rest = [f"{names[k]}={v.rstrip('s')}" for k, v in (part.split("=") for part in rest)]
            headers.append(("x-fault", "; ".join([kind, *rest])))
        self.asked += 1
        heard, leave = Heard(self.name, request_id=f"{self.name}-{self.asked}"), what.get("leave")
        headers.append(("x-request-id", heard.request_id))
        with Connection(self.run.url_for(self.engine), timeout=100) as connection:
            began, left, timer = self.run.now(), threading.Event(), None

            def go():
                left.set()
                connection.sock.shutdown(2)
            if leave and not leave.endswith("tokens"):
                timer = threading.Timer(seconds(leave) / self.run.speed, go)
                timer.start()
            try:
                connection.request("POST", PATHS[self.dialect], body, headers)
                answer = connection.answer()
                self.note_head(heard, answer)
                self.read(heard, answer, began, int(leave[:-6]) if leave and leave.endswith("tokens") else None, left)
            except OSError:
                if not left.is_set():
                    heard.outcome = "broken"
            if timer:
                timer.cancel()
            if left.is_set():
                heard.outcome = "left"
        with self.state:
            if heard.route != "none":
                self.home_before, self.last_before, self.last = self.home, self.last, heard.replica
                if heard.route in ("placed", "sticky", "moved"):
                    self.home = heard.replica
            heard.places = self.places()
        return heard

    def note_head(self, heard, answer):
        heard.status = answer.status
        heard.route = answer.header("x-warmgate-route") or "none"
        wait = re.search(r"wait;dur=([0-9.]+)", answer.header("server-timing") or "")
        heard.waited = float(wait.group(1)) / 1000 * self.run.speed if wait else 0.0
        heard.replica = "/".join((answer.header("x-warmgate-replica") or "-").split("/")[-2:])

    def read(self, heard, answer, began, leave_at, left):
        if "event-stream" not in (answer.header("content-type") or ""):
            answer.read_all()
            whole = answer.ended in ("length", "chunked")
            heard.outcome = "refused" if heard.status != 200 else "ok" if whole else "broken"
            if heard.outcome == "ok":
                self.note_event(heard, json.loads(answer.body), True)
            return
        rest = b""
        while not answer.ended:
            rest += answer.read_piece()
            *events, rest = rest.split(b"\n\n")
            for event in events:
                data = "\n".join(line[6:] for line in event.decode().split("\n") if line.startswith("data: "))
                if data == "[DONE]":
                    heard.ended = True
                elif data:
                    self.note_event(heard, json.loads(data), False)
            if heard.events and heard.ttfb > 1e8:
                heard.ttfb = self.run.now() - began
            if leave_at and heard.events >= leave_at:
                left.set()
                return
        clean = heard.ended and not heard.error and answer.ended == "chunked"
        heard.outcome = "ok" if clean else "broken"

    def note_event(self, heard, event, whole):
        kind = event.get("type", "")
        if kind == DONE[self.dialect]:
            heard.ended = True
        if event.get("error") or kind in ("error", "response.failed"):
            heard.error = True
        text = self.text_of(event, kind, whole)
        if text:
            heard.text += text
        if text or self.calls_tool(event):
            heard.events += 1
        response = event.get("response") if self.dialect == "responses" and not whole else event
        if self.dialect == "responses" and response and response.get("id"):
            heard.response_id = response["id"]
        usage = (response or {}).get("usage") or (event.get("message") or {}).get("usage") if isinstance(event, dict) else None
        if usage:
            self.note_usage(heard, usage)

    @staticmethod
    def calls_tool(event):
        """Whether a part of a tool call is in it. Its text is not kept: what is sent back is made up."""
        choice = (event.get("choices") or [{}])[0]
        return bool(choice.get("delta", {}).get("tool_calls")) or event.get("delta", {}).get("type") == "input_json_delta"

    def text_of(self, event, kind, whole):
        if self.dialect in ("chat", "completions"):
            choice = (event.get("choices") or [{}])[0]
            if self.dialect == "completions":
                return choice.get("text")
            return (choice.get("message" if whole else "delta") or {}).get("content")
        if self.dialect == "messages":
            if whole:
                return "".join(part.get("text", "") for part in event.get("content", []))
            return event.get("delta", {}).get("text") if kind == "content_block_delta" else None
        if whole:
            return "".join(p.get("text", "") for item in event.get("output", []) for p in item.get("content", []))
        return event.get("delta") if kind == "response.output_text.delta" else None

    @staticmethod
    def note_usage(heard, usage):
        if "prompt_tokens" in usage:
            heard.prompt, heard.output = usage["prompt_tokens"], usage.get("completion_tokens", 0)
            heard.cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            return
        heard.output = usage.get("output_tokens", 0)
        details = usage.get("input_tokens_details")
        heard.cached = (details or {}).get("cached_tokens", 0) if details else usage.get("cache_read_input_tokens") or 0
        heard.prompt = usage.get("input_tokens", 0) + (0 if details else (usage.get("cache_read_input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0))
