"""The events and the description of jobs, as LanceDB's client asks for them."""

from __future__ import annotations

import pyarrow as pa
import pytest
from test_refresh_column import begin, finished_badly, rows

COLUMNS = {
    "job_id": pa.string(), "created_at_millis": pa.int64(), "state": pa.string(), "updated_by": pa.string(), "emitted_from": pa.string(),
    "emitted_by": pa.string(), "claim_entity": pa.string(), "rows_processed": pa.int64(), "message": pa.string(),
}  # fmt: skip


def test_events_of_a_refresh(db, space):
    table = db.create_table("t", rows(0, 50), namespace_path=[space])
    table.add_columns(computed={"double": "id * 2"})
    job = table.refresh_column_async("double")
    job.wait()
    events = job.events()
    assert dict(zip(events.schema.names, events.schema.types, strict=True)) == COLUMNS
    told = events.to_pylist()
    assert [e["state"] for e in told] == ["created", "claim", "stage_begin", "claim_complete", "stage_end", "done"]
    assert {e["job_id"] for e in told} == {job.id} and {e["claim_entity"] for e in told} == {"job"}
    assert told == sorted(told, key=lambda e: e["created_at_millis"])
    assert [e["updated_by"] for e in told] == ["client"] + 5 * ["worker"] and told[0]["emitted_by"] is None
    assert len({e["emitted_by"] for e in told[1:]}) == 1 and told[3]["rows_processed"] == 50
    assert job.events(filter="state = 'claim_complete'").to_pylist() == told[3:4]
    assert job.events(filter="updated_by = 'client' OR emitted_from = 'backfill' AND emitted_by IS NULL").to_pylist() == told[:1]
    assert job.events(filter="claim_entity LIKE 'job%' AND emitted_by IS NOT NULL", limit=2).to_pylist() == told[1:3]
    assert job.events(limit=2).to_pylist() == told[:2]
    none = job.events(filter="state = 'nope'")
    assert none.num_rows == 0 and none.schema == events.schema
    assert job.events(limit=0).schema == events.schema
    for wrong in ["state", "nope = 1", "state = ", "rows_processed > 1", "state = 'a' AND upper(state) > 3 + 'b'"]:
        with pytest.raises(Exception, match="filter"):
            job.events(filter=wrong)
    job.refresh()
    assert job.spec == {"column": "double"} and job.job_type == "refresh_column" and job.result["rows_assigned"] == 50


def test_events_of_a_failure_and_of_unknown_jobs(wire, db, space):
    table = db.create_table("t", rows(0, 10), namespace_path=[space])
    table.add_columns(computed={"bad": "10 / (id - 3)"})
    failed = finished_badly(wire, begin(wire, f"{space}$t", column="bad").json["job_id"])
    assert failed["failure"]["phase"] == "backfill" and failed["failure"]["retryable"] is False
    job = table.refresh_column_async("bad")
    with pytest.raises(Exception, match="zero"):
        job.wait()
    told = job.events().to_pylist()
    assert [e["state"] for e in told] == ["created", "claim", "stage_begin", "claim_failed", "failed"]
    assert "zero" in told[-1]["message"].lower() and told[-1]["message"] == told[-2]["message"]
    for status, body in [(404, {"job_id": "nope"}), (404, {"job_id": "0" * 32}), (400, {}), (400, {"job_id": job.id, "limit": -1}), (400, {"job_id": job.id, "filter": 7})]:
        refused = wire.post("/v1/jobs/query_events", body)
        assert refused.status == status, (body, refused.body)
