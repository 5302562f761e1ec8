"""Chroma in process, over files in memory. It indexes rows as they are added, so its build includes the load."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable

import chromadb
import numpy as np

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, ladder


class ChromaClient(Client):
    """Its clients share a collection, whose ef is a setting."""

    def __init__(self, collection: chromadb.Collection):
        self.collection = collection

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        if self.collection.configuration["hnsw"]["ef_search"] != effort["ef_search"]:
            self.collection.modify(configuration={"hnsw": effort})
        return [lambda q=q: self.collection.query(query_embeddings=q, n_results=NEAREST, include=[]) for q in queries]

    def ids(self, answer) -> list[int]:
        return [int(name) for name in answer["ids"][0]]


class Chroma(Engine):
    KINDS = [Kind("HNSW", ladder(ef_search=[10, 20, 40, 60, 80, 120, 160, 240, 400, 800]))]

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        self.chroma = chromadb.PersistentClient(place / "chroma", settings=chromadb.Settings(anonymized_telemetry=False))

    def build(self, kind: Kind) -> None:
        with contextlib.suppress(chromadb.errors.NotFoundError):
            self.chroma.delete_collection("vectors")
        graph = {"space": "l2", "max_neighbors": EDGES, "ef_construction": CONSIDERED}
        self.collection = self.chroma.create_collection("vectors", configuration={"hnsw": graph}, embedding_function=None)
        step = self.chroma.get_max_batch_size()
        for start in range(0, len(self.data.rows), step):
            some = self.data.rows[start : start + step]
            self.collection.add([str(start + i) for i in range(len(some))], embeddings=some)

    def client(self, kind: Kind) -> Client:
        return ChromaClient(self.collection)
