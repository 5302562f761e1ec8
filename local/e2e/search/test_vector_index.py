"""Searches by indices of vectors that native Lance has built, through LanceDB's remote client: the same
rows as native Lance finds by the same index with the same parameters, after each step of a history."""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest

ROWS, DIMENSIONS = 900, 16
GRAPH = {"m": 8, "ef_construction": 60}
KINDS = {
    "flat": ("IVF_FLAT", {}),
    "pq": ("IVF_PQ", {"num_sub_vectors": 16}),
    "pq4": ("IVF_PQ", {"num_sub_vectors": 16, "num_bits": 4}),
    "sq": ("IVF_SQ", {}),
    "rq": ("IVF_RQ", {}),
    "rq1": ("IVF_RQ", {"num_bits": 1}),
    "rq9": ("IVF_RQ", {"num_bits": 9}),
    "graph_flat": ("IVF_HNSW_FLAT", GRAPH),
    "graph_sq": ("IVF_HNSW_SQ", GRAPH),
    "graph_pq": ("IVF_HNSW_PQ", {**GRAPH, "num_sub_vectors": 16}),
}


def rows(start: int, count: int) -> pa.Table:
    random = np.random.default_rng(start)
    values = random.normal(size=(count, DIMENSIONS)).astype(np.float32)
    ids = np.arange(start, start + count)
    return pa.table({"id": ids, "part": ids % 5, "v": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), DIMENSIONS)})


QUESTIONS = {
    "one partition": {"nprobes": 1},
    "three partitions": {"nprobes": 3},
    "refined": {"nprobes": 3, "refine_factor": 4},
    "filtered": {"nprobes": 3, "filter": "part = 2"},
    "filtered afterwards": {"nprobes": 2, "filter": "part = 2", "prefilter": False},
    "fast": {"nprobes": 3, "fast_search": True},
    "within": {"nprobes": 6, "refine_factor": 2, "distance_range": (0.1, 30.0)},
    "bypassed": {"use_index": False},
    "as far as needed": {"minimum_nprobes": 1, "filter": "part = 2 AND id % 9 = 0", "refine_factor": 1},
}


def distances(rows: pa.Table) -> dict[int, float]:
    return dict(zip(rows["id"].to_pylist(), rows["_distance"].to_pylist(), strict=True))


def same(got: dict[int, float], want: dict[int, float], kind: str, refined: bool) -> bool:
    """Compare what the service has found with what native Lance has. Of RQ native Lance rounds the tables
    that it measures with, and it leaves out rows that are probably too far by their signs alone: a few rows
    may be others. A refined answer comes from the candidates that are nearest by their codes: which of two that are
    equally near is the last one, rounding decides, and their real distances may differ."""
    common = got.keys() & want.keys()
    if refined and not kind.startswith("rq") and len(got) == len(want) == len(common) + 1:
        return np.allclose([got[i] for i in common], [want[i] for i in common], rtol=1e-3, atol=1e-3)
    if not kind.startswith("rq"):
        near = len(got) == len(want) and np.allclose([*got.values()], [*want.values()], rtol=1e-3, atol=1e-3)
        return near and len(got.keys() ^ want.keys()) <= 2
    return len(common) >= max(len(got), len(want)) - 2 and np.allclose([got[i] for i in common], [want[i] for i in common], rtol=5e-3, atol=5e-3)


def differences(table, native: lance.LanceDataset, kind: str) -> list[str]:
    """What the client is answered otherwise than native Lance."""
    random, found = np.random.default_rng(native.version), []
    accurate = {"approx_mode": "accurate"} if kind.startswith("rq") else {}
    for name, question in QUESTIONS.items():
        query = random.normal(size=DIMENSIONS).astype(np.float32)
        q = dict(question)
        condition, prefilter, fast = q.pop("filter", None), q.pop("prefilter", True), q.pop("fast_search", False)
        want = native.to_table(columns=["id", "_distance"], filter=condition, prefilter=prefilter, fast_search=fast,
                               nearest={"column": "v", "q": query, "k": 10, **q, **accurate})  # fmt: skip
        search = table.search(query.tolist(), vector_column_name="v").limit(10).select(["id"])
        if condition:
            search = search.where(condition, prefilter=prefilter)
        if fast:
            search = search.fast_search()
        if "distance_range" in q:
            search = search.distance_range(*q["distance_range"])
        if "use_index" in q:
            search = search.bypass_vector_index()
        if "nprobes" in q:
            search = search.nprobes(q["nprobes"])
        if "minimum_nprobes" in q:
            search = search.minimum_nprobes(q["minimum_nprobes"]).maximum_nprobes(0)
        if "refine_factor" in q:
            search = search.refine_factor(q["refine_factor"])
        got = search.to_arrow()
        if not same(distances(got), distances(want), kind, "refine_factor" in q):
            found.append(f"version {native.version}, {name}: got {got.to_pydict()}, want {want.to_pydict()}")
    return found


@pytest.mark.many
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.embedded("distances are the same wherever the engine runs")
def test_history(server, db, space, outside, kind, stable):
    place = outside / f"vectors-{space}-{kind}-{stable}.lance"
    index_type, options = KINDS[kind]
    native = lance.write_dataset(rows(0, ROWS), place, max_rows_per_file=400, enable_stable_row_ids=stable)
    metric = ["l2", "cosine", "dot"][(list(KINDS).index(kind) + stable) % 3]
    native.create_index("v", index_type, metric=metric, num_partitions=3 if "pq" in kind else 6, **options)
    wire = server.wire()
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    table = db.open_table("t", namespace_path=[space])
    plan = table.search([0.0] * DIMENSIONS, vector_column_name="v").explain_plan()
    assert f"SearchIndex: index=v_idx, type={index_type}" in plan, plan

    def delete() -> None:
        table.delete("id % 7 = 3 OR id BETWEEN 380 AND 520")

    def append() -> None:
        table.add(rows(ROWS, 60))

    def update() -> None:
        table.update(where="id % 11 = 0", values={"part": 2})

    def delta() -> None:
        lance.dataset(place).optimize.optimize_indices(num_indices_to_merge=0)

    def compact() -> None:
        lance.dataset(place).optimize.compact_files()

    def fold() -> None:
        lance.dataset(place).optimize.optimize_indices()

    found = differences(table, native, kind)
    for step in (delete, append, update, delta, compact, fold, delete):
        step()
        found += [f"after {step.__name__}: {d}" for d in differences(table, lance.dataset(place), kind)]
    wire.close()
    assert not found, "\n".join(found)
