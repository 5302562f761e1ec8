"""hnswlib in process: builds use all cores, a search uses one thread."""

from __future__ import annotations

from collections.abc import Callable

import hnswlib
import numpy as np

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Engine, Kind, ladder


class HnswlibClient(Client):
    def __init__(self, index: hnswlib.Index):
        self.index = index

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        self.index.set_ef(effort["ef"])
        return [lambda q=q: self.index.knn_query(q, NEAREST, num_threads=1)[0][0] for q in queries]

    def ids(self, answer) -> list[int]:
        return answer.tolist()


class Hnswlib(Engine):
    KINDS = [Kind("HNSW", ladder(ef=[10, 20, 40, 60, 80, 120, 160, 240, 400, 800]))]

    def build(self, kind: Kind) -> None:
        count, dimensions = self.data.rows.shape
        self.index = hnswlib.Index("l2", dimensions)
        self.index.init_index(count, ef_construction=CONSIDERED, M=EDGES)
        self.index.add_items(self.data.rows, np.arange(count))

    def client(self, kind: Kind) -> Client:
        return HnswlibClient(self.index)
