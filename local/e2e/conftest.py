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

import lancedb
import lance_namespace
import pytest

from process import Server
from wire import Wire

REMOTE = os.environ.get("E2E_URL")
TEST_SECONDS = 300


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
def outside(tmp_path_factory) -> pathlib.Path:
    """A directory beside the server's root from which tables may be registered."""
    return tmp_path_factory.mktemp("outside")


@pytest.fixture(scope="session")
def server(tmp_path_factory, outside, request):
    """The server that most tests share. It must end well and without a fault in its log."""
    if REMOTE:
        yield Target(REMOTE, os.environ["E2E_TOKEN"])
        return
    process = Server(tmp_path_factory.mktemp("server") / "root", allow=[outside]).start()
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


def _need_process() -> None:
    if REMOTE:
        pytest.skip("needs the server's directory or process, and E2E_URL points elsewhere")


def _make_space(server) -> str:
    name = "s" + uuid.uuid4().hex[:12]
    answer = server.wire().post(f"/v1/namespace/{name}/create", {})
    assert answer.status == 200, answer.body
    return name
