"""Large views and computed columns in little memory: refreshes of a view and a backfill of a column of many rows.

    make memory-views                                             # about 10 GB of disk for a while
    python local/e2e/bench/view_memory_proof.py --rows 3000000

The view is filled, refreshed after appends, updates and deletes, and computed anew. Each refresh is divided into parts,
two of which the server works on at the same time. The server runs with GOMEMLIMIT, and a step that needs more than its
limit fails the proof. At the end pylance compares the rows of the view with those that its query gives.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
import time

import lance
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from index_memory_proof import settings
from memory_proof import UPLOAD_ROWS, Proof, numbers
from process import Server

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("text", pa.string())])
PATH, VIEW = "/v1/table/large", "/v1/materialized_view/shown"
QUERY = "SELECT id, n * 2 AS m, upper(text) AS t FROM large WHERE n % 10 < 9"
JOB_HOURS = 2
WHOLE_ROWS = 1 << 20  # more are divided among workers


def made(ids: np.ndarray, values: np.ndarray) -> pa.RecordBatch:
    """Rows of about 110 bytes."""
    words = pa.array(np.roll(values, int(ids[0]) % 997)[: 5 * len(ids)].reshape(len(ids), 5)[:, 0]).cast(pa.string())
    texts = pc.binary_join_element_wise(words, pa.array(ids).cast(pa.string()), "some text that is the same in all rows " * 2, " ")
    return pa.record_batch([pa.array(ids), pa.array(ids % 1000), texts], schema=SCHEMA)


def add(proof: Proof, first: int, rows: int) -> None:
    for start in range(first, first + rows, UPLOAD_ROWS):
        some = min(UPLOAD_ROWS, first + rows - start)
        proof.send(f"insert {some:,} rows", f"{PATH}/insert", made, lambda s=start, n=some: numbers(s, n), SCHEMA)


def job(proof: Proof, what: str, path: str, fields: dict, rows: int) -> dict:
    """Begins a job that reads some rows, waits for its end, and returns its result. It has parts if the rows are many."""
    whole = path.split("/")[-1].replace("_column", "").replace("create", "refresh")
    stage = "commit" if rows > WHOLE_ROWS else whole

    def request() -> dict:
        begun = proof.wire.post(path, fields)
        assert begun.status in (200, 201, 202), begun.body
        ident = begun.json["job_id"]
        deadline = time.monotonic() + JOB_HOURS * 3600
        while time.monotonic() < deadline:
            told = proof.wire.post(f"/v1/transaction/{ident}/describe", {}).json
            if told["status"].lower() not in ("queued", "running"):
                assert told["status"].lower() == "succeeded", told
                assert told["properties"]["stage"] == stage, told
                return proof.wire.post("/v1/jobs/describe", {"job_id": ident}).json["result"]
            time.sleep(0.5)
        raise AssertionError(f"{what} did not end in {JOB_HOURS} hours")

    return proof.step(what, request)


def refresh(proof: Proof, what: str, mode: str, rows: int, **fields) -> None:
    result = job(proof, what, f"{VIEW}/refresh", fields, rows)
    assert result["mode"] == mode, result
    print(f"{'':44} {result['rows_written']:,} rows were written", flush=True)


def prove(proof: Proof, root: pathlib.Path, native: pathlib.Path, rows: int) -> None:
    lance.write_dataset(SCHEMA.empty_table(), native, enable_stable_row_ids=True)
    registered = proof.wire.post(f"{PATH}/register", {"location": native.as_uri()})
    assert registered.status == 200, registered.body
    add(proof, 0, rows)
    job(proof, f"fill the view from {rows:,} rows", f"{VIEW}/create", {"query": QUERY, "with_no_data": False}, rows)
    more = rows // 4
    add(proof, rows, more)
    refresh(proof, f"refresh after {more:,} more rows", "incremental", more)
    updated = proof.post("update one row in five", f"{PATH}/update", {"updates": [["n", "n + 7"]], "predicate": "id % 5 = 3"})
    proof.post("delete one row in fifty", f"{PATH}/delete", {"predicate": "id % 50 = 11"})
    refresh(proof, f"refresh after updates of {updated['updated_rows']:,}", "incremental", updated["updated_rows"])
    proof.post("update one row in 10,000", f"{PATH}/update", {"updates": [["n", "n + 7"]], "predicate": "id % 10000 = 3"})
    refresh(proof, "refresh after few updates", "incremental", 0)
    refresh(proof, "refresh of all rows", "rebuild", rows, full=True)
    new = {"new_columns": [{"name": "length", "computed": "char_length(text) + n"}]}
    proof.post("declare a computed column", f"{PATH}/add_columns", new)
    filled = job(proof, f"backfill of {rows + more:,} rows", f"{PATH}/backfill_column", {"column": "length"}, rows)

    source, view = lance.dataset(str(native)), lance.dataset(str(next(root.glob("shown-*.lance"))))
    assert filled["rows_assigned"] == source.count_rows(), filled
    assert source.count_rows("length IS NULL") == 0
    assert view.count_rows() == source.count_rows("n % 10 < 9") > rows, view.count_rows()
    sums: list[int] = []
    for dataset, columns in ((source, {"id": "id", "m": "n * 2", "t": "upper(text)"}), (view, ["id", "m", "t"])):
        batches = dataset.to_batches(columns=columns, filter="n % 10 < 9" if dataset is source else None)
        sums.append(sum(hash_of(batch) for batch in batches) % (1 << 64))
    assert sums[0] == sums[1], "the view has other rows than its query gives"


def hash_of(rows: pa.RecordBatch) -> int:
    """A sum of numbers that rows give, whatever their order."""
    hashes = np.array([hash(t) & (1 << 60) - 1 for t in rows["t"].to_pylist()], dtype=np.uint64)
    with np.errstate(over="ignore"):
        ids, m = (rows[name].to_numpy().astype(np.uint64) for name in ("id", "m"))
        return int(((hashes ^ ids * np.uint64(0x9E3779B97F4A7C15)) * (m | np.uint64(1))).sum())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--limit", type=int, default=1_024, help="MiB that the server may have")
    options.add_argument("--directory", help="where the tables are for a while")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="tiltyard-memory-", dir=given.directory) as directory:
        root, scratch = pathlib.Path(directory) / "root", pathlib.Path(directory) / "scratch"
        scratch.mkdir()
        native = pathlib.Path(directory) / "native" / "large.lance"
        native.parent.mkdir()
        with Server(root, settings=settings(given.limit, scratch), allow=[native.parent]) as server:
            proof = Proof(server, given.limit)
            prove(proof, root, native, given.rows)
        assert not list(scratch.iterdir()), "something is left in the scratch directory"
    if proof.failed:
        sys.exit("a step took more memory than its limit")


if __name__ == "__main__":
    main()
