"""Comparing tables row by row, with a message that names the first difference."""

from __future__ import annotations

import math

import pyarrow as pa

# Distances are sums of products, which each implementation adds in its own order.
DISTANCE_TOLERANCE = 2e-5


def difference(got: pa.Table, want: pa.Table, *, metadata: bool = False) -> str | None:
    """What differs first between two tables, or None. Order matters; NaN equals NaN;
    distances may differ by rounding. With metadata, that of schema and fields counts too."""
    if problem := schema_difference(got.schema, want.schema, metadata=metadata):
        return problem
    if got.num_rows != want.num_rows:
        return f"{got.num_rows} rows, want {want.num_rows}"
    for name in want.column_names:
        if problem := _column_difference(name, got[name], want[name]):
            return problem
    return None


def assert_same(got: pa.Table, want: pa.Table, what: object = "", **options) -> None:
    problem = difference(got, want, **options)
    assert problem is None, f"{what}: {problem}" if what else problem


def schema_difference(got: pa.Schema, want: pa.Schema, *, metadata: bool = False) -> str | None:
    if got.names != want.names:
        return f"columns {got.names}, want {want.names}"
    for g, w in zip(got, want):
        if g.type != w.type:
            return f"column {w.name} is {g.type}, want {w.type}"
        if g.nullable != w.nullable:
            return f"column {w.name} has nullable={g.nullable}, want {w.nullable}"
        if metadata and _metadata(g) != _metadata(w):
            return f"column {w.name} has metadata {_metadata(g)}, want {_metadata(w)}"
    if metadata and _metadata(got) != _metadata(want):
        return f"schema has metadata {_metadata(got)}, want {_metadata(want)}"
    return None


def by(table: pa.Table, *columns: str) -> pa.Table:
    """The table sorted, for answers whose order is not defined."""
    return table.sort_by([(name, "ascending") for name in columns])


def _metadata(of: pa.Schema | pa.Field) -> dict:
    return dict(of.metadata or {})


def _column_difference(name: str, got: pa.ChunkedArray, want: pa.ChunkedArray) -> str | None:
    if got.equals(want):
        return None
    tolerance = DISTANCE_TOLERANCE if name == "_distance" else 0.0
    for row, (g, w) in enumerate(zip(got.to_pylist(), want.to_pylist())):
        if not _same(g, w, tolerance):
            return f"column {name}, row {row}: {g!r}, want {w!r}"
    return None


def _same(got, want, tolerance: float) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        if math.isnan(want) or math.isnan(got):
            return math.isnan(want) and math.isnan(got)
        return got == want or abs(got - want) <= tolerance * max(1.0, abs(want))
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(_same(g, w, tolerance) for g, w in zip(got, want))
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(_same(got[k], want[k], tolerance) for k in want)
    return type(got) is type(want) and got == want
