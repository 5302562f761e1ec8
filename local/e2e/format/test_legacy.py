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
        """Both tables hold the same rows, by native Lance's reading of both and by ours."""
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


def same_rows(pair, what: str, version: int | None = None, branch: str | None = None) -> None:
    """Both tables hold the same rows in a version, of a branch or not, which the service reads."""

    def native(place: str) -> pa.Table:
        dataset = lance.dataset(place)
        if branch:
            dataset = dataset.checkout_version((branch, version))
        elif version:
            dataset = lance.dataset(place, version=version)
        return by(dataset.to_table(), "id")

    which = {k: v for k, v in {"version": version, "branch": branch}.items() if v}
    want = native(pair.theirs)
    assert_same(native(pair.ours), want, f"{what} at {which}, read by native Lance")
    assert_same(by(pair.post("query", k=0, vector=[], **which).table, "id"), want, f"{what} at {which}, read by us")
    assert pair.post("count_rows", **which).json == want.num_rows


CASTS = [("struct.a", pa.int64(), "int64"), ("struct.a", pa.int16(), "int16"), ("struct.t", pa.large_string(), "large_string")]


@pytest.mark.parametrize("path, type_, spoken", CASTS)
def test_members_are_cast_as_native_lance_casts_them(pair, path, type_, spoken):
    small = rows(0, 2500).slice(0, 200)  # for what int16 holds
    lance.write_dataset(small, pair.ours, mode="overwrite", data_storage_version="legacy", max_rows_per_file=150)
    lance.write_dataset(small, pair.theirs, mode="overwrite", data_storage_version="legacy", max_rows_per_file=150)
    before = lance.dataset(pair.ours).version
    pair.post("alter_columns", alterations=[{"path": path, "data_type": {"type": spoken}}])
    lance.dataset(pair.theirs).alter_columns({"path": path, "data_type": type_})
    same_rows(pair, "cast")
    same_rows(pair, "before", before)
    ours, whole = lance.dataset(pair.ours), lance.dataset(pair.theirs).to_table()["struct"].combine_chunks()
    ours.validate()
    for member in ("a", "t"):  # each by itself, which pylance does not find in what it has cast
        assert ours.to_table(columns=[f"struct.{member}"])[f"struct.{member}"].combine_chunks().equals(whole.field(member))
        got = pair.post("query", k=0, vector=[], columns=[f"struct.{member}"]).table
        assert got[f"struct.{member}"].combine_chunks().equals(whole.field(member))
    more = ours.to_table(limit=5).set_column(0, "id", pa.array(range(90_000, 90_005), pa.int64()))
    assert pair.wire.upload(f"{pair.path}/insert", more).status == 200
    lance.write_dataset(more, pair.theirs, mode="append", data_storage_version="legacy")
    pair.post("update", updates=[["text", "'new'"]], predicate="id % 10 = 3")
    lance.dataset(pair.theirs).update({"text": "'new'"}, where="id % 10 = 3")
    same_rows(pair, "cast and changed")


def test_history_of_legacy_tables(pair):
    """Versions, restores, tags, branches, clones and cleanups, compared with those of pylance."""
    pair.post("update", updates=[["text", "'new'"]], predicate="id % 10 = 3")
    lance.dataset(pair.theirs).update({"text": "'new'"}, where="id % 10 = 3")
    pair.post("add_columns", new_columns=[{"name": "double", "expression": "id * 2"}])
    lance.dataset(pair.theirs).add_columns({"double": "id * 2"})
    pair.post("drop_columns", columns=["struct.a", "list"])
    lance.dataset(pair.theirs).drop_columns(["struct.a", "list"])
    for version in (3, 1, 4, 2):
        same_rows(pair, "changed", version)
    pair.post("tags/create", tag="second", version=2)
    lance.dataset(pair.theirs).tags.create("second", 2)
    assert lance.dataset(pair.ours).checkout_version("second").to_table().equals(lance.dataset(pair.ours, version=2).to_table())
    pair.post("restore", version=2)
    lance.dataset(pair.theirs, version=2).restore()
    same_rows(pair, "restored")

    pair.post("branches/create", name="b", from_version=3)
    lance.dataset(pair.theirs).create_branch("b", 3)
    fresh = lance.dataset(pair.theirs, version=3).to_table(limit=9).set_column(0, "id", pa.array(range(50_000, 50_009), pa.int64()))
    answer = pair.wire.upload(f"{pair.path}/insert?branch=b", fresh)
    assert answer.status == 200, answer.body
    lance.write_dataset(fresh, lance.dataset(pair.theirs).checkout_version(("b", None)), mode="append", data_storage_version="legacy")
    pair.post("delete", branch="b", predicate="id % 4 = 1")
    lance.dataset(pair.theirs).checkout_version(("b", None)).delete("id % 4 = 1")
    same_rows(pair, "branched", branch="b")
    same_rows(pair, "branched")

    clone = Pair.__new__(Pair)
    clone.wire, clone.path = pair.wire, f"{pair.path}-clone"
    clone.ours, clone.theirs = (place.replace(".lance", "-clone.lance") for place in (pair.ours, pair.theirs))
    for source, place in ((pair.ours, clone.ours), (pair.theirs, clone.theirs)):
        lance.dataset(source).shallow_clone(place, 3)
    clone.post("register", location=clone.ours)
    same_rows(clone, "cloned")
    clone.post("update", updates=[["number", "7"]], predicate="id < 100")
    lance.dataset(clone.theirs).update({"number": "7"}, where="id < 100")
    assert clone.wire.upload(f"{clone.path}/insert", fresh).status == 200
    lance.write_dataset(fresh, clone.theirs, mode="append", data_storage_version="legacy")
    same_rows(clone, "a clone, changed")
    same_rows(pair, "its source")

    told = pair.post("describe").json["location"]  # pylance compares this with what branches say, letter by letter
    lance.dataset(told).cleanup_old_versions(retain_versions=1, error_if_tagged_old_versions=False)
    lance.dataset(pair.theirs).cleanup_old_versions(retain_versions=1, error_if_tagged_old_versions=False)
    kept = [v["version"] for v in lance.dataset(pair.theirs).versions()]
    assert [v["version"] for v in lance.dataset(pair.ours).versions()] == kept
    assert sorted(v["version"] for v in pair.post("version/list").json["versions"]) == sorted(kept)
    for version in kept:
        same_rows(pair, "cleaned up", version)
    same_rows(pair, "cleaned up", branch="b")
    gone = next(v for v in range(1, max(kept)) if v not in kept)
    assert pair.wire.post(f"{pair.path}/query", {"k": 0, "vector": [], "version": gone}).status == 404
    for place in (clone.ours, clone.theirs):
        shutil.rmtree(place)

