"""Native Lance's indices stay correct under our commits.

Native Lance creates a table with an index of each kind. After each of our changes it runs the
same queries with its indices and without, and must get the same rows. The entries of the
indices still exist, unless the column is gone.
"""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest

pytestmark = pytest.mark.engine

ROWS = 3_000
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]


def rows(count: int, start: int = 0, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    ids = np.arange(start, start + count)
    vectors = rng.random((count, 16), dtype=np.float32)
    return pa.table(
        {
            "id": pa.array(ids),
            "kind": pa.array([WORDS[i % 5] for i in ids]),
            "text": pa.array([f"{WORDS[i % 6]} word{i % 50} of row{i}" for i in ids]),
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 16),
            "x": pa.array(rng.random(count)),
        }
    )


@pytest.fixture(params=[False, True], ids=["addresses", "stable row ids"])
def indexed(request, db, wire, space, outside, tmp_path_factory):
    """A table that native Lance indexed, registered with us: (ours, where it lies)."""
    path = outside / f"indexed-{space}-{request.param}.lance"
    made = lance.write_dataset(rows(ROWS), path, max_rows_per_file=1_000, enable_stable_row_ids=request.param)
    made.create_scalar_index("id", "BTREE")
    made.create_scalar_index("kind", "BITMAP")
    made.create_scalar_index("text", "INVERTED")
    made.create_index("v", "IVF_PQ", num_partitions=4, num_sub_vectors=4)
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(path)}).status == 200
    return db.open_table("t", namespace_path=[space]), path


def check(path) -> lance.LanceDataset:
    """Asks native Lance with its indices and without."""
    native = lance.dataset(path)
    native.validate()
    columns = ["id", "x"] if "x" in native.schema.names else ["id"]
    for where in ("id = 17", "id BETWEEN 900 AND 1100", "id IN (5, 1500, 2999, 5000)", "kind = 'beta'", "kind IN ('alpha', 'gamma') AND id < 2000"):
        plan = native.scanner(columns=columns, filter=where).explain_plan()
        assert "ScalarIndexQuery" in plan, f"{where} does not use an index:\n{plan}"
        with_index = native.to_table(columns=columns, filter=where)
        without = native.to_table(columns=columns, filter=where, use_scalar_index=False)
        assert with_index.sort_by("id").equals(without.sort_by("id")), where
    texts = native.to_table(columns=["id", "text"]).to_pylist()
    found = native.to_table(columns=["id"], full_text_query="word7")
    assert sorted(found["id"].to_pylist()) == sorted(r["id"] for r in texts if "word7" in r["text"].split())
    vectors = native.to_table(columns=["id", "v"])
    for at in (0, len(vectors) // 2, len(vectors) - 1):
        query = {"column": "v", "q": vectors["v"][at].values.to_numpy(), "k": 5, "nprobes": 4, "refine_factor": 50}
        assert "ANN" in native.scanner(nearest=query).explain_plan()
        nearest = native.to_table(columns=["id"], nearest=query)
        exact = native.to_table(columns=["id"], nearest=query | {"use_index": False})
        assert nearest["id"].to_pylist() == exact["id"].to_pylist()
    return native


CHANGES = {
    "insert": lambda t: t.add(rows(500, start=5_000, seed=1)),
    "delete": lambda t: t.delete("id % 10 = 3"),
    "delete a whole fragment": lambda t: t.delete("id < 1000"),
    "update of an indexed column": lambda t: t.update(where="id < 100", values_sql={"kind": "'beta'"}),
    "update of another column": lambda t: t.update(where="id > 2900", values_sql={"x": "x + 1"}),
    "merge": lambda t: t.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows(200, start=2_900, seed=2)),
    "new column": lambda t: t.add_columns({"twice": "id * 2"}),
    "renamed column": lambda t: t.alter_columns({"path": "x", "rename": "y"}),
    "dropped column": lambda t: t.drop_columns(["x"]),
    "restore": lambda t: (t.delete("id < 500"), t.restore(t.version - 1)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_indices_stay_right(indexed, name):
    ours, path = indexed
    before = {index["name"] for index in lance.dataset(path).list_indices()}
    CHANGES[name](ours)
    assert {index["name"] for index in check(path).list_indices()} == before


def test_indices_stay_right_under_many_changes(indexed):
    ours, path = indexed
    for name in ("insert", "update of an indexed column", "merge", "delete", "new column", "restore", "insert", "update of another column"):
        CHANGES[name](ours)
        check(path)
    native = lance.dataset(path)
    native.optimize.optimize_indices()
    native.optimize.compact_files()
    ours.checkout_latest()
    ours.delete("id % 7 = 0")
    check(path)


def test_index_of_a_dropped_column_goes(indexed):
    ours, path = indexed
    ours.drop_columns(["kind"])
    assert "kind_idx" not in {index["name"] for index in lance.dataset(path).list_indices()}
