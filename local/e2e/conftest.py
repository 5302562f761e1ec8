"""The server under test and its clients.

Without configuration the suite starts bin/tiltyard over a temporary directory. With
E2E_TARGET=lambda it starts the built functions behind the stand-in of a gateway, over that
of S3 and DynamoDB. With E2E_URL and E2E_TOKEN it judges a server that runs elsewhere; then

  E2E_STORAGE_OPTIONS  is a JSON object of what Lance needs to open tables where they are,
  E2E_OUTSIDE          a place below an allowed one, such as s3://bucket/prefix, in which
                       the tests may write tables and register them,
  E2E_BEHIND           says gateway if an HTTP API of AWS is in front,
  E2E_STREAMS_AT       then is the URL of a function that streams what it answers,
  E2E_VENDS            is set when describing a table gives credentials for it.

What a target does not have some tests cannot do without. These are left out, and listed at
the end with the reason. So are, where functions are judged, the tests of very many cases
about the engine and the format alone (thousands of filters and merges, hundreds of tables
and file sizes): the engine is the same there, and each kind of operation has its own tests,
which all run. So are most cases of tests that are marked as many, which are about the engine,
too: one in MANY runs, always the same. With --brief most of these are left out against the
local server as well, and tests that are marked as slow.
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

import sample
from pair import Pair
from process import Functions, Server, binary
from wire import Wire

REMOTE = os.environ.get("E2E_URL")
TARGET = "url" if REMOTE else os.environ.get("E2E_TARGET", "embedded")
TEST_SECONDS = 300
MANY = 7  # no divisor of how many values the parameters of such tests have


def pytest_addoption(parser):
    """How much chance there is in test_differential.py."""
    group = parser.getgroup("tiltyard")
    group.addoption("--tables", type=int, default=300, help="random tables to compare with native Lance")
    group.addoption("--brief", action="store_true", help="leave out what takes long, and most of very many cases")
    group.addoption("--seed", type=int, default=0, help="the seed of the first of them")


def pytest_configure(config):
    """The tests also call deprecated functions of the clients, because users do."""
    if TARGET not in ("embedded", "lambda", "url"):
        raise pytest.UsageError(f"E2E_TARGET is {TARGET!r}, want embedded or lambda")
    if TARGET == "embedded":
        os.environ["E2E_BINARY"] = str(binary())  # built once, also when several processes test
    elif TARGET == "lambda":
        os.environ["E2E_FUNCTIONS"] = Functions.folder()
    config.addinivalue_line("markers", "embedded(reason): only against the local server, for a reason")
    config.addinivalue_line("markers", "many: has many cases about the engine, of which some do elsewhere and in brief")
    config.addinivalue_line("markers", "seconds(most): may take longer than other tests")
    config.addinivalue_line("markers", "slow: takes many seconds, and is left out in brief")
    for old in ("table_names", "create_scalar_index"):
        config.addinivalue_line("filterwarnings", f"ignore:{old}")


def pytest_collection_modifyitems(config, items):
    """Skips tests that need the local server, that are too much for other targets, or that take
    long in a brief run."""
    cases = collections.Counter()
    brief = config.getoption("brief")
    for item in items:
        if TARGET != "embedded" and (marker := item.get_closest_marker("embedded")):
            item.add_marker(pytest.mark.skip(reason=marker.args[0]))
        if brief and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes long: make test-e2e runs it"))
        if (brief or TARGET != "embedded") and item.get_closest_marker("many"):
            if cases[item.function] % MANY:
                whose = "a brief run asks" if brief else "functions are asked"
                item.add_marker(pytest.mark.skip(reason=f"of these cases of the engine {whose} one in {MANY}"))
            cases[item.function] += 1


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
def server(tmp_path_factory, request):
    """The server that most tests share. It must end well and without a fault in its log."""
    failures = request.session.testsfailed
    target, process = {"embedded": _embedded, "lambda": _functions, "url": _elsewhere}[TARGET](tmp_path_factory)
    yield target
    if process is None:
        return
    process.stop()
    if request.session.testsfailed > failures:
        print(f"\nlog of the server: {process.log_path}")
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


def _embedded(tmp_path_factory) -> tuple[Target, Server]:
    outside = tmp_path_factory.mktemp("outside")
    process = Server(tmp_path_factory.mktemp("server") / "root", allow=[outside]).start()
    target = Target(process.url, process.token, process)
    target.outside = outside
    return target, process


def _functions(tmp_path_factory) -> tuple[Target, Functions]:
    process = Functions(tmp_path_factory.mktemp("server") / "functions.log").start()
    target = Target(process.url, process.token)
    target.open_with(process.storage)
    target.outside, target.behind_gateway = Place(process.bucket) / "outside", True
    target.streams_at = process.streams_at
    return target, process


def _elsewhere(_) -> tuple[Target, None]:
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


def _make_space(server) -> str:
    name = "s" + uuid.uuid4().hex[:12]
    answer = server.wire().post(f"/v1/namespace/{name}/create", {})
    assert answer.status == 200, answer.body
    return name
