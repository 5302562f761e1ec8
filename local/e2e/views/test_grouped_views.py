"""Materialized views with GROUP BY, refreshed in turns with the local LanceDB."""

from __future__ import annotations

import collections
import decimal
import json
import math
import random

import lance
import pyarrow as pa
import pytest
from test_views import STABLE, House, house  # noqa: F401

pytestmark = pytest.mark.embedded("it opens the tables of the server's directory")

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), nullable=False), pa.field("k", pa.int32(), metadata={"comment": "a key"}), ("s", pa.string()), ("i", pa.int32()), ("u", pa.uint16()),
    ("f", pa.float32()), ("b", pa.bool_()), ("d", pa.decimal128(10, 2)), ("Name", pa.string()), ("meta", pa.struct([("t", pa.string()), ("n", pa.int16())])),
    ("ts", pa.timestamp("us")), ("bin", pa.binary()),
])


def rows_of(chance: random.Random, *ids: int) -> pa.Table:
    def some(value):
        return value if chance.random() < 0.8 else None

    return pa.Table.from_pylist([{
        "id": i, "k": some(chance.randrange(4)), "s": some(chance.choice(["a", "b", "B", "", "é\0z"])), "i": some(chance.randrange(-5, 50)), "u": some(chance.randrange(9)),
        "f": some(chance.randrange(-8, 8) / 4), "b": some(chance.random() < 0.5), "d": some(decimal.Decimal(chance.randrange(-999, 999)) / 100), "Name": some(chance.choice("xyz")),
        "meta": some({"t": some(chance.choice("pq")), "n": some(chance.randrange(3))}), "ts": some(chance.randrange(10) * 86400_000_000), "bin": some(bytes([chance.randrange(3), 0])),
    } for i in ids], schema=SCHEMA)


QUERIES = [
    "SELECT k, count(*) AS n, sum(i) AS total, avg(i) AS mean, min(i) AS lo, max(i) AS hi FROM g GROUP BY k",
    "SELECT s, k, sum(u) AS u, sum(f) AS f, avg(f) AS m, sum(d) AS d, avg(d) AS dm, min(d) AS dlo FROM g WHERE id % 7 < 6 GROUP BY s, k",
    "SELECT upper(s) AS up, array_agg(id) AS ids, array_agg(s) AS texts, array_agg(DISTINCT k) AS ks FROM g GROUP BY upper(s)",
    "SELECT `Name`, count(DISTINCT s) AS n, sum(DISTINCT i) AS d, COUNT(i) AS c, count(i, s) AS both, count(*) FILTER (WHERE i > 10) AS big FROM g GROUP BY `Name`",
    "SELECT meta.t, max(meta.n) AS n, bool_and(b) AS every, bool_or(b) AS some, bit_and(i) AS ba, bit_or(u) AS bo, bit_xor(i) AS bx FROM g GROUP BY meta.t",
    "SELECT i % 3 AS r, stddev(i) AS sd, stddev_pop(f) AS sp, var_samp(i) AS v, var_pop(u) AS vp, median(i) AS med FROM g GROUP BY i % 3",
    "SELECT k + 1 AS next, sum(i) / count(*) AS q, sum(i) * 2 + k AS w, count(*) > 2 AS many, CASE WHEN k > 1 THEN 'hi' ELSE 'lo' END AS c FROM g GROUP BY k",
    "SELECT b, f, d, min(s) AS lo, max(s) AS hi, min(ts) AS first, max(bin) AS bin, min(b) AS mb FROM g GROUP BY b, f, d",
    "SELECT date_trunc('day', ts) AS day, bin, count(id) AS n FROM g GROUP BY 1, bin",
    "SELECT coalesce(k, -1) AS key, max(length(s)) AS longest, min(f) AS f, max(u) AS u FROM g WHERE i > 0 OR i IS NULL GROUP BY key",
]


@pytest.fixture
def source(house):
    table = house.native.create_table("g", rows_of(random.Random(1), *range(40)), storage_options=STABLE)
    house.register("g")
    return table


def create(house: House, name: str, query: str):
    made = house.wire.post(f"/v1/materialized_view/{name}/create", {"query": query})
    assert made.status == 202, made.body
    job = house.job(made.json["job_id"])
    assert job["job_state"] == "DONE", job
    house.lend(name)


def seen(house: House, name: str) -> collections.Counter:
    """The rows of a view. Lists have no order, and floats no last digits."""
    def plain(value):
        match value:
            case list():
                return tuple(sorted(map(repr, value)))
            case float() if math.isfinite(value):
                return float(f"{value:.9g}") + 0.0
        return repr(value)

    rows = lance.dataset(str(house.folder / f"{name}.lance")).to_table().to_pylist()
    return collections.Counter(tuple(plain(v) for v in row.values()) for row in rows)


def test_history_of_groups_in_turns(house, source):
    """Views have the same rows after each refresh, whichever program refreshes them, and the layout of native ones."""
    chance = random.Random(5)
    for number, query in enumerate(QUERIES):
        create(house, f"v{number}", query)
        ours = lance.dataset(str(house.folder / f"v{number}.lance"))
        assert json.loads(ours.schema.metadata[b"mv.definition"]) == {"format": 2, "kind": "query", "query": query}
        empty = ours.schema.with_metadata({k: v for k, v in ours.schema.metadata.items() if k in (b"mv.definition", b"mv.incarnation")})
        house.native.create_table(f"n{number}", schema=empty, storage_options=STABLE)
        house.register(f"n{number}")
    following = 100
    for step in range(5):
        match chance.choice(("add", "update", "delete", "merge", "compact", "restore")):
            case "add":
                source.add(rows_of(chance, *range(following, following + 5)))
                following += 5
            case "update":
                source.update(where=f"id % 5 = {chance.randrange(5)}", values={"k": chance.randrange(4), "s": "u"})
            case "delete":
                source.delete(f"id % 7 = {chance.randrange(7)}")
            case "merge":
                changed = rows_of(chance, *chance.sample(range(following + 2), 4))
                source.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(changed)
            case "compact":
                source.optimize()
            case "restore" if (version := source.version) > 2:
                source.restore(chance.randrange(max(1, version - 4), version))
        for number, query in enumerate(QUERIES):
            ours, theirs = (f"v{number}", f"n{number}") if (step + number) % 2 else (f"n{number}", f"v{number}")
            assert house.refresh(ours)["mode"] in ("incremental", "rebuild", "no_op")
            house.native.open_materialized_view(theirs).refresh()
            assert seen(house, ours) == seen(house, theirs), (step, query)
    for number, query in enumerate(QUERIES):  # the native LanceDB has found the text to be the one that it writes
        for name in (f"v{number}", f"n{number}"):
            stored = lance.dataset(str(house.folder / f"{name}.lance")).schema.metadata[b"mv.definition"]
            assert json.loads(stored)["query"] == query


def test_groups_follow_their_source(house, source):
    """A change of rows makes all groups anew; a change that they do not show writes none. Views can be over groups."""
    create(house, "v", "SELECT k, count(*) AS n, array_agg(id) AS ids FROM g WHERE k IS NOT NULL GROUP BY k")
    view = house.remote.open_materialized_view("v")
    assert view.definition.query == "SELECT k, count(*) AS n, array_agg(id) AS ids FROM g WHERE k IS NOT NULL GROUP BY k"
    source.add(pa.Table.from_pylist([{"id": 200, "k": 9}, {"id": 201, "k": 9}], schema=SCHEMA))
    assert str(view.refresh().mode) == "rebuild"
    assert view.table.search().where("k = 9").to_arrow().select(["n", "ids"]).to_pylist() == [{"n": 2, "ids": [200, 201]}]
    for keep in (source.optimize, lambda: source.add_columns({"unread": "1"})):
        keep()
        done = view.refresh()
        assert (str(done.mode), done.rows_written) == ("incremental", 0)
    assert str(view.refresh().mode) == "no_op"
    create(house, "items", "SELECT k, id FROM v, UNNEST(ids) AS id WHERE n < 3")
    create(house, "wide", "SELECT n, count(*) AS times FROM v GROUP BY n")
    assert sorted(r["id"] for r in lance.dataset(str(house.folder / "items.lance")).to_table().to_pylist()) == [200, 201]
    assert sum(r["n"] * r["times"] for r in lance.dataset(str(house.folder / "wide.lance")).to_table().to_pylist()) == source.count_rows("k IS NOT NULL")
    source.delete("k = 9")
    view.refresh(source_version=source.version - 1)
    assert view.table.count_rows("k = 9") == 1
    view.refresh()
    assert house.refresh("items")["rows_written"] == 0 and view.table.count_rows("k = 9") == 0
    assert lance.dataset(str(house.folder / "items.lance")).count_rows() == 0


REFUSED = [
    "SELECT k, i FROM g GROUP BY k", "SELECT k, random() AS r FROM g GROUP BY k", "SELECT k, max(now()) AS r FROM g GROUP BY k",
    "SELECT k, count(*) AS n FROM g GROUP BY missing", "SELECT k, count(*) AS __source_row_id FROM g GROUP BY k", "SELECT k, count(*) AS k FROM g GROUP BY k",
    "SELECT k, sum(s) AS n FROM g GROUP BY k", "SELECT k, Name AS n FROM g GROUP BY k, Name", "SELECT k, sum(sum(i)) AS n FROM g GROUP BY k",
    "SELECT k, sum(i) AS n FROM g GROUP BY g.k", "SELECT k, nothing(i) AS n FROM g GROUP BY k", "SELECT k, count(DISTINCT i, s) AS n FROM g GROUP BY k",
    "SELECT k, CAST(sum(i) AS VARCHAR) AS n FROM g GROUP BY k", "SELECT k, count(*) AS n FROM g WHERE count(*) > 1 GROUP BY k", "SELECT k FROM g GROUP BY 2",
]
UNSUPPORTED = [  # the native LanceDB has them
    "SELECT k, first_value(i) AS n FROM g GROUP BY k", "SELECT k, approx_distinct(i) AS n FROM g GROUP BY k", "SELECT meta, count(*) AS n FROM g GROUP BY meta",
    "SELECT k, array_agg(meta) AS n FROM g GROUP BY k", "SELECT k, sum(count(*)) OVER () AS n FROM g GROUP BY k",
]


@pytest.mark.parametrize("native", [True, False])
def test_what_groups_cannot_be_is_refused(house, source, native):
    for query in REFUSED if native else UNSUPPORTED:
        made = house.wire.post("/v1/materialized_view/v/create", {"query": query})
        assert made.status == 400 and made.json["code"] == 13 and made.json["error"].startswith("query: "), (query, made.body)
        if native:
            columns = [pa.field("k", pa.int32()), pa.field("n", pa.int64()), pa.field("__source_row_id", pa.uint64(), False)]
            definition = json.dumps({"format": 2, "kind": "query", "query": query})
            name = f"n{REFUSED.index(query)}"
            house.native.create_table(name, schema=pa.schema(columns, metadata={"mv.definition": definition}), storage_options=STABLE)
            with pytest.raises(Exception):  # noqa: B017
                house.native.open_materialized_view(name).refresh()
