"""The simulated vLLM by itself: what it answers in each dialect, whom it steers where, what it holds and lets go."""
import threading

import pytest

from harness import sse
from harness.replica import run_replica
from harness.sdk import Conversation
from harness.waiting import elapsed, wait_until

CHAT, COMPLETIONS, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"
LONG = "All work and no play makes a long prompt. " * 40  # about 420 tokens
DIALECTS = ("chat", "completions", "messages", "responses")


def body(dialect, text=LONG, tokens=8, **members):
    prompts = {"chat": {"messages": [{"role": "user", "content": text}], "max_tokens": tokens},
               "completions": {"prompt": text, "max_tokens": tokens},
               "messages": {"messages": [{"role": "user", "content": text}], "max_tokens": tokens},
               "responses": {"input": text, "max_output_tokens": tokens}}
    return {"model": "m", **prompts[dialect], **members}


def path(dialect):
    return {"chat": CHAT, "completions": COMPLETIONS, "messages": MESSAGES, "responses": RESPONSES}[dialect]


def cached_tokens(dialect, usage):
    if dialect == "messages":
        return usage["cache_read_input_tokens"]
    return usage["input_tokens_details" if dialect == "responses" else "prompt_tokens_details"]["cached_tokens"]


def text_of(dialect, answer):
    if dialect == "chat":
        return answer["choices"][0]["message"]["content"]
    if dialect == "completions":
        return answer["choices"][0]["text"]
    return (answer if dialect == "messages" else answer["output"][0])["content"][0]["text"]


# ---- dialects ----

@pytest.mark.parametrize("dialect", DIALECTS)
def test_whole_answers_and_usage(make_replica, dialect):
    replica = make_replica()
    first = replica.post(path(dialect), body(dialect)).json()
    second = replica.post(path(dialect), body(dialect)).json()
    assert cached_tokens(dialect, first["usage"]) == 0
    cached = cached_tokens(dialect, second["usage"])
    assert cached > 400 and cached % 16 == 0
    assert text_of(dialect, first) == text_of(dialect, second)
    if dialect == "messages":
        assert first["usage"]["input_tokens"] + first["usage"]["cache_creation_input_tokens"] == \
            second["usage"]["input_tokens"] + cached + second["usage"]["cache_creation_input_tokens"]
    else:
        counted = "input_tokens" if dialect == "responses" else "prompt_tokens"
        assert first["usage"][counted] == second["usage"][counted]
        assert first["usage"]["total_tokens"] == first["usage"][counted] + 8


@pytest.mark.parametrize("dialect", DIALECTS)
def test_streams_say_what_whole_answers_say(make_replica, dialect):
    replica = make_replica()
    whole = replica.post(path(dialect), body(dialect, tokens=20)).json()
    options = {"stream_options": {"include_usage": True}} if dialect in ("chat", "completions") else {}
    answer = replica.post(path(dialect), body(dialect, tokens=20, stream=True, **options))
    assert answer.ended == "chunked" and answer.header("content-type") == "text/event-stream; charset=utf-8"
    events = sse.payloads(answer.body)
    if dialect == "chat":
        pieces, usage = [c["delta"].get("content", "") for e in events[:-1] for c in e["choices"]], events[-2]["usage"]
    elif dialect == "completions":
        pieces, usage = [c["text"] for e in events[:-1] for c in e["choices"]], events[-2]["usage"]
    elif dialect == "messages":
        pieces = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
        start, usage = events[0]["message"]["usage"], events[-2]["usage"]
        assert "cache_read_input_tokens" not in start
        assert start["input_tokens"] == sum(usage[k] for k in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"))
    else:
        pieces = [e["delta"] for e in events if e["type"] == "response.output_text.delta"]
        usage = events[-1]["response"]["usage"]
    assert "".join(pieces) == text_of(dialect, whole)
    assert cached_tokens(dialect, usage) > 400


@pytest.mark.parametrize("dialect", ["chat", "completions"])
def test_streamed_usage_only_when_asked(make_replica, dialect):
    answer = make_replica().post(path(dialect), body(dialect, stream=True))
    assert b'"usage"' not in answer.body and answer.body.endswith(b"data: [DONE]\n\n")


def test_without_prompt_details(make_replica):
    replica = make_replica(no_prompt_tokens_details=True)
    assert replica.post(CHAT, body("chat")).json()["usage"]["prompt_tokens_details"] is None
    usage = replica.post(MESSAGES, body("messages")).json()["usage"]
    assert set(usage) == {"input_tokens", "output_tokens"} and usage["input_tokens"] > 400
    assert "input_tokens_details" in replica.post(RESPONSES, body("responses")).json()["usage"]


def test_without_prefix_caching(make_replica):
    replica = make_replica(no_prefix_caching=True)
    usages = [replica.post(CHAT, body("chat")).json()["usage"] for _ in range(2)]
    assert [u["prompt_tokens_details"]["cached_tokens"] for u in usages] == [0, 0]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True])
def test_sdks(make_replica, dialect, stream):
    """The official SDKs; the second turn finds prompt and answer of the first in the cache."""
    replica = make_replica()
    conversation = Conversation(replica.url, "m", dialect, stream, "Opening. " * 100)
    first, second = conversation.say("Who are you?"), conversation.say("And what is the weather?")
    conversation.close()
    assert first.text and first.text != second.text
    assert second.cached >= 272 and first.cached == 0 and second.cached % 16 == 0


def test_next_turn_hits_prompt_and_answer(make_replica):
    replica = make_replica()
    history = [{"role": "user", "content": LONG}]
    answer = replica.chat(history, max_tokens=256, headers=[("x-output-tokens", "101")]).json()
    assert answer["usage"]["completion_tokens"] == 101 and answer["choices"][0]["finish_reason"] == "stop"
    history += [{"role": "assistant", "content": answer["choices"][0]["message"]["content"]}, {"role": "user", "content": "more"}]
    usage = replica.chat(history).json()["usage"]
    # All but the last token of an answer has been computed and cached.
    assert usage["prompt_tokens_details"]["cached_tokens"] == (answer["usage"]["total_tokens"] - 1) // 16 * 16


def test_tool_calls_on_request(make_replica):
    replica = make_replica()
    tools = [{"type": "function", "function": {"name": "read_file", "parameters": {}}}]
    answer = replica.chat("x", tools=tools, max_tokens=200, headers=[("x-finish", "tool_calls"), ("x-output-tokens", "40")]).json()
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "tool_calls" and choice["message"]["content"] is None
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "read_file"
    streamed = replica.post(MESSAGES, body("messages", "x", 200, stream=True, tools=[{"name": "read_file", "input_schema": {}}]),
                            [("x-finish", "tool_calls"), ("x-output-tokens", "40")])
    events = sse.payloads(streamed.body)
    assert events[1]["content_block"]["name"] == "read_file" and events[-2]["delta"]["stop_reason"] == "tool_use"


def test_responses_are_stored_and_gone_on_from(make_replica):
    replica = make_replica()
    first = replica.post(RESPONSES, body("responses")).json()
    assert replica.get(f"{RESPONSES}/{first['id']}").json() == first
    second = replica.post(RESPONSES, body("responses", "more", previous_response_id=first["id"])).json()
    assert second["usage"]["input_tokens"] > first["usage"]["input_tokens"]
    assert second["usage"]["input_tokens_details"]["cached_tokens"] > 400
    assert replica.post(f"{RESPONSES}/{first['id']}/cancel", b"").status == 400
    missing = replica.get(f"{RESPONSES}/resp_nothing")
    assert missing.status == 404 and missing.json()["error"]["param"] == "response_id"


def test_counting_and_turning_tokens(make_replica):
    replica = make_replica()
    counted = replica.post(f"{MESSAGES}/count_tokens", body("messages")).json()["input_tokens"]
    tokens = replica.post("/tokenize", {"model": "m", "messages": [{"role": "user", "content": LONG}]}).json()
    assert counted == tokens["count"] == len(tokens["tokens"])
    assert counted == replica.chat(LONG).json()["usage"]["prompt_tokens"]
    assert replica.post("/detokenize", {"tokens": tokens["tokens"]}).json()["prompt"] == LONG
    assert replica.post(COMPLETIONS, {"model": "m", "prompt": tokens["tokens"], "max_tokens": 1}).json()["usage"]["prompt_tokens"] == counted


def test_other_paths(make_replica):
    replica = make_replica()
    assert replica.get("/health").status == replica.get("/ping").status == 200
    card = replica.get("/v1/models").json()["data"][0]
    assert card["id"] == "m" and card["max_model_len"] == 32768
    assert replica.get("/version").json()["version"] and replica.get("/load").json() == {"server_load": 0}
    assert replica.get("/nothing").json() == {"detail": "Not Found"}
    assert replica.get(CHAT).status == 405


# ---- errors ----

def test_errors(make_replica):
    replica = make_replica()
    unknown = replica.post(CHAT, {**body("chat"), "model": "other"})
    assert unknown.status == 404
    assert unknown.json()["error"] == {"message": "The model `other` does not exist.", "type": "NotFoundError", "param": "model", "code": 404}
    assert replica.post(MESSAGES, {**body("messages"), "model": "other"}).json()["error"]["type"] == "NotFoundError"
    for broken in (b"{", b"[]", b'{"model":"m"}'):
        answer = replica.post(MESSAGES, broken)
        assert answer.status == 400 and answer.json()["error"]["type"] == "Bad Request"  # OpenAI's shape, here too
    assert replica.post(CHAT, b"{}", [("Content-Type", "text/plain")]).status == 400
    long = replica.chat("x" * 200_000)
    assert long.status == 400 and "maximum context length is 32768" in long.json()["error"]["message"]


def test_api_key(make_replica):
    replica = make_replica(api_key="secret")
    assert replica.post(CHAT, body("chat")).json() == {"error": "Unauthorized"}
    assert replica.get("/v1/models").status == 401
    assert replica.get("/v1/models", [("Authorization", "Bearer secret")]).status == 200
    assert replica.get("/health").status == replica.get("/metrics").status == 200


@pytest.mark.parametrize("arguments, word", [
    (["--preset", "h100"], "a4000-qwen3-4b"), (["--ranks", "0"], "ranks"), (["--block-size", "24"], "divisor"),
    (["--balancer", "best"], "waiting4"), (["--speed", "0"], "speed"), (["--listen", "nowhere"], "--listen"), (["--colour", "red"], "colour")])
def test_wrong_use(arguments, word):
    code, said = run_replica("--listen", "127.0.0.1:0", *arguments) if "--listen" not in arguments else run_replica(*arguments)
    assert code == 2 and word in said and len(said.strip().splitlines()) <= 2


# ---- ranks ----

def test_rank_header(make_replica):
    replica = make_replica(ranks=2)
    for dialect in ("chat", "completions", "messages"):
        for rank in ("0", "1", " 1"):
            answer = replica.post(path(dialect), body(dialect), [("X-data-parallel-rank", rank)])
            assert answer.header("x-replica") == f"replica/{rank.strip()}"
    before = [replica.metric("vllm:prompt_tokens_total", engine=str(r)) for r in (0, 1)]
    replica.chat(headers=[("x-data-parallel-rank", "1")])
    assert replica.metric("vllm:prompt_tokens_total", engine="0") == before[0]
    assert replica.metric("vllm:prompt_tokens_total", engine="1") > before[1]


@pytest.mark.parametrize("rank", ["2", "-1", "99"])
def test_rank_out_of_range(make_replica, rank):
    replica = make_replica(ranks=2)
    message = f"data_parallel_rank {rank} is out of range [0, 2)."
    header = [("X-data-parallel-rank", rank)]
    answer = replica.post(CHAT, body("chat"), header)
    assert answer.status == 400 and answer.json()["error"] == {"message": message, "type": "BadRequestError", "param": None, "code": 400}
    assert replica.post(MESSAGES, body("messages"), header).json() == {"type": "error", "error": {"type": "BadRequestError", "message": message}}
    streamed = replica.post(CHAT, body("chat", stream=True), header)
    assert streamed.status == 200 and sse.payloads(streamed.body)[0]["error"]["message"] == message
    assert replica.post(RESPONSES, body("responses"), header).status == 200


@pytest.mark.parametrize("rank", ["", "x", "1.0"])
def test_ranks_that_are_no_numbers_are_ignored(make_replica, rank):
    assert make_replica(ranks=2).post(CHAT, body("chat"), [("X-data-parallel-rank", rank)]).status == 200


def test_responses_ignore_the_rank(make_replica):
    replica = make_replica(ranks=4, balancer="inflight")
    ranks = {replica.post(RESPONSES, body("responses"), [("X-data-parallel-rank", "1")]).header("x-replica") for _ in range(8)}
    assert len(ranks) == 4


def test_balancers(make_replica):
    ranks = lambda replica: [replica.chat().header("x-replica")[-1] for _ in range(12)]  # noqa: E731
    assert ranks(make_replica(ranks=4, balancer="inflight")) == list("0123" * 3)  # idle ranks take turns
    dice = ranks(make_replica(ranks=4, balancer="random", seed=5))
    assert dice == ranks(make_replica(ranks=4, balancer="random", seed=5)) and len(set(dice)) > 2
    assert dice != ranks(make_replica(ranks=4, balancer="random", seed=6))


def test_same_seed_same_answers(make_replica):
    texts = lambda replica: [text_of("chat", replica.chat(t, max_tokens=9000).json()) for t in ("a", "b", "a")]  # noqa: E731
    one, again, other = (texts(make_replica(speed=100, seed=s)) for s in (1, 1, 2))
    assert one == again and one[0] == one[2] != one[1] and one != other


def test_prompt_hash(make_replica):
    """Same prompt, same hash, in every dialect; one byte more is another."""
    replica = make_replica()
    hashes = [replica.post(path(d), body(d)).header("x-prompt-hash") for d in ("chat", "messages", "responses")]
    assert len(set(hashes)) == 1 and len(hashes[0]) == 32
    assert replica.post(CHAT, body("chat", LONG + ".")).header("x-prompt-hash") != hashes[0]


# ---- what is held and let go ----

@pytest.mark.parametrize("stream", [False, True])
def test_disconnect_frees_the_blocks(make_replica, stream):
    replica = make_replica()
    connection = replica.connect()
    connection.request("POST", CHAT, body("chat", tokens=5000, stream=stream, ignore_eos=True))
    wait_until(lambda: replica.running() == 1, 5, "the request runs")
    assert replica.metric("vllm:kv_cache_usage_perc") > 0
    connection.close()
    assert elapsed(lambda: replica.wait_idle(2)) < 1
    assert replica.metric("vllm:request_success_total") == 0
    # What it had computed can still be hit.
    assert cached_tokens("chat", replica.post(CHAT, body("chat")).json()["usage"]) > 400


def test_disconnect_while_waiting(make_replica):
    replica = make_replica(max_num_seqs=1)
    running, waiting = replica.connect(), replica.connect()
    running.request("POST", CHAT, body("chat", tokens=5000, stream=True, ignore_eos=True))
    wait_until(lambda: replica.running() == 1, 5, "the first runs")
    waiting.request("POST", CHAT, body("chat", tokens=5000, stream=True, ignore_eos=True))
    wait_until(lambda: replica.metric("vllm:num_requests_waiting") == 1, 5, "the second waits")
    waiting.close()
    wait_until(lambda: replica.metric("vllm:num_requests_waiting") == 0, 2, "nobody waits")
    running.close()
    replica.wait_idle()


def test_queue_limit(make_replica):
    replica = make_replica(max_num_queued_reqs=2)
    held = [replica.connect() for _ in range(2)]
    for connection in held:
        connection.request("POST", CHAT, body("chat", tokens=5000, stream=True, ignore_eos=True))
    wait_until(lambda: replica.running() == 2, 5, "two run")
    for stream in (False, True):
        answer = replica.post(CHAT, body("chat", stream=stream))
        assert answer.status == 503 and answer.json()["error"]["type"] == "Service Unavailable"
    assert replica.metric("vllm:admission_rejections_total", reason="max_num_queued_reqs") == 2
    for connection in held:
        connection.close()
    replica.wait_idle()
    assert replica.post(CHAT, body("chat")).status == 200


def test_keep_alive_of_five_seconds(make_replica):
    replica = make_replica()
    with replica.connect() as connection:
        for _ in range(2):
            assert connection.get("/health").status == 200
        assert 4.8 < elapsed(lambda: connection.closed()) < 6


def test_many_streams_at_once(make_replica):
    replica = make_replica(ranks=4, speed=20)
    answers = []

    def stream():
        answers.append(replica.post(CHAT, body("chat", "hi", 100, stream=True)))
    threads = [threading.Thread(target=stream) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {a.ended for a in answers} == {"chunked"} and len({a.body.count(b"[DONE]") for a in answers}) == 1
    replica.wait_idle()
    assert replica.metric("vllm:generation_tokens_total") == 100 * 100


@pytest.mark.parametrize("body", [
    b'{"model":"m","messages":[{"role":"assistant","tool_calls":["x",5,{"function":"f"}]}]}',
    b'{"model":"m","messages":[{"content":' + b"[" * 500_000 + b"]" * 500_000 + b"}]}",
    b"[" * 1_000_000,
], ids=["odd tool calls", "deep content", "brackets"])
def test_odd_bodies_do_not_end_it(make_replica, body):
    """Once-found by fuzzing: these threw, or ran out of stack."""
    replica = make_replica(speed=100)
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses", "/tokenize"):
        assert replica.post(path, body).status in (200, 400)
    assert replica.chat().status == 200
