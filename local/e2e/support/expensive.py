"""Random valid requests that cost much: types x widths x functions x operations."""

from __future__ import annotations

import io
import random

import numpy as np
import pyarrow as pa

ROWS = 20_000
DIMENSIONS = 64
TEXT = "s"
NUMBER = "n"
VECTOR = "v"
COLUMNS = ["n", "s", "v", "d", "l", "b"]


def table() -> pa.Table:
    """A table of all kinds of columns: numbers, texts, vectors, a dictionary, lists and bytes."""
    chance = np.random.default_rng(1)
    texts = [f"text {i % 997} {'x' * (i % 50)}" for i in range(ROWS)]
    vectors = chance.random(ROWS * DIMENSIONS, dtype=np.float32)
    return pa.table(
        {
            "n": pa.array(range(ROWS), pa.int64()),
            "s": texts,
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors), DIMENSIONS),
            "d": pa.DictionaryArray.from_arrays(pa.array([i % 3 for i in range(ROWS)], pa.int32()), ["a" * 10_000, "b" * 10_000, "c"]),
            "l": pa.array([[i, i + 1] * (i % 5) for i in range(ROWS)], pa.list_(pa.int64())),
            "b": pa.array([bytes(i % 100) for i in range(ROWS)], pa.binary()),
        }
    )


def stream(rows: pa.Table, compression: str | None = None) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(rows)
    return sink.getvalue()


def text(chance: random.Random) -> str:
    size = 10 ** chance.randint(1, 8)
    return chance.choice(
        [
            f"repeat('a', {size})",
            f"repeat(s, {size % 100_000 + 1})",
            f"lpad(s, {size % 1_000_000 + 1}, 'xy')",
            "concat(s, s, s, s, s, s, s, s)",
            "replace(s, 'x', 'yyyyyyyyyyyyyyyy')",
            "upper(repeat(s, 50))",
        ]
    )


def expression(chance: random.Random) -> str:
    return chance.choice([text(chance), text(chance), text(chance), f"range(0, {10 ** chance.randint(1, 5)})"])


def condition(chance: random.Random) -> str:
    return chance.choice(
        [
            " OR ".join(f"{text(chance)} = s" for _ in range(chance.randint(1, 10))),
            "regexp_like(s, '(x+x+)+y')",
            f"levenshtein(s, repeat('ab', {chance.randint(1, 200)})) < 3",
            "translate(s, 'abcxyz', 'zyxcba') = s",
            "d = 'c' OR d LIKE 'a%'",
            "array_length(l) > 3 AND n % 7 = 1",
        ]
    )


def vectors(chance: random.Random, count: int) -> list[list[float]]:
    return [[round(chance.random(), 3) for _ in range(DIMENSIONS)] for _ in range(count)]


def request(chance: random.Random) -> tuple[str, dict | bytes]:
    """A path below the table's, and a body: an object of JSON, or an Arrow stream."""
    none = {"vector": []}
    return chance.choice(
        [
            lambda: ("query", none | {"k": ROWS, "columns": {"x": expression(chance)}}),
            lambda: ("query", none | {"k": chance.choice([1, ROWS]), "filter": condition(chance), "columns": ["n"]}),
            lambda: ("query", none | {"k": ROWS, "columns": chance.sample(COLUMNS, 3), "order_by": [{"column_name": chance.choice(["n", "s"])}]}),
            lambda: ("query", {"k": 1000, "vector": vectors(chance, chance.choice([1, 16, 64])), "columns": COLUMNS}),
            lambda: ("count_rows", {"predicate": condition(chance)}),
            lambda: ("insert", stream(pa.table({"n": pa.array([1] * 10), "s": ["y" * 100_000] * 10}), "zstd")),
            lambda: ("delete", {"predicate": chance.choice(["n = 1 AND s LIKE 'y%'", f"n = 1 AND ({condition(chance)})"])}),
            lambda: ("update", {"updates": [["s", "s"]], "predicate": f"n = {chance.randrange(ROWS)}"}),
        ]
    )()
