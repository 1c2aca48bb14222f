"""`record.decisions` of serve, and `warmgate replay` of what it wrote."""
import json
import subprocess

import pytest

from harness import answers
from harness.gateway import BINARY
from harness.requests import PATHS, body, session
from harness.waiting import wait_until


def replay(*arguments, timeout=60):
    return subprocess.run([str(BINARY), "replay", *map(str, arguments)], capture_output=True, text=True, timeout=timeout,
                          stdin=subprocess.DEVNULL)


def end_of(gateway, make_gateway):
    """Ends it in order, so that the recording is whole."""
    gateway.stop()
    make_gateway.made.remove(gateway)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Of agents on four simulated ranks, 20 times faster than the modelled machine, by policy sticky."""
    from harness.gateway import Gateway, pool
    from harness.replica import Replica
    folder = tmp_path_factory.mktemp("recorded")
    file = folder / "decisions.rec"
    replica = Replica(model="m", ranks=4, speed=20, network=0.2)
    try:
        gateway = Gateway(folder, [pool([replica], ranks=4, max_num_seqs=32)], arguments=["--time-scale", "20"],
                          record={"decisions": str(file)})
        done = subprocess.run([str(BINARY), "bench", "--url", gateway.url, "--sessions", "6", "--step", "120s", "--warmup", "0s",
                               "--time-scale", "20", "--json"], capture_output=True, text=True, timeout=120, check=True)
        gateway.stop()
    finally:
        replica.stop()
    return file, json.loads(done.stdout)["rows"][0]


def test_the_same_policy_decides_the_same(recording):
    file, _ = recording
    done = replay(file)
    assert done.returncode == 0, done.stderr
    assert "all decided alike" in done.stdout and not done.stderr
    page = json.loads(replay(file, "--json").stdout)
    assert page["identical"] and page["complete"] and page["decided"] > 20 and page["first_difference"] is None


def test_what_another_policy_would_have_done(recording):
    file, seen = recording
    done = replay(file, "--policy", "off,sticky", "--json")
    assert done.returncode == 0, done.stderr
    recorded, off, sticky = json.loads(done.stdout)["rows"]
    assert (recorded["target"], recorded["policy"]) == ("recorded", "sticky")
    assert (off["target"], off["policy"], sticky["policy"]) == ("predicted", "off", "sticky")
    assert recorded["turns"] == off["turns"] == sticky["turns"] >= seen["turns"]
    assert recorded["prefix_hit_share"] == pytest.approx(seen["prefix_hit_share"], abs=0.05)
    assert sticky["prefix_hit_share"] == pytest.approx(recorded["prefix_hit_share"], abs=0.05)
    assert off["prefix_hit_share"] < sticky["prefix_hit_share"] - 0.1 and off["stayed_share"] < 0.7 and sticky["stayed_share"] == 1
    table = replay(file, "--policy", "off").stdout
    for word in ("KV cache of a replica: 3.4e+04 tokens (told by the engines)", "prefill:", "learnt from", "recorded", "TTFB p50 s"):
        assert word in table


def test_a_changed_decision_is_found(recording, tmp_path):
    file, _ = recording
    lines = file.read_text().splitlines(keepends=True)
    at, old = next((n, line) for n, line in enumerate(lines) if '"dispatch 9 to replica' in line)
    number = old.split(",")[1]
    digest = old.split('"')[3]
    changed = tmp_path / "changed.rec"
    changed.write_text("".join(lines[:at]) + old.replace(digest, "0" * 16).replace("dispatch 9 to replica ", "dispatch 9 to replica 9")
                       + "".join(lines[at + 1:]))
    done = replay(changed)
    assert done.returncode == 1
    assert f"event {number} (line {at}, at" in done.stderr and "recorded: dispatch 9 to replica 9" in done.stderr
    assert "replayed: dispatch 9 to replica " in done.stderr


def test_lost_events_end_the_comparison(recording, tmp_path):
    file, _ = recording
    lines = file.read_text().splitlines(keepends=True)
    first = next(n for n, line in enumerate(lines) if line.startswith("[40,"))
    last = next(n for n, line in enumerate(lines) if line.startswith("[43,"))
    broken = tmp_path / "broken.rec"
    broken.write_text("".join(lines[:first] + lines[last:]))
    done = replay(broken)
    assert done.returncode == 1 and "39 events" in done.stdout
    assert "3 events were lost behind event 39" in done.stderr


@pytest.mark.parametrize("cut, word", [(5, "it is cut off"), (0, "line 1: the file is empty")])
def test_a_truncated_file(recording, tmp_path, cut, word):
    file, _ = recording
    text = file.read_text()
    short = tmp_path / "short.rec"
    short.write_text(text[:-cut] if cut else "")
    done = replay(short)
    lines = text.count("\n")
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1
    assert cut == 0 or f"line {lines}:" in done.stderr


@pytest.mark.parametrize("spoil, word", [
    (lambda lines: lines.__setitem__(6, "nonsense\n"), "line 7: no whole JSON array"),
    (lambda lines: lines.__setitem__(0, '["warmgate-recording",99]\n'), "version 99"),
    (lambda lines: lines.insert(0, "\x00\x01\n"), "line 1: ")])
def test_a_corrupt_file(recording, tmp_path, spoil, word):
    file, _ = recording
    lines = file.read_text().splitlines(keepends=True)
    spoil(lines)
    corrupt = tmp_path / "corrupt.rec"
    corrupt.write_text("".join(lines))
    done = replay(corrupt)
    assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments, word", [
    (["nowhere.rec"], "nowhere.rec cannot be read"), ([], "FILE"),
    (["x", "--preset", "none"], "a4000-qwen3-4b"), (["x", "--policy", "stiky"], "stiky")])
def test_wrong_use(arguments, word):
    done = replay(*arguments)
    assert done.returncode == 2 and word in done.stderr


def test_no_text_of_clients_is_recorded(make_engine, make_gateway, tmp_path):
    file = tmp_path / "decisions.rec"
    gateway = make_gateway([make_engine()], record={"decisions": str(file)})
    for secret in ("alpha-secret", "beta-secret"):
        answer = gateway.post(PATHS["chat"], body("chat", text="tell me of " + secret), session(secret))
        assert answer.status == 200
    end_of(gateway, make_gateway)
    text = file.read_text()
    assert "secret" not in text and "tell me" not in text and '"arrived"' in text
    assert replay(file).returncode == 0


def test_retries_and_a_policy_switch_replay_too(make_engine, make_gateway, tmp_path):
    file = tmp_path / "decisions.rec"
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, record={"decisions": str(file)})
    for n in range(6):
        engines[n % 2].script(answers.status(503))
        gateway.post(PATHS["chat"], body("chat"), session(f"s{n % 3}"))
    gateway.set_policy("m", "least")
    engines[0].down()
    wait_until(lambda: sum(r["healthy"] for r in gateway.replicas()) == 1, 20)
    gateway.post(PATHS["chat"], body("chat"), session("s0"))
    engines[0].up()
    gateway.wait_healthy()
    end_of(gateway, make_gateway)
    done = replay(file)
    assert done.returncode == 0 and "all decided alike" in done.stdout, done.stderr


def test_a_file_that_cannot_be_written(make_engine, tmp_path):
    config = tmp_path / "w.yaml"
    config.write_text(json.dumps({"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "record": {"decisions": "/nowhere/x.rec"},
                                  "pools": [{"model": "m", "engines": [make_engine().url]}]}))
    done = subprocess.run([str(BINARY), "serve", "--config", str(config)], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "/nowhere/x.rec cannot be written" in done.stderr
