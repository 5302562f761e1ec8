"""Changes of the catalog beside few tables and beside many.

Our changes should cost the same beside 100,000 tables as beside ten. The reference server keeps
all names in one table that grows with each change, so it is measured only up to the number of
tables that it can create in the time of a benchmark; beyond that, its last measure is used.
"""

from __future__ import annotations

import itertools
import json
import pathlib
import random
import statistics
import time

from process import Server
from wire import Line

CHANGES = 4  # in one round
FLAT = 1.5  # how much more a round may cost beside the most tables than beside the fewest


def catalog_items(b):
    """Yields one item for each number of tables. The tables of one are made before it is asked for."""
    for side in (b.ours, b.adapter):
        side.post("/v1/namespace/many/create")
        side.post("/v1/namespace/busy/create")
    numbers = {id(side): itertools.count() for side in (b.ours, b.adapter)}

    def change(side):
        changes(side.post, next(numbers[id(side)]))

    ours = theirs = 0
    for tables in b.sizes.catalog:
        write_records(b.ours.root, ours, tables)
        ours = tables
        if tables <= b.sizes.adapter_catalog:
            for number in range(theirs, tables):
                b.adapter.post(f"/v1/table/many$t{number:06}/declare")
            theirs = tables
        beside = f"{CHANGES} catalog changes beside {tables:,} tables"
        if theirs < tables:
            beside += f" (adapter: {theirs:,})"
        yield b.both(beside, change, target=0.1 if tables >= 1000 else None, rounds=b.sizes.slow_rounds)


def changes(post, number: int) -> None:
    """One round."""
    post(f"/v1/namespace/busy$n{number}/create")
    post(f"/v1/table/busy$t{number}/declare")
    post(f"/v1/table/busy$t{number}/drop")
    post(f"/v1/namespace/busy$n{number}/drop")


def write_records(root: pathlib.Path, first: int, end: int) -> None:
    """Writes the records of declared tables where the server keeps them, which takes less time
    than to ask for each. A record of an even number of bytes is that of a table."""
    folder = root / "_catalog" / "$many" / "t"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, end):
        name = f"t{number:06}"
        record = {
            "id": ["many", name],
            "uid": f"{number:024x}",
            "location": f"{name}-{number:024x}.lance",
            "created_at": "2026-01-01T00:00:00Z",
        }
        text = json.dumps(record, separators=(",", ":"))
        (folder / name).write_text(text + " " * (len(text) % 2))


def flatness(stack, sizes, place) -> str:
    """Says how much more changes cost beside the most tables than beside the fewest, by turns
    on servers of their own: place() returns a directory for one."""
    lines = {}
    for tables in sizes.catalog:
        root = place() / "root"
        server = stack.enter_context(Server(root, settings={"TILTYARD_LOG_LEVEL": "warn"}))
        lines[tables] = Line(server.url, server.token)
        for name in ("many", "busy"):
            changed(lines[tables], f"/v1/namespace/{name}/create")
        write_records(root, 0, tables)
    seconds = {tables: [] for tables in lines}
    for number in range(sizes.quick_rounds + 2):
        for tables in random.sample(list(lines), len(lines)):
            began = time.perf_counter()
            changes(lambda path, line=lines[tables]: changed(line, path), number)
            seconds[tables].append(time.perf_counter() - began)
    medians = [statistics.median(times[2:]) for times in seconds.values()]
    ratio = medians[-1] / medians[0]
    rates = ", ".join(f"{CHANGES / m:,.0f} beside {tables:,} tables" for tables, m in zip(seconds, medians))
    told = f"catalog changes per second of one client: {rates}; time {ratio:.2f} of the first"
    return told if ratio <= FLAT else f"{told}, which is not flat (≤ {FLAT})"


def changed(line, path: str) -> None:
    answer = line.post(path, {})
    if answer.status >= 300:
        raise SystemExit(f"bench: {path}: {answer.status} {answer.body[:300]!r}")
