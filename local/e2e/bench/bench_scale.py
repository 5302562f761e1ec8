"""Large queries by functions, over a bucket that is as far away as one in AWS: how long they take cold and warm, what
they ask of the storage, what a million of them costs, and what the model of docs/scale.md predicts.

Our server creates and indexes the tables in a directory. Then the built functions, at most eight of each at once, answer
queries over a stand-in for S3 (local/standins/bucket) that serves the same directory: each answer begins 20 ms
later, and has 75 MB a second. All of them share the cores of this machine, so the table also has the seconds of
processor time; the model tells what the same query takes where each function has its own.

    make bench-scale                                                        # ten million rows; some minutes
    make bench-scale ARGS='--rows 100000000 --documents 10000000'           # an hour, and 40 GB of disk for a while
    make bench-scale ARGS='--root /mnt/scale'                               # keeps the tables there for the next run
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import http.client
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from peers import cpu, table
from peers.measure import say
from peers.service import Service, checked, pieces
from process import REPOSITORY
from wire import Wire

LATENCY, RATE = 0.020, 75.0  # seconds, megabytes a second of a stream
READ_PRICE, WRITE_PRICE = 0.40e-6, 5.00e-6  # dollars for a request to S3
GIGABYTE_SECOND, CALL = 0.0000166667, 0.20e-6  # dollars of Lambda
MEMORY = 2.0  # gigabytes of a function
CALL_SECONDS, COLD_SECONDS, REQUEST_SECONDS = 0.015, 0.045, 0.002  # of a function, of its start, of a request beyond the latency
STAGE = "scale"
CACHE = 512 << 20
BATCH = 1_000_000  # rows of a request: they become a fragment that maintenance leaves as it is
MOST_FLAT = 6 << 30  # bytes of vectors that the functions, on the cores of this machine, measure before their time limit
LABELS = 1_000
WORDS, SHORTEST, LONGEST = 50_000, 10, 50  # of all texts, and of one
QUERIES = 400
OFTEN = 50  # searches by an index after which an instance has opened most files of the table
GROUPS = "SELECT label % 10 AS digit, count(*) AS n, avg(id) AS mean FROM vectors WHERE label <> {} GROUP BY label % 10"
CENTRES, SPREAD = 400, 0.6


@dataclasses.dataclass
class Case:
    """A kind of query. ask returns the path and the body of the query with a number."""

    name: str
    ask: Callable[[int], tuple[str, dict]]
    check: Callable[[object], bool]
    before: int = 2  # queries after a start that do not count as warm yet


def cases(given: argparse.Namespace) -> list[Case]:
    random = np.random.default_rng(17)
    queries = vectors(random, QUERIES, given.dimension)
    words = random.integers(100, 2_000, size=(QUERIES, 2))
    query = "/v1/table/vectors/query"
    columns = {"column_names": ["id"]}

    def nearest(n: int, **fields) -> dict:
        return {"vector": {"single_vector": [round(float(x), 6) for x in queries[n]]}, "k": 10, "columns": columns, **fields}

    def text(n: int) -> dict:
        match = {"match": {"column": "text", "terms": " ".join(word(w) for w in words[n]), "operator": "Or"}}
        return {"vector": {}, "k": 10, "columns": columns, "full_text_query": {"structured_query": {"query": match}}}

    ten = lambda answer: answer.table.num_rows == 10
    return [
        Case("count with a filter", lambda n: ("/v1/table/vectors/count_rows", {"predicate": f"label < {n + 5}"}), lambda a: a.json > 0),
        Case(
            "rows of a filter, 1 of 10,000",
            lambda n: (query, {"vector": {}, "k": 0, "filter": f"label = {n} AND id % 10 = 3", "columns": columns}),
            lambda a: a.table.num_rows > 0,
        ),
        Case("groups in SQL", lambda n: ("/v1/sql", {"query": GROUPS.format(n)}), ten),
        Case("nearest, IVF_PQ", lambda n: (query, nearest(n, nprobes=20)), ten, OFTEN),
        Case("nearest, IVF_PQ, refine 5", lambda n: (query, nearest(n, nprobes=20, refine_factor=5)), ten, OFTEN),
        Case("texts with two words", lambda n: ("/v1/table/texts/query", text(n)), ten, OFTEN),
        Case("nearest, flat", lambda n: (query, nearest(n, bypass_vector_index=True)), ten),
    ]


def vectors(random: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    centres = np.random.default_rng([CENTRES, dimension]).normal(size=(CENTRES, dimension)).astype(np.float32)
    found = random.standard_normal(size=(count, dimension), dtype=np.float32)
    found *= SPREAD
    found += centres[random.integers(CENTRES, size=count)]
    return found


def word(number: int) -> str:
    return f"w{number:x}"


def vector_rows(given: argparse.Namespace) -> Iterator[pa.Table]:
    for start in range(0, given.rows, BATCH):
        random = np.random.default_rng([1, start])
        count = min(BATCH, given.rows - start)
        column = pa.FixedSizeListArray.from_arrays(pa.array(vectors(random, count, given.dimension).reshape(-1)), given.dimension)
        ids = np.arange(start, start + count)
        yield pa.table({"id": ids, "label": random.integers(LABELS, size=count).astype(np.int32), "vector": column})


def text_rows(given: argparse.Namespace) -> Iterator[pa.Table]:
    """Texts whose words are as frequent as those of a language: the n-th word comes 1/n times as often as the first."""
    dictionary = pa.array([word(n) for n in range(WORDS)])
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    for start in range(0, given.documents, BATCH):
        random = np.random.default_rng([2, start])
        count = min(BATCH, given.documents - start)
        ends = np.cumsum(random.integers(SHORTEST, LONGEST + 1, size=count))
        numbers = np.searchsorted(shares, random.random(ends[-1]) * shares[-1]).astype(np.int32)
        lists = pa.ListArray.from_arrays(np.concatenate([[0], ends]).astype(np.int32), dictionary.take(pa.array(numbers)))
        yield pa.table({"id": np.arange(start, start + count), "text": pc.binary_join(lists, " ")})


def build(place: pathlib.Path, given: argparse.Namespace) -> None:
    """Creates and indexes the tables, unless an earlier run has."""
    made = {"rows": given.rows, "dimension": given.dimension, "documents": given.documents}
    note = place / "made.json"
    if note.exists():
        if json.loads(note.read_text()) != made:
            raise SystemExit(f"{place} has other tables: {note.read_text()}")
        return
    service = Service(place, CACHE)
    try:
        for name, rows in (("vectors", vector_rows(given)), ("texts", text_rows(given))):
            began = time.monotonic()
            for n, some in enumerate(rows):
                path = f"/v1/table/{name}/{'insert' if n else 'create'}"
                checked(path, service.wire.upload_pieces(path, pieces(some)))
            say(f"created {name}: {time.monotonic() - began:.0f} s")
        for name, column, kind in (("vectors", "vector", "IVF_PQ"), ("texts", "text", "FTS")):
            fields = {"distance_type": "l2"} if kind == "IVF_PQ" else {"with_position": False, "stem": False, "remove_stop_words": False}
            began, used = time.monotonic(), cpu.used(service.processes)
            service.index(name, column, kind, **fields)
            say(f"built {kind}: {time.monotonic() - began:.0f} s, {cpu.used(service.processes) - used:.0f} s of processor time")
    finally:
        service.close()
    note.write_text(json.dumps(made))


@dataclasses.dataclass
class Seen:
    """What a query took."""

    seconds: float
    reads: int
    writes: int
    megabytes: float
    depth: int  # requests of the longest chain, each of which began after the one before had ended
    calls: int  # of functions
    billed: float  # seconds of all functions
    cpu: float  # seconds of all functions

    def predicted(self, cold: bool) -> float:
        """The seconds by the model of docs/scale.md: the calls, and then what lasts longer, the chain of requests with
        their bytes or the work of the processors."""
        levels = min(self.calls, 2)
        start = levels * (CALL_SECONDS + (COLD_SECONDS if cold else 0))
        streams = max(1.0, (self.reads + self.writes) / max(1, self.depth))
        waiting = self.depth * (LATENCY + REQUEST_SECONDS) + self.megabytes / (RATE * streams)
        return start + max(waiting, self.cpu / os.cpu_count())

    @property
    def dollars(self) -> float:
        lambdas = self.billed * MEMORY * GIGABYTE_SECOND + self.calls * CALL
        return lambdas + self.reads * READ_PRICE + self.writes * WRITE_PRICE


class Away:
    """The functions, over the bucket."""

    GREETING = re.compile(rb"^the functions of \S+ answer at (http://\S+), over ", re.MULTILINE)
    BUCKET = re.compile(rb"^the bucket \S+ answers at (http://\S+)$", re.MULTILINE)

    def __init__(self, place: pathlib.Path, root: pathlib.Path, instances: int):
        self.place, self.instances = place, instances
        command = [REPOSITORY / "bin/bucket", "-root", root, "-name", f"tiltyard-{STAGE}", "-latency", f"{LATENCY}s", "-rate", str(RATE)]
        self.bucket, [self.store] = started(command, place / "bucket.log", [self.BUCKET], dict(os.environ))
        self.functions = None

    def restart(self) -> None:
        """Ends all instances, so that the next query is cold."""
        self.stop()
        aws = os.environ["TILTYARD_TEST_S3"]
        environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": aws,
            "AWS_ENDPOINT_URL_S3": self.store,
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "TILTYARD_TOKEN": "scale",
            "TILTYARD_PARTS_TOGETHER": str(self.instances),
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(int(MEMORY * 1024)),
        }
        bin = REPOSITORY / "bin"
        command = [bin / "lambda", "-functions", bin / "functions", "-listen", "127.0.0.1:0", "-stage", STAGE, "-instances", str(self.instances)]
        self.log = self.place / "functions.log"
        self.functions, [url] = started(command, self.log, [self.GREETING], environment)
        self.wire = Wire(url, "scale", timeout=120)

    def stop(self) -> None:
        if self.functions:
            self.functions.send_signal(signal.SIGINT)
            self.functions.wait(60)
        self.functions = None

    def close(self) -> None:
        self.stop()
        self.bucket.terminate()
        self.bucket.wait(60)

    def taken(self) -> dict:
        at = urllib.parse.urlsplit(self.store)
        connection = http.client.HTTPConnection(at.hostname, at.port)
        connection.request("GET", "/-/taken")
        counted = json.loads(connection.getresponse().read())
        connection.close()
        return counted

    def lines(self) -> list[dict]:
        """What the functions have logged of requests, their parts among them."""
        return [json.loads(line) for line in self.log.read_bytes().splitlines() if line.startswith(b"{") and b'"storage_reads"' in line]

    def ask(self, case: Case, number: int) -> Seen:
        self.taken()
        before, used = len(self.lines()), cpu.used([self.functions.pid])
        path, body = case.ask(number)
        data = json.dumps(body).encode()
        began = time.perf_counter()
        answer = checked(path, self.wire.call("POST", path, data, {"Content-Type": "application/json"}))
        seconds = time.perf_counter() - began
        if not case.check(answer):
            raise RuntimeError(f"{case.name}: a wrong answer to {body}")
        used = cpu.used([self.functions.pid]) - used
        time.sleep(0.1)  # the last lines are written after the answer
        counted, lines = self.taken(), self.lines()[before:]
        requests = counted["requests"] or {}
        reads = sum(requests.get(kind, 0) for kind in ("GET", "HEAD"))
        writes = sum(requests.values()) - reads - requests.get("DELETE", 0)
        billed = sum(line["duration_ms"] for line in lines) / 1e3
        return Seen(seconds, reads, writes, counted["bytes_read"] / 1e6, depth(counted["spans"] or []), len(lines), billed, used)


def started(command: list, log: pathlib.Path, greetings: list[re.Pattern], environment: dict) -> tuple[subprocess.Popen, list[str]]:
    """Starts a program, and returns what it says of itself once it has said all."""
    with open(log, "wb") as out:
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=out, env=environment)
    deadline = time.monotonic() + 60
    while True:
        found = [greeting.search(log.read_bytes()) for greeting in greetings]
        if all(found):
            return process, [match.group(1).decode() for match in found]
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise RuntimeError(log.read_text(errors="replace"))
        time.sleep(0.02)


def depth(spans: list[dict]) -> int:
    """How many requests the longest chain has, each of which began after the one before had ended."""
    earliest: dict[int, float] = {}  # when the first request at each place of a chain ended
    for one in sorted(spans, key=lambda one: one["began"]):
        place = 1 + max((level for level, ended in earliest.items() if ended <= one["began"]), default=0)
        earliest[place] = min(earliest.get(place, one["ended"]), one["ended"])
    return max(earliest, default=0)


def measured(away: Away, case: Case, given: argparse.Namespace) -> list[list[str]]:
    """The rows of a kind of query: cold, and warm."""
    number, cold, warm = 0, [], []
    for _ in range(given.cold):
        away.restart()
        cold.append(away.ask(case, number))
        number += 1
    for n in range(given.warm + case.before):
        one = away.ask(case, number)
        number += 1
        if n >= case.before:
            warm.append(one)
    rows = []
    for name, tries in (("cold", cold), ("warm", warm)):
        middle = lambda field: statistics.median(getattr(one, field) for one in tries)
        seconds = sorted(one.seconds for one in tries)
        slow = seconds[max(0, -(-len(seconds) * 95 // 100) - 1)]
        model = statistics.median(one.predicted(name == "cold") for one in tries)
        cells = [f"{statistics.median(seconds) * 1e3:,.0f}", f"{slow * 1e3:,.0f}", f"{model * 1e3:,.0f}", f"{middle('calls') - 1:.0f}", f"{middle('reads'):,.0f}"]
        cells += [f"{middle('writes'):,.0f}", table.number(middle("megabytes")), f"{middle('depth'):.0f}"]
        cells += [table.number(middle("cpu")), table.number(middle("billed")), f"{middle('dollars') * 1e6:,.1f}"]
        rows.append([f"{case.name}, {name}", *cells])
        say(" | ".join(rows[-1]))
    return rows


HEAD = ["query", "p50 ms", "p95 ms", "model ms", "parts", "reads", "writes", "MB", "depth", "cpu s", "s of functions", "$ a million"]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=10_000_000, help="vectors")
    options.add_argument("--dimension", type=int, default=32)
    options.add_argument("--documents", type=int, default=1_000_000)
    options.add_argument("--instances", type=int, default=8, help="of a function, at most")
    options.add_argument("--cold", type=int, default=5, help="queries of each kind after a start")
    options.add_argument("--warm", type=int, default=20, help="queries of each kind after those")
    options.add_argument("--only", default="", help="part of the name of a kind of query")
    options.add_argument("--root", help="a directory that keeps the tables")
    given = options.parse_args()
    rows = []
    with contextlib.ExitStack() as stack:
        place = pathlib.Path(given.root or stack.enter_context(tempfile.TemporaryDirectory(prefix="tiltyard-scale-")))
        place.mkdir(parents=True, exist_ok=True)
        build(place, given)
        away = Away(place, place / "tables", given.instances)
        stack.callback(away.close)
        for case in cases(given):
            if given.only not in case.name:
                continue
            if "flat" in case.name and not given.only and given.rows * given.dimension * 4 > MOST_FLAT:
                say(f"{case.name}: left out, because the cores of this machine read {MOST_FLAT >> 30} GiB in half a minute: --only flat")
                continue
            rows += measured(away, case, given)
    what = f"{given.rows:,} x {given.dimension}, {given.documents:,} texts, {given.instances} functions"
    print(f"{cpu.machine()}; {what}\n\n{table.markdown(HEAD, rows)}")


if __name__ == "__main__":
    sys.exit(main())
