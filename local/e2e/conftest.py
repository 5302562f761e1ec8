"""The server under test and its clients.

Without configuration the suite starts bin/tiltyard over a temporary directory. With
E2E_URL and E2E_TOKEN it judges a server that runs elsewhere, and leaves out the tests
that need to look into the server's directory or to end its process.
"""

from __future__ import annotations

import os
import pathlib
import signal
import uuid

import lance_namespace
import lancedb
import pytest

import sample
from pair import Pair
from process import Server
from wire import Wire

REMOTE = os.environ.get("E2E_URL")
TEST_SECONDS = 300


def pytest_addoption(parser):
    """How much chance there is in test_differential.py."""
    group = parser.getgroup("tiltyard")
    group.addoption("--tables", type=int, default=300, help="random tables to compare with native Lance")
    group.addoption("--seed", type=int, default=0, help="the seed of the first of them")


def pytest_configure(config):
    """The tests call what the clients have grown out of, too, since users do."""
    for old in ("table_names", "create_scalar_index"):
        config.addinivalue_line("filterwarnings", f"ignore:{old}")


@pytest.fixture(autouse=True)
def time_limit():
    """A test that waits for an answer that never comes fails, and the others go on."""

    def give_up(_signal, _frame):
        raise TimeoutError(f"the test took more than {TEST_SECONDS} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)


class Target:
    """A server to talk to, and the clients for it."""

    def __init__(self, url: str, token: str, process: Server | None = None, directory: pathlib.Path | None = None):
        self.url, self.token, self.process, self.directory = url, token, process, directory

    def lancedb(self, **options):
        """The LanceDB client. Retries would hide what the server answered first."""
        options.setdefault("client_config", {"retry_config": {"retries": 0}})
        return lancedb.connect("db://e2e", api_key=self.token, host_override=self.url, **options)

    def namespace(self, **properties):
        """The Lance Namespace client inside pylance."""
        header = {"header.Authorization": f"Bearer {self.token}"}
        return lance_namespace.connect("rest", {"uri": self.url, **header, **properties})

    def wire(self, **options) -> Wire:
        return Wire(self.url, options.pop("token", self.token), **options)


@pytest.fixture(scope="session")
def allowed(tmp_path_factory) -> pathlib.Path:
    """The directory that the shared server is told to allow."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="session")
def outside(allowed) -> pathlib.Path:
    """A directory beside the server's root from which tables may be registered."""
    _need_process()
    return allowed


@pytest.fixture(scope="session")
def server(tmp_path_factory, allowed, request):
    """The server that most tests share. It must end well and without a fault in its log."""
    if REMOTE:
        yield Target(REMOTE, os.environ["E2E_TOKEN"])
        return
    process = Server(tmp_path_factory.mktemp("server") / "root", allow=[allowed]).start()
    failures = request.session.testsfailed
    yield Target(process.url, process.token, process, process.root)
    process.stop()
    if request.session.testsfailed > failures:
        print(f"\nlog of the server: {process.log_path}")
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


@pytest.fixture
def own_server(tmp_path):
    """A server that one test has to itself, root namespace and all."""
    _need_process()
    with Server(tmp_path / "root") as process:
        yield Target(process.url, process.token, process, process.root)
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


@pytest.fixture
def directory(server) -> pathlib.Path:
    """The root of the shared server, for tests that look at its files."""
    _need_process()
    return server.directory


@pytest.fixture
def space(server) -> str:
    """A namespace of the test's own."""
    return _make_space(server)


@pytest.fixture(scope="module")
def module_space(server) -> str:
    """A namespace that the tests of one file share."""
    return _make_space(server)


@pytest.fixture(scope="session")
def db(server):
    """The LanceDB client of the shared server."""
    return server.lancedb()


@pytest.fixture(scope="session")
def ns(server):
    """The Lance Namespace client of the shared server."""
    return server.namespace()


@pytest.fixture
def wire(server):
    """Plain HTTP to the shared server."""
    client = server.wire()
    yield client
    client.close()


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


def _need_process() -> None:
    if REMOTE:
        pytest.skip("needs the server's directory or process, and E2E_URL points elsewhere")


def _make_space(server) -> str:
    name = "s" + uuid.uuid4().hex[:12]
    answer = server.wire().post(f"/v1/namespace/{name}/create", {})
    assert answer.status == 200, answer.body
    return name
