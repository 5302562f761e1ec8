"""Indices of which native Lance's workers have built the segments, one for some fragments each, and which are
then committed together, as they are or merged: filters and searches find by them what scans find.
"""

from __future__ import annotations

import lance
import pytest
from test_hostile_indices import FILTERS, ROWS, VECTORS, filtered, query_of, searched


def built(native: lance.LanceDataset, column: str, kind: str, merged: bool, **options) -> None:
    """Builds an index in the place of that on a column, by a worker for each fragment."""
    native.drop_index(f"{column}_idx")
    segments = [
        native.create_index_uncommitted(column, kind, name=f"{column}_idx", fragment_ids=[f.fragment_id], **options)
        for f in native.get_fragments()
    ]
    if merged:
        segments = [native.merge_existing_index_segments(segments[:2]), *segments[2:]]
    native.commit_existing_index_segments(f"{column}_idx", column, segments)


@pytest.mark.many
@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("merged", [False, True], ids=["segments", "merged"])
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
def test_filters_by_indices_of_several_workers(wire, space, outside, stable, merged):
    place = outside / f"{space}.lance"
    filtered(place, stable)
    for column, (kind, options, _) in FILTERS.items():
        if column != "texts":  # an index FM has one worker
            built(lance.dataset(place), column, kind, merged, **options)
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    native = lance.dataset(place)
    for column in FILTERS:
        query = query_of(column)
        want = native.to_table(columns=["id"], filter=query["filter"], use_scalar_index=False)["id"].to_pylist()
        answer = wire.post(f"/v1/table/{space}$t/query", query)
        assert answer.status == 200, answer.body
        assert answer.table["id"].to_pylist() == want and 0 < len(want) < ROWS // 50, column
        plan = wire.post(f"/v1/table/{space}$t/analyze_plan", query).json
        assert "index_pages=" in plan, f"{column}: {plan}"


@pytest.mark.many
@pytest.mark.embedded("what native Lance does with files, which are the same everywhere")
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
def test_searches_by_indices_of_several_workers(wire, space, outside, stable):
    place = outside / f"{space}.lance"
    searched(place, stable)
    native = lance.dataset(place)
    centroids = native.to_table(columns=["lists"], limit=3)["lists"].combine_chunks()
    for column, (kind, options) in VECTORS.items():
        if kind in ("IVF_FLAT", "IVF_SQ"):
            built(lance.dataset(place), column, kind, False, num_partitions=3, ivf_centroids=centroids, **options)
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(place)}).status == 200
    for column in ("lists", "sq"):
        query = query_of(column) | {"nprobes": 3, "refine_factor": 20}
        plan = wire.post(f"/v1/table/{space}$t/analyze_plan", query).json
        assert "segments=3" in plan and "index_not_used" not in plan, plan
        got = wire.post(f"/v1/table/{space}$t/query", query).table["id"].to_pylist()
        want = wire.post(f"/v1/table/{space}$t/query", query | {"bypass_vector_index": True}).table["id"].to_pylist()
        assert got == want, column
