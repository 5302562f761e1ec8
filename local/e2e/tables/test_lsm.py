"""The operations on a write-ahead log, which no table here has: clients learn that it is off, and
that nothing waits in it."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

ROWS = pa.table({"id": [1, 2], "x": [0.5, 1.5]})

GETS = {
    "get_lsm_write_spec": {"lsm_write_spec": None},
    "get_lsm_stats": {"lsm_stats": None},
    "flush_lsm": {},
    "compact_lsm": {},
    "get_rte_spec": {"rte_spec": None},
    "get_rte_stats": {"rte_stats": None},
    "flush_rte": {},
    "compact_rte": {},
}
SETS = {"set_lsm_write_spec": (501, 0), "unset_lsm_write_spec": (400, 13), "enable_rte": (501, 0), "disable_rte": (400, 13)}


@pytest.fixture
def table(db, space):
    return db.create_table("t", ROWS, namespace_path=[space])


def test_the_client_sees_that_the_log_is_off(table):
    assert table.get_lsm_write_spec() is None
    assert table.get_lsm_stats() is None
    table.flush_lsm()
    table.compact_lsm()
    table.checkpoint_lsm()
    with pytest.raises(Exception, match="no write specification"):
        table.unset_lsm_write_spec()
    table.merge_insert("id").when_matched_update_all().execute(pa.table({"id": [2], "x": [7.0]}))
    assert table.count_rows("x = 7") == 1


def test_the_wire_of_the_log(wire, table, space):
    for operation, want in GETS.items():
        for body in (None, {"include_generation_rows": True}):
            answer = wire.post(f"/v1/table/{space}$t/{operation}/", body)
            assert (answer.status, answer.json) == (200, want), operation
    for operation, want in SETS.items():
        answer = wire.post(f"/v1/table/{space}$t/{operation}/", {"sharding": {"mode": "unsharded"}})
        assert (answer.status, answer.json["code"]) == want, operation
    for operation in (*GETS, *SETS):
        answer = wire.post(f"/v1/table/{space}$none/{operation}/")
        assert (answer.status, answer.json["code"]) == (404, 4), operation


def test_a_table_with_the_log_of_native_lance_is_read_without_it(wire, db, space, outside):
    """What is in such a log is not known here: only its specification is read, and the table without it."""
    key = pa.field("id", pa.int64(), nullable=False, metadata={b"lance-schema:unenforced-primary-key": b"true"})
    place = str(outside / f"log-{space}.lance")
    dataset = lance.write_dataset(pa.table({"id": [1]}, schema=pa.schema([key])), place)
    dataset.initialize_mem_wal(unsharded=True)
    assert wire.post(f"/v1/table/{space}$logged/register", {"location": place}).status == 200
    refused = {*GETS, *SETS, "count_rows", "query"} - {"get_lsm_write_spec", "get_rte_spec"}
    for operation in refused:
        answer = wire.post(f"/v1/table/{space}$logged/{operation}/", {"k": 5} if operation == "query" else None)
        assert (answer.status, answer.json["code"]) == (501, 0), operation
        assert "__lance_mem_wal" in answer.json["error"]
    for flag in ("use_lsm", "use_rte"):
        assert wire.post(f"/v1/table/{space}$logged/count_rows/", {flag: False}).json == 1
    table = db.open_table("logged", namespace_path=[space])
    assert table.search().use_lsm(False).to_list() == [{"id": 1}]
    with pytest.raises(Exception, match="__lance_mem_wal"):
        table.search().to_list()
    assert "unsharded" in str(table.get_lsm_write_spec())
