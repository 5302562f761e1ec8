"""Texts by our server, over HTTP with one client."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pyarrow as pa

from peers import texts
from peers.service import Service, query


class OursTexts(texts.Engine):
    """A full-text index with positions and all words as they are, like the indices of the other engines."""

    def __init__(self, place: pathlib.Path):
        super().__init__(place)
        self.service = Service(place, 1 << 30)
        self.line = self.service.line()

    @property
    def processes(self) -> list[int]:
        return self.service.processes

    def load(self, rows: pa.Table) -> None:
        self.service.create("texts", rows)

    def build(self) -> None:
        self.service.index("texts", "text", "FTS", with_position=True, stem=False, remove_stop_words=False)

    def call(self, kind: str, words: str) -> Callable:
        return query(self.line, "texts", ["id"], full_text_query=wanted(kind, words))

    def ids(self, answer) -> list[int]:
        return answer.table["id"].to_pylist()

    def close(self) -> None:
        self.line.close()
        self.service.close()


def wanted(kind: str, words: str) -> dict:
    if kind == texts.PHRASE:
        return {"structured_query": {"query": {"phrase": {"column": "text", "terms": words}}}}
    operator = "And" if kind == texts.ALL else "Or"
    return {"structured_query": {"query": {"match": {"column": "text", "terms": words, "operator": operator}}}}
