"""The soak's judge: finds a leak under noise, and nothing in noise alone."""
import random

from harness.trend import Trend, svg


def series(slope, noise=0.5, seed=1, jump=0.0):
    rng = random.Random(seed)
    seconds = list(range(600))
    return seconds, [30 + slope * s + (jump if s > 100 else 0) + rng.uniform(-noise, noise) for s in seconds]


def trend(*args, **kwargs):
    return Trend("memory", "MiB", *series(*args, **kwargs), 4)


def test_noise_is_no_growth():
    for seed in range(20):
        assert abs(trend(0, seed=seed).growth()) < 0.5
        assert trend(0, seed=seed).ok()


def test_a_leak_is_found():
    assert abs(trend(0.02).growth() - 0.02 * 299) < 0.5
    assert not trend(0.02).ok()
    assert "GROWS" in trend(0.02).sentence()


def test_what_grows_in_the_first_half_only_is_no_leak():
    assert trend(0, jump=20).ok()


def test_shrinking_is_fine():
    assert trend(-0.02).ok()


def test_pictures():
    line = trend(0.02, noise=0).sparkline()
    assert len(line) == 60 and line[0] == "▁" and line[-1] == "█"
    assert svg([trend(0)], [5.0, 7.5], "x").count("<polyline") == 1
