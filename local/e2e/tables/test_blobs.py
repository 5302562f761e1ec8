"""Blob columns: large values that clients read on demand, whole or in parts.

Tables of all storage versions are written by our server and read by pylance, and the other way
round. The tests call the two routes for blobs as the LanceDB client does.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess

import lance
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from files import Folder
from process import binary
from target import TARGET

BLOB = {"lance-encoding:blob": "true"}
VERSIONS = ("2.0", "2.1", "2.2")

# A value for each place that version 2.2 has: in the data file, in a shared file, in one of
# its own; and what is not there, or nearly.
VALUES = [b"inline", None, b"", b"packed" * 20_000, b"dedicated" * 500_000, b"last"]


def old_blobs(values=VALUES, start=0) -> pa.Table:
    """Blobs as all versions take them: marked binaries."""
    return rows(pa.array(values, pa.large_binary()), pa.field("blob", pa.large_binary(), metadata=BLOB), start)


def new_blobs(values=VALUES, start=0, **options) -> pa.Table:
    """Blobs as version 2.2 has them."""
    return rows(lance.blob_array(values), lance.blob_field("blob", **options), start)


def rows(blobs, field, start) -> pa.Table:
    ids = pa.array(range(start, start + len(blobs)), pa.int64())
    names = pa.array([f"row {i.as_py()}" for i in ids])
    schema = pa.schema([pa.field("id", pa.int64()), field, pa.field("name", pa.string())])
    return pa.table([ids, blobs, names], schema=schema)


def contents(location) -> dict:
    """What pylance reads, by id: by its scan, and by its blob API, which must agree."""
    table = lance.dataset(location)
    table.validate()
    scanned = table.to_table(columns=["id", "blob"], blob_handling="all_binary", with_row_id=True)
    taken = table.take_blobs("blob", ids=scanned["_rowid"].to_pylist())
    taken = [None if blob is None else blob.readall() for blob in taken]
    assert taken == scanned["blob"].to_pylist()
    return dict(zip(scanned["id"].to_pylist(), taken, strict=True))


def expected(values=VALUES, start=0) -> dict:
    return dict(enumerate(values, start))


@pytest.fixture
def register(wire, space, outside):
    """Makes a table of pylance's in a storage version and returns its path and location."""
    made = []

    def register(data, version="2.2", **options):
        location = outside / f"{space}_{len(made)}.lance"
        made.append(location)
        lance.write_dataset(data, location, data_storage_version=version, **options)
        path = f"/v1/table/{space}$registered{len(made)}"
        answer = wire.post(f"{path}/register", {"location": str(location)})
        assert answer.status == 200, answer.body
        return path, location

    yield register
    for location in made:
        shutil.rmtree(location, ignore_errors=True)


@pytest.fixture
def create(wire, space, opens):
    """Creates a table of ours and returns its path and location."""

    def create(data, name="blobs"):
        path = f"/v1/table/{space}${name}"
        answer = wire.upload(f"{path}/create", data)
        assert answer.status == 200, answer.body
        return path, answer.json["location"]

    return create


def ok(answer):
    assert answer.status == 200, answer.body
    return answer


def fetch(wire, path, ids, column="blob", **fields) -> list:
    answer = ok(wire.post(f"{path}/fetch_blobs/", {"column": column, "row_ids": ids, "version": None, **fields}))
    assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
    assert int(answer.headers["x-lancedb-version"]) > 0
    table = pa.ipc.open_stream(io.BytesIO(answer.body)).read_all()
    assert table.schema == pa.schema([(column, pa.large_binary())])
    return table[column].to_pylist()


def row_ids(location) -> dict:
    table = lance.dataset(location).to_table(columns=["id"], with_row_id=True)
    return dict(zip(table["id"].to_pylist(), table["_rowid"].to_pylist(), strict=True))


# Writing


@pytest.mark.parametrize("blobs", [old_blobs, new_blobs])
def test_created_blobs_are_those_of_native_lance(create, blobs, tmp_path):
    _, location = create(blobs())
    native = lance.write_dataset(blobs(), tmp_path / "native", data_storage_version="2.2")
    assert contents(location) == expected()
    ours = lance.dataset(location)
    assert ours.schema == native.schema
    assert ours.to_table()["blob"].to_pylist() == native.to_table()["blob"].to_pylist()
    sizes = [
        sorted(size for name, size in Folder(table.uri).files().items() if name.endswith(".blob"))
        for table in (ours, native)
    ]
    assert sizes[0] == sizes[1] == [len(VALUES[3]), len(VALUES[4])]


def test_thresholds_of_the_field_are_obeyed(create):
    values = [b"a" * 10, b"b" * 11, b"c" * 20, b"d" * 21]
    _, location = create(new_blobs(values, inline_size_threshold=10, dedicated_size_threshold=20))
    assert contents(location) == expected(values)
    kinds = [d["kind"] for d in lance.dataset(location).to_table()["blob"].to_pylist()]
    assert kinds == [0, 1, 1, 2]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_write_keeps_blobs(register, wire, version):
    path, location = register(old_blobs(), version)
    want = expected()

    more = [b"more" * 20_000, None, b"", b"m"]
    ok(wire.upload(f"{path}/insert?mode=append", old_blobs(more, start=100)))
    want |= expected(more, 100)
    assert contents(location) == want

    merged = [b"merged", None, b"new" * 30_000]
    ok(wire.upload(
        f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
        old_blobs(merged, start=102),
    ))
    want |= expected(merged, 102)
    assert contents(location) == want

    names = pa.table({"id": pa.array([0, 4, 100]), "name": ["renamed"] * 3})
    ok(wire.upload(f"{path}/merge_insert?on=id&when_matched_update_all=true", names))
    ok(wire.post(f"{path}/update", {"predicate": "id in (3, 5)", "updates": [["name", "'renamed'"]]}))
    assert contents(location) == want
    renamed = lance.dataset(location).to_table(columns=["id"], filter="name = 'renamed'")["id"].to_pylist()
    assert sorted(renamed) == [0, 3, 4, 5, 100]

    ok(wire.post(f"{path}/delete", {"predicate": "id = 4"}))
    del want[4]
    lance.write_dataset(old_blobs(more, start=200), location, mode="append")
    want |= expected(more, 200)
    lance.dataset(location).optimize.compact_files()
    assert contents(location) == want

    ok(wire.upload(f"{path}/insert?mode=overwrite", old_blobs()))
    assert contents(location) == expected()


def test_blobs_in_structs_and_lists(create, wire):
    values = lance.blob_array([b"a", None, b"p" * 70_000, b"", b"z"])
    offsets = pa.array([0, 2, 2, 5], pa.int32())
    item = lance.blob_field("item")
    lists = pa.ListArray.from_arrays(offsets, values, type=pa.list_(item), mask=pa.array([False, True, False]))
    structs = pa.StructArray.from_arrays(
        [values.slice(0, 3), pa.array([1, 2, 3])],
        fields=[lance.blob_field("blob"), pa.field("n", pa.int64())],
        mask=pa.array([False, False, True]),
    )
    data = pa.table({"lists": lists, "structs": structs})
    path, location = create(data)
    table = lance.dataset(location)
    table.validate()
    read = table.to_table(blob_handling="all_binary").to_pylist()
    assert [r["lists"] for r in read] == [[b"a", None], None, [b"p" * 70_000, b"", b"z"]]
    assert [r["structs"] for r in read] == [{"blob": b"a", "n": 1}, {"blob": None, "n": 2}, None]
    assert fetch(wire, path, [0, 1, 2], column="structs.blob") == [b"a", None, None]


def test_marked_binaries_in_lists_are_blobs(create):
    kind = pa.list_(pa.field("item", pa.large_binary(), metadata=BLOB))
    values = [[b"a", None, b"p" * 70_000], None, [], [b""]]
    data = pa.table([pa.array(values, pa.list_(pa.large_binary())).cast(kind)], schema=pa.schema([("lists", kind)]))
    _, location = create(data)
    assert lance.dataset(location).to_table(blob_handling="all_binary")["lists"].to_pylist() == values


def test_blobs_elsewhere_must_be_below_a_base(wire, space, outside, directory):
    outer = outside / "elsewhere.bin"
    outer.write_bytes(b"not for everybody")
    answer = wire.upload(f"/v1/table/{space}$t/create", new_blobs([lance.blob.Blob.from_uri(outer.as_uri())]))
    assert answer.status == 400 and "base path" in answer.json["error"], answer.body


def test_what_is_no_blob_is_refused(wire, space):
    kind = pa.struct([("data", pa.large_binary()), ("uri", pa.string())])
    extension = {"ARROW:extension:name": "lance.blob.v2"}
    for value in ({"data": b"x", "uri": "file:///x"}, {"data": None, "uri": None}):
        schema = pa.schema([pa.field("blob", kind, metadata=extension)])
        answer = wire.upload(f"/v1/table/{space}$t/create", pa.table([pa.array([value], kind)], schema=schema))
        assert answer.status == 400, answer.body
    schema = pa.schema([pa.field("blob", pa.struct([("x", pa.int64())]), metadata=extension)])
    answer = wire.upload(f"/v1/table/{space}$t/create", pa.table([pa.array([{"x": 1}])], schema=schema))
    assert answer.status == 400, answer.body


def test_update_refuses_to_assign_new_blobs(create, wire):
    path, _ = create(new_blobs())
    answer = wire.post(f"{path}/update", {"updates": [["blob", "'x'"]]})
    assert answer.status == 501 and "blob" in answer.json["error"], answer.body


# Reading


@pytest.mark.parametrize("version", VERSIONS)
def test_fetch_blobs(register, wire, version):
    path, location = register(old_blobs(), version)
    ids = row_ids(location)
    assert fetch(wire, path, [ids[i] for i in range(len(VALUES))]) == VALUES
    assert fetch(wire, path, [ids[4], ids[0], ids[1], ids[0]]) == [VALUES[4], VALUES[0], None, VALUES[0]]
    assert fetch(wire, path, []) == []


def test_fetch_blobs_of_a_version_and_by_stable_ids(register, wire):
    path, location = register(old_blobs(), enable_stable_row_ids=True)
    before = row_ids(location)
    ok(wire.upload(f"{path}/merge_insert?on=id&when_matched_update_all=true", old_blobs([b"changed"], start=0)))
    assert fetch(wire, path, [before[0], before[5]]) == [b"changed", VALUES[5]]
    assert fetch(wire, path, [before[0]], version=1) == [VALUES[0]]


def test_fetch_blobs_says_what_is_wrong(create, wire):
    path, _ = create(new_blobs())
    for fields, status, word in (
        ({"column": "nothing", "row_ids": [0]}, 404, "nothing"),
        ({"column": "name", "row_ids": [0]}, 400, "no blobs"),
        ({"column": "blob", "row_ids": [99]}, 400, "99"),
        ({"row_ids": [0]}, 400, "column"),
        ({"column": "blob", "row_ids": [-1]}, 400, "row_ids"),
    ):
        answer = wire.post(f"{path}/fetch_blobs", fields)
        assert answer.status == status and word in answer.json["error"], (fields, answer.body)


@pytest.mark.parametrize("version", VERSIONS)
def test_blobs_are_read_in_parts(register, wire, version):
    path, location = register(old_blobs(), version)
    ids = row_ids(location)

    def read(row, part=None):
        headers = {} if part is None else {"Range": part}
        return wire.call("GET", f"{path}/blob/blob/{ids[row]}/bytes", headers=headers)

    for row in (0, 3, 4):
        value = VALUES[row]
        whole = read(row)
        assert (whole.status, whole.body) == (200, value)
        for part, want, span in (
            ("bytes=0-0", value[:1], (0, 0)),
            ("bytes=2-4", value[2:5], (2, 4)),
            ("bytes=4-", value[4:], (4, len(value) - 1)),
            ("bytes=-3", value[-3:], (len(value) - 3, len(value) - 1)),
            (f"bytes=3-{len(value) + 10}", value[3:], (3, len(value) - 1)),
        ):
            answer = read(row, part)
            assert (answer.status, answer.body) == (206, want), part
            assert answer.headers["Content-Range"] == f"bytes {span[0]}-{span[1]}/{len(value)}"
            assert answer.headers["x-lancedb-version"] == "1"
        beyond = read(row, f"bytes={len(value)}-")
        assert beyond.status == 416 and beyond.headers["Content-Range"] == f"bytes */{len(value)}"
    null, empty = read(1, "bytes=0-0"), read(2, "bytes=0-0")
    assert (null.status, null.body) == (204, b"")
    assert empty.status == 416 and empty.headers["Content-Range"] == "bytes */0"
    assert (read(2).status, read(2).body) == (200, b"")
    # What is no range of bytes is as if it were not there.
    assert read(0, "bytes=x").body == read(0, "bytes=4-2").body == read(0, "rows=1-2").body == VALUES[0]


def test_one_blob_says_what_is_wrong(create, wire):
    path, _ = create(new_blobs())
    for rest, status in (("blob/99", 400), ("blob/x", 400), ("name/0", 400), ("nothing/0", 404), ("blob/0/bytes?version=9", 404)):
        rest = rest if "bytes" in rest else rest + "/bytes"
        assert wire.call("GET", f"{path}/blob/{rest}").status == status, rest


def test_the_lancedb_client_writes_blobs_and_reads_where_they_are(server, space, opens):
    table = server.lancedb().create_table("blobs", new_blobs(), namespace_path=[space])
    table.add(new_blobs(start=10))
    described = table.search().select(["id", "blob"]).to_arrow().to_pylist()
    assert [row["blob"] and row["blob"]["size"] for row in described] == 2 * [v if v is None else len(v) for v in VALUES]
    location = server.wire().post(f"/v1/table/{space}$blobs/describe").json["location"]
    assert contents(location) == expected() | expected(start=10)


def test_the_command_line_copies_what_no_gateway_delivers(register, server, space, tmp_path):
    """Of functions, an answer has at most 4.5 MB: some of these blobs are more, others are it together, and so are the rows."""
    random = np.random.default_rng(5)
    values = [*VALUES, random.bytes(9 << 20), *[random.bytes(700_000) for _ in range(12)], None, random.bytes(5 << 20)]
    register(old_blobs(values), "2.1")
    noise = pa.table({"id": range(12_000), "noise": [random.bytes(1000) for _ in range(12_000)]})
    register(noise)

    def line(*arguments: str, refused: bool = False) -> str:
        environment = {**os.environ, "TILTYARD_URL": server.url, "TILTYARD_TOKEN": server.token, "HOME": str(tmp_path)}
        done = subprocess.run([str(binary()), *arguments], capture_output=True, text=True, timeout=120, env=environment)
        assert (done.returncode != 0) == refused, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stderr

    line("export", f"{space}/registered1", str(tmp_path / "blobs.parquet"))
    assert pq.read_table(tmp_path / "blobs.parquet").sort_by("id")["blob"].to_pylist() == values
    said = line("cp", f"{space}/registered1", f"{space}/copy", refused=TARGET == "lambda")  # what is written, a row at least, is one request
    assert TARGET != "lambda" or re.search(r"one row, whose column blob has \d{7} bytes", said), said
    line("cp", f"{space}/registered2", str(tmp_path / "rows.parquet"))
    assert pq.read_table(tmp_path / "rows.parquet").sort_by("id").equals(noise)
