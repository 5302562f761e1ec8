"""The unmodified LanceDB client against us, and against itself.

Each test asks a remote table (ours, over HTTP) and a local one (LanceDB in process, the
peer) the same thing and compares the answers row by row. What the peer cannot say, such
as how its remote client reports an error, is written down as an expectation.
"""

from __future__ import annotations

import asyncio

import lancedb
import lancedb.index
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sample
from pair import Pair, everything
from rows import assert_same
from sample import query

# Creating


def test_create_from_pandas(make):
    frame = pd.DataFrame(
        {"id": [1, 2, 3], "name": ["a", None, "c"], "score": [0.5, float("nan"), 2.5], "vector": [[1.0, 2.0]] * 3}
    )
    pair = make(data=frame)
    assert pair.same(everything).num_rows == 3
    assert pair.remote.schema == pair.local.schema


def test_create_from_dicts(make):
    pair = make(data=[{"id": i, "vector": [float(i), 0.5], "words": ["a"] * i} for i in range(5)])
    assert pair.same(everything).num_rows == 5


def test_create_from_arrow_keeps_every_column(make):
    pair = make(data=sample.people(100))
    assert_same(pair.same(everything), sample.people(100))


def test_create_with_schema_only_then_add(make):
    pair = make(schema=sample.people(0).schema)
    assert pair.remote.count_rows() == 0
    assert pair.same(everything).num_rows == 0
    pair.both(lambda t: t.add(sample.people(20)))
    assert pair.same(everything).num_rows == 20


def test_a_table_without_columns_gets_them_later(make, db, space):
    """Tools such as dlt mark a dataset with such a table."""
    pair = make(schema=pa.schema([]))
    assert [len(t.schema) for t in (pair.remote, pair.local)] == [t.count_rows() for t in (pair.remote, pair.local)] == [0, 0]
    pair.same(everything)
    pair.same(lambda t: t.search().where("1 = 1").with_row_id(True).to_arrow())
    for table in (pair.remote, pair.local):
        assert (table.delete("1 = 1").num_deleted_rows, table.list_indices()) == (0, [])
        with pytest.raises(ValueError, match="does not exist"):
            table.add(pa.table({"a": [1]}))
    for columns in (pa.schema([("a", pa.int64())]), {"b": "2"}):
        pair.both(lambda t: t.add_columns(columns))
        assert pair.remote.schema == pair.local.schema
    pair.both(lambda t: t.add(pa.table({"a": [1, None], "b": pa.array([3, 4])}, schema=t.schema)))
    pair.both(lambda t: t.merge_insert("a").when_matched_update_all().when_not_matched_insert_all().execute(pa.table({"a": [1, 5], "b": [6, 7]}, schema=t.schema)))
    pair.same(everything, sort=("b",))
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception, match="(?i)drop.* all"):
            table.drop_columns(["a", "b"])
    pair.both(lambda t: t.add(pa.table({}), mode="overwrite"))
    assert len(pair.remote.schema) == len(pair.local.schema) == 0
    rows = pa.Table.from_batches([pa.RecordBatch.from_struct_array(pa.array([{}, {}], type=pa.struct([])))])
    with pytest.raises(Exception, match="without columns"):  # which native data files cannot hold either
        db.create_table("rows", rows, namespace_path=[space])


def test_create_from_an_iterator_of_batches(make):
    def batches():
        for i in range(5):
            yield from sample.people(40, start=40 * i, seed=i).to_batches()

    pair = make(batches, schema=sample.people(0).schema)
    assert pair.same(everything).num_rows == 200


def test_create_existing_says_so(make, db, space):
    make(data=sample.people(3))
    with pytest.raises(ValueError, match="already exists"):
        db.create_table("t", sample.people(3), namespace_path=[space])
    assert db.open_table("t", namespace_path=[space]).count_rows() == 3


def test_create_exist_ok_keeps_the_rows(make, db, space):
    pair = make(data=sample.people(3))
    again = db.create_table("t", sample.people(9), exist_ok=True, namespace_path=[space])
    assert again.count_rows() == 3
    assert_same(everything(again), everything(pair.local))


@pytest.mark.parametrize("other", [{"id": ["x"]}, {"id": [1], "more": [2]}, {"more": [1]}], ids=["type", "column", "name"])
def test_create_exist_ok_wants_the_same_columns(make, db, space, local, other):
    make(data=[{"id": 1}, {"id": 2}])
    for refuse in (
        lambda: db.create_table("t", pa.table(other), exist_ok=True, namespace_path=[space]),
        lambda: local.create_table("t", pa.table(other), exist_ok=True),
    ):
        with pytest.raises(Exception, match="(?i)schema"):
            refuse()
    assert db.open_table("t", namespace_path=[space]).count_rows() == 2


def test_create_overwrite_replaces_rows_and_columns(make, db, space, local):
    make(data=sample.people(3))
    other = pa.table({"key": ["x", "y"], "n": [1, 2]})
    remote = db.create_table("t", other, mode="overwrite", namespace_path=[space])
    peer = local.create_table("t", other, mode="overwrite")
    Pair(remote, peer).same(everything)
    assert remote.schema == peer.schema


def test_create_in_a_missing_namespace_fails(db, space):
    with pytest.raises(Exception, match="(?i)namespace"):
        db.create_table("t", sample.people(1), namespace_path=[space, "missing"])


def test_schema_metadata_is_kept(make):
    data = sample.people(2).replace_schema_metadata({"origin": "field trip"})
    pair = make(data=data)
    assert pair.remote.schema.metadata == pair.local.schema.metadata == {b"origin": b"field trip"}


# Opening, listing, dropping


def test_open_table(make, db, space):
    pair = make(data=sample.people(10))
    opened = db.open_table("t", namespace_path=[space])
    assert opened.name == "t"
    assert opened.count_rows() == 10
    assert opened.schema == pair.local.schema


def test_open_missing_table(db, space):
    with pytest.raises(ValueError, match="not found"):
        db.open_table("missing", namespace_path=[space])


def test_rename_table(make, db, space):
    made = make(pa.table({"id": [1, 2]}))
    db.create_namespace([space, "other"])
    db.rename_table("t", "u", cur_namespace_path=[space], new_namespace_path=[space])
    assert db.table_names(namespace_path=[space]) == ["u"]
    db.rename_table("u", "v", cur_namespace_path=[space], new_namespace_path=[space, "other"])
    assert db.open_table("v", namespace_path=[space, "other"]).count_rows() == 2
    with pytest.raises(Exception, match="404"):
        db.rename_table("u", "w", cur_namespace_path=[space], new_namespace_path=[space])
    del made


def test_drop_table(make, db, space):
    make(data=sample.people(1))
    db.drop_table("t", namespace_path=[space])
    assert db.list_tables(namespace_path=[space]).tables == []
    with pytest.raises(ValueError, match="not found"):
        db.open_table("t", namespace_path=[space])


def test_drop_missing_table_fails(db, space):
    with pytest.raises(Exception, match="(?i)not found|does not exist"):
        db.drop_table("missing", namespace_path=[space])


def test_dropped_name_can_be_used_again(make, db, space):
    make(data=sample.people(5))
    db.drop_table("t", namespace_path=[space])
    again = db.create_table("t", pa.table({"other": [1]}), namespace_path=[space])
    assert everything(again).to_pydict() == {"other": [1]}


def test_table_names_are_paged_by_name(own_server):
    db = own_server.lancedb()
    names = [f"t{i:02}" for i in range(25)]
    for name in reversed(names):
        db.create_table(name, pa.table({"x": [1]}))
    assert list(db.table_names(limit=100)) == names
    assert list(db.table_names()) == names[:10]
    assert list(db.table_names(page_token="t09")) == names[10:20]
    assert list(db.table_names(page_token="t095", limit=3)) == names[10:13]
    assert list(db.table_names(page_token="t24")) == []


def test_list_tables_pages_and_does_not_truncate(db, space):
    names = [f"n{i:03}" for i in range(30)]
    for name in names:
        db.create_table(name, schema=pa.schema([("x", pa.int64())]), namespace_path=[space])
    assert db.list_tables(namespace_path=[space]).tables == names
    seen, token = [], None
    while True:
        page = db.list_tables(namespace_path=[space], page_token=token, limit=7)
        assert len(page.tables) <= 7
        seen += page.tables
        token = page.page_token
        if not token:
            break
    assert seen == names


# Namespaces


def test_namespaces_come_and_go(db, space):
    db.create_namespace([space, "a"], properties={"owner": "ada"})
    db.create_namespace([space, "a", "b"])
    assert db.describe_namespace([space, "a"]).properties == {"owner": "ada"}
    assert db.list_namespaces([space]).namespaces == ["a"]
    assert db.list_namespaces([space, "a"]).namespaces == ["b"]
    db.create_table("deep", sample.people(4), namespace_path=[space, "a", "b"])
    assert db.open_table("deep", namespace_path=[space, "a", "b"]).count_rows() == 4
    assert db.list_tables(namespace_path=[space, "a"]).tables == []
    with pytest.raises(Exception, match="(?i)not empty"):
        db.drop_namespace([space, "a"])
    db.drop_namespace([space, "a"], behavior="Cascade")
    assert db.list_namespaces([space]).namespaces == []


def test_namespace_modes(db, space):
    path = [space, "m"]
    db.create_namespace(path, properties={"v": "1"})
    with pytest.raises(Exception, match="(?i)exists"):
        db.create_namespace(path)
    db.create_namespace(path, mode="exist_ok", properties={"v": "2"})
    assert db.describe_namespace(path).properties == {"v": "1"}
    db.create_namespace(path, mode="overwrite", properties={"v": "3"})
    assert db.describe_namespace(path).properties == {"v": "3"}
    db.drop_namespace(path)
    db.drop_namespace(path, mode="skip")
    with pytest.raises(Exception, match="does not exist"):
        db.drop_namespace(path)


def test_same_name_in_different_namespaces(db, space):
    for i, namespace in enumerate(["left", "right"]):
        db.create_namespace([space, namespace])
        db.create_table("t", sample.people(i + 1), namespace_path=[space, namespace])
    counts = [db.open_table("t", namespace_path=[space, n]).count_rows() for n in ["left", "right"]]
    assert counts == [1, 2]


# Adding


def test_add_appends_in_order(make):
    pair = make(data=sample.people(10))
    results = pair.both(lambda t: t.add(sample.people(5, start=10, seed=9)))
    assert results[0].version == results[1].version
    assert pair.same(everything)["id"].to_pylist() == list(range(15))


def test_add_a_subset_of_the_columns_in_other_order(make):
    pair = make(data=sample.people(4))
    pair.both(lambda t: t.add(sample.people(3, start=4).select(["name", "vector", "id"])))
    assert pair.same(everything)["grp"].to_pylist()[4:] == [None] * 3


def test_add_a_reader_of_batches(make):
    pair = make(data=sample.people(0))

    def add(table):
        batches = (b for i in range(6) for b in sample.people(50, start=50 * i, seed=i).to_batches())
        return table.add(pa.RecordBatchReader.from_batches(sample.people(0).schema, batches))

    pair.both(add)
    assert pair.same(everything).num_rows == 300


def test_add_many_rows(server, make):
    server.not_behind_gateway("the answer is larger than 6 MiB")
    rows = pa.table(
        {"id": range(200_000), "x": np.arange(200_000) / 3, "s": [f"row {i % 1000}" for i in range(200_000)]}
    )
    pair = make(data=rows.slice(0, 1000))
    pair.both(lambda t: t.add(rows.slice(1000)))
    assert pair.same(everything).num_rows == 200_000


def test_add_overwrite(make):
    pair = make(data=sample.people(10))
    pair.both(lambda t: t.add(sample.people(2, start=50), mode="overwrite"))
    assert pair.same(everything)["id"].to_pylist() == [50, 51]


def test_add_nothing_adds_nothing(make):
    pair = make(data=sample.people(2))
    pair.both(lambda t: t.add(sample.people(0)))
    assert pair.same(everything).num_rows == 2


def test_documents_are_json_texts(make):
    def documents(*texts):
        ids = [t and len(t) for t in texts]
        return pa.table({"id": ids, "j": pa.ExtensionArray.from_storage(pa.json_(), pa.array(texts, pa.string()))})

    pair = make(data=documents('{"b": 1, "a": [null, 2.50]}', None, '"text"'))
    pair.both(lambda t: t.add(documents("{}")))
    pair.both(lambda t: t.add([{"id": 99, "j": "[1e3]"}]))
    pair.both(lambda t: t.merge_insert("id").when_matched_update_all().execute(documents("[]")))
    pair.both(lambda t: t.update(where="id = 99", values={"j": '{"key": "value"}'}))
    rows = pair.same(lambda t: t.search().select(["j"]).limit(100).to_arrow())
    assert rows["j"].to_pylist() == ['{"a":[null,2.5],"b":1}', None, '"text"', "[]", '{"key":"value"}']
    assert rows.schema.field("j").type == pa.json_()


def test_nulls_where_there_may_be_none_are_refused(db, space):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.int64())])
    table = db.create_table("strict", schema=schema, namespace_path=[space])
    table.add(pa.table({"id": [1], "x": [None]}, schema=schema))
    with pytest.raises(Exception, match="(?i)id.*null|null.*id|missing.*id|id.*missing"):
        table.add(pa.table({"x": pa.array([2], pa.int64())}))
    assert table.count_rows() == 1


# Merging


def merge(rows, *on, update=True, insert=True):
    def run(table):
        builder = table.merge_insert(list(on))
        builder = builder.when_matched_update_all() if update else builder
        builder = builder.when_not_matched_insert_all() if insert else builder
        return builder.execute(rows)

    return run


def counters(result) -> tuple:
    """What a merge tells, which is the same at both. One is tried again when its process did not know the newest
    version, or others commit meanwhile, such as maintenance: that it was tried is all that is compared."""
    rows = result.num_inserted_rows, result.num_updated_rows, result.num_deleted_rows, result.num_rows
    return result.version, *rows, min(result.num_attempts, 1)


@pytest.mark.parametrize("update,insert", [(True, True), (True, False), (False, True)])
def test_merge_on_one_key(make, update, insert):
    pair = make(data=sample.people(50))
    results = pair.both(merge(sample.people(30, start=35, seed=8), "id", update=update, insert=insert))
    assert counters(results[0]) == counters(results[1])
    pair.same(everything, sort=("id",))


def test_merge_again_and_again(make):
    pair = make(data=sample.people(40))
    for i in range(6):
        results = pair.both(merge(sample.people(20, start=10 * i, seed=i), "id"))
        assert counters(results[0]) == counters(results[1])
        pair.same(everything, sort=("id",))
    assert pair.remote.count_rows() == 70


def test_merge_on_several_keys(make):
    rows = lambda n, v: pa.table({"a": [i % 3 for i in range(n)], "b": [f"k{i // 3}" for i in range(n)], "v": [v] * n})
    pair = make(data=rows(12, 1))
    results = pair.both(merge(rows(20, 2), "a", "b"))
    assert counters(results[0]) == counters(results[1]) == (2, 8, 12, 0, 20, 1)
    pair.same(everything, sort=("a", "b"))


@pytest.mark.parametrize(
    "key",
    [
        pa.array(["x", "o'k", ""]),
        pa.array([b"a", b"\0", b""]),
        pa.array([1, 2, 3], pa.int16()),
        pa.array([True, False, None]),
        pa.array([1, 2, 3], pa.date32()),
        pa.array([1, 2, 3], pa.timestamp("us")),
        pa.array([1, 2, None], pa.uint64()),
    ],
    ids=lambda a: str(a.type),
)
def test_merge_on_keys_of_each_type(make, key):
    pair = make(data=pa.table({"k": key, "v": [1, 2, 3]}))
    pair.both(merge(pa.table({"k": key.slice(0, 2), "v": [10, 20]}), "k"))
    pair.same(everything, sort=("v",))


def test_merge_does_not_match_null_keys(make):
    pair = make(data=pa.table({"k": pa.array([1, None]), "v": [1, 2]}))
    results = pair.both(merge(pa.table({"k": pa.array([None, 1]), "v": [20, 10]}), "k"))
    assert counters(results[0]) == counters(results[1])
    pair.same(everything, sort=("v",))


def test_merge_of_fewer_columns_keeps_the_others(make):
    pair = make(data=sample.people(20))
    rows = pa.table({"id": pa.array([3, 4], pa.int64()), "name": ["new", None]})
    pair.both(merge(rows, "id", insert=False))
    pair.same(everything, sort=("id",))


def test_merge_with_two_rows_for_one_is_refused(make):
    pair = make(data=sample.people(5))
    twice = pa.concat_tables([sample.people(2), sample.people(2, seed=5)])
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception, match="(?i)ambiguous"):
            merge(twice, "id")(table)
    assert pair.same(everything, sort=("id",)).num_rows == 5


def test_merge_on_a_missing_column_is_refused(make):
    pair = make(data=sample.people(5))
    with pytest.raises(Exception, match="nope"):
        merge(sample.people(2), "nope")(pair.remote)
    assert pair.remote.count_rows() == 5


# Versions


def test_versions_are_listed_and_read(make):
    pair = make(data=sample.people(10))
    pair.both(lambda t: t.add(sample.people(10, start=10)))
    pair.both(merge(sample.people(10, start=15, seed=3), "id"))
    numbers = [[v["version"] for v in t.list_versions()] for t in (pair.remote, pair.local)]
    assert numbers[0] == numbers[1] == [1, 2, 3]
    assert pair.remote.version == 3
    times = [v["timestamp"] for v in pair.remote.list_versions()]
    assert times == sorted(times)
    for version in (1, 2, 3):
        pair.both(lambda t: t.checkout(version))
        assert pair.remote.version == version
        assert pair.remote.count_rows() == pair.local.count_rows()
        pair.same(everything, sort=("id",))
        pair.same(lambda t: t.search(query()).limit(5).select(["id"]).to_arrow())
    pair.both(lambda t: t.checkout_latest())
    assert pair.same(everything, sort=("id",)).num_rows == 25


def test_open_at_a_version(make, db, space):
    pair = make(data=sample.people(3))
    pair.both(lambda t: t.add(sample.people(1, start=3)))
    assert db.open_table("t", version=1, namespace_path=[space]).count_rows() == 3
    with pytest.raises(Exception, match="(?i)not found|no such version"):
        db.open_table("t", version=9, namespace_path=[space])


def test_checked_out_version_has_the_columns_of_its_time(make, db, space):
    table = db.create_table("t", pa.table({"a": [1]}), namespace_path=[space])
    db.create_table("t", pa.table({"b": ["x"]}), mode="overwrite", namespace_path=[space])
    table.checkout(1)
    assert everything(table).to_pydict() == {"a": [1]}
    table.checkout_latest()
    assert everything(table).to_pydict() == {"b": ["x"]}


def test_stats(people):
    got, want = people.remote.stats(), people.local.stats()
    for key in ("num_rows", "num_indices"):
        assert got[key] == want[key]
    assert got["total_bytes"] > 0
    lengths = got["fragment_stats"]["lengths"]
    assert got["fragment_stats"]["num_fragments"] >= 3
    assert 0 < lengths["min"] <= lengths["p25"] <= lengths["p50"] <= lengths["p75"] <= lengths["p99"] <= lengths["max"]


@pytest.mark.parametrize("sizes", [[7], [3, 1], [3, 1, 7, 5], list(range(1, 12))])
def test_stats_are_those_of_the_peer(make, sizes):
    pair = make(sample.people(sizes[0]))
    for size in sizes[1:]:
        pair.both(lambda t: t.add(sample.people(size)))
    got, want = pair.remote.stats(), pair.local.stats()
    assert got["fragment_stats"] == want["fragment_stats"]
    assert got["num_rows"] == want["num_rows"]


def test_location_opens_in_lance(people, opens):
    import lance

    assert_same(lance.dataset(people.remote.uri).to_table(), everything(people.local))


# What is not there yet says so, and is not retried


def test_unsupported_operations_say_so(db, space):
    table = db.create_table("t", sample.people(3), namespace_path=[space])
    with pytest.raises(Exception, match="501"):
        table.set_lsm_write_spec(lancedb.LsmWriteSpec.unsharded())
    assert_same(everything(table), sample.people(3))
    assert table.version == 1


# The asynchronous client


def test_async_client(server, space):
    async def run():
        db = await lancedb.connect_async("db://e2e", api_key=server.token, host_override=server.url)
        table = await db.create_table("a", sample.people(30), namespace_path=[space])
        await table.add(sample.people(5, start=30))
        near = await (await table.search(query())).limit(3).to_arrow()
        rows = await table.query().where("id > 30").select(["id"]).to_arrow()
        return near, rows, await table.count_rows(), await db.table_names(namespace_path=[space])

    near, rows, count, names = asyncio.run(run())
    assert near.num_rows == 3 and near["_distance"].to_pylist() == sorted(near["_distance"].to_pylist())
    assert rows["id"].to_pylist() == [31, 32, 33, 34]
    assert count == 35 and list(names) == ["a"]
