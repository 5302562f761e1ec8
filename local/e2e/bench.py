"""The benchmark: our server against native Lance, both sides in one run.

The peers are pylance's reference REST server (RestAdapter, a process of its own over a
directory) and pylance in this process, which has no HTTP to pay for. Each item is run by
turns, ours and theirs, so that a noisy machine is noisy for all; what counts is the
ratio of the medians. Ours and the reference server are spoken to by the same plain HTTP
client on one kept-alive connection, with the same requests. Their answers are compared
once before anything is measured.

    python bench.py [--quick] [--json FILE] [--only WORD] [--root DIR]
"""

from __future__ import annotations

import argparse
import concurrent.futures
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

os.environ.setdefault("LANCE_LOG", "error")  # read once, by the import: pylance warns of new tables

import lance
import numpy as np
import pyarrow as pa

from bench_catalog import catalog_items, flatness
from process import REPOSITORY, Server
from rows import by, difference
from wire import Line, Wire, stream

DIMENSIONS, MANY_DIMENSIONS = 128, 768
METADATA, CROWD, WRITE, READ = 0.33, 0.3, 0.5, 1.0  # targets: ours/adapter, time


@dataclasses.dataclass
class Sizes:
    scan: int = 1_000_000
    vectors: int = 100_000
    wide_vectors: int = 50_000
    commits: int = 100_000
    names: int = 1_000  # namespaces and tables in the lists
    versions: int = 100
    catalog: tuple[int, ...] = (10, 1_000, 100_000)  # tables beside which names change
    adapter_catalog: int = 1_000  # the most of them at the adapter
    quick_rounds: int = 100  # of small operations
    slow_rounds: int = 20  # of scans and writes


QUICK = Sizes(
    scan=200_000,
    vectors=20_000,
    wide_vectors=5_000,
    commits=20_000,
    names=100,
    versions=20,
    catalog=(10, 100, 1_000),
    adapter_catalog=100,
    quick_rounds=20,
    slow_rounds=5,
)


@dataclasses.dataclass
class Item:
    """One thing to measure: what to do at ours, at the adapter, and in process if that
    means anything. What they return must be equal where same says so."""

    name: str
    ours: Callable
    adapter: Callable
    native: Callable | None = None
    target: float | None = None
    rounds: int = 0
    same: Callable | None = None


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


class Side:
    """One server: requests are the same for both, but for how a location is written."""

    def __init__(self, wire: Wire, root: pathlib.Path):
        self.wire, self.root = wire, root
        self.numbers = itertools.count()

    def post(self, path: str, fields=None):
        return self._checked(path, self.wire.post(path, fields if fields is not None else {}))

    def get(self, path: str):
        return self._checked(path, self.wire.call("GET", path))

    def upload(self, path: str, data: bytes):
        return self._checked(path, self.wire.upload(path, data))

    def _checked(self, path: str, answer):
        if answer.status >= 300:
            raise SystemExit(f"bench: {path}: {answer.status} {answer.body[:300]!r}")
        return answer


# Data


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


def vector_rows(count: int, start: int = 0, seed: int = 2, dimensions: int = DIMENSIONS) -> pa.Table:
    values = np.random.default_rng(seed).normal(size=count * dimensions).astype(np.float32)
    return pa.table(
        {
            "id": pa.array(np.arange(start, start + count)),
            "s": pa.array([f"row {i}" for i in range(start, start + count)]),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), dimensions),
        }
    )


@dataclasses.dataclass
class Bench:
    ours: Side
    adapter: Side
    native_root: pathlib.Path
    sizes: Sizes

    def load(self, name: str, rows: pa.Table) -> lance.LanceDataset:
        """Puts a table everywhere. The adapter refuses bodies above 2 MiB, so its files are
        written by pylance; ours come through the front door."""
        lance.write_dataset(rows, self.adapter.root / f"{name}.lance")
        self.ours.upload(f"/v1/table/{name}/create", stream(rows))
        return lance.write_dataset(rows, self.native_root / f"{name}.lance")

    def both(self, name: str, do: Callable, **fields) -> Item:
        return Item(name, lambda: do(self.ours), lambda: do(self.adapter), **fields)


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
    versions = lambda a: sorted(v["version"] for v in a.json["versions"])
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
            same=versions,
            **small,
        ),
    ]


def write_items(b: Bench) -> list[Item]:
    rounds, size = b.sizes.slow_rounds, b.sizes.commits
    native = b.load("commits", vector_rows(size))
    numbers = {
        what: itertools.count() for what in ("ours", "adapter", "native", "ours merge", "adapter merge", "native merge")
    }

    def new_rows(who: str) -> pa.Table:
        return vector_rows(1000, start=10_000_000 + 1000 * next(numbers[who]))

    def merged_rows(who: str) -> pa.Table:
        """900 rows that are there and 100 that are not."""
        number = next(numbers[who])
        old = vector_rows(900, start=(number * 900) % (size - 900), seed=number)
        return pa.concat_tables([old, vector_rows(100, start=20_000_000 + 100 * number)]).combine_chunks()

    def prepared(who: str, rows: Callable, send: Callable) -> Callable:
        """The rows are made before the clock runs."""
        return lambda: (lambda data: lambda: send(data))(rows(who))

    insert = lambda side: lambda data: side.upload("/v1/table/commits/insert", data)
    path = "/v1/table/commits/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
    merge = lambda side: lambda data: side.upload(path, data)
    native_merge = lambda rows: (
        native.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
    )
    as_stream = lambda rows: lambda who: stream(rows(who))
    return [
        Item(
            "insert 1,000 rows",
            prepared("ours", as_stream(new_rows), insert(b.ours)),
            prepared("adapter", as_stream(new_rows), insert(b.adapter)),
            prepared("native", new_rows, native.insert),
            target=WRITE,
            rounds=rounds,
        ),
        Item(
            "merge_insert 1,000 rows (900 update, 100 insert)",
            prepared("ours merge", as_stream(merged_rows), merge(b.ours)),
            prepared("adapter merge", as_stream(merged_rows), merge(b.adapter)),
            prepared("native merge", merged_rows, native_merge),
            target=WRITE,
            rounds=rounds,
        ),
    ]


WRITERS, EACH = 16, 4


def crowd_items(b: Bench) -> list[Item]:
    """Sixteen writers add rows to one table side by side, all at their own pace."""
    b.load("crowd", vector_rows(b.sizes.commits))
    pool = concurrent.futures.ThreadPoolExecutor(WRITERS)
    sides = {"ours": b.ours, "adapter": b.adapter}
    wires = {who: [Side(side.wire.another(), side.root) for _ in range(WRITERS)] for who, side in sides.items()}
    bodies = [[stream(vector_rows(100, start=100 * (EACH * w + i), seed=w)) for i in range(EACH)] for w in range(WRITERS)]

    def add(writer: Side, data: list[bytes]) -> None:
        for body in data:
            writer.upload("/v1/table/crowd/insert", body)

    return [
        Item(
            f"{WRITERS} writers insert 100 rows {EACH} times each",
            lambda: lambda: list(pool.map(add, wires["ours"], bodies)),
            lambda: lambda: list(pool.map(add, wires["adapter"], bodies)),
            target=CROWD,
            rounds=b.sizes.slow_rounds,
        )
    ]


def read_items(b: Bench) -> list[Item]:
    scan = b.load("scan", scan_rows(b.sizes.scan))
    columns = ["id", "x", "y", "s"]
    ask = lambda side, table, **fields: side.post(f"/v1/table/{table}/query", {"vector": {}, "k": 0, **fields})
    named = {"column_names": columns}
    rows = lambda a: a if isinstance(a, pa.Table) else a.table
    slow = {"rounds": b.sizes.slow_rounds, "same": rows}
    return [
        Item(
            f"scan {b.sizes.scan:,} rows (id, x, y, s)",
            lambda: ask(b.ours, "scan", columns=named),
            lambda: ask(b.adapter, "scan", columns=named),
            lambda: scan.to_table(columns=columns),
            target=READ,
            **slow,
        ),
        Item(
            "filter 1%, no index",
            lambda: ask(b.ours, "scan", columns=named, filter="grp = 7"),
            lambda: ask(b.adapter, "scan", columns=named, filter="grp = 7"),
            lambda: scan.to_table(columns=columns, filter="grp = 7"),
            target=READ,
            **slow,
        ),
        flat_search(b, "vectors", b.sizes.vectors, DIMENSIONS, rows=rows),
        flat_search(b, "wide", b.sizes.wide_vectors, MANY_DIMENSIONS, rows=rows),
        Item(
            "count_rows",
            lambda: b.ours.post("/v1/table/scan/count_rows"),
            lambda: b.adapter.post("/v1/table/scan/count_rows"),
            scan.count_rows,
            rounds=b.sizes.quick_rounds,
            same=lambda a: a if isinstance(a, int) else a.json,
        ),
    ]


def flat_search(b: Bench, table: str, count: int, dimensions: int, rows: Callable) -> Item:
    """A search without an index for the ten nearest, each time for those of another vector."""
    native = b.load(table, vector_rows(count, dimensions=dimensions))
    queries = np.random.default_rng(3).normal(size=(64, dimensions)).astype(np.float32)
    turn = {who: itertools.count() for who in ("ours", "adapter", "native")}
    pick = lambda who: queries[next(turn[who]) % len(queries)]
    near = lambda side, who: side.post(
        f"/v1/table/{table}/query",
        {"vector": {"single_vector": pick(who).tolist()}, "k": 10, "columns": {"column_names": ["id"]}},
    )
    return Item(
        f"flat search k=10, {count:,} x {dimensions}",
        lambda: near(b.ours, "ours"),
        lambda: near(b.adapter, "adapter"),
        lambda: native.to_table(
            columns=["id", "_distance"], nearest={"column": "vector", "q": pick("native"), "k": 10, "use_index": False}
        ),
        target=READ,
        rounds=b.sizes.quick_rounds,
        same=rows,
    )


# Measuring


def timed(call: Callable) -> float:
    """The seconds of one call; one that returns a function is prepared first."""
    began = time.perf_counter()
    prepared = call()
    if callable(prepared):
        began = time.perf_counter()
        prepared()
    return time.perf_counter() - began


def compare(item: Item) -> None:
    """Both servers, and pylance, must answer the same before their speed counts."""
    if item.same is None:
        return
    calls = {"ours": item.ours, "the adapter": item.adapter} | ({"pylance": item.native} if item.native else {})
    answers = {who: item.same(call()) for who, call in calls.items()}
    want = answers["the adapter"]
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
    calls = {"ours": item.ours, "adapter": item.adapter} | ({"native": item.native} if item.native else {})
    for call in calls.values():
        timed(call)
    seconds: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(item.rounds):
        for who in random.sample(list(calls), len(calls)):
            seconds[who].append(timed(calls[who]))
    result = {"item": item.name, "target": item.target, "rounds": item.rounds}
    for who, times in seconds.items():
        times.sort()
        result[who] = {"p50_ms": statistics.median(times) * 1e3, "p99_ms": times[int(0.99 * (len(times) - 1))] * 1e3}
    for who in ("adapter", "native"):
        if who in seconds:
            result[f"ours/{who}"] = result["ours"]["p50_ms"] / result[who]["p50_ms"]
    return result


# Telling


def row(item: str, figures: list[str], to_adapter: str, target: str, to_native: str) -> str:
    return f"{item:50}" + "".join(f" {f:>17}" for f in figures) + f"  {to_adapter:>8} {target:>7}  {to_native:>8}"


HEAD = row("", ["ours p50/p99", "adapter p50/p99", "pylance p50/p99"], "/adapter", "target", "/pylance")


def line(result: dict) -> str:
    def pair(who: str) -> str:
        return f"{result[who]['p50_ms']:8.2f} {result[who]['p99_ms']:8.2f}" if who in result else ""

    def ratio(who: str) -> str:
        return f"{result[f'ours/{who}']:.3f}" if f"ours/{who}" in result else ""

    target = f"≤ {result['target']}" if result["target"] else ""
    figures = [pair(who) for who in ("ours", "adapter", "native")]
    return row(result["item"], figures, ratio("adapter"), target, ratio("native")) + (
        "  MISSED" if missed(result) else ""
    )


def missed(result: dict) -> bool:
    return result["target"] is not None and result["ours/adapter"] > result["target"]


def memory() -> str | None:
    """A place in memory, if there is room. Tables lie there on all sides unless --root says
    otherwise, so that servers are compared and not a disk: ours waits until each commit is
    on it, the peers never do."""
    place = pathlib.Path("/dev/shm")
    return str(place) if place.is_dir() and shutil.disk_usage(place).free > 3 << 30 else None


def durable_write(directory: pathlib.Path, size: int = 512 << 10) -> float:
    """The milliseconds of writing a file of that size and waiting until it is on the disk:
    what each of our commits pays at least once, and the peers never."""
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


def run(sizes: Sizes, only: str, out: pathlib.Path, root: str | None) -> None:
    results = []
    with contextlib.ExitStack() as stack:
        place = lambda where: pathlib.Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="tiltyard-bench-", dir=where))
        )
        where = root or memory()
        ours, adapters, natives = place(where) / "root", place(where), place(where)
        server = stack.enter_context(Server(ours, settings={"TILTYARD_LOG_LEVEL": "warn"}))
        adapter = stack.enter_context(adapter_process(adapters))
        bench = Bench(Side(Line(server.url, server.token), ours), Side(adapter, adapters), natives, sizes)
        print("milliseconds of one client; ratios of medians, ours/peer: below 1 we are faster\n")
        print(HEAD)
        for items in (namespace_items, table_items, catalog_items, write_items, crowd_items, read_items):
            if only and only not in items.__name__:
                continue
            for item in items(bench):
                results.append(measure(item))
                print(line(results[-1]), flush=True)
        if not only or only in catalog_items.__name__:
            print("\n" + flatness(stack, sizes, lambda: place(where)))
        print(f"\nstart of the server, to its first answer: {server.started_in * 1e3:.0f} ms")
        print(f"512 KiB written and synced there, without any server: {durable_write(ours):.2f} ms")
    aimed, late = [r for r in results if r["target"]], [r["item"] for r in results if missed(r)]
    print(f"{len(aimed) - len(late)} of {len(aimed)} targets met" + (f"; missed: {', '.join(late)}" if late else ""))
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"sizes": dataclasses.asdict(sizes), "results": results}, indent=1) + "\n")
    print(f"all figures: {out}")


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
    parser.add_argument("--only", default="", metavar="WORD", help="namespace, table, catalog, write, crowd or read")
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
