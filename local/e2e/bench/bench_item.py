"""The common parts of the benchmarks: an item, the two servers, and the rows of tables."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")  # read once, by the import: pylance warns of new tables

import lance
import numpy as np
import pyarrow as pa

from wire import Wire, stream

DIMENSIONS, MANY_DIMENSIONS = 128, 768


@dataclasses.dataclass
class Sizes:
    scan: int = 1_000_000
    vectors: int = 100_000
    wide_vectors: int = 100_000
    wide_indexed: int = 25_000
    documents: int = 100_000
    created: int = 390_000  # rows of 200 MB
    commits: int = 100_000
    names: int = 1_000  # namespaces and tables in the lists
    versions: int = 100
    catalog: tuple[int, ...] = (10, 1_000, 100_000)  # tables beside which names change
    adapter_catalog: int = 1_000  # the most of them at the adapter
    quick_rounds: int = 100  # of small operations
    slow_rounds: int = 20  # of scans and writes
    crowd_rounds: int = 8  # of what many clients do


QUICK = Sizes(
    scan=200_000,
    vectors=20_000,
    wide_vectors=5_000,
    wide_indexed=5_000,
    documents=5_000,
    created=20_000,
    commits=20_000,
    names=100,
    versions=20,
    catalog=(10, 100, 1_000),
    adapter_catalog=100,
    quick_rounds=20,
    slow_rounds=5,
    crowd_rounds=3,
)


@dataclasses.dataclass
class Item:
    """One measure: the work for our server and, where possible, the same work for the adapter
    and in this process. If same is set, their results must be equal."""

    name: str
    ours: Callable
    adapter: Callable | None
    native: Callable | None = None
    target: float | None = None  # of ours/adapter, time
    native_target: float | None = None  # of ours/pylance
    rounds: int = 0
    same: Callable | None = None
    note: Callable[[], str] | None = None  # of what else there is to know


class Side:
    """One server: requests are the same for both, but for how a location is written."""

    def __init__(self, wire: Wire, root: pathlib.Path):
        self.wire, self.root = wire, root

    def post(self, path: str, fields=None):
        return self._checked(path, self.wire.post(path, fields if fields is not None else {}))

    def get(self, path: str):
        return self._checked(path, self.wire.call("GET", path))

    def upload(self, path: str, data: bytes):
        return self._checked(path, self.wire.upload(path, data))

    def _checked(self, path: str, answer):
        if answer.status >= 300:
            raise SystemExit(f"bench: {path}: {answer.status} {answer.body[:300]!r}")
        return answer


def vector_rows(count: int, start: int = 0, seed: int = 2, dimensions: int = DIMENSIONS) -> pa.Table:
    values = np.random.default_rng(seed).normal(size=count * dimensions).astype(np.float32)
    return pa.table(
        {
            "id": pa.array(np.arange(start, start + count)),
            "s": pa.array([f"row {i}" for i in range(start, start + count)]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), dimensions),
        }
    )


@dataclasses.dataclass
class Bench:
    ours: Side
    adapter: Side
    native_root: pathlib.Path
    sizes: Sizes
    uncached: Callable[[], Side]  # starts one more of ours, whose cache holds no large column

    def load(self, name: str, rows: pa.Table) -> lance.LanceDataset:
        """Puts a table everywhere. The adapter refuses bodies above 2 MiB, so its files are
        written by pylance; ours come through the front door, which takes messages of 256 MiB."""
        lance.write_dataset(rows, self.adapter.root / f"{name}.lance")
        self.upload(self.ours, name, rows)
        return lance.write_dataset(rows, self.native_root / f"{name}.lance")

    def upload(self, side: Side, name: str, rows: pa.Table) -> None:
        batches = rows.to_batches(max_chunksize=50_000)
        side.upload(f"/v1/table/{name}/create", stream(pa.Table.from_batches(batches)))

    def both(self, name: str, do: Callable, **fields) -> Item:
        return Item(name, lambda: do(self.ours), lambda: do(self.adapter), **fields)


def documents(count: int) -> pa.Table:
    """Texts of words that are as often as those of a language; a number that is there once, and one that is
    often there."""
    rng = np.random.default_rng(7)
    letters = np.array(list("etaoinshrdlu"))
    words = np.array(["".join(letters[rng.integers(0, 12, rng.integers(2, 11))]) for _ in range(60_000)])
    ranks = np.minimum(rng.zipf(1.25, (count, 80)) - 1, len(words) - 1)
    lengths = rng.integers(5, 80, count)
    texts = [" ".join(words[row[:length]]) for row, length in zip(ranks, lengths)]
    return pa.table({"text": texts, "BTREE": rng.permutation(count), "BITMAP": rng.integers(0, 1000, count)})
