"""Deletes, updates, changes of columns, tags and restores, compared with LanceDB in process.

Each test creates one table on our server and one at the peer, changes both in the same way, and
compares their rows, with column types and nullability.
"""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

import sample
from pair import everything
from rows import assert_same

pytestmark = pytest.mark.engine

PEOPLE = 200


@pytest.fixture
def pair(make):
    return make(data=sample.people(PEOPLE))


def alike(pair) -> None:
    """Both hold the same rows, whatever their order, and the same columns."""
    assert pair.remote.schema == pair.local.schema
    pair.same(everything, sort=("id",))


@pytest.mark.parametrize(
    "predicate",
    ["id = 7", "id % 3 = 0", "name IS NULL", "id > 1000", "false", "true", "name LIKE 'a%' OR id BETWEEN 10 AND 20"],
)
def test_delete(pair, predicate):
    ours, theirs = pair.both(lambda t: t.delete(predicate))
    assert ours.version == theirs.version
    assert pair.remote.count_rows() == pair.local.count_rows()
    alike(pair)


def test_deletes_follow_each_other(pair):
    for low in range(0, PEOPLE, 20):
        pair.both(lambda t: t.delete(f"id >= {low} AND id < {low + 7}"))
        pair.both(lambda t: t.add(sample.people(3, start=1000 + low, seed=low)))
    alike(pair)


@pytest.mark.parametrize(
    "where, values",
    [
        ("id = 3", {"id": "id + 10000"}),
        ("id < 50", {"name": "upper(name)"}),
        ("id < 50", {"name": "'x'"}),
        ("id < 50", {"name": "NULL"}),
        (None, {"name": "name || '!'"}),
        ("id > 5000", {"name": "'nobody'"}),
        ("id IN (1, 2, 3)", {"name": "'both'", "id": "id * 2 + 1000"}),
    ],
)
def test_update(pair, where, values):
    ours, theirs = pair.both(lambda t: t.update(where=where, values_sql=values))
    assert (ours.rows_updated, ours.version) == (theirs.rows_updated, theirs.version)
    alike(pair)


def test_update_a_vector(make):
    rows = pa.table({"id": [1, 2, 3], "v": pa.array([[1, 2], [3, 4], None], pa.list_(pa.float32(), 2))})
    pair = make(data=rows)
    pair.both(lambda t: t.update(where="id = 2", values={"v": [9.5, 8]}))
    alike(pair)


@pytest.mark.parametrize(
    "value",
    [{"b": 7, "c": 1.5}, {"c": 1.5, "b": 8}, {"b": 9}, {"b": "7", "d": [True]}, {"d": [1, 2]}, {"b": None, "inner": {"x": 3}}],
)
def test_update_a_struct(make, value):
    inner = pa.struct([("x", pa.int16()), ("y", pa.string())])
    type = pa.struct([("b", pa.int32()), ("c", pa.float32()), ("inner", inner), ("d", pa.list_(pa.int8()))])
    pair = make(data=pa.table({"id": [1, 2, 3], "s": pa.array([{"b": 1, "inner": {"y": "a"}}, None, {"c": 0.5}], type)}))
    pair.both(lambda t: t.update(where="id < 3", values={"s": value}))
    alike(pair)


def test_lists_of_dictionaries(make):
    words = pa.list_(pa.dictionary(pa.int8(), pa.string()))
    pair = make(data=pa.table({"id": [1, 2, 3], "x": pa.array([["a", None], None, []], words)}))
    pair.same(lambda t: t.search().where("array_has(x, 'a')").limit(9).to_arrow())
    pair.both(lambda t: t.add_columns({"y": "array_concat(x, x)"}))
    rows = [t.search().select({"id": "id", "x": "x", "y": "y", "z": "coalesce(y, x)", "first": "x[1]"}).limit(9).to_list() for t in (pair.remote, pair.local)]
    assert rows[0] == rows[1]
    pair.both(lambda t: t.update(where="id = 1", values_sql={"x": "NULL"}))
    pair.same(lambda t: t.search().select(["id", "x"]).limit(9).to_arrow(), sort=("id",))


@pytest.mark.parametrize(
    "values", [{"nobody": "1"}, {"id": "name"}, {"id": "nobody + 1"}, {"id": "'x'"}, {"id": "1 +"}]
)
def test_update_refuses_what_the_peer_refuses(pair, values):
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception):
            table.update(where="id = 1", values_sql=values)
    assert pair.remote.version == pair.local.version
    alike(pair)


def test_columns_come_and_go(pair):
    pair.both(lambda t: t.add_columns({"twice": "id * 2", "shout": "upper(name)", "one": "1", "word": "'w'"}))
    alike(pair)
    pair.both(lambda t: t.add_columns(pa.field("nothing", pa.list_(pa.int32()))))
    alike(pair)
    pair.both(lambda t: t.add(sample.people(5, start=500).append_column("one", pa.array([1] * 5)).append_column("word", pa.array(["v"] * 5))))
    alike(pair)
    pair.both(lambda t: t.update(where="id < 10", values_sql={"twice": "id * 3"}))
    pair.both(lambda t: t.delete("id % 7 = 0"))
    alike(pair)
    pair.both(lambda t: t.alter_columns({"path": "twice", "rename": "thrice"}, {"path": "shout", "nullable": True}))
    alike(pair)
    pair.both(lambda t: t.alter_columns({"path": "thrice", "data_type": pa.int32()}))
    alike(pair)
    pair.both(lambda t: t.drop_columns(["shout", "one"]))
    alike(pair)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.add_columns({"id": "1"}),
        lambda t: t.add_columns({"y": "nobody + 1"}),
        lambda t: t.drop_columns(["nobody"]),
        lambda t: t.drop_columns(sample.people(0).column_names),
        lambda t: t.alter_columns({"path": "nobody", "rename": "x"}),
        lambda t: t.alter_columns({"path": "name", "data_type": pa.int64()}),
        lambda t: t.alter_columns({"path": "name", "rename": "id"}),
        lambda t: t.alter_columns({"path": "name", "nullable": False}),
    ],
)
def test_columns_that_cannot_be(pair, change):
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception):
            change(table)
    assert pair.remote.version == pair.local.version
    alike(pair)


@pytest.mark.parametrize(
    "merge",
    [
        lambda m: m.when_matched_update_all(where="target.id < 195"),
        lambda m: m.when_matched_update_all(where="source.name IS NOT NULL AND target.id > 192").when_not_matched_insert_all(),
        lambda m: m.when_matched_update_all(where="source.id = target.id"),
        lambda m: m.when_matched_update_all(where="false").when_not_matched_insert_all(),
        lambda m: m.when_not_matched_by_source_delete("id < 50"),
        lambda m: m.when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_delete("name IS NULL"),
    ],
)
def test_merge_with_conditions(pair, merge):
    rows = sample.people(20, start=PEOPLE - 10, seed=9)
    ours, theirs = pair.both(lambda t: merge(t.merge_insert("id")).execute(rows))
    counts = lambda r: (r.num_updated_rows, r.num_inserted_rows, r.num_deleted_rows)
    assert counts(ours) == counts(theirs)
    alike(pair)


def test_tags_and_restore(pair):
    pair.both(lambda t: t.tags.create("first", 1))
    pair.both(lambda t: t.delete("id < 100"))
    pair.both(lambda t: t.tags.create("second", 2))
    listed = [{name: tag["version"] for name, tag in t.tags.list().items()} for t in (pair.remote, pair.local)]
    assert listed[0] == listed[1] == {"first": 1, "second": 2}
    pair.both(lambda t: t.tags.update("second", 1))
    assert [t.tags.get_version("second") for t in (pair.remote, pair.local)] == [1, 1]
    pair.both(lambda t: t.tags.delete("second"))
    with pytest.raises(Exception, match="second|not found"):
        pair.remote.tags.get_version("second")
    pair.both(lambda t: t.checkout("first"))
    alike(pair)
    pair.both(lambda t: t.restore())
    assert pair.remote.version == pair.local.version == 3
    alike(pair)
    with pytest.raises(Exception):
        pair.remote.restore(77)


def test_native_lance_reads_what_was_changed(pair, opens):
    pair.both(lambda t: t.tags.create("kept", 1))
    pair.both(lambda t: t.update(where="id < 20", values_sql={"name": "'changed'"}))
    pair.both(lambda t: t.add_columns({"twice": "id * 2"}))
    pair.both(lambda t: t.delete("id % 5 = 0"))
    pair.both(lambda t: t.alter_columns({"path": "twice", "data_type": pa.int32()}))
    native = lance.dataset(pair.remote.uri)
    native.validate()
    assert native.tags.list()["kept"]["version"] == 1
    assert_same(native.to_table(), pair.remote.search().to_arrow())
    for version in native.versions():
        native.checkout_version(version["version"]).validate()
