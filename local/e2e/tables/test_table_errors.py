"""The rows that functions failed for, as LanceDB's client lists them, and what backfills refuse."""

from __future__ import annotations

import time

import pyarrow as pa
import pytest
from test_refresh_column import begin, fill, finished, rows

JOBS = [f"{i:032x}" for i in (1, 2)]  # the first is the newer one


def write(folder, job: str, fragment: int, count: int, skipped: int | None = None) -> None:
    """Writes the errors of a fragment as jobs do."""
    schema = pa.schema(
        [pa.field("row_offset", pa.uint32(), False), pa.field("error_type", pa.string(), False), pa.field("error_message", pa.string(), False)],
        {
            "job_id": job, "fragment_id": str(fragment), "column": f"c{job[-1]}", "function": "f", "function_version": "3", "table_version": "7",
            "created_at_millis": str(int(time.time() * 1000)), "rows_skipped": str(skipped or count),
        },
    )  # fmt: skip
    batch = pa.record_batch([pa.array(range(count), pa.uint32()), ["ValueError"] * count, [f"bad input {i}" for i in range(count)]], schema=schema)
    file = folder / job / f"{fragment:020d}.arrow"
    file.parent.mkdir(parents=True, exist_ok=True)
    with pa.ipc.new_stream(file, schema) as out:
        out.write(batch)


def test_a_table_without_errors(wire, db, space):
    table = db.create_table("t", rows(0, 5), namespace_path=[space])
    errors = table.function_errors()
    assert (errors.records, errors.fragments, errors.truncated) == ([], [], False)
    for status, path, body in [(404, f"{space}$nope", {}), (400, f"{space}$t", {"limit": -1}), (400, f"{space}$t", {"column": 7}), (404, f"{space}$t", {"branch": "nope"})]:
        refused = wire.post(f"/v1/table/{path}/errors", body)
        assert refused.status == status, (body, refused.body)


@pytest.mark.embedded("writes files, which are the same everywhere")
def test_the_stock_client_lists_errors(wire, db, space, outside):
    import lancedb

    name = f"{space}-t"
    lancedb.connect(outside).create_table(name, rows(0, 5))
    place = outside / f"{name}.lance"
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    table = db.open_table("t", namespace_path=[space])
    write(place / "_errors", JOBS[1], 0, 2)
    write(place / "_errors", JOBS[0], 4, 2, skipped=1500)
    errors = table.function_errors()
    assert [(r.job_id, r.fragment_id, r.row_offset) for r in errors.records] == [(JOBS[0], 4, 0), (JOBS[0], 4, 1), (JOBS[1], 0, 0), (JOBS[1], 0, 1)]
    first = errors.records[0]
    assert (first.column, first.function, first.function_version, first.table_version) == ("c1", "f", "3", 7)
    assert (first.error_type, first.error_message) == ("ValueError", "bad input 0") and abs(first.created_at_millis / 1000 - time.time()) < 60
    (capped,) = errors.fragments
    assert (capped.job_id, capped.fragment_id, capped.rows_skipped, capped.rows_recorded) == (JOBS[0], 4, 1500, 2)
    assert not errors.truncated
    some = table.function_errors(limit=3)
    assert len(some.records) == 3 and some.truncated
    assert {r.job_id for r in table.function_errors(job_id=JOBS[1]).records} == {JOBS[1]}
    assert {r.column for r in table.function_errors(column="c1").records} == {"c1"}
    assert table.function_errors(column="c1", job_id=JOBS[1]).records == []


def test_values_of_computed_columns_are_not_written(db, space, tmp_path):
    """Native LanceDB refuses the same writes."""
    import lancedb

    with_values = pa.table({"id": pa.array([7], pa.int64()), "double": pa.array([None], pa.int64())})
    for table in [lancedb.connect(tmp_path).create_table("t", rows(0, 5)), db.create_table("t", rows(0, 5), namespace_path=[space])]:
        table.add_columns(computed={"double": "id * 2"})
        for write in [
            lambda: table.add(with_values),
            lambda: table.add(with_values, mode="overwrite"),
            lambda: table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(with_values),
        ]:
            version = table.version
            with pytest.raises(Exception, match="computed"):
                write()
            table.checkout_latest()
            assert table.version == version
        table.add(rows(5, 1))
        assert table.count_rows() == 6


def test_sizes_and_two_jobs_on_a_column(wire, db, space):
    path = f"{space}$t"
    table = db.create_table("t", rows(0, 10), namespace_path=[space])
    for start in (10, 20):
        table.add(rows(start, 10))
    table.add_columns(computed={"double": "id * 2", "loud": "upper(s)"})
    version = table.version
    done = fill(wire, db, path, column="double", checkpoint_size=10, task_size=20, where="id >= 0")
    # There are three versions of values, and after each run of the job, of which functions may have three, one of what is known of them.
    assert done["rows_assigned"] == 30 and version + 4 <= done["published_version"] <= version + 6
    jobs = [begin(wire, path, column="loud").json["job_id"] for _ in range(2)]
    assert sorted(finished(wire, job)["rows_assigned"] for job in jobs) == [0, 25]
    for fields in [{"task_size": 0}, {"checkpoint_size": -1}, {"task_size": "many"}]:
        assert begin(wire, path, column="double", **fields).status == 400, fields
    (told,) = [wire.post(f"/v1/transaction/{jobs[0]}/describe", {}).json]
    assert told["properties"]["progress"] == "3/3" and told["properties"]["stage"] == "backfill"
