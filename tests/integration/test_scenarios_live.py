"""Every tests/scenario/*.scn against the real binaries; src/sim/scenario_test.cpp runs the same files over the virtual
driver."""
import sys
from pathlib import Path

import pytest

SCENARIOS = Path(__file__).resolve().parents[1] / "scenario"
sys.path.append(str(SCENARIOS))

import live  # noqa: E402

FILES = sorted(SCENARIOS.glob("*.scn"))


@pytest.mark.parametrize("file", FILES, ids=[f.stem for f in FILES])
def test_scenario(file, tmp_path):
    failures, log = live.run_file(file, tmp_path)
    assert not failures, "\n".join([*failures, "", *log])


def test_there_are_enough_of_them():
    assert len(FILES) >= 25
