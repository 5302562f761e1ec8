"""What an engine of vectors must offer to be measured."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Callable

import numpy as np

NEAREST = 10
EDGES, CONSIDERED = 20, 150  # m and ef_construction of every graph


@dataclasses.dataclass(frozen=True)
class Kind:
    """An index, and the efforts with which it is searched, the least first."""

    name: str
    efforts: list[dict]
    parameters: dict = dataclasses.field(default_factory=dict)
    also: dict | None = None  # an effort that is always measured, whatever its recall
    extra: bool = False  # measured only if it is named


@dataclasses.dataclass
class Data:
    """Vectors and queries, in files that all processes map."""

    place: pathlib.Path

    def __post_init__(self):
        self.rows, self.queries, self.exact = (np.load(self.place / f"{n}.npy", mmap_mode="r") for n in ("rows", "queries", "exact"))

    @property
    def memory(self) -> int:
        """Bytes that each server may use for its cache: all vectors and their index fit into it."""
        return max(1 << 30, 3 * self.rows.nbytes)


class Client:
    """One user of an engine. It can be sent to another process as long as it is not open."""

    def open(self) -> None: ...

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        """Returns a function for each query, ready to be timed: the query is encoded before, its answer decoded later."""
        raise NotImplementedError

    def ids(self, answer) -> list[int]:
        raise NotImplementedError

    def close(self) -> None: ...


class Engine:
    """An engine with its vectors. Its clients are threads, or processes that are forked or spawned."""

    KINDS: list[Kind] = []
    CLIENTS = "threads"
    SERVER = False  # it works in processes of its own, not in those of its clients
    version = ""

    def __init__(self, place: pathlib.Path, data: Data):
        self.place, self.data = place, data

    @property
    def processes(self) -> list[int]:
        """The processes of the engine. Their time is counted, with that of their descendants."""
        return [os.getpid()]

    def load(self) -> None:
        """Stores the vectors, if that is not a part of the build."""

    def build(self, kind: Kind) -> None:
        raise NotImplementedError

    def client(self, kind: Kind) -> Client:
        raise NotImplementedError

    def close(self) -> None: ...


def ladder(**steps: list) -> list[dict]:
    """All combinations of the steps, of which the last changes fastest. None leaves a step out."""
    combined = (zip(steps, values) for values in itertools.product(*steps.values()))
    return [{name: value for name, value in chosen if value is not None} for chosen in combined]


def label(effort: dict) -> str:
    return " ".join(f"{name.removesuffix('_factor')} {value}" for name, value in effort.items()) or "–"


def decimals(vector: np.ndarray) -> list[float]:
    """The numbers as clients write them: with the fewest digits that identify a float of 32 bits."""
    return [float(str(value)) for value in vector]
