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


def rows(start: int, count: int) -> pa.Table:
    at = list(range(start, start + count))
    return pa.table({"id": pa.array(at, pa.int64()), "s": pa.array([None if i % 7 == 0 else f"row {i}" for i in at]), "l": pa.array([[i, 1] for i in at])})


COMPUTED = {"double": "id * 2", "loud": "upper(s)", "first": "l[1]"}


def wanted(table: lance.LanceDataset) -> list[dict]:
    return [
        r | {"double": r["id"] * 2, "loud": r["s"] and r["s"].upper(), "first": r["l"][0]}
        for r in table.to_table(columns=["id", "s", "l"]).sort_by("id").to_pylist()
    ]


def is_right(table: lance.LanceDataset) -> None:
    got = table.to_table(columns=["id", "s", "l", *COMPUTED]).sort_by("id").to_pylist()
    assert got == wanted(table)


def begin(wire, path: str, **fields):
    return wire.post(f"/v1/table/{path}/backfill_column", fields)


def fill(wire, db, path: str, **fields) -> dict:
    """Fills a column and returns the result of the job."""
    begun = begin(wire, path, **fields)
    assert begun.status == 202, begun.body
    assert begun.json["job_id"] == begun.json["transaction_id"]
    return finished(wire, begun.json["job_id"])


def finished(wire, job: str) -> dict:
    for _ in range(300):
        told = wire.post("/v1/jobs/describe", {"job_id": job}).json
        if told["job_state"] not in ("IN_PROGRESS", "QUEUED"):
            assert told["job_state"] == "DONE", told
            assert told["spec"]["column"]
            return told["result"]
        time.sleep(0.1)
    raise AssertionError(told)


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
    table.add_columns(computed={"double": "id * 2", "bad": "10 / (id - 3)"})
    table.add_columns(computed={"four": "double * 2"})
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
        (404, {"column": "double", "branch": "nope"}), (400, {"column": 7}),
    ]:  # fmt: skip
        assert begin(wire, path, **fields).status == status, fields


def finished_badly(wire, job: str) -> dict:
    for _ in range(300):
        told = wire.post("/v1/jobs/describe", {"job_id": job}).json
        if told["job_state"] == "FAILED":
            return told
        time.sleep(0.1)
    raise AssertionError(told)


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
            step = chance.choice(["we append", "native appends", "we update", "native updates", "we delete", "native deletes", "native compacts", "we fill", "native fills"])
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
