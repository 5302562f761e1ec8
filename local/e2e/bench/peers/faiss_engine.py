"""FAISS in process: builds use all cores, a search uses one thread."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable

import faiss
import numpy as np

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, ladder

CODE_BITS = 8
DIMENSIONS_OF_CODE = 16  # as in an IVF_PQ of Lance


class FaissClient(Client):
    def __init__(self, index: faiss.Index, parameters: Callable[[dict], object]):
        self.index, self.parameters = index, parameters

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        params = self.parameters(effort)
        return [lambda q=q[np.newaxis]: self.index.search(q, NEAREST, params=params)[1][0] for q in queries]

    def ids(self, answer) -> list[int]:
        return answer.tolist()

    def open(self) -> None:
        faiss.omp_set_num_threads(1)  # only in the calling thread


class Faiss(Engine):
    KINDS = [
        Kind("HNSW", ladder(efSearch=[10, 20, 40, 60, 80, 120, 160, 240, 400, 800])),
        Kind("IVF_PQ + refine", ladder(nprobe=[1, 2, 5, 10, 20, 40, 80], refine=[5, 10, 20])),
        Kind("flat", [{}]),
    ]

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        self.rows = np.ascontiguousarray(data.rows)
        self.index: faiss.Index | None = None

    def build(self, kind: Kind) -> None:
        count, dimensions = self.rows.shape
        faiss.omp_set_num_threads(os.cpu_count())
        if kind.name == "HNSW":
            self.index = faiss.IndexHNSWFlat(dimensions, EDGES)
            self.index.hnsw.efConstruction = CONSIDERED
        elif kind.name == "flat":
            self.index = faiss.IndexFlatL2(dimensions)
        else:
            self._lists = faiss.IndexFlatL2(dimensions)
            self._codes = faiss.IndexIVFPQ(self._lists, dimensions, max(16, int(count**0.5)), dimensions // DIMENSIONS_OF_CODE, CODE_BITS)
            self.index = faiss.IndexRefineFlat(self._codes)
        self.index.train(self.rows)
        self.index.add(self.rows)

    def client(self, kind: Kind) -> Client:
        return FaissClient(self.index, parameters)


def parameters(effort: dict):
    if "efSearch" in effort:
        return faiss.SearchParametersHNSW(**effort)
    if "nprobe" in effort:
        base = faiss.SearchParametersIVF(nprobe=effort["nprobe"])
        return faiss.IndexRefineSearchParameters(k_factor=effort["refine"], base_index_params=base)
    return None
