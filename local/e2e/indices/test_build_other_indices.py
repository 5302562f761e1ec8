"""Indices of the kinds LABEL_LIST, NGRAM, FM, ZONEMAP and BLOOMFILTER that the service builds: native Lance
lists them, uses them, agrees with them and with their statistics, and extends them.
"""

from __future__ import annotations

import datetime
import math
import random
import time

import lance
import lancedb.index
import pyarrow as pa
import pytest
from lance.indices import IndexConfig
from test_maintenance import maintain

from rows import assert_same

pytestmark = pytest.mark.engine

COUNT = 20_000


def values(start: int, count: int) -> pa.Table:
    chance = random.Random(start)

    def column(make, type):
        return pa.array([None if chance.random() < 0.1 else make(chance) for _ in range(count)], type)

    words = ["red", "green", "bluegreen", "Café 12", "a-b", "x9y8z7", ""]
    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "labels": column(lambda r: [r.choice([None, "a", "b", "c", "d"]) for _ in range(r.randrange(5))], pa.list_(pa.string())),
        "numbers": column(lambda r: [r.randrange(50) for _ in range(r.randrange(4))], pa.large_list(pa.int32())),
        "text": column(lambda r: " ".join(r.choices(words, k=r.randrange(6))), pa.string()),
        "time": pa.array([datetime.datetime(2020, 1, 1) + datetime.timedelta(minutes=start + i) for i in range(count)], pa.timestamp("us")),
        "f": column(lambda r: math.nan if r.random() < 0.0002 else r.gauss(0, 10), pa.float64()),
        "s": column(lambda r: f"{r.randrange(10**6):06}", pa.string()),
        "b": column(lambda r: bytes(r.choices(range(256), k=3)), pa.binary()),
        "u": column(lambda r: r.randrange(1 << 64), pa.uint64()),
    })  # fmt: skip


KINDS = {
    "LABEL_LIST": ("LabelList", {
        "labels": ["array_has(labels, 'a')", "array_has_any(labels, ['b', 'z'])", "array_has_all(labels, ['a', 'd'])"],
        "numbers": ["array_has(numbers, arrow_cast(7, 'Int32'))"],
    }),
    "NGRAM": ("NGram", {"text": ["contains(text, 'green')", "contains(text, 'cafe')", "contains(text, 'x9y')", "contains(text, 'nothing')"]}),
    "FM": ("Fm", {
        "text": ["contains(text, 'green')", "contains(text, 'é')", "contains(text, 'b x9')", "contains(text, 'nothing')"],
        "s": ["contains(s, '99999')", "contains(s, '7')"],
    }),
    "ZONEMAP": ("ZoneMap", {
        "time": ["time < timestamp '2020-01-01 10:00:00'", "time = timestamp '2020-01-05 03:07:00'", "time IS NULL"],
        "f": ["f > 38", "f IS NULL", "f < -39 OR f = 3"],
        "s": ["s < '000100'", "s = '999999'"],
    }),
    "BLOOMFILTER": ("BloomFilter", {"s": ["s = '000123'", "s IN ('500000', '7')", "s IS NULL"], "u": ["u = 17"], "b": ["b = X'000102'"]}),
}  # fmt: skip
STATISTICS = {"LABEL_LIST": "num_bitmaps", "NGRAM": "num_ngrams", "FM": "total_bwt_len", "ZONEMAP": "num_zones", "BLOOMFILTER": "num_blocks"}


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.parametrize("kind", KINDS)
def test_native_lance_uses_them(kind, stable, server, outside, space, db):
    ours, theirs = outside / f"{space}-ours.lance", outside / f"{space}-theirs.lance"
    for place in (ours, theirs):
        lance.write_dataset(values(0, COUNT), place, enable_stable_row_ids=stable, max_rows_per_file=COUNT * 3 // 5)
        lance.dataset(place).delete("id % 10 = 3")
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(ours)}).status == 200
    name, columns = KINDS[kind]
    for column in columns:
        answer = wire.post(f"/v1/table/{space}$t/create_scalar_index", {"column": column, "index_type": kind})
        assert answer.status == 200, answer.body
        lance.dataset(theirs).create_scalar_index(column, IndexConfig("fm", {}) if kind == "FM" else kind)
    table = db.open_table("t", namespace_path=[space])
    table.wait_for_index([f"{column}_idx" for column in columns], datetime.timedelta(minutes=1))
    native = lance.dataset(ours)
    assert {x["name"]: x["type"] for x in native.list_indices()} == {f"{column}_idx": name for column in columns}
    for column in columns:
        mine, his = (d.stats.index_stats(f"{column}_idx")["indices"][0] for d in (native, lance.dataset(theirs)))
        assert mine[STATISTICS[kind]] == his[STATISTICS[kind]]

    def compare(native):
        for conditions in columns.values():
            for condition in conditions:
                want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False)
                scanner = native.scanner(columns=["id"], filter=condition)
                assert "ScalarIndexQuery" in scanner.explain_plan(), condition
                assert_same(scanner.to_table(), want)
                assert_same(table.search().where(condition).select(["id"]).to_arrow(), want)

    compare(native)
    native = lance.write_dataset(values(COUNT, 500), ours, mode="append")
    native.optimize.optimize_indices()
    native.optimize.compact_files()
    native.optimize.optimize_indices()
    native = lance.dataset(ours)
    compare(native)
    for column in columns:
        assert native.stats.index_stats(f"{column}_idx")["num_unindexed_rows"] == 0
    wire.close()


def test_columns_that_do_not_fit(wire, space, db):
    db.create_table("t", pa.table({"id": [1], "flag": [True], "list": [["a"]]}), namespace_path=[space])
    for kind, column in (("LABEL_LIST", "id"), ("NGRAM", "id"), ("FM", "id"), ("ZONEMAP", "list"), ("BLOOMFILTER", "flag")):
        answer = wire.post(f"/v1/table/{space}$t/create_scalar_index", {"column": column, "index_type": kind})
        assert answer.status == 400 and f"{kind} fits" in answer.json["detail"], answer.body


def test_lancedb_asks_for_an_index_of_whole_texts(server, outside, space, db):
    """Of several partitions, and of binaries, which native Lance searches."""
    place = outside / f"{space}-whole.lance"
    lance.write_dataset(values(0, 25_000), place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    wire.close()
    table = db.open_table("t", namespace_path=[space])
    for column in ("text", "b"):
        table.create_index(column, config=lancedb.index.Fm(), name=f"whole_{column}")
    table.wait_for_index(["whole_text", "whole_b"], datetime.timedelta(minutes=1))
    assert {(x.name, x.index_type) for x in table.list_indices()} == {("whole_text", "Fm"), ("whole_b", "Fm")}
    native = lance.dataset(place)
    assert native.stats.index_stats("whole_text")["indices"][0]["num_partitions"] == 3
    for condition in ("contains(text, 'een Café')", "contains(text, 'y8z7')", "contains(text, 'a-b') AND id > 20000", "contains(text, '')", "NOT contains(text, 'e')"):
        want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False)
        assert_same(table.search().where(condition).select(["id"]).to_arrow(), want)


def test_filters_have_the_sizes_that_are_asked_for(server, outside, space):
    place = outside / f"{space}-filters.lance"
    lance.write_dataset(values(0, COUNT), place)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    body = {"column": "s", "index_type": "BLOOM_FILTER", "number_of_items": 200, "probability": 0.01}  # as LanceDB's clients send it
    assert wire.post(f"/v1/table/{space}$t/create_index/", body).status == 200
    for _ in range(600):
        if wire.post(f"/v1/table/{space}$t/index/list/", {}).json["indexes"]:
            break
        time.sleep(0.1)
    wire.close()
    native = lance.dataset(place)
    filters = native.stats.index_stats("s_idx")["indices"]
    assert {(x["number_of_items"], x["probability"]) for x in filters} == {(200, 0.01)}, filters
    scanner = native.scanner(columns=["id"], filter="s = '000123'")
    assert "ScalarIndexQuery" in scanner.explain_plan()
    assert scanner.to_table() == native.to_table(columns=["id"], filter="s = '000123'", use_scalar_index=False)


def test_maintenance_keeps_the_sizes_of_zones(server, outside, space):
    """Also those that native Lance was asked for."""
    place = outside / f"{space}-zones.lance"
    native = lance.write_dataset(values(0, COUNT), place)
    native.create_scalar_index("time", IndexConfig("zonemap", {"rows_per_zone": 100}))
    native.create_scalar_index("s", IndexConfig("bloomfilter", {"number_of_items": 200, "probability": 0.01}))
    native.insert(values(COUNT, COUNT))
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    maintain(wire, f"{space}$t", indices=True)
    wire.close()
    native = lance.dataset(place)
    zones, filters = (native.stats.index_stats(f"{column}_idx")["indices"] for column in ("time", "s"))
    assert {x["rows_per_zone"] for x in zones} == {100} and len({x["num_zones"] for x in zones}) == 1, zones
    assert {(x["number_of_items"], x["probability"]) for x in filters} == {(200, 0.01)}, filters
    for column in ("time", "s"):
        assert native.stats.index_stats(f"{column}_idx")["num_unindexed_rows"] == 0
    for condition in ("time = timestamp '2020-01-05 03:07:00'", "s = '000123'"):
        scanner = native.scanner(columns=["id"], filter=condition)
        assert "ScalarIndexQuery" in scanner.explain_plan()
        assert scanner.to_table().sort_by("id") == native.to_table(columns=["id"], filter=condition, use_scalar_index=False).sort_by("id")
