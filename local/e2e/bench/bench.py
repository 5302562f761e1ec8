"""The benchmark: our server against native Lance, both sides in one run.

The peers are pylance's reference REST server (RestAdapter, a process of its own over a
directory) and pylance in this process, which has no HTTP to pay for. Each item is run by
turns, ours and theirs, so that a noisy machine is noisy for all; what counts is the
ratio of the medians. Ours and the reference server are spoken to by the same plain HTTP
client on one kept-alive connection, with the same requests. Their answers are compared
once before anything is measured.

    python bench.py [--quick] [--json FILE] [--only WORDS] [--root DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa

from bench_catalog import catalog_items, flatness
from bench_indices import index_items
from bench_item import QUICK, Bench, Item, Side, Sizes, vector_rows
from bench_rows import bulk_items, commit_crowd_items, commit_items, vector_items
from process import REPOSITORY, Server
from rows import by, difference
from wire import Line, stream

METADATA = 0.33  # target: ours/adapter, time


# The two servers


def serve_adapter(root: str) -> None:
    """Runs the reference server until the standard input ends (in a process of its own)."""
    import lance.namespace

    with lance.namespace.RestAdapter("dir", {"root": root}, port=0) as adapter:
        print(adapter.port, flush=True)
        sys.stdin.read()


@contextlib.contextmanager
def adapter_process(root: pathlib.Path):
    command = [sys.executable, __file__, "--serve-adapter", str(root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield Line(f"http://127.0.0.1:{int(process.stdout.readline())}")
        process.stdin.close()


# Items


def namespace_items(b: Bench) -> list[Item]:
    rounds = b.sizes.quick_rounds
    made = {id(side): itertools.count() for side in (b.ours, b.adapter)}
    gone = {id(side): itertools.count() for side in (b.ours, b.adapter)}
    small = {"target": METADATA, "rounds": rounds}
    for side in (b.ours, b.adapter):
        side.post("/v1/namespace/fixed/create", {"properties": {"a": "b"}})
        side.post("/v1/namespace/listed/create")
        for i in range(b.sizes.names):
            side.post(f"/v1/namespace/listed$n{i:05}/create")

    def list_pages(side: Side):
        names, token = [], ""
        while True:
            page = side.get(f"/v1/namespace/listed/list?limit=100{token}").json
            names += page["namespaces"]
            if not page.get("page_token"):
                return names
            token = "&page_token=" + page["page_token"]

    return [
        b.both("namespace create", lambda s: s.post(f"/v1/namespace/c{next(made[id(s)])}/create"), **small),
        b.both(
            "namespace describe",
            lambda s: s.post("/v1/namespace/fixed/describe"),
            same=lambda a: a.json["properties"],
            **small,
        ),
        b.both("namespace exists", lambda s: s.post("/v1/namespace/fixed/exists"), same=lambda a: a.body, **small),
        b.both("namespace drop", lambda s: s.post(f"/v1/namespace/c{next(gone[id(s)])}/drop"), **small),
        b.both(
            f"list {b.sizes.names} namespaces, pages of 100",
            list_pages,
            same=list,
            target=METADATA,
            rounds=b.sizes.slow_rounds,
        ),
    ]


def table_items(b: Bench) -> list[Item]:
    rounds = b.sizes.quick_rounds
    small = {"target": METADATA, "rounds": rounds}
    made = {id(side): itertools.count() for side in (b.ours, b.adapter)}
    gone = {id(side): itertools.count() for side in (b.ours, b.adapter)}
    back = {id(side): itertools.count() for side in (b.ours, b.adapter)}
    places: dict[int, list[str]] = {id(side): [] for side in (b.ours, b.adapter)}
    few = vector_rows(10)
    for side in (b.ours, b.adapter):
        for name in ("tables", "listing"):
            side.post(f"/v1/namespace/{name}/create")
        side.upload("/v1/table/tables$kept/create", stream(few))
        for i in range(b.sizes.names):
            side.post(f"/v1/table/listing$t{i:05}/declare")
        for i in range(rounds + 2):  # warm-up included
            side.upload(f"/v1/table/tables$r{i}/create", stream(few))
        side.upload("/v1/table/tables$versions/create", stream(few))
        for _ in range(b.sizes.versions - 1):
            side.upload("/v1/table/tables$versions/insert", stream(few))

    def deregister(side: Side):
        answer = side.post(f"/v1/table/tables$r{next(gone[id(side)])}/deregister")
        # The adapter takes only locations relative to its root.
        places[id(side)].append(answer.json["location"].rstrip("/").rsplit("/", 1)[1])

    def register(side: Side):
        number = next(back[id(side)])
        side.post(f"/v1/table/tables$back{number}/register", {"location": places[id(side)][number]})

    def list_pages(side: Side):
        names, token = [], ""
        while True:
            page = side.get(f"/v1/namespace/listing/table/list?limit=100{token}").json
            names += page["tables"]
            if not page.get("page_token"):
                return names
            token = "&page_token=" + page["page_token"]

    schema = lambda a: [f["name"] for f in a.json["schema"]["fields"]]
    # Ours compacts a table of so many inserts, which makes versions of its own.
    versions = lambda a: sorted(v["version"] for v in a.json["versions"])[: b.sizes.versions]
    return [
        b.both("table declare", lambda s: s.post(f"/v1/table/tables$d{next(made[id(s)])}/declare"), **small),
        b.both("table exists", lambda s: s.post("/v1/table/tables$kept/exists"), **small),
        b.both("table describe", lambda s: s.post("/v1/table/tables$kept/describe"), **small),
        b.both(
            "table describe, detailed",
            lambda s: s.post("/v1/table/tables$kept/describe", {"load_detailed_metadata": True}),
            same=schema,
            **small,
        ),
        b.both("table deregister", deregister, **small),
        b.both("table register", register, **small),
        b.both(
            f"list {b.sizes.names} tables, pages of 100",
            list_pages,
            same=list,
            target=METADATA,
            rounds=b.sizes.slow_rounds,
        ),
        b.both(
            f"version list ({b.sizes.versions})",
            lambda s: s.post("/v1/table/tables$versions/version/list"),
            same=versions,
            **small,
        ),
        b.both(
            "version list, latest",
            lambda s: s.post("/v1/table/tables$versions/version/list?limit=1&descending=true"),
            same=lambda a: len(a.json["versions"]),
            **small,
        ),
    ]


# Measuring


def timed(call: Callable) -> float:
    """The seconds of one call; one that returns a function is prepared first."""
    began = time.perf_counter()
    prepared = call()
    if callable(prepared):
        began = time.perf_counter()
        prepared()
    return time.perf_counter() - began


def calls_of(item: Item) -> dict[str, Callable]:
    """The calls of an item by side, of those that have one."""
    calls = {"ours": item.ours, "adapter": item.adapter, "native": item.native}
    return {who: call for who, call in calls.items() if call is not None}


def compare(item: Item) -> None:
    """All sides must answer the same before their speed counts."""
    if item.same is None:
        return
    answers = {who: item.same(call()) for who, call in calls_of(item).items()}
    want = answers["adapter"]
    for who, got in answers.items():
        if isinstance(want, pa.Table):
            order = "_distance" if "_distance" in want.column_names else "id"
            problem = difference(by(got, order), by(want, order))
        else:
            problem = None if got == want else f"{got!r}, want {want!r}"
        if problem:
            raise SystemExit(f"bench: {item.name}: {who} and the adapter differ: {problem}")


def measure(item: Item) -> dict:
    """Runs an item by turns, in an order drawn anew each time."""
    compare(item)
    calls = calls_of(item)
    for call in calls.values():
        timed(call)
    seconds: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(item.rounds):
        for who in random.sample(list(calls), len(calls)):
            seconds[who].append(timed(calls[who]))
    result = {"item": item.name, "targets": {"adapter": item.target, "native": item.native_target}, "rounds": item.rounds}
    for who, times in seconds.items():
        times.sort()
        result[who] = {"p50_ms": statistics.median(times) * 1e3, "p99_ms": times[int(0.99 * (len(times) - 1))] * 1e3}
    for who in ("adapter", "native"):
        if who in seconds:
            result[f"ours/{who}"] = result["ours"]["p50_ms"] / result[who]["p50_ms"]
    return result


# Telling


PEERS = {"adapter": "adapter", "native": "pylance"}


def row(item: str, figures: list[str], ratios: list[str]) -> str:
    return f"{item:50}" + "".join(f" {f:>17}" for f in figures) + "".join(f"  {r:>16}" for r in ratios)


HEAD = row("", [f"{who} p50/p99" for who in ("ours", *PEERS.values())], [f"/{who}, target" for who in PEERS.values()])


def line(result: dict) -> str:
    def pair(who: str) -> str:
        return f"{result[who]['p50_ms']:8.2f} {result[who]['p99_ms']:8.2f}" if who in result else ""

    def ratio(who: str) -> str:
        if who not in result:
            return ""
        target = result["targets"][who]
        return f"{result[f'ours/{who}']:.3f}" + (f"  ≤ {target:<5}" if target else " " * 9)

    told = row(result["item"], [pair(who) for who in ("ours", *PEERS)], [ratio(who) for who in PEERS])
    return told + ("  MISSED" if missed(result) else "")


def aimed(result: dict) -> list[str]:
    """The peers to which there is a target."""
    return [who for who in PEERS if result["targets"][who] and who in result]


def missed(result: dict) -> list[str]:
    return [who for who in aimed(result) if result[f"ours/{who}"] > result["targets"][who]]


def conditions() -> str:
    """What a reader has to know of the machine: peers that use all cores suffer more from
    others on it."""
    load = ", ".join(f"{x:.1f}" for x in os.getloadavg())
    return f"{os.cpu_count()} cores, load averages at the end {load} (1, 5 and 15 minutes)."


def markdown(results: list[dict]) -> str:
    """The items with a target as the table of docs/speed.md. What missed its target is bold."""

    def milliseconds(result: dict, who: str) -> str:
        if who not in result:
            return ""
        p50 = result[who]["p50_ms"]
        return f"{p50:.2f}" if p50 < 10 else f"{p50:,.0f}"

    def ratio(result: dict, who: str) -> str:
        if who not in aimed(result):
            return ""
        told = f"{result[f'ours/{who}']:.2f} (≤ {result['targets'][who]})"
        return f"**{told}**" if who in missed(result) else told

    lines = [conditions(), "", "| milliseconds, median | ours | adapter | pylance | ours / adapter | ours / pylance |", "|---|--:|--:|--:|--:|--:|"]
    for result in filter(aimed, results):
        cells = [milliseconds(result, who) for who in ("ours", *PEERS)] + [ratio(result, who) for who in PEERS]
        lines.append(f"| {result['item']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def memory() -> str | None:
    """Returns a folder in memory, if there is room. Tables of all sides lie there unless --root
    is given, so that the servers are compared and not the disk: our server waits until each
    commit is on the disk, the peers never do."""
    place = pathlib.Path("/dev/shm")
    return str(place) if place.is_dir() and shutil.disk_usage(place).free > 3 << 30 else None


def durable_write(directory: pathlib.Path, size: int = 512 << 10) -> float:
    """Returns the milliseconds that it takes to write a file of that size and to wait until it
    is on the disk. Each of our commits takes that time at least once, those of the peers never."""
    times = []
    for number in range(20):
        began = time.perf_counter()
        with open(directory / f"floor{number}", "wb") as file:
            file.write(bytes(size))
            file.flush()
            os.fsync(file.fileno())
        times.append(time.perf_counter() - began)
        os.remove(directory / f"floor{number}")
    return statistics.median(times) * 1e3


GROUPS = (namespace_items, table_items, catalog_items, commit_items, commit_crowd_items, bulk_items, vector_items, index_items)


def run(sizes: Sizes, only: list[str], out: pathlib.Path, root: str | None) -> None:
    chosen = [items for items in GROUPS if not only or any(word in items.__name__ for word in only)]
    results = []
    with contextlib.ExitStack() as stack:
        place = lambda where: pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tiltyard-bench-", dir=where))
        )
        where = root or memory()
        ours, adapters, natives = place(where) / "root", place(where), place(where)
        server = stack.enter_context(Server(ours, settings={"TILTYARD_LOG_LEVEL": "warn"}))
        adapter = stack.enter_context(adapter_process(adapters))

        def uncached() -> Side:
            root = place(where) / "root"
            settings = {"TILTYARD_LOG_LEVEL": "warn", "TILTYARD_CACHE_BYTES": "16MiB"}
            small = stack.enter_context(Server(root, settings=settings))
            return Side(Line(small.url, small.token), root)

        bench = Bench(Side(Line(server.url, server.token), ours), Side(adapter, adapters), natives, sizes, uncached)
        print("milliseconds of one client; ratios of medians, ours/peer: below 1 we are faster\n")
        print(HEAD)
        for items in chosen:
            for item in items(bench):
                results.append(measure(item))
                print(line(results[-1]), flush=True)
                if item.note:
                    results[-1]["note"] = item.note()
                    print(f"  {results[-1]['note']}", flush=True)
        if catalog_items in chosen:
            print("\n" + flatness(stack, sizes, lambda: place(where)))
        print(f"\nstart of the server, to its first answer: {server.started_in * 1e3:.0f} ms")
        print(f"512 KiB written and synced there, without any server: {durable_write(ours):.2f} ms")
    late = [f"{r['item']} (/{PEERS[who]})" for r in results for who in missed(r)]
    count = sum(len(aimed(r)) for r in results)
    print(f"{count - len(late)} of {count} targets met" + (f"; missed: {', '.join(late)}" if late else ""))
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"sizes": dataclasses.asdict(sizes), "results": results}, indent=1) + "\n")
    print(f"all figures: {out}\n\n{markdown(results)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables and few rounds: does it run at all?")
    parser.add_argument(
        "--json",
        type=pathlib.Path,
        default=REPOSITORY / "bin" / "bench.json",
        metavar="FILE",
        help="where the figures go",
    )
    parser.add_argument(
        "--only",
        type=lambda words: words.split(","),
        default=[],
        metavar="WORDS",
        help="some, with commas between, of namespace, table, catalog, commit, crowd, bulk and vector",
    )
    parser.add_argument(
        "--root", metavar="DIR", help="where the tables of all sides go, such as a disk; in memory when not given"
    )
    parser.add_argument("--serve-adapter", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve_adapter:
        serve_adapter(options.serve_adapter)
        return
    run(QUICK if options.quick else Sizes(), options.only, options.json, options.root)


if __name__ == "__main__":
    main()
