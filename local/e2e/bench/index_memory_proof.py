"""Large indices in little memory: builds of indices of vectors, and searches through one that is far larger than
the memory of the server.

    make memory-indices                                           # about 25 GB of disk for a while
    python local/e2e/bench/index_memory_proof.py --rows 200000

The first table gets an IVF_PQ index. Then it gets as many rows again, and an IVF_FLAT index, which holds a copy of
each vector. A new server with less memory searches it. Each server runs with GOMEMLIMIT, and a step that needs more
than its limit fails the proof.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time
from collections.abc import Iterator

import lance
import numpy as np
import pyarrow as pa

from memory_proof import BATCH_ROWS, DIMENSIONS, MB, UPLOAD_ROWS, Proof, numbers, upload
from process import Server

SCHEMA = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), DIMENSIONS))])
CENTRES = 1_000
PATH = "/v1/table/large"
BUILD_HOURS = 3
SEARCHES = 20


def around(ids: np.ndarray, values: np.ndarray) -> pa.RecordBatch:
    """Vectors that lie around centres, as those of texts and images do."""
    noise = np.roll(values, int(ids[0]) % 997)[: len(ids) * DIMENSIONS].reshape(len(ids), DIMENSIONS)
    centres = values[: CENTRES * DIMENSIONS].reshape(CENTRES, DIMENSIONS) * 4
    rows = centres[ids * 7919 % CENTRES] + noise
    return pa.record_batch([pa.array(ids), pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), DIMENSIONS)], schema=SCHEMA)


def build(proof: Proof, kind: str, rows: int, **fields) -> None:
    """Builds an index in place of the one before, and waits for the job."""

    def request():
        fields_of = {"column": "vector", "index_type": kind, "distance_type": "l2", "replace": True, **fields}
        begun = proof.wire.post(f"{PATH}/create_index", fields_of)
        assert begun.status == 200, begun.body
        deadline = time.monotonic() + BUILD_HOURS * 3600
        while time.monotonic() < deadline:
            job = proof.wire.post(f"/v1/transaction/{begun.json['transaction_id']}/describe", {}).json
            if job["status"].lower() not in ("queued", "running"):
                assert job["status"].lower() == "succeeded", job
                return
            time.sleep(1)
        raise AssertionError(f"{kind} was not built in {BUILD_HOURS} hours")

    proof.step(f"{kind} of {rows:,} x {DIMENSIONS}", request)


def add(proof: Proof, first: int, rows: int) -> None:
    for start in range(first, first + rows, UPLOAD_ROWS):
        some = min(UPLOAD_ROWS, first + rows - start)
        verb = "insert" if start else "create"
        pieces = lambda s=start, n=some: numbers(s, n)
        proof.send(f"{verb} {some:,} rows", f"{PATH}/{verb}", around, pieces, SCHEMA)


def searches(proof: Proof, rows: int) -> None:
    values = np.random.default_rng(1).random(BATCH_ROWS * DIMENSIONS, dtype=np.float32)
    picked = np.random.default_rng(2).integers(0, rows // BATCH_ROWS, SEARCHES) * BATCH_ROWS

    def question(first: int) -> dict:
        row = around(np.arange(first, first + BATCH_ROWS), values).column("vector")[0].as_py()
        return {"k": 10, "vector": row, "nprobes": 20, "columns": ["id"], "bypass_vector_index": False}

    def one(first: int) -> None:
        near = proof.wire.post(f"{PATH}/query", question(first))
        assert near.status == 200, near.body
        best = near.table.sort_by("_distance")
        assert best.num_rows == 10 and best["_distance"][0].as_py() < 1e-3, best

    proof.step("search, the first", lambda: one(int(picked[0])))
    proof.step(f"{SEARCHES} searches", lambda: [one(int(first)) for first in picked])
    plan = proof.wire.post(f"{PATH}/analyze_plan", question(int(picked[0]))).json
    assert "SearchIndex" in plan and "index_not_used" not in plan, plan


def index_bytes(root: pathlib.Path) -> int:
    """The bytes of the newest version's index."""
    dataset = lance.dataset(str(next(root.glob("large-*.lance"))))
    (index,) = dataset.describe_indices()
    folders = [pathlib.Path(dataset.uri) / "_indices" / segment.uuid for segment in index.segments]
    return sum(f.stat().st_size for folder in folders for f in folder.rglob("*") if f.is_file())


def settings(limit_mb: int, scratch: pathlib.Path) -> dict[str, str]:
    return {"GOMEMLIMIT": f"{limit_mb * 3 // 4}MiB", "GODEBUG": "gctrace=1", "TMPDIR": str(scratch), "TILTYARD_REQUEST_TIMEOUT": "15m"}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000, help="rows of the first table; the second has twice as many")
    options.add_argument("--partitions", type=int, default=1_024)
    options.add_argument("--build-limit", type=int, default=2_048, help="MiB that the server may have while it builds")
    options.add_argument("--search-limit", type=int, default=512, help="MiB that the server may have while it searches")
    options.add_argument("--directory", help="where the table is for a while")
    given = options.parse_args()
    failed = False
    with tempfile.TemporaryDirectory(prefix="tiltyard-memory-", dir=given.directory) as directory:
        root, scratch = pathlib.Path(directory) / "root", pathlib.Path(directory) / "scratch"
        scratch.mkdir()
        partitions = {"num_partitions": given.partitions}
        with Server(root, settings=settings(given.build_limit, scratch)) as server:
            proof = Proof(server, given.build_limit)
            add(proof, 0, given.rows)
            build(proof, "IVF_PQ", given.rows, num_sub_vectors=16, **partitions)
            print(f"IVF_PQ has {index_bytes(root) / 1e6:,.0f} MB", flush=True)
            add(proof, given.rows, given.rows)
            build(proof, "IVF_FLAT", 2 * given.rows, **partitions)
            failed |= proof.failed
        print(f"IVF_FLAT has {index_bytes(root) / MB:,.0f} MiB", flush=True)
        with Server(root, settings=settings(given.search_limit, scratch)) as server:
            proof = Proof(server, given.search_limit)
            searches(proof, 2 * given.rows)
            failed |= proof.failed
        assert not list(scratch.iterdir()), "something is left in the scratch directory"
    if failed:
        sys.exit("a step took more memory than its limit")


if __name__ == "__main__":
    main()
