"""Filters by indices of each kind that native Lance has built, on a table so large that they are
used: the rows are those of native Lance, and the plan names the index.
"""

from __future__ import annotations

import secrets

import lance
import numpy as np
import pyarrow as pa
import pytest

pytestmark = pytest.mark.engine

ROWS = 40_000
INDICES = {
    "tree": ("BTREE", {}),
    "map": ("BITMAP", {}),
    "zone": ("ZONEMAP", {}),
    "bloom": ("BLOOMFILTER", {}),
    "labels": ("LABEL_LIST", {}),
    "grams": ("NGRAM", {}),
    "words": ("INVERTED", {"stem": False, "max_token_length": None}),
}
FILTERS = {
    "tree": ["tree = 77.5", "tree BETWEEN 10 AND 12", "tree IS NULL AND id < 5000"],
    "map": ["map = 77.5", "map IN (3, 5.5)"],
    "zone": ["zone = 77.5", "zone > 990", "zone IS NULL", "zone IN (5, 500)"],
    "bloom": ["bloom = 77.5", "bloom IN (3, 5.5)", "bloom IS NULL"],
    "labels": ["array_has(labels, 'l155')", "array_has_any(labels, ['l155', 'm3'])", "array_has_all(labels, ['l155', 'm1'])"],
    "grams": ["contains(grams, 'w0155')", "grams LIKE '%w01_5%'", "regexp_match(grams, 'w0155|w0156') IS NOT NULL", "regexp_match(grams, 'w(0155|0200) x') IS NOT NULL"],
    "words": ["contains_tokens(words, 'w0155')", "contains_tokens(words, 'x w0155')"],
}


def rows(start: int, count: int) -> pa.Table:
    ids = np.arange(start, start + count)
    group = ids // 20
    columns = {"id": pa.array(ids)}
    for name in ("tree", "map", "zone", "bloom"):
        columns[name] = pa.array(group / 2, mask=ids % 50 == 7)
    columns["labels"] = pa.array([[f"l{g}", f"m{i % 7}"] if i % 50 != 7 else None for i, g in zip(ids, group)])
    for name in ("grams", "words"):
        columns[name] = pa.array([f"some w{g:04} x y{i % 9}" if i % 50 != 7 else None for i, g in zip(ids, group)])
    return pa.table(columns)


@pytest.fixture(scope="module", params=[False, True], ids=["addresses", "stable"])
def indexed(request, server, outside, module_space):
    """A table that was appended to, deleted from and updated since it was indexed."""
    name = f"indexed{secrets.token_hex(4)}"  # a worker may set it up again, after tests that it took from another
    native = lance.write_dataset(rows(0, ROWS), outside / f"{name}-{module_space}.lance", max_rows_per_file=15_000, enable_stable_row_ids=request.param)
    for column, (kind, options) in INDICES.items():
        native.create_scalar_index(column, kind, **options)
    native.insert(rows(1000, 400))
    native.delete("id % 11 = 3")
    native.update({"tree": "77.5"}, where="id = 4")
    wire = server.wire()
    path = f"/v1/table/{module_space}${name}"
    assert wire.post(f"{path}/register", {"location": native.uri}).status == 200
    yield native, wire, path
    wire.close()


@pytest.mark.parametrize("column,condition", [(column, f) for column, filters in FILTERS.items() for f in filters])
def test_filters_find_by_indices_what_native_lance_finds(indexed, column, condition):
    native, wire, path = indexed
    want = native.to_table(columns=["id"], filter=condition, use_scalar_index=False)
    assert "ScalarIndexQuery" in native.scanner(columns=["id"], filter=condition).explain_plan()
    query = {"vector": [], "k": ROWS, "columns": ["id"], "filter": condition}
    got = wire.post(f"{path}/query", query)
    assert got.status == 200, got.body
    assert got.table["id"].to_pylist() == want["id"].to_pylist()
    counted = wire.post(f"{path}/count_rows", {"predicate": condition})
    assert int(counted.body) == want.num_rows
    explained = wire.post(f"{path}/explain_plan", {"query": query})
    assert f"narrowed_by=[{column}_idx]" in explained.body.decode()
    analyzed = wire.post(f"{path}/analyze_plan", query)
    assert "index_pages=" in analyzed.body.decode(), analyzed.body.decode()
