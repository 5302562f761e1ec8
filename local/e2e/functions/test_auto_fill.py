"""Computed columns that are filled without a request: declared as LanceDB's clients declare them from 0.41 on."""

from __future__ import annotations

import time

import lancedb
import pyarrow as pa
import pytest
from process import Server
from wire import Wire

SOON = {"TILTYARD_AUTO_REFRESH": "100ms", "TILTYARD_AUTO_REFRESH_COOLDOWN": "10ms"}
WAIT_SECONDS = 120


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("fills") / "root", settings=SOON) as server:
        yield server


@pytest.fixture
def table(serving):
    db = lancedb.connect("db://e2e", api_key=serving.token, host_override=serving.url)
    made = db.create_table("t", pa.table({"id": pa.array([0, 1], pa.int64()), "text": ["a", "b"]}))
    yield made
    db.drop_table("t")


def function(wire: Wire, name: str, column: str, out: str) -> dict:
    """The declaration of a column that a built-in function of texts computes."""
    told = wire.post(f"/v1/function/__builtin${name}/describe", {"version": "1"}).json
    reference = {key: told[key] for key in ("name", "namespace_path", "object_id", "location", "version")}
    return {
        "application": {
            "function": {**reference, "manifest_digest": told["image"]["manifest_digest"]},
            "inputs": [{"parameter": "text", "kind": "column", "value": {"path": column}}],
            "output": told["signature"]["output"],
        },
        "binding_metadata_version": 1,
        "input_bindings": [{"parameter": "text", "field_path": column, "arrow_type": "utf8", "nullable": True}],
        "input_schema": {"fields": [{"name": "text", "nullable": True, "type": {"type": "utf8"}}]},
        "output_schema": {"fields": [{"name": out, "nullable": True, "type": {"type": "utf8"}}]},
        "outputs": [{"result_field": "$value", "output_name": out, "output_ordinal": 0}],
    }


def test_columns_are_filled_when_their_inputs_change(serving, table):
    wire = Wire(serving.url, serving.token)
    path = "/v1/table/t/add_columns/"
    for column in (
        {"new_columns": [{"name": "double", "computed": "id * 2"}], "auto_refresh_enabled": True},
        {"new_columns": [{"name": "four", "computed": "double * 2"}], "auto_refresh_interval_seconds": 1},
        {"new_columns": [{"name": "still", "computed": "id * 3"}], "auto_refresh_enabled": False},
        {"new_columns": [{"name": "old", "computed": "id * 4"}]},
        {"new_columns": [{"name": "digest", "all_null": True}], "function": function(wire, "sha256", "text", "digest"), "auto_refresh_enabled": True},
    ):
        answer = wire.post(path, column)
        assert answer.status == 200, answer.json
    wanted(table, {0: 0, 1: 4})
    table.add([{"id": 5, "text": "c"}])
    wanted(table, {0: 0, 1: 4, 5: 20})
    table.update(where="id = 1", values={"id": 2})
    wanted(table, {0: 0, 2: 8, 5: 20})
    jobs = wire.post("/v1/jobs/list", {}).json["jobs"]
    assert {job["job_type"] for job in jobs} == {"refresh_column"}
    metadata = table.schema.field("four").metadata
    assert metadata[b"computed_column.auto_refresh_enabled"] == b"true" and metadata[b"computed_column.auto_refresh_interval_seconds"] == b"1"


def wanted(table, four: dict[int, int]) -> None:
    """Waits until the columns have their values."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        rows = table.search().to_list()
        if {r["id"]: r["four"] for r in rows} == four and all(r["double"] == 2 * r["id"] and r["digest"] for r in rows):
            break
        assert time.monotonic() < end, rows
        time.sleep(0.1)
    assert all(r["still"] is None and r["old"] is None for r in rows), rows


@pytest.mark.parametrize(
    "request_body",
    [
        {"new_columns": [{"name": "x", "expression": "id"}], "auto_refresh_enabled": True},
        {"new_columns": [{"name": "x", "computed": "id"}], "auto_refresh_interval_seconds": 0},
        {"new_columns": [{"name": "x", "computed": "id"}], "auto_refresh_interval_seconds": 2**64 - 1},
        {"new_columns": [{"name": "x", "computed": "id"}], "auto_refresh_interval_seconds": -1},
        {"new_columns": [{"name": "x", "computed": "id"}], "auto_refresh_enabled": "yes"},
    ],
)
def test_schedules_that_cannot_be_are_refused(serving, table, request_body):
    answer = Wire(serving.url, serving.token).post("/v1/table/t/add_columns/", request_body)
    assert answer.status == 400 and "auto_refresh" in str(answer.json), answer.json
