"""Prometheus text: reading ours, writing the fake engine's."""
import re

_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)$")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def parse(text):
    """[(name, labels, value)] of an exposition."""
    rows = []
    for line in text.splitlines():
        match = _LINE.match(line)
        if match and not line.startswith("#"):
            rows.append((match.group(1), dict(_LABEL.findall(match.group(2) or "")), float(match.group(3))))
    return rows


def total(text, name, **labels):
    """The sum of a metric's rows that carry these labels; None if there is none."""
    found = [v for n, l, v in parse(text) if n == name and all(l.get(k) == w for k, w in labels.items())]
    return sum(found) if found else None


def vllm(model, ranks):
    """What vLLM 0.32 prints, as far as a gateway can use it. ranks: objects with the attributes used below."""
    out = []

    def family(name, kind, value, extra=""):
        out.append(f"# HELP vllm:{name} .\n# TYPE vllm:{name} {kind}\n")
        for number, rank in enumerate(ranks):
            out.append(f'vllm:{name}{{engine="{number}",model_name="{model}"{extra}}} {float(value(rank))}\n')

    family("num_requests_running", "gauge", lambda r: r.running)
    family("num_requests_waiting", "gauge", lambda r: r.waiting)
    family("kv_cache_usage_perc", "gauge", lambda r: r.kv_usage)
    family("prefix_cache_queries_total", "counter", lambda r: r.prefix_queries)
    family("prefix_cache_hits_total", "counter", lambda r: r.prefix_hits)
    family("num_preemptions_total", "counter", lambda r: 0)
    family("prompt_tokens_total", "counter", lambda r: r.prefix_queries)
    family("generation_tokens_total", "counter", lambda r: r.generated)
    out.append("# HELP vllm:cache_config_info .\n# TYPE vllm:cache_config_info gauge\n")
    for number, rank in enumerate(ranks):
        out.append(f'vllm:cache_config_info{{block_size="16",enable_prefix_caching="{rank.prefix_caching}",engine="{number}",'
                   f'kv_cache_size_tokens="{rank.kv_tokens}",num_gpu_blocks="{rank.kv_tokens * len(ranks) // 16}"}} 1.0\n')
    return "".join(out)


def llama(rank):
    """What llama-server prints: no labels, no KV gauge."""
    values = {"prompt_tokens_total": rank.prefix_queries - rank.prefix_hits, "prompt_tokens_cached_total": rank.prefix_hits,
              "tokens_predicted_total": rank.generated, "requests_processing": rank.running,
              "requests_deferred": rank.waiting, "n_busy_slots_per_decode": 0}
    return "".join(f"# HELP llamacpp:{n} .\n# TYPE llamacpp:{n} {'counter' if n.endswith('_total') else 'gauge'}\n"
                   f"llamacpp:{n} {v}\n" for n, v in values.items())
