"""Each way in which the simulated vLLM fails on demand, ordered by request header and by POST /fault."""
import pytest

from harness import sse
from harness.waiting import elapsed, wait_until

CHAT = "/v1/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 20}
STREAM = {**BODY, "stream": True}


def started(replica, fault=None, body=STREAM, timeout=10):
    """A connection with the request sent."""
    connection = replica.connect(timeout)
    return connection.request("POST", CHAT, body, [("x-fault", fault)] if fault else [])


def content(answer):
    return [c["delta"]["content"] for e in sse.payloads(answer.body) if isinstance(e, dict) and "choices" in e
            for c in e["choices"] if c["delta"].get("content")]


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_reset_before_the_head(make_replica, body):
    replica = make_replica()
    with pytest.raises(ConnectionResetError):
        started(replica, "reset-before-head", body).answer()
    replica.wait_idle()
    assert replica.fault_counts() == {"reset-before-head": 1}


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_reset_after_the_head(make_replica, body):
    answer = started(make_replica(), "reset-after-head", body).answer()
    assert answer.status == 200 and answer.read_all().ended == "cut" and answer.body == b""


@pytest.mark.parametrize("kind", ["stall-head", "stall-first", "stall-mid"])
@pytest.mark.parametrize("body", [BODY, STREAM])
def test_stalls_end_with_the_client(make_replica, kind, body):
    replica = make_replica()
    connection = started(replica, kind, body, timeout=0.7)
    with pytest.raises(TimeoutError):
        connection.answer().read_all()
    connection.close()
    replica.wait_idle()


@pytest.mark.parametrize("kind", ["stall-head", "stall-first", "stall-mid"])
@pytest.mark.parametrize("body", [BODY, STREAM])
def test_stalls_for_a_while(make_replica, kind, body):
    answer = []
    replica = make_replica(speed=10)
    assert elapsed(lambda: answer.append(started(replica, f"{kind}; for_s=5", body).answer().read_all())) > 0.5
    assert answer[0].ended in ("chunked", "length")
    replica.wait_idle()


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_dies_in_mid_stream(make_replica, body):
    answer = started(make_replica(), "die-mid; after_tokens=3", body).answer().read_all()
    assert answer.status == 200 and answer.ended == "cut"
    assert body is BODY or len("".join(content(answer))) == 12  # three tokens


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_error_statuses(make_replica, body):
    replica = make_replica()
    five = started(replica, "status-500", body).answer().read_all()
    assert five.status == 500 and five.json()["error"]["type"] == "InternalServerError"
    html = started(replica, "html-error", body).answer().read_all()
    assert html.status == 502 and html.header("content-type") == "text/html" and b"Bad Gateway" in html.body


def test_error_as_first_event(make_replica):
    replica = make_replica()
    answer = started(replica, "error-first").answer().read_all()
    assert answer.status == 200 and "error" in sse.payloads(answer.body)[0]
    messages = replica.post("/v1/messages", STREAM, [("x-fault", "error-first")])
    assert messages.body.startswith(b"event: error\n")


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_broken_framing(make_replica, body):
    replica = make_replica()
    wrong = started(replica, "wrong-length", body).answer().read_all()
    assert wrong.ended == "cut" and int(wrong.header("content-length")) > len(wrong.body) > 100
    cut = started(replica, "truncated-chunk", body).answer()
    assert cut.header("transfer-encoding") == "chunked" and cut.read_all().ended == "cut"


@pytest.mark.parametrize("body", [BODY, STREAM])
def test_slow_first_byte(make_replica, body):
    replica = make_replica()
    connection = started(replica, "slow-first-byte; delay_s=1", body)
    assert elapsed(lambda: connection.answer()) > 0.95


def test_refuse(make_replica):
    replica = make_replica()
    running = started(replica, body={**STREAM, "max_tokens": 60}).answer().read_until(b"content")
    idle = replica.connect()
    assert idle.get("/health").status == 200
    replica.fault("refuse", for_s=1)
    assert replica.refuses() and idle.closed()
    assert running.read_all().ended == "chunked"  # what runs goes on
    wait_until(lambda: not replica.refuses(), 5, "it is back")
    assert replica.chat().status == 200 and replica.fault_counts() == {"refuse": 1}


def test_dies_as_a_group(make_replica):
    """As seen on vLLM: the other rank's streams end like good ones, but for `abort`; /health lies for five seconds."""
    replica = make_replica(ranks=2, speed=5)  # all times of faults are the model's: five seconds are one here
    kept = {**STREAM, "max_tokens": 5000, "ignore_eos": True}
    streams = [replica.connect().request("POST", CHAT, kept, [("X-data-parallel-rank", str(rank))]).answer() for rank in (0, 1)]
    whole = replica.connect().request("POST", CHAT, {**kept, "stream": False}, [("X-data-parallel-rank", "0")])
    messages = replica.connect().request("POST", "/v1/messages", kept, [("X-data-parallel-rank", "0")]).answer()
    for stream in (*streams, messages):
        stream.read_until(b"content")
    wait_until(lambda: replica.running() == 4, 5, "all four run")
    replica.fault("die-group", rank=1, for_s=5)
    for stream in (*streams, messages):
        assert stream.read_all().ended == "chunked"
    assert sse.payloads(streams[0].body)[-2]["choices"][0]["finish_reason"] == "abort"
    assert sse.payloads(streams[1].body)[-2]["error"]["code"] == 500
    assert b'"stop_reason":null' in sse.split(messages.body)[-2]
    assert whole.answer().read_all().json()["choices"][0]["finish_reason"] == "abort"
    assert replica.get("/health").status == 200 and replica.chat().status == 500
    wait_until(replica.refuses, 5, "connections are refused")
    wait_until(lambda: not replica.refuses(), 5, "it is back")
    assert replica.chat().status == 200 and replica.metric("vllm:prompt_tokens_total") < 100


def test_dies_as_a_group_by_header(make_replica):
    replica = make_replica(speed=10)
    answer = started(replica, "die-group; after_tokens=2; for_s=1").answer().read_all()
    assert "error" in sse.payloads(answer.body)[-2]
    wait_until(replica.refuses, 5, "connections are refused")


def test_restarts_cold(make_replica):
    replica = make_replica()
    long = "word " * 400
    replica.chat(long)
    assert replica.chat(long).json()["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    running = started(replica, body={**STREAM, "max_tokens": 200}).answer().read_until(b"content")
    replica.fault("cold-restart", for_s=0.3)
    assert running.read_all().ended == "cut"
    wait_until(lambda: not replica.refuses(), 5, "it is back")
    assert replica.chat(long).json()["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_comes_back_with_another_model(make_replica):
    replica = make_replica()
    replica.fault("other-model", for_s=0.2, model="n")
    wait_until(replica.refuses, 5, "connections are refused")
    wait_until(lambda: not replica.refuses(), 5, "it is back")
    assert replica.get("/v1/models").json()["data"][0]["id"] == "n"
    assert replica.chat().status == 404


def test_orders_are_seeded_and_counted(make_replica):
    def hits(seed):
        replica = make_replica(speed=50, ranks=2)
        replica.fault("status-500", share=0.5, count=1000, seed=seed)
        return [replica.chat().status for _ in range(20)], replica.fault_counts()["status-500"]
    one, counted = hits(1)
    assert one == hits(1)[0] != hits(2)[0] and counted == one.count(500)


def test_orders_for_one_rank(make_replica):
    replica = make_replica(ranks=2)
    replica.fault("status-500", rank=1, count=2)
    statuses = [replica.chat(headers=[("X-data-parallel-rank", r)]).status for r in "001011"]
    assert statuses == [200, 200, 500, 200, 500, 200]
    replica.fault("status-500", count=5)
    with replica.connect() as connection:
        connection.exchange("DELETE", "/fault")
    assert replica.chat().status == 200


@pytest.mark.parametrize("order, word", [({}, "kind"), ({"kind": "explode"}, "die-group"), ({"kind": "die-mid", "rank": 9}, "rank"),
                                         ({"kind": "die-mid", "when": 1}, "when")])
def test_wrong_orders(make_replica, order, word):
    replica = make_replica()
    answer = replica.post("/fault", order)
    assert answer.status == 400 and word in answer.json()["error"]
    assert replica.chat(headers=[("x-fault", "explode")]).status == 400


def test_no_admin(make_replica):
    replica = make_replica(no_admin=True)
    assert replica.get("/fault").status == 404
    assert replica.chat(headers=[("x-fault", "status-500"), ("x-output-tokens", "3")]).json()["usage"]["completion_tokens"] == 8
