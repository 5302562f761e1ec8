"""Vectors in clusters, like those of texts and images, with queries of the same kind and their exact answers."""

from __future__ import annotations

import pathlib

import numpy as np

from peers.engine import NEAREST

CLUSTERS, SPREAD = 400, 0.6
CANDIDATES = 4 * NEAREST  # measured again, because the first distances are inexact: differences of large numbers
SLICE = 50_000


def write(place: pathlib.Path, rows: int, dimensions: int, queries: int) -> None:
    random = np.random.default_rng([400, rows, dimensions])
    centres = random.normal(size=(CLUSTERS, dimensions)).astype(np.float32)

    def around(count: int) -> np.ndarray:
        found = random.standard_normal(size=(count, dimensions), dtype=np.float32)
        found *= SPREAD
        numbers = random.integers(CLUSTERS, size=count)
        for start in range(0, count, SLICE):  # ten million vectors exist once
            found[start : start + SLICE] += centres[numbers[start : start + SLICE]]
        return found

    vectors, asked = around(rows), around(queries)
    for name, values in (("rows", vectors), ("queries", asked), ("exact", exact(vectors, asked))):
        np.save(place / f"{name}.npy", values)


def exact(vectors: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """The numbers of the nearest vectors of each query, the nearest first."""
    found = []
    for start in range(0, len(vectors), SLICE):
        some = vectors[start : start + SLICE]
        distances = (some**2).sum(axis=1) - 2 * queries @ some.T
        few = min(CANDIDATES, len(some) - 1)
        found.append(start + np.argpartition(distances, few, axis=1)[:, :few])
    candidates = np.concatenate(found, axis=1)
    answers = []
    for query, own in zip(queries.astype(np.float64), candidates):
        answers.append(own[np.argsort(((vectors[own] - query) ** 2).sum(axis=1), kind="stable")[:NEAREST]])
    return np.array(answers)
