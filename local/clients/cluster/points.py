"""The rows that the programs of this folder write: row n is the same whoever makes it, with whatever rows beside it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

WORKERS = 4
DIMENSION = 32
WORDS = 1_000
WORDS_OF_TEXT = 8


def rows_of(ids: np.ndarray) -> pa.Table:
    words = mixed(ids, WORDS_OF_TEXT) % WORDS
    # The sum of four even numbers is nearly normal.
    vectors = (mixed(ids, 4 * DIMENSION) % (1 << 16)).astype(np.float32).reshape(-1, DIMENSION, 4).sum(axis=2) / (1 << 16)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "label": pa.array(ids % 100, pa.int32()),
            "text": [" ".join(f"w{word}" for word in row) for row in words],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSION),
        }
    )


def mixed(ids: np.ndarray, count: int) -> np.ndarray:
    """Hashes of each id and of the numbers below count."""
    found = ids.astype(np.uint64)[:, None] * np.uint64(count) + np.arange(count, dtype=np.uint64)
    for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        found = (found ^ (found >> np.uint64(30))) * np.uint64(factor)
    return found ^ (found >> np.uint64(31))
