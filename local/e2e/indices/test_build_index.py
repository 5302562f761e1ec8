"""Indices that the service builds: native Lance lists them, uses them, agrees with them, extends them."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import secrets
import time

import lance
import lancedb.index
import pyarrow as pa
import pytest

from rows import assert_same

pytestmark = pytest.mark.engine

ROWS = 10_000  # three pages and a part


def values(start: int, count: int) -> pa.Table:
    chance = random.Random(start)

    def column(make, type):
        return pa.array([None if chance.random() < 0.1 else make(chance) for _ in range(count)], type)

    floats = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25]
    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "i": column(lambda r: r.randrange(-1000, 1000), pa.int32()),
        "u": column(lambda r: r.randrange(1 << 64), pa.uint64()),
        "f": column(lambda r: r.choice(floats) if r.random() < 0.3 else r.gauss(0, 10), pa.float64()),
        "h": column(lambda r: r.gauss(0, 10), pa.float32()),
        "s": column(lambda r: "".join(r.choices("ab\x00é", k=r.randrange(6))), pa.string()),
        "x": column(lambda r: bytes(r.choices([0, 1, 255], k=r.randrange(4))), pa.binary()),
        "b": column(lambda r: r.random() < 0.5, pa.bool_()),
        "d": column(lambda r: datetime.date(2000, 1, 1) + datetime.timedelta(r.randrange(-20000, 20000)), pa.date32()),
        "t": column(lambda r: datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=r.randrange(-(10**9), 10**9)), pa.timestamp("us")),
        "n": column(lambda r: decimal.Decimal(r.randrange(-(10**8), 10**8)) / 100, pa.decimal128(20, 2)),
        "m": pa.array([{"a": i % 77} for i in range(count)]),
    })


FILTERS = {
    "i": ["i = 5", "i < -990", "i BETWEEN 3 AND 9", "i IS NULL", "i IN (1, 2, 999)", "NOT (i > -995)", "i != 7"],
    "u": ["u < 100000000000000000", "u >= 18000000000000000000"],
    "f": ["f = 0", "f > 20", "f < -25", "isnan(f)", "NOT (f > -20)"],
    "h": ["h > 25", "h IS NULL"],
    "s": ["s = 'ab'", "s < 'a'", "s >= 'é'", "s IS NULL", "starts_with(s, 'aba')"],
    "x": ["x = X'00'", "x > X'FFFF'"],
    "b": ["b", "NOT b", "b IS NULL"],
    "d": ["d < date '1950-01-01'", "d = date '2000-01-01'"],
    "t": ["t < timestamp '1970-01-01 00:00:00'"],
    "n": ["n IS NULL"],
    "m.a": ["m.a = 5", "m.a > 70"],
}


KINDS = {"BTREE": (lancedb.index.BTree, "BTree"), "BITMAP": (lancedb.index.Bitmap, "Bitmap")}


@pytest.fixture(scope="module", params=[(kind, ids) for kind in KINDS for ids in ("addresses", "stable ids")], ids=" of ".join)
def built(request, server, outside, db, module_space):
    """A table with an index on each column, built by the service, at the service and in native Lance."""
    kind, ids = request.param
    name = f"{kind}{secrets.token_hex(4)}"  # a worker may set it up again, after tests that it took from another
    place = outside / f"{module_space}-{name}.lance"
    lance.write_dataset(values(0, ROWS), place, enable_stable_row_ids=ids == "stable ids", max_rows_per_file=ROWS // 2)
    lance.dataset(place).delete("id % 10 = 3")
    wire = server.wire()
    assert wire.post(f"/v1/table/{module_space}${name}/register", {"location": str(place)}).status == 200
    wire.close()
    table = db.open_table(name, namespace_path=[module_space])
    for column in FILTERS:
        table.create_index(column, config=KINDS[kind][0](), wait_timeout=datetime.timedelta(minutes=1))
    return table, lance.dataset(place), kind


def test_indices_are_listed(built):
    table, native, kind = built
    want = {f"{column}_idx": [column] for column in FILTERS}
    assert {x.name: x.columns for x in table.list_indices()} == want
    told = {x["name"]: x for x in native.list_indices()}
    assert {name: x["type"] for name, x in told.items()} == dict.fromkeys(want, KINDS[kind][1])
    for name in want:
        stats = table.index_stats(name)
        assert (stats.index_type, stats.num_indexed_rows, stats.num_unindexed_rows) == (kind, ROWS - ROWS // 10, 0)
    if kind == "BITMAP":
        (details,) = native.stats.index_stats("b_idx")["indices"]
        assert details["num_bitmaps"] == 3, details


@pytest.mark.parametrize(("column", "condition"), [(c, f) for c, fs in FILTERS.items() for f in fs])
def test_native_uses_them(built, column, condition):
    table, native, kind = built
    scanner = native.scanner(columns=["id"], filter=condition)
    want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False)
    assert_same(scanner.to_table(), want)
    assert_same(table.search().where(condition).select(["id"]).to_arrow(), want)
    if not condition.startswith("isnan") and not (kind == "BITMAP" and condition.startswith("starts_with")):
        assert "ScalarIndexQuery" in scanner.explain_plan()


@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
def test_native_goes_on(built, outside, module_space):
    """It extends the indices that we have built, and compacts the table below them."""
    _, native, _ = built
    place = native.uri
    native = lance.write_dataset(values(ROWS, 500), place, mode="append")
    native.optimize.optimize_indices()
    native.optimize.compact_files()
    native = lance.dataset(place)
    for condition in ["i BETWEEN 3 AND 9", "s = 'ab'", "f > 20", "m.a = 5"]:
        want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False)
        assert_same(native.to_table(columns=["id"], filter=condition), want)
        assert_same(built[0].search().where(condition).select(["id"]).to_arrow(), want)
    assert native.stats.index_stats("i_idx")["num_unindexed_rows"] == 0


def uuid(table) -> str:
    """The UUID of its one index."""
    (index,) = table.list_indices()
    return index.index_uuid


def test_names(wire, space, db):
    db.create_table("t", pa.table({"id": [1, 2], "v": pa.array([[1.0], [2.0]], pa.list_(pa.float32(), 1))}), namespace_path=[space])
    path = f"/v1/table/{space}$t"

    def create(**body):
        answer = wire.post(f"{path}/create_scalar_index", body)
        return answer.status, answer.json.get("code")

    assert create(column="nope", index_type="BTREE") == (404, 12)
    assert create(column="v", index_type="BTREE") == (400, 13)
    assert create(column="id", index_type="tree") == (400, 13)
    assert create(column="id", index_type="IVF_PQ") == (400, 13)
    assert create(column="id") == (400, 13)
    assert create(column="id", index_type="btree", name="by id")[0] == 200
    table = db.open_table("t", namespace_path=[space])
    table.wait_for_index(["by id"], datetime.timedelta(minutes=1))
    assert create(column="id", index_type="BTREE", name="by id") == (409, 7)
    before = uuid(table)
    table.create_index("id", config=lancedb.index.BTree(), name="by id")
    deadline = time.monotonic() + 60
    while uuid(table) == before:
        assert time.monotonic() < deadline, "the index was not replaced"
        time.sleep(0.05)
    answer = wire.post(f"{path}/create_index", {"column": "id", "index_type": "BTREE", "name": "by id", "replace": True})
    assert answer.status == 200 and answer.json["transaction_id"] == answer.json["job_id"], answer.body
    described = wire.post(f"/v1/transaction/{answer.json['transaction_id']}/describe", {})
    assert described.status == 200, described.body


def test_an_empty_table(db, space):
    table = db.create_table("e", schema=pa.schema({"id": pa.int64()}), namespace_path=[space])
    table.create_index("id", config=lancedb.index.BTree(), wait_timeout=datetime.timedelta(minutes=1))
    table.add(pa.table({"id": [3, 1, 2]}))
    assert table.search().where("id > 1").to_arrow()["id"].to_pylist() == [3, 2]
    table.create_index("id", config=lancedb.index.BTree(), wait_timeout=datetime.timedelta(minutes=1))
    assert table.search().where("id > 1").to_arrow()["id"].to_pylist() == [3, 2]
