"""The command line: help, exit codes, `check`, and how `serve` starts and ends."""
import signal
import socket
import subprocess
import threading

import pytest

from harness import answers
from harness.gateway import BINARY
from harness.requests import PATHS, body
from harness.waiting import wait_until


def run(*arguments, timeout=30):
    return subprocess.run([str(BINARY), *map(str, arguments)], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["check", "--help"]])
def test_help_has_examples(arguments):
    done = run(*arguments)
    assert done.returncode == 0 and "xample" in done.stdout


@pytest.mark.parametrize("arguments", [["nonsense"], ["serve", "--nonsense"], ["serve"], ["check"], ["serve", "--engine", "ftp://x"],
                                       ["serve", "--engine", "http://127.0.0.1:1", "--policy", "fastest"],
                                       ["serve", "--engine", "http://127.0.0.1:1", "--listen", "nowhere"]])
def test_wrong_use_is_exit_code_2(arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stderr.strip()


GOOD = """\
listen: 127.0.0.1:0
pools:
  - model: m
    aliases: [claude-*]
    routing: {policy: sticky, spill: {threshold: auto}}
    engines:
      - {name: box1, url: "http://127.0.0.1:8000", max_num_seqs: 32}
"""


def test_check_of_a_good_file(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    assert run("check", file).returncode == 0


@pytest.mark.parametrize("line, old, new, words", [
    (5, "policy: sticky", "policy: stiky", ["policy", "stiky", "sticky", "round-robin"]),
    (5, "routing", "routign", ["routign", "routing"]),
    (1, "listen", "lissen", ["lissen", "listen"]),
    (7, "max_num_seqs: 32", "max_num_seqs: many", ["max_num_seqs", "many"]),
    (7, "http://127.0.0.1:8000", "https://127.0.0.1:8000", ["url", "https"]),
    (1, "127.0.0.1:0", "127.0.0.1:99999", ["listen"]),
])
def test_check_says_line_key_and_nearest(tmp_path, line, old, new, words):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace(old, new, 1))
    done = run("check", file)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and f"bad.yaml:{line}:" in said, said
    for word in words:
        assert word in said


def test_check_of_a_missing_file(tmp_path):
    done = run("check", tmp_path / "none.yaml")
    assert done.returncode in (1, 2) and "none.yaml" in done.stdout + done.stderr


def test_serve_refuses_a_bad_file(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(GOOD.replace("sticky", "stiky"))
    done = run("serve", "--config", file)
    assert done.returncode in (1, 2) and "stiky" in done.stderr


def test_serve_says_that_its_port_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = run("serve", "--engine", "http://127.0.0.1:1", "--listen", address, "--admin", "127.0.0.1:0")
    assert done.returncode == 1 and address in done.stderr


def test_prints_one_line_when_ready(one):
    gateway, _ = one
    assert [l for l in gateway.output if l.startswith("listening on ")] == [f"listening on {gateway.url} admin {gateway.admin}\n"]
    assert len(gateway.output) == 1


def test_sigterm_lets_requests_end(one):
    """Drain: new connections are refused, the request under way gets its whole answer."""
    gateway, engine = one
    gate = threading.Event()
    engine.script(answers.normal(gate=gate))
    with gateway.connect() as connection:
        answer = connection.request("POST", PATHS["chat"], body("chat", stream=True)).answer().read_until(b"one")
        gateway.process.send_signal(signal.SIGTERM)

        def refuses():
            try:
                gateway.connect().close()
                return False
            except OSError:
                return True
        wait_until(refuses)
        assert gateway.process.poll() is None
        gate.set()
        assert answer.read_all().ended == "chunked" and b"[DONE]" in answer.body
    assert gateway.process.wait(10) == 0
    gateway.stop = lambda: None  # it has ended, as it should


def test_several_threads(make_engine, make_gateway):
    engines = [make_engine(), make_engine()]
    gateway = make_gateway(engines, arguments=["--threads", "3"])
    results = []

    def client(n):
        with gateway.connect() as connection:
            for turn in range(20):
                results.append(connection.post(PATHS["chat"], body("chat", stream=turn % 2 == 0, text=f"c{n}")).status)
    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [200] * 160
