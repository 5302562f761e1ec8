"""A load on the built functions as their catalog grows: what each operation asks of storage, and how long it takes,
beside 1,000 tables, 10,000, and 100,000.

The functions run behind a gateway over stand-ins of S3 and DynamoDB ("make load"). Callers side by side declare tables
until there are as many as a step names, and then send a mix of requests for random ones. What is printed comes from
the lines that the functions log for the requests of that mix. Requests to storage are what they are on S3;
milliseconds are those of this machine and of stand-ins in Python, whose time for a listing grows with what they hold.

    python load.py [--tables N,N,N] [--requests N] [--callers N] [--seed N]
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from process import Functions
from wire import Wire

PER_NAMESPACE = 1000
FILLED = 20  # tables with rows, of which the mix reads
PAGE = 100
SECONDS = 300  # for one request; a machine at work is slow
ROWS = pa.table({"id": pa.array(range(100)), "x": pa.array([i / 100 for i in range(100)])})
PROGRESS_SECONDS = 5


@dataclasses.dataclass
class Catalog:
    """The tables that there are: t0, t1 ... in namespaces of PER_NAMESPACE, and some with rows, others at each step:
    what earlier requests wrote is not to count."""

    tables: int = 0

    def table(self, number: int) -> str:
        return f"ns{number // PER_NAMESPACE}$t{number}"

    def some(self, chance: random.Random) -> str:
        return self.table(chance.randrange(self.tables))

    def namespace(self, chance: random.Random) -> str:
        return f"ns{chance.randrange(-(-self.tables // PER_NAMESPACE))}"

    def filled(self, number: int) -> str:
        return f"rows{self.tables}$t{number}"

    def some_filled(self, chance: random.Random) -> str:
        return self.filled(chance.randrange(FILLED))


def checked(answer):
    if answer.status >= 300:
        raise RuntimeError(f"{answer.status}: {bytes(answer.body[:300]).decode(errors='replace')}")
    return answer


class Callers:
    """Callers side by side, each with a connection of its own."""

    def __init__(self, url: str, token: str, callers: int, seed: int):
        self.wires = [Wire(url, token, timeout=SECONDS) for _ in range(callers)]
        self.chances = [random.Random(f"{seed}/{i}") for i in range(callers)]

    def each(self, count: int, doing: str, call) -> None:
        """Calls call(wire, chance, number) for the numbers below count, and says how far it is."""
        began = told = time.monotonic()
        done = [0] * len(self.wires)

        def work(caller: int) -> None:
            for number in range(caller, count, len(self.wires)):
                call(self.wires[caller], self.chances[caller], number)
                done[caller] += 1

        with ThreadPoolExecutor(len(self.wires)) as pool:
            working = [pool.submit(work, caller) for caller in range(len(self.wires))]
            while not all(w.done() for w in working):
                time.sleep(0.1)
                if time.monotonic() - told > PROGRESS_SECONDS:
                    told = time.monotonic()
                    rate = sum(done) / (told - began)
                    print(f"  {doing}: {sum(done):,} of {count:,}, {rate:,.0f} a second", file=sys.stderr, flush=True)
            for w in working:
                w.result()


def grow(callers: Callers, catalog: Catalog, tables: int) -> None:
    """Makes namespaces, and declares tables until there are so many."""
    first = catalog.tables
    for namespace in range(-(-first // PER_NAMESPACE), -(-tables // PER_NAMESPACE)):
        checked(callers.wires[0].post(f"/v1/namespace/ns{namespace}/create", {}))
    declare = lambda wire, _, number: checked(wire.post(f"/v1/table/{catalog.table(first + number)}/declare", {}))
    callers.each(tables - first, "declaring", declare)
    catalog.tables = tables


def fill(callers: Callers, catalog: Catalog) -> None:
    wire = callers.wires[0]
    checked(wire.post(f"/v1/namespace/rows{catalog.tables}/create", {}))
    for number in range(FILLED):
        checked(wire.upload(f"/v1/table/{catalog.filled(number)}/create", ROWS))


# What is asked, as a user would: mostly reads, some of them of rows, some changes.


def describe_namespace(wire, catalog, chance, _):
    return wire.post(f"/v1/namespace/{catalog.namespace(chance)}/describe", {})


def describe(wire, catalog, chance, _):
    return wire.post(f"/v1/table/{catalog.some(chance)}/describe", {})


def exists(wire, catalog, chance, _):
    return wire.post(f"/v1/table/{catalog.some(chance)}/exists", {})


def list_tables(wire, catalog, chance, _):
    return wire.call("GET", f"/v1/namespace/{catalog.namespace(chance)}/table/list?limit={PAGE}")


def count_rows(wire, catalog, chance, _):
    return wire.post(f"/v1/table/{catalog.some_filled(chance)}/count_rows", {})


def query(wire, catalog, chance, _):
    body = {"vector": {}, "k": 10, "filter": f"id = {chance.randrange(100)}"}
    return wire.post(f"/v1/table/{catalog.some_filled(chance)}/query", body)


def insert(wire, catalog, chance, _):
    return wire.upload(f"/v1/table/{catalog.some_filled(chance)}/insert", ROWS)


def come_and_go(wire, catalog, chance, number):
    table = f"{catalog.namespace(chance)}$new{number}"
    checked(wire.post(f"/v1/table/{table}/declare", {}))
    return wire.post(f"/v1/table/{table}/deregister", {})


MIX = {describe: 30, exists: 15, describe_namespace: 5, list_tables: 10, count_rows: 10, query: 20, insert: 2, come_and_go: 8}


def load(callers: Callers, catalog: Catalog, requests: int) -> None:
    def one(wire, chance, number):
        [ask] = chance.choices(list(MIX), MIX.values())
        checked(ask(wire, catalog, chance, number))

    callers.each(requests, f"asking beside {catalog.tables:,} tables", one)


@dataclasses.dataclass
class Cost:
    """What the requests of one operation took: means of what they asked of storage, and milliseconds."""

    count: int
    reads: float
    writes: float
    kilobytes: float
    median: float
    slow: float  # the 99th of a hundred

    @staticmethod
    def of(lines: list[dict]) -> Cost:
        took = sorted(line["duration_ms"] for line in lines)

        def mean(*names: str) -> float:
            return sum(line[name] for line in lines for name in names) / len(lines)

        return Cost(
            len(lines),
            mean("storage_reads"),
            mean("storage_writes"),
            mean("storage_bytes_read", "storage_bytes_written") / 1000,
            statistics.median(took),
            took[(len(took) - 1) * 99 // 100],
        )

    def cells(self) -> str:
        return f"{self.reads:.2f} / {self.writes:.2f} | {self.kilobytes:,.1f} | {self.median:,.0f} / {self.slow:,.0f}"


def costs(log: bytes) -> dict[str, Cost]:
    """Reads the lines of requests in a log. Each other caller's fault is looked for by who called."""
    by_operation = collections.defaultdict(list)
    for text in log.splitlines():
        if b'"storage_reads"' in text:
            line = json.loads(text)
            by_operation[line["operation"]].append(line)
    return {operation: Cost.of(lines) for operation, lines in sorted(by_operation.items())}


def table_of(steps: dict[int, dict[str, Cost]]) -> str:
    head = "reads / writes | kB | ms, median / 99th"
    lines = [
        "| operation | " + " | ".join(f"{tables:,} tables: {head}" for tables in steps) + " |",
        "|---|" + "--:|" * 3 * len(steps),
    ]
    operations = list(dict.fromkeys(operation for step in steps.values() for operation in step))
    for operation in operations:
        cells = [step[operation].cells() if operation in step else "- | - | -" for step in steps.values()]
        lines.append(f"| {operation} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def run(functions: Functions, given: argparse.Namespace) -> dict[int, dict[str, Cost]]:
    callers = Callers(functions.url, functions.token, given.callers, given.seed)
    catalog, steps = Catalog(), {}
    for tables in sorted(int(n) for n in given.tables.split(",")):
        grow(callers, catalog, tables)
        fill(callers, catalog)
        load(callers, catalog, given.requests // 10)  # warms what is to be warm
        before, began = functions.log_path.stat().st_size, time.monotonic()
        load(callers, catalog, given.requests)
        rate = given.requests / (time.monotonic() - began)
        print(f"{tables:,} tables: {rate:,.0f} requests a second", file=sys.stderr)
        steps[tables] = costs(functions.log_path.read_bytes()[before:])
    return steps


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tables", default="1000,10000,100000", help="how many tables there are at each step")
    arguments.add_argument("--requests", type=int, default=4000, help="of the mix, at each step")
    arguments.add_argument("--callers", type=int, default=16)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    os.environ["TILTYARD_METRICS"] = "off"  # the lines of requests are enough
    with tempfile.TemporaryDirectory() as scratch:
        functions = Functions(pathlib.Path(scratch) / "functions.log").start()
        try:
            print(table_of(run(functions, given)))
        finally:
            functions.stop()


if __name__ == "__main__":
    main()
