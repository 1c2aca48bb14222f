"""Two real llama.cpp servers behind one gateway, driven by the official SDKs and by curl."""
import json
import subprocess

import anthropic
import httpx
import openai
import pytest

from harness import sdk
from harness.gateway import Gateway, pool
from harness.llama import MODEL, LlamaServer
from harness.requests import DIALECTS, DONE, PATHS

pytestmark = [pytest.mark.llama, pytest.mark.timeout(300)]
TURNS = ["Good evening! How is the sea?", "Did any ship pass today?", "Which birds live here?", "Is a storm coming?",
         "What do you eat for supper?", "Will the lamp burn all night?"]


@pytest.fixture
def gateway(llamas, make_gateway):
    return make_gateway(llamas, model=MODEL)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_six_turns_stay_on_their_replica(gateway, dialect, stream):
    """Two conversations, turn by turn. Plain SDKs send no session id: but for completions, where the prompt is one growing
    text, the fingerprint of their opening keeps them together."""
    talks = [sdk.Conversation(gateway.url, MODEL, dialect, stream, f"The visitor's name is {name}.", key if dialect == "completions" else None)
             for name, key in (("Ada", "talk-a"), ("Bert", "talk-b"))]
    seen = [[], []]
    for text in TURNS:
        for talk, turns in zip(talks, seen):
            turns.append(talk.say(text))
    for turns in seen:
        assert [t.route for t in turns] == ["placed"] + ["sticky"] * 5
        assert len({t.replica for t in turns}) == 1
        assert all(t.cached > 0 for t in turns[1:]), [t.cached for t in turns]
    assert seen[0][0].replica != seen[1][0].replica
    for talk in talks:
        talk.close()
    gateway.wait_idle()
    assert gateway.metric("warmgate_prompt_tokens_total", kind="cached") >= sum(t.cached for turns in seen for t in turns[1:])


def test_models_and_count_tokens(gateway):
    client = openai.OpenAI(base_url=gateway.url + "/v1", api_key="dummy")
    assert [m.id for m in client.models.list()] == [MODEL]
    other = anthropic.Anthropic(base_url=gateway.url, api_key="dummy")
    assert [m.id for m in other.models.list()] == [MODEL]
    assert other.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "How many?"}]).input_tokens > 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_curl(gateway, dialect, tmp_path):
    text = "Say hello."
    request = {"chat": {"messages": [{"role": "user", "content": text}]}, "messages": {"messages": [{"role": "user", "content": text}]},
               "completions": {"prompt": text}, "responses": {"input": text}}[dialect]
    limit = "max_output_tokens" if dialect == "responses" else "max_tokens"
    sent = json.dumps({"model": MODEL, "stream": True, limit: 8, **request})
    done = subprocess.run(["curl", "-sSN", "-D", str(tmp_path / "head"), "-H", "Content-Type: application/json", "-H", "x-session-key: curl",
                           "-d", sent, gateway.url + PATHS[dialect]], capture_output=True, timeout=60, check=True)
    head = (tmp_path / "head").read_text().lower()
    assert " 200 " in head.splitlines()[0] and f"x-warmgate-replica: {MODEL}/" in head and "x-accel-buffering: no" in head
    assert DONE[dialect] in done.stdout or b'"response.incomplete"' in done.stdout


def test_too_long_a_prompt_passes_as_the_engine_says_it(gateway):
    client = openai.OpenAI(base_url=gateway.url + "/v1", api_key="dummy", max_retries=0)
    with pytest.raises(openai.BadRequestError) as refused:
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "many words " * 6000}], max_tokens=4)
    assert "exceed" in str(refused.value)


class TestKilled:
    """An engine killed in mid-stream: its client sees an error, and the next turn works on the other."""

    @pytest.fixture
    def pair(self, tmp_path):
        made = [LlamaServer(tmp_path / f"{n}.log") for n in range(2)]
        folder = tmp_path / "gateway"
        folder.mkdir()
        gateway = Gateway(folder, [pool(made, model=MODEL)])
        yield gateway, made
        gateway.stop()
        for server in made:
            server.stop()

    def start_stream(self, dialect, url):
        """(iterator over its chunks, response headers)"""
        messages, common = [{"role": "user", "content": "Tell me a very long story about the sea."}], dict(model=MODEL, stream=True)
        if dialect == "messages":
            client = anthropic.Anthropic(base_url=url, api_key="dummy", max_retries=0, default_headers={"x-session-key": "k"})
            raw = client.messages.with_raw_response.create(messages=messages, max_tokens=1500, **common)
        else:
            client = openai.OpenAI(base_url=url + "/v1", api_key="dummy", max_retries=0, default_headers={"x-session-key": "k"})
            if dialect == "chat":
                raw = client.chat.completions.with_raw_response.create(messages=messages, max_tokens=1500, **common)
            else:
                raw = client.responses.with_raw_response.create(input=messages, max_output_tokens=1500, **common)
        return client, raw.parse(), raw.headers["x-warmgate-replica"]

    def broke_off(self, stream):
        """True if reading on ends in an exception or an error event (which an SDK may hand over as an event)."""
        try:
            return any(getattr(event, "type", "") in ("error", "response.failed") for event in stream)
        except (openai.APIError, anthropic.APIError, httpx.HTTPError):
            return True

    @pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
    def test_client_sees_it_and_goes_on_elsewhere(self, pair, dialect):
        gateway, servers = pair
        client, stream, replica = self.start_stream(dialect, gateway.url)
        for _ in range(4):
            next(stream)
        victim = servers[int(replica.split("/")[1][1])]
        victim.kill()
        assert self.broke_off(stream)
        client.close()
        gateway.wait_idle()
        talk = sdk.Conversation(gateway.url, MODEL, dialect, True, "", "k")
        turn = talk.say("Are you still there?")
        assert turn.replica != replica and turn.text
        talk.close()
