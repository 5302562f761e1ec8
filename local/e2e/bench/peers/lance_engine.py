"""LanceDB in process, over a table in memory. Its clients are processes, because Python would limit threads."""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")  # read once, by the import

import lancedb
import numpy as np
import pyarrow as pa
from lancedb import index as configurations

from peers import ours, texts
from peers.engine import NEAREST, Client, Engine, Kind

CONFIGURATIONS = {
    "IVF_PQ": configurations.IvfPq,
    "IVF_RQ": configurations.IvfRq,
    "IVF_HNSW_SQ": configurations.HnswSq,
    "IVF_HNSW_FLAT": configurations.HnswFlat,
}


class LanceClient(Client):
    def __init__(self, place: str, flat: bool):
        self.place, self.flat = place, flat

    def open(self) -> None:
        self.table = lancedb.connect(self.place).open_table("vectors")

    def calls(self, effort: dict, queries: np.ndarray) -> list[Callable]:
        def search(q: np.ndarray):
            query = self.table.search(q).limit(NEAREST).select(["id", "_distance"])
            for name, value in effort.items():
                query = getattr(query, name)(value)
            if self.flat:
                query = query.bypass_vector_index()
            return query.to_arrow()

        return [lambda q=q: search(q) for q in queries]

    def ids(self, answer: pa.Table) -> list[int]:
        return answer["id"].to_pylist()


class Lance(Engine):
    KINDS, CLIENTS = ours.KINDS, "spawn"

    def load(self) -> None:
        self.table = lancedb.connect(str(self.place)).create_table("vectors", ours.table_of(self.data))

    def build(self, kind: Kind) -> None:
        for index in self.table.list_indices():
            self.table.drop_index(index.name)
        if kind.name != "flat":
            configuration = CONFIGURATIONS[kind.name.split()[0]](distance_type="l2", **kind.parameters)
            self.table.create_index("vector", config=configuration)

    def client(self, kind: Kind) -> Client:
        return LanceClient(str(self.place), kind.name == "flat")


class LanceTexts(texts.Engine):
    """A full-text index with positions and all words as they are, like the indices of the other engines."""

    def load(self, rows: pa.Table) -> None:
        self.table = lancedb.connect(str(self.place)).create_table("texts", rows)

    def build(self) -> None:
        plain = {"stem": False, "remove_stop_words": False}
        self.table.create_index("text", config=configurations.FTS(with_position=True, **plain))

    def call(self, kind: str, words: str) -> Callable:
        query = {
            texts.ALL: lambda: lancedb.query.MatchQuery(words, "text", operator="AND"),
            texts.PHRASE: lambda: lancedb.query.PhraseQuery(words, "text"),
        }.get(kind, lambda: lancedb.query.MatchQuery(words, "text"))()
        return lambda: self.table.search(query).limit(NEAREST).select(["id", "_score"]).to_arrow()

    def ids(self, answer: pa.Table) -> list[int]:
        return answer["id"].to_pylist()
