"""Writers of every kind on the same tables: at once, and in turn.

At once, while jobs compact the table and columns come and go: each writer has keys of its own,
so that it knows the rows that the table must hold for them after each response, whatever the
others do. In turn: native Lance and the service write, and after each step the service reads
what it has read before, compared with native Lance and with a server that has just been started
(see turns.py).
"""

from __future__ import annotations

import concurrent.futures
import random
import time

import lance
import pyarrow as pa
import pytest

from process import Server
from turns import STEPS, Turns

HISTORIES = 20  # of writers in turn
SECONDS = 6
WRITERS = 6
KEYS = 100_000  # of each writer
SCHEMA = pa.schema([("key", pa.int64()), ("value", pa.int64()), ("name", pa.string())])
MERGE = "merge_insert?on=key&when_matched_update_all=true"


class Writer:
    """Changes its own keys by every operation, and records their rows."""

    def __init__(self, server, table: str, number: int):
        self.wire, self.table = server.wire(), table
        self.tries = 1 if server.process else 20  # writers of one process are not in each other's way
        self.random = random.Random(number)
        self.first = self.next = number * KEYS
        self.rows: dict[int, int] = {}
        self.stamp = 0

    def run(self, end: float) -> int:
        done = 0
        while time.monotonic() < end or done < 3:
            self.stamp += 1
            self.random.choice([self.insert, self.upsert, self.upsert, self.set, self.update, self.delete])()
            done += 1
            if done % 5 == 0:
                self.look()
        return done

    def send(self, call, path: str, body) -> None:
        """Repeats a request after a conflict that may be retried, as clients do."""
        for _ in range(self.tries):
            answer = call(f"/v1/table/{self.table}/{path}", body)
            if answer.status == 200:
                return
            assert answer.status == 409 and answer.json["retryable"], answer.body
        raise AssertionError(f"{self.tries} conflicts: {answer.body}")

    def some(self, most: int) -> list[int]:
        return self.random.sample(sorted(self.rows), min(len(self.rows), self.random.randint(0, most)))

    def fresh(self, count: int) -> list[int]:
        self.next += count
        return list(range(self.next - count, self.next))

    def stamped(self, keys: list[int]) -> pa.Table:
        values = {"key": keys, "value": [self.stamp] * len(keys), "name": [f"key {k}" for k in keys]}
        return pa.table(values, schema=SCHEMA)

    def stretch(self) -> range:
        """Keys one after another, of which there may be some."""
        at = self.random.randint(self.first, self.next)
        return range(at, min(at + self.random.randint(1, 30), self.first + KEYS))

    def insert(self) -> None:
        keys = self.fresh(self.random.randint(1, 30))
        self.send(self.wire.upload, "insert", self.stamped(keys))
        self.rows |= dict.fromkeys(keys, self.stamp)

    def upsert(self) -> None:
        keys = self.some(40) + self.fresh(self.random.randint(1, 3))
        self.send(self.wire.upload, f"{MERGE}&when_not_matched_insert_all=true", self.stamped(keys))
        self.rows |= dict.fromkeys(keys, self.stamp)

    def set(self) -> None:
        """A merge of some columns, into rows that are there."""
        if keys := self.some(40):
            self.send(self.wire.upload, MERGE, self.stamped(keys).select(["key", "value"]))
            self.rows |= dict.fromkeys(keys, self.stamp)

    def update(self) -> None:
        keys = self.stretch()
        where = f"key >= {keys.start} AND key < {keys.stop}"
        self.send(self.wire.post, "update", {"predicate": where, "updates": [["value", str(self.stamp)]]})
        self.rows |= dict.fromkeys(self.rows.keys() & keys, self.stamp)

    def delete(self) -> None:
        keys = self.stretch()
        self.send(self.wire.post, "delete", {"predicate": f"key >= {keys.start} AND key < {keys.stop}"})
        for key in self.rows.keys() & keys:
            del self.rows[key]

    def look(self) -> None:
        where = f"key >= {self.first} AND key < {self.first + KEYS}"
        query = {"k": 1 << 30, "vector": [], "filter": where, "columns": {"column_names": ["key", "value"]}}
        answer = self.wire.post(f"/v1/table/{self.table}/query", query)
        assert answer.status == 200, answer.body
        assert dict(zip(*answer.table.to_pydict().values())) == self.rows


def meddle(server, table: str, end: float) -> None:
    """Has the table compacted, and gives it columns and takes them away again."""
    wire, number = server.wire(), 0
    while time.monotonic() < end:
        number += 1
        column = {"name": f"extra{number}", "expression": "value + 1"}
        for path, body in (
            ("maintain", {"compact": True}),
            ("add_columns", {"new_columns": [column]}),
            ("maintain", {"compact": True}),
            ("drop_columns", {"columns": [column["name"]]}),
        ):
            for _ in range(20):
                answer = wire.post(f"/v1/table/{table}/{path}", body)
                if answer.status != 409:
                    break
            assert answer.status == 200, answer.body
            time.sleep(0.05)


def test_mixed_writers_lose_and_double_nothing(server, db, space, opens):
    table = db.create_table("t", schema=SCHEMA, namespace_path=[space])
    writers = [Writer(server, f"{space}$t", number) for number in range(WRITERS)]
    end = time.monotonic() + SECONDS
    with concurrent.futures.ThreadPoolExecutor(WRITERS + 1) as pool:
        meddling = pool.submit(meddle, server, f"{space}$t", end)
        done = sum(pool.map(lambda writer: writer.run(end), writers))
        meddling.result()

    dataset = lance.dataset(table.uri)
    dataset.validate()
    rows = dataset.to_table(columns=["key", "value"]).to_pydict()
    assert len(rows["key"]) == len(set(rows["key"])), "a key is there twice"
    want = {key: value for writer in writers for key, value in writer.rows.items()}
    assert dict(zip(rows["key"], rows["value"])) == want
    assert table.count_rows() == len(want)
    operations = {t.operation.__class__.__name__ for t in dataset.get_transactions(1000) if t is not None}
    print(f"\n{done} changes, {dataset.version} versions, {sorted(operations)}")


@pytest.mark.embedded("starts servers on the root of the one under test")
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_what_is_known_of_a_table_is_what_others_made_of_it(server, wire, outside, module_space, seed):
    turns = Turns(seed, wire, outside, module_space)
    try:
        turns.begin()
        for _ in range(STEPS):
            turns.go_on()
            turns.look()
        with Server(server.process.root, token="cold-token", allow=[outside], log=f"cold-{module_space}.log") as process:
            cold = type(server)(process.url, process.token, process).wire()
            turns.look(cold)
            turns.look_at_all(cold)
        assert not process.faults(), process.faults()
        turns.end()
    except BaseException as fault:
        fault.add_note("the history of the tables:\n  " + "\n  ".join(turns.log))
        raise
