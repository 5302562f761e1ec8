"""Tables stay fit: small writes are joined and old versions are removed, without loss for
readers and writers.

LanceDB's client writes, jobs compact and clean up, and native Lance checks the result: rows,
indices, tags and branches.
"""

from __future__ import annotations

import os
import time

import lance
import pyarrow as pa
import pytest

from process import Server
from test_index_kept import check, indexed, rows  # noqa: F401: indexed is a fixture
from wire import Wire

DAY = 86_400
WAIT_SECONDS = 120  # for workers of machines that are busy


def until(what):
    """Waits until a condition is true, and returns its value."""
    end = time.monotonic() + WAIT_SECONDS
    while not (found := what()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.05)
    return found


def finished(wire: Wire, job: str) -> dict:
    """Waits for the end of a job and returns it."""

    def ended():
        found = wire.post("/v1/jobs/describe", {"job_id": job}).json
        return found if found["job_state"] != "IN_PROGRESS" else None

    return until(ended)


def maintain(wire: Wire, table: str, **order) -> dict:
    """Maintains a table and returns the report of the job."""
    begun = wire.post(f"/v1/table/{table}/maintain", order)
    assert begun.status == 200, begun.body
    assert begun.json["job_id"] == begun.json["transaction_id"]
    job = finished(wire, begun.json["job_id"])
    assert job["job_state"] == "DONE", job
    assert job["job_type"] == "maintain"
    return job["result"]


def ids(dataset) -> list[int]:
    return sorted(dataset.to_table(columns=["id"])["id"].to_pylist())


def test_small_inserts_are_joined_as_they_come(db, wire, space, opens):
    table = db.create_table("t", pa.table({"id": [0]}), namespace_path=[space])
    for i in range(1, 100):
        table.add(pa.table({"id": [i]}))
        assert table.count_rows() == i + 1
    native = until(lambda: (d := lance.dataset(table.uri)) and len(d.get_fragments()) < 60 and d)
    native.validate()
    assert ids(native) == list(range(100))
    jobs = [job for job in wire.post("/v1/jobs/list", {}).json["jobs"] if job["table"] == f"{space}$t"]
    assert jobs and {job["job_type"] for job in jobs} == {"maintain"}


def test_a_property_switches_it_off(db, wire, space, opens):
    assert wire.post(f"/v1/namespace/{space}$off/create", {"properties": {"maintenance": "off"}}).status == 200
    table = db.create_table("t", pa.table({"id": [0]}), namespace_path=[space, "off"])
    for i in range(1, 40):
        table.add(pa.table({"id": [i]}))
    time.sleep(0.5)
    assert len(lance.dataset(table.uri).get_fragments()) == 40
    assert maintain(wire, f"{space}$off$t", compact=True)["fragments_removed"] == 40, "asked for, it is done"
    assert len(lance.dataset(table.uri).get_fragments()) == 1


def test_indices_stay_right(indexed, wire, space):  # noqa: F811
    table, path = indexed
    table.delete("id % 3 = 0")
    for start in range(5_000, 5_200, 20):
        table.add(rows(20, start, seed=start))
    before = ids(lance.dataset(path))
    maintain(wire, f"{space}$t", compact=True)
    native = check(path)
    assert ids(native) == before
    assert len(native.get_fragments()) == 2, "all are joined, and their indices go along"
    table.add(rows(20, 9_000))
    native.optimize.optimize_indices()
    check(path)


def age(path, days: int) -> None:
    """Makes all files older."""
    for folder, _, files in os.walk(path):
        for file in files:
            at = time.time() - days * DAY
            os.utime(os.path.join(folder, file), (at, at))


@pytest.fixture
def brisk(tmp_path):
    """A server whose requests are short, so that jobs need not wait long for them."""
    with Server(tmp_path / "root", settings={"TILTYARD_REQUEST_TIMEOUT": "1s"}) as process:
        yield process
    assert not process.faults()


@pytest.mark.embedded("starts servers of its own")
def test_cleanup_respects_tags_and_branches(brisk):
    wire = Wire(brisk.url, brisk.token)
    path = str(brisk.root / "t.lance")
    native = lance.write_dataset(pa.table({"id": range(10)}), path)
    for i in range(10, 30):
        native.insert(pa.table({"id": [i]}))
    native.tags.create("kept", 5)
    branch = native.create_branch("dev", 8)
    branch.insert(pa.table({"id": [100]}))
    native.delete("id < 5")
    assert wire.post("/v1/table/t/register", {"location": "t.lance"}).status == 200
    assert maintain(wire, "t", compact=True)["fragments_added"] == 1
    reader = lance.dataset(path)

    assert maintain(wire, "t", cleanup=True)["cleaned"]["versions"] == 0, "all is young"
    age(path, 8)
    files = lambda: len(os.listdir(f"{path}/data"))
    many = files()
    dry = wire.post("/v1/table/t/maintain", {"cleanup": True, "dry_run": True}).json["report"]["cleaned"]
    assert dry["versions"] == 21 and files() == many, "20 of the table, 1 of the branch"
    cleaned = maintain(wire, "t", cleanup=True)["cleaned"]
    assert cleaned["versions"] == 21 and cleaned["files"]["data"] > 0 and files() < many

    native = lance.dataset(path)
    native.validate()
    assert [v["version"] for v in native.versions()] == [5, 8, native.version]
    assert ids(native) == ids(reader) == list(range(5, 30))
    assert ids(lance.dataset(path, version="kept")) == list(range(14))
    assert ids(native.checkout_version(("dev", None))) == [*range(17), 100]
    native.insert(pa.table({"id": [200]}))
    assert ids(lance.dataset(path)) == [*range(5, 30), 200]


def test_what_maintain_refuses(wire, db, space):
    db.create_table("t", pa.table({"id": [0]}), namespace_path=[space])
    for order in ({"compact": False, "indices": False, "cleanup": False}, {"older_than": "5m"}, {"older_than": "soon"}, {"keep_versions": 0}, {"compact": "yes"}):
        answer = wire.post(f"/v1/table/{space}$t/maintain", order)
        assert answer.status == 400, (order, answer.body)
    assert wire.post(f"/v1/table/{space}$none/maintain", {}).status == 404


def plant(wire: Wire, space: str, count: int) -> None:
    for i in range(count):
        assert wire.post(f"/v1/namespace/{space}$n{i}/create", {}).status == 200
        assert wire.upload(f"/v1/table/{space}$n{i}$t/create", pa.table({"id": [i]})).status == 200


def test_a_large_cascade_is_a_job(wire, space):
    plant(wire, space, 20)
    answer = wire.post(f"/v1/namespace/{space}/drop", {"behavior": "Cascade"})
    assert answer.status == 200, answer.body
    (transaction,) = answer.json["transaction_id"]
    until(lambda: wire.post(f"/v1/transaction/{transaction}/describe", {}).json["status"] == "Succeeded")
    assert finished(wire, transaction)["result"] == {"dropped": 41}
    assert wire.post(f"/v1/namespace/{space}/exists", {}).status == 404
    assert wire.post(f"/v1/namespace/{space}/create", {}).status == 200


@pytest.mark.slow
@pytest.mark.embedded("starts servers of its own")
def test_a_cascade_outlives_its_server(tmp_path):
    root, at_once = tmp_path / "root", {"TILTYARD_DROP_RETENTION": "0"}
    with Server(root, settings=at_once) as process:
        wire = Wire(process.url, process.token)
        assert wire.post("/v1/namespace/n/create", {}).status == 200
        plant(wire, "n", 60)
        (transaction,) = wire.post("/v1/namespace/n/drop", {"behavior": "Cascade"}).json["transaction_id"]
        process.kill()
    with Server(root, settings=at_once) as process:
        wire = Wire(process.url, process.token)
        status = lambda: wire.post(f"/v1/transaction/{transaction}/describe", {}).json["status"]
        if status() != "Succeeded":
            assert wire.post("/v1/namespace/n$new/create", {}).status in (404, 409)
        # Who had it is given up for dead when its lease has run out.
        end = time.monotonic() + 150
        while status() != "Succeeded":
            assert time.monotonic() < end
            time.sleep(0.2)
        assert wire.post("/v1/namespace/n/exists", {}).status == 404
        assert not [p for p in root.rglob("*.lance") if p.is_file()]


def test_lancedb_clients_pause_and_resume(db, wire, space):
    plant(wire, space, 20)
    (job,) = wire.post(f"/v1/namespace/{space}/drop", {"behavior": "Cascade"}).json["transaction_id"]
    first = db.pause_job(job)
    assert first in ("pausing", "committing")
    if first == "pausing":
        assert db.pause_job(job) in ("already_paused", "committing")
        assert db.resume_job(job) in ("resumed", "still_pausing")
    assert finished(wire, job)["job_state"] == "DONE"
    assert db.pause_job(job) == "committing"
    assert db.resume_job(job) == "not_paused"
