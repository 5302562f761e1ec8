"""Tables whose versions the catalog creates: an unmodified pylance commits through the server.

Clients that create versions themselves stage a manifest with native Lance: they copy the table,
write to the copy, and take the files that they need from it.
"""

from __future__ import annotations

import concurrent.futures
import pathlib
import uuid

import lance
import pyarrow as pa
import pytest

from files import Folder

# Tables are opened by native Lance.
pytestmark = pytest.mark.usefixtures("opens")

MANAGED = {"managed_versioning": "true"}
WRITERS = 4
APPENDS = 5


def rows(first: int, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def ids(dataset) -> list[int]:
    return sorted(dataset.to_table()["id"].to_pylist())


@pytest.fixture
def managed(wire):
    """A namespace in which new tables are managed, and no versions are made but the tests'."""
    name = f"managed_{uuid.uuid4().hex[:8]}"
    properties = MANAGED | {"maintenance": "off"}
    assert wire.post(f"/v1/namespace/{name}/create", {"properties": properties}).status == 200
    return name


def write(server, table: list[str], data: pa.Table, mode: str = "create"):
    return lance.write_dataset(data, namespace_client=server.namespace(), table_id=table, mode=mode)


def opened(server, table: list[str], **options):
    return lance.dataset(namespace_client=server.namespace(), table_id=table, **options)


def described(wire, table: list[str]) -> dict:
    answer = wire.post(f"/v1/table/{'$'.join(table)}/describe", {})
    assert answer.status == 200, answer.body
    return answer.json


def place(wire, table: list[str]) -> Folder:
    return Folder(described(wire, table)["location"])


def manifest_name(version: int) -> str:
    return f"{2**64 - 1 - version:020d}.manifest"


def stage(wire, table: list[str], data: pa.Table, tmp_path: pathlib.Path) -> dict:
    """Writes the next version of a table beside it, and returns the parameters that make it the
    next one."""
    at = place(wire, table)
    copy = Folder(str(tmp_path / uuid.uuid4().hex))
    at.copy_to(copy)
    version = lance.write_dataset(data, copy.location, mode="append").version
    for folder in ("data", "_transactions"):
        (copy / folder).copy_to(at / folder)
    staged = at / "_versions" / f"{manifest_name(version)}-{uuid.uuid4()}"
    (copy / "_versions" / manifest_name(version)).copy_to(staged)
    return {"id": table, "version": version, "manifest_path": staged.key, "naming_scheme": "V2"}


def test_pylance_writes_a_managed_table(server, wire, managed):
    table = [managed, "t"]
    assert write(server, table, rows(0)).version == 1
    assert described(wire, table)["managed_versioning"] is True
    assert write(server, table, rows(10), "append").version == 2
    opened(server, table).delete("id < 5")
    dataset = opened(server, table)
    assert (dataset.version, ids(dataset)) == (3, list(range(5, 20)))
    dataset.create_scalar_index("id", "BTREE")
    assert opened(server, table).version == 4
    assert ids(opened(server, table, version=2)) == list(range(20))
    assert write(server, table, rows(100, 3), "overwrite").version == 5
    opened(server, table, version=2).restore()
    dataset = opened(server, table)
    assert (dataset.version, ids(dataset)) == (6, list(range(20)))
    # Who opens the table by its place sees the same, and nothing is left lying about.
    direct = lance.dataset(described(wire, table)["location"])
    assert (direct.version, ids(direct)) == (6, list(range(20)))
    left = [name for name in (place(wire, table) / "_versions").files() if not name.endswith((".manifest", ".json"))]
    assert left == []


def test_pylance_and_the_server_write_one_managed_table(server, wire, db, managed):
    table = [managed, "t"]
    write(server, table, rows(0))

    def native(writer: int) -> None:
        for n in range(APPENDS):
            write(server, table, rows(1000 * writer + 10 * n), "append")

    def ours(writer: int) -> None:
        remote = server.lancedb().open_table("t", namespace_path=[managed])
        for n in range(APPENDS):
            remote.add(rows(1000 * writer + 10 * n))

    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = [pool.submit(native if i % 2 else ours, 1 + i) for i in range(WRITERS)]
        for each in done:
            each.result()
    want = list(range(10)) + [1000 * (1 + i) + n for i in range(WRITERS) for n in range(10 * APPENDS)]
    dataset = opened(server, table)
    assert ids(dataset) == sorted(want)
    assert dataset.version == 1 + WRITERS * APPENDS
    assert db.open_table("t", namespace_path=[managed]).count_rows() == len(want)


def test_tables_are_not_managed_unless_asked(server, wire, space):
    assert write(server, [space, "t"], rows(0)).version == 1
    assert "managed_versioning" not in described(wire, [space, "t"])
    declared = wire.post(f"/v1/table/{space}$u/declare", {"properties": MANAGED}).json
    assert declared["managed_versioning"] is True
    assert write(server, [space, "u"], rows(0), "overwrite").version == 1


@pytest.mark.parametrize("kind", ["managed", "plain"])
def test_create_version_takes_only_the_next(server, wire, managed, space, tmp_path, kind):
    table = [managed if kind == "managed" else space, "t"]
    write(server, table, rows(0))
    path = f"/v1/table/{'$'.join(table)}/version"
    entry = stage(wire, table, rows(10), tmp_path)
    other = stage(wire, table, rows(20), tmp_path)
    made = wire.post(f"{path}/create", entry)
    assert made.status == 200, made.body
    version = made.json["version"]
    assert version["version"] == 2
    assert version["manifest_path"] == (place(wire, table) / "_versions" / manifest_name(2)).key
    assert version["manifest_size"] > 0 and version["e_tag"]
    found = wire.post(f"{path}/describe", {"version": 2}).json["version"]
    assert found["manifest_path"] == version["manifest_path"]
    assert made.json["transaction_id"]
    assert wire.post(f"/v1/transaction/{made.json['transaction_id']}/describe", {}).json["status"] == "Succeeded"
    lost = wire.post(f"{path}/create", other)
    assert (lost.status, lost.json["code"]) == (409, 14)
    if kind == "managed":  # the staged manifest is gone, but this is known to have been it
        again = wire.post(f"{path}/create", entry)
        assert (again.status, again.json["version"]["version"]) == (200, 2)
    missing = wire.post(f"{path}/create", {**entry, "version": 3, "manifest_path": entry["manifest_path"] + "x"})
    assert (missing.status, missing.json["code"]) == (400, 13)
    for outside in ("/etc" + entry["manifest_path"], "etc/passwd", entry["manifest_path"].replace("_versions", "_versions/../data")):
        refused = wire.post(f"{path}/create", {**entry, "version": 3, "manifest_path": outside})
        assert (refused.status, refused.json["code"]) == (400, 13), outside
    assert ids(opened(server, table)) == list(range(20))


@pytest.mark.parametrize("form", ["key", "absolute", "uri", "below the table"])
@pytest.mark.parametrize("batch", [False, True], ids=["alone", "batch"])
def test_a_staged_manifest_is_named_in_each_way(server, wire, managed, tmp_path, form, batch):
    table = [managed, "t"]
    write(server, table, rows(0))
    entry = stage(wire, table, rows(10), tmp_path)
    key, location = entry["manifest_path"], described(wire, table)["location"]
    name = key.rsplit("/", 1)[1]
    entry["manifest_path"] = {
        "key": key,
        "absolute": "/" + key,
        "uri": f"{location}/_versions/{name}",
        "below the table": f"_versions/{name}",
    }[form]
    if batch:
        made = wire.post("/v1/table/version/batch-create", {"entries": [entry]})
    else:
        made = wire.post(f"/v1/table/{'$'.join(table)}/version/create", entry)
    assert made.status == 200, made.body
    assert ids(opened(server, table)) == list(range(20))


def test_versions_are_deleted_but_for_those_in_use(server, wire, managed):
    table = [managed, "t"]
    write(server, table, rows(0))
    for n in range(1, 8):
        write(server, table, rows(10 * n), "append")
    path = f"/v1/table/{'$'.join(table)}"
    assert wire.post(f"{path}/tags/create", {"tag": "kept", "version": 3}).status == 200

    def delete(start: int, end: int) -> int:
        answer = wire.post(f"{path}/version/delete", {"ranges": [{"start_version": start, "end_version": end}]})
        assert answer.status == 200, answer.body
        return answer.json["deleted_count"]

    def versions() -> list[int]:
        return [v["version"] for v in wire.post(f"{path}/version/list?descending=true").json["versions"]]

    assert delete(1, 5) == 3
    assert versions() == [8, 7, 6, 5, 3]
    assert delete(1, 5) == 0
    assert delete(5, -1) == 3
    assert versions() == [8, 3]
    assert wire.post(f"{path}/version/describe", {"version": 5}).json["code"] == 11
    assert ids(opened(server, table)) == list(range(80))
    assert write(server, table, rows(80), "append").version == 9
    assert delete(0, -1) == 2
    assert versions() == [3]


def test_a_batch_is_all_or_nothing(server, wire, managed, space, tmp_path):
    tables = [[managed, "a"], [space, "b"], [space, "c"]]
    for table in tables:
        write(server, table, rows(0))
    entries = [stage(wire, table, rows(10), tmp_path) for table in tables]
    late = [stage(wire, table, rows(20), tmp_path) for table in tables]
    made = wire.post("/v1/table/version/batch-create", {"entries": entries})
    assert made.status == 200, made.body
    assert [v["version"] for v in made.json["versions"]] == [2, 2, 2]
    transaction = wire.post(f"/v1/transaction/{made.json['transaction_id']}/describe", {})
    assert transaction.json["status"] == "Succeeded"
    for table in tables:
        assert described(wire, table)["managed_versioning"] is True
        assert ids(opened(server, table)) == list(range(20))
        assert ids(lance.dataset(place(wire, table).location)) == list(range(20))
    # The same again is the same; others are too late, all of them because of one.
    again = wire.post("/v1/table/version/batch-create", {"entries": entries})
    assert (again.status, [v["version"] for v in again.json["versions"]]) == (200, [2, 2, 2]), again.body
    write(server, [space, "d"], rows(0))
    fresh = stage(wire, [space, "d"], rows(10), tmp_path)
    lost = wire.post("/v1/table/version/batch-create", {"entries": [fresh, *late]})
    assert (lost.status, lost.json["code"]) == (409, 14)
    assert "entry 1 of the batch" in lost.json["error"]
    assert opened(server, [space, "d"]).version == 1
    assert "managed_versioning" not in described(wire, [space, "d"])
    # Everybody goes on writing.
    for table in tables:
        assert write(server, table, rows(30), "append").version == 3
        server.lancedb().open_table(table[1], namespace_path=[table[0]]).add(rows(40))
        assert ids(opened(server, table)) == [*range(20), *range(30, 50)]


def test_racing_batches(server, wire, managed, tmp_path):
    tables = [[managed, name] for name in "abcd"]
    for table in tables:
        write(server, table, rows(0))
    batches = [[stage(wire, table, rows(100 * n), tmp_path) for table in tables[n : n + 2]] for n in range(3)]

    def commit(entries: list[dict]) -> int:
        return server.wire().post("/v1/table/version/batch-create", {"entries": entries}).status

    with concurrent.futures.ThreadPoolExecutor() as pool:
        statuses = list(pool.map(commit, batches))
    assert set(statuses) <= {200, 409} and 200 in statuses
    versions = [opened(server, table).version for table in tables]
    want = [1] * len(tables)
    for n, status in enumerate(statuses):
        if status == 200:
            want[n], want[n + 1] = want[n] + 1, want[n + 1] + 1
    assert versions == want


def commit(wire, *operations):
    return wire.post("/v1/table/batch-commit", {"operations": list(operations)})


def known(wire, transaction: str, operation: str, table: list[str] | None = None) -> None:
    """A transaction is described, alone and below its table."""
    for path in [transaction] + ([f"{'$'.join(table)}${transaction}"] if table else []):
        found = wire.post(f"/v1/transaction/{path}/describe", {})
        assert (found.status, found.json["status"]) == (200, "Succeeded"), found.body
        assert found.json["properties"]["operation"] == operation


def test_a_batch_of_all_kinds(server, wire, space, outside, tmp_path):
    old, grows, fresh = [space, "old"], [space, "grows"], [space, "fresh"]
    for table in (old, grows):
        write(server, table, rows(0))
    for n in range(1, 4):
        write(server, grows, rows(10 * n), "append")
    location = str(outside / f"{space}-fresh.lance")
    lance.write_dataset(rows(5), location)
    final = Folder(location) / "_versions" / manifest_name(1)
    staged = Folder(final.location + "-staged")
    final.copy_to(staged)
    final.remove()
    version = {"version": 1, "manifest_path": staged.key, "metadata": {"from": "batch"}}
    operations = [
        {"declare_table": {"id": fresh, "location": location, "properties": {"p": "q"}}},
        {"create_table_version": {"id": fresh, **version}},
        {"create_table_version": {**stage(wire, grows, rows(40), tmp_path), "metadata": {"k": "v"}}},
        {"delete_table_versions": {"id": grows, "ranges": [{"start_version": 1, "end_version": 3}]}},
        {"deregister_table": {"id": old}},
    ]
    wrong = commit(wire, *operations, {"deregister_table": {"id": [space, "missing"]}})
    assert (wrong.status, wrong.json["code"]) == (404, 4)
    assert "entry 5 of the batch" in wrong.json["error"]
    assert wire.post(f"/v1/table/{space}$fresh/exists", {}).status == 404
    assert opened(server, grows).version == 4

    done = commit(wire, *operations)
    assert done.status == 200, done.body
    results = done.json["results"]
    assert [list(result) for result in results] == [list(operation) for operation in operations]
    assert results[0]["declare_table"]["properties"] == {"p": "q"}
    assert results[1]["create_table_version"]["version"]["metadata"] == {"from": "batch"}
    assert results[2]["create_table_version"]["version"]["version"] == 5
    assert results[3]["delete_table_versions"]["deleted_count"] == 2
    assert results[4]["deregister_table"]["id"] == old
    known(wire, done.json["transaction_id"], "batch-commit", grows)

    assert wire.post(f"/v1/table/{space}$old/exists", {}).status == 404
    assert ids(opened(server, fresh)) == list(range(5, 15))
    assert ids(opened(server, grows)) == list(range(50))
    versions = wire.post(f"/v1/table/{space}$grows/version/list").json["versions"]
    assert [(v["version"], v["metadata"]) for v in versions] == [(3, {}), (4, {}), (5, {"k": "v"})]
    again = commit(wire, *operations)
    assert again.status == 200, again.body
    assert again.json["results"][4]["deregister_table"]["location"] == results[4]["deregister_table"]["location"]
    lost = commit(wire, operations[0])
    assert (lost.status, lost.json["code"]) == (409, 5)


def test_a_batch_is_not_of_branches(server, wire, space, tmp_path):
    table = [space, "t"]
    write(server, table, rows(0))
    assert wire.post(f"/v1/table/{space}$t/branches/create", {"name": "dev"}).status == 200
    entry = stage(wire, table, rows(10), tmp_path)
    ranges = [{"start_version": 1, "end_version": 2}]
    for answer in (
        wire.post("/v1/table/version/batch-create", {"entries": [entry | {"branch": "dev"}]}),
        commit(wire, {"create_table_version": entry | {"branch": "dev"}}),
        commit(wire, {"delete_table_versions": {"id": table, "ranges": ranges, "branch": "dev"}}),
    ):
        assert (answer.status, answer.json["code"]) == (400, 13), answer.body
        assert "entry 0 of the batch" in answer.json["error"] and "version/create" in answer.json["detail"]
    made = wire.post("/v1/table/version/batch-create", {"entries": [entry | {"branch": "main"}]})
    assert (made.status, made.json["versions"][0]["version"]) == (200, 2), made.body


@pytest.mark.parametrize("kind", ["managed", "plain"])
def test_metadata_of_versions_is_kept(server, wire, managed, space, tmp_path, kind):
    table = [managed if kind == "managed" else space, "t"]
    write(server, table, rows(0))
    path = f"/v1/table/{'$'.join(table)}/version"
    metadata = {"who": "ada", "ü": "x" * 2000}
    made = wire.post(f"{path}/create", {**stage(wire, table, rows(10), tmp_path), "metadata": metadata})
    assert made.status == 200, made.body
    assert made.json["version"]["metadata"] == metadata
    write(server, table, rows(20), "append")
    assert wire.post(f"{path}/describe", {"version": 2}).json["version"]["metadata"] == metadata
    listed = wire.post(f"{path}/list?descending=true").json["versions"]
    assert [v["metadata"] for v in listed] == [{}, metadata, {}]
    assert ids(opened(server, table, version=2)) == list(range(20))
    assert ids(lance.dataset(place(wire, table).location, version=2)) == list(range(20))


@pytest.mark.parametrize(
    "operation",
    [
        {},
        {"declare_table": {"id": ["x"]}, "deregister_table": {"id": ["x"]}},
        {"declare_table": {}},
        {"create_table_version": {"id": ["x"]}},
        {"delete_table_versions": {"id": ["x"], "ranges": []}},
        {"rename_table": {"id": ["x"]}},
    ],
)
def test_operations_of_a_batch_are_checked(wire, operation):
    answer = commit(wire, operation)
    assert (answer.status, answer.json["code"]) == (400, 13), answer.body
    assert "operations[0]" in answer.json["error"]
