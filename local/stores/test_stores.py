"""Servers over a bucket of a server of the S3 protocol, with the stock clients on the same bucket."""

from __future__ import annotations

import concurrent.futures
import datetime

import lance
import lancedb
import numpy as np
import pyarrow as pa
from conftest import settings
from lancedb.index import IvfFlat
from process import Server
from wire import Wire

ROWS = 40_000
DIMENSION = 64  # 10 MB of vectors, which are uploaded in parts
APPENDS = 60
KEPT = {"TILTYARD_DROP_RETENTION": "1h"}


def rows(first: int, count: int) -> pa.Table:
    values = np.random.default_rng(first).standard_normal((count, DIMENSION), dtype=np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), DIMENSION)
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "vector": vectors})


def connect(server: Server):
    return lancedb.connect("db://test", api_key=server.token, host_override=server.url)


def test_life_of_a_table(tmp_path, bucket, storage):
    with Server(tmp_path / "s", uri=f"s3://{bucket}/lake", settings=settings() | KEPT) as server:
        wire = Wire(server.url, server.token)
        table = connect(server).create_table("t", rows(0, ROWS))
        table.add(rows(ROWS, 100))
        table.create_index("vector", config=IvfFlat(num_partitions=4))
        table.wait_for_index(["vector_idx"], timeout=datetime.timedelta(seconds=120))
        wanted = rows(0, ROWS)["vector"][7].as_py()
        assert [r["id"] for r in table.search(wanted).limit(1).to_list()] == [7]

        table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows(ROWS + 50, 100))
        assert table.count_rows() == ROWS + 150

        native = lance.dataset(wire.post("/v1/table/t/describe").json["location"], storage_options=storage)
        assert native.count_rows() == ROWS + 150
        found = native.to_table(nearest={"column": "vector", "q": wanted, "k": 1}, columns=["id"])
        assert found["id"].to_pylist() == [7]
        lance.write_dataset(rows(2 * ROWS, 10), native.uri, mode="append", storage_options=storage)
        assert table.count_rows() == ROWS + 160

        wire.post("/v1/table/t/drop")
        assert wire.post("/v1/table/t/describe").status == 404
        assert wire.post("/v1/table/t/undrop").status == 200
        assert table.count_rows() == ROWS + 160


def test_two_servers_race(tmp_path, bucket):
    uri = f"s3://{bucket}/lake"
    with Server(tmp_path / "a", uri=uri, settings=settings()) as a, Server(tmp_path / "b", uri=uri, settings=settings()) as b:
        connect(a).create_table("t", rows(0, 10))
        wires = [Wire(s.url, s.token) for s in (a, b) for _ in range(4)]

        def append(i: int) -> int:
            answer = wires[i % 8].another().upload("/v1/table/t/insert?mode=append", rows(100 + i, 1))
            return answer.status

        with concurrent.futures.ThreadPoolExecutor(8) as writers:
            statuses = list(writers.map(append, range(APPENDS)))
        kept = sum(status == 200 for status in statuses)
        assert connect(b).open_table("t").count_rows() == 10 + kept
        assert kept == APPENDS, statuses

        def drop(i: int) -> int:
            return wires[i].another().post("/v1/table/t/drop").status

        with concurrent.futures.ThreadPoolExecutor(8) as writers:
            statuses = list(writers.map(drop, range(8)))
        assert statuses.count(200) == 1, statuses
