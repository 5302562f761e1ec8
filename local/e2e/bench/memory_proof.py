"""A large table in little memory: query, search, update, merge and delete, with their use of
memory.

    make memory                                       # 5 GB, about 8 GB of disk for a while
    python local/e2e/bench/memory_proof.py --gb 0.5

The server runs with GOMEMLIMIT. For each request, the largest memory of its process is read
from /proc, and the largest heap that the collector found alive from its own log. A request that
needs more than --limit fails the proof.
"""

from __future__ import annotations

import argparse
import io
import pathlib
import re
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator

import lance
import numpy as np
import pyarrow as pa

from process import Server, download
from wire import Wire

MB = 1 << 20
DIMENSIONS = 128
BATCH_ROWS = 20_000
ROW_BYTES = DIMENSIONS * 4 + 8 + 8 + 12
WIDE = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("text", pa.string()), ("vector", pa.list_(pa.float32(), DIMENSIONS))])
NARROW = pa.schema([("id", pa.int64()), ("v", pa.int64())])
UPLOAD_ROWS = 4_000_000  # a request has a limit of 4 GiB
COLLECTION = re.compile(r"^gc \d+ .*?(\d+)->(\d+)->(\d+) MB", re.MULTILINE)


def wide(ids: np.ndarray, values: np.ndarray) -> pa.RecordBatch:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.roll(values, int(ids[0]) % 997)[: len(ids) * DIMENSIONS]), DIMENSIONS)
    return pa.record_batch([pa.array(ids), pa.array(ids % 1000), pa.array(ids).cast(pa.string()), vectors], schema=WIDE)


def narrow(ids: np.ndarray, _values: np.ndarray) -> pa.RecordBatch:
    return pa.record_batch([pa.array(ids), pa.array(ids * 3)], schema=NARROW)


def upload(make: Callable, ids: Iterator[np.ndarray], schema: pa.Schema) -> Iterator[bytes]:
    """An Arrow stream in pieces that are made as they are sent."""
    sink = io.BytesIO()
    values = np.random.default_rng(1).random(BATCH_ROWS * DIMENSIONS, dtype=np.float32)
    with pa.ipc.new_stream(sink, schema) as writer:
        for some in ids:
            writer.write(make(some, values))
            yield sink.getvalue()
            sink.seek(0)
            sink.truncate()
    yield sink.getvalue()


def numbers(first: int, count: int, step: int = 1) -> Iterator[np.ndarray]:
    """Row numbers in batches."""
    for start in range(0, count, BATCH_ROWS):
        yield first + step * np.arange(start, min(start + BATCH_ROWS, count), dtype=np.int64)


class Proof:
    """Runs requests and records the memory and the time of each."""

    def __init__(self, server: Server, limit_mb: int):
        self.server, self.limit_mb, self.failed = server, limit_mb, False
        self.wire = Wire(server.url, server.token, timeout=900)

    def step(self, what: str, request: Callable):
        pathlib.Path(f"/proc/{self.server.pid}/clear_refs").write_text("5")  # begins the peak anew
        log, began = len(self.server.log()), time.perf_counter()
        answer = request()
        took = time.perf_counter() - began
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        peak = int(status.split("VmHWM:")[1].split()[0]) >> 10
        live = max((int(m.group(3)) for m in COLLECTION.finditer(self.server.log()[log:].decode(errors="replace"))), default=0)
        over = peak > self.limit_mb
        self.failed |= over
        print(f"{what:44} {took:7.1f} s {peak:6} MB peak {live:6} MB live {'TOO MUCH' if over else ''}", flush=True)
        return answer

    def post(self, what: str, path: str, fields: dict):
        answer = self.step(what, lambda: self.wire.post(path, fields))
        assert answer.status == 200, answer.body
        return answer.json

    def send(self, what: str, path: str, make: Callable, ids: Callable, schema: pa.Schema):
        answer = self.step(what, lambda: self.wire.upload_pieces(path, upload(make, ids(), schema)))
        assert answer.status == 200, answer.body
        return answer.json


def prove(proof: Proof, root: pathlib.Path, gb: float) -> None:
    rows = int(gb * 1e9) // ROW_BYTES
    path, merge = "/v1/table/large", "merge_insert?" + urllib.parse.urlencode(
        {"on": "id", "when_matched_update_all": "true", "when_not_matched_insert_all": "true"}
    )
    for first in range(0, rows, UPLOAD_ROWS):
        some = min(UPLOAD_ROWS, rows - first)
        verb = "insert" if first else "create"
        proof.send(f"{verb} {some:,} rows", f"{path}/{verb}", wide, lambda f=first, n=some: numbers(f, n), WIDE)
    dataset = lance.dataset(str(next(root.glob("large-*.lance"))))
    size = sum(f.stat().st_size for f in pathlib.Path(dataset.uri).rglob("*") if f.is_file())
    print(f"{rows:,} rows, {size / 1e9:.2f} GB in {len(dataset.get_fragments())} fragments")

    got = proof.step("query: all of it", lambda: download(proof.server, f"{path}/query", b'{"k": 0, "vector": []}'))
    assert got > size * 0.9, f"{got} bytes were answered"
    count = proof.post("query: count by a filter on text", f"{path}/count_rows", {"predicate": "text LIKE '%77' AND n < 500"})
    assert count == sum(len(range(n, rows, 1000)) for n in range(77, 500, 100)), count
    vector = np.random.default_rng(2).random(DIMENSIONS).tolist()
    near = proof.step(
        "query: nearest ten of all", lambda: proof.wire.post(f"{path}/query", {"k": 10, "vector": vector, "columns": ["id"]})
    )
    assert near.status == 200 and near.table.num_rows == 10

    updated = proof.post("update one row in fifty", f"{path}/update", {"updates": [["n", "n + 1000"]], "predicate": "id % 50 = 7"})
    assert updated["updated_rows"] == len(range(7, rows, 50)), updated
    # Every other row of the merge is in the table.
    some = rows // 10
    merged = proof.send(f"merge {some:,} rows", f"{path}/{merge}", wide, lambda: numbers(rows - some, some, 2), WIDE)
    assert merged["num_updated_rows"] + merged["num_inserted_rows"] == some, merged
    assert abs(merged["num_updated_rows"] - some // 2) <= 1, merged
    deleted = proof.post("delete half of it", f"{path}/delete", {"predicate": "id % 2 = 0"})
    left = proof.wire.post(f"{path}/count_rows", {"predicate": None}).json
    print(f"{left:,} rows are left, by pylance {lance.dataset(dataset.uri).count_rows():,}; delete said {deleted}")
    assert left == lance.dataset(dataset.uri).count_rows()

    # As many rows as can be, of few bytes each: half of the source is in the table.
    keys = max(rows, 100_000)
    proof.send(f"create {keys:,} narrow rows", "/v1/table/narrow/create", narrow, lambda: numbers(0, keys), NARROW)
    merged = proof.send(f"merge {keys:,} narrow rows", f"/v1/table/narrow/{merge}", narrow, lambda: numbers(keys // 2, keys), NARROW)
    assert merged["num_updated_rows"] == keys - keys // 2 and merged["num_inserted_rows"] == keys // 2, merged
    assert lance.dataset(str(next(root.glob("narrow-*.lance")))).count_rows() == keys + keys // 2


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--gb", type=float, default=5.2, help="size of the table")
    options.add_argument("--limit", type=int, default=512, help="MiB that the process may have at any time")
    options.add_argument("--directory", help="where the table is for a while")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltyard-memory-", dir=given.directory) as directory:
        root = pathlib.Path(directory) / "root"
        scratch = pathlib.Path(directory) / "scratch"
        scratch.mkdir()
        settings = {"GOMEMLIMIT": f"{given.limit * 3 // 4}MiB", "GODEBUG": "gctrace=1", "TMPDIR": str(scratch), "TILTYARD_REQUEST_TIMEOUT": "15m"}
        with Server(root, settings=settings) as server:
            proof = Proof(server, given.limit)
            prove(proof, root, given.gb)
            assert not list(scratch.iterdir()), "something is left in the scratch directory"
    if proof.failed:
        sys.exit(f"a request took more than {given.limit} MB")


if __name__ == "__main__":
    main()
