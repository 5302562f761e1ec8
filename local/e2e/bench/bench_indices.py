"""Work by indices: lookups, searches by vectors and words, and a merge by an index of its keys.

Each side has an index of its own making, but for the adapter, which has those of pylance. Searches that may
miss rows also tell their recall: the part of the ten nearest that they found."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import lance
import numpy as np
import pyarrow as pa

from bench_item import DIMENSIONS, MANY_DIMENSIONS, Bench, Item, Side, documents, vector_rows
from bench_rows import CLIENTS, Crowd, merged_rows, prepared, scan_rows, table_of
from wire import stream

QUERIES, NEAREST = 64, 10
PATIENCE = 300  # seconds for an index


def build(b: Bench, table: str, column: str, kind: str, native: Callable[[lance.LanceDataset], object], **fields) -> lance.LanceDataset:
    """Builds an index on all sides; ours is built by the server, from a request."""
    for root in (b.adapter.root, b.native_root):
        native(lance.dataset(root / f"{table}.lance"))
    b.ours.post(f"/v1/table/{table}/create_index", {"column": column, "index_type": kind, **fields})
    deadline = time.monotonic() + PATIENCE
    while not b.ours.post(f"/v1/table/{table}/index/list").json["indexes"]:
        if time.monotonic() > deadline:
            raise SystemExit(f"bench: {kind} of {table} was not built")
        time.sleep(0.1)
    return lance.dataset(b.native_root / f"{table}.lance")


def btree(dataset: lance.LanceDataset, column: str = "id") -> None:
    dataset.create_scalar_index(column, "BTREE")


def index_items(b: Bench) -> Iterator[Item]:
    crowd = Crowd(b)
    yield from lookups(b, crowd)
    yield merge(b)
    yield from nearest(b, crowd, "near", b.sizes.vectors, DIMENSIONS, 16, (0.12, 0.35), (0.05, 0.12))
    yield from nearest(b, crowd, "nearwide", b.sizes.wide_indexed, MANY_DIMENSIONS, 96, (0.12, 0.3), (0.06, 0.15))
    yield from matches(b, crowd)


def alone_and_beside(
    b: Bench, crowd: Crowd, name: str, rounds: int, over_http: Callable, in_process: Callable, alone: tuple, beside: tuple, **fields
) -> Iterator[Item]:
    """One client, and all of them side by side. Both functions take a number that is new each time."""
    turns = [itertools.count() for _ in range(3)]
    yield Item(
        name,
        lambda: over_http(b.ours, next(turns[0])),
        lambda: over_http(b.adapter, next(turns[1])),
        lambda: in_process(None, next(turns[2])),
        *alone,
        rounds=rounds,
        **fields,
    )
    many = lambda do: lambda side, client: [do(side, 1000 * client + turn) for turn in range(4)]
    yield Item(
        f"the same by {CLIENTS} clients, 4 each",
        lambda: lambda: crowd.run(many(over_http), crowd.ours),
        lambda: lambda: crowd.run(many(over_http), crowd.adapter),
        lambda: lambda: crowd.run(many(in_process), [None] * CLIENTS),
        *beside,
        rounds=b.sizes.crowd_rounds,
    )


def lookups(b: Bench, crowd: Crowd) -> Iterator[Item]:
    b.load("lookups", scan_rows(b.sizes.scan))
    build(b, "lookups", "grp", "BTREE", lambda d: btree(d, "grp"))
    native = build_second(b)
    columns = ["id", "x", "y", "s"]

    def having(
        condition: Callable[[int], str], name: str, rounds: int, alone: tuple, beside: tuple, *, nothing: bool = False
    ) -> Iterator[Item]:
        def over_http(side: Side, number: int):
            if nothing and side.root == b.ours.root:
                return side.get("/healthz")
            fields = {"vector": {}, "k": 0, "columns": {"column_names": columns}, "filter": condition(number)}
            return side.post("/v1/table/lookups/query", fields)

        def in_process(_, number: int) -> pa.Table:
            return native.to_table(columns=columns, filter=condition(number))

        same = None if nothing else table_of
        return alone_and_beside(b, crowd, name, rounds, over_http, in_process, alone, beside, same=same)

    some = lambda number: (number * 7919 + 3) % b.sizes.scan
    hundred = lambda number: f"id IN ({', '.join(str(some(number * 100 + i)) for i in range(100))})"
    quick, slow = b.sizes.quick_rounds, b.sizes.slow_rounds
    one = lambda number: f"id = {some(number)}"
    yield from having(one, "point lookup, BTREE", quick, (0.13, 0.55), (0.07, 0.2))
    # What is left of that when there is nothing to do.
    yield from having(one, "GET /healthz, beside the peers' point lookups", quick, (None, None), (None, None), nothing=True)
    yield from having(hundred, "take 100 rows by id, BTREE", slow, (0.2, 0.4), (0.1, 0.2))
    yield next(iter(having(lambda number: f"grp = {number % 100}", "filter 1%, BTREE", slow, (0.3, 0.35), (None, None))))


def build_second(b: Bench) -> lance.LanceDataset:
    """Builds the index on id beside that on grp."""
    for root in (b.adapter.root, b.native_root):
        btree(lance.dataset(root / "lookups.lance"))
    b.ours.post("/v1/table/lookups/create_index", {"column": "id", "index_type": "BTREE"})
    while len(b.ours.post("/v1/table/lookups/index/list").json["indexes"]) < 2:
        time.sleep(0.1)
    return lance.dataset(b.native_root / "lookups.lance")


def merge(b: Bench) -> Item:
    size, table = b.sizes.commits, "keyed"
    b.load(table, vector_rows(size))
    native = build(b, table, "id", "BTREE", btree)
    path = f"/v1/table/{table}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    turns = [itertools.count() for _ in range(3)]
    rows = lambda turn: merged_rows(next(turns[turn]), size)
    return Item(
        "merge_insert 1,000 rows, BTREE on the key",
        prepared(lambda: stream(rows(0)), lambda body: b.ours.upload(path, body)),
        prepared(lambda: stream(rows(1)), lambda body: b.adapter.upload(path, body)),
        prepared(
            lambda: rows(2), lambda made: native.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(made)
        ),
        0.25,
        0.35,
        rounds=b.sizes.slow_rounds,
    )


def nearest(
    b: Bench, crowd: Crowd, table: str, count: int, dimensions: int, sub_vectors: int, alone: tuple, beside: tuple
) -> Iterator[Item]:
    """Searches by an index of vectors, which lie around centres as those of texts and images do."""
    random = np.random.default_rng(5)
    centres = random.normal(size=(count // 100, dimensions)).astype(np.float32)
    around = lambda n: centres[random.integers(len(centres), size=n)] + random.normal(size=(n, dimensions)).astype(np.float32) * 0.6
    values, queries = around(count), around(QUERIES)
    rows = pa.table({"id": np.arange(count), "vector": pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), dimensions)})
    b.load(table, rows)
    parts = {"num_partitions": max(16, int(count**0.5)), "num_sub_vectors": sub_vectors}
    native = build(b, table, "vector", "IVF_PQ", lambda d: d.create_index("vector", "IVF_PQ", metric="l2", **parts), distance_type="l2", **parts)
    norms = (values**2).sum(axis=1)
    exact = [set(np.argpartition(norms - 2 * values @ q, NEAREST)[:NEAREST].tolist()) for q in queries]
    how = {"nprobes": 20, "refine_factor": 10}

    def over_http(side: Side, number: int):
        vector = {"single_vector": queries[number % QUERIES].tolist()}
        fields = {"vector": vector, "k": NEAREST, "columns": {"column_names": ["id"]}, **how}
        return side.post(f"/v1/table/{table}/query", fields)

    def in_process(_, number: int) -> pa.Table:
        near = {"column": "vector", "q": queries[number % QUERIES], "k": NEAREST, **how}
        return native.to_table(columns=["id", "_distance"], nearest=near)

    def recall() -> str:
        def of(search: Callable[[int], object]) -> float:
            found = (set(table_of(search(i))["id"].to_pylist()) for i in range(QUERIES))
            return sum(len(f & e) for f, e in zip(found, exact)) / (NEAREST * QUERIES)

        sides = {
            "ours": lambda i: over_http(b.ours, i),
            "adapter": lambda i: over_http(b.adapter, i),
            "pylance": lambda i: in_process(None, i),
        }
        return f"recall@{NEAREST}: " + ", ".join(f"{who} {of(search):.3f}" for who, search in sides.items())

    name = f"IVF_PQ k=10 nprobes 20 refine 10, {count:,} x {dimensions}"
    yield from alone_and_beside(b, crowd, name, b.sizes.quick_rounds, over_http, in_process, alone, beside, note=recall)


def matches(b: Bench, crowd: Crowd) -> Iterator[Item]:
    """The ten best documents for two words."""
    rows = documents(b.sizes.documents)
    b.load("texts", rows)
    native = build(b, "texts", "text", "FTS", lambda d: d.create_scalar_index("text", "INVERTED"))
    texts = rows["text"].to_pylist()

    def words(number: int) -> str:
        text = texts[number * 7919 % len(texts)].split()
        return f"{text[0]} {text[-1]}"

    def over_http(side: Side, number: int):
        query = {"string_query": {"query": words(number), "columns": ["text"]}}
        return side.post("/v1/table/texts/query", {"vector": {}, "k": NEAREST, "full_text_query": query, "columns": {"column_names": ["BTREE"]}})

    def in_process(_, number: int) -> pa.Table:
        return native.to_table(columns=["BTREE", "_score"], full_text_query=words(number), limit=NEAREST)

    name = f"FTS match of two words, top 10 of {b.sizes.documents:,}"
    best = lambda answer: [round(score, 3) for score in table_of(answer)["_score"].to_pylist()]
    yield from alone_and_beside(b, crowd, name, b.sizes.quick_rounds, over_http, in_process, (0.12, 0.75), (0.08, 0.4), same=best)
