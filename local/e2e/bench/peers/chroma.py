"""Chroma in process, over files in memory. It indexes rows as they are added, so its build includes the load."""

from __future__ import annotations

import contextlib
import pathlib
import threading
from collections.abc import Callable

import chromadb
import numpy as np

from peers.engine import CONSIDERED, EDGES, NEAREST, Client, Data, Engine, Kind, ladder


class ChromaClient(Client):
    """Clients share the collection."""

    def __init__(self, engine: Chroma):
        self.engine = engine

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        collection = self.engine.tuned(effort)
        return [lambda q=q: collection.query(query_embeddings=q, n_results=NEAREST, include=[]) for q in queries]

    def ids(self, answer) -> list[int]:
        return [int(name) for name in answer["ids"][0]]


class Chroma(Engine):
    KINDS = [Kind("HNSW", ladder(ef_search=[10, 20, 40, 60, 80, 120, 160, 240, 400, 800]))]

    def __init__(self, place: pathlib.Path, data: Data):
        super().__init__(place, data)
        self.lock, self.effort = threading.Lock(), {}
        self.open()

    def open(self) -> None:
        self.chroma = chromadb.PersistentClient(self.place / "chroma", settings=chromadb.Settings(anonymized_telemetry=False))

    def build(self, kind: Kind) -> None:
        with contextlib.suppress(chromadb.errors.NotFoundError):
            self.chroma.delete_collection("vectors")
        graph = {"space": "l2", "max_neighbors": EDGES, "ef_construction": CONSIDERED}
        collection = self.chroma.create_collection("vectors", configuration={"hnsw": graph}, embedding_function=None)
        step = self.chroma.get_max_batch_size()
        for start in range(0, len(self.data.rows), step):
            some = self.data.rows[start : start + step]
            collection.add([str(start + i) for i in range(len(some))], embeddings=some)

    def client(self, kind: Kind) -> Client:
        return ChromaClient(self)

    def tuned(self, effort: dict) -> chromadb.Collection:
        """The collection with this ef. A change is stored at once, but does not reach an open index, which is opened again."""
        with self.lock:
            if effort != self.effort:
                self.chroma.get_collection("vectors", embedding_function=None).modify(configuration={"hnsw": effort})
                self.chroma.clear_system_cache()
                self.open()
                self.collection, self.effort = self.chroma.get_collection("vectors", embedding_function=None), effort
            return self.collection
