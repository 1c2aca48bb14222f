"""`warmgate bench` against two real llama.cpp servers, bare and behind a gateway: what it reports is what the gateway counted."""
import json
import subprocess

import pytest

from harness.gateway import BINARY
from harness.llama import MODEL

pytestmark = [pytest.mark.llama, pytest.mark.timeout(300)]
STEP_S = 30  # two loaded cores read a first prompt in ten


def bench(*arguments):
    done = subprocess.run([str(BINARY), "bench", "--scale", "0.01", "--json", *arguments], capture_output=True, text=True, timeout=240,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_two_policies_on_two_servers(llamas, make_gateway):
    # Three sessions may meet on one of two servers, and by default a server with two slots is left at its second request.
    gateway = make_gateway(llamas, model=MODEL, spill=100)
    page = bench("--url", gateway.url, "--admin", gateway.admin, "--compare", "round-robin,sticky", "--sessions", "3", "--step", f"{STEP_S}s",
                 "--warmup", "2s")
    turning, sticky = page["rows"]
    for row in (turning, sticky):
        assert row["failures"] == 0 and row["turns"] > 3 and row["ttfb_p50_s"] > 0 and row["output_tokens_per_min"] > 0
        assert 0 < row["replicas_busy"] <= 2
    assert sticky["stayed_share"] == 1 and turning["stayed_share"] < 0.9
    assert sticky["prefix_hit_share"] > turning["prefix_hit_share"]
    target = page["targets"][0]
    assert target["model"] == MODEL and target["prefix_hits_from"] == "engines" and target["engines"] == 2
    assert target["bytes_per_token_measured"] and 1 < target["bytes_per_token"] < 5  # syllables are short tokens


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_it_counts_what_the_gateway_counts(llamas, make_gateway, dialect):
    gateway = make_gateway(llamas, model=MODEL)
    page = bench("--url", gateway.url, "--sessions", "2", "--step", f"{STEP_S}s", "--warmup", "0s", "--dialect", dialect)
    row, bytes_per_token = page["rows"][0], page["targets"][0]["bytes_per_token"]
    gateway.wait_idle()
    cached, computed = (gateway.metric("warmgate_prompt_tokens_total", kind=kind) for kind in ("cached", "computed"))
    computed -= 3600 / bytes_per_token + 60  # its own two questions, and the templates around them
    assert row["prefix_hit_share"] == pytest.approx(cached / (cached + computed), abs=0.06)
    output = gateway.metric("warmgate_output_tokens_total")
    assert row["output_tokens_per_min"] / 60 * STEP_S == pytest.approx(output, rel=0.3)
    requests = sum(replica["requests"] for replica in gateway.replicas())
    assert row["turns"] <= requests <= row["turns"] + 2 + 2  # ... and two turns were cut off at the end


def test_a_bare_server(llamas):
    page = bench("--url", llamas[0].url, "--sessions", "1", "--step", f"{STEP_S}s", "--warmup", "0s")
    row = page["rows"][0]
    assert row["turns"] > 1 and row["failures"] == 0 and row["policy"] == "-"
    assert row["stayed_share"] is None  # nobody told
    assert row["prefix_hit_share"] > 0 and page["targets"][0]["prefix_hits_from"] == "engines"
