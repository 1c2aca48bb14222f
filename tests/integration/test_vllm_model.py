"""The engine model (src/sim) beside a real vLLM with a cache so small that it evicts: equal to the block."""
import subprocess

import pytest

from harness.gateway import BINARY, REPO
from harness.vllm import VENV, free_port, model_folder

pytestmark = pytest.mark.vllm



@pytest.mark.timeout(600)
def test_blocks_are_equal(tmp_path):
    """Alone: requests one after the other. Crowds: more than fit queue up behind a long one, so that some are preempted."""
    log = tmp_path / "vllm.log"
    done = subprocess.run(
        [VENV / "bin" / "python", REPO / "tests/vllm/compare_blocks.py", "--sim", BINARY.parent / "tests/vllm/sim_blocks",
         "--vllm", VENV / "bin" / "vllm", "--model", model_folder(), "--url", f"http://127.0.0.1:{free_port()}",
         "--events", str(free_port()), "--log", log, "--requests", "60", "--crowds", "4"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:] + (log.read_text()[-1000:] if log.exists() else "")
    print(done.stdout[-1500:])
