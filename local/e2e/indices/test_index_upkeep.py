"""Indices of all kinds are kept up to date, through histories of random changes by the service and by
native Lance, to a table, a branch and a shallow clone of it: whatever happened, both find by the indices what
they find without, and after maintenance the indices cover all rows.

    E2E_HISTORIES=20 pytest test_index_upkeep.py     with so many histories of each kind, one by default
"""

from __future__ import annotations

import os
import random

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.indices import IndexConfig
from test_maintenance import maintain, until

from native import Refused, native_calls
from rows import assert_same

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
ROWS, STEPS, DIMENSIONS = 2_400, 14, 16
HISTORIES = int(os.environ.get("E2E_HISTORIES", "1"))
BRANCH = "side"
SCALARS = {
    "id": ("BTREE", ["id = 17", "id BETWEEN 900 AND 1100", "id IN (5, 1500, 2300, 5000)", "NOT (id > 40)"]),
    "kind": ("BITMAP", ["kind = 'beta'", "kind IN ('alpha', 'gamma') AND id < 2000", "kind IS NULL", "kind != 'zeta'"]),
    "labels": ("LABEL_LIST", ["array_has(labels, 'beta')", "array_has_all(labels, ['alpha', 'zeta'])"]),
    "note": ("NGRAM", ["contains(note, 'note 7')", "contains(note, 'e 99')"]),
    "time": ("ZONEMAP", ["time < 300", "time = 5005"]),
    "code": ("BLOOMFILTER", ["code = 'c17'", "code IN ('c5', 'c5001')"]),
    "part": ("FM", ["contains(part, 'rt7.')", "contains(part, '.99')"]),
}
WIDE = "wide IS NOT NULL"  # true of every row; its column is so large that the service asks indices before it reads columns
VECTORS = {"IVF_FLAT": {}, "IVF_PQ": {"num_sub_vectors": 4}, "IVF_SQ": {}, "IVF_HNSW_SQ": {}, "IVF_HNSW_PQ": {"num_sub_vectors": 4}, "IVF_RQ": {}}


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
        "part": pa.array([f"part{(i + seed) % 77}.{i % 100}" for i in at]),
        "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS),
        "x": pa.array(chance.random(count)),
    })  # fmt: skip


class Side:
    """A table, a branch of it or a clone of it."""

    def __init__(self, name: str, place, table, branch: str | None = None):
        self.name, self.place, self.table, self.branch = name, place, table, branch

    @property
    def native(self) -> lance.LanceDataset:
        whole = lance.dataset(self.place)
        return whole.checkout_version((self.branch, None)) if self.branch else whole

    @property
    def deferred(self) -> bool:
        """Whether native Lance has compacted it and left the indices as they were."""
        return "__lance_frag_reuse" in {x["name"] for x in self.native.list_indices()}


class History:
    """A table with an index of each kind, and what happens to it."""

    def __init__(self, seed: int, stable: bool, vectors: str, place, path: str, wire, db, space: str):
        self.random = random.Random(seed)
        self.path, self.wire, self.db, self.space = path, wire, db, space
        made = lance.write_dataset(rows(0, ROWS, 0), place, max_rows_per_file=ROWS // 3, enable_stable_row_ids=stable)
        for column, (kind, _) in SCALARS.items():
            made.create_scalar_index(column, IndexConfig("fm", {}) if kind == "FM" else kind)
        made.create_scalar_index("text", "INVERTED", with_position=True)
        made.create_index("v", vectors, num_partitions=4, **VECTORS[vectors])
        assert wire.post(f"/v1/namespace/{space}$off/create", {"properties": {"maintenance": "off"}}).status == 200
        self.main = self.registered("t", place)
        self.sides = [self.main]
        self.next, self.log, self.stable = ROWS, [], stable
        self.asked = set()  # the columns whose indices have answered the service's filters

    def registered(self, name: str, place) -> Side:
        assert self.wire.post(f"/v1/table/{self.space}$off${name}/register", {"location": str(place)}).status == 200
        return Side(f"{self.space}$off${name}", place, self.db.open_table(name, namespace_path=[self.space, "off"]))

    def step(self) -> None:
        """Changes one side, and compares it."""
        side = self.random.choice([self.main, *self.sides])
        name, change = self.random.choice(self.changes(side) + (self.others(side) if side is self.main else []))
        self.log.append(f"{name} ({side.branch or side.name})")
        try:
            with native_calls():
                change()
        except Refused as refused:
            self.log.append(f"  refused: {refused}")
            assert name == "native compacts, remap deferred", refused
        self.check(side)

    def changes(self, side: Side) -> list:
        return [
            ("we append", lambda: side.table.add(self.fresh())),
            ("native appends", lambda: side.native.insert(self.fresh())),
            ("we delete", lambda: side.table.delete(self.some())),
            ("native deletes", lambda: side.native.delete(self.some())),
            ("we update indexed columns", lambda: side.table.update(where=self.some(), values_sql={
                "kind": "'beta'", "time": "time + 10000", "note": "concat(note, ' note 7')", "code": "concat(code, 'x')", "labels": "['zeta', 'alpha']",
                "part": "concat(part, ' part7.')",
            })),
            ("native updates indexed columns", lambda: side.native.update({"kind": "'alpha'", "text": "concat(text, ' word7')"}, where=self.some())),
            ("we update another column", lambda: side.table.update(where=self.some(), values_sql={"x": "x + 1"})),
            ("we merge", lambda: side.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(self.overlapping())),
            ("native merges", lambda: side.native.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(self.overlapping())),
            ("native compacts", lambda: self.compact(side)),
            ("native optimizes", lambda: side.native.optimize.optimize_indices()),
        ]  # fmt: skip

    def others(self, side: Side) -> list:
        return [
            ("native appends segments", self.append_segments),
            ("we compact", lambda: maintain(self.wire, side.name, compact=True)),
            ("native compacts, remap deferred", self.compact_deferred),
            ("we fold in", self.fold),
            ("we fold in", self.fold),
            ("we restore", self.restore),
            ("we drop a column and add it", self.drop_and_add),
            ("a branch is made", self.branch),
            ("native clones", self.clone),
        ]

    def fresh(self) -> pa.Table:
        count = self.random.choice([3, 60, 400])
        self.next += count
        return rows(self.next - count, count, self.random.randrange(5)).select(self.main.native.schema.names)

    def overlapping(self) -> pa.Table:
        return rows(self.random.randrange(self.next), 90, self.random.randrange(9)).select(self.main.native.schema.names)

    def some(self) -> str:
        return self.random.choice([f"id % 10 = {self.random.randrange(10)}", f"id BETWEEN {(i := self.random.randrange(self.next))} AND {i + 200}"])

    def append_segments(self) -> None:
        """With stable row ids native Lance itself finds rows by their former values after this."""
        if not self.stable:
            self.main.native.optimize.optimize_indices(num_indices_to_merge=0)

    def compact(self, side: Side) -> None:
        """Of a clone with stable row ids native Lance looks for the indices in the table after this."""
        if not self.stable or side.place == self.main.place:
            side.native.optimize.compact_files()

    def compact_deferred(self) -> None:
        self.main.native.optimize.compact_files(defer_index_remap=True)

    def restore(self) -> None:
        version = self.main.native.version - self.random.randrange(3)
        if "time" in self.main.native.checkout_version(version).schema.names:
            assert self.wire.post(f"/v1/table/{self.main.name}/restore", {"version": version}).status == 200

    def drop_and_add(self) -> None:
        """Drops a column with an index, and makes one of the same name with other values."""
        table, path = self.main.table, f"/v1/table/{self.main.name}"
        table.drop_columns(["time"])
        assert "time_idx" not in {x.name for x in table.list_indices()}
        assert self.wire.post(f"{path}/add_columns", {"new_columns": [{"name": "time", "expression": "id + 3"}]}).status == 200
        self.check(self.main)
        created = self.wire.post(f"{path}/create_scalar_index", {"column": "time", "index_type": "ZONEMAP"})
        assert created.status == 200, created.body
        until(lambda: "time_idx" in {x.name for x in table.list_indices()})

    def branch(self) -> None:
        if any(s.branch for s in self.sides):
            return
        if self.random.random() < 0.5:
            self.main.native.create_branch(BRANCH)
        else:
            assert self.wire.post(f"/v1/table/{self.main.name}/branches/create", {"name": BRANCH}).status == 200
        self.sides.append(Side(self.main.name, self.main.place, self.main.table.branches.checkout(BRANCH), BRANCH))

    def clone(self) -> None:
        if any(s.place != self.main.place for s in self.sides):
            return
        place = self.main.place.with_name(self.main.place.stem + "-clone.lance")
        self.main.native.shallow_clone(str(place), self.main.native.version)
        self.sides.append(self.registered("clone", place))

    def fold(self) -> None:
        side = self.main
        report = maintain(self.wire, side.name, indices=True)
        assert report["fragments_removed"] == 0
        native = side.native
        for x in side.table.list_indices():
            stats = side.table.index_stats(x.name)
            assert stats.num_unindexed_rows == 0 and stats.num_indexed_rows == native.count_rows(), (x.name, stats)
            told = native.stats.index_stats(x.name)
            assert (told["num_unindexed_rows"], told["num_indexed_rows"]) == (0, native.count_rows()), (x.name, told)

    def check(self, side: Side) -> None:
        """Asks both with the indices and without. Native Lance leaves indices that cover nothing aside."""
        native, table = side.native, side.table
        native.validate()
        deferred = side.deferred
        covering = {x.name for x in table.list_indices() if table.index_stats(x.name).num_indexed_rows > 0}
        for column, (kind, conditions) in SCALARS.items():
            for condition in (f"({c}) AND {WIDE}" for c in conditions):
                scanner = native.scanner(columns=["id"], filter=condition)
                want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False).sort_by("id")
                if not (deferred and kind == "FM"):  # by an index FM native Lance finds nothing after a deferred remap
                    assert "ScalarIndexQuery" in scanner.explain_plan() or f"{column}_idx" not in covering, condition
                    assert_same(scanner.to_table().sort_by("id"), want, f"{condition}, by native Lance")
                assert_same(table.search().where(condition).select(["id"]).to_arrow().sort_by("id"), want, condition)
                if "index_pages=" in table.search().where(condition).select(["id"]).analyze_plan():
                    self.asked.add(column)
        texts = native.to_table(columns=["id", "text"]).to_pylist()
        for word in ("word7", "beta"):
            want = sorted(r["id"] for r in texts if word in r["text"].split())
            assert sorted(native.to_table(columns=["id"], full_text_query=word)["id"].to_pylist()) == want, "by native Lance"
            found = table.search(word, query_type="fts", fts_columns="text").limit(10**5).select(["id"]).to_arrow()
            assert sorted(found["id"].to_pylist()) == want
        vectors = native.to_table(columns=["id", "v"])
        for at in (0, len(vectors) // 2, len(vectors) - 1):
            asked = vectors["v"][at].values.to_numpy()
            query = {"column": "v", "q": asked, "k": 5, "nprobes": 4, "refine_factor": 60}
            assert "ANN" in native.scanner(nearest=query).explain_plan() or "v_idx" not in covering
            exact = native.to_table(columns=["id"], nearest=query | {"use_index": False})["id"].to_pylist()
            assert native.to_table(columns=["id"], nearest=query)["id"].to_pylist() == exact, "by native Lance"
            found = table.search(asked.tolist(), vector_column_name="v").nprobes(4).refine_factor(60).limit(5).select(["id"])
            assert found.to_arrow()["id"].to_pylist() == exact


@pytest.mark.many
@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("history", range(HISTORIES))
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.parametrize("vectors", VECTORS)
def test_indices_follow_any_history(vectors, stable, history, wire, db, space, outside):
    seed = list(VECTORS).index(vectors) * 2 + stable + 100 * history
    made = History(seed, stable, vectors, outside / f"{space}-t.lance", f"{space}$off$t", wire, db, space)
    try:
        for _ in range(STEPS):
            made.step()
        made.fold()
        for side in made.sides:
            made.check(side)
        assert made.asked == set(SCALARS)
    except BaseException as e:
        e.add_note(f"history {seed}: {made.log}")
        raise
