"""Uploads, responses and changes of any size pass through the server in bounded memory.

memory_proof.py does this with 5 GB."""

from __future__ import annotations

import io
import pathlib
from collections.abc import Iterator

import lance
import numpy as np
import pyarrow as pa
import pytest

from process import Server, download
from wire import Wire

BATCH_ROWS, BATCHES = 20_000, 120
SCHEMA = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), 64))])
TABLE_MB = BATCHES * BATCH_ROWS * (8 + 64 * 4) >> 20  # about 600
MERGED = 32  # batches of a merge: more than a merge keeps in memory, in bytes and in rows
ALLOWED_MB = 300  # the cache may have 32 of them


def upload(batches: range = range(BATCHES)) -> Iterator[bytes]:
    """A stream of TABLE_MB, in pieces that are made as they are sent."""
    sink = io.BytesIO()
    values = np.random.default_rng(1).random(BATCH_ROWS * 64, dtype=np.float32)
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        for number in batches:
            ids = pa.array(np.arange(number * BATCH_ROWS, (number + 1) * BATCH_ROWS))
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.roll(values, number)), 64)
            writer.write(pa.record_batch([ids, vectors], schema=SCHEMA))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def peak_mb(server: Server) -> int:
    """The most memory that the server has had so far."""
    status = pathlib.Path(f"/proc/{server.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) >> 10


@pytest.mark.slow
@pytest.mark.embedded("looks at the memory of the server's process")
@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="needs /proc")
def test_large_tables_in_little_memory(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    settings = {"TILTYARD_CACHE_BYTES": str(32 << 20), "GOMEMLIMIT": "240MiB", "TMPDIR": str(scratch)}
    with Server(tmp_path / "root", settings=settings) as server:
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

        # Of a merge of MERGED batches half are in the table; they wait in the scratch directory.
        half, rows = MERGED // 2, MERGED * BATCH_ROWS // 2
        merge = f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
        merged = wire.upload_pieces(merge, upload(range(BATCHES - half, BATCHES + half))).json
        assert (merged["num_updated_rows"], merged["num_inserted_rows"]) == (rows, rows)
        assert peak_mb(server) < ALLOWED_MB, f"{peak_mb(server)} MB to merge into {TABLE_MB} MB"
        updated = wire.post(f"{path}/update", {"updates": [["id", "-id"]], "predicate": "id % 100 = 1"}).json
        assert updated["updated_rows"] == (BATCHES + half) * BATCH_ROWS // 100
        deleted = wire.post(f"{path}/delete", {"predicate": "id % 2 = 0"}).json
        assert deleted["num_deleted_rows"] == (BATCHES + half) * BATCH_ROWS // 2
        assert lance.dataset(dataset.uri).count_rows() == (BATCHES + half) * BATCH_ROWS // 2
        assert peak_mb(server) < ALLOWED_MB, f"{peak_mb(server)} MB to change {TABLE_MB} MB"
        assert not list(scratch.iterdir()), "something is left in the scratch directory"
