"""What the tests of this folder share beside the server under test, which target.py starts: the
Python clients of it, and their peers in process.

Where functions are judged, the tests of very many cases about the engine and the format alone
(thousands of filters and merges, hundreds of tables and file sizes) are left out: the engine is
the same there, and each kind of operation has its own tests, which all run. Of tests that are marked
as engine the first case alone runs there, which shows that the engine works over that store. Of tests
that are marked as many one in MANY cases runs, always the same.
With --brief most of these are left out against the local server as well, and tests that are
marked as slow. With E2E_MANY=11 the local server is asked one in eleven of these cases.
"""

from __future__ import annotations

import collections
import os
import pathlib
import sys

import lancedb
import pyarrow as pa
import pytest

# Tests of one subject use fixtures of another.
sys.path[:0] = [str(folder) for folder in sorted(pathlib.Path(__file__).parent.iterdir()) if folder.is_dir()]

pytest_plugins = ["target"]
pytest.register_assert_rewrite(*pytest_plugins)  # before the first import of it

import sample
from pair import Pair
from target import REMOTE, TARGET
from wire import Wire

MANY = 7  # no divisor of how many values the parameters of such tests have
HERE = int(os.environ.get("E2E_MANY") or 1)  # as MANY, against the local server


def pytest_addoption(parser):
    """How much chance there is in test_differential.py."""
    group = parser.getgroup("tiltyard")
    group.addoption("--tables", type=int, default=300, help="random tables to compare with native Lance")
    group.addoption("--brief", action="store_true", help="leave out what takes long, and most of very many cases")
    group.addoption("--seed", type=int, default=0, help="the seed of the first of them")


def pytest_configure(config):
    """The tests also call deprecated functions of the clients, because users do."""
    config.addinivalue_line("markers", "many: has many cases about the engine, of which some do elsewhere and in brief")
    config.addinivalue_line("markers", "engine: about the engine, which is the same behind functions: one case runs there")
    config.addinivalue_line("markers", "slow: takes many seconds, and is left out in brief")
    for old in ("table_names", "create_scalar_index"):
        config.addinivalue_line("filterwarnings", f"ignore:{old}")


def pytest_collection_modifyitems(config, items):
    """Skips tests that are too much for other targets, or that take long in a brief run."""
    cases = collections.Counter()
    brief = config.getoption("brief")
    for item in items:
        if brief and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: make test-e2e runs it"))
        many, engine = item.get_closest_marker("many"), item.get_closest_marker("engine") and TARGET != "embedded"
        share = 1 if not many else MANY if brief or TARGET != "embedded" else HERE
        if engine and cases[item.function]:
            item.add_marker(pytest.mark.skip(reason="the engine is the same as behind the local server, which gets all cases"))
        elif cases[item.function] % share:
            item.add_marker(pytest.mark.skip(reason=f"of these cases of the engine this run asks one in {share}: make test-e2e asks all"))
        cases[item.function] += 1


@pytest.fixture(scope="module")
def large(server, module_space) -> tuple[str, pa.Table]:
    """The name of a table of 12 MB, which no gateway carries in one answer, and its rows."""
    rows = pa.table({"id": range(40_000), "text": [f"{i:0300d}" for i in range(40_000)]})
    name, wire = f"{module_space}$large", server.wire()
    batch = 8_000  # rows of one upload, which has to fit into an event
    assert wire.upload(f"/v1/table/{name}/create", rows.slice(0, batch)).status == 200
    for start in range(batch, len(rows), batch):
        assert wire.upload(f"/v1/table/{name}/insert", rows.slice(start, batch)).status == 200
    wire.close()
    return name, rows


@pytest.fixture
def streams(server):
    """Plain HTTP to where answers may be of any size."""
    if not server.streams_at:
        pytest.skip("the answer is larger than a gateway takes, and E2E_STREAMS_AT is not set")
    client = Wire(server.streams_at, server.token)
    yield client
    client.close()


@pytest.fixture
def browser():
    """A real browser without a window. CHROMIUM names it; scripts/chromium.sh finds or installs one.

    A test starts one of its own: playwright runs an event loop in this thread for as long as it is
    in use, and no other test could run one.
    """
    if REMOTE:
        pytest.skip("the pages are files, which are the same on the server and the functions, where they are tested")
    path = os.environ.get("CHROMIUM")
    if not path:
        pytest.skip("no Chromium to test the console with")
    from playwright.sync_api import sync_playwright  # only here: the other tests need no browser

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def db(server):
    """The LanceDB client of the shared server."""
    return server.lancedb()


@pytest.fixture(scope="session")
def ns(server):
    """The Lance Namespace client of the shared server."""
    return server.namespace()


@pytest.fixture
def local(tmp_path):
    """The peer: LanceDB over a directory, in process."""
    return lancedb.connect(tmp_path / "peer")


@pytest.fixture
def make(db, space, local):
    """Creates a table at both. Data that can be read only once is given as a function."""

    def make(data=None, **options) -> Pair:
        fresh = data if callable(data) else lambda: data
        remote = db.create_table("t", fresh(), namespace_path=[space], **options)
        return Pair(remote, local.create_table("t", fresh(), **options))

    return make


@pytest.fixture(scope="module")
def people(db, module_space, tmp_path_factory) -> Pair:
    """700 rows in three fragments with deletions, at ours and at the peer's; no test changes it."""
    local = lancedb.connect(tmp_path_factory.mktemp("peer"))
    pair = Pair(
        db.create_table("people", sample.people(300), namespace_path=[module_space]),
        local.create_table("people", sample.people(300)),
    )
    pair.both(lambda t: t.add(sample.people(300, start=300, seed=2)))
    fresh = sample.people(150, start=550, seed=3)
    pair.both(lambda t: t.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh))
    return pair
