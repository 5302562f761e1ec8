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


def without_dictionaries(table: pa.Table) -> pa.Table:
    """The table with values in place of indices into dictionaries, of which pyarrow cannot
    sort or join some."""
    for i, field in enumerate(table.schema):
        if holds_dictionary(field.type):
            plain = _plain(field.type)
            table = table.set_column(i, field.with_type(plain), table.column(i).cast(plain))
    return table


def holds_dictionary(type_: pa.DataType) -> bool:
    children = (type_.field(i).type for i in range(type_.num_fields))
    return pa.types.is_dictionary(type_) or any(map(holds_dictionary, children))


def _plain(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([_plain_field(f) for f in type_])
    if pa.types.is_map(type_):
        return pa.map_(type_.key_field.with_type(_plain(type_.key_type)), _plain_field(type_.item_field))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(_plain_field(type_.value_field), type_.list_size)
    if pa.types.is_large_list(type_):
        return pa.large_list(_plain_field(type_.value_field))
    if pa.types.is_list(type_):
        return pa.list_(_plain_field(type_.value_field))
    return type_


def _plain_field(field: pa.Field) -> pa.Field:
    """Returns the field as nullable, because pyarrow does not recognize that a null in a field
    that is not nullable lies within another null."""
    return field.with_type(_plain(field.type)).with_nullable(True)


def _metadata(of: pa.Schema | pa.Field) -> dict:
    return dict(of.metadata or {})


def _column_difference(name: str, got: pa.ChunkedArray, want: pa.ChunkedArray) -> str | None:
    if got.equals(want):
        return None
    tolerance = DISTANCE_TOLERANCE if name == "_distance" else 0.0
    for row, (g, w) in enumerate(zip(values(got), values(want))):
        if not _same(g, w, tolerance):
            return f"column {name}, row {row}: {g!r}, want {w!r}"
    return None


def values(column: pa.ChunkedArray) -> list:
    """The values as Python has them, but for moments: its calendar does not hold them all,
    so these are integers."""
    return [value for chunk in column.chunks for value in _python(chunk)]


def _python(array: pa.Array) -> list:
    type_ = array.type
    if isinstance(type_, pa.BaseExtensionType):
        return _python(array.storage)
    if pa.types.is_temporal(type_):
        return array.view(pa.int32() if type_.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_struct(type_):
        members = [_python(array.field(i)) for i in range(type_.num_fields)]
        names = [field.name for field in type_]
        rows = [dict(zip(names, row)) for row in zip(*members)] or [{}] * len(array)
    elif pa.types.is_map(type_):
        rows = _cut(list(zip(_python(array.keys), _python(array.items))), array.offsets.to_pylist())
    elif pa.types.is_fixed_size_list(type_):
        size = type_.list_size
        first = array.offset * size
        items = _python(array.values)
        rows = [items[first + i * size : first + (i + 1) * size] for i in range(len(array))]
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        rows = _cut(_python(array.values), array.offsets.to_pylist())
    else:
        return array.to_pylist()
    return [row if valid else None for row, valid in zip(rows, array.is_valid().to_pylist())]


def _cut(items: list, offsets: list[int]) -> list[list]:
    return [items[first:last] for first, last in zip(offsets, offsets[1:])]


def _same(got, want, tolerance: float) -> bool:
    if want != want:  # NaN, of whatever width
        return type(got) is type(want) and got != got
    if isinstance(want, float) and isinstance(got, float):
        if math.isnan(got):
            return False
        return got == want or abs(got - want) <= tolerance * max(1.0, abs(want))
    if isinstance(want, (list, tuple)) and type(got) is type(want):
        return len(got) == len(want) and all(_same(g, w, tolerance) for g, w in zip(got, want))
    if isinstance(want, dict) and isinstance(got, dict):
        return got.keys() == want.keys() and all(_same(got[k], want[k], tolerance) for k in want)
    return type(got) is type(want) and got == want
