#!/usr/bin/env python3
"""Holds the engine model against a real vLLM, to the block.

The same token prompts go to /v1/completions of a vLLM on the CPU with a small cache and, with the tokens it really
generated, to the model (sim_blocks). After each request, prefix queries, hits, prompt tokens, generated tokens,
preemptions, cached tokens and the engine's own KV events (blocks stored, blocks removed) must be equal.

Two parts. `alone`: one request after the other. `crowd`: a long request fills the cache, others queue up behind it
until all are there, and are then admitted together; so preemptions happen, and at the same steps in both, whatever
the machine's speed.

Run it with the Python of vLLM's environment (needs zmq and msgspec):
  compare_blocks.py --vllm BIN/vllm --model TINY_MODEL --sim build/tests/vllm/sim_blocks
or, against one that runs already (with the flags of `flags()` below): --url http://127.0.0.1:8000 --events 5557
Exit: 0 equal, 1 different, 2 wrong use.
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import msgspec
import zmq

COUNTERS = {'queries': 'prefix_cache_queries_total', 'hits': 'prefix_cache_hits_total',
            'preemptions': 'num_preemptions_total', 'prompt_tokens': 'prompt_tokens_total',
            'prompt_tokens_cached': 'prompt_tokens_cached_total', 'generation_tokens': 'generation_tokens_total'}


def flags(a):
    """What vLLM must be started with beside model and port."""
    events = {'enable_kv_cache_events': True, 'publisher': 'zmq', 'endpoint': f'tcp://127.0.0.1:{a.events}', 'topic': ''}
    return ['--served-model-name', 'tiny', '--load-format', 'dummy', '--dtype', 'bfloat16', '--enforce-eager',
            '--enable-prompt-tokens-details', '--block-size', str(a.block_size), '--num-gpu-blocks-override', str(a.blocks),
            '--max-model-len', str(a.max_model_len), '--max-num-seqs', str(a.max_num_seqs),
            '--max-num-batched-tokens', str(a.budget), '--kv-events-config', json.dumps(events)]


class Events:
    """Counts the block hashes of BlockStored and BlockRemoved. Binds, because vLLM connects out to a plain address."""

    def __init__(self, port):
        self.stored = self.removed = self.lost = 0
        self.next = 0
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.setsockopt(zmq.SUBSCRIBE, b'')
        self.socket.setsockopt(zmq.RCVHWM, 0)
        self.monitor = self.socket.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED)
        self.socket.bind(f'tcp://127.0.0.1:{port}')

    def wait_connected(self, seconds=30):
        """Events published before the connection stands are lost."""
        if not self.monitor.poll(1000 * seconds):
            sys.exit('vLLM does not publish KV events to this port')

    def drain(self):
        while self.socket.poll(0):
            _, sequence, payload = self.socket.recv_multipart()
            number = int.from_bytes(sequence, 'big')
            self.lost += number - self.next
            self.next = number + 1
            for event in msgspec.msgpack.decode(payload)[1]:
                kind, hashes = (event['type'], event.get('block_hashes')) if isinstance(event, dict) else event[:2]
                if kind == 'BlockStored':
                    self.stored += len(hashes)
                elif kind == 'BlockRemoved':
                    self.removed += len(hashes)


class Vllm:
    def __init__(self, url, events):
        self.url, self.events = url, events

    def metrics(self):
        with urllib.request.urlopen(self.url + '/metrics', timeout=30) as answer:
            text = answer.read().decode()
        return {name: float(value) for name, value in re.findall(r'^vllm:(\w+)\{[^}]*\} (\S+)$', text, re.M)}

    def complete(self, prompt, max_tokens):
        body = {'model': 'tiny', 'prompt': prompt, 'max_tokens': max_tokens, 'temperature': 0, 'ignore_eos': True,
                'return_token_ids': True}
        request = urllib.request.Request(self.url + '/v1/completions', json.dumps(body).encode(),
                                         {'Content-Type': 'application/json'})
        with urllib.request.urlopen(request, timeout=600) as answer:
            found = json.load(answer)
        return found['choices'][0]['token_ids'], found['usage']['prompt_tokens_details']['cached_tokens']

    def counters(self):
        now = self.metrics()
        self.events.drain()
        found = {ours: int(now.get(theirs, 0)) for ours, theirs in COUNTERS.items()}
        return found | {'stored': self.events.stored, 'removed': self.events.removed}

    def settle(self, expected, seconds=3):
        """Events and counters arrive a little after the answer: until they are as expected, or have had their time."""
        until = time.monotonic() + seconds
        while (found := self.counters()) != expected and time.monotonic() < until:
            time.sleep(0.02)
        return found

    def wait_for(self, what, seconds=60):
        until = time.monotonic() + seconds
        while not what(now := self.metrics()):
            if time.monotonic() > until:
                sys.exit(f'vLLM did not come into the expected state: {now["num_requests_running"]} running, '
                         f'{now["num_requests_waiting"]} waiting (was the plug over too soon?)')
            time.sleep(0.002)
        return now


class Comparison:
    def __init__(self, vllm, a):
        self.vllm, self.differences, self.batches = vllm, 0, 0
        sizes = [a.blocks, a.block_size, a.max_num_seqs, a.budget, a.max_model_len]
        self.model = subprocess.Popen([a.sim, *map(str, sizes)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def check(self, name, batch, cached):
        self.model.stdin.write(json.dumps(batch) + '\n')
        self.model.stdin.flush()
        expected = json.loads(self.model.stdout.readline())
        if 'error' in expected:
            sys.exit(f'{name}: the model refused: {expected["error"]}')
        ours = expected.pop('cached')
        found = self.vllm.settle(expected)
        self.batches += 1
        wrong = [f'{key}: vLLM {found[key]}, model {expected[key]}' for key in expected if found[key] != expected[key]]
        if cached != ours:
            wrong.append(f'cached tokens: vLLM {cached}, model {ours}')
        if wrong:
            self.differences += 1
            print(f'{name}: ' + '; '.join(wrong), flush=True)
        return found


class Talks:
    """Conversations that share a few heads; some echo the answers, some drop them; some prompts end on a block's edge."""

    def __init__(self, rng, block_size, longest):
        self.rng, self.block, self.longest = rng, block_size, longest
        self.heads = [self.tokens(n) for n in (0, 3 * block_size, 5 * block_size + 7)]
        self.talks = []

    def tokens(self, count):
        return [self.rng.randrange(100, 40000) for _ in range(count)]

    def next(self):
        """(prompt, max_tokens, what to call with the output)"""
        r = self.rng
        if self.talks and r.random() < 0.15:       # the same again
            prompt = r.choice(self.talks)[:]
        elif self.talks and r.random() < 0.7:      # the next turn
            prompt = r.choice(self.talks) + self.tokens(r.randrange(1, 3 * self.block))
        else:
            prompt = r.choice(self.heads) + self.tokens(r.randrange(1, 8 * self.block))
        if r.random() < 0.3 and len(prompt) > self.block:
            prompt = prompt[:len(prompt) // self.block * self.block]
        if len(prompt) > self.longest:
            prompt = prompt[:r.randrange(self.block, self.longest)]
        return prompt, r.choice([1, 2, self.block - 1, self.block, self.block + 1, r.randrange(1, 3 * self.block)])

    def answered(self, prompt, output):
        self.talks.append(prompt + (output if self.rng.random() < 0.7 else []))
        del self.talks[:-8]


def alone(comparison, a, rng):
    talks = Talks(rng, a.block_size, a.max_model_len - 4 * a.block_size)
    for i in range(a.requests):
        prompt, max_tokens = talks.next()
        output, cached = comparison.vllm.complete(prompt, max_tokens)
        comparison.check(f'alone {i} ({len(prompt)}+{max_tokens} tokens)', [{'prompt': prompt, 'output': output}], [cached])
        talks.answered(prompt, output)


def crowd(comparison, a, rng, number):
    """The plug is short and talks long; the first follower does not fit beside it, and nobody goes past that one."""
    vllm, block = comparison.vllm, a.block_size
    usable = a.blocks - 1
    plug = usable // 4
    asked = [(plug * block - 5, a.max_model_len - plug * block), ((usable - plug + 1) * block, rng.randrange(1, 4 * block))]
    for _ in range(a.followers - 1):
        asked.append((rng.randrange(2, usable // 4) * block + rng.randrange(block), rng.randrange(2 * block, 8 * block)))
    head = [rng.randrange(100, 40000) for _ in range(4 * block)]
    asked = [((head if i > 1 and rng.random() < 0.5 else []) + [rng.randrange(100, 40000) for _ in range(size)], output)
             for i, (size, output) in enumerate(asked)]
    answers = [None] * len(asked)

    def ask(i):
        try:
            answers[i] = vllm.complete(*asked[i])
        except urllib.error.HTTPError as error:
            print(f'crowd {number}: request {i}: {error.code} {error.read().decode()[:300]}', flush=True)

    threads = []
    for i in range(len(asked)):
        threads.append(threading.Thread(target=ask, args=(i,)))
        threads[i].start()
        vllm.wait_for(lambda m: m['num_requests_running'] == 1 and m['num_requests_waiting'] == i)
    before = vllm.metrics()['num_preemptions_total']
    for thread in threads:
        thread.join()
    batch = [{'prompt': prompt, 'output': answer[0]} for (prompt, _), answer in zip(asked, answers)]
    found = comparison.check(f'crowd {number}', batch, [answer[1] for answer in answers])
    return found['preemptions'] - before


def start(a):
    env = dict(os.environ, VLLM_CPU_KVCACHE_SPACE='1', HF_HUB_OFFLINE='1', VLLM_NO_USAGE_STATS='1')
    env.setdefault('OMP_NUM_THREADS', '1')
    log = open(a.log, 'w') if a.log else subprocess.DEVNULL
    command = [a.vllm, 'serve', a.model, '--host', '127.0.0.1', '--port', a.url.rsplit(':', 1)[1], *flags(a)]
    return subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def stop(process):
    try:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:  # it does not listen to signals before it has started
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_ready(url, process, seconds=600):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process and process.poll() is not None:
            sys.exit('vLLM did not start; see --log')
        try:
            urllib.request.urlopen(url + '/health', timeout=5)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    sys.exit('vLLM did not become ready')


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--sim', required=True, help='the sim_blocks program')
    p.add_argument('--vllm', help='start this vllm program')
    p.add_argument('--model', help='the tiny model for it')
    p.add_argument('--url', default='http://127.0.0.1:18731')
    p.add_argument('--events', type=int, default=18732, help='port for the KV events')
    p.add_argument('--log', help="file for vLLM's output")
    p.add_argument('--blocks', type=int, default=48)
    p.add_argument('--block-size', type=int, default=32)
    p.add_argument('--max-num-seqs', type=int, default=4)
    p.add_argument('--budget', type=int, default=256, help='max_num_batched_tokens')
    p.add_argument('--max-model-len', type=int, default=1400)
    p.add_argument('--requests', type=int, default=100)
    p.add_argument('--crowds', type=int, default=4)
    p.add_argument('--followers', type=int, default=6)
    p.add_argument('--seed', type=int, default=1)
    a = p.parse_args()
    if bool(a.vllm) != bool(a.model):
        p.error('--vllm and --model go together')
    usable = a.blocks - 1
    if a.crowds and (needed := (usable - usable // 4 + 5) * a.block_size) > a.max_model_len:
        p.error(f'crowds need --max-model-len {needed} or more with these blocks')
    return a


def main():
    a = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the vLLM started here is stopped too
    events = Events(a.events)
    process = start(a) if a.vllm else None
    try:
        wait_ready(a.url, process)
        events.wait_connected()
        vllm = Vllm(a.url, events)
        if (used := vllm.counters())['queries']:
            sys.exit(f'this vLLM has already answered something: {used}')
        comparison, rng = Comparison(vllm, a), random.Random(a.seed)
        alone(comparison, a, rng)
        preemptions = [int(crowd(comparison, a, rng, i)) for i in range(a.crowds)]
        alone(comparison, a, rng)                  # what the crowds left in the cache must be equal too
        comparison.model.stdin.close()
        print(json.dumps({'batches': comparison.batches, 'different': comparison.differences, 'events_lost': events.lost,
                          'preemptions_per_crowd': preemptions, 'counters': vllm.counters()}))
        if a.crowds and not any(preemptions):
            print('no crowd caused a preemption: nothing was shown about them')
            return 1
        return 1 if comparison.differences or events.lost else 0
    finally:
        if process:
            stop(process)


if __name__ == '__main__':
    sys.exit(main())
