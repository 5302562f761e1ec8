"""The cost of small warm requests to our server: processor time of its process, with four clients."""

from __future__ import annotations

import functools
import pathlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from peers import ours_texts, texts
from peers.crowd import Crowd
from peers.service import JSON, Service, checked, query, request
from wire import Line

CLIENTS = 4
ROWS = 100_000
COLUMNS = ["id", "x", "y", "s"]
DIFFERENT = 200  # requests of each client
WARM_TURNS = 3  # passes over all requests before they count


def rows(count: int) -> pa.Table:
    random = np.random.default_rng(3)
    text = [f"row {i}" for i in range(count)]
    return pa.table({"id": random.permutation(count), "x": random.random(count), "y": random.random(count), "s": text})


def requests(line: Line, count: int, words: dict[str, list[str]], client: int) -> dict[str, list[Callable]]:
    some = [int(number) for number in np.random.default_rng(client).integers(count, size=DIFFERENT)]
    hundred = lambda first: ", ".join(str((first + 7919 * i) % count) for i in range(100))
    match = lambda kind: [query(line, "texts", ["id"], full_text_query=ours_texts.wanted(kind, found)) for found in words[kind]]
    healthz = lambda: checked("/healthz", line.call("GET", "/healthz", None, JSON))
    return {
        "GET /healthz": [healthz],
        "count_rows": [request(line, "/v1/table/rows/count_rows", {"predicate": None})],
        "point lookup, BTREE": [query(line, "rows", COLUMNS, 0, filter=f"id = {number}") for number in some],
        "100 rows by id, BTREE": [query(line, "rows", COLUMNS, 0, filter=f"id IN ({hundred(number)})") for number in some],
        **{f"FTS, {kind}": match(kind) for kind in words},
    }


def asking(url: str, token: str, count: int, words: dict, name: str, number: int) -> tuple[list[Callable], Callable]:
    line = Line(url, token)
    return requests(line, count, words, number)[name] * WARM_TURNS, line.close


def measure(place: pathlib.Path, count: int, documents: pa.Table, seconds: float) -> dict:
    service = Service(place, 1 << 30)
    crowd = Crowd("fork", CLIENTS, lambda: service.processes)
    service.create("rows", rows(count))
    service.index("rows", "id", "BTREE")
    service.create("texts", documents)
    service.index("texts", "text", "FTS", with_position=True, stem=False, remove_stop_words=False)
    words, figures = texts.searches(documents), {}
    for name in requests(service.line(), count, words, 0):
        done = crowd.run(functools.partial(asking, service.server.url, service.server.token, count, words, name), seconds)
        figures |= {f"{name}: {figure}": done[figure] for figure in ("cpu ms", "q/s")}
    service.close()
    return figures
