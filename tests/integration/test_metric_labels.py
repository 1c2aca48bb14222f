"""What clients and engines send never becomes a metric's label: no hostile name, header or path adds a series."""
import json
import re

from harness import answers
from harness.requests import DIALECTS, PATHS, body, session

WORDS = ["evil", 'evil"quote', "evil\\slash", "evil{x=\"1\"}", "e" * 3000 + "evil", "evil-\u00e9\u4e2d"]


def series(gateway):
    return {line.rsplit(" ", 1)[0] for line in gateway.metrics().splitlines() if line and not line.startswith("#")}


def everything(gateway, engine, word):
    """Each place where a client or an engine can put a word, once in each dialect."""
    latin = word.encode("utf-8").decode("latin-1")
    url = re.sub(r"[^!-~]", "%", word)[:200]
    for dialect in DIALECTS:
        path = PATHS[dialect]
        gateway.post(path, body(dialect, word, model=word))
        gateway.post(path, body(dialect, word, model="alias-" + word))
        gateway.post(path, body(dialect, word, stream=True), session(latin))
        gateway.post(path + "?" + url, body(dialect, word), [("User-Agent", latin), ("X-Request-Id", latin), ("X-Evil", latin), ("Authorization", "Bearer " + latin)])
        gateway.post(path, body(dialect, word, user=word, metadata={"user_id": word}, **{word: 1}), [("anthropic-version", latin)])
        gateway.post(path, b"{" + word.encode())
        engine.script(answers.status(418, word.encode()))
        gateway.post(path, body(dialect))
        said = json.dumps({"id": word, "model": word, "stop_reason": word, "status": word, "choices": [{"finish_reason": word, "message": {"role": word}}]}).encode()
        engine.script(answers.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(said) + said))
        gateway.post(path, body(dialect))
    for target in (f"/{url}", f"/v1/models/{url}", f"/v1/responses/{url}", f"/v1/{url}/completions"):
        gateway.get(target)
        gateway.post(target, b"{}")
    with gateway.connect() as connection:
        connection.send(f"{url[:20]} /x HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        connection.answer().read_all()


def test_no_word_of_a_client_is_a_label(make_engine, make_gateway):
    engine = make_engine()
    gateway = make_gateway([engine], aliases=["alias-*"])
    everything(gateway, engine, "plain")
    before = series(gateway)
    for word in WORDS:
        everything(gateway, engine, word)
        everything(gateway, engine, word + "2")
    after = series(gateway)
    assert after == before
    assert not [line for line in after if "evil" in line or "plain" in line]
