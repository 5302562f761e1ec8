"""Computed columns are filled by the service and by native LanceDB in turns: both see what the other has
filled, and neither computes it again.
"""

from __future__ import annotations

import random
import time

import lance
import lancedb
import pyarrow as pa
import pytest
import lance_namespace_urllib3_client as generated
from lance_namespace_urllib3_client import models as m
from lancedb.job import Job
from test_maintenance import maintain


def rows(start: int, count: int) -> pa.Table:
    at = list(range(start, start + count))
    return pa.table({
        "id": pa.array(at, pa.int64()),
        "s": pa.array([None if i % 7 == 0 else f"row {i}" for i in at]),
        "l": pa.array([[i, 1] for i in at]),
        "st": pa.array([{"title": f"t{i}", "size": i} for i in at]),
    })  # fmt: skip


WAIT_SECONDS = 180
COMPUTED = {"double": "id * 2", "loud": "upper(s)", "first": "l[1]", "title": "concat(st.title, s)", "one": "1"}


def wanted(table: lance.LanceDataset) -> list[dict]:
    return [
        r | {"double": r["id"] * 2, "loud": r["s"] and r["s"].upper(), "first": r["l"][0], "title": r["st"]["title"] + (r["s"] or ""), "one": 1}
        for r in table.to_table(columns=["id", "s", "l", "st"]).sort_by("id").to_pylist()
    ]


def is_right(table: lance.LanceDataset) -> None:
    got = table.to_table(columns=["id", "s", "l", "st", *COMPUTED]).sort_by("id").to_pylist()
    assert got == wanted(table)


def begin(wire, path: str, **fields):
    return wire.post(f"/v1/table/{path}/backfill_column", fields)


def fill(wire, db, path: str, **fields) -> dict:
    """Fills a column and returns the result of the job."""
    begun = begin(wire, path, **fields)
    assert begun.status == 202, begun.body
    assert begun.json["job_id"] == begun.json["transaction_id"]
    return finished(wire, begun.json["job_id"])


def described(wire, job: str) -> dict:
    """A job that has ended. Its messages may wait behind those of jobs that earlier tests have begun."""
    end = time.monotonic() + WAIT_SECONDS
    while (told := wire.post("/v1/jobs/describe", {"job_id": job}).json)["job_state"] in ("IN_PROGRESS", "QUEUED"):
        assert time.monotonic() < end, told
        time.sleep(0.1)
    return told


def finished(wire, job: str) -> dict:
    told = described(wire, job)
    assert told["job_state"] == "DONE", told
    assert told["spec"]["column"]
    return told["result"]


def test_the_stock_client_fills_a_column(db, space):
    table = db.create_table("t", rows(0, 50), namespace_path=[space])
    table.add_columns(computed=COMPUTED)
    for column in COMPUTED:
        job = table.refresh_column_async(column)
        assert isinstance(job, Job)
        done = job.wait()
        assert (done.rows_failed, done.rows_remaining) == (0, 0)
        assert done.rows_assigned == (42 if column == "loud" else 50)
        assert done.published_version == table.version
    assert table.search().where("double = 20").select(["loud"]).to_list() == [{"loud": "ROW 10"}]
    version = table.version
    again = table.refresh_column_async("double").wait()
    assert again.rows_assigned == 0 and table.version == version
    with pytest.raises(Exception, match="not a computed column"):
        table.refresh_column_async("id")
    with pytest.raises(Exception, match="not found"):  # as the client reads any 404
        table.refresh_column_async("nope")
    assert table.version == version


def test_requests_of_the_namespace_client(server, wire, db, space):
    api = generated.ApiClient(generated.Configuration(host=server.url, access_token=server.token))
    path = f"{space}$t"
    table = db.create_table("t", rows(0, 10), namespace_path=[space])
    table.add_columns(computed={"double": "id * 2", "four": "double * 2", "bad": "10 / (id - 3)"})
    for start in (10, 20):
        table.add(rows(start, 10))
    begun = generated.TableApi(api).alter_table_backfill_columns(path, m.AlterTableBackfillColumnsRequest(column="double", where="id < 5"))
    done = finished(wire, begun.job_id)
    assert done["rows_assigned"] == 5
    assert table.count_rows("double IS NOT NULL") == 5
    refused = begin(wire, path, column="four")
    job = finished_badly(wire, refused.json["job_id"])
    assert "backfill" in job["failure"]["message"] and "double" in job["failure"]["message"]
    assert fill(wire, db, path, column="double", num_frags=1) | {"published_version": 0, "source_version": 0} == {
        "rows_assigned": 10, "rows_failed": 0, "rows_remaining": 20, "published_version": 0, "source_version": 0,
    }  # fmt: skip
    assert fill(wire, db, path, column="double", commit_granularity=1)["rows_assigned"] == 20
    assert fill(wire, db, path, column="four")["rows_assigned"] == 30
    version = table.version
    failed = finished_badly(wire, begin(wire, path, column="bad").json["job_id"])
    assert "zero" in failed["failure"]["message"].lower() and table.version == version
    assert fill(wire, db, path, column="bad", where="id != 3")["rows_assigned"] == 29
    for status, fields in [
        (400, {}), (400, {"column": ""}), (400, {"column": "id"}), (404, {"column": "nope"}), (400, {"column": "double", "where": "nope = 1"}),
        (400, {"column": "double", "where": "id"}), (400, {"column": "double", "num_frags": 0}), (404, {"column": "double", "read_version": 99}),
        (404, {"column": "double", "branch": "nope"}), (400, {"column": 7}), (400, {"column": "st.title"}),
    ]:  # fmt: skip
        assert begin(wire, path, **fields).status == status, fields


def test_workers_share_the_rows_of_a_large_table(wire, db, space):
    path = f"{space}$t"
    table = db.create_table("t", pa.table({"id": pa.array(range(900_000), pa.int64())}), namespace_path=[space])
    table.add(pa.table({"id": pa.array(range(900_000, 1_300_000), pa.int64())}))
    table.add_columns(computed={"double": "id * 2"})
    table.delete("id % 1000 = 7")
    job = begin(wire, path, column="double", concurrency=3, commit_granularity=1).json["job_id"]
    done = finished(wire, job)
    assert (done["rows_assigned"], done["rows_failed"], done["rows_remaining"]) == (1_298_700, 0, 0)
    assert done["published_version"] == table.version
    assert table.count_rows("double = id * 2") == table.count_rows() == 1_298_700
    again = table.refresh_column_async("double").wait()
    assert again.rows_assigned == 0 and table.version == done["published_version"]
    assert begin(wire, path, column="double", concurrency=0).status == 400


def finished_badly(wire, job: str) -> dict:
    told = described(wire, job)
    assert told["job_state"] == "FAILED", told
    return told


@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("seed", range(4))
def test_both_fill_in_turns(seed, wire, db, space, outside):
    chance = random.Random(seed)
    name = f"{space}-t"
    native = lancedb.connect(outside).create_table(name, rows(0, 40))
    place = outside / f"{name}.lance"
    path = f"{space}$t"
    assert wire.post(f"/v1/table/{path}/register", {"location": str(place)}).status == 200
    ours, log, last = db.open_table("t", namespace_path=[space]), [], 40
    (native if seed % 2 else ours).add_columns(computed=COMPUTED)
    try:
        for _ in range(12):
            native.checkout_latest()
            step = chance.choice(["we append", "native appends", "we update", "native updates", "we delete", "native deletes", "native compacts", "we compact", "we fill", "native fills"])
            log.append(step)
            count = chance.choice([1, 30])
            some = f"id % 5 = {chance.randrange(5)}"
            match step:
                case "we append":
                    ours.add(rows(last, count))
                    last += count
                case "native appends":
                    native.add(rows(last, count))
                    last += count
                case "we update":
                    ours.update(where=some, values_sql={"s": "concat(s, '!')"})
                case "native updates":
                    native.update(where=some, values_sql={"s": "concat(s, '?')"})
                case "we delete":
                    ours.delete(f"{some} AND id < {last // 3}")
                case "native deletes":
                    native.delete(f"{some} AND id < {last // 3}")
                case "native compacts":
                    native.optimize()
                case "we compact":
                    maintain(wire, path, compact=True)
                case "we fill":
                    for column in COMPUTED:
                        fill(wire, db, path, column=column)
                    is_right(lance.dataset(place))
                    native.checkout_latest()
                    for column in COMPUTED:
                        assert native.refresh_column(column).rows_filled == 0, column
                case "native fills":
                    for column in COMPUTED:
                        native.refresh_column(column)
                    is_right(lance.dataset(place))
                    for column in COMPUTED:
                        assert fill(wire, db, path, column=column)["rows_assigned"] == 0, column
    except BaseException as e:
        e.add_note(f"history {seed}: {log}")
        raise


@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
def test_what_one_side_keeps_of_values_the_other_knows(wire, db, space, outside):
    """Both write the same sidecar for the same state, and a compaction by either leaves values fresh."""
    name, path = f"{space}-t", f"{space}$t"
    native = lancedb.connect(outside).create_table(name, rows(0, 20))
    native.add(rows(20, 20))
    place = outside / f"{name}.lance"
    assert wire.post(f"/v1/table/{path}/register", {"location": str(place)}).status == 200
    ours = db.open_table("t", namespace_path=[space])
    ours.add_columns(computed={"ours": "concat(st.title, s)", "theirs": "concat(st.title, s)"})
    assert fill(wire, db, path, column="ours")["rows_assigned"] == 40
    native.checkout_latest()
    assert native.refresh_column("theirs").rows_filled == 40
    kept = [{k: v for k, v in lance.dataset(place).schema.field(column).metadata.items() if not k.endswith(b"at_version")} for column in ("ours", "theirs")]
    assert kept[0] == kept[1] and kept[0][b"computed_refresh.source_signature"].startswith(b"sidecar:")
    for compact in (lambda: maintain(wire, path, compact=True), native.optimize):
        before = len(lance.dataset(place).get_fragments())
        compact()
        assert len(lance.dataset(place).get_fragments()) == 1 < before
        native.checkout_latest()
        assert fill(wire, db, path, column="ours")["rows_assigned"] == 0
        assert native.refresh_column("theirs").rows_filled == 0
        native.add(rows(native.count_rows(), 5))
        assert fill(wire, db, path, column="ours")["rows_assigned"] == 5
        native.checkout_latest()
        assert native.refresh_column("theirs").rows_filled == 5


def test_a_branch_keeps_what_is_known_of_values(wire, db, space):
    path = f"{space}$t"
    table = db.create_table("t", rows(0, 20), namespace_path=[space])
    table.add_columns(computed={"double": "id * 2"})
    assert fill(wire, db, path, column="double")["rows_assigned"] == 20
    assert wire.post(f"/v1/table/{path}/branches/create", {"name": "b"}).status == 200
    assert fill(wire, db, path, column="double", branch="b")["rows_assigned"] == 0
    updated = wire.post(f"/v1/table/{path}/update", {"branch": "b", "predicate": "id < 5", "updates": [["id", "id + 100"]]})
    assert updated.status == 200, updated.body
    assert fill(wire, db, path, column="double", branch="b")["rows_assigned"] == 5
    assert fill(wire, db, path, column="double", branch="b")["rows_assigned"] == 0
    assert fill(wire, db, path, column="double")["rows_assigned"] == 0


def test_declarations_are_kept(db, space, tmp_path):
    """Both sides refuse the same changes, and take the same."""
    tables = [lancedb.connect(tmp_path).create_table("t", rows(0, 5)), db.create_table("t", rows(0, 5), namespace_path=[space])]
    for table in tables:
        table.add_columns(computed={"double": "id * 2", "title": "upper(st.title)"})
        for change in [
            lambda t: t.update(where="id = 1", values={"double": 7}),
            lambda t: t.drop_columns(["id"]),
            lambda t: t.drop_columns(["st"]),
            lambda t: t.alter_columns({"path": "id", "rename": "number"}),
            lambda t: t.alter_columns({"path": "id", "data_type": pa.int32()}),
            lambda t: t.alter_columns({"path": "double", "data_type": pa.int32()}),
            lambda t: t.add_columns(computed={"r": "random()"}),
            lambda t: t.add_columns(computed={"r": "now()"}),
        ]:
            before = table.version
            with pytest.raises(Exception):
                change(table)
            assert table.version == before
        table.alter_columns({"path": "double", "rename": "twice"})
        table.drop_columns(["title", "st"])
        table.drop_columns(["twice"])
        table.drop_columns(["id"])
        assert table.schema.names == ["s", "l"]


def test_metadata_does_not_change_declarations(wire, db, space):
    db.create_table("t", rows(0, 5), namespace_path=[space]).add_columns(computed={"double": "id * 2"})
    for update in [
        {"path": "double", "metadata": {"computed_column.expression": "id * 3"}},
        {"path": "id", "metadata": {"computed_column": "true"}},
        {"path": "double", "metadata": {"owner": "me"}, "replace": True},
    ]:
        refused = wire.post(f"/v1/table/{space}$t/update_field_metadata", {"updates": [update]})
        assert (refused.status, refused.json["code"]) == (400, 13), refused.body
    taken = wire.post(f"/v1/table/{space}$t/update_field_metadata", {"updates": [{"path": "double", "metadata": {"owner": "me"}}]})
    assert taken.status == 200, taken.body
