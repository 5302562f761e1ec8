"""Tables of legacy data files (0.1), which pylance still writes: we read them as it does, and
change them as it does on a copy. Such files hold no nulls but empty texts and bytes."""

from __future__ import annotations

import shutil
import time

import lance
import numpy as np
import pyarrow as pa
import pytest

from rows import assert_same, by

pytestmark = pytest.mark.embedded("the engine is the same behind a gateway")

STRUCT = pa.struct([("a", pa.int32()), ("t", pa.string())])


def rows(start: int, n: int) -> pa.Table:
    """Rows of many types, a fourth of the values null."""

    def sparse(make, kind):
        return pa.array([None if i % 4 == 1 else make(i) for i in range(start, start + n)], kind)

    return pa.table(
        {
            "id": pa.array(range(start, start + n), pa.int64()),
            "flag": sparse(lambda i: i % 3 == 0, pa.bool_()),
            "number": sparse(lambda i: i, pa.int32()),
            "half": sparse(lambda i: np.float16(i), pa.float16()),
            "real": sparse(lambda i: i / 3, pa.float64()),
            "text": sparse(lambda i: "ü" * (i % 3), pa.string()),
            "bytes": sparse(lambda i: b"x" * (i % 3), pa.large_binary()),
            "when": sparse(lambda i: i, pa.timestamp("us", tz="UTC")),
            "vector": pa.array([[i, -i] for i in range(start, start + n)], pa.list_(pa.float32(), 2)),
            "list": sparse(lambda i: list(range(i % 4)), pa.list_(pa.int16())),
            "texts": sparse(lambda i: ["a"] * (i % 3), pa.large_list(pa.string())),
            "struct": sparse(lambda i: {"a": i, "t": str(i)}, STRUCT),
            "structs": sparse(lambda i: [{"a": j, "t": "t"} for j in range(i % 3)], pa.list_(STRUCT)),
            "json": sparse(lambda i: f'{{"i":{i}}}', pa.json_()),
        }
    )


class Pair:
    """A table that the service changes, and a copy that pylance changes."""

    def __init__(self, wire, outside, space, **options):
        self.wire, self.path = wire, f"/v1/table/{space}$legacy"
        self.ours, self.theirs = str(outside / f"{space}.lance"), str(outside / f"{space}.twin.lance")
        lance.write_dataset(rows(0, 2500), self.ours, data_storage_version="legacy", max_rows_per_file=1500, **options)
        shutil.copytree(self.ours, self.theirs)
        self.post("register", location=self.ours)

    def post(self, what: str, **body):
        answer = self.wire.post(f"{self.path}/{what}", body)
        assert answer.status == 200, answer.body
        return answer

    def same(self, what: str) -> None:
        """Both tables hold the same rows, by what native Lance says of both and what we say."""
        want, got = lance.dataset(self.theirs), lance.dataset(self.ours)
        got.validate()
        assert got.data_storage_version == "0.1"
        assert got.schema.equals(want.schema), what
        assert_same(by(got.to_table(), "id"), by(want.to_table(), "id"), f"{what}, read by native Lance")
        ask = {"k": 0, "vector": []}
        answer = self.post("query", **ask)
        assert_same(by(answer.table, "id"), by(want.to_table(), "id"), f"{what}, read by us")
        condition = "id % 7 = 3 AND text IS NOT NULL"
        answer = self.post("query", **ask, filter=condition, columns=["id", "struct.t", "number"])
        filtered = want.to_table(filter=condition, columns=["id", "struct.t", "number"])
        assert_same(by(answer.table, "id"), by(filtered, "id"), f"{what}, where {condition}")


@pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
def pair(wire, outside, space, request):
    made = Pair(wire, outside, space, enable_stable_row_ids=request.param)
    yield made
    for place in (made.ours, made.theirs):
        shutil.rmtree(place, ignore_errors=True)


def test_legacy_tables_are_changed_as_native_lance_changes_them(pair):
    pair.same("as written")
    pair.post("delete", predicate="id % 5 = 2 OR number IS NULL")
    lance.dataset(pair.theirs).delete("id % 5 = 2 OR number IS NULL")
    pair.same("deleted")
    assert pair.wire.upload(f"{pair.path}/insert", rows(10_000, 1100)).status == 200
    lance.write_dataset(rows(10_000, 1100), pair.theirs, mode="append", data_storage_version="legacy")
    pair.same("inserted")
    pair.post("update", updates=[["text", "'new'"], ["number", "id % 100"], ["real", "NULL"]], predicate="id % 10 = 3")
    lance.dataset(pair.theirs).update({"text": "'new'", "number": "id % 100", "real": "NULL"}, where="id % 10 = 3")
    pair.same("updated")
    fresh = pa.concat_tables([rows(100, 50), rows(20_000, 50)])
    fields = "on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    assert pair.wire.upload(f"{pair.path}/merge_insert?{fields}", fresh).status == 200
    lance.dataset(pair.theirs).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh)
    pair.same("merged")
    added = {"double": "id * 2", "loud": "upper(text)"}
    pair.post("add_columns", new_columns=[{"name": n, "expression": e} for n, e in added.items()])
    lance.dataset(pair.theirs).add_columns(added)
    pair.same("with columns added")
    begun = pair.post("maintain", compact=True)
    asked = {"job_id": begun.json["job_id"]}
    while (job := pair.wire.post("/v1/jobs/describe", asked).json)["job_state"] == "IN_PROGRESS":
        time.sleep(0.01)
    assert job["job_state"] == "DONE", job
    lance.dataset(pair.theirs).optimize.compact_files()
    pair.same("compacted")
    for place in (pair.ours, pair.theirs):  # and native Lance goes on where we stopped
        more = lance.dataset(place).to_table(limit=3).set_column(0, "id", pa.array([7_000_000, 7_000_001, 7_000_002]))
        lance.write_dataset(more, place, mode="append", data_storage_version="legacy")
        lance.dataset(place).update({"double": "1"}, where="id % 3 = 0")
        lance.dataset(place).alter_columns({"path": "loud", "name": "quiet"})
    pair.same("changed by native Lance")


def test_what_native_lance_refuses_on_legacy_tables_is_refused(pair):
    before = lance.dataset(pair.ours).version
    answer = pair.wire.upload(f"{pair.path}/insert", rows(50_000, 5).drop_columns(["text"]))
    assert answer.status == 400 and "column text" in answer.json["error"], answer.body
    with pytest.raises(OSError, match="does not contain field"):
        lance.write_dataset(rows(50_000, 5).drop_columns(["text"]), pair.theirs, mode="append", data_storage_version="legacy")
    assert lance.dataset(pair.ours).version == before
