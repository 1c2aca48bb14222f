"""A real vLLM with two data-parallel ranks as a process group: a random 2-layer model on the CPU, ready in 60-90 s."""
import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from . import metrics_text
from .gateway import REPO
from .llama import gguf
from .waiting import wait_until

VENV = Path(os.environ.get("WARMGATE_VLLM_VENV", REPO / ".venv-vllm"))
MODEL = "tiny"
ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}


def model_folder():
    """The model's folder, made once."""
    folder = REPO / ".engines" / "tiny"
    if not (folder / "config.json").exists():
        maker = REPO / "tests" / "engines" / "make_tiny_model.py"
        done = subprocess.run([VENV / "bin" / "python", maker, gguf(), folder], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **ENVIRONMENT}, check=False)
        if done.returncode:
            raise RuntimeError(f"make_tiny_model.py: {done.stderr[-800:]}")
    return folder


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class VllmServer:
    """start() again after the group has died: same port."""

    def __init__(self, log_file, ranks=2):
        self.log_file, self.ranks, self.port = Path(log_file), ranks, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def start(self):
        command = [VENV / "bin" / "vllm", "serve", model_folder(), "--host", "127.0.0.1", "--port", self.port, "--served-model-name", MODEL,
                   "--load-format", "dummy", "--max-model-len", 4096, "--dtype", "bfloat16", "--enforce-eager",
                   "--enable-prompt-tokens-details", "--data-parallel-size", self.ranks, "--api-server-count", 1, "--block-size", 32,
                   "--num-gpu-blocks-override", 512]
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**os.environ, **ENVIRONMENT}, start_new_session=True)

    def wait_ready(self, timeout=600):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"vLLM ended with {self.process.returncode}:\n{self.log_file.read_text(errors='replace')[-3000:]}")
            try:
                return urlopen(f"{self.url}/health", timeout=2).status == 200
            except (URLError, OSError):
                return False
        wait_until(ready, timeout, "vLLM ready")

    def counter(self, name):
        """{rank: value} of one of its metrics."""
        with urlopen(f"{self.url}/metrics", timeout=10) as answer:
            rows = metrics_text.parse(answer.read().decode())
        return {int(labels["engine"]): value for n, labels, value in rows if n == f"vllm:{name}" and "engine" in labels}

    def core_pids(self):
        """{rank: pid} of the engine core processes, found by their title within our process group."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if os.getpgid(int(folder.name)) != self.process.pid:
                    continue
            except OSError:
                continue
            match = re.search(r"EngineCore_?DP(\d+)", title)
            if match:
                found[int(match.group(1))] = int(folder.name)
        return found

    def kill_core(self, rank):
        os.kill(self.core_pids()[rank], signal.SIGKILL)

    def wait_gone(self, timeout=60):
        self.process.wait(timeout)
        self._end_group()

    def _end_group(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        self._end_group()
        self.process.wait()
