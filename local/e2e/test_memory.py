"""Uploads and answers pass through the server in bounded memory, however large they are."""

from __future__ import annotations

import http.client
import io
import os
import pathlib
import urllib.parse
from collections.abc import Iterator

import lance
import numpy as np
import pyarrow as pa
import pytest

from process import Server
from wire import Wire

BATCH_ROWS, BATCHES = 20_000, 120
SCHEMA = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), 64))])
TABLE_MB = BATCHES * BATCH_ROWS * (8 + 64 * 4) >> 20  # about 600
ALLOWED_MB = 300  # the cache may have 32 of them


def upload() -> Iterator[bytes]:
    """A stream of TABLE_MB, in pieces that are made as they are sent."""
    sink = io.BytesIO()
    values = np.random.default_rng(1).random(BATCH_ROWS * 64, dtype=np.float32)
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for number in range(BATCHES):
            ids = pa.array(np.arange(number * BATCH_ROWS, (number + 1) * BATCH_ROWS))
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.roll(values, number)), 64)
            writer.write(pa.record_batch([ids, vectors], schema=SCHEMA))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def download(server: Server, path: str, body: bytes) -> int:
    """Posts a query and returns how many bytes were answered; they are not kept."""
    parts = urllib.parse.urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("POST", path, body=body, headers={"Authorization": f"Bearer {server.token}"})
    response, received = connection.getresponse(), 0
    while piece := response.read(1 << 20):
        received += len(piece)
    connection.close()
    return received


def peak_mb(server: Server) -> int:
    """The most memory that the server has had so far."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


@pytest.mark.skipif("E2E_URL" in os.environ, reason="looks at the memory of the server's process")
@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc")
def test_large_tables_in_little_memory(tmp_path):
    with Server(tmp_path / "root", settings={"TILTYARD_CACHE_BYTES": str(32 << 20)}) as server:
        path = "/v1/table/large"
        wire = Wire(server.url, server.token, timeout=120)
        answer = wire.upload_pieces(f"{path}/create", upload())
        assert answer.status == 200, answer.body
        assert peak_mb(server) < ALLOWED_MB, f"{peak_mb(server)} MB to take {TABLE_MB} MB"

        assert download(server, f"{path}/query", b'{"k": 0, "vector": []}') >> 20 >= TABLE_MB
        assert peak_mb(server) < ALLOWED_MB, f"{peak_mb(server)} MB to send {TABLE_MB} MB"

        vector = np.random.default_rng(2).random(64).tolist()
        near = wire.post(f"{path}/query", {"k": 5, "vector": vector, "columns": ["id"]}).table
        dataset = lance.dataset(str(next((tmp_path / "root").glob("large-*.lance"))))
        nearest = {"column": "vector", "q": np.array(vector, np.float32), "k": 5}
        assert near["id"].to_pylist() == dataset.to_table(columns=["id"], nearest=nearest)["id"].to_pylist()
        assert wire.post(f"{path}/count_rows", {"predicate": "id % 1000 = 1"}).json == BATCHES * BATCH_ROWS // 1000
        assert peak_mb(server) < ALLOWED_MB, f"{peak_mb(server)} MB to search {TABLE_MB} MB"
