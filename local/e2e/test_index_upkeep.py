"""Indices of all kinds are kept up to date, through histories of random changes by the service and by
native Lance: whatever happened, both find by the indices what they find without, and after maintenance
the indices cover all rows.
"""

from __future__ import annotations

import random

import lance
import numpy as np
import pyarrow as pa
import pytest
from test_maintenance import maintain

from rows import assert_same

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
ROWS, STEPS, DIMENSIONS = 2_400, 14, 16
SCALARS = {
    "id": ("BTREE", ["id = 17", "id BETWEEN 900 AND 1100", "id IN (5, 1500, 2300, 5000)", "NOT (id > 40)"]),
    "kind": ("BITMAP", ["kind = 'beta'", "kind IN ('alpha', 'gamma') AND id < 2000", "kind IS NULL", "kind != 'zeta'"]),
    "labels": ("LABEL_LIST", ["array_has(labels, 'beta')", "array_has_all(labels, ['alpha', 'zeta'])"]),
    "note": ("NGRAM", ["contains(note, 'note 7')", "contains(note, 'e 99')"]),
    "time": ("ZONEMAP", ["time < 300", "time = 5005"]),
    "code": ("BLOOMFILTER", ["code = 'c17'", "code IN ('c5', 'c5001')"]),
}
WIDE = "wide IS NOT NULL"  # true of every row; its column is so large that the service asks indices before it reads columns
VECTORS = {"IVF_FLAT": {}, "IVF_PQ": {"num_sub_vectors": 4}, "IVF_SQ": {}, "IVF_HNSW_SQ": {}, "IVF_HNSW_PQ": {"num_sub_vectors": 4}}


def rows(start: int, count: int, seed: int) -> pa.Table:
    chance, at = np.random.default_rng([start, seed]), np.arange(start, start + count)
    vectors = chance.random((count, DIMENSIONS), dtype=np.float32)
    return pa.table({
        "id": pa.array(at),
        "kind": pa.array([None if i % 11 == 0 else WORDS[(i + seed) % 5] for i in at]),
        "labels": pa.array([[WORDS[(i + seed) % 6], WORDS[i % 4], None][: i % 4] for i in at], pa.list_(pa.string())),
        "text": pa.array([f"{WORDS[i % 6]} word{(i + seed) % 50} of row{i}" for i in at]),
        "note": pa.array([f"note {(i + seed) % 1000} of many" for i in at]),
        "wide": pa.array([chance.bytes(256) for _ in at], pa.binary(256)),
        "time": pa.array(at + seed),
        "code": pa.array([f"c{i + seed}" for i in at]),
        "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS),
        "x": pa.array(chance.random(count)),
    })  # fmt: skip


class History:
    """A table with an index of each kind, and what happens to it."""

    def __init__(self, seed: int, stable: bool, vectors: str, place, path: str, wire, db, space: str):
        self.random = random.Random(seed)
        self.place, self.path, self.wire = place, path, wire
        made = lance.write_dataset(rows(0, ROWS, 0), place, max_rows_per_file=ROWS // 3, enable_stable_row_ids=stable)
        for column, (kind, _) in SCALARS.items():
            made.create_scalar_index(column, kind)
        made.create_scalar_index("text", "INVERTED", with_position=True)
        made.create_index("v", vectors, num_partitions=4, **VECTORS[vectors])
        assert wire.post(f"/v1/namespace/{space}$off/create", {"properties": {"maintenance": "off"}}).status == 200
        assert wire.post(f"/v1/table/{path}/register", {"location": str(place)}).status == 200
        self.table = db.open_table("t", namespace_path=[space, "off"])
        self.next, self.log, self.stable = ROWS, [], stable
        self.asked = set()  # the columns whose indices have answered the service's filters

    @property
    def native(self) -> lance.LanceDataset:
        return lance.dataset(self.place)

    def step(self) -> None:
        name, change = self.random.choice([
            ("we append", lambda: self.table.add(self.fresh())),
            ("native appends", lambda: lance.write_dataset(self.fresh(), self.place, mode="append")),
            ("we delete", lambda: self.table.delete(self.some())),
            ("native deletes", lambda: self.native.delete(self.some())),
            ("we update indexed columns", lambda: self.table.update(where=self.some(), values_sql={
                "kind": "'beta'", "time": "time + 10000", "note": "concat(note, ' note 7')", "code": "concat(code, 'x')", "labels": "['zeta', 'alpha']",
            })),
            ("native updates indexed columns", lambda: self.native.update({"kind": "'alpha'", "text": "concat(text, ' word7')"}, where=self.some())),
            ("we update another column", lambda: self.table.update(where=self.some(), values_sql={"x": "x + 1"})),
            ("we merge", lambda: self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(self.overlapping())),
            ("native merges", lambda: self.native.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(self.overlapping())),
            ("we compact", lambda: maintain(self.wire, self.path, compact=True)),
            ("native compacts", lambda: self.native.optimize.compact_files()),
            ("native optimizes", lambda: self.native.optimize.optimize_indices()),
            ("native appends segments", self.append_segments),
            ("we fold in", self.fold),
            ("we fold in", self.fold),
            ("we restore", lambda: self.wire.post(f"/v1/table/{self.path}/restore", {"version": self.native.version - self.random.randrange(3)})),
        ])  # fmt: skip
        self.log.append(name)
        change()

    def fresh(self) -> pa.Table:
        count = self.random.choice([3, 60, 400])
        self.next += count
        return rows(self.next - count, count, self.random.randrange(5))

    def overlapping(self) -> pa.Table:
        return rows(self.random.randrange(self.next), 90, self.random.randrange(9))

    def some(self) -> str:
        return self.random.choice([f"id % 10 = {self.random.randrange(10)}", f"id BETWEEN {(i := self.random.randrange(self.next))} AND {i + 200}"])

    def append_segments(self) -> None:
        """With stable row ids native Lance itself finds rows by their former values after this."""
        if not self.stable:
            self.native.optimize.optimize_indices(num_indices_to_merge=0)

    def fold(self) -> None:
        report = maintain(self.wire, self.path, indices=True)
        assert report["fragments_removed"] == 0
        native = self.native
        for x in self.table.list_indices():
            stats = self.table.index_stats(x.name)
            assert stats.num_unindexed_rows == 0 and stats.num_indexed_rows == native.count_rows(), (x.name, stats)
            told = native.stats.index_stats(x.name)
            assert (told["num_unindexed_rows"], told["num_indexed_rows"]) == (0, native.count_rows()), (x.name, told)

    def check(self) -> None:
        """Asks both with the indices and without. Native Lance leaves indices that cover nothing aside."""
        native = self.native
        native.validate()
        covering = {x.name for x in self.table.list_indices() if self.table.index_stats(x.name).num_indexed_rows > 0}
        for column, (_, conditions) in SCALARS.items():
            for condition in (f"({c}) AND {WIDE}" for c in conditions):
                scanner = native.scanner(columns=["id"], filter=condition)
                assert "ScalarIndexQuery" in scanner.explain_plan() or f"{column}_idx" not in covering, condition
                want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False).sort_by("id")
                assert_same(scanner.to_table().sort_by("id"), want, f"{condition}, by native Lance")
                assert_same(self.table.search().where(condition).select(["id"]).to_arrow().sort_by("id"), want, condition)
                if "index_pages=" in self.table.search().where(condition).select(["id"]).analyze_plan():
                    self.asked.add(column)
        texts = native.to_table(columns=["id", "text"]).to_pylist()
        for word in ("word7", "beta"):
            want = sorted(r["id"] for r in texts if word in r["text"].split())
            assert sorted(native.to_table(columns=["id"], full_text_query=word)["id"].to_pylist()) == want, "by native Lance"
            found = self.table.search(word, query_type="fts", fts_columns="text").limit(10**5).select(["id"]).to_arrow()
            assert sorted(found["id"].to_pylist()) == want
        vectors = native.to_table(columns=["id", "v"])
        for at in (0, len(vectors) // 2, len(vectors) - 1):
            asked = vectors["v"][at].values.to_numpy()
            query = {"column": "v", "q": asked, "k": 5, "nprobes": 4, "refine_factor": 60}
            assert "ANN" in native.scanner(nearest=query).explain_plan()
            exact = native.to_table(columns=["id"], nearest=query | {"use_index": False})["id"].to_pylist()
            assert native.to_table(columns=["id"], nearest=query)["id"].to_pylist() == exact, "by native Lance"
            found = self.table.search(asked.tolist(), vector_column_name="v").nprobes(4).refine_factor(60).limit(5).select(["id"])
            assert found.to_arrow()["id"].to_pylist() == exact


@pytest.mark.many
@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.parametrize("vectors", VECTORS)
def test_indices_follow_any_history(vectors, stable, wire, db, space, outside):
    seed = list(VECTORS).index(vectors) * 2 + stable
    history = History(seed, stable, vectors, outside / f"{space}-t.lance", f"{space}$off$t", wire, db, space)
    try:
        for _ in range(STEPS):
            history.step()
            history.check()
        history.fold()
        history.check()
        assert history.asked == set(SCALARS)
    except BaseException as e:
        e.add_note(f"history {seed}: {history.log}")
        raise
