"""The server is killed at random moments of a write loop, again and again.

Writes that it acknowledged must be there exactly once, other writes must be absent or whole,
and the server must start again at once without help.
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time

import lance
import pyarrow as pa
import pytest

from process import Server
from wire import Wire

CRASHES = int(os.environ.get("CRASHES", "50"))
CRASHES_PER_TABLE = 10  # a new table now and then keeps manifests short and the test quick
BATCH = 20
KEYS = 50


class Writer(threading.Thread):
    """Writes to a table until the server is gone, and records the outcome of each write."""

    def __init__(self, server: Server, first: int):
        super().__init__(daemon=True)
        self.wire = Wire(server.url, server.token, timeout=30)
        self.next = first
        self.acknowledged: list[int] = []
        self.unknown: list[int] = []
        self.problem: str | None = None

    def run(self) -> None:
        while True:
            number, self.next = self.next, self.next + 1
            try:
                answer = self.write(number)
            except (OSError, http.client.HTTPException):
                self.unknown.append(number)
                return
            if answer.status != 200:
                self.problem = f"write {number}: {answer.status} {answer.body!r}"
                return
            self.acknowledged.append(number)


class Inserter(Writer):
    """Each write adds BATCH rows of one batch number."""

    table = "inserted"

    def write(self, number: int):
        rows = pa.table(
            {
                "batch": pa.array([number] * BATCH, pa.int64()),
                "row": pa.array(range(BATCH), pa.int64()),
                "pad": ["x" * (number % 50)] * BATCH,
            }
        )
        return self.wire.upload(f"/v1/table/{self.table}/insert", rows)


class Merger(Writer):
    """Each write stamps all of KEYS rows with its number, and adds one row of its own."""

    table = "merged"

    def write(self, number: int):
        keys = list(range(KEYS)) + [1000 + number]
        rows = pa.table({"key": pa.array(keys, pa.int64()), "stamp": pa.array([number] * len(keys), pa.int64())})
        path = (
            f"/v1/table/{self.table}/merge_insert?on=key&when_matched_update_all=true&when_not_matched_insert_all=true"
        )
        return self.wire.upload(path, rows)


EMPTY = {
    "inserted": pa.schema([("batch", pa.int64()), ("row", pa.int64()), ("pad", pa.string())]).empty_table(),
    "merged": pa.schema([("key", pa.int64()), ("stamp", pa.int64())]).empty_table(),
}


def create_tables(server: Server) -> dict[str, str]:
    """Makes both tables anew and returns their locations."""
    wire = Wire(server.url, server.token)
    locations = {}
    for name, rows in EMPTY.items():
        assert wire.post(f"/v1/table/{name}/drop", {}).status in (200, 404)
        answer = wire.upload(f"/v1/table/{name}/create", rows)
        assert answer.status == 200, answer.body
        locations[name] = answer.json["location"]
    return locations


def check_inserted(location: str, acknowledged: set[int], unknown: set[int]) -> None:
    dataset = lance.dataset(location)
    dataset.validate()
    counts: dict[int, list] = {}
    for batch, row in zip(*dataset.to_table(columns=["batch", "row"]).to_pydict().values()):
        counts.setdefault(batch, []).append(row)
    for batch, rows in counts.items():
        assert sorted(rows) == list(range(BATCH)), f"batch {batch} is there in part or twice: {sorted(rows)}"
    lost = acknowledged - counts.keys()
    assert not lost, f"acknowledged batches are lost: {sorted(lost)}"
    assert counts.keys() <= acknowledged | unknown, "batches that nobody sent"


def check_merged(location: str, acknowledged: set[int], unknown: set[int]) -> None:
    dataset = lance.dataset(location)
    dataset.validate()
    rows = dataset.to_table().to_pydict()
    stamps = {stamp for key, stamp in zip(rows["key"], rows["stamp"]) if key < 1000}
    own = [key - 1000 for key in rows["key"] if key >= 1000]
    assert len(own) == len(set(own)), "a merge happened twice"
    assert acknowledged <= set(own) <= acknowledged | unknown
    assert len(stamps) <= 1, f"rows of one merge came from several: {stamps}"
    if acknowledged:
        assert stamps == {max(own)} and sorted(k for k in rows["key"] if k < 1000) == list(range(KEYS))


@pytest.mark.slow
@pytest.mark.embedded("kills the server")
def test_killed_at_random_moments(tmp_path):
    rng = random.Random(20)
    server = Server(tmp_path / "root").start()
    restarts, writes = [], 0
    locations: dict[str, str] = {}
    fates: dict[str, tuple[set, set]] = {}
    for crash in range(CRASHES):
        if crash % CRASHES_PER_TABLE == 0:
            locations = create_tables(server)
            fates = {name: (set(), set()) for name in EMPTY}
            first = dict.fromkeys(EMPTY, 0)
        writers = [kind(server, first[kind.table]) for kind in (Inserter, Merger)]
        for writer in writers:
            writer.start()
        time.sleep(rng.uniform(0.02, 0.5))
        server.kill()
        for writer in writers:
            writer.join(40)
            assert not writer.is_alive() and writer.problem is None, writer.problem
            acknowledged, unknown = fates[writer.table]
            acknowledged.update(writer.acknowledged)
            unknown.update(writer.unknown)
            first[writer.table] = writer.next
            writes += len(writer.acknowledged)
        server.start()
        restarts.append(server.started_in)
        check_inserted(locations["inserted"], *fates["inserted"])
        check_merged(locations["merged"], *fates["merged"])
        wire = Wire(server.url, server.token)
        count = wire.post("/v1/table/inserted/count_rows", {})
        assert count.json == lance.dataset(locations["inserted"]).count_rows(), f"crash {crash}"
    server.stop()
    assert not server.faults(), server.faults()[:10]
    assert writes > 2 * CRASHES, f"only {writes} writes were acknowledged: the test tested little"
    print(f"\n{CRASHES} crashes, {writes} acknowledged writes, slowest restart {max(restarts) * 1000:.0f} ms")
