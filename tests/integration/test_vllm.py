"""A real vLLM with two data-parallel ranks behind one port: the product's reason. Run by ./dev test --vllm."""
import pytest

from harness import sdk, sse
from harness.gateway import Gateway, pool
from harness.requests import DIALECTS, DONE, PATHS, body, is_error, session
from harness.vllm import MODEL, VllmServer
from harness.waiting import elapsed, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]
STEERED = ["chat", "completions", "messages"]
WORDS = "the tide comes in and the tide goes out again, and the keeper counts the ships along the bay; "


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = VllmServer(tmp_path_factory.mktemp("vllm") / "vllm.log")
    try:
        made.wait_ready()
        yield made
    finally:
        made.stop()


@pytest.fixture
def gateway(server, make_gateway):
    return make_gateway({"v": server}, model=MODEL)


def long_stream(gateway, dialect, key, tokens=3000):
    """A stream that goes on for many seconds, its first content read: (connection, answer)."""
    limit = "max_output_tokens" if dialect == "responses" else "max_tokens"
    extra = {} if dialect in ("responses", "messages") else {"ignore_eos": True}
    connection = gateway.connect(timeout=60)
    connection.request("POST", PATHS[dialect], body(dialect, text=f"{key}: go on for ever", stream=True, model=MODEL, **{limit: tokens}, **extra),
                       session(key))
    answer = connection.answer()
    assert answer.status == 200, answer.read_all().body
    while len(sse.split(answer.body)) < 12:
        assert answer.read_piece(), answer.body
    return connection, answer


def test_both_ranks_are_found(gateway):
    rows = gateway.replicas()
    assert [r["id"] for r in rows] == ["tiny/v/0", "tiny/v/1"]
    assert all(r["kv_tokens"] == 512 * 32 for r in rows), rows
    assert "--enable-p" not in gateway.log()  # it is well set up: no advice


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", STEERED)
def test_turns_go_to_their_rank(gateway, server, dialect, stream):
    """Seen in the engine's own counters: each turn's prompt was read by the rank that the gateway names, by no other."""
    talks = {name: sdk.Conversation(gateway.url, MODEL, dialect, stream, WORDS * 6 + f"The visitor is {name}, {dialect}, {stream}.",
                                    f"{name}-{dialect}-{stream}") for name in ("Ada", "Bert")}
    homes = {}
    for number in range(4):
        for name, talk in talks.items():
            before = server.counter("prompt_tokens_total")
            turn = talk.say(f"Question {number}: and then?")
            rank = int(turn.replica.rsplit("/", 1)[1])
            assert homes.setdefault(name, rank) == rank
            assert turn.route == ("sticky" if number else "placed")
            grown = wait_until(lambda: {r: v - before[r] for r, v in server.counter("prompt_tokens_total").items() if v != before[r]})
            assert set(grown) == {rank}, (turn.replica, grown)
            assert (turn.cached > 0) or number == 0, turn
    assert sorted(homes.values()) == [0, 1]
    for talk in talks.values():
        talk.close()


def test_cached_tokens_are_counted_as_the_engine_counts_them(gateway, server):
    before = server.counter("prefix_cache_hits_total")
    talk = sdk.Conversation(gateway.url, MODEL, "messages", True, WORDS * 8 + "Counting.", "counting")
    turns = [talk.say(f"Number {n}?") for n in range(4)]
    talk.close()
    gateway.wait_idle()
    hits = sum(server.counter("prefix_cache_hits_total").values()) - sum(before.values())
    assert hits == sum(t.cached for t in turns) == gateway.metric("warmgate_prompt_tokens_total", kind="cached")


def test_responses_are_not_steered(gateway):
    for n in range(2):
        answer = gateway.post(PATHS["responses"], body("responses", model=MODEL), session("r"))
        assert answer.status == 200 and answer.header("x-warmgate-route") == "unsteered"
    assert gateway.turns("unsteered") == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_aborted_stream_leaves_the_engine_within_a_second(gateway, server, dialect):
    connection, answer = long_stream(gateway, dialect, f"abort-{dialect}")
    wait_until(lambda: sum(server.counter("num_requests_running").values()) >= 1)
    connection.close()
    took = elapsed(lambda: wait_until(lambda: sum(server.counter("num_requests_running").values()) == 0, 5))
    assert took < 1.0, took
    gateway.wait_idle()


def test_abort_in_a_body_that_is_not_streamed(gateway, server):
    connection = gateway.connect()
    connection.request("POST", PATHS["chat"], body("chat", model=MODEL, text="long", max_tokens=3000, ignore_eos=True), session("n"))
    wait_until(lambda: sum(server.counter("num_requests_running").values()) == 1)
    connection.close()
    assert elapsed(lambda: wait_until(lambda: sum(server.counter("num_requests_running").values()) == 0, 5)) < 1.0


def test_engine_errors_pass(gateway):
    answer = gateway.post(PATHS["chat"], body("chat", model=MODEL, text="word " * 6000))
    assert answer.status == 400 and "4096" in answer.json()["error"]["message"]


@pytest.fixture
def own_server(server):
    """The same server, which this test may break; whoever comes later finds it running again."""
    yield server
    if server.process.poll() is not None:
        server.start()
        server.wait_ready()


def test_one_rank_killed_every_client_sees_an_error_and_it_recovers(own_server, tmp_path):
    """The group dies with one rank. What vLLM 0.32 itself sends then: on the killed rank an error event and a clean end; on
    the other a clean end with finish reason "abort" (messages: stop_reason null); on responses the connection is cut."""
    folder = tmp_path / "gateway"
    folder.mkdir()
    gateway = Gateway(folder, [pool({"v": own_server}, model=MODEL)])
    try:
        streams = [(dialect, *long_stream(gateway, dialect, f"kill-{dialect}-{n}")) for n in range(2) for dialect in DIALECTS]
        ranks = {a.header("x-warmgate-replica") for _, _, a in streams}
        assert {"tiny/v/0", "tiny/v/1"} <= ranks
        own_server.kill_core(1)
        for dialect, connection, answer in streams:
            answer.read_all()
            if dialect == "responses" and answer.ended == "chunked":
                # vLLM 0.32 may say "completed" of a response that its dying neighbour cut short: nothing tells it from a good one.
                assert sse.payloads(answer.body)[-1]["type"] == "response.completed"
                continue
            assert answer.ended == "cut", (dialect, answer.header("x-warmgate-replica"), answer.body[-600:])
            assert DONE[dialect] not in answer.body and b'"abort"' not in answer.body
            assert is_error(dialect, sse.payloads(answer.body)[-1]), answer.body[-600:]
            connection.close()
        gateway.wait_idle()
        assert not any(r["healthy"] for r in gateway.replicas())
        own_server.wait_gone()
        refused = gateway.post(PATHS["chat"], body("chat", model=MODEL), session("kill-chat-0"))
        assert refused.status == 503 and 1 <= int(refused.header("retry-after")) <= 30
        own_server.start()
        own_server.wait_ready()
        gateway.wait_healthy()
        assert gateway.post(PATHS["chat"], body("chat", model=MODEL), session("kill-chat-0")).status == 200
    finally:
        gateway.stop()
