"""Texts with the word frequencies of a natural language, searches in them, and the measurement of an engine of texts."""

from __future__ import annotations

import os
import pathlib
import statistics
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from peers import cpu
from peers.engine import NEAREST
from peers.measure import timed

WORDS, VOCABULARY, SKEW = 50, 60_000, 1.25
KINDS = ONE, TWO, ALL, COMMON, PHRASE = "one word", "two words", "two words, both required", "a very common word", "a phrase"
SEARCHES = 200
SECONDS = 3  # at most for the processor time of a kind


def vocabulary() -> np.ndarray:
    random, letters = np.random.default_rng(7), np.array(list("etaoinshrdlu"))
    # A word ends with its rank, written in the other letters of the alphabet, so that all words differ.
    tail = lambda rank: "".join("bcfgjkmpqv"[int(digit)] for digit in str(rank))
    return np.array(["".join(letters[random.integers(0, 12, random.integers(2, 8))]) + tail(rank) for rank in range(VOCABULARY)])


def documents(count: int) -> pa.Table:
    words = vocabulary()
    ranks = np.minimum(np.random.default_rng(8).zipf(SKEW, (count, WORDS)) - 1, VOCABULARY - 1)
    return pa.table({"id": np.arange(count), "text": [" ".join(words[row]) for row in ranks]})


def searches(rows: pa.Table) -> dict[str, list[str]]:
    """Words of documents drawn at random, so that frequent words are sought more often than rare ones."""
    drawn = np.random.default_rng(9).integers(rows.num_rows, size=SEARCHES)
    of = [text.split() for text in rows["text"].take(drawn).to_pylist()]
    return {
        ONE: [words[0] for words in of],
        TWO: [f"{words[0]} {words[-1]}" for words in of],
        ALL: [f"{words[0]} {words[-1]}" for words in of],
        COMMON: list(vocabulary()[:3]),
        PHRASE: [f"{words[10]} {words[11]}" for words in of],
    }


class Engine:
    """An engine of texts. By default it works in this process."""

    def __init__(self, place: pathlib.Path):
        self.place = place

    @property
    def processes(self) -> list[int]:
        return [os.getpid()]

    def load(self, rows: pa.Table) -> None: ...

    def build(self) -> None:
        raise NotImplementedError

    def call(self, kind: str, words: str) -> Callable:
        """A search for the ten best documents, ready to be timed."""
        raise NotImplementedError

    def ids(self, answer) -> list[int]:
        raise NotImplementedError

    def close(self) -> None: ...


def measure(engine: Engine, rows: pa.Table) -> dict:
    """Seconds to build, and for each kind of search the median of one client and the processor time of the engine."""
    engine.load(rows)
    built = timed(engine.build, lambda: engine.processes)
    figures = {"build s": built["s"], "build cpu s": built["cpu s"]}
    for kind, wanted in searches(rows).items():
        calls = [engine.call(kind, words) for words in wanted]
        found = [len(engine.ids(call())) for call in calls]
        if not any(found):
            raise RuntimeError(f"no search for {kind} finds anything")
        times, before, deadline = [], cpu.used(engine.processes), time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            for call in calls:
                began = time.perf_counter()
                call()
                times.append(time.perf_counter() - began)
        figures[f"{kind}: ms"] = statistics.median(times) * 1e3
        figures[f"{kind}: cpu ms"] = (cpu.used(engine.processes) - before) / len(times) * 1e3
        figures[f"{kind}: found"] = sum(found) / (NEAREST * len(found))
    return figures
