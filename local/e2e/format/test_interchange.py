"""Tables pass between us and native Lance in both directions.

pylance writes and we read: every type × nulls × fragments × deletions × storage version,
each version of a table that lives on under pylance's hands. We write and pylance reads,
validates and goes on writing. Everything is compared row by row with what pylance says
about the same version.
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import pathlib
import shutil
import struct
import time

import lance
import numpy as np
import pyarrow as pa
import pytest

import sample
from files import Folder
from process import Server
from rows import assert_same, by
from wire import Wire, stream

pytestmark = pytest.mark.engine

STORAGE_VERSIONS = ("2.0", "2.1", "2.2")
FRAGMENTS = {"one fragment": 1, "three fragments": 3}
# Lance keeps up to 5,000 deletions of a fragment as an array, more as a bitmap.
DELETIONS = {"no deletions": None, "deletion array": "id % 7 = 3", "deletion bitmap": "id % 8 <> 5"}
BITMAP_ROWS = 6500

# What storage version 2.0 cannot hold: structs that are null, also inside of lists.
NOT_IN_20 = ["struct", "struct_of_list", "list_of_structs"]


@pytest.fixture
def register(wire, space):
    """Registers a directory and returns the path of the table."""

    def register(location, name="registered") -> str:
        answer = wire.post(f"/v1/table/{space}${name}/register", {"location": str(location)})
        assert answer.status == 200, answer.body
        return f"/v1/table/{space}${name}"

    return register


@pytest.fixture
def place(outside, space):
    """A directory for a table of pylance's; it goes when the test is done."""
    directory = outside / f"{space}.lance"
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def ours(wire, space, opens):
    """Creates a table of ours and returns its path and pylance's view of it."""

    def ours(rows, name="ours"):
        answer = wire.upload(f"/v1/table/{space}${name}/create", rows)
        assert answer.status == 200, answer.body
        return f"/v1/table/{space}${name}", answer.json["location"]

    return ours


def ask(wire, path: str, **fields) -> pa.Table:
    answer = wire.post(f"{path}/query", {"k": 0, "vector": [], **fields})
    assert answer.status == 200, answer.body
    return answer.table


def count(wire, path: str, **fields) -> int:
    answer = wire.post(f"{path}/count_rows", fields)
    assert answer.status == 200, answer.body
    return answer.json


def check_every_version(wire, path: str, location) -> None:
    """Compares the results of the service and of pylance for each version of a table."""
    for version in lance.dataset(str(location)).versions():
        number = version["version"]
        at = lance.dataset(str(location), version=number)
        at.validate()
        assert_same(ask(wire, path, version=number), at.to_table(), f"version {number}", metadata=True)
        assert count(wire, path, version=number) == at.count_rows()
        moved = [at.to_table(with_row_id=True), ask(wire, path, version=number, with_row_id=True)]
        assert_same(moved[1], moved[0], f"version {number} with row ids")


def write_fragments(rows: pa.Table, place, per_fragment: int, **options) -> lance.LanceDataset:
    """Writes a fragment at a time. (Told to cut them itself, pylance stumbles over slices
    of structs with nulls.)"""
    for first in range(0, rows.num_rows, per_fragment):
        part = pa.ipc.open_stream(stream(rows.slice(first, per_fragment))).read_all()  # a copy, no slice
        dataset = lance.write_dataset(part, place, mode="append" if first else "create", **options)
    return dataset


# pylance writes, we read


@pytest.mark.parametrize("deletions", DELETIONS)
@pytest.mark.parametrize("fragments", FRAGMENTS)
@pytest.mark.parametrize("nulls", sample.NULLS)
@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
@pytest.mark.many
def test_we_read_what_pylance_wrote(wire, register, place, storage, nulls, fragments, deletions):
    rows = sample.of_all_types(BITMAP_ROWS if deletions == "deletion bitmap" else 500, nulls)
    if storage == "2.0":
        rows = rows.drop_columns(NOT_IN_20)
    per_fragment = -(-rows.num_rows // FRAGMENTS[fragments])
    if deletions == "deletion bitmap":  # enough rows in the first fragment, few in the others
        per_fragment = rows.num_rows if FRAGMENTS[fragments] == 1 else BITMAP_ROWS - 200
    dataset = write_fragments(rows, place, per_fragment, data_storage_version=storage)
    if DELETIONS[deletions]:
        dataset.delete(DELETIONS[deletions])
    kinds = (
        {f.metadata.deletion_file.file_type for f in dataset.get_fragments() if f.metadata.deletion_file}
        if DELETIONS[deletions]
        else set()
    )
    assert ("bitmap" in kinds) == (deletions == "deletion bitmap"), f"the test means to make a {deletions}, got {kinds}"

    path = register(place)
    want = dataset.to_table()
    assert_same(ask(wire, path), want, metadata=True)
    assert count(wire, path) == want.num_rows
    # A part of the columns and of the rows takes other ways through the reader.
    for name in rows.column_names:
        got = ask(wire, path, columns=[name], k=40, offset=want.num_rows // 2)
        assert_same(got, dataset.to_table(columns=[name], limit=40, offset=want.num_rows // 2), name, metadata=True)
    condition = "id > 100 AND id % 5 = 1"
    assert_same(
        ask(wire, path, filter=condition, with_row_id=True), dataset.to_table(filter=condition, with_row_id=True)
    )
    assert count(wire, path, predicate=condition) == dataset.count_rows(condition)


@pytest.mark.parametrize("nulls", sample.NULLS)
@pytest.mark.parametrize("kind", sample.FURTHER_TYPES)
@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
@pytest.mark.many
def test_types_beyond_are_read_right_or_refused(wire, register, place, storage, kind, nulls):
    rows = pa.table({"id": range(300), "c": sample.column(sample.FURTHER_TYPES[kind], 300, nulls)})
    try:
        dataset = lance.write_dataset(rows, place, data_storage_version=storage)
        want = dataset.to_table()
    except BaseException:  # also the panics of native code
        return  # pylance itself cannot write, or read back, this type in this version
    path = register(place)
    answer = wire.post(f"{path}/query", {"k": 0, "vector": []})
    if answer.status != 200:
        assert (answer.status, answer.json["code"]) == (501, 0), answer.body
        assert_same(ask(wire, path, columns=["id"]), want.select(["id"]), "the other column")
        return
    assert_same(answer.table, want, metadata=True)


@pytest.mark.parametrize("rows", [0, 1, 2, 1023, 1024, 1025, 4095, 4097, 40_000], ids=str)
@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
@pytest.mark.many
def test_page_and_chunk_edges(wire, register, place, storage, rows):
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            "x": np.arange(rows) * 0.5,
            "s": pa.array([f"row {i}" for i in range(rows)], pa.string()),
            "few": pa.array([f"kind {i % 3}" if i % 5 else None for i in range(rows)], pa.string()),
            "xs": pa.array([[i] * (i % 4) for i in range(rows)], pa.list_(pa.int64())),
            "vector": sample.vectors(rows, 8) if rows else pa.array([], pa.list_(pa.float32(), 8)),
        }
    )
    dataset = lance.write_dataset(table, place, data_storage_version=storage, schema=table.schema)
    path = register(place)
    assert_same(ask(wire, path), dataset.to_table())
    for offset in (0, 1, 1023, 1024, rows - 1, rows):
        if offset >= 0:
            assert_same(
                ask(wire, path, k=3, offset=offset), dataset.to_table(limit=3, offset=offset), f"offset {offset}"
            )


def test_wide_values(streams, register, place):
    """Values so large that a page holds few of them."""
    rows = pa.table(
        {
            "id": range(60),
            "text": ["é" * (i * 3000) for i in range(60)],
            "blob": pa.array(
                [bytes(range(256)) * (i % 7 * 100) if i % 4 else None for i in range(60)], pa.large_binary()
            ),
            "vector": sample.vectors(60, 4096),
            "deep": [[[f"{i}"] * (i % 3)] * 50 for i in range(60)],
        }
    )
    dataset = lance.write_dataset(rows, place)
    assert_same(ask(streams, register(place)), dataset.to_table())


@pytest.mark.parametrize("stable", [False, True], ids=["row addresses", "stable row ids"])
@pytest.mark.parametrize("v2_names", [False, True], ids=["V1 manifest names", "V2 manifest names"])
def test_each_version_of_a_life_under_pylance(wire, register, place, stable, v2_names):
    dataset = lance.write_dataset(
        sample.people(200), place, enable_stable_row_ids=stable, enable_v2_manifest_paths=v2_names, max_rows_per_file=90
    )
    path = register(place)
    dataset = live_on(dataset)
    check_every_version(wire, path, place)


def live_on(dataset: lance.LanceDataset) -> lance.LanceDataset:
    """All that can happen to a table of people: each step is a version, or some."""
    first = dataset.count_rows()
    dataset.insert(sample.people(50, start=first, seed=5))
    dataset.delete("id % 9 = 4")
    dataset.update({"name": "'renamed'", "price": "price * 2"}, where="grp = 3")
    fresh = sample.people(60, start=first + 20, seed=6)
    dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh)
    dataset.add_columns({"twice": "id * 2"})
    dataset.alter_columns({"path": "twice", "name": "double"})
    dataset.optimize.compact_files(target_rows_per_fragment=10_000)
    dataset.create_scalar_index("id", "BTREE")
    dataset.create_index("vector", "IVF_FLAT", num_partitions=2)
    dataset.insert(sample.people(10, start=5000).append_column("double", pa.array(range(10), pa.int64())))
    dataset.drop_columns(["ratio"])
    dataset.delete("true")
    return lance.write_dataset(sample.people(30), dataset.uri, mode="overwrite")


def test_restored_and_tagged_versions(wire, register, place):
    dataset = lance.write_dataset(sample.people(20), place)
    dataset.insert(sample.people(20, start=20))
    dataset.tags.create("first", 1)
    old = lance.dataset(place, version=1)
    old.restore()
    path = register(place)
    check_every_version(wire, path, place)
    assert count(wire, path) == 20


def test_cleaned_up_versions_are_gone_and_the_rest_stays(server, wire, register, place):
    dataset = lance.write_dataset(sample.people(20), place)
    path = register(place)
    assert count(wire, path) == 20
    for i in range(6):
        dataset.insert(sample.people(5, start=20 + 5 * i))
    assert count(wire, path) == 50
    assert count(wire, path, version=2) == 25
    dataset.optimize.compact_files()
    dataset.cleanup_old_versions(older_than=datetime.timedelta(0))
    if server.behind_gateway:
        time.sleep(1.1)  # an instance of the function may know of no version but the first: see below
    assert count(wire, path) == 50
    answer = wire.post(f"{path}/query", {"k": 0, "vector": [], "version": 2})
    assert (answer.status, answer.json["code"]) == (404, 11), answer.body
    dataset.insert(sample.people(5, start=90))
    # That a forced cleanup took the version after the newest one that a process knew is
    # noticed by it within a second.
    time.sleep(1.1)
    assert count(wire, path) == 55
    assert_same(ask(wire, path), lance.dataset(place).to_table())


@pytest.mark.parametrize("metric", ["l2", "cosine", "dot"])
@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
def test_search_in_what_pylance_wrote(wire, register, place, storage, metric):
    dataset = lance.write_dataset(
        sample.people(1200).drop_columns(["spec"]), place, data_storage_version=storage, max_rows_per_file=500
    )
    dataset.delete("id % 3 = 1")
    path = register(place)
    vector = sample.vectors(1, seed=77).to_pylist()[0]
    nearest = {"column": "vector", "q": np.array(vector, np.float32), "k": 15, "metric": metric, "use_index": False}
    fields = {"vector": vector, "k": 15, "distance_type": metric}
    assert_same(ask(wire, path, **fields), dataset.to_table(nearest=nearest))
    want = dataset.to_table(nearest=nearest, filter="price > 40", prefilter=True, with_row_id=True)
    assert_same(ask(wire, path, **fields, filter="price > 40", prefilter=True, with_row_id=True), want)


# We write, pylance reads


@pytest.mark.parametrize("fragments", FRAGMENTS)
@pytest.mark.parametrize("nulls", sample.NULLS)
def test_pylance_reads_what_we_wrote(wire, ours, nulls, fragments):
    parts = FRAGMENTS[fragments]
    rows = sample.of_all_types(500, nulls)
    path, location = ours(rows)
    for i in range(1, parts):
        more = sample.of_all_types(300, nulls, start=1000 * i).select(list(reversed(rows.column_names)))
        answer = wire.upload(f"{path}/insert", more)
        assert answer.status == 200, answer.body
        rows = pa.concat_tables([rows, more.select(rows.column_names)])
    dataset = lance.dataset(location)
    dataset.validate()
    assert len(dataset.get_fragments()) == parts
    assert_same(dataset.to_table(), rows.combine_chunks(), metadata=True)
    check_every_version(wire, path, location)
    for name in rows.column_names:
        assert_same(dataset.take([0, 7, 499], columns=[name]), rows.select([name]).take([0, 7, 499]), name)


@pytest.mark.parametrize("kind", sample.FURTHER_TYPES)
def test_types_beyond_are_written_right_or_refused(wire, space, opens, kind):
    rows = pa.table({"id": range(300), "c": sample.column(sample.FURTHER_TYPES[kind], 300, "some")})
    answer = wire.upload(f"/v1/table/{space}$t/create", rows)
    if answer.status != 200:
        assert answer.status in (400, 501) and answer.json["code"] in (0, 20), answer.body
        assert wire.post(f"/v1/table/{space}$t/exists", {}).status == 404
        return
    assert_same(ask(wire, f"/v1/table/{space}$t"), rows)
    dataset = lance.dataset(answer.json["location"])
    dataset.validate()
    if kind == "vector_of_structs":  # pylance 14 does not read what it writes itself, but for alone
        assert_same(dataset.to_table(columns=["c"]), rows.select(["c"]))
    else:
        assert_same(dataset.to_table(), rows)


@pytest.mark.parametrize("deleted", ["few", "many"])
def test_pylance_reads_our_deletions(wire, ours, deleted):
    """A merge deletes the rows that it replaces."""
    rows = sample.people(7000)
    path, location = ours(rows)
    fresh = sample.people(50 if deleted == "few" else 6200, start=400, seed=9)
    answer = wire.upload(
        f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true", fresh
    )
    assert answer.status == 200, answer.body
    want = pa.concat_tables([rows.slice(0, 400), fresh, rows.slice(400 + fresh.num_rows)])
    dataset = lance.dataset(location)
    dataset.validate()
    kinds = {f.metadata.deletion_file.file_type for f in dataset.get_fragments() if f.metadata.deletion_file}
    assert kinds == {"array" if deleted == "few" else "bitmap"}
    assert_same(by(dataset.to_table(), "id"), want.combine_chunks())
    check_every_version(wire, path, location)


@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025, 4097, 70_000], ids=str)
def test_pylance_reads_our_pages(server, ours, rows):
    if rows > 50_000:
        server.not_behind_gateway("the upload is larger than 6 MiB")
    table = sample.people(rows) if rows else sample.people(0)
    _, location = ours(table)
    dataset = lance.dataset(location)
    dataset.validate()
    assert_same(dataset.to_table(), table)
    if rows:
        at = sorted({0, rows // 2, rows - 1})
        assert_same(dataset.take(at), table.take(at))


def test_pylance_lives_on_with_our_table(wire, ours):
    path, location = ours(sample.people(200))
    wire.upload(f"{path}/insert", sample.people(40, start=200))
    wire.upload(
        f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
        sample.people(30, start=190, seed=3),
    )
    live_on(lance.dataset(location))
    check_every_version(wire, path, location)


@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
def test_columns_take_what_pylance_says(wire, register, place, storage):
    rows = sample.of_all_types(4000, "some")
    if storage == "2.0":
        rows = rows.drop_columns(NOT_IN_20)
    dataset = write_fragments(rows, place, 1000, data_storage_version=storage)
    dataset.add_columns({"twice": "id * 2"})
    dataset.drop_columns([rows.column_names[1]])
    wire_path = register(place)
    answer = wire.post(f"{wire_path}/storage", {})
    assert answer.status == 200, answer.body
    dataset = lance.dataset(str(place))
    native = {field.id: field.bytes_on_disk for field in dataset.stats.data_stats().fields}

    def within(field):
        return native.get(field.id(), 0) + sum(within(child) for child in field.children())

    assert {c["name"]: c["bytes"] for c in answer.json["columns"]} == {f.name(): within(f) for f in dataset.lance_schema.fields()}
    assert not answer.json["estimated"] and answer.json["files"] == answer.json["files_read"] == 8
    files = [file for fragment in dataset.get_fragments() for file in fragment.data_files()]
    assert answer.json["total_bytes"] == sum(file.file_size_bytes for file in files)
    assert answer.json["total_bytes"] == answer.json["other_bytes"] + sum(c["bytes"] for c in answer.json["columns"])
    sampled = wire.post(f"{wire_path}/storage", {"max_files": 4}).json
    assert sampled["estimated"] and sampled["files_read"] == 4
    for one, about in zip(answer.json["columns"], sampled["columns"]):
        assert one["bytes"] * 0.6 <= about["bytes"] <= one["bytes"] * 1.6


def test_versions_tell_who_asked_for_them(wire, ours):
    path, location = ours(sample.people(20))
    lance.dataset(location).insert(sample.people(10, start=500))
    assert wire.post(f"{path}/delete", {"predicate": "id = 3"}).status == 200
    dataset = lance.dataset(location)
    dataset.validate()
    noted = [dataset.read_transaction(v).transaction_properties.get("tiltyard.authors") for v in (1, 2, 3)]
    assert noted[0] and noted == [noted[0], None, noted[0]]
    answer = wire.post(f"{path}/version/list", {"details": True, "descending": True, "limit": 2})
    told = [version["details"] for version in answer.json["versions"]]
    assert [detail.get("authors") for detail in told] == [[noted[0]], None]
    assert [(detail["operation"], detail["num_rows"], detail["num_deleted_rows"]) for detail in told] == [("Delete", 29, 1), ("Append", 30, 0)]
    assert wire.token not in str(answer.json) + str(noted)


def test_both_write_in_turns(wire, ours):
    path, location = ours(sample.people(100))
    want = 100
    for turn in range(6):
        answer = wire.upload(f"{path}/insert", sample.people(10, start=1000 * turn, seed=turn))
        assert answer.json["version"] == 4 * turn + 2
        lance.dataset(location).insert(sample.people(10, start=1000 * turn + 500, seed=turn))
        lance.dataset(location).delete(f"id = {1000 * turn + 503}")
        merged = wire.upload(
            f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
            sample.people(8, start=1000 * turn + 505, seed=40 + turn),
        )
        assert merged.json["version"] == 4 * turn + 5, merged.body
        assert (merged.json["num_updated_rows"], merged.json["num_inserted_rows"]) == (5, 3)
        want += 10 + 10 - 1 + 3
        assert count(wire, path) == lance.dataset(location).count_rows() == want
    check_every_version(wire, path, location)


@pytest.mark.parametrize("stable", [False, True], ids=["row addresses", "stable row ids"])
@pytest.mark.parametrize("v2_names", [False, True], ids=["V1 manifest names", "V2 manifest names"])
@pytest.mark.parametrize("storage", STORAGE_VERSIONS)
def test_we_write_to_what_pylance_wrote(wire, register, place, storage, stable, v2_names):
    """A table keeps its own storage version and naming, or refuses; it is never damaged."""
    lance.write_dataset(
        sample.people(100).drop_columns(["spec"]),
        place,
        data_storage_version=storage,
        enable_stable_row_ids=stable,
        enable_v2_manifest_paths=v2_names,
    )
    path = register(place)
    more = sample.people(20, start=95, seed=8).drop_columns(["spec"])
    steps = [
        f"{path}/insert",
        f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
    ]
    for i, step in enumerate(steps):
        before = lance.dataset(place)
        answer = wire.upload(step, more if i else more.slice(5))
        after = lance.dataset(place)
        if answer.status == 501:
            assert after.version == before.version
        else:
            assert answer.status == 200, answer.body
            assert after.version == before.version + 1
            assert after.data_storage_version == storage
        after.validate()
    check_every_version(wire, path, place)
    # Names that native Lance would not have chosen would hide versions from it.
    names = [name for name in (Folder(str(place)) / "_versions").files() if name.endswith(".manifest")]
    assert {len(name) == len("18446744073709551614.manifest") for name in names} == {v2_names}


def test_indexed_tables_are_kept_whole(wire, register, place):
    """Rows that we add to an indexed table are found by native Lance, index or not."""
    dataset = lance.write_dataset(sample.people(600), place)
    dataset.create_scalar_index("id", "BTREE")
    dataset.create_index("vector", "IVF_FLAT", num_partitions=2)
    path = register(place)
    wire.upload(f"{path}/insert", sample.people(50, start=600, seed=2))
    wire.upload(
        f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
        sample.people(50, start=20, seed=3),
    )
    after = lance.dataset(place)
    after.validate()
    assert {i["name"] for i in after.list_indices()} == {"id_idx", "vector_idx"}
    for condition in ("id = 30", "id = 620", "id < 25", "id IN (19, 20, 69, 70)"):
        got = after.to_table(filter=condition)
        assert_same(by(got, "id"), by(ask(wire, path, filter=condition), "id"), condition)
    vector = sample.vectors(1, seed=3).to_pylist()[0]
    nearest = {"column": "vector", "q": np.array(vector, np.float32), "k": 5, "nprobes": 2}
    assert_same(after.to_table(nearest=nearest, columns=["id"]), ask(wire, path, vector=vector, k=5, columns=["id"]))


# Flags and versions that we must not touch


@contextlib.contextmanager
def unchanged(place):
    """What is done inside leaves every file as it was."""
    look = lambda: {str(p.relative_to(place)): p.read_bytes() for p in sorted(place.rglob("*")) if p.is_file()}
    before = look()
    yield
    assert look() == before


def set_flags(manifest, *, reader: int = 0, writer: int = 0) -> None:
    """Adds fields 9 and 10, the feature flags, to the end of the message in a manifest file,
    where they override the existing ones. The bits without a meaning are so high that they will
    not get one soon."""
    data = manifest.read_bytes()
    footer, at = data[-16:], struct.unpack("<Q", data[-16:-8])[0]
    length = struct.unpack("<I", data[at : at + 4])[0]
    message = data[at + 4 : at + 4 + length] + b"\x48" + varint(reader) + b"\x50" + varint(writer)
    manifest.write_bytes(data[:at] + struct.pack("<I", len(message)) + message + footer)


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes(out) + bytes([n])


@pytest.mark.parametrize(
    "flags,reads",
    [({"reader": 1 << 40, "writer": 1 << 40}, False), ({"writer": 1 << 40}, True)],
    ids=["reader", "writer"],
)
def test_unknown_feature_flags_are_refused(wire, space, place, directory, flags, reads):
    """A table with a feature from the future, which a program without it must not touch."""
    lance.write_dataset(sample.people(10), place)
    set_flags(next((place / "_versions").glob("*.manifest")), **flags)
    with contextlib.nullcontext() if reads else pytest.raises(Exception):
        lance.dataset(place)
    answer = wire.post(f"/v1/table/{space}$flagged/register", {"location": str(place)})
    path = f"/v1/table/{space}$flagged"
    with unchanged(place):
        if answer.status == 200:
            asked = wire.post(f"{path}/query", {"k": 0, "vector": []})
            assert (asked.status == 200) if reads else (asked.status, asked.json["code"]) == (501, 0), asked.body
            for step in ("insert", "insert?mode=overwrite", "merge_insert?on=id&when_matched_update_all=true"):
                written = wire.upload(f"{path}/{step}", sample.people(5))
                assert (written.status, written.json["code"]) == (501, 0), written.body
        else:
            assert not reads and (answer.status, answer.json["code"]) == (501, 0), answer.body


# Registering


def test_register_refuses_places_outside_of_the_roots(wire, space, outside, directory, tmp_path):
    elsewhere = tmp_path / "secret.lance"
    lance.write_dataset(sample.people(1), elsewhere)
    lance.write_dataset(sample.people(1), outside / f"{space}.lance")
    (outside / f"{space}-link.lance").symlink_to(elsewhere)
    places = [
        str(elsewhere),
        f"file://{elsewhere}",
        f"{outside}/../{elsewhere.relative_to('/')}",
        f"{outside}/x/../../secret.lance",
        f"file://{outside}/%2e%2e/secret.lance",
        f"{outside}-other/t.lance",
        "/etc",
        "/",
        "",
        ".",
        "..",
        "../secret.lance",
        "s3://bucket/t.lance",
        "http://127.0.0.1/t.lance",
        "memory://t",
        f"file://example.org{elsewhere}",
        str(outside),
        "~/t.lance",
        f"{outside}//{space}.lance",
        f"{outside}/./{space}.lance",
        f"{outside}/{space}.lance\0",
        f"{outside}/{space}.lance?x=1",
        str(outside / f"{space}-link.lance"),
    ]
    for place in places:
        answer = wire.post(f"/v1/table/{space}$stolen/register", {"location": place})
        assert (answer.status, answer.json["code"]) == (400, 13), f"{place}: {answer.body}"
        assert wire.post(f"/v1/table/{space}$stolen/exists", {}).status == 404, place
        if place and not place.endswith("-link.lance"):  # none given; and nothing is looked at yet
            assert wire.post(f"/v1/table/{space}$stolen/declare", {"location": place}).status == 400, place
    assert wire.post(f"/v1/table/{space}$fine/register", {"location": str(outside / f"{space}.lance")}).status == 200


@pytest.mark.embedded("makes links among the server's files")
def test_links_lead_nowhere(wire, space, outside, directory):
    """A writer of one folder could otherwise make it lead to any other folder."""
    lance.write_dataset(sample.people(3), outside / f"{space}-other.lance")
    lance.write_dataset(sample.people(5), outside / f"{space}-half.lance")
    links = {"table": f"{space}-other.lance", "here": "."}
    for name, target in links.items():
        (outside / f"{space}-{name}").symlink_to(target)
    (directory / f"{space}-catalog").symlink_to("_catalog")
    for place in (outside / f"{space}-table", outside / f"{space}-here" / f"{space}-other.lance", directory / f"{space}-catalog"):
        answer = wire.post(f"/v1/table/{space}$stolen/register", {"location": str(place)})
        assert (answer.status, answer.json["code"]) == (400, 13), f"{place}: {answer.body}"

    # Nor is anything written through one.
    assert wire.post(f"/v1/table/{space}$declared/declare", {"location": str(outside / f"{space}-table")}).status == 200
    with unchanged(outside / f"{space}-other.lance"):
        for written in (
            wire.upload(f"/v1/table/{space}$declared/create", sample.people(2)),
            wire.upload(f"/v1/table/{space}$declared/insert", sample.people(2)),
        ):
            assert 400 <= written.status < 500, written.body
        assert wire.post(f"/v1/table/{space}$declared/count_rows", {}).status == 404
        assert wire.post(f"/v1/table/{space}$declared/drop", {}).status == 200

    # A table of which a part is behind a link is not served in part.
    half = outside / f"{space}-half.lance"
    (half / "data").rename(outside / f"{space}-moved")
    (half / "data").symlink_to(f"../{space}-moved")
    assert wire.post(f"/v1/table/{space}$half/register", {"location": str(half)}).status == 200
    read = wire.post(f"/v1/table/{space}$half/query", {"k": 0, "vector": []})
    written = wire.upload(f"/v1/table/{space}$half/insert", sample.people(2))
    assert 400 <= read.status < 500 and (written.status, written.json["code"]) == (400, 13), (read.body, written.body)
    assert "symbolic link" in written.json["error"]



@pytest.mark.parametrize("form", ["{}", "file://{}", "{}/", "FILE://{}"])
def test_register_takes_each_form_of_a_location(wire, space, place, directory, form):
    lance.write_dataset(sample.people(3), place)
    answer = wire.post(f"/v1/table/{space}$t/register", {"location": form.format(place)})
    assert answer.status == 200, answer.body
    assert answer.json["location"] == form.format(place)
    assert count(wire, f"/v1/table/{space}$t") == 3


def test_register_refuses_what_is_no_table(wire, space, outside, directory):
    empty = outside / f"{space}-empty.lance"
    empty.mkdir()
    (outside / f"{space}-file.lance").write_text("not a table")
    for place in (empty, outside / f"{space}-missing.lance", outside / f"{space}-file.lance"):
        answer = wire.post(f"/v1/table/{space}$t/register", {"location": str(place)})
        assert (answer.status, answer.json["code"]) == (400, 13), f"{place}: {answer.body}"


def test_damaged_tables_are_errors_and_not_answers(tmp_path, directory):
    """Half of a data file is gone: an error, and the server goes on."""
    with Server(tmp_path / "root") as server:
        wire = Wire(server.url, server.token)
        for name in ("damaged", "whole"):
            location = wire.upload(f"/v1/table/{name}/create", sample.people(3000)).json["location"]
            if name == "damaged":
                data = next(pathlib.Path(location.removeprefix("file://"), "data").iterdir())
                data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
        with contextlib.suppress(OSError, http.client.HTTPException):  # an answer that has begun breaks off
            answer = wire.post("/v1/table/damaged/query", {"k": 0, "vector": []})
            assert (answer.status, answer.json["code"]) == (422, 19), answer.body
            assert str(tmp_path) not in answer.body.decode(), "the answer tells of the inside"
        assert_same(ask(Wire(server.url, server.token), "/v1/table/whole"), sample.people(3000))
