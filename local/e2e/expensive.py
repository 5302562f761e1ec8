"""What valid requests that cost much are made of: a table of many types, and streams."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa

ROWS = 20_000
DIMENSIONS = 64


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
