"""Random merges: the service's result on a table equals native Lance's result on a copy of it.

Each table has keys of its own types, with nulls, NaN and both zeros among them, and a history
of merges, each with its own clauses, conditions and columns. --seed is the first seed:

    E2E_MERGES=500 make test-e2e ARGS='-k test_merge --seed 7'
"""

from __future__ import annotations

import datetime as dt
import decimal
import os
import random
import urllib.parse

import lance
import pyarrow as pa
import pytest

TABLES = int(os.environ.get("E2E_MERGES", "40"))
MERGES_PER_TABLE = 4
NAN = float("nan")

KEYS = {
    "int8": (pa.int8(), [-1, 0, 1, 2, 3]),
    "uint64": (pa.uint64(), [0, 1, 2**64 - 1, 7, 8]),
    "int64": (pa.int64(), list(range(12))),
    "float32": (pa.float32(), [0.0, -0.0, NAN, 1.5, float("inf")]),
    "float64": (pa.float64(), [0.0, -0.0, NAN, 1.5, -1e300]),
    "bool": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["", "a", "A", "ß", "a b", "long " * 9]),
    "large_string": (pa.large_string(), ["", "a", "aa", "\0"]),
    "binary": (pa.binary(), [b"", b"a", b"\0\xff", b"b"]),
    "fixed": (pa.binary(2), [b"aa", b"ab", b"\0\0"]),
    "date": (pa.date32(), [dt.date(2024, 1, day) for day in range(1, 6)]),
    "timestamp": (pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, day, tzinfo=dt.UTC) for day in range(1, 6)]),
    "time": (pa.time64("us"), [dt.time(hour) for hour in range(5)]),
    "decimal": (pa.decimal128(10, 2), [decimal.Decimal(n) / 4 for n in range(-2, 4)]),
    "struct": (pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": a, "b": b} for a in (1, None) for b in ("x", "y", None)]),
    "list": (pa.list_(pa.int32()), [[], [1], [1, 2], [None], [2, 1]]),
    "vector": (pa.list_(pa.float32(), 2), [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]),
}


class Merges:
    """Creates tables, and the rows that are merged into them."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.keys = self.r.sample(sorted(KEYS), self.r.choice([1, 1, 1, 2]))
        fields = [(f"k{i}", KEYS[name][0]) for i, name in enumerate(self.keys)]
        self.schema = pa.schema([*fields, ("v", pa.int64()), ("w", pa.string()), ("st", pa.struct([("x", pa.int64())]))])
        self.on = [name for name, _ in fields]

    def rows(self, count: int, *, unique: bool) -> pa.Table:
        lines, seen = [], set()
        for _ in range(count):
            key = [self.key(name) for name in self.keys]
            if unique and repr(key) in seen and None not in key:
                continue
            seen.add(repr(key))
            rest = {"v": self.r.randint(0, 9), "w": self.r.choice(["p", "q", None]), "st": {"x": self.r.randint(0, 3)}}
            lines.append({**dict(zip(self.on, key)), **rest})
        return pa.Table.from_pylist(lines, self.schema)

    def key(self, name: str):
        return None if self.r.random() < 0.08 else self.r.choice(KEYS[name][1])

    def source(self) -> pa.Table:
        rows = self.rows(self.r.randint(0, 12), unique=self.r.random() < 0.8)
        names = self.schema.names
        if self.r.random() < 0.4:
            rest = self.r.sample(["v", "w", "st"], self.r.randint(1, 3))
            names = self.r.sample([*self.on, *rest], len(self.on) + len(rest))
        return rows.select(names)

    def clauses(self, source: pa.Table) -> dict:
        """The query parameters of a merge."""
        made = {}
        x = self.r.random()
        if x < 0.4:
            made["when_matched_update_all"] = "true"
        elif x < 0.75:
            made["when_matched_update_all"] = "true"
            made["when_matched_update_all_filt"] = self.condition(source)
        if self.r.random() < 0.6:
            made["when_not_matched_insert_all"] = "true"
        if self.r.random() < 0.35:
            made["when_not_matched_by_source_delete"] = "true"
            if self.r.random() < 0.6:
                made["when_not_matched_by_source_delete_filt"] = self.r.choice(["v > 4", "w IS NULL", "st.x = 1", "v % 2 = 0 OR w = 'q'"])
        if self.r.random() < 0.2:
            made["use_index"] = "false"
        return made

    def condition(self, source: pa.Table) -> str:
        both = ["target.v > 4", "target.w IS NOT NULL", "target.st.x = 1"]
        if "v" in source.column_names:
            both += ["source.v > target.v", "source.v + target.v > 9", "source.v > 5 AND target.v < 5", "source.v IN (1, 2, 3)"]
        if "w" in source.column_names:
            both += ["source.w = target.w", "source.w IS NULL OR target.w = 'p'"]
        return self.r.choice(both)


def native_merge(dataset: lance.LanceDataset, on: list[str], source: pa.Table, clauses: dict) -> dict:
    merge = dataset.merge_insert(on)
    if "when_matched_update_all" in clauses:
        merge = merge.when_matched_update_all(clauses.get("when_matched_update_all_filt"))
    if "when_not_matched_insert_all" in clauses:
        merge = merge.when_not_matched_insert_all()
    if "when_not_matched_by_source_delete" in clauses:
        merge = merge.when_not_matched_by_source_delete(clauses.get("when_not_matched_by_source_delete_filt"))
    return merge.execute(source)


def sorted_rows(dataset: lance.LanceDataset) -> list[str]:
    """The rows in an order of their own; NaN is equal to NaN, and 0.0 is not -0.0."""
    return sorted(map(repr, dataset.to_table().to_pylist()))


@pytest.fixture
def merges(request) -> int:
    return request.config.getoption("--seed")


@pytest.mark.slow
@pytest.mark.embedded("very many cases of the engine, which is the same behind a gateway")
def test_we_and_native_lance_merge_alike(wire, outside, module_space, merges):
    done = refused = 0
    for seed in range(merges, merges + TABLES):
        random_merges = Merges(seed)
        ours, theirs = outside / f"{module_space}-merged-{seed}.lance", outside / f"{module_space}-native-{seed}.lance"
        start = random_merges.rows(random_merges.r.randint(0, 30), unique=False)
        for place in (ours, theirs):
            lance.write_dataset(start, place, data_storage_version="2.2", max_rows_per_file=11)
        path = f"/v1/table/{module_space}$merged{seed}"
        assert wire.post(f"{path}/register", {"location": str(ours)}).status == 200
        for _ in range(MERGES_PER_TABLE):
            source = random_merges.source()
            clauses = random_merges.clauses(source)
            told = f"seed {seed}, on {random_merges.keys}, {clauses}, {source.to_pylist()}"
            native = lance.dataset(theirs)
            try:
                want = native_merge(native, random_merges.on, source, clauses)
            except Exception as refusal:
                want = str(refusal)
            query = urllib.parse.urlencode([*(("on", name) for name in random_merges.on), *clauses.items()])
            got = wire.upload(f"{path}/merge_insert?{query}", source)
            if isinstance(want, str):
                assert got.status == 400, f"{told}: {got.status}, but native Lance says {want}"
                refused += 1
                continue
            assert got.status == 200, f"{told}: {got.body}"
            counts = {name: got.json[name] for name in ("num_updated_rows", "num_inserted_rows", "num_deleted_rows")}
            assert counts == {name: want[name] for name in counts}, told
            assert got.json["version"] == lance.dataset(theirs).version, told
            assert sorted_rows(lance.dataset(ours)) == sorted_rows(lance.dataset(theirs)), told
            done += 1
    assert done >= refused, f"{done} merges compared, {refused} refused"
