"""The server under test, as a plugin of pytest that the suites of local/e2e and local/clients share.

Without configuration it starts bin/tiltyard over a temporary directory. With E2E_TARGET=lambda it
starts the built functions behind the stand-in of a gateway, over that of S3 and DynamoDB. With
E2E_URL and E2E_TOKEN the tests judge a server that runs elsewhere; then

  E2E_STORAGE_OPTIONS  is a JSON object of what Lance needs to open tables where they are,
  E2E_OUTSIDE          a place below an allowed one, such as s3://bucket/prefix, in which
                       the tests may write tables and register them,
  E2E_BEHIND           says gateway if an HTTP API of AWS is in front,
  E2E_STREAMS_AT       then is the URL of a function that streams what it answers,
  E2E_VENDS            is set when describing a table gives credentials for it.

What a target does not have some tests cannot do without. These are left out, and listed at
the end with the reason.
"""

from __future__ import annotations

import collections
import json
import os
import pathlib
import signal
import uuid

import lance_namespace
import lancedb
import pytest

from process import Functions, Server, binary
from wire import Wire

REMOTE = os.environ.get("E2E_URL")
TARGET = "url" if REMOTE else os.environ.get("E2E_TARGET", "embedded")
TEST_SECONDS = 300


def pytest_configure(config):
    """Builds what is tested once, also when several processes test."""
    if TARGET not in ("embedded", "lambda", "url"):
        raise pytest.UsageError(f"E2E_TARGET is {TARGET!r}, want embedded or lambda")
    if TARGET == "embedded":
        os.environ["E2E_BINARY"] = str(binary())
    elif TARGET == "lambda":
        os.environ["E2E_FUNCTIONS"] = Functions.folder()
    config.addinivalue_line("markers", "embedded(reason): only against the local server, for a reason")
    config.addinivalue_line("markers", "seconds(most): may take longer than other tests")


def pytest_collection_modifyitems(items):
    """Skips tests that need the local server."""
    if TARGET == "embedded":
        return
    for item in items:
        if marker := item.get_closest_marker("embedded"):
            item.add_marker(pytest.mark.skip(reason=marker.args[0]))


def pytest_terminal_summary(terminalreporter):
    """Lists the skipped tests by reason."""
    reasons = collections.defaultdict(collections.Counter)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reasons[reason.removeprefix("Skipped: ")][report.nodeid.split("[")[0]] += 1
    for reason, tests in sorted(reasons.items()):
        terminalreporter.section(f"left out ({sum(tests.values())}): {reason}", sep="-")
        for test, count in tests.items():
            terminalreporter.line(test.removeprefix("local/e2e/") + (f" ({count} cases)" if count > 1 else ""))


@pytest.fixture(autouse=True)
def time_limit(request):
    """A test that waits for an answer that never comes fails, and the others go on."""
    marker = request.node.get_closest_marker("seconds")
    seconds = marker.args[0] if marker else TEST_SECONDS

    def give_up(_signal, _frame):
        raise TimeoutError(f"the test took more than {seconds} s")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    yield
    signal.alarm(0)


class Place(str):
    """A place in an object store, whose parts are joined as those of paths are."""

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self}/{name}")

    @property
    def parent(self) -> Place:
        return Place(self.rpartition("/")[0])


class Target:
    """A server to talk to, and the clients for it."""

    def __init__(self, url: str, token: str, process: Server | None = None):
        self.url, self.token, self.process = url, token, process
        self.directory: pathlib.Path | None = process.root if process else None
        self.behind_gateway = False
        self.streams_at: str | None = url  # where answers may be larger than what a gateway takes
        self.outside: pathlib.Path | Place | None = None  # tables may be written there and registered
        self.opens = process is not None  # whether Lance here opens the server's tables

    def open_with(self, storage: dict[str, str]) -> None:
        """Lets Lance open the server's tables, with options for their store. They are put
        into the environment, where it finds them however a table is opened."""
        for key, value in storage.items():
            key = key.upper()
            os.environ[key if key.startswith("AWS_") else f"AWS_{key}"] = value
        self.opens = True

    def not_behind_gateway(self, reason: str) -> None:
        """Leaves the test out where a gateway is between it and the server."""
        if self.behind_gateway:
            pytest.skip(reason)

    def sends(self, name: str) -> None:
        """Leaves the test out where the name does not get through: a gateway that decodes
        paths makes others of some, and native Lance writes a space as a plus sign."""
        if "/" in name:
            self.not_behind_gateway("an HTTP API decodes paths: a slash in a name does not get through")
        if "+" in name or " " in name:
            self.not_behind_gateway("test_names.py::test_spaces_and_plus_signs has these names")

    def lancedb(self, **options):
        """The LanceDB client, without retries, which would hide the first response of the
        server."""
        options.setdefault("client_config", {"retry_config": {"retries": 0}})
        return lancedb.connect("db://e2e", api_key=self.token, host_override=self.url, **options)

    def namespace(self, **properties):
        """The Lance Namespace client inside pylance."""
        header = {"header.Authorization": f"Bearer {self.token}"}
        return lance_namespace.connect("rest", {"uri": self.url, **header, **properties})

    def wire(self, **options) -> Wire:
        return Wire(self.url, options.pop("token", self.token), **options)


@pytest.fixture(scope="session")
def outside(server) -> pathlib.Path | Place:
    """A place beside the server's tables from which tables may be registered."""
    if server.outside is None:
        pytest.skip("writes tables to where the server may register them, and E2E_OUTSIDE is not set")
    return server.outside


@pytest.fixture(scope="session")
def vending() -> bool:
    """Whether descriptions of tables have the keys of a store that stands in for S3. Otherwise
    they are in the environment. A suite overrides this."""
    return False


@pytest.fixture(scope="session")
def server(tmp_path_factory, request, vending):
    """The server that most tests share. It must end well and without a fault in its log."""
    failures = request.session.testsfailed
    target, process = {"embedded": _embedded, "lambda": _functions, "url": _elsewhere}[TARGET](tmp_path_factory, vending)
    yield target
    if process is None:
        return
    process.stop()
    if request.session.testsfailed > failures:
        print(f"\nlog of the server: {process.log_path}")
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


def _embedded(tmp_path_factory, _vending: bool) -> tuple[Target, Server]:
    outside = tmp_path_factory.mktemp("outside")
    process = Server(tmp_path_factory.mktemp("server") / "root", allow=[outside]).start()
    target = Target(process.url, process.token, process)
    target.outside = outside
    return target, process


def _functions(tmp_path_factory, vending: bool) -> tuple[Target, Functions]:
    process = Functions(tmp_path_factory.mktemp("server") / "functions.log", vends=vending).start()
    target = Target(process.url, process.token)
    if vending:
        target.opens = True
    else:
        target.open_with(process.storage)
    target.outside, target.behind_gateway = Place(process.bucket) / "outside", True
    target.streams_at = process.streams_at
    return target, process


def _elsewhere(_tmp_path_factory, _vending: bool) -> tuple[Target, None]:
    target = Target(REMOTE, os.environ["E2E_TOKEN"])
    if options := os.environ.get("E2E_STORAGE_OPTIONS"):
        target.open_with(json.loads(options))
        if place := os.environ.get("E2E_OUTSIDE"):
            target.outside = Place(place.rstrip("/"))
    target.behind_gateway = os.environ.get("E2E_BEHIND") == "gateway"
    if target.behind_gateway:
        target.streams_at = os.environ.get("E2E_STREAMS_AT")
    return target, None


@pytest.fixture
def own_server(tmp_path):
    """A server that one test has to itself, root namespace and all."""
    if TARGET != "embedded":
        pytest.skip("needs a server of its own")
    with Server(tmp_path / "root") as process:
        yield Target(process.url, process.token, process)
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


@pytest.fixture(scope="session")
def opens(server) -> None:
    """For tests in which Lance opens the server's tables at their location."""
    if not server.opens:
        pytest.skip("opens the server's tables, and E2E_STORAGE_OPTIONS is not set")


@pytest.fixture(scope="session")
def directory(server) -> pathlib.Path:
    """The root of the shared server, for tests that look at its files or make some beside."""
    if server.directory is None:
        pytest.skip("looks at files, and the server has none here")
    return server.directory


@pytest.fixture
def space(server) -> str:
    """A namespace of the test's own."""
    return _make_space(server)


@pytest.fixture(scope="module")
def module_space(server) -> str:
    """A namespace that the tests of one file share."""
    return _make_space(server)


@pytest.fixture
def wire(server):
    """Plain HTTP to the shared server."""
    client = server.wire()
    yield client
    client.close()


def _make_space(server) -> str:
    name = "s" + uuid.uuid4().hex[:12]
    answer = server.wire().post(f"/v1/namespace/{name}/create", {})
    assert answer.status == 200, answer.body
    return name
