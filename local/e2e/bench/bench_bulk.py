"""Many vectors: how long it takes to create a table of them and to index it, how much memory that takes, and how long
a search takes, warm and after a start. Our server beside LanceDB in process.

Each engine runs in a process of its own, alone. Our server has its default cache. Before the first search after a
start the system forgets what it has read of the files.

    make bench-bulk ARGS='--rows 10000000 --kinds IVF_PQ,IVF_RQ'     # needs 25 GB of disk for a while
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

from peers import child, cpu, data, table
from peers.engine import Data, Engine, Kind, decimals, label
from peers.measure import climb, least, say, timed
from peers.ours import OursClient, table_of
from peers.service import checked, pieces
from process import Server

CACHE = 512 << 20  # bytes, the default of the server
RECALL = 0.95
COLD = 20  # searches after a start
ROWS = 1_000_000  # of a request
HEAD = ["step", "s", "cpu s", "MB of memory", "what"]


class Bulk(Data):
    memory = CACHE


class Memory:
    """The most memory without a file behind it that the processes had while a step ran."""

    def __init__(self, processes):
        self.most, self.ended, self.processes = 0, threading.Event(), processes

    def __enter__(self) -> Memory:
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.ended.wait(0.1):
            self.most = max(self.most, sum(anonymous(pid) for pid in self.processes()))

    def __exit__(self, *_) -> None:
        self.ended.set()
        self.thread.join()


def anonymous(pid: int) -> int:
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon:")), 0)


class Steps:
    """The rows of the table of an engine."""

    def __init__(self, name: str, engine: Engine):
        self.name, self.engine, self.rows = name, engine, []

    def timed(self, step: str, work) -> None:
        with Memory(lambda: self.engine.processes) as memory:
            took = timed(work, lambda: self.engine.processes)
        self.add(step, table.number(took["s"]), table.number(took["cpu s"]), f"{memory.most / 1e6:,.0f}", "")

    def add(self, *cells: str) -> None:
        self.rows.append([f"{self.name}, {cells[0]}", *cells[1:]])
        say(" | ".join(self.rows[-1]))

    def kind(self, kind: Kind, place: pathlib.Path) -> None:
        self.timed(f"{kind.name}: build", lambda: self.engine.build(kind))
        client = self.engine.client(kind)
        client.open()
        curve = climb(client, kind, self.engine.data)
        client.close()
        enough = [step for step in curve if step["recall"] >= RECALL]
        step = least(enough) if enough else max(curve, key=lambda step: step["recall"])
        effort = f"recall {step['recall']:.3f} by {label(step['effort'])}"
        self.add(f"{kind.name}: warm search", f"{step['ms'] / 1e3:.5f}", "", "", effort)
        first, rest = cold(self.name, self.engine, kind, step["effort"], place / "tables")
        self.add(f"{kind.name}: first search after a start", f"{first:.3f}", "", "", f"then {rest * 1e3:.1f} ms, the median of {COLD}")


def load(engine: Engine) -> None:
    """Stores the vectors. The server gets them by several requests, of at most a gigabyte."""
    if not hasattr(engine, "service"):
        engine.load()
        return
    rows = table_of(engine.data)
    for start in range(0, rows.num_rows, ROWS):
        path = f"/v1/table/vectors/{'insert' if start else 'create'}"
        checked(path, engine.service.wire.upload_pieces(path, pieces(rows.slice(start, ROWS))))


def forget(place: pathlib.Path) -> None:
    """Lets the system forget what it has read of the files."""
    os.sync()
    for file in place.rglob("*"):
        if file.is_file():
            with open(file, "rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def cold(name: str, engine: Engine, kind: Kind, effort: dict, root: pathlib.Path) -> tuple[float, float]:
    """The seconds of the first search of a new process, and the median of those that follow with other vectors."""
    forget(root)
    queries = np.ascontiguousarray(engine.data.queries[: COLD + 1])
    if name == "ours":
        with Server(root, settings={"TILTYARD_CACHE_BYTES": str(CACHE)}, log="cold.log") as server:
            return times(OursClient(server.url, server.token, {}), effort, queries)
    task = {"what": "searches", "root": str(root), "kind": kind.name, "effort": effort, "queries": queries.tolist()}
    done = subprocess.run([sys.executable, __file__, "--child"], input=json.dumps(task), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-1000:])
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def times(client, effort: dict, queries: np.ndarray) -> tuple[float, float]:
    client.open()
    taken = []
    for call in client.calls(effort, queries):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    client.close()
    return taken[0], statistics.median(taken[1:])


def run_child(task: dict) -> None:
    if task["what"] == "searches":
        from peers.lance_engine import LanceClient

        client = LanceClient(task["root"], task["kind"] == "flat")
        print(json.dumps(times(client, task["effort"], np.array(task["queries"], dtype=np.float32))))
        return
    place = pathlib.Path(task["place"])
    own = place if task["engine"] == "ours" else place / "tables"
    engine = child.load(child.VECTORS[task["engine"]])(own, Bulk(pathlib.Path(task["data"])))
    steps = Steps(task["engine"], engine)
    try:
        steps.timed("create", lambda: load(engine))
        for kind in engine.KINDS:
            if kind.name in task["kinds"]:
                steps.kind(kind, place)
    finally:
        engine.close()
    print(json.dumps(steps.rows))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000)
    options.add_argument("--dim", type=int, default=128)
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--kinds", default="IVF_PQ,IVF_RQ,IVF_HNSW_SQ")
    options.add_argument("--only", default="ours,lancedb")
    options.add_argument("--root", help="where data is for a while, on a disk")
    options.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.child:
        run_child(json.load(sys.stdin))
        return
    rows = []
    with tempfile.TemporaryDirectory(prefix="tiltyard-bulk-", dir=given.root) as place:
        say(f"{given.rows:,} x {given.dim}: vectors and the exact answers of {given.queries} queries")
        data.write(pathlib.Path(place), given.rows, given.dim, given.queries)
        for engine in given.only.split(","):
            with tempfile.TemporaryDirectory(prefix=f"{engine}-", dir=place) as folder:
                task = {"what": "steps", "engine": engine, "place": folder, "data": place, "kinds": given.kinds.split(",")}
                done = subprocess.run([sys.executable, __file__, "--child"], input=json.dumps(task), stdout=subprocess.PIPE, text=True)
                if done.returncode:
                    sys.exit(f"{engine} failed")
                rows += json.loads(done.stdout.splitlines()[-1])
    print(f"{cpu.machine()}; {given.rows:,} x {given.dim}\n\n{table.markdown(HEAD, rows)}")


if __name__ == "__main__":
    main()
