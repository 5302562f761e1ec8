"""The benchmark of the Lance engine alone: ours against native Lance, both in process.

Our engine runs in a process that gets its work over a pipe and returns the time that it took
(local/tools/enginebench); native Lance is pylance in this process. Both open the same tables, in
memory so that no disk is measured, again for each round. They take turns and use all cores.
Ratios are of medians, ours/native: below 1 ours is faster.

    python bench_engine.py [--quick] [--json FILE] [--only WORD]
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("LANCE_LOG", "error")  # read once, by the import

import lance
import numpy as np
import pyarrow as pa

from bench_item import documents, vector_rows
from process import REPOSITORY

SCAN, TAKE, WRITE = 1.0, 1.0, 1.25  # targets: ours/native, time
INDEX = {"FTS": 0.8, "BTREE": 1.0, "BITMAP": 1.0}
VECTORS = {128: 0.4, 768: 0.3}  # IVF_PQ, by dimensions
SCAN_MEMORY_KB = 256 << 10


@dataclasses.dataclass
class Sizes:
    numbers: int = 2_000_000
    strings: int = 1_000_000
    vectors: int = 200_000
    nested: int = 300_000
    taken_from: int = 10_000_000
    large: int = 2_500_000  # vectors: 1.3 GB
    indexed: int = 100_000
    indexed_vectors: dict[int, int] = dataclasses.field(default_factory=lambda: {128: 100_000, 768: 25_000})
    rounds: int = 11
    slow_rounds: int = 2  # of builds that take native Lance many seconds


QUICK = Sizes(numbers=100_000, strings=50_000, vectors=10_000, nested=20_000, taken_from=200_000, large=50_000, indexed=5_000, indexed_vectors={128: 5_000, 768: 5_000}, rounds=3)


# Data


def numbers(count: int) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "id": np.arange(count),
            "small": rng.integers(0, 1000, count, dtype=np.int32),
            "any": rng.integers(-(2**62), 2**62, count),
            "x": rng.random(count),
            "y": rng.normal(size=count).astype(np.float32),
            "maybe": pa.array(np.arange(count, dtype=np.int32), mask=rng.random(count) < 0.1),
            "flag": rng.random(count) < 0.5,
            "at": pa.array(1_700_000_000_000_000 + np.cumsum(rng.integers(0, 10**6, count)), pa.timestamp("us")),
        }
    )


def strings(count: int) -> pa.Table:
    rng = np.random.default_rng(2)
    words = np.array("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi".split())
    text = [" ".join(line) for line in rng.choice(words, (count, 12))]
    return pa.table(
        {
            "name": pa.array([f"row number {i}" for i in range(count)]),
            "url": pa.array([f"https://example.com/items/{i * 7919 % count}/view?page={i % 10}" for i in range(count)]),
            "kind": pa.array(rng.choice(words, count).tolist()),
            "text": pa.array(text),
        }
    )


def vectors(count: int) -> pa.Table:
    values = np.random.default_rng(3).random(count * 128, dtype=np.float32)
    return pa.table({"id": np.arange(count), "vector": pa.FixedSizeListArray.from_arrays(pa.array(values), 128)})


def nested(count: int) -> pa.Table:
    rng = np.random.default_rng(4)
    offsets = pa.array(np.concatenate([[0], np.cumsum(rng.integers(0, 5, count))]).astype(np.int32))
    total = offsets[-1].as_py()
    items = pa.StructArray.from_arrays(
        [pa.array(rng.integers(0, 100, total, dtype=np.int32)), pa.array([f"item {i % 977}" for i in range(total)])],
        ["n", "label"],
    )
    where = pa.StructArray.from_arrays([pa.array(rng.random(count)), pa.array(rng.random(count))], ["lat", "lon"])
    return pa.table({"items": pa.ListArray.from_arrays(offsets, items), "where": where})


def taken_from(count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({"id": np.arange(count), "x": rng.random(count), "s": pa.array([f"row number {i}" for i in range(count)])})


# The two sides


class Engine:
    """Our engine in a process of its own."""

    def __init__(self, binary: pathlib.Path):
        self._process = subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request) -> dict:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("bench: the engine ended; see above")
        return json.loads(answer)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_) -> None:
        self._process.stdin.close()
        self._process.wait()


def timed(work: Callable[[], int]) -> dict:
    began = time.perf_counter()
    rows = work()
    return {"seconds": time.perf_counter() - began, "rows": rows}


def native_scan(path: pathlib.Path) -> dict:
    return timed(lambda: sum(batch.num_rows for batch in lance.dataset(path).scanner().to_batches()))


def native_take(path: pathlib.Path, rows: list[int]) -> dict:
    opened = []

    def take() -> int:
        opened.append(lance.dataset(path))
        return opened[0].take(rows).num_rows

    done = timed(take)
    stats = opened[0].io_stats_snapshot()
    return done | {"requests": stats.read_iops, "bytes": stats.read_bytes}


def native_index(path: pathlib.Path, column: str, kind: str) -> dict:
    """Builds with the parameters of ours: its partitions of 8,192 rows, sub-vectors of 16 dimensions."""

    def build() -> int:
        table = lance.dataset(path)
        if kind == "IVF_PQ":
            parts = max(1, table.count_rows() // 8192)
            subs = table.schema.field(column).type.list_size // 16
            table.create_index(column, kind, metric="l2", num_partitions=parts, num_sub_vectors=subs, replace=True)
            return 0
        table.create_scalar_index(column, {"FTS": "INVERTED"}.get(kind, kind), replace=True)
        return 0

    return timed(build)


# Measuring


def measure(name: str, target: float, rounds: int, ours: Callable[[], dict], native: Callable[[], dict]) -> dict:
    """Runs both by turns, in an order drawn anew each time, after once to warm up."""
    calls = {"ours": ours, "native": native}
    warm = {who: call() for who, call in calls.items()}
    if warm["ours"]["rows"] != warm["native"]["rows"]:
        raise SystemExit(f"bench: {name}: rows differ: {warm}")
    seconds: dict[str, list[float]] = {who: [] for who in calls}
    for _ in range(rounds):
        for who in random.sample(list(calls), len(calls)):
            seconds[who].append(calls[who]()["seconds"])
    result = {"item": name, "target": target} | {f"{who}_ms": statistics.median(s) * 1e3 for who, s in seconds.items()}
    result["ratio"] = result["ours_ms"] / result["native_ms"]
    for what in ("requests", "bytes"):
        if what in warm["native"]:
            result[what] = {who: warm[who][what] for who in calls}
    return result


def line(r: dict) -> str:
    missed = "  MISSED" if r["ratio"] > r["target"] else ""
    return f"{r['item']:34} {r['ours_ms']:10.1f} {r['native_ms']:10.1f} {r['ratio']:8.2f}  ≤ {r['target']:<5}{missed}"


def scans_and_writes(engine: Engine, place: pathlib.Path, sizes: Sizes):
    for make in (numbers, strings, vectors, nested):
        table = make(getattr(sizes, make.__name__))
        path, source, fresh = (place / f"{make.__name__}.{kind}" for kind in ("lance", "arrows", "new"))
        with pa.ipc.new_stream(source, table.schema) as out:
            out.write_table(table, max_chunksize=64 << 10)
        engine.ask(do="load", path=str(source))

        def new() -> pathlib.Path:
            shutil.rmtree(fresh, ignore_errors=True)
            return fresh

        yield measure(
            f"write {make.__name__}",
            WRITE,
            sizes.rounds,
            lambda: engine.ask(do="write", path=str(new()), source=str(source)),
            lambda: (lambda path: timed(lambda: lance.write_dataset(table, path).count_rows()))(new()),
        )
        new()
        lance.write_dataset(table, path)
        yield measure(
            f"scan {make.__name__}",
            SCAN,
            sizes.rounds,
            lambda: engine.ask(do="scan", path=str(path)),
            lambda: native_scan(path),
        )
        shutil.rmtree(path)
        source.unlink()


def takes(engine: Engine, place: pathlib.Path, sizes: Sizes):
    path = place / "taken.lance"
    made = lance.write_dataset(taken_from(sizes.taken_from), path)
    lengths = [fragment.count_rows() for fragment in made.get_fragments()]
    rows = sorted(random.Random(6).sample(range(sizes.taken_from), 1000))
    addresses = [row // lengths[0] << 32 | row % lengths[0] for row in rows]
    yield measure(
        f"take 1,000 of {sizes.taken_from:,} rows",
        TAKE,
        sizes.rounds,
        lambda: engine.ask(do="take", path=str(path), rows=addresses),
        lambda: native_take(path, rows),
    )
    shutil.rmtree(path)


def indices(engine: Engine, place: pathlib.Path, sizes: Sizes):
    ours, theirs = (place / f"{who}.lance" for who in ("ours", "theirs"))
    for path in (ours, theirs):
        lance.write_dataset(documents(sizes.indexed), path)
    for kind, target in INDEX.items():
        column = "text" if kind == "FTS" else kind
        yield measure(
            f"index {sizes.indexed:,} rows: {kind}",
            target,
            sizes.rounds,
            lambda: engine.ask(do="index", path=str(ours), columns=[column], kind=kind),
            lambda: native_index(theirs, column, kind),
        )
    for path in (ours, theirs):
        shutil.rmtree(path)


def vector_indices(engine: Engine, place: pathlib.Path, sizes: Sizes):
    for dimensions, target in VECTORS.items():
        count = sizes.indexed_vectors[dimensions]
        ours, theirs = (place / f"{who}{dimensions}.lance" for who in ("ours", "theirs"))
        for path in (ours, theirs):
            lance.write_dataset(vector_rows(count, dimensions=dimensions), path)
        yield measure(
            f"index {count:,} x {dimensions}: IVF_PQ",
            target,
            sizes.slow_rounds,
            lambda: engine.ask(do="index", path=str(ours), columns=["vector"], kind="IVF_PQ"),
            lambda: native_index(theirs, "vector", "IVF_PQ"),
        )
        for path in (ours, theirs):
            shutil.rmtree(path)


def scan_memory(binary: pathlib.Path, place: pathlib.Path, sizes: Sizes) -> int:
    """The most memory, in KiB, of a process that scans one large table."""
    path = place / "large.lance"
    chunk = 100_000
    parts = (vectors(min(chunk, sizes.large - at)) for at in range(0, sizes.large, chunk))
    schema = vectors(1).schema
    lance.write_dataset(pa.RecordBatchReader.from_batches(schema, (b for t in parts for b in t.to_batches())), path)
    with Engine(binary) as engine:
        done = engine.ask(do="scan", path=str(path))
    shutil.rmtree(path)
    if done["rows"] != sizes.large:
        raise SystemExit(f"bench: scanned {done['rows']} of {sizes.large} rows")
    return done["peak_rss_kb"]


def run(sizes: Sizes, only: str, out: pathlib.Path) -> None:
    binary = REPOSITORY / "bin" / "enginebench"
    subprocess.run(["go", "build", "-o", str(binary), "./local/tools/enginebench"], cwd=REPOSITORY, check=True)
    memory = "/dev/shm" if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 << 30 else None
    results = []
    with contextlib.ExitStack() as stack:
        place = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tiltyard-bench-", dir=memory)))
        engine = stack.enter_context(Engine(binary))
        print(f"{'':34} {'ours ms':>10} {'native ms':>10} {'ratio':>8}  target")
        for items in (scans_and_writes, takes, indices, vector_indices):
            if only and only not in items.__name__:
                continue
            for result in items(engine, place, sizes):
                results.append(result)
                print(line(result), flush=True)
                for what in ("requests", "bytes"):
                    if what in result:
                        print(f"{'  ' + what + ' read':34} {result[what]['ours']:10,} {result[what]['native']:10,}")
        if not only or only in "memory":
            peak = scan_memory(binary, place, sizes)
            late = "  MISSED" if peak > SCAN_MEMORY_KB else ""
            print(f"peak memory of a scan of {sizes.large * 520 >> 20:,} MiB: {peak >> 10} MiB, target ≤ 256{late}")
            results.append({"item": "peak memory of a scan", "kb": peak})
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps({"sizes": dataclasses.asdict(sizes), "results": results}, indent=1) + "\n")
    print(f"all figures: {out}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables and few rounds: does it run at all?")
    parser.add_argument(
        "--json", type=pathlib.Path, default=REPOSITORY / "bin" / "bench-engine.json", metavar="FILE",
        help="where the figures go",
    )
    parser.add_argument("--only", default="", metavar="WORD", help="scans, takes, indices, vector_indices or memory")
    options = parser.parse_args()
    run(QUICK if options.quick else Sizes(), options.only, options.json)


if __name__ == "__main__":
    main()
