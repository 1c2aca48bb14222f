#!/usr/bin/env python3
"""A real llama.cpp HTTP server, out of the xllamacpp wheel, as a process of its own; prints `listening on URL` when ready
and ends on SIGTERM or SIGINT.

usage: xl_server.py GGUF PORT [--ctx N] [--parallel N] [--alias NAME] [--threads N]
"""
import argparse
import signal

import xllamacpp


def parameters(options):
    p = xllamacpp.CommonParams()
    p.model.path = options.gguf
    p.hostnames, p.port = ["127.0.0.1"], options.port
    p.n_ctx, p.n_parallel = options.ctx, options.parallel
    p.model_alias = {options.alias}
    p.cpuparams.n_threads = p.cpuparams_batch.n_threads = options.threads
    p.endpoint_metrics = p.endpoint_slots = p.use_jinja = True
    return p


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gguf")
    parser.add_argument("port", type=int)
    parser.add_argument("--ctx", type=int, default=8192)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--alias", default="smollm2-135m")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before the server's threads are made: they inherit it
    server = xllamacpp.Server(parameters(options))
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait(ends)


if __name__ == "__main__":
    main()
