"""Fixtures: engines and gateways that end with their test, whatever happened in it."""
import pytest

from harness.fake_engine import FakeEngine
from harness.gateway import BINARY, Gateway, pool
from harness.llama import LlamaServer
from harness.queue_world import World
from harness.replica import Replica


@pytest.fixture
def make_engine():
    """make_engine(model=, ranks=, kind=, api_key=): a fake engine on a free port."""
    made = []

    def make(**kwargs):
        made.append(FakeEngine(**kwargs))
        return made[-1]
    yield make
    for engine in made:
        engine.stop()


@pytest.fixture
def make_replica():
    """make_replica(ranks=, speed=, ...): a simulated vLLM (`warmgate replica`) on a free port."""
    made = []

    def make(**flags):
        made.append(Replica(**flags))
        return made[-1]
    yield make
    for replica in made:
        replica.stop()


@pytest.fixture
def make_gateway(tmp_path, make_engine):
    """make_gateway(engines, ...): the real binary in front of them. Keywords of harness.gateway.pool describe the pool,
    the rest are top-level keys of the configuration. `pools=[...]` gives them whole."""
    if not BINARY.exists():
        pytest.fail(f"{BINARY} is missing: run ./dev build, or set WARMGATE_BIN")
    made = []
    pool_keys = ("model", "policy", "aliases", "spill", "rehome", "ranks", "max_num_seqs", "kv_tokens", "api_key_env")

    def make(engines=None, pools=None, **kwargs):
        folder = tmp_path / f"gateway{len(made)}"
        folder.mkdir()
        keys = {k: kwargs.pop(k) for k in pool_keys if k in kwargs}
        pools = pools if pools is not None else [pool(engines, **keys)]
        made.append(Gateway(folder, pools, **kwargs))
        return made[-1]
    make.made = made
    yield make
    for gateway in made:
        gateway.stop()


@pytest.fixture
def engines(make_engine):
    """Two engines of one model."""
    return [make_engine(), make_engine()]


@pytest.fixture
def one(make_engine, make_gateway):
    """(gateway, engine): a gateway in front of a single fake engine."""
    engine = make_engine()
    return make_gateway([engine]), engine


@pytest.fixture
def two(engines, make_gateway):
    """(gateway, [engine, engine]): replicas m/e0/0 and m/e1/0, policy sticky."""
    return make_gateway(engines), engines


@pytest.fixture
def make_world(make_engine, make_gateway):
    """make_world(engines=1, ...): engines with room for one long context each, and a gateway with policy `warm`."""
    made = []

    def make(**kwargs):
        made.append(World(make_engine, make_gateway, **kwargs))
        return made[-1]
    yield make
    for world in made:
        world.end()


@pytest.fixture(scope="module")
def llamas(tmp_path_factory):
    """Two real llama.cpp servers."""
    folder, made = tmp_path_factory.mktemp("llama"), []
    try:
        for n in range(2):
            made.append(LlamaServer(folder / f"{n}.log"))
        yield made
    finally:
        for server in made:
            server.stop()
