"""No ordinary caller ends the server or takes its memory: requests that are valid and cost much.

The server has GOMEMLIMIT and three times as much address space. A bare start of a Go program of this
kind reserves 1.3 GB of that and uses 22 MB, so that 1.5 GiB leaves about 3.2 GB to grow into. Places
that the heap has given back to the system count, too, and each text of 100 MB needs one as a whole: with
1 GiB a server that had 1,050 MB of memory found none. E2E_EXPENSIVE is the number of random
requests, 20,000 in a long run; E2E_SEED chooses them.
"""

from __future__ import annotations

import collections
import concurrent.futures
import http.client
import os
import pathlib
import random
import re
import resource
import socket
import time

import pyarrow as pa
import pytest

import expensive
from process import Server
from wire import Wire

LIMIT = 1536 << 20
DEADLINE = 10.0
LATE = 1.0  # how long after the deadline a request is answered at most
GRACE = 5.0  # and how long a client has then to read an answer
UNREAD = 1 << 20  # bytes of an answer that connections take whether the client reads or not
SLOW = "slow"  # the request id of clients that do not read
HANG = 6 * DEADLINE  # no request is forgotten, however busy the machine is
REQUESTS = int(os.environ.get("E2E_EXPENSIVE") or 1200 // int(os.environ.get("E2E_MANY") or 1))
ANSWERS = {200, 204, 400, 408, 409, 413, 429, 503}

pytestmark = [
    pytest.mark.embedded("looks at the memory of the server's process"),
    pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc"),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    settings = {"GOMEMLIMIT": f"{LIMIT >> 20}MiB", "TILTYARD_STALL_TIMEOUT": "5s", "TILTYARD_REQUEST_TIMEOUT": f"{DEADLINE:.0f}s"}
    with Server(tmp_path_factory.mktemp("expensive") / "root", settings=settings) as server:
        resource.prlimit(server.pid, resource.RLIMIT_AS, (3 * LIMIT, 3 * LIMIT))
        answer = client(server).call("POST", "/v1/table/t/create", expensive.stream(expensive.table()), {"Content-Type": "application/vnd.apache.arrow.stream"})
        assert answer.status == 200, answer.body
        yield server
        check(server)


def client(server: Server) -> Wire:
    return Wire(server.url, server.token, timeout=60)


def check(server: Server) -> None:
    """The server lives, and has never had more than twice its limit."""
    assert client(server).call("GET", "/healthz").status == 200
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) << 10
    assert peak <= 2 * LIMIT, f"{peak >> 20} MiB with a limit of {LIMIT >> 20} MiB"


def processor_time(server: Server) -> tuple[float, float]:
    """How long the threads of the server have run, and how long they have waited to run, in seconds."""
    ran = waited = 0
    for stat in pathlib.Path(f"/proc/{server.pid}/task").glob("*/schedstat"):
        here = [int(n) for n in stat.read_text().split()]
        ran, waited = ran + here[0], waited + here[1]
    return ran / 1e9, waited / 1e9


def longest(log: bytes) -> tuple[float, float]:
    """Returns the most seconds that a request took by the server's log, and that of one that
    waited for its reader."""
    most = [0.0, 0.0]
    for name, ms, size in re.findall(rb"msg=request request_id=(\S+) .*? duration_ms=([0-9.]+) bytes_in=\d+ bytes_out=(\d+)", log):
        waited = name == SLOW.encode() or int(size) > UNREAD
        most[waited] = max(most[waited], float(ms) / 1000)
    return most[0], most[1]


def send(server: Server, path: str, body: dict | bytes) -> int:
    wire, began = client(server), time.monotonic()
    try:
        answer = wire.upload(path, body) if isinstance(body, bytes) else wire.post(path, body)
        status = answer.status
        assert status < 400 or answer.json["status"] == status and answer.json["error"], answer.body
        assert status not in (429, 503) or answer.headers["Retry-After"], answer.body
    # An answer breaks off when its time or its memory is over, or when its reader is too slow. A
    # server that died refuses the next connection, which is no cut.
    except (http.client.IncompleteRead, http.client.RemoteDisconnected):
        status = 503
    took = time.monotonic() - began
    assert took < HANG, f"{path} took {took:.1f} s: {body!r:.300}"
    return status


def all_at_once(server: Server, requests: list[tuple[str, dict | bytes]], threads: int) -> list[int]:
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda r: send(server, *r), requests))


def slow_reader(server: Server, path: str, body: bytes) -> socket.socket:
    """A connection that asks for much and reads nothing."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\nX-Request-Id: {SLOW}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


@pytest.mark.slow
@pytest.mark.seconds(300 + REQUESTS // 4)
def test_random_requests(server):
    chance = random.Random(int(os.environ.get("E2E_SEED", "1")))
    made = (expensive.request(chance) for _ in range(REQUESTS))
    requests = [(f"/v1/table/t/{path}", body) for path, body in made]
    logged, (ran, waited) = len(server.log()), processor_time(server)
    slow = collections.deque(maxlen=8)  # connections, of which the oldest is closed for a new one

    def one(number: int) -> int:
        if number % 20 == 0:
            slow.append(slow_reader(server, "/v1/table/t/query", b'{"k": 0, "vector": []}'))
        return send(server, *requests[number])

    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        statuses = list(pool.map(one, range(REQUESTS)))
    ran, waited = (now - before for now, before in zip(processor_time(server), (ran, waited), strict=True))
    late = LATE * (1 + waited / ran)  # a second of the server's own time, of which others take some
    most, unread = longest(server.log()[logged:])
    print({s: statuses.count(s) for s in set(statuses)}, f"at most {most:.1f} s, {unread:.1f} until it was read; a second is {late:.1f}")
    check(server)
    assert most <= DEADLINE + late
    assert unread <= DEADLINE + GRACE + late
    assert not [(s, f"{r!r:.300}") for s, r in zip(statuses, requests, strict=True) if s not in ANSWERS]
    assert statuses.count(200) > REQUESTS / 10, "hardly anything was answered"


def test_bodies_that_do_not_come(server):
    body = b'{"vector":[' + b"0.5," * (2_000_000) + b"0]"
    held = []
    host, port = server.url.removeprefix("http://").split(":")
    for _ in range(100):
        connection = socket.create_connection((host, int(port)))
        head = f"POST /v1/table/t/query HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\nContent-Length: {len(body) - 1}\r\n\r\n"
        connection.settimeout(5)
        try:
            connection.sendall(head.encode() + body[:-2])
        except OSError:
            pass  # it was refused before it was all there
        held.append(connection)
    check(server)
    for connection in held:
        connection.close()


def test_readers_that_do_not_read(server):
    readers = [slow_reader(server, "/v1/table/t/query", b'{"k": 0, "vector": []}') for _ in range(150)]
    time.sleep(3)
    check(server)
    for reader in readers:
        reader.close()


def test_small_uploads_that_are_large(server):
    batch = pa.record_batch([pa.Array.from_buffers(pa.int64(), 32 << 20, [None, pa.py_buffer(bytes(256 << 20))])], names=["n"])
    body = expensive.stream(pa.Table.from_batches([batch] * 3).combine_chunks(), "zstd")
    assert len(body) < 1 << 20
    statuses = all_at_once(server, [(f"/v1/table/large{i}/create", body) for i in range(12)], 12)
    assert set(statuses) <= {413, 503}, statuses
    check(server)


@pytest.mark.parametrize("type", [pa.list_(pa.float32(), 2_000_000_000), pa.binary(2_000_000_000), pa.list_(pa.float32(), 8193)], ids=["list", "binary", "vector"])
def test_columns_that_nobody_can_read(server, type):
    body = expensive.stream(pa.schema([("c", type)]).empty_table())
    answer = client(server).call("POST", "/v1/table/wide/create", body, {"Content-Type": "application/vnd.apache.arrow.stream"})
    assert answer.status == 400 and "at most" in answer.json["error"], answer.body


def test_metadata_does_not_add_up(server):
    """Each request is within its bounds; together they are a manifest of any size."""
    wire, value = client(server), "x" * 4000
    answers = [wire.post("/v1/table/t/schema_metadata/update", {f"k{i}-{j}": value for j in range(250)}) for i in range(7)]
    assert [a.status for a in answers] == [200] * 4 + [400] * 3, answers[-1].body
    assert "at most 4194304" in answers[-1].json["error"], answers[-1].body
