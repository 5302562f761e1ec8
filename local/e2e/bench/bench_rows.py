"""Work on the rows of tables: commits, bulk reads and writes, and searches."""

from __future__ import annotations

import concurrent.futures
import itertools
import shutil
from collections.abc import Callable, Iterator

import lance
import numpy as np
import pyarrow as pa

from bench_item import DIMENSIONS, MANY_DIMENSIONS, Bench, Item, Side, vector_rows
from wire import stream

CLIENTS, EACH = 16, 4  # side by side, and how often each writes in a round


def prepared(make: Callable, do: Callable) -> Callable:
    """An item's call for which something new is made each time, before the clock runs."""
    return lambda: (lambda made: lambda: do(made))(make())


def merged_rows(number: int, size: int) -> pa.Table:
    """900 rows that a table of that size has and 100 that it has not, others for each number."""
    old = vector_rows(900, start=(number * 900) % (size - 900), seed=number)
    return pa.concat_tables([old, vector_rows(100, start=20_000_000 + 100 * number)]).combine_chunks()


def commit_items(b: Bench) -> list[Item]:
    """Small changes of one table by one client."""
    size, rounds = b.sizes.commits, b.sizes.slow_rounds
    native = b.load("commits", vector_rows(size))
    path = "/v1/table/commits"

    def item(name: str, make: Callable, over_http: Callable, in_process: Callable, goals: tuple[float, float]) -> Item:
        """make gets a number that is new each time; its result is then sent."""
        numbers = [itertools.count() for _ in range(3)]
        sent = lambda side: lambda made: over_http(side, made)
        return Item(
            name,
            prepared(lambda: as_sent(make(next(numbers[0]))), sent(b.ours)),
            prepared(lambda: as_sent(make(next(numbers[1]))), sent(b.adapter)),
            prepared(lambda: make(next(numbers[2])), in_process),
            *goals,
            rounds=rounds,
        )

    as_sent = lambda made: stream(made) if isinstance(made, pa.Table) else made

    merge = f"{path}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    one = lambda number: f"id = {(number * 7919 + 3) % (size // 2)}"
    # From the other half, of which nothing is updated.
    ten = lambda number: f"id >= {size - 10 * (number + 1)} AND id < {size - 10 * number}"
    return [
        item(
            "insert 100 rows",
            lambda number: vector_rows(100, start=10_000_000 + 100 * number),
            lambda side, rows: side.upload(f"{path}/insert", rows),
            native.insert,
            (0.3, 0.9),
        ),
        item(
            "update 1 row",
            one,
            lambda side, where: side.post(f"{path}/update", {"predicate": where, "updates": [["s", "'changed'"]]}),
            lambda where: native.update({"s": "'changed'"}, where=where),
            (0.25, 0.25),
        ),
        item(
            "delete 10 rows",
            ten,
            lambda side, where: side.post(f"{path}/delete", {"predicate": where}),
            native.delete,
            (0.35, 0.5),
        ),
        item(
            "merge_insert 1,000 rows (900 update, 100 insert)",
            lambda number: merged_rows(number, size),
            lambda side, rows: side.upload(merge, rows),
            lambda rows: native.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows),
            (0.35, 0.45),
        ),
    ]


class Crowd:
    """Clients that do the same side by side, each on its own connection."""

    def __init__(self, b: Bench):
        self._pool = concurrent.futures.ThreadPoolExecutor(CLIENTS)
        self.ours, self.adapter = (
            [Side(side.wire.another(), side.root) for _ in range(CLIENTS)] for side in (b.ours, b.adapter)
        )

    def run(self, do: Callable, each: list) -> None:
        list(self._pool.map(do, each, range(CLIENTS)))


def commit_crowd_items(b: Bench) -> Iterator[Item]:
    """Sixteen writers add rows side by side, all at their own pace."""
    crowd = Crowd(b)
    parts = [[vector_rows(100, start=100 * (EACH * w + i), seed=w) for i in range(EACH)] for w in range(CLIENTS)]
    bodies = [[stream(part) for part in own] for own in parts]

    def into(name: str, tables: list[str], goals: tuple[float, float]) -> Item:
        def over_http(writer: Side, number: int) -> None:
            for body in bodies[number]:
                writer.upload(f"/v1/table/{tables[number % len(tables)]}/insert", body)

        def in_process(table: lance.LanceDataset, number: int) -> None:
            for part in parts[number]:
                table.insert(part)

        handles = [lance.dataset(b.native_root / f"{tables[w % len(tables)]}.lance") for w in range(CLIENTS)]
        return Item(
            name,
            lambda: lambda: crowd.run(over_http, crowd.ours),
            lambda: lambda: crowd.run(over_http, crowd.adapter),
            lambda: lambda: crowd.run(in_process, handles),
            *goals,
            rounds=b.sizes.crowd_rounds,
        )

    b.load("crowd", vector_rows(b.sizes.commits))
    yield into(f"{CLIENTS} writers insert 100 rows {EACH} times each", ["crowd"], (0.08, 0.3))
    tables = [f"crowd{number}" for number in range(CLIENTS)]
    for name in tables:
        b.load(name, vector_rows(1_000))
    yield into(f"the same into {CLIENTS} tables", tables, (0.25, 0.4))


def scan_rows(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "x": rng.random(count),
            "y": rng.normal(size=count).astype(np.float32),
            "s": pa.array([f"row number {i}" for i in range(count)]),
            "grp": pa.array(rng.permutation(count) % 100, pa.int32()),
        }
    )


def table_of(answer) -> pa.Table:
    """The rows of an answer, which pylance gives as a table."""
    return answer if isinstance(answer, pa.Table) else answer.table


def bulk_items(b: Bench) -> Iterator[Item]:
    yield creation(b)
    scan = b.load("scan", scan_rows(b.sizes.scan))
    columns = ["id", "x", "y", "s"]
    ask = lambda side, **fields: side.post(
        "/v1/table/scan/query", {"vector": {}, "k": 0, "columns": {"column_names": columns}, **fields}
    )
    slow = {"rounds": b.sizes.slow_rounds, "same": table_of}
    yield Item(
        f"scan {b.sizes.scan:,} rows (id, x, y, s)",
        lambda: ask(b.ours),
        lambda: ask(b.adapter),
        lambda: scan.to_table(columns=columns),
        0.4,
        1.0,
        **slow,
    )
    yield Item(
        "filter 1%, no index",
        lambda: ask(b.ours, filter="grp = 7"),
        lambda: ask(b.adapter, filter="grp = 7"),
        lambda: scan.to_table(columns=columns, filter="grp = 7"),
        0.35,
        0.4,
        **slow,
    )
    count = lambda side: side.post("/v1/table/scan/count_rows")
    yield b.both("count_rows", count, target=0.15, rounds=b.sizes.quick_rounds, same=lambda answer: answer.json)
    # What is left of that when there is nothing to do.
    yield Item("GET /healthz, beside count_rows", lambda: b.ours.get("/healthz"), lambda: count(b.adapter), rounds=b.sizes.quick_rounds)


def creation(b: Bench) -> Item:
    """Making a table of an Arrow stream, which is larger than the adapter takes."""
    rows = vector_rows(b.sizes.created)
    body = stream(rows)
    place = b.native_root / "created.lance"

    def forget_ours() -> None:
        b.ours.wire.post("/v1/table/created/drop", {})  # there is none the first time

    return Item(
        f"create a table of {len(body) // 1_000_000} MB",
        prepared(forget_ours, lambda _: b.ours.upload("/v1/table/created/create", body)),
        None,
        prepared(lambda: shutil.rmtree(place, ignore_errors=True), lambda _: lance.write_dataset(rows, place)),
        native_target=0.95,
        rounds=b.sizes.crowd_rounds,
    )


def vector_items(b: Bench) -> Iterator[Item]:
    """Searches without an index for the ten nearest, each time for those of another vector.

    Ours answers from the vectors that it has in its cache, which the peers read anew for each
    search; so there is also a search of ours that has to."""
    crowd = Crowd(b)
    yield from flat_searches(b, crowd, "vectors", b.sizes.vectors, DIMENSIONS, (0.3, 0.35), (0.2, 0.2))
    yield from flat_searches(b, crowd, "wide", b.sizes.wide_vectors, MANY_DIMENSIONS, (0.2, 0.2), (0.15, 0.15))


def flat_searches(
    b: Bench, crowd: Crowd, table: str, count: int, dimensions: int, alone: tuple[float, float], beside: tuple[float, float]
) -> Iterator[Item]:
    """One client, and all of them beside each other."""
    rows = vector_rows(count, dimensions=dimensions)
    native = b.load(table, rows)
    queries = np.random.default_rng(3).normal(size=(64, dimensions)).astype(np.float32)

    def over_http(side: Side, number: int):
        vector = {"single_vector": queries[number % len(queries)].tolist()}
        return side.post(f"/v1/table/{table}/query", {"vector": vector, "k": 10, "columns": {"column_names": ["id"]}})

    def in_process(_, number: int) -> pa.Table:
        near = {"column": "vector", "q": queries[number % len(queries)], "k": 10, "use_index": False}
        return native.to_table(columns=["id", "_distance"], nearest=near)

    def by_one(name: str, ours: Side) -> Item:
        turns = [itertools.count() for _ in range(3)]
        return Item(
            name,
            lambda: over_http(ours, next(turns[0])),
            lambda: over_http(b.adapter, next(turns[1])),
            lambda: in_process(None, next(turns[2])),
            *alone,
            rounds=b.sizes.slow_rounds,
            same=table_of,
        )

    yield by_one(f"flat search k=10, {count:,} x {dimensions}", b.ours)
    uncached = b.uncached()
    b.upload(uncached, table, rows)
    yield by_one("the same, vectors not in the cache", uncached)
    yield Item(
        f"the same by {CLIENTS} clients, once each",
        lambda: lambda: crowd.run(over_http, crowd.ours),
        lambda: lambda: crowd.run(over_http, crowd.adapter),
        lambda: lambda: crowd.run(in_process, [None] * CLIENTS),
        *beside,
        rounds=max(3, b.sizes.crowd_rounds // 2),
    )
