"""Tables of legacy data files (0.1) with dictionary columns. The values of a dictionary are in
the manifest of each version; no row can have others, and each writer carries them on."""

from __future__ import annotations

import shutil
import time

import lance
import pyarrow as pa
import pytest

from rows import assert_same, by, without_dictionaries

pytestmark = pytest.mark.embedded("the engine is the same behind a gateway")

WORDS = pa.array(["red", "green", None, "blue"])  # what is empty is written as such, and read as null
CODES = pa.array([100, 200, 300], pa.int64())


def rows(start: int, n: int, words: pa.Array = WORDS, codes: pa.Array = CODES) -> pa.Table:
    """Rows with dictionaries of texts and of numbers, in structs, too."""
    ids = range(start, start + n)
    word = pa.DictionaryArray.from_arrays(pa.array([i % len(words) for i in ids], pa.int16()), words)
    code = pa.DictionaryArray.from_arrays(pa.array([i % len(codes) for i in ids], pa.uint8()), codes)
    both = pa.StructArray.from_arrays([word, pa.array(ids, pa.int32())], names=["w", "x"])
    text = pa.array([f"t{i}" for i in ids])
    return pa.table({"id": pa.array(ids, pa.int64()), "text": text, "word": word, "code": code, "both": both})


def plain(table: pa.Table) -> pa.Table:
    return by(without_dictionaries(table), "id")


class Pair:
    """A table that the service changes, and a copy that pylance changes."""

    def __init__(self, wire, outside, space, **options):
        self.wire, self.path = wire, f"/v1/table/{space}$words"
        self.ours, self.theirs = str(outside / f"{space}.lance"), str(outside / f"{space}.twin.lance")
        lance.write_dataset(rows(0, 2500), self.ours, data_storage_version="legacy", max_rows_per_file=1500, **options)
        shutil.copytree(self.ours, self.theirs)
        self.post("register", location=self.ours)

    def post(self, what: str, **body):
        answer = self.wire.post(f"{self.path}/{what}", body)
        assert answer.status == 200, answer.body
        return answer

    def same(self, what: str, version: int | None = None, branch: str | None = None) -> None:
        """Both tables hold the same rows, by native Lance's reading of both and by ours."""

        def native(place: str):
            dataset = lance.dataset(place)
            return dataset.checkout_version((branch, version)) if branch else lance.dataset(place, version=version)

        want, got = native(self.theirs), native(self.ours)
        got.validate()
        assert got.data_storage_version == "0.1"
        assert got.schema.equals(want.schema), what
        which = {k: v for k, v in {"version": version, "branch": branch}.items() if v}
        assert_same(plain(got.to_table()), plain(want.to_table()), f"{what} at {which}, read by native Lance")
        answer = self.post("query", k=0, vector=[], **which)
        assert_same(plain(answer.table), plain(want.to_table()), f"{what} at {which}, read by us")


@pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
def pair(wire, outside, space, request):
    made = Pair(wire, outside, space, enable_stable_row_ids=request.param)
    yield made
    for place in (made.ours, made.theirs):
        shutil.rmtree(place, ignore_errors=True)


def test_tables_with_dictionaries_are_changed_as_native_lance_changes_them(pair):
    pair.same("as written")
    pair.post("delete", predicate="id % 5 = 2 OR word = 'blue'")
    lance.dataset(pair.theirs).delete("id % 5 = 2 OR word = 'blue'")
    pair.same("deleted")
    assert pair.wire.upload(f"{pair.path}/insert", rows(10_000, 1100)).status == 200
    lance.write_dataset(rows(10_000, 1100), pair.theirs, mode="append")
    pair.same("inserted")
    pair.post("update", updates=[["text", "'new'"]], predicate="id % 10 = 3")
    lance.dataset(pair.theirs).update({"text": "'new'"}, where="id % 10 = 3")
    pair.same("updated")
    fresh = pa.concat_tables([rows(100, 50), rows(20_000, 50)])
    fields = "on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    assert pair.wire.upload(f"{pair.path}/merge_insert?{fields}", fresh).status == 200
    lance.dataset(pair.theirs).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh)
    pair.same("merged")
    some = rows(200, 50).select(["id", "text"])
    assert pair.wire.upload(f"{pair.path}/merge_insert?on=id&when_matched_update_all=true", some).status == 200
    lance.dataset(pair.theirs).merge_insert("id").when_matched_update_all().execute(some)
    pair.same("merged in part")
    pair.post("add_columns", new_columns=[{"name": "double", "expression": "id * 2"}])
    lance.dataset(pair.theirs).add_columns({"double": "id * 2"})
    pair.post("alter_columns", alterations=[{"path": "word", "rename": "colour"}])
    lance.dataset(pair.theirs).alter_columns({"path": "word", "name": "colour"})
    pair.same("with columns added and renamed")
    pair.post("drop_columns", columns=["code"])
    lance.dataset(pair.theirs).drop_columns(["code"])
    pair.same("with a column dropped")
    begun = pair.post("maintain", compact=True)
    asked = {"job_id": begun.json["job_id"]}
    while (job := pair.wire.post("/v1/jobs/describe", asked).json)["job_state"] == "IN_PROGRESS":
        time.sleep(0.01)
    assert job["job_state"] == "DONE", job
    lance.dataset(pair.theirs).optimize.compact_files()
    pair.same("compacted")
    pair.post("alter_columns", alterations=[{"path": "colour", "data_type": {"type": "string"}}])
    lance.dataset(pair.theirs).alter_columns({"path": "colour", "data_type": pa.string()})
    pair.same("cast")
    for place in (pair.ours, pair.theirs):  # and native Lance goes on where we stopped
        more = lance.dataset(place).to_table(limit=3).set_column(0, "id", pa.array([7_000_000, 7_000_001, 7_000_002]))
        lance.write_dataset(more, place, mode="append")
        lance.dataset(place).update({"double": "1"}, where="id % 3 = 0")
        lance.dataset(place).delete("id % 11 = 0")
    pair.same("changed by native Lance")


OTHERS = {
    "in another order": pa.array(["green", "red", None, "blue"]),
    "with less values": pa.array(["red", "green"]),
    "with more values": pa.array(["red", "green", None, "blue", "pink"]),
    "with an empty text in place of null": pa.array(["red", "green", "", "blue"]),
}


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS)
def test_rows_with_another_dictionary_are_refused_as_native_lance_refuses_them(pair, words):
    before = lance.dataset(pair.ours).version
    answer = pair.wire.upload(f"{pair.path}/insert", rows(50_000, 5, words))
    assert answer.status == 400 and "word" in answer.json["error"] and "dictionary" in answer.json["error"], answer.body
    with pytest.raises(OSError, match="dictionary for `word` did not match"):
        lance.write_dataset(rows(50_000, 5, words), pair.theirs, mode="append")
    assert lance.dataset(pair.ours).version == before
    pair.same("refused")


def test_values_are_looked_up_in_the_dictionary_of_the_table(pair):
    """Where native Lance stores the indices of another dictionary, and so other values."""
    pair.post("update", updates=[["word", "'blue'"], ["code", "300"]], predicate="id < 10")
    got = plain(lance.dataset(pair.ours).to_table(filter="id < 10"))
    assert got["word"].to_pylist() == ["blue"] * 10 and got["code"].to_pylist() == [300] * 10
    assert got["both"].to_pylist() == plain(rows(0, 10))["both"].to_pylist()
    pair.post("update", updates=[["word", "NULL"]], predicate="id = 4")
    turned = rows(20, 5, OTHERS["in another order"], pa.array([300, 100], pa.int64()))
    fields = "on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    assert pair.wire.upload(f"{pair.path}/merge_insert?{fields}", turned).status == 200
    for got in (lance.dataset(pair.ours).to_table(), pair.post("query", k=0, vector=[]).table):
        got = plain(got)
        assert_same(got.slice(20, 5), plain(turned))
        assert got["word"][4].as_py() is None
    before = lance.dataset(pair.ours).version
    answers = [
        pair.wire.post(f"{pair.path}/update", {"updates": [["word", "'pink'"]], "predicate": "id < 10"}),
        pair.wire.post(f"{pair.path}/update", {"updates": [["code", "id"]], "predicate": "id < 10"}),
        pair.wire.upload(f"{pair.path}/merge_insert?{fields}", rows(20, 5, pa.array(["red", "pink"]))),
    ]
    for answer in answers:
        assert answer.status == 400 and "dictionary" in answer.json["error"], answer.body
    assert lance.dataset(pair.ours).version == before


def test_tables_that_are_written_anew_have_the_dictionaries_of_their_first_rows(pair):
    words, codes = pa.array(["pink", "", "grey"]), pa.array([7, 8], pa.int64())
    fresh = rows(0, 2000, words, codes)
    assert pair.wire.upload(f"{pair.path}/insert?mode=overwrite", fresh).status == 200
    lance.write_dataset(fresh, pair.theirs, mode="overwrite", data_storage_version="legacy")
    pair.same("written anew")
    pair.same("before", version=1)
    before = lance.dataset(pair.ours).version
    for other in (rows(5000, 9), fresh.slice(0, 9)):  # the dictionary that was, and the empty text that is null
        answer = pair.wire.upload(f"{pair.path}/insert", other)
        assert answer.status == 400 and "dictionary" in answer.json["error"], answer.body
    mixed = pa.Table.from_batches(fresh.to_batches() + rows(5000, 9).to_batches())
    answer = pair.wire.upload(f"{pair.path}/insert?mode=overwrite", mixed)
    assert answer.status == 400 and "dictionary" in answer.json["error"], answer.body
    assert lance.dataset(pair.ours).version == before
    more = rows(5000, 9, pa.array(["pink", None, "grey"]), codes)
    assert pair.wire.upload(f"{pair.path}/insert", more).status == 200
    lance.write_dataset(more, pair.theirs, mode="append")
    lance.dataset(pair.ours).update({"text": "'x'"}, where="id % 2 = 0")
    lance.dataset(pair.theirs).update({"text": "'x'"}, where="id % 2 = 0")
    pair.same("grown")


def test_history_of_tables_with_dictionaries(pair):
    """Versions, tags, branches, clones and cleanups, compared with those of pylance, and
    restores, which pylance refuses."""
    pair.post("update", updates=[["text", "'new'"]], predicate="id % 10 = 3")
    lance.dataset(pair.theirs).update({"text": "'new'"}, where="id % 10 = 3")
    pair.post("add_columns", new_columns=[{"name": "double", "expression": "id * 2"}])
    lance.dataset(pair.theirs).add_columns({"double": "id * 2"})
    pair.post("drop_columns", columns=["word"])
    lance.dataset(pair.theirs).drop_columns(["word"])
    for version in (3, 1, 4, 2):
        pair.same("changed", version)
    pair.post("tags/create", tag="second", version=2)
    lance.dataset(pair.theirs).tags.create("second", 2)
    assert lance.dataset(pair.ours).checkout_version("second").to_table().equals(lance.dataset(pair.ours, version=2).to_table())

    pair.post("branches/create", name="b", from_version=3)
    lance.dataset(pair.theirs).create_branch("b", 3)
    fresh = lance.dataset(pair.theirs, version=3).to_table(limit=9).set_column(0, "id", pa.array(range(50_000, 50_009), pa.int64()))
    answer = pair.wire.upload(f"{pair.path}/insert?branch=b", fresh)
    assert answer.status == 200, answer.body
    lance.write_dataset(fresh, lance.dataset(pair.theirs).checkout_version(("b", None)), mode="append")
    pair.post("delete", branch="b", predicate="id % 4 = 1")
    lance.dataset(pair.theirs).checkout_version(("b", None)).delete("id % 4 = 1")
    pair.same("branched", branch="b")
    pair.same("branched")

    clone = Pair.__new__(Pair)
    clone.wire, clone.path = pair.wire, f"{pair.path}-clone"
    clone.ours, clone.theirs = (place.replace(".lance", "-clone.lance") for place in (pair.ours, pair.theirs))
    for source, place in ((pair.ours, clone.ours), (pair.theirs, clone.theirs)):
        lance.dataset(source).shallow_clone(place, 3)
    clone.post("register", location=clone.ours)
    clone.same("cloned")
    clone.post("update", updates=[["text", "'7'"]], predicate="id < 100")
    lance.dataset(clone.theirs).update({"text": "'7'"}, where="id < 100")
    assert clone.wire.upload(f"{clone.path}/insert", fresh).status == 200
    lance.write_dataset(fresh, clone.theirs, mode="append")
    clone.same("a clone, changed")
    pair.same("its source")

    own = clone.wire.post(f"{pair.path}-own/clone", {"source_location": pair.ours, "source_version": 3})
    assert own.status == 200, own.body
    place = clone.wire.post(f"{pair.path}-own/describe", {}).json["location"]
    lance.write_dataset(fresh, place, mode="append")
    assert_same(plain(lance.dataset(place).to_table()), plain(clone.wire.post(f"{pair.path}-own/query", {"k": 0, "vector": []}).table), "our clone")
    assert lance.dataset(place).count_rows() == lance.dataset(pair.ours, version=3).count_rows() + fresh.num_rows

    wanted = plain(lance.dataset(pair.theirs, version=2).to_table())
    pair.post("restore", version=2)
    with pytest.raises(OSError, match="missing dictionary values"):
        lance.dataset(pair.theirs, version=2).restore()
    assert_same(plain(lance.dataset(pair.ours).to_table()), wanted, "restored, read by native Lance")
    assert_same(plain(pair.post("query", k=0, vector=[]).table), wanted, "restored, read by us")
    lance.write_dataset(rows(90_000, 5), pair.ours, mode="append")  # with the dictionaries that are back
    lance.dataset(pair.ours).update({"text": "'after'"}, where="id % 3 = 0")
    assert lance.dataset(pair.ours).count_rows("word = 'green' AND id >= 90000") == 1

    told = pair.post("describe").json["location"]  # pylance compares this with what branches say, letter by letter
    lance.dataset(told).cleanup_old_versions(retain_versions=1, error_if_tagged_old_versions=False)
    kept = [v["version"] for v in lance.dataset(pair.ours).versions()]
    for version in kept:
        native = plain(lance.dataset(pair.ours, version=version).to_table())
        assert_same(plain(pair.post("query", k=0, vector=[], version=version).table), native, f"cleaned up, version {version}")
    pair.same("cleaned up", branch="b")
    for place in (clone.ours, clone.theirs):
        shutil.rmtree(place)
