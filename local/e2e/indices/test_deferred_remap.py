"""Compactions of native Lance that leave the indices as they are and note where the rows have gone: the server
follows the rows, and its maintenance brings the indices up to date, so that it can compact the table again.
"""

from __future__ import annotations

import lance
import numpy as np
import pytest
from test_hostile_indices import FILTERS, NEAR, ROWS, TEXTS, VECTORS, filtered, query_of, searched
from test_maintenance import maintain

from rows import assert_same


class Deferred:
    def __init__(self, make, outside, space, wire):
        self.place, self.wire = outside / f"{space}-{make.__name__}.lance", wire
        make(self.place, False)
        self.path = f"{space}$off${make.__name__}"
        assert wire.post(f"/v1/namespace/{space}$off/create", {"properties": {"maintenance": "off"}}).status == 200
        assert wire.post(f"/v1/table/{self.path}/register", {"location": str(self.place)}).status == 200
        self.columns = [*FILTERS] if make is filtered else [*TEXTS, *VECTORS]

    @property
    def native(self) -> lance.LanceDataset:
        return lance.dataset(self.place)

    def compact(self) -> None:
        assert self.native.optimize.compact_files(defer_index_remap=True).fragments_removed > 1
        assert "__lance_frag_reuse" in {x["name"] for x in self.native.list_indices()}

    def append(self) -> None:
        """Appends rows that the table has, under other ids."""
        some = self.native.to_table(offset=100, limit=700)
        ids = some["id"].to_numpy() + 1_000_000 + self.native.version * 10_000
        lance.write_dataset(some.set_column(0, "id", [ids]), self.place, mode="append", max_rows_per_file=300)

    def unindexed(self) -> int:
        stats = [self.wire.post(f"/v1/table/{self.path}/index/{c}_idx/stats", {}).json for c in self.columns]
        return sum(s["num_unindexed_rows"] for s in stats)

    def check(self, after: str) -> None:
        for column in self.columns:
            told, query = f"{column} {after}", query_of(column)
            answer = self.wire.post(f"/v1/table/{self.path}/query", query | ({"refine_factor": 100, "nprobes": 9} if column in VECTORS else {}))
            assert answer.status == 200, f"{told}: {answer.body}"
            got = answer.table["id"].to_pylist()
            plan = self.wire.post(f"/v1/table/{self.path}/analyze_plan", query).json
            assert "index_not_used" not in plan and "index" in plan, f"{told}: {plan}"
            if column in FILTERS:
                assert "index_pages=" in plan, f"{told}: {plan}"
                want = self.native.to_table(columns=["id"], filter=query["filter"], use_scalar_index=False)
                assert got == want["id"].to_pylist(), told
                if column != "texts":  # by an index FM native Lance finds nothing after a deferred remap
                    assert_same(self.native.to_table(columns=["id"], filter=query["filter"]), want, f"{told}, by native Lance")
            elif column in TEXTS:
                texts = self.native.to_table(columns=["id", column]).to_pylist()
                documents = [(r["id"], text) for r in texts for text in (r[column] if column == "elements" else [r[column]])]
                want = [id for id, text in documents if {"word7", "word31"} & set((text or "").split())]
                assert sorted(got) == sorted(want)[: len(got)] if len(want) > NEAR else sorted(got) == sorted(want), told
            else:
                nearest = {"column": column, "q": np.full(16, 0.1, np.float32), "k": 10, "use_index": False}
                want = self.native.to_table(columns=["id", "_distance"], nearest=nearest)["_distance"].to_numpy()
                values = self.native.to_table(columns=["id", column]).to_pydict()
                at = {id: np.sum((np.array(v, np.float32) - 0.1) ** 2) for id, v in zip(values["id"], values[column], strict=True)}
                assert np.allclose([at[i] for i in got], want, rtol=1e-4), told


@pytest.mark.slow
@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("make", [filtered, searched], ids=["filters", "searches"])
def test_indices_whose_remap_is_deferred(make, wire, space, outside):
    t = Deferred(make, outside, space, wire)
    t.native.delete("id % 17 = 3")
    t.compact()
    assert t.unindexed() == 0
    t.check("after a compaction")
    t.append()
    t.check("after rows were appended")
    t.native.delete("id % 19 = 5 OR id BETWEEN 600 AND 640")
    t.check("after rows were deleted")
    t.compact()
    t.check("after a second compaction")
    assert maintain(wire, t.path, compact=True)["fragments_removed"] == 0  # which would move the rows again
    maintain(wire, t.path, indices=True)
    assert t.unindexed() == 0
    t.check("after indices were brought up to date")
    t.append()
    assert maintain(wire, t.path, compact=True)["fragments_removed"] > 1
    t.check("after the server has compacted")
    t.native.optimize.compact_files()
    t.native.optimize.optimize_indices()
    t.check("after native Lance has brought indices up to date")
    assert t.native.count_rows() > ROWS // 2 or make is searched
