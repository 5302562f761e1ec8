"""Native Lance writes to a table while the service, which has read it, continues to serve it.

Data that the service keeps of a table in memory must never be used for another version, another
table, or one that is gone. Each test reads first, has pylance change something, and reads
again.
"""

from __future__ import annotations

import random

import lance
import pyarrow as pa
import pytest

from process import Server
from rows import assert_same, by
from second_writer import ASK, Served, replace_columns

pytestmark = pytest.mark.engine

COUNT = 40


def rows(start: int = 0, count: int = COUNT, seed: int = 0) -> pa.Table:
    """Rows of ids from start, whose values are those of a seed."""
    at = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(at, pa.int64()),
            "value": pa.array([i * 10 + seed for i in at], pa.int64()),
            "text": pa.array([f"text {i} of {seed}" for i in at]),
            "pair": pa.array([{"a": i + seed, "b": f"b{i}", "c": i / 2} for i in at]),
            "list": pa.array([list(range(i % 4)) for i in at], pa.list_(pa.int32())),
        }
    )


@pytest.fixture
def served(wire, space, outside, opens):
    """Makes tables that pylance writes and the service serves."""

    def make(name: str, data: pa.Table, **options) -> Served:
        table = Served(wire, space, outside, name)
        lance.write_dataset(data, table.place, max_rows_per_file=COUNT // 2, **options)
        return table.register()

    return make


# One file, read by several tables and versions


def update_columns(dataset: lance.LanceDataset) -> None:
    replace_columns(dataset, rows(seed=7).select(["id", "value"]))


def update_columns_of_some_rows(dataset: lance.LanceDataset) -> None:
    replace_columns(dataset, rows(count=COUNT // 4, seed=7).select(["id", "text", "value"]))


def merge(dataset: lance.LanceDataset) -> None:
    dataset.drop_columns(["value"])
    lance.dataset(dataset.uri).merge(rows(seed=7).select(["id", "value"]), "id")


def merge_insert(dataset: lance.LanceDataset) -> None:
    dataset.merge_insert("id").when_matched_update_all().execute(rows(count=COUNT // 3, seed=7).select(["id", "value"]))


def update(dataset: lance.LanceDataset) -> None:
    dataset.update({"value": "value + 1"}, where="id % 2 = 0")


def cast(dataset: lance.LanceDataset) -> None:
    dataset.alter_columns({"path": "value", "data_type": pa.int32()})


def rename_and_replace(dataset: lance.LanceDataset) -> None:
    dataset.alter_columns({"path": "value", "name": "old"})
    lance.dataset(dataset.uri).add_columns({"value": "old * -1"})


def drop_member(dataset: lance.LanceDataset) -> None:
    dataset.drop_columns(["pair.b"])


def cast_member(dataset: lance.LanceDataset) -> None:
    dataset.alter_columns({"path": "pair.a", "data_type": pa.int32()})


def rename_member(dataset: lance.LanceDataset) -> None:
    dataset.alter_columns({"path": "pair.a", "name": "z"})


CHANGES = [update_columns, update_columns_of_some_rows, merge, merge_insert, update, cast, rename_and_replace]
CHANGES += [drop_member, cast_member, rename_member]
ids = pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
warmth = pytest.mark.parametrize("before", [False, True], ids=["cold", "warm"])  # whether all is read before it is changed


@ids
@warmth
def test_clone_that_changes_leaves_its_source_alone(served, change, before):
    prod = served("prod", rows())
    dev = prod.cloned("dev")
    if before:
        prod.same("as written")
    change(dev.native())
    dev.same("the clone, changed")
    prod.same("its source")
    prod.post("update", predicate="id < 10", updates=[["value", "value + 1000"]])
    want = rows().to_pydict()
    want["value"] = [v + 1000 if i < 10 else v for i, v in zip(want["id"], want["value"])]
    want = pa.table(want, schema=rows().schema)
    assert_same(by(prod.native().to_table(), "id"), want, "what an update of the source kept")
    dev.post("update", predicate="id < 10", updates=[["text", "'new'"]])
    dev.same_everywhere("the clone, updated")
    prod.same_everywhere("its source, updated")


@ids
@warmth
def test_versions_before_and_after_a_change_are_told_apart(served, change, before):
    table = served("t", rows())
    if before:
        table.same("as written")
    change(table.native())
    changed = table.native().version
    table.same_everywhere("changed", newest_first=True)
    table.native(1).restore()
    table.same_everywhere("restored")
    change(table.native())
    table.same_everywhere("changed again", newest_first=True)
    table.post("restore", version=changed)
    table.same_everywhere("restored by us")
    table.insert(table.native().to_table(limit=3))
    table.post("delete", predicate="id = 5")
    lance.write_dataset(table.native().to_table(limit=2), table.place, mode="append")
    table.same_everywhere("and gone on with", newest_first=True)


# Names that are used again


def again(table: Served, seed: int, versions: int) -> None:
    """Drops the table and makes another one in its place, as any native writer may."""
    table.remove()
    lance.write_dataset(rows(seed=seed), table.place, max_rows_per_file=COUNT // 2)
    for version in range(2, versions + 1):
        lance.write_dataset(rows(start=1000 * version, count=3, seed=seed), table.place, mode="append")


@pytest.mark.parametrize("first, then", [(1, 1), (3, 3), (4, 2), (2, 5)])
def test_table_that_native_lance_drops_and_makes_again(served, first, then):
    table = served("t", rows())
    for seed, versions in enumerate([first, then, first, then], 1):
        again(table, seed, versions)
        table.same_everywhere(f"made for the {seed}. time", newest_first=seed % 2 == 0)


def test_table_that_is_made_again_and_again(served):
    """Without a pause: manifests of one name and size, and perhaps one inode, follow each other."""
    table = served("t", rows(count=3))
    for seed in range(1, 60):
        table.remove()
        lance.write_dataset(rows(count=3, seed=seed), table.place)
        got = table.rows(columns=["id", "value"])
        assert_same(got, rows(count=3, seed=seed).select(["id", "value"]), f"made for the {seed}. time")


def insert(table: Served) -> None:
    table.insert(rows(start=500, count=5, seed=3))


def upsert(table: Served) -> None:
    sent = rows(start=COUNT - 2, count=5, seed=3)
    answer = table.wire.upload(
        f"{table.path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true", sent
    )
    assert answer.status == 200, answer.body


def change(table: Served) -> None:
    table.post("update", predicate="id % 2 = 0", updates=[["value", "-1"]])


def delete(table: Served) -> None:
    table.post("delete", predicate="id % 3 = 0")


def add_column(table: Served) -> None:
    table.post("add_columns", new_columns=[{"name": "double", "expression": "value * 2"}])


def restore(table: Served) -> None:
    table.post("restore", version=1)


@pytest.mark.parametrize("versions", [1, 2, 4])
@pytest.mark.parametrize("write", [insert, upsert, change, delete, add_column, restore], ids=lambda w: w.__name__)
def test_what_is_written_first_after_that_goes_to_the_new_table(served, write, versions):
    table, twin = served("t", rows()), served("twin", rows())
    lance.write_dataset(rows(start=100, count=5), table.place, mode="append")
    table.same_everywhere("before")
    for place in (table, twin):
        again(place, 9, versions)
        write(place)
    table.native().validate()
    assert_same(by(table.native().to_table(), "id"), by(twin.native().to_table(), "id"), "what was written")
    assert table.native().version == versions + 1
    table.same_everywhere("written to")


def test_location_that_another_server_drops_and_declares_again(own_server):
    """Two servers on one root: each reads and writes tables that the other drops and creates
    again."""
    outside = own_server.process.root / "places"
    with Server(own_server.process.root, token="other-token", log="other.log") as process:
        here, there = own_server.wire(), type(own_server)(process.url, process.token, process).wire()
        place = str(outside / "t.lance")
        ours, others = Served(here, "s", outside, "t"), Served(there, "s", outside, "t")
        ours.place = others.place = place
        # A table that could be restored would keep its folder.
        assert here.post("/v1/namespace/s/create", {"properties": {"drop.retention": "0"}}).status == 200
        for seed in range(4):
            maker, other = (ours, others) if seed % 2 else (others, ours)
            maker.post("declare", location=place)
            for version in range(1 + seed % 3):
                maker.insert(rows(start=100 * version, count=8, seed=seed))
            for table in (maker, other, maker):
                table.same_everywhere(f"declared for the {seed}. time")
            other.insert(rows(start=5000, count=3, seed=seed))
            for table in (maker, other):
                table.same_everywhere(f"written by the other for the {seed}. time")
            (maker if seed < 2 else other).post("drop")
            for table in (maker, other):
                assert table.wire.post(f"{table.path}/query", ASK).status == 404
    assert not process.faults(), process.faults()


# Metadata that says how values are stored, of columns that are not stored so

BLOB, PACKED = {"lance-encoding:blob": "true"}, {"lance-encoding:packed": "true"}
BLOB_V2 = {"ARROW:extension:name": "lance.blob.v2"}
READ = (200, 400, 422, 501)  # as what is damaged, or unsupported; native Lance fails or reads nulls
WRITES = {
    "update": {"predicate": "id = 3", "updates": [["id", "id"]]},
    "delete": {"predicate": "id = 4"},
    "add_columns": {"new_columns": [{"name": "one", "expression": "1"}]},
    "restore": {"version": 1},
}


@pytest.mark.parametrize("column", ["text", "value", "pair", "list", "pair.b"])
@pytest.mark.parametrize("mark", [BLOB, PACKED, BLOB_V2], ids=["blob", "packed", "blob v2"])
def test_metadata_of_columns_that_are_not_stored_so(served, column, mark):
    table = served("t", rows())
    table.same("as written")
    table.native().update_field_metadata({column: mark})
    top = column.partition(".")[0]
    others = [name for name in rows().column_names if name != top]
    for version in random.Random(column).choices([1, 2, None], k=12):
        at = {} if version is None else {"version": version}
        answer = table.wire.post(f"{table.path}/query", {**ASK, **at})
        assert answer.status == 200 if version == 1 else answer.status in READ, answer.body
        assert_same(by(table.rows(**at, columns=others), "id"), rows().select(others), f"the others at {version}")
    table.same("version before", 1)
    table.native(1).restore()  # pylance does not get rid of what it made of the column
    table.same("without it again")
    table.native().update_field_metadata({column: mark})
    for what, body in WRITES.items():
        answer = table.wire.post(f"{table.path}/{what}", body)
        assert answer.status in READ, f"{what}: {answer.body}"
        table.same("version before", 1)
    table.same("restored")
