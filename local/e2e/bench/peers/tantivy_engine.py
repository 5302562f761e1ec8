"""tantivy in process, with an index in memory."""

from __future__ import annotations

import os
from collections.abc import Callable

import pyarrow as pa
import tantivy

from peers import texts
from peers.engine import NEAREST

HEAP = 512 << 20


class TantivyTexts(texts.Engine):
    def load(self, rows: pa.Table) -> None:
        self.rows = rows
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", stored=False)
        schema.add_integer_field("id", stored=True, fast=True)
        self.index = tantivy.Index(schema.build())

    def build(self) -> None:
        """Adds the documents, which indexes them, and waits until no segments are being merged."""
        writer = self.index.writer(HEAP, os.cpu_count())
        for number, text in zip(self.rows["id"].to_pylist(), self.rows["text"].to_pylist()):
            writer.add_document(tantivy.Document(text=text, id=number))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def call(self, kind: str, words: str) -> Callable:
        asked = {texts.ALL: " AND ".join(words.split()), texts.PHRASE: f'"{words}"'}.get(kind, words)
        query = self.index.parse_query(asked, ["text"])
        return lambda: [self.searcher.doc(address)["id"] for _, address in self.searcher.search(query, NEAREST, count=False).hits]

    def ids(self, answer) -> list[int]:
        return answer
