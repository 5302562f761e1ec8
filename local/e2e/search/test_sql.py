"""Statements in SQL have the rows that the SQL of native Lance, which is DataFusion, has for the same table."""

from __future__ import annotations

import datetime
import random

import lance
import pyarrow as pa
import pyarrow.ipc
import pytest

ROWS = 300
STATEMENTS = 200
WORDS = ["red", "Blue", "green tea", "it's", "", "50%", "ünïcode"]


def sample(rng: random.Random, start: int, count: int) -> pa.Table:
    """Columns of several types, with nulls in all but the id."""

    def some(make):
        return [None if rng.random() < 0.15 else make() for _ in range(count)]

    return pa.table(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "small": pa.array(some(lambda: rng.randrange(-5, 6)), pa.int32()),
            "price": pa.array(some(lambda: rng.choice([0.0, -1.5, 2.25, 1e9, rng.random()])), pa.float64()),
            "name": pa.array(some(lambda: rng.choice(WORDS)), pa.string()),
            "ok": pa.array(some(lambda: rng.random() < 0.5), pa.bool_()),
            "day": pa.array(some(lambda: datetime.date(2024, 1, 1) + datetime.timedelta(days=rng.randrange(20))), pa.date32()),
            "Odd Name": pa.array(some(lambda: rng.randrange(3)), pa.int16()),
        }
    )


def condition(rng: random.Random, depth: int = 0) -> str:
    if depth < 2 and rng.random() < 0.5:
        kind = rng.randrange(3)
        if kind == 0:
            return f"NOT ({condition(rng, depth + 1)})"
        return f"({condition(rng, depth + 1)}) {rng.choice(['AND', 'OR'])} ({condition(rng, depth + 1)})"
    quoted = rng.choice(WORDS).replace("'", "''")
    number = rng.randrange(-6, 7)
    return rng.choice(
        [
            f"small {rng.choice(['<', '<=', '=', '<>', '>', '>='])} {number}",
            f"price * 2 > small + {number}",
            f"price BETWEEN {number} AND {number + 3}.5",
            f"name {rng.choice(['=', '<', '>='])} '{quoted}'",
            f"name LIKE '%{quoted[:1]}%'",
            f"lower(name) IN ('red', 'blue', '{quoted}')",
            "name IS NULL",
            f"(name IS DISTINCT FROM '{quoted}')",
            "small IS NOT NULL",
            "ok",
            "ok IS TRUE",
            f"day > date '2024-01-{rng.randrange(1, 28):02}'",
            f'"Odd Name" % 2 = {rng.randrange(2)}',
            f"id {rng.choice(['<', '>='])} {rng.randrange(ROWS)}",
            f"CASE WHEN ok THEN small ELSE {number} END > 0",
            f"coalesce(small, {number}) = {number}",
        ]
    )


EXPRESSIONS = [
    "id",
    "name",
    '"Odd Name"',
    '"Odd Name" AS odd',
    "small + 1 AS more",
    "price / 2 AS half",
    "upper(name) AS loud",
    "CAST(small AS bigint) AS wide",
    "name || '!' AS cried",
    "coalesce(small, 0) AS known",
    "CASE WHEN ok THEN 'y' WHEN NOT ok THEN 'n' END AS answer",
    "day AS d",
    "length(name) AS len",
]


def statement(rng: random.Random) -> tuple[str, bool]:
    """A statement, and whether its rows have an order."""
    columns = ", ".join(rng.sample(EXPRESSIONS, rng.randrange(1, 5)))
    text = f"SELECT {'*' if rng.random() < 0.2 else columns} FROM {{table}}"
    if rng.random() < 0.8:
        text += f" WHERE {condition(rng)}"
    ordered = rng.random() < 0.6
    if ordered:
        keys = [f"{key}{rng.choice(['', ' ASC', ' DESC'])}{rng.choice(['', ' NULLS FIRST', ' NULLS LAST'])}" for key in rng.sample(["small", "price", "name", "ok", "day", '"Odd Name"'], rng.randrange(3))]
        text += " ORDER BY " + ", ".join([*keys, rng.choice(["id", "id DESC"])])
        if rng.random() < 0.7:
            text += f" LIMIT {rng.choice([0, 1, 7, 1000])}"
            if rng.random() < 0.5:
                text += f" OFFSET {rng.choice([0, 3, 500])}"
    return text, ordered


@pytest.fixture
def place(wire, space, outside):
    """A table of two fragments with deleted rows, and its path."""
    rng = random.Random(11)
    path = outside / f"sql-{space}" / "t.lance"
    lance.write_dataset(sample(rng, 0, 200), path)
    lance.write_dataset(sample(rng, 200, ROWS - 200), path, mode="append")
    lance.dataset(path).delete("id % 9 = 4")
    assert wire.post(f"/v1/table/{space}$t/register", {"location": str(path)}).status == 200
    return path


def ask(wire, text: str, **parameters) -> pa.Table:
    answer = wire.post("/v1/sql", {"query": text, "parameters": parameters})
    assert answer.status == 200, (text, answer.body)
    return pyarrow.ipc.open_file(answer.body).read_all()


@pytest.mark.engine
def test_statements_have_the_rows_of_native_sql(wire, space, place):
    rng = random.Random(5)
    native = lance.dataset(place)
    some = 0
    for _ in range(STATEMENTS):
        text, ordered = statement(rng)
        batches = native.sql(text.format(table="dataset")).build().to_batch_records()
        got = ask(wire, text.format(table=f"{space}.t"))
        assert not batches or got.column_names == batches[0].schema.names, text
        got, want = got.to_pylist(), [row for batch in batches for row in batch.to_pylist()]
        some += bool(want)
        if not ordered:
            got, want = sorted(map(repr, got)), sorted(map(repr, want))
        assert got == want, text
    assert some > STATEMENTS / 2


def test_counts_plans_and_parameters(wire, space, place):
    native = lance.dataset(place)
    table = f"{space}.t"
    assert ask(wire, f"SELECT count(*) AS n FROM {table} WHERE name = $name", name="it's").to_pylist() == [{"n": native.count_rows("name = 'it''s'")}]
    assert ask(wire, f"SELECT count(*) FROM {table} VERSION AS OF 1").to_pylist() == [{"count(*)": 200}]
    assert ask(wire, f"SELECT id FROM {table} WHERE id >= $a ORDER BY id LIMIT $k", a=100, k=2).to_pylist() == [{"id": 100}, {"id": 101}]
    assert "id" in ask(wire, f"EXPLAIN SELECT id FROM {table} WHERE id = 3")["plan"][0].as_py()
    answer = wire.call("POST", "/v1/sql", b'{"query": "SELECT id FROM %s WHERE id < 2"}' % table.encode(), {"Content-Type": "application/json", "Accept": "application/x-ndjson"})
    assert answer.body == b'{"id":0}\n{"id":1}\n', answer.body


def test_nearest_rows_and_words_are_those_of_queries(wire, space, db):
    rng = random.Random(3)
    made = pa.table(
        {
            "id": range(200),
            "body": [" ".join(rng.choice("fox dog cat house".split()) for _ in range(rng.randrange(1, 5))) for _ in range(200)],
            "vector": pa.FixedSizeListArray.from_arrays(pa.array([rng.random() for _ in range(800)], pa.float32()), 4),
        }
    )
    table = db.create_table("v", made, namespace_path=[space])
    query = [rng.random() for _ in range(4)]
    for metric in ("l2", "cosine", "dot"):
        want = table.search(query).distance_type(metric).where("id > 20", prefilter=True).limit(5).offset(2).to_list()
        got = ask(wire, f"SELECT id, distance(vector, $q, '{metric}') AS d FROM {space}.v WHERE id > 20 ORDER BY d LIMIT 5 OFFSET 2", q=query).to_pylist()
        assert got == [{"id": row["id"], "d": row["_distance"]} for row in want]
    want = table.search("fox cat", query_type="fts", fts_columns="body").where("id < 150", prefilter=True).limit(10).to_list()
    got = ask(wire, f"SELECT id, score() AS s FROM {space}.v WHERE match(body, $words) AND id < 150 ORDER BY score() DESC LIMIT 10", words="fox cat").to_pylist()
    assert got == [{"id": row["id"], "s": row["_score"]} for row in want] and got


def test_mistakes_are_named(wire, space, place):
    for text, status, named in (
        (f"SELECT nope FROM {space}.t", 404, "nope"),
        (f"SELECT id FROM {space}.none", 404, "none"),
        (f"SELECT id FROM {space}.t JOIN u ON id", 404, "u"),
        (f"SELECT id FROM {space}.t EXCEPT ALL SELECT id FROM {space}.t", 501, "EXCEPT ALL"),
        ("BEGIN", 501, "BEGIN"),
        (f"SELECT id FROM {space}.t WHERE", 400, "expected an expression"),
        (f"SELECT id FROM {space}.t WHERE id = $x", 400, "$x"),
    ):
        answer = wire.post("/v1/sql", {"query": text})
        assert answer.status == status and named in answer.json["error"], (text, answer.body)
    assert wire.post("/v1/sql", {}).status == 400
    assert wire.call("POST", "/v1/sql", b'{"query": "SELECT id FROM t"}', {"Authorization": "Bearer no"}).status == 401
    answer = wire.call("POST", "/v1/sql", b'{"query": "SELECT id FROM %s.t"}' % space.encode(), {"Content-Type": "application/json", "X-Tiltyard-Result": "link"})
    assert answer.status == 400 and b"x-tiltyard-result" in answer.body, answer.body
