"""The rows of most tests: made up, with every shape of values that tables can hold."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa

DIMENSIONS = 16

NAMES = [
    "Ada",
    "Grace Hopper",
    "o'Brien",
    "100% wool",
    "under_score",
    "",
    "Zoë",
    "naïve café",
    "東京",
    "back\\slash",
    "Ada ",
]


def vectors(count: int, dimensions: int = DIMENSIONS, *, seed: int = 1, dtype=np.float32) -> pa.Array:
    """Random vectors: no two distances are equal, so the order of a search is defined."""
    values = np.random.default_rng(seed).normal(size=count * dimensions).astype(dtype)
    return pa.FixedSizeListArray.from_arrays(pa.array(values), dimensions)


def query(seed: int = 11, dimensions: int = DIMENSIONS) -> list[float]:
    """A vector to search for."""
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32).tolist()


def holes(values: list, every: int, first: int = 0) -> list:
    """The values with a null in each place that is first modulo every."""
    return [None if i % every == first else v for i, v in enumerate(values)]


def people(count: int, *, start: int = 0, seed: int = 1) -> pa.Table:
    """A table of mixed columns, nulls and vectors, whose ids count from start."""
    ids = range(start, start + count)
    day = datetime.date(2024, 1, 1)
    moment = datetime.datetime(2024, 1, 1, 12)
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "grp": pa.array(holes([i % 7 for i in ids], 11), pa.int32()),
            "price": pa.array(holes(rng.normal(50, 30, count).round(2).tolist(), 13), pa.float64()),
            "ratio": pa.array(rng.random(count).astype(np.float32)),
            "name": pa.array(holes([NAMES[i % len(NAMES)] + (str(i) if i % 3 else "") for i in ids], 17), pa.string()),
            "flag": pa.array(holes([i % 2 == 0 for i in ids], 5, 3), pa.bool_()),
            "day": pa.array(holes([day + datetime.timedelta(i % 400) for i in ids], 19), pa.date32()),
            "at": pa.array(holes([moment + datetime.timedelta(seconds=37 * i) for i in ids], 23), pa.timestamp("us")),
            "tags": pa.array(holes([[NAMES[j] for j in range(i % 4)] for i in ids], 7, 2), pa.list_(pa.string())),
            "spec": pa.array(
                holes([{"w": i % 10, "h": None if i % 4 == 0 else i / 4, "label": f"L{i % 5}"} for i in ids], 9, 1),
                pa.struct([("w", pa.int32()), ("h", pa.float64()), ("label", pa.string())]),
            ),
            "raw": pa.array(holes([bytes([i % 256, 0, 255]) for i in ids], 6, 5), pa.binary()),
            "vector": vectors(count, seed=seed),
        }
    )


def _dates(i: int) -> datetime.date:
    return datetime.date(1969, 12, 1) + datetime.timedelta(i % 20000)


def _moments(i: int) -> datetime.datetime:
    return datetime.datetime(1969, 12, 31, 23) + datetime.timedelta(seconds=977 * i, microseconds=i % 1000000)


# One maker of values per type that tables must hold. Value i is never null.
REQUIRED_TYPES = {
    **{
        f"int{bits}": (getattr(pa, f"int{bits}")(), lambda i, b=bits: (i * 7919) % 2**b - 2 ** (b - 1))
        for bits in (8, 16, 32, 64)
    },
    **{
        f"uint{bits}": (getattr(pa, f"uint{bits}")(), lambda i, b=bits: (i * 104729) % 2**b) for bits in (8, 16, 32, 64)
    },
    "float16": (pa.float16(), lambda i: np.float16((i % 500) / 8 - 30)),
    "float32": (pa.float32(), lambda i: float(np.float32(i * 0.37 - 100))),
    "float64": (pa.float64(), lambda i: i * 1e100 if i % 9 == 0 else i / 3),
    "special": (pa.float64(), lambda i: [float("inf"), float("-inf"), -0.0, 5e-324][i % 4]),
    "bool": (pa.bool_(), lambda i: i % 3 == 0),
    "string": (pa.string(), lambda i: NAMES[i % len(NAMES)] * (i % 5)),
    "long_string": (pa.string(), lambda i: f"{i}-" + "x" * (i % 700)),
    "large_string": (pa.large_string(), lambda i: f"große Zeile {i % 50}"),
    "binary": (pa.binary(), lambda i: bytes([i % 256]) * (i % 9)),
    "large_binary": (pa.large_binary(), lambda i: b"\x00\xff" * (i % 4)),
    "constant": (pa.int64(), lambda i: 42),
    "constant_text": (pa.string(), lambda i: "same"),
    "date32": (pa.date32(), _dates),
    "date64": (pa.date64(), _dates),
    "time_s": (pa.timestamp("s"), lambda i: _moments(i).replace(microsecond=0)),
    "time_ms": (pa.timestamp("ms"), lambda i: _moments(i).replace(microsecond=i % 1000 * 1000)),
    "time_us": (pa.timestamp("us"), _moments),
    "time_ns": (pa.timestamp("ns"), _moments),
    "time_utc": (pa.timestamp("us", tz="UTC"), lambda i: _moments(i).replace(tzinfo=datetime.timezone.utc)),
    "time_berlin": (
        pa.timestamp("ms", tz="Europe/Berlin"),
        lambda i: _moments(i).replace(microsecond=0, tzinfo=datetime.timezone.utc),
    ),
    "vector": (pa.list_(pa.float32(), 4), lambda i: [float(i), 1.0, -1.0, 0.5]),
    "vector16": (pa.list_(pa.float16(), 3), lambda i: [np.float16(i % 100), np.float16(1), np.float16(-2)]),
    "vector64": (pa.list_(pa.float64(), 2), lambda i: [i / 7, -i / 7]),
    "bytes_vector": (pa.list_(pa.uint8(), 8), lambda i: [i % 256] * 8),
    "list": (pa.list_(pa.int64()), lambda i: list(range(i % 6))),
    "large_list": (pa.large_list(pa.string()), lambda i: [f"e{i}", None, ""][: i % 4]),
    "list_of_lists": (pa.list_(pa.list_(pa.int32())), lambda i: [[1] * (i % 3), [], None, [i]][: i % 5]),
    "struct": (
        pa.struct([("a", pa.int32()), ("b", pa.string())]),
        lambda i: {"a": None if i % 4 == 1 else i, "b": None if i % 5 == 2 else f"b{i}"},
    ),
    "struct_of_list": (
        pa.struct([("xs", pa.list_(pa.float32())), ("in", pa.struct([("k", pa.bool_())]))]),
        lambda i: {"xs": None if i % 6 == 1 else [0.5] * (i % 3), "in": None if i % 5 == 3 else {"k": i % 2 == 0}},
    ),
    "list_of_structs": (
        pa.list_(pa.struct([("x", pa.int64()), ("s", pa.string())])),
        lambda i: [{"x": i, "s": None}, None, {"x": None, "s": "t"}][: i % 4],
    ),
}

# Types that a table may hold and that may also be refused, but never answered wrongly.
FURTHER_TYPES = {
    "time32": (pa.time32("ms"), lambda i: datetime.time(i % 24, i % 60, 1)),
    "time64": (pa.time64("us"), lambda i: datetime.time(i % 24, i % 60, 1, i % 1000)),
    "duration": (pa.duration("us"), lambda i: datetime.timedelta(microseconds=i * 1001)),
    "decimal128": (pa.decimal128(20, 3), lambda i: decimal.Decimal(i * 1001 - 5000).scaleb(-3)),
    "decimal256": (pa.decimal256(60, 5), lambda i: decimal.Decimal(i * 10**20 + 1).scaleb(-5)),
    "fixed_binary": (pa.binary(5), lambda i: b"%05d" % (i % 100000)),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), lambda i: f"kind {i % 5}"),
    "null": (pa.null(), lambda i: None),
    "list_of_vectors": (pa.list_(pa.list_(pa.float32(), 2)), lambda i: [[float(i), 1.0]] * (i % 3)),
    "vector_of_structs": (pa.list_(pa.struct([("x", pa.int8())]), 2), lambda i: [{"x": i % 100}, {"x": 1}]),
    "map": (pa.map_(pa.string(), pa.int32()), lambda i: [(f"k{j}", j) for j in range(i % 3)]),
}

NULLS = ("none", "some", "all")


def column(kind: tuple, count: int, nulls: str, start: int = 0) -> pa.Array:
    """Returns count values of one type, none, some or all of them null."""
    type_, value = kind
    values = [value(i) for i in range(start, start + count)]
    if nulls == "all":
        values = [None] * count
    elif nulls == "some":
        values = [None if (i * 31) % 10 < 3 else v for i, v in enumerate(values)]
    return pa.array(values, type_)


def of_all_types(count: int, nulls: str, start: int = 0) -> pa.Table:
    """A table with an id and one column of each required type, and metadata."""
    columns = {"id": pa.array(range(start, start + count), pa.int64())}
    for name, kind in REQUIRED_TYPES.items():
        columns[name] = column(kind, count, nulls, start)
    table = pa.table(columns)
    fields = [f.with_metadata({"unit": "mm", "note": "ä"}) if f.name == "int32" else f for f in table.schema]
    if nulls == "none":
        fields = [f.with_nullable(False) if f.name in ("id", "int32", "string") else f for f in fields]
    return table.cast(pa.schema(fields, metadata={"made by": "the suite", "empty": ""}))
