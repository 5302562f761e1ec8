"""Our server over tables in memory, and requests to it."""

from __future__ import annotations

import io
import json
import pathlib
import time
from collections.abc import Callable, Iterator

import pyarrow as pa

from peers.engine import NEAREST
from process import Server
from wire import Line, Wire

PATIENCE = 3600  # seconds for an index
JSON = {"Content-Type": "application/json"}


class Service:
    """A server with a kept-alive connection of its own for the set-up."""

    def __init__(self, place: pathlib.Path, memory: int):
        settings = {"TILTYARD_CACHE_BYTES": str(memory), "TILTYARD_REQUEST_TIMEOUT": "15m"}
        self.server = Server(place / "tables", settings=settings).start()
        self.wire = Wire(self.server.url, self.server.token, timeout=900)

    @property
    def processes(self) -> list[int]:
        return [self.server.pid]

    def post(self, path: str, fields: dict):
        return checked(path, self.wire.post(path, fields))

    def create(self, table: str, rows: pa.Table) -> None:
        """Sends the rows in pieces, because a message may not be larger than 256 MiB."""
        path = f"/v1/table/{table}/create"
        checked(path, self.wire.upload_pieces(path, pieces(rows)))

    def index(self, table: str, column: str, kind: str, **fields) -> None:
        """Builds an index and waits for it. One that is there already must be dropped before."""
        before = self.names(table)
        self.post(f"/v1/table/{table}/create_index", {"column": column, "index_type": kind, **fields})
        began = time.monotonic()
        while self.names(table) == before:
            took = time.monotonic() - began
            if took > PATIENCE or self.server.faults():
                raise RuntimeError(f"{kind} of {table} was not built:\n{self.server.log_tail()}")
            time.sleep(min(0.5, 0.01 + took / 50))  # each poll takes time of the server, which counts as time of the build

    def names(self, table: str) -> list[str]:
        return [index["index_name"] for index in self.post(f"/v1/table/{table}/index/list", {}).json["indexes"]]

    def drop_indices(self, table: str) -> None:
        for name in self.names(table):
            self.post(f"/v1/table/{table}/index/{name}/drop", {})

    def line(self) -> Line:
        return Line(self.server.url, self.server.token)

    def close(self) -> None:
        self.wire.close()
        self.server.stop()


def pieces(rows: pa.Table) -> Iterator[bytes]:
    """An Arrow stream of batches of at most 64 MB, a piece for each."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        for batch in rows.to_batches(max_chunksize=max(1, rows.num_rows * (64 << 20) // max(1, rows.nbytes))):
            writer.write(batch)
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def checked(path: str, answer):
    if answer.status >= 300:
        raise RuntimeError(f"{path}: {answer.status} {bytes(answer.body[:300])!r}")
    return answer


def request(line: Line, path: str, fields: dict) -> Callable:
    """A function that sends a request. The request is encoded only once."""
    body = json.dumps(fields).encode()
    return lambda: checked(path, line.call("POST", path, body, JSON))


def query(line: Line, table: str, columns: list[str], k: int = NEAREST, **fields) -> Callable:
    return request(line, f"/v1/table/{table}/query", {"vector": {}, "k": k, "columns": {"column_names": columns}, **fields})
