"""One conversation of the demo: turns of growing length in one dialect, each resending the whole history, as agents do.
A thread of its own; ends when `stop` is set. Conversations of a few turns, then a new one begins."""
import http.client
import json
import threading
from urllib.parse import urlsplit

DIALECTS = ["chat", "messages", "completions", "responses"]
PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
HEAD = ("You are a careful assistant of a small library. Readers ask about books, opening hours, and the town around it. "
        "Answer in one short sentence, in plain words, and never invent a book. ")
QUESTIONS = ["What is a library good for?", "Name one thing that a reader may borrow.", "When is a quiet hour useful?",
             "How would you describe a long winter evening with a book?", "What should a visitor bring along?",
             "How do you find a book whose title you forgot?"]


def text_of(dialect, answer):
    """What the model said, out of a whole answer."""
    if dialect == "chat":
        return answer["choices"][0]["message"].get("content") or ""
    if dialect == "completions":
        return answer["choices"][0]["text"]
    if dialect == "messages":
        return "".join(b.get("text", "") for b in answer["content"])
    return "".join(c.get("text", "") for o in answer["output"] for c in o.get("content") or [])


def piece_of(dialect, event):
    """What the model said, out of one event of a stream."""
    if dialect == "chat":
        return "".join((c.get("delta") or {}).get("content") or "" for c in event.get("choices", []))
    if dialect == "completions":
        return "".join(c.get("text") or "" for c in event.get("choices", []))
    if dialect == "messages":
        return event.get("delta", {}).get("text", "") if event.get("type") == "content_block_delta" else ""
    return event.get("delta", "") if event.get("type") == "response.output_text.delta" else ""


def response_item(message):
    """A message as an item of the Responses API: llama.cpp wants the assistant's in their full form."""
    if message["role"] == "user":
        return message
    return {"type": "message", "role": "assistant", "status": "completed", "id": "msg_0",
            "content": [{"type": "output_text", "text": message["content"], "annotations": []}]}


class Conversation(threading.Thread):
    def __init__(self, url, number, dialect, streamed, stop):
        super().__init__(daemon=True)
        self.url, self.number, self.dialect, self.streamed, self.stop_event = url, number, dialect, streamed, stop
        self.turns = self.failures = self.started = 0
        self.routes, self.last_error, self._connection, self._hung_up = {}, "", None, False

    def run(self):
        while not self.stop_event.is_set():
            self.started += 1
            history = []
            for question in QUESTIONS:
                if self.stop_event.is_set() or not self.turn(history, question):
                    break
            self.streamed = not self.streamed

    def turn(self, history, question):
        """One turn; the history grows by the question and its answer. False if it failed."""
        history.append({"role": "user", "content": f"{question} (reader {self.number}, visit {self.started})"})
        try:
            answer, route = self.ask(history)
        except Exception as error:  # noqa: BLE001 - whatever went wrong is shown in the table
            if not self._hung_up:
                self.failures += 1
                self.last_error = f"{type(error).__name__}: {error}"
                self.stop_event.wait(0.5)
            return False
        if self._hung_up:
            return False
        self.turns += 1
        self.routes[route] = self.routes.get(route, 0) + 1
        history.append({"role": "assistant", "content": answer.strip() or "."})
        return True

    def body(self, history):
        base = {"model": "smollm2-135m", "stream": self.streamed, "temperature": 0}
        head = HEAD + f"Today you speak with reader {self.number}, visit {self.started}. "
        if self.dialect == "messages":
            return {**base, "max_tokens": 24, "system": head, "messages": history}
        if self.dialect == "completions":
            lines = [f"{'Reader' if m['role'] == 'user' else 'Library'}: {m['content']}\n" for m in history]
            return {**base, "max_tokens": 24, "prompt": head + "\n" + "".join(lines) + "Library:"}
        if self.dialect == "responses":
            return {**base, "max_output_tokens": 24, "instructions": head, "input": [response_item(m) for m in history]}
        return {**base, "max_tokens": 24, "messages": [{"role": "system", "content": head}, *history]}

    def ask(self, history):
        """(text, route). The session id goes in the operator's header: plain clients have none."""
        parts = urlsplit(self.url)
        self._connection = connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
        try:
            connection.request("POST", PATHS[self.dialect], json.dumps(self.body(history)),
                               {"Content-Type": "application/json", "X-Session-Key": f"reader-{self.number}-{self.started}"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise RuntimeError(f"{answer.status} {answer.read()[:200].decode(errors='replace')}")
            route = answer.getheader("x-warmgate-route") or "?"
            if not self.streamed:
                return text_of(self.dialect, json.loads(answer.read())), route
            pieces = []
            for line in answer:
                if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                    pieces.append(piece_of(self.dialect, json.loads(line[5:])))
            return "".join(pieces), route
        finally:
            connection.close()

    def hang_up(self):
        """Ends a turn that is under way, as a client that goes away."""
        self._hung_up, connection = True, self._connection
        sock = connection.sock if connection else None
        if sock is not None:
            try:
                sock.shutdown(2)
            except OSError:
                pass
