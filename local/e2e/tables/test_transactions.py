"""Transactions of all operations that change something: their ids can be described, alone and
below their table, even when the changed object is gone. Also clones."""

from __future__ import annotations

import datetime
import uuid

import lance
import pyarrow as pa
import pytest

from wire import stream


def rows(first: int = 0, count: int = 10) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def ids(location: str) -> list[int]:
    return sorted(lance.dataset(location).to_table()["id"].to_pylist())


@pytest.fixture
def table(wire, space) -> str:
    path = f"{space}$t"
    assert wire.upload(f"/v1/table/{path}/create", stream(rows())).status == 200
    assert wire.upload(f"/v1/table/{path}/insert", stream(rows(10))).status == 200
    return path


def changes(space: str, location: str) -> list[tuple[str, str, dict, str, dict]]:
    """What to do, one after the other: path, object, body, operation, properties."""
    t = f"table/{space}$t"
    d = f"table/{space}$d"
    return [
        (f"namespace/{space}$n/create", f"{space}$n", {}, "create-namespace", {}),
        (f"{d}/declare", f"{space}$d", {}, "declare-table", {}),
        (f"{d}/rename", f"{space}$d", {"new_table_name": "e"}, "rename-table", {"renamed_to": f"{space}$e"}),
        (f"table/{space}$e/drop", f"{space}$e", {}, "drop-table", {}),
        (f"{t}/tags/create", f"{space}$t", {"tag": "x", "version": 1}, "create-tag", {"tag": "x"}),
        (f"{t}/tags/update", f"{space}$t", {"tag": "x", "version": 2}, "update-tag", {"tag": "x"}),
        (f"{t}/tags/delete", f"{space}$t", {"tag": "x"}, "delete-tag", {"tag": "x"}),
        (f"{t}/branches/create", f"{space}$t", {"name": "b"}, "Clone", {"branch": "b"}),
        (f"{t}/branches/delete", f"{space}$t", {"name": "b"}, "delete-branch", {"branch": "b"}),
        (f"{t}/version/delete", f"{space}$t", {"ranges": [{"start_version": 1, "end_version": 2}]}, "delete-versions", {}),
        (f"{t}/deregister", f"{space}$t", {}, "deregister-table", {}),
        (f"{t}/register", f"{space}$t", {"location": location}, "register-table", {}),
    ]


def test_every_change_is_a_transaction(wire, space, table):
    location = wire.post(f"/v1/table/{table}/describe", {}).json["location"]
    for path, object, body, operation, properties in changes(space, location):
        done = wire.post(f"/v1/{path}", body)
        assert done.status == 200, (path, done.body)
        id = done.json["transaction_id"]
        for name in (id, f"{object}${id}"):
            found = wire.post(f"/v1/transaction/{name}/describe", {})
            assert found.status == 200, (path, found.body)
            assert found.json["status"] == "Succeeded"
            assert found.json["properties"]["operation"] == operation
            assert properties.items() <= found.json["properties"].items()
    actions = [{"setPropertyAction": {"key": "seen", "value": "yes"}}, {"setStatusAction": {"status": "Canceled"}}]
    altered = wire.post(f"/v1/transaction/{id}/alter", {"actions": actions})
    assert altered.status == 200, altered.body
    found = wire.post(f"/v1/transaction/{object}${id}/describe", {}).json
    assert (found["status"], found["properties"]["seen"]) == ("Canceled", "yes")
    wrong = id[:-1] + ("A" if id[-1] != "A" else "B")
    assert wire.post(f"/v1/transaction/{wrong}/describe", {}).json["code"] == 10


def test_commits_of_branches_are_found_by_what_native_clients_know(wire, table):
    assert wire.post(f"/v1/table/{table}/branches/create", {"name": "dev"}).status == 200
    done = wire.upload(f"/v1/table/{table}/insert?branch=dev", stream(rows(20)))
    version = done.json["version"]
    found = wire.post(f"/v1/transaction/{done.json['transaction_id']}/describe", {}).json["properties"]
    assert (found["branch"], found["version"]) == ("dev", str(version))
    for name in (found["uuid"], str(version)):
        again = wire.post(f"/v1/transaction/{table}${name}/describe", {})
        assert again.status == 200, again.body
        assert again.json["properties"] == found
    assert wire.post(f"/v1/transaction/{table}${uuid.uuid4()}/describe", {}).json["code"] == 10
    assert wire.post(f"/v1/transaction/{table}$99/describe", {}).json["code"] == 10


def test_clone(wire, db, space, table):
    location = wire.post(f"/v1/table/{table}/describe", {}).json["location"]
    assert wire.post(f"/v1/table/{table}/tags/create", {"tag": "first", "version": 1}).status == 200
    for name, fields, want in (
        ("newest", {}, 20),
        ("old", {"source_version": 1}, 10),
        ("tagged", {"source_tag": "first", "is_shallow": True}, 10),
    ):
        made = wire.post(f"/v1/table/{space}${name}/clone", {"source_location": location, **fields})
        assert made.status == 200, made.body
        assert ids(made.json["location"]) == list(range(want))
        remote = db.open_table(name, namespace_path=[space])
        remote.add(rows(100, 1))
        remote.delete("id = 3")
        assert ids(made.json["location"]) == [n for n in range(want) if n != 3] + [100]
        described = wire.post(f"/v1/transaction/{made.json['transaction_id']}/describe", {}).json
        assert described["properties"]["operation"] == "Clone"
    assert ids(location) == list(range(20))
    for name, fields, status, code in (
        ("newest", {"source_location": location}, 409, 5),
        ("other", {"source_location": location, "source_version": 9}, 404, 11),
        ("other", {"source_location": location, "source_tag": "none"}, 404, 8),
        ("other", {"source_location": location, "source_tag": "first", "source_version": 1}, 400, 13),
        ("other", {"source_location": "/etc"}, 400, 13),
        ("other", {"source_location": "not-there.lance"}, 400, 13),
        ("other", {}, 400, 13),
    ):
        refused = wire.post(f"/v1/table/{space}${name}/clone", fields)
        assert (refused.status, refused.json["code"]) == (status, code), (fields, refused.body)


def test_deep_clone(wire, db, space, table):
    """A deep clone is as that of native Lance, and outlives its source."""
    location = wire.post(f"/v1/table/{table}/describe", {}).json["location"]
    remote = db.open_table("t", namespace_path=[space])
    remote.create_scalar_index("id", wait_timeout=datetime.timedelta(seconds=60))
    remote.delete("id = 3")
    source = lance.dataset(location)
    native = source.deep_clone(f"{location.removesuffix('.lance')}-native.lance", source.version)
    made = wire.post(f"/v1/table/{space}$deep/clone", {"source_location": location, "is_shallow": False})
    assert made.status == 200, made.body
    ours = lance.dataset(made.json["location"])
    assert ours.version == native.version == made.json["version"] == source.version
    assert ours.schema == native.schema
    assert ours.to_table(with_row_id=True) == native.to_table(with_row_id=True) == source.to_table(with_row_id=True)
    indices = [[(i.name, i.num_rows_indexed) for i in d.describe_indices()] for d in (ours, native, source)]
    assert indices[0] == indices[1] == indices[2] and indices[0]
    assert wire.post(f"/v1/table/{table}/drop", {}).status == 200
    clone = db.open_table("deep", namespace_path=[space])
    assert clone.search().where("id = 7").to_arrow()["id"].to_pylist() == [7]
    clone.add(rows(100, 1))
    assert ids(made.json["location"]) == [n for n in range(20) if n != 3] + [100]
