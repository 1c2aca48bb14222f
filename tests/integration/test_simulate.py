"""`warmgate simulate` as somebody at a shell meets it: tables, JSON, the page, and one clear line for each mistake."""
import json
import re
import resource
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.gateway import BINARY

TRACE = Path(__file__).resolve().parents[2] / "data" / "traces" / "claude-code-sessions.jsonl"
ROW = ["target", "policy", "sessions", "sessions_per_hour", "output_tokens_per_min", "ttfb_p50_s", "ttfb_p95_s", "ttfb_mean_s", "replicas_busy",
       "prefix_hit_share", "stayed_share", "session_time_p50_s", "session_time_p95_s", "wait_p95_s", "preemptions", "failures", "turns"]
QWEN3_4B = dict(model_type="qwen3", hidden_size=2560, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128,
                intermediate_size=9728, vocab_size=151936, max_position_embeddings=40960, tie_word_embeddings=True, torch_dtype="bfloat16")


def simulate(*arguments):
    return subprocess.run([str(BINARY), "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def rows(*arguments):
    done = simulate(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def refused(*arguments):
    """Exit 2 with one line on stderr and nothing on stdout."""
    done = simulate(*arguments)
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("warmgate simulate: "), done.stderr
    return done.stderr


def test_one_command_prints_the_table():
    done = simulate("--policies", "off,hash,sticky", "--sessions", "4,8")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for column in ("sessions/h", "output tok/min", "TTFB p50 s", "TTFB p95 s", "replicas busy", "prefix hits %", "stayed %"):
        assert column in lines[0]
    assert [line.split()[:2] for line in lines[1:]] == [[p, n] for p in ("off", "hash", "sticky") for n in ("4", "8")]
    assert simulate("--policies", "off,hash,sticky", "--sessions", "4,8").stdout == done.stdout, "the same twice"


def test_json_has_the_fixed_names():
    (row,) = rows("--policies", "sticky", "--sessions", "4", "--step", "30s")
    assert list(row) == ROW
    assert 0 <= row["prefix_hit_share"] <= 1 and row["stayed_share"] == 1 and row["failures"] == 0
    (row,) = rows("--policies", "off", "--sessions", "4", "--step", "30s", "--seeds", "3")
    for name in ROW[3:]:
        assert row[name + "_min"] <= row[name] <= row[name + "_max"] or row[name] == pytest.approx(row[name + "_min"])


def test_spread_is_shown_with_several_seeds():
    lines = simulate("--policies", "off", "--sessions", "4", "--step", "30s", "--seeds", "2").stdout.splitlines()
    assert lines[2].split()[0] == "least" and lines[3].split()[0] == "most"


def test_the_reference_table_takes_seconds():
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    assert simulate().returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 5, f"{time.monotonic() - began:.1f} s on the wall"


def test_mix_has_agents_and_humans():
    agents, mix = rows("--policies", "sticky", "--sessions", "8"), rows("--policies", "sticky", "--sessions", "8", "--workload", "mix")
    assert mix[0]["turns"] < agents[0]["turns"], "humans take their time"


def test_real_pauses_and_their_cap():
    free, capped = (rows("--policies", "sticky", "--sessions", "8", "--step", "10m", "--think", "real", *cap)[0]
                    for cap in ([], ["--cap-think", "3s"]))
    assert capped["turns"] > 1.5 * free["turns"]


def test_recorded_sessions():
    done = rows("--workload", f"trace:{TRACE}", "--scale", "0.125", "--cap-think", "10s", "--policies", "off,sticky", "--sessions", "4", "--step", "5m")
    off, sticky = done
    assert sticky["turns"] > 20 and sticky["failures"] == 0
    assert sticky["prefix_hit_share"] > off["prefix_hit_share"] + 0.2


def test_says_how_many_recorded_turns_are_cut():
    done = simulate("--workload", f"trace:{TRACE}", "--policies", "sticky", "--sessions", "1", "--step", "10s")
    assert done.returncode == 0 and re.search(r"note: \d+\.\d % of the trace's turns are longer", done.stderr)


def test_warm_caches_of_the_policy_before():
    kept, cold = (rows("--policies", "off,sticky", "--sessions", "4", "--step", "60s", *flag) for flag in (["--keep-cache"], []))
    assert kept[0] == cold[0], "the first begins cold in any case"
    assert kept[1]["prefix_hit_share"] > cold[1]["prefix_hit_share"]


def test_spill_threshold():
    low, auto = (rows("--policies", "sticky", "--sessions", "10", "--think", "exp:3s", "--step", "60s", *n)[0]["stayed_share"]
                 for n in (["--spill-threshold", "1"], []))
    assert low < 1 and auto == 1


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href", "data", "action")]

    def handle_data(self, data):
        self.text.append(data.strip())


def test_the_page_needs_nothing_else(tmp_path):
    file = tmp_path / "report.html"
    done = simulate("--policies", "off,sticky", "--sessions", "4,8", "--step", "60s", "--seeds", "2", "--html", file)
    assert done.returncode == 0, done.stderr
    text = file.read_text()
    page = Page(text)
    assert page.addresses == [] and "script" not in page.tags and "//" not in text
    assert page.tags.count("svg") >= 6 + 2 * 2 * 2, "six charts, and two for each run over time"
    (off, *_) = rows("--policies", "off,sticky", "--sessions", "4,8", "--step", "60s", "--seeds", "2")
    assert f"{100 * off['prefix_hit_share']:.1f}" in page.text and f"{off['ttfb_p95_s']:.2f}" in page.text, "every figure is in the table"
    assert simulate("--sessions", "4", "--step", "10s", "--html", tmp_path / "no" / "where.html").returncode == 1


def config_file(tmp_path, **changes):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({name: value for name, value in {**QWEN3_4B, **changes}.items() if value is not None}))
    return file


def test_a_model_from_its_config(tmp_path):
    done = simulate("--model-config", config_file(tmp_path), "--card-memory", "16GiB", "--policies", "sticky", "--sessions", "4", "--step", "30s")
    assert done.returncode == 0, done.stderr
    assert "147456 bytes of KV a token" in done.stderr
    assert 38_000 < int(re.search(r"(\d+) tokens of KV a replica", done.stderr)[1]) < 43_000


def test_models_that_cannot_be_computed(tmp_path):
    card = ["--card-memory", "16GiB"]
    assert "num_attention_heads is missing" in refused("--model-config", config_file(tmp_path, num_attention_heads=None), *card)
    hybrid = config_file(tmp_path, layer_types=["linear_attention"] * 27 + ["full_attention"] * 9)
    assert "27 of its 36 layers are linear_attention" in refused("--model-config", hybrid, *card)
    assert "sliding window" in refused("--model-config", config_file(tmp_path, sliding_window=4096), *card)
    assert "MLA" in refused("--model-config", config_file(tmp_path, kv_lora_rank=512), *card)
    assert "no room for KV" in refused("--model-config", config_file(tmp_path), "--card-memory", "8GiB")
    assert "go together" in refused("--model-config", config_file(tmp_path))
    assert "is no size" in refused("--model-config", config_file(tmp_path), "--card-memory", "16")
    assert "cannot read" in refused("--model-config", tmp_path / "none.json", *card)


def test_a_machine_in_yaml(tmp_path):
    file = tmp_path / "machine.yaml"
    file.write_text("base: a4000-qwen3-4b\nname: mine\nreplicas: 2\nkv_tokens: 68000\nload: {turns: 3}\n")
    (row,) = rows("--config", file, "--policies", "sticky", "--sessions", "4", "--step", "60s")
    assert row["target"] == "mine-dp2" and row["replicas_busy"] <= 2
    file.write_text("base: a4000-qwen3-4b\nkv_token: 68000\n")
    assert "line 2: kv_token: unknown key" in refused("--config", file)
    assert "give one of them" in refused("--config", file, "--preset", "a4000-qwen3-4b-dp4")


@pytest.mark.parametrize("arguments, words", [
    (["--preset", "h100"], ["unknown preset 'h100'", "a4000-qwen3-4b", "rtx5090-27b"]),
    (["--preset", "a4000-qwen3-4b-dp0"], ["-dp", "1 to 999"]),
    (["--policies", "fastest"], ["no policy 'fastest'", "sticky", "round-robin"]),
    (["--sessions", "0"], ["'0'", "from 1"]),
    (["--sessions", "4,,8"], ["''", "from 1"]),
    (["--step", "3"], ["'3' is no time"]),
    (["--step", "0s"], ["longer than nothing"]),
    (["--think", "fast"], ["'fast' is no think time"]),
    (["--think", "exp:2s", "--workload", "mix"], ["mix has its own pauses"]),
    (["--workload", "chat"], ["unknown workload 'chat'", "agent, mix, trace:FILE"]),
    (["--workload", "trace:/no/where"], ["cannot read /no/where"]),
    (["--scale", "9"], ["--scale makes sessions shorter"]),
    (["--spill-threshold", "0"], ["must be auto or a number from 1"]),
])
def test_mistakes(arguments, words):
    line = refused(*arguments)
    assert all(word in line for word in words), line


@pytest.mark.parametrize("broken, words", [
    ('{"turns":[[0,100,10,0,1]', ["line 3: "]),
    ('{"turns":[[0,100,10,0,1]],"speed":1}', ["line 3: unknown column 'speed'; known are session, model"]),
    ('{"turns":[[0,100,10,0]]}', ["line 3: turn 1 has 4 numbers"]),
    ('{"turns":[]}', ["line 3: it has no turns"]),
])
def test_a_trace_with_a_broken_line_stops_before_it_starts(tmp_path, broken, words):
    file = tmp_path / "trace.jsonl"
    good = '{"session":"a","turns":[[0,100,10,0,1],[2,140,10,100,1]]}\n'
    file.write_text(good * 2 + broken + "\n" + good)
    line = refused("--workload", f"trace:{file}")
    assert all(word in line for word in [str(file), *words]), line


def test_advice_on_planned_sizes():
    told = rows("--advise", "--sessions", "8,16")
    assert [row["sessions"] for row in told] == [8, 16]
    assert told[0]["kv_tokens"] == 4 * 34000 and told[0]["sessions_fit"] == 13
    assert told[0]["replicas_for_all"] <= 4 < told[1]["replicas_for_all"]
    assert "fp8 KV would fit 26" in told[1]["advice"]
    words = simulate("--advise", "--sessions", "16").stdout
    assert "13 sessions fit, 16 are active" in words and "replicas would hold all" in words
