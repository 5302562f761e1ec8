"""A server under a mix of requests for an hour: it must not grow, leave files behind, fail, or lose a row.

Callers side by side declare tables, of which most stay empty, and send a mix of requests for them and for some tables
with rows: reads, appends, merges, deletes, compactions, index builds, views, drops and restorations. Each table with rows
has one caller, which keeps a model of them, and checks the answers against it. In the middle of the time the server is
replaced by another process of its program. Each minute the memory, files and threads of the process are printed.

It fails if

- the memory (RssAnon) of the last third is more than MEMORY_FACTOR times that of the second third and MEMORY_MORE,
  each by its largest sample; the first third fills caches and the catalog;
- open files or goroutines grow in the same way, or there are more than MOST_THREADS threads;
- jobs that wait at the end are not done LATE_SECONDS later;
- the log has a line of the level ERROR, or an answer has a status of 500 or more;
- a row that was acknowledged is not there in the end, or one that was deleted is;
- doctor finds a fault, or files that no version needs, once they are old, are more than GARBAGE of all bytes.

    python soak.py [--minutes N] [--tables N] [--callers N] [--seed N]
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import pyarrow as pa

from process import FAULT, Server, binary
from wire import ARROW_STREAM, Wire, stream

PER_NAMESPACE = 1000
FILLED = 3  # tables with rows of each caller
BATCH = 20  # rows of a write
MOST_ROWS = 5_000  # of a table, after which its caller deletes
PATIENCE_SECONDS = 60  # for an answer of a server that is replaced or busy
MEMORY_FACTOR, MEMORY_MORE = 1.25, 64 << 20
OTHER_FACTOR = 1.25  # of open files and goroutines
MORE = {"memory": MEMORY_MORE, "files": 32, "goroutines": 32}
# Go starts a thread for each call of the system that waits, and keeps it. So their number is that of the worst moment of the
# disk, and grows when there is a worse one, up to what callers and jobs read at once.
MOST_THREADS = 512
LATE_SECONDS = 120
GARBAGE = 0.1
OLD_DAYS = 8  # more than doctor gives a file that no version needs
REPLACES = (429, 503)  # statuses after which a request is sent again


@dataclasses.dataclass
class Sample:
    """What the process holds at a time."""

    minute: float
    requests: int
    tables: int
    memory: int
    files: int
    threads: int
    goroutines: int
    disk: int

    HEAD = "| minute | requests | tables | memory MiB | open files | threads | goroutines | disk MiB |\n|--:|--:|--:|--:|--:|--:|--:|--:|"

    def row(self) -> str:
        return (
            f"| {self.minute:.1f} | {self.requests:,} | {self.tables:,} | {self.memory >> 20:,} | {self.files} "
            f"| {self.threads} | {self.goroutines} | {self.disk >> 20:,} |"
        )


class Shared:
    """What callers share: the tables that are declared, and what went wrong."""

    def __init__(self, most: int, deadline: float):
        self.most, self.deadline = most, deadline
        self.lock = threading.Lock()
        self.tables = self.requests = 0
        self.kinds: collections.Counter = collections.Counter()
        self.statuses: collections.Counter = collections.Counter()
        self.wrong: list[str] = []
        self.stop = threading.Event()

    def next_table(self) -> int | None:
        with self.lock:
            if self.tables >= self.most:
                return None
            self.tables += 1
            return self.tables - 1

    def count(self, kind: str, status: int) -> None:
        with self.lock:
            self.requests += 1
            self.kinds[kind] += 1
            self.statuses[status] += 1

    def fault(self, text: str) -> None:
        with self.lock:
            self.wrong.append(text)
        if len(self.wrong) > 20:
            self.stop.set()


def name_of(number: int) -> str:
    return f"ns{number // PER_NAMESPACE}$t{number}"


class Caller(threading.Thread):
    """Sends one request after the other, and keeps the rows of its tables: values by ids."""

    def __init__(self, url: str, token: str, number: int, shared: Shared, seed: int):
        super().__init__(daemon=True)
        self.wire, self.shared, self.number = Wire(url, token, timeout=PATIENCE_SECONDS), shared, number
        self.chance = random.Random(f"{seed}/{number}")
        self.models: dict[str, dict[int, int]] = {f"rows$c{number}_{n}": {} for n in range(FILLED)}
        self.indexed: set[str] = set()
        self.next_id = 0

    def run(self) -> None:
        try:
            for table in self.models:
                self.send("create", f"/v1/table/{table}/create", self.rows([]))
            while not self.shared.stop.is_set() and time.monotonic() < self.shared.deadline:
                self.turn()
            for table in self.models:
                self.check(table)
        except Exception as error:  # of this caller alone; the run fails in the end
            self.shared.fault(f"caller {self.number}: {error!r}")

    def send(self, kind: str, path: str, body: dict | pa.Table | None = None, allowed=(200,)):
        """Sends a request until there is an answer that is no request to come again. Changes are made once."""
        arrow = isinstance(body, pa.Table)
        headers = {"Content-Type": ARROW_STREAM if arrow else "application/json", "Idempotency-Key": uuid.uuid4().hex}
        data = stream(body) if arrow else json.dumps(body or {}).encode()
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.wire.call("POST", path, data, headers)
            except OSError:  # the server is being replaced
                answer = None
            if answer is not None:
                self.shared.count(kind, answer.status)
                if answer.status not in REPLACES:
                    break
            if time.monotonic() > until:
                raise RuntimeError(f"{kind} {path}: no answer within {PATIENCE_SECONDS} s but {answer and answer.status}")
            time.sleep(0.2)
        if answer.status not in allowed:
            self.shared.fault(f"{kind} {path}: {answer.status} {bytes(answer.body[:300])}")
        return answer

    def rows(self, pairs: list[tuple[int, int]]) -> pa.Table:
        return pa.table({"id": pa.array([i for i, _ in pairs], pa.int64()), "value": pa.array([v for _, v in pairs], pa.int64())})

    def turn(self) -> None:
        table = self.chance.choice(list(self.models))
        [do] = self.chance.choices(list(MIX), MIX.values())
        do(self, table)

    # What is asked.

    def declare(self, table: str) -> None:
        """Declares tables, or describes one if there are enough."""
        number = self.shared.next_table()
        if number is None:
            return self.describe(table)
        if number % PER_NAMESPACE == 0:
            self.send("create namespace", f"/v1/namespace/ns{number // PER_NAMESPACE}/create", {"mode": "ExistOk"})
        answer = self.send("declare", f"/v1/table/{name_of(number)}/declare", {}, (200, 404))
        if answer.status == 404:  # another caller has not made the namespace yet
            self.send("create namespace", f"/v1/namespace/ns{number // PER_NAMESPACE}/create", {"mode": "ExistOk"})
            self.send("declare", f"/v1/table/{name_of(number)}/declare", {})

    def describe(self, table: str) -> None:
        with self.shared.lock:
            number = self.chance.randrange(max(1, self.shared.tables))
        verb = self.chance.choice(["describe", "exists"])
        # Those that were declared last may not be there yet.
        self.send(verb, f"/v1/table/{name_of(number)}/{verb}", {}, (200, 404))

    def list_tables(self, table: str) -> None:
        self.send("list", "/v1/namespace/rows/table/list?limit=100")

    def insert(self, table: str) -> None:
        model = self.models[table]
        if len(model) > MOST_ROWS:
            return self.delete(table, share=2)
        pairs = [(self.next_id + n, self.chance.randrange(1000)) for n in range(BATCH)]
        self.next_id += BATCH
        self.send("insert", f"/v1/table/{table}/insert", self.rows(pairs))
        model.update(pairs)

    def merge(self, table: str) -> None:
        model = self.models[table]
        known = self.chance.sample(sorted(model), min(len(model), BATCH // 2))
        fresh = [self.next_id + n for n in range(BATCH // 2)]
        self.next_id += BATCH
        pairs = [(i, self.chance.randrange(1000)) for i in known + fresh]
        path = f"/v1/table/{table}/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true"
        self.send("merge", path, self.rows(pairs))
        model.update(pairs)

    def delete(self, table: str, share: int = 50) -> None:
        rest = self.chance.randrange(share)
        self.send("delete", f"/v1/table/{table}/delete", {"predicate": f"id % {share} = {rest}"})
        self.models[table] = {i: v for i, v in self.models[table].items() if i % share != rest}

    def count(self, table: str) -> None:
        answer = self.send("count", f"/v1/table/{table}/count_rows", {"predicate": "value < 500"})
        want = sum(v < 500 for v in self.models[table].values())
        if answer.status == 200 and answer.json != want:
            self.shared.fault(f"{table} has {answer.json} rows with small values, want {want}")

    def query(self, table: str) -> None:
        some = self.chance.randrange(max(1, self.next_id))
        body = {"vector": {}, "k": 10, "filter": f"id = {some}", "columns": {"column_names": ["id", "value"]}}
        answer = self.send("query", f"/v1/table/{table}/query", body)
        want = [self.models[table][some]] if some in self.models[table] else []
        if answer.status == 200 and answer.table["value"].to_pylist() != want:
            self.shared.fault(f"{table} has for id {some} {answer.table['value'].to_pylist()}, want {want}")

    def maintain(self, table: str) -> None:
        self.send("maintain", f"/v1/table/{table}/maintain", {"compact": True, "indices": True, "cleanup": True, "older_than": "1h"})

    def index(self, table: str) -> None:
        body = {"column": "id", "index_type": "BTREE", "name": "by_id", "replace": table in self.indexed}
        self.send("create index", f"/v1/table/{table}/create_index", body, (200, 202))
        self.indexed.add(table)

    def drop_and_undrop(self, table: str) -> None:
        self.send("drop", f"/v1/table/{table}/drop")
        self.send("undrop", f"/v1/table/{table}/undrop")
        self.count(table)

    def view(self, table: str) -> None:
        name = f"rows$view{self.number}"
        self.send("create view", f"/v1/view/{name}/create", {"query": f"SELECT id, value FROM {table.replace('$', '.')} WHERE value < 500"})
        answer = self.send("count view", f"/v1/table/{name}/count_rows", {"predicate": "id >= 0"})
        want = sum(v < 500 for v in self.models[table].values())
        if answer.status == 200 and answer.json != want:
            self.shared.fault(f"a view of {table} has {answer.json} rows, want {want}")
        self.send("drop view", f"/v1/view/{name}/drop")

    def check(self, table: str) -> None:
        """Compares all rows with the model."""
        body = {"vector": {}, "k": 1 << 30, "columns": {"column_names": ["id", "value"]}}
        rows = self.send("read all", f"/v1/table/{table}/query", body).table
        got = dict(zip(rows["id"].to_pylist(), rows["value"].to_pylist()))
        if len(rows) != len(got) or got != self.models[table]:
            lost, more = self.models[table].keys() - got.keys(), got.keys() - self.models[table].keys()
            self.shared.fault(f"{table}: {len(lost)} rows are lost, {len(more)} are too many, of {len(self.models[table])}; {len(rows)} are there")


MIX = {
    Caller.describe: 300,
    Caller.declare: 250,
    Caller.query: 150,
    Caller.count: 60,
    Caller.list_tables: 40,
    Caller.insert: 60,
    Caller.merge: 30,
    Caller.delete: 15,
    Caller.maintain: 3,
    Caller.index: 3,
    Caller.drop_and_undrop: 4,
    Caller.view: 10,
}


def disk_of(root: pathlib.Path) -> int:
    total = 0
    for folder, _, files in os.walk(root):
        for file in files:
            try:
                total += os.stat(os.path.join(folder, file)).st_size
            except FileNotFoundError:  # deleted meanwhile
                pass
    return total


def sample(server: Server, shared: Shared, began: float) -> Sample:
    process = pathlib.Path(f"/proc/{server.pid}")
    status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
    metrics = Wire(server.url, server.token).call("GET", "/metrics").body.decode()
    goroutines = next(float(line.split()[1]) for line in metrics.splitlines() if line.startswith("go_goroutines "))
    return Sample(
        (time.monotonic() - began) / 60,
        shared.requests,
        shared.tables,
        int(status["RssAnon"].split()[0]) << 10,
        len(os.listdir(process / "fd")),
        int(status["Threads"]),
        int(goroutines),
        disk_of(server.root),
    )


def grown(samples: list[Sample]) -> list[str]:
    """What is too large in the last third of the time."""
    third = len(samples) // 3
    if third == 0:
        return ["there are too few samples to say whether the process grows"]
    wrong = []
    for what, more in MORE.items():
        factor = MEMORY_FACTOR if what == "memory" else OTHER_FACTOR
        before = max(getattr(s, what) for s in samples[third : 2 * third])
        after = max(getattr(s, what) for s in samples[2 * third :])
        if after > factor * before + more:
            wrong.append(f"{what} grew from {before:,} to {after:,}")
    if (threads := max(s.threads for s in samples)) > MOST_THREADS:
        wrong.append(f"there were {threads} threads")
    return wrong


def jobs_of(wire: Wire) -> list[dict]:
    """The jobs of the root that are not done."""
    jobs, token = [], ""
    while True:
        page = wire.post("/v1/jobs/list", {"limit": 1000, **({"page_token": token} if token else {})}).json
        jobs += [job for job in page["jobs"] if job["state"] == "IN_PROGRESS"]
        if not (token := page.get("page_token", "")):
            return jobs


def drained(wire: Wire) -> list[str]:
    """Waits until the jobs are done that wait when the callers have ended."""
    began = time.monotonic()
    first = jobs = {job["job_id"]: job for job in jobs_of(wire)}
    while jobs and time.monotonic() - began < LATE_SECONDS:
        time.sleep(1)
        jobs = {job["job_id"]: job for job in jobs_of(wire) if job["job_id"] in first}
    oldest = min((job["created_at_millis"] / 1000 for job in first.values()), default=time.time())
    print(f"\n{len(first)} jobs waited, the first since {time.time() - oldest:.0f} s; {len(first) - len(jobs)} were done {time.monotonic() - began:.0f} s later")
    return [f"job {number} ({job['job_type']} of {job['table']}) is not done" for number, job in jobs.items()]


def doctor(root: pathlib.Path, *arguments: str) -> list[dict]:
    """The findings about a root. That an index lacks the newest rows is no fault here: they are still being written."""
    done = subprocess.run([binary(), "doctor", "--root", root, "--json", *arguments], capture_output=True, text=True)
    if done.returncode not in (0, 9):
        raise RuntimeError(f"doctor ended with {done.returncode}: {done.stderr[-2000:]}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [finding for finding in found if finding["kind"] != "stale-index"]


def garbage(root: pathlib.Path) -> tuple[list[str], int, int]:
    """What is wrong with the files of a root, the bytes that no version needs, and all bytes."""
    wrong = [f"doctor found {finding}" for finding in doctor(root)]
    old = time.time() - OLD_DAYS * 86400
    for folder, _, files in os.walk(root):
        for file in files:
            os.utime(os.path.join(folder, file), (old, old))
    before = disk_of(root)
    doctor(root, "--fix")
    freed = before - disk_of(root)
    wrong += [f"doctor did not mend {finding}" for finding in doctor(root)]
    if freed > GARBAGE * before:
        wrong.append(f"{freed:,} of {before:,} bytes were garbage")
    return wrong, freed, before


def run(server: Server, given: argparse.Namespace) -> tuple[list[Sample], list[str], Shared]:
    began = time.monotonic()
    shared = Shared(given.tables, began + given.minutes * 60)
    wire = Wire(server.url, server.token)
    assert wire.post("/v1/namespace/rows/create", {}).status == 200
    callers = [Caller(server.url, server.token, number, shared, given.seed) for number in range(given.callers)]
    for caller in callers:
        caller.start()
    samples: list[Sample] = []
    step = min(60, given.minutes * 60 / 12)
    replaced = False
    print(Sample.HEAD, flush=True)
    while any(caller.is_alive() for caller in callers):
        time.sleep(max(0, min(step, shared.deadline - time.monotonic())) or 0.5)
        if time.monotonic() < shared.deadline:
            samples.append(sample(server, shared, began))
            print(samples[-1].row(), flush=True)
        if not replaced and time.monotonic() - began > given.minutes * 30:
            replaced = True
            server.hand_over()
        if time.monotonic() > shared.deadline + 5 * PATIENCE_SECONDS:
            shared.fault("callers do not end")
            break
    return samples, grown(samples) + shared.wrong, shared


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--tables", type=int, default=100_000)
    arguments.add_argument("--callers", type=int, default=8)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        with Server(pathlib.Path(scratch) / "root") as server:
            samples, wrong, shared = run(server, given)
            wrong += drained(Wire(server.url, server.token))
        with open(server.log_path, "rb") as log:  # which is too long to be read at once
            wrong += [f"the log has {line.decode(errors='replace')}" for line in log if FAULT.search(line)]
        wrong += [f"{count} answers have the status {status}" for status, count in shared.statuses.items() if status >= 500 and status not in REPLACES]
        faults, freed, all_bytes = garbage(server.root)
        wrong += faults
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in shared.kinds.most_common())
    print(f"\n{shared.requests:,} requests: {kinds}\nstatuses: {dict(shared.statuses)}")
    print(f"{freed >> 10:,} KiB of {all_bytes >> 20:,} MiB were files that no version needs")
    for line in wrong[:40]:
        print(f"WRONG: {line}"[:500])
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
