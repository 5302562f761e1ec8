"""Requests to S3, beside the reference REST adapter: how many an operation sends, how many of them wait for one
another, what they carry, how long the operation takes, and what a million of them costs.

Both servers reach a stand-in of S3 (TILTYARD_TEST_S3) through a proxy that answers each request 20 ms later
than the stand-in does, and that counts. "make bench-s3" starts it.

    python bench_s3.py [--rows N] [--tries N]
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import http.client
import http.server
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")

import numpy as np
import pyarrow as pa

from process import Server
from wire import Wire

LATENCY = 0.020  # seconds
BUCKET = "bench"
GET_PRICE, PUT_PRICE = 0.40, 5.00  # dollars for a million; deletes cost nothing
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}


@dataclasses.dataclass
class Request:
    kind: str
    began: float
    ended: float = 0.0
    bytes: int = 0


class Proxy:
    """Forwards requests to the storage, later than they came, and remembers them."""

    def __init__(self, target: str):
        self.target = urllib.parse.urlsplit(target)
        self.requests: list[Request] = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self):
                super().setup()
                self.upstream = http.client.HTTPConnection(proxy.target.hostname, proxy.target.port, timeout=60)

            def finish(self):
                self.upstream.close()
                super().finish()

            def log_message(self, *_):
                pass

            def serve(self):
                request = Request(self.kind(), time.perf_counter())
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
                time.sleep(LATENCY)
                try:
                    self.upstream.request(self.command, self.path, body=body, headers=headers)
                    response = self.upstream.getresponse()
                except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                    self.upstream.close()
                    self.upstream.request(self.command, self.path, body=body, headers=headers)
                    response = self.upstream.getresponse()
                data = response.read()
                request.ended, request.bytes = time.perf_counter(), len(data) + len(body)
                proxy.requests.append(request)
                self.send_response(response.status)
                length = response.headers.get("content-length") if self.command == "HEAD" else str(len(data))
                for name, value in response.headers.items():
                    if name.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                        self.send_header(name, value)
                self.send_header("content-length", length or "0")
                self.end_headers()
                self.wfile.write(data)

            def kind(self) -> str:
                query = urllib.parse.urlsplit(self.path).query
                return "LIST" if self.command == "GET" and "list-type=" in query else self.command

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve

        class Threads(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self) -> list[Request]:
        taken, self.requests = self.requests, []
        return taken


def depth(requests: list[Request]) -> int:
    """How many requests of the longest chain began after the one before had ended."""
    levels: list[tuple[float, int]] = []  # when a request ended, and its place in its chain
    for r in sorted(requests, key=lambda r: r.began):
        levels.append((r.ended, 1 + max((level for ended, level in levels if ended <= r.began), default=0)))
    return max((level for _, level in levels), default=0)


@dataclasses.dataclass
class Cost:
    """The median of some tries of an operation."""

    requests: float
    depth: float
    kilobytes: float
    milliseconds: float
    dollars: float  # of a million

    @staticmethod
    def of(tries: list[tuple[list[Request], float]]) -> Cost:
        def middle(of: Callable) -> float:
            return statistics.median(of(requests, seconds) for requests, seconds in tries)

        def price(requests: list[Request]) -> float:
            prices = {"GET": GET_PRICE, "HEAD": GET_PRICE, "DELETE": 0.0}
            return sum(prices.get(r.kind, PUT_PRICE) for r in requests)

        return Cost(
            middle(lambda requests, _: len(requests)),
            middle(lambda requests, _: depth(requests)),
            middle(lambda requests, _: sum(r.bytes for r in requests) / 1000),
            middle(lambda _, seconds: seconds * 1000),
            middle(lambda requests, _: price(requests)),
        )

    def cells(self) -> str:
        return (
            f"{self.requests:.0f} / {self.depth:.0f} | {self.kilobytes:,.0f} | {self.milliseconds:,.0f} | {self.dollars:.2f}"
        )


# The servers


def serve_adapter(root: str, endpoint: str) -> None:
    """Runs the reference server until the standard input ends (in a process of its own)."""
    import lance.namespace

    options = {"endpoint": endpoint, "region": "us-east-1", "access_key_id": "test", "secret_access_key": "test"}
    options |= {"allow_http": "true", "virtual_hosted_style_request": "false"}
    properties = {"root": root} | {f"storage.{name}": value for name, value in options.items()}
    with lance.namespace.RestAdapter("dir", properties, port=0) as adapter:
        print(adapter.port, flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def adapter_process(root: str, endpoint: str):
    command = [sys.executable, __file__, "--serve-adapter", root, endpoint]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Wire(f"http://127.0.0.1:{int(process.stdout.readline())}", timeout=300)
        process.stdin.close()


# What is measured


def rows(first: int, count: int) -> pa.Table:
    random = np.random.default_rng(first + 1)
    ids = np.arange(first, first + count)
    words = random.integers(0, 2000, size=(count, 8))
    vectors = random.normal(size=count * 128).astype(np.float32)
    return pa.table(
        {
            "id": pa.array(ids),
            "x": pa.array(random.random(count)),
            "s": pa.array([f"row {i}" for i in ids]),
            "text": pa.array([" ".join(f"word{w}" for w in line) for line in words]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), 128),
        }
    )


@dataclasses.dataclass
class Operation:
    name: str
    path: str  # {} is the number of the try
    body: Callable[[int], object] = lambda _: {}  # JSON, or rows; None for a GET


def operations(count: int) -> list[Operation]:
    table = "/v1/table/org$team$t/"
    columns = {"column_names": ["id", "x", "s"]}
    vector = [float(v) for v in np.random.default_rng(9).normal(size=128)]

    def filtered(text: Callable[[int], str]) -> Callable[[int], object]:
        # The protocol asks for a vector; none means a scan.
        return lambda i: {"vector": {}, "k": count, "columns": columns, "filter": text(i)}

    merge = "merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    return [
        Operation("namespace create", "/v1/namespace/org$team$n{}/create"),
        Operation("namespace describe", "/v1/namespace/org$team/describe"),
        Operation("table declare", "/v1/table/org$team$d{}/declare"),
        Operation("table create, 1,000 rows", "/v1/table/org$team$c{}/create", lambda _: rows(0, 1000)),
        Operation("table list", "/v1/namespace/org$team/table/list", lambda _: None),
        Operation("table describe", table + "describe"),
        Operation("table describe, latest version", table + "describe?load_detailed_metadata=true"),
        Operation("version list, latest 1", table + "version/list?limit=1&descending=true"),
        Operation("count", table + "count_rows"),
        Operation("full scan (id, x, s)", table + "query", lambda _: {"vector": {}, "k": count, "columns": columns}),
        Operation("filter 1%, no index", table + "query", filtered(lambda _: "x < 0.01")),
        Operation("point lookup, BTREE", table + "query", filtered(lambda i: f"id = {(i * 7919 + 5) % count}")),
        Operation(
            "take 100 by id, BTREE",
            table + "query",
            filtered(lambda i: f"id IN ({', '.join(str((i * 37 + j * 479) % count) for j in range(100))})"),
        ),
        Operation(
            "FTS match, top 10",
            table + "query",
            lambda i: {
                "vector": {},
                "k": 10,
                "columns": {"column_names": ["id"]},
                "full_text_query": {"string_query": {"query": f"word{10 + i} word{110 + i}", "columns": ["text"]}},
            },
        ),
        Operation(
            "IVF_PQ, nprobes 20 refine 10",
            table + "query",
            lambda i: {
                "vector": {"single_vector": [v + i for v in vector]},
                "k": 10,
                "nprobes": 20,
                "refine_factor": 10,
                "columns": {"column_names": ["id"]},
            },
        ),
        Operation("tag create", table + "tags/create", lambda i: {"tag": f"t{i}", "version": 1}),
        Operation("tag version", table + "tags/version", lambda i: {"tag": f"t{i}"}),
        Operation("append 1,000 rows", table + "insert", lambda i: rows(count + 1000 * i, 1000)),
        Operation("merge 1,000 rows, BTREE", table + merge, lambda i: rows(count - 900 + 100 * i, 1000)),
        Operation(
            "update 1 row, BTREE", table + "update", lambda i: {"predicate": f"id = {1000 + i}", "updates": [["x", "x + 1"]]}
        ),
        Operation("delete 10 rows, BTREE", table + "delete", lambda i: {"predicate": f"id >= {2000 + 10 * i} AND id < {2010 + 10 * i}"}),
    ]


INDICES = [
    ("id", "BTREE", {}),
    ("text", "FTS", {}),
    ("vector", "IVF_PQ", {"distance_type": "l2", "num_partitions": 125, "num_sub_vectors": 16}),
]


def prepare(wire: Wire) -> None:
    for path in ("org/create", "org$team/create"):
        checked(wire.post(f"/v1/namespace/{path}", {}))


def checked(answer):
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {bytes(answer.body[:300]).decode(errors='replace')}")
    return answer


def fill_ours(wire: Wire, data: pa.Table) -> None:
    checked(wire.upload("/v1/table/org$team$t/create", data))
    for column, kind, options in INDICES:
        checked(wire.post("/v1/table/org$team$t/create_index", {"column": column, "index_type": kind, **options}))
    deadline = time.monotonic() + 300
    while len(json.loads(wire.post("/v1/table/org$team$t/index/list", {}).body)["indexes"]) < len(INDICES):
        if time.monotonic() > deadline:
            raise SystemExit("bench: the indices are not ready")
        time.sleep(0.5)


def fill_adapter(wire: Wire, data: pa.Table, endpoint: str) -> None:
    """The adapter refuses bodies above 2 MiB, so pylance writes its table, and builds its indices."""
    import lance

    declared = json.loads(checked(wire.post("/v1/table/org$team$t/declare", {})).body)
    options = {"aws_endpoint": endpoint, "aws_region": "us-east-1", "aws_allow_http": "true"}
    options |= {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    table = lance.write_dataset(data, declared["location"], storage_options=options, mode="overwrite")
    table.create_scalar_index("id", "BTREE")
    table.create_scalar_index("text", "INVERTED")
    table.create_index("vector", "IVF_PQ", num_partitions=125, num_sub_vectors=16)


def send(wire: Wire, path: str, body):
    if body is None:
        return wire.call("GET", path)
    return wire.upload(path, body) if isinstance(body, pa.Table) else wire.post(path, body)


def measure(proxy: Proxy, wire: Wire, count: int, tries: int) -> dict[str, Cost | str]:
    costs: dict[str, Cost | str] = {}
    for op in operations(count):
        measured = []
        try:
            for i in range(tries + 3):
                body = op.body(i)
                proxy.take()
                began = time.perf_counter()
                path = op.path.replace("{}", str(i))
                answer = send(wire, path, body)
                seconds = time.perf_counter() - began
                checked(answer)
                if i >= 3:  # those before made it warm
                    measured.append((proxy.take(), seconds))
            costs[op.name] = Cost.of(measured)
        except RuntimeError as err:
            costs[op.name] = str(err)
    return costs


def table_of(ours: dict, adapter: dict) -> str:
    head = "requests / depth | kB | ms | $ per million"
    lines = [
        f"| warm, {LATENCY * 1000:.0f} ms a request | " + " | ".join(f"{who}: {head}" for who in ("ours", "adapter")) + " |",
        "|---|" + "--:|" * 8,
    ]
    for name, cost in ours.items():
        cells = [c.cells() if isinstance(c, Cost) else "- | - | - | -" for c in (cost, adapter.get(name, ""))]
        lines.append(f"| {name} | {cells[0]} | {cells[1]} |")
    lines += [f"{who}, {name}: {c}" for who, of in (("ours", ours), ("adapter", adapter)) for name, c in of.items() if isinstance(c, str)]
    return "\n".join(lines)


def main() -> None:
    if sys.argv[1:2] == ["--serve-adapter"]:
        serve_adapter(*sys.argv[2:])
        return
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=50_000)
    arguments.add_argument("--tries", type=int, default=5)
    given = arguments.parse_args()
    storage = os.environ["TILTYARD_TEST_S3"]
    parts = urllib.parse.urlsplit(storage)
    made = http.client.HTTPConnection(parts.hostname, parts.port)
    made.request("PUT", f"/{BUCKET}")
    made.getresponse().read()
    os.environ.update(CREDENTIALS)
    data = rows(0, given.rows)
    proxy = Proxy(storage)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["AWS_ENDPOINT_URL_S3"] = os.environ["AWS_ENDPOINT_URL"] = proxy.url
        with Server(pathlib.Path(scratch) / "ours", uri=f"s3://{BUCKET}/ours") as server:
            wire = Wire(server.url, server.token, timeout=300)
            prepare(wire)
            fill_ours(wire, data)
            ours = measure(proxy, wire, given.rows, given.tries)
    with adapter_process(f"s3://{BUCKET}/adapter", proxy.url) as wire:
        prepare(wire)
        fill_adapter(wire, data, proxy.url)
        adapter = measure(proxy, wire, given.rows, given.tries)
    print(table_of(ours, adapter))


if __name__ == "__main__":
    main()
