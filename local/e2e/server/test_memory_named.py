"""Requests that once took all memory, or the processors beyond every deadline, each by its
name.

The server has GOMEMLIMIT, and may never have had more than twice as much. It has four times as
much address space beside that of its start, so a server that takes far more ends at once. A
request may be answered or refused. It must not harm the server, change anything when it is
refused, or continue when its time is over or its client has gone."""

from __future__ import annotations

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import resource
import socket
import time

import lance
import numpy as np
import pyarrow as pa
import pytest

from process import Server
from wire import ARROW_STREAM, Answer, Wire, stream

LIMIT = 512 << 20
DEADLINE = 5.0
LATE = 20  # what obeys no deadline takes minutes, and a busy machine some seconds
ROWS = 2_000
DIMENSIONS = 1_024
REFUSED = {413, 429, 503}

pytestmark = [
    pytest.mark.embedded("looks at the memory of the server's process"),
    pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc"),
]


@contextlib.contextmanager
def serving(root: pathlib.Path):
    settings = {"GOMEMLIMIT": f"{LIMIT >> 20}MiB", "TILTYARD_REQUEST_TIMEOUT": f"{DEADLINE:.0f}s"}
    with Server(root, settings=settings) as server:
        # Address space is no memory: what large slices leave as they grow is free, and too small for the next.
        space = of_status(server, "VmSize") + 4 * LIMIT
        resource.prlimit(server.pid, resource.RLIMIT_AS, (space, space))
        yield server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("named") / "root") as server:
        create(server, "t", rows())
        yield server
        lives(server)
        log = server.log()
        assert b"status=500" not in log and b"msg=panic" not in log, [line for line in server.faults() if "status=503" not in line]


@pytest.fixture(autouse=True)
def unharmed(request):
    yield
    if "server" in request.fixturenames:
        lives(request.getfixturevalue("server"))


def rows() -> pa.Table:
    vectors = np.random.default_rng(1).random(ROWS * DIMENSIONS, dtype=np.float32)
    return pa.table(
        {
            "n": pa.array(range(ROWS), pa.int64()),
            "s": ["ab" * 200 + str(i) for i in range(ROWS)],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSIONS),
        }
    )


def wire(server: Server) -> Wire:
    return Wire(server.url, server.token, timeout=60)


def create(server: Server, name: str, table: pa.Table) -> None:
    answer = wire(server).upload(f"/v1/table/{name}/create", table)
    assert answer.status == 200, answer.body


def lives(server: Server) -> None:
    """The server answers, and has never had more than twice its limit."""
    assert wire(server).call("GET", "/healthz").status == 200
    peak = of_status(server, "VmHWM")
    assert peak <= 2 * LIMIT, f"{peak >> 20} MiB with a limit of {LIMIT >> 20} MiB"


def of_status(server: Server, name: str) -> int:
    """Returns a number of bytes that the system reports for the server's process."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0]) << 10


def cpu_seconds(server: Server) -> float:
    """How long the server has computed so far."""
    fields = pathlib.Path(f"/proc/{server.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def idle(server: Server) -> None:
    """The server stops computing soon."""
    until = time.monotonic() + LATE
    while True:
        before = cpu_seconds(server)
        time.sleep(0.4)
        if cpu_seconds(server) - before < 0.15:
            return
        assert time.monotonic() < until, f"the server still computes after {LATE} s"


def post(server: Server, path: str, body: dict, deadline: float = DEADLINE) -> Answer:
    """An answer within the deadline; one that breaks off counts as a refusal."""
    began = time.monotonic()
    try:
        answer = wire(server).post(path, body, **{"x-request-timeout-ms": f"{deadline * 1000:.0f}"})
    except http.client.IncompleteRead:
        answer = Answer(503, http.client.HTTPMessage(), b"")
    took = time.monotonic() - began
    assert took < deadline + LATE, f"{path} took {took:.1f} s"
    if answer.status in (429, 503) and answer.body:
        assert answer.headers["Retry-After"], answer.body
    return answer


def start(server: Server, path: str, body: dict) -> http.client.HTTPConnection:
    """A request whose answer is not waited for."""
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    connection.request("POST", path, json.dumps(body), {"Authorization": f"Bearer {server.token}"})
    return connection


def begin(server: Server, path: str, body: dict) -> int:
    """The status of an answer of which only the first megabytes are read."""
    with contextlib.closing(start(server, path, body)) as connection:
        response = connection.getresponse()
        with contextlib.suppress(http.client.IncompleteRead):
            response.read(4 << 20)
        return response.status


def at_once(requests: list, threads: int) -> list:
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return [f.result() for f in [pool.submit(*r) for r in requests]]


REPEAT = "repeat('a', 100000000)"
REPEATED = {
    "projected": ("query", {"k": ROWS, "vector": [], "columns": {"x": REPEAT}}),
    "filtered": ("query", {"k": ROWS, "vector": [], "columns": ["n"], "filter": " OR ".join(["repeat('a', 200000000) = s"] * 50)}),
    "added": ("add_columns", {"new_columns": [{"name": "x", "expression": REPEAT}]}),
    "updated": ("update", {"updates": [["s", REPEAT]]}),
    "added wide": ("add_columns", {"new_columns": [{"name": "x", "expression": "repeat(s, 100000)"}]}),
    "updated wide": ("update", {"updates": [["s", "repeat(s, 100000)"]]}),
}


@pytest.mark.parametrize("name", REPEATED)
def test_repeat(server, name):
    path, body = REPEATED[name]
    native = lance.dataset(str(next(server.root.glob("t-*.lance"))))
    if path == "query":  # what can be answered row by row may be
        assert set(at_once([(begin, server, f"/v1/table/t/{path}", body)] * 4, 4)) <= {200} | REFUSED
        return
    for answer in at_once([(post, server, f"/v1/table/t/{path}", body)] * 4, 4):
        assert answer.status in REFUSED, answer.body
    assert native.latest_version == native.version


def test_a_dictionary_of_one_large_value(server):
    """One value of 100 KB, a million times: 100 GB, if they were written out."""
    value = "x" * 100_000
    batches = [
        pa.record_batch([pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), [value])], names=["d"])
        for _ in range(10)
    ]
    create(server, "dictionary", pa.Table.from_batches(batches))
    predicates = {f"d = '{value[:10_000]}'": 0, "d LIKE '%xy'": 0, "d LIKE 'x%'": 1_000_000, "regexp_like(d, '(x|xx)*y$')": 0}
    path = "/v1/table/dictionary"
    answers = at_once([(post, server, f"{path}/count_rows", {"predicate": p}, 2.0) for p in predicates], len(predicates))
    for answer, count in zip(answers, predicates.values()):
        assert answer.status == 200 and answer.json == count or answer.status in REFUSED, answer.body
    query = {"k": 1_000_000, "vector": [], "filter": "d LIKE 'x%'", "columns": ["d"]}
    read = at_once([(begin, server, f"{path}/query", query)] * 8, 8)
    assert set(read) <= {200} | REFUSED, read
    few = post(server, f"{path}/query", {**query, "k": 3})
    assert few.status == 200 and few.table["d"].to_pylist() == [value] * 3, few.body[:300]


def test_many_queries_of_many_vectors(server):
    """64 at once, each of 64 vectors: 96,000 hits for one of them, and 7,680,000 distances."""
    chance, dimensions, count = np.random.default_rng(2), 16, 120_000
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(chance.random(count * dimensions, dtype=np.float32)), dimensions)
    create(server, "near", pa.table({"n": pa.array(range(count), pa.int64()), "v": vectors}))
    body = {"k": 1_500, "vector": chance.random((64, dimensions)).round(3).tolist(), "columns": ["n"]}
    one = post(server, "/v1/table/near/query", body)
    assert one.status == 200 and one.table.num_rows == 96_000, one.body[:300]
    statuses = at_once([(begin, server, "/v1/table/near/query", body)] * 64, 64)
    assert set(statuses) <= {200} | REFUSED, statuses
    assert post(server, "/v1/table/near/query", body).status == 200


# Each would compute for minutes.
ENDLESS = {
    "regular expression": "regexp_like(repeat(s, 2000), '(a|b|ab)*(ba|a)*c$')",
    "translate": f"length(translate(repeat(s, 3000), '{'abcdefgh' * 400}', '{'stuvwxyz' * 400}')) = 1",
    "levenshtein": "levenshtein(repeat(s, 100), reverse(repeat(s, 100))) = 1",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_long_expressions_end(server, name):
    """They end by the deadline, and when the client goes."""
    count, body = "/v1/table/t/count_rows", {"predicate": ENDLESS[name]}
    answer = post(server, count, body, deadline=1.5)
    assert answer.status == 503, answer.body
    idle(server)
    gone = start(server, count, body)
    time.sleep(0.5)
    gone.close()
    idle(server)


def test_long_expressions_do_not_keep_a_server_that_is_told_to_stop(tmp_path):
    with serving(tmp_path / "root") as server:
        create(server, "t", rows())
        waiting = [start(server, "/v1/table/t/count_rows", {"predicate": p}) for p in ENDLESS.values()]
        time.sleep(0.5)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < DEADLINE + LATE
        for connection in waiting:
            assert connection.getresponse().status == 503
            connection.close()


def test_strangers_that_hold_back_the_last_byte(server):
    """Their bodies, of 8 MiB each, are not read."""
    body = b'{"vector":[' + b"0.5," * ((8 << 20) // 4 - 8)
    head = f"POST /v1/table/t/query HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body) + 2}\r\n\r\n".encode()
    host, port = server.url.removeprefix("http://").split(":")

    def stranger() -> tuple[socket.socket, bytes]:
        connection = socket.create_connection((host, int(port)), timeout=20)
        with contextlib.suppress(OSError):  # it is refused while it still sends
            connection.sendall(head + body)
        try:
            return connection, connection.recv(12)
        except OSError:
            return connection, b""

    before = cpu_seconds(server)
    with concurrent.futures.ThreadPoolExecutor(300) as pool:
        answers = [f.result() for f in [pool.submit(stranger) for _ in range(300)]]
    computed = cpu_seconds(server) - before
    assert {a for _, a in answers} <= {b"HTTP/1.1 401", b""}, answers
    assert computed < 3, f"{computed:.1f} s for bodies that nobody should read"
    lives(server)
    for connection, _ in answers:
        connection.close()


@pytest.mark.parametrize("batches", [1, 24])
def test_small_uploads_that_are_large(server, batches):
    """12 bodies at once, each of a few KB that hold 762 MB in one batch or several."""
    column = pa.Array.from_buffers(pa.int64(), 100_000_000 // batches, [None, pa.py_buffer(bytes(800_000_000 // batches))])
    body = stream(pa.Table.from_batches([pa.record_batch([column], names=["n"])] * batches), compression="zstd")
    assert len(body) < 200_000
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        paths = [f"/v1/table/large{batches}-{i}/create" for i in range(12)]
        answers = list(pool.map(lambda path: wire(server).call("POST", path, body, {"Content-Type": ARROW_STREAM}), paths))
    statuses = {a.status for a in answers}
    assert statuses <= REFUSED | ({200} if batches > 1 else set()), [a.body for a in answers]
    assert time.monotonic() - began < DEADLINE + LATE
