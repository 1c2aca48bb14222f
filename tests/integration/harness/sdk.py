"""Turns of a conversation through the official SDKs, in every dialect, streamed or not; each returns what a test looks at."""
from dataclasses import dataclass

import anthropic
import openai

HEAD = ("You are the keeper of a small lighthouse on a rocky coast. You answer visitors in one short and friendly sentence, "
        "you know the weather, the ships and the birds, and you never leave the tower at night. ")


@dataclass
class Turn:
    text: str
    prompt: int
    cached: int
    route: str
    replica: str


class Conversation:
    """History and dialect of one conversation; say() makes a turn of it. key: value of x-session-key, or None."""

    def __init__(self, url, model, dialect, stream, opening, key=None, max_tokens=12):
        self.model, self.dialect, self.stream, self.opening, self.max_tokens = model, dialect, stream, opening, max_tokens
        self.history = []
        headers = {"x-session-key": key} if key else {}
        self.openai = openai.OpenAI(base_url=url + "/v1", api_key="dummy", max_retries=0, timeout=120, default_headers=headers)
        self.anthropic = anthropic.Anthropic(base_url=url, api_key="dummy", max_retries=0, timeout=120, default_headers=headers)

    def close(self):
        self.openai.close()
        self.anthropic.close()

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        turn = getattr(self, f"_{self.dialect}")()
        self.history.append({"role": "assistant", "content": turn.text.strip() or "."})
        return turn

    def _turn(self, headers, text, prompt, cached):
        return Turn(text, prompt, cached or 0, headers.get("x-warmgate-route"), headers.get("x-warmgate-replica"))

    def _openai_usage(self, usage):
        details = usage.prompt_tokens_details
        return usage.prompt_tokens, details.cached_tokens if details else 0

    def _streamed_or_not(self, endpoint, pieces, **request):
        """Chat and completions: pieces(choice) is its text."""
        if not self.stream:
            raw = endpoint.with_raw_response.create(**request)
            answer = raw.parse()
            return self._turn(raw.headers, pieces(answer.choices[0]), *self._openai_usage(answer.usage))
        raw = endpoint.with_raw_response.create(**request, stream=True, stream_options={"include_usage": True})
        text, usage = "", None
        for chunk in raw.parse():
            text += "".join(pieces(c) for c in chunk.choices)
            usage = chunk.usage or usage
        return self._turn(raw.headers, text, *self._openai_usage(usage))

    def _chat(self):
        messages = [{"role": "system", "content": HEAD + self.opening}, *self.history]

        def piece(choice):
            return (choice.delta if self.stream else choice.message).content or ""
        return self._streamed_or_not(self.openai.chat.completions, piece, model=self.model, messages=messages,
                                     max_tokens=self.max_tokens, temperature=0)

    def _completions(self):
        lines = [f"{'Visitor' if m['role'] == 'user' else 'Keeper'}: {m['content']}\n" for m in self.history]
        prompt = HEAD + self.opening + "\n" + "".join(lines) + "Keeper:"
        return self._streamed_or_not(self.openai.completions, lambda c: c.text or "", model=self.model, prompt=prompt,
                                     max_tokens=self.max_tokens, temperature=0)

    def _items(self):
        """The history as items of the Responses API: llama.cpp wants the assistant's in their full form."""
        return [m if m["role"] == "user" else
                {"type": "message", "role": "assistant", "status": "completed", "id": f"msg_{n}",
                 "content": [{"type": "output_text", "text": m["content"], "annotations": []}]} for n, m in enumerate(self.history)]

    def _responses(self):
        request = dict(model=self.model, instructions=HEAD + self.opening, input=self._items(), max_output_tokens=self.max_tokens,
                       temperature=0)
        raw = self.openai.responses.with_raw_response.create(**request, stream=self.stream)
        answer = raw.parse()
        if self.stream:
            answer = [e for e in answer if e.type in ("response.completed", "response.incomplete")][-1].response
        text = "".join(c.text for o in answer.output if o.type == "message" for c in o.content)
        return self._turn(raw.headers, text, answer.usage.input_tokens, answer.usage.input_tokens_details.cached_tokens)

    def _messages(self):
        request = dict(model=self.model, system=HEAD + self.opening, messages=list(self.history), max_tokens=self.max_tokens,
                       extra_body={"temperature": 0})
        raw = self.anthropic.messages.with_raw_response.create(**request, stream=self.stream)
        answer, text = raw.parse(), ""
        if not self.stream:
            usage, text = answer.usage, "".join(b.text for b in answer.content if b.type == "text")
            return self._turn(raw.headers, text, usage.input_tokens, usage.cache_read_input_tokens)
        cached = prompt = 0
        for event in answer:
            if event.type == "message_start":
                prompt, cached = event.message.usage.input_tokens, event.message.usage.cache_read_input_tokens or 0
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                text += event.delta.text
            if event.type == "message_delta":
                cached = event.usage.cache_read_input_tokens or cached
        return self._turn(raw.headers, text, prompt, cached)
