"""Statements in SQL that change something: what they make is read with native Lance."""

from __future__ import annotations

import json
import random
import time

import lance
import pyarrow as pa
import pytest


class Desk:
    """Runs statements in one namespace."""

    def __init__(self, wire, space: str):
        self.wire, self.space = wire, space

    def send(self, text: str, **parameters):
        body = json.dumps({"query": text, "parameters": parameters, "namespace_id": [self.space]}).encode()
        return self.wire.call("POST", "/v1/sql", body, {"Content-Type": "application/json", "Accept": "application/json"})

    def __call__(self, text: str, **parameters) -> list[dict]:
        answer = self.send(text, **parameters)
        assert answer.status == 200, (text, answer.body)
        return answer.json

    def native(self, table: str) -> lance.LanceDataset:
        found = self.wire.post(f"/v1/table/{self.space}$%s/describe" % table, {}).json
        return lance.dataset(found["location"])

    def job(self, text: str) -> None:
        """Runs a statement whose work a job does, and waits for it."""
        (row,) = self(text)
        assert row["job_id"], row
        end = time.monotonic() + 180
        while (job := self.wire.post("/v1/jobs/describe", {"job_id": row["job_id"]}).json)["job_state"] == "IN_PROGRESS":
            assert time.monotonic() < end, job
            time.sleep(0.05)
        assert job["job_state"] == "DONE", job


@pytest.fixture
def sql(wire, space):
    return Desk(wire, space)


def test_rows_are_those_that_native_lance_reads(sql, opens):
    assert sql("CREATE TABLE t (id bigint NOT NULL, name text, v VECTOR(2), price double)") == [{"status": f"created table {sql.space}.t"}]
    assert sql("INSERT INTO t VALUES (1, 'a', [0.5, 1], 2), (2, NULL, NULL, NULL)") == [{"count": 2}]
    assert sql("INSERT INTO t (id, name, v) VALUES ($id, $name, $v)", id=3, name="it's", v=[1, 2.5]) == [{"count": 1}]
    assert sql("INSERT INTO t (id, name) SELECT id * 10, upper(name) FROM t WHERE name IS NOT NULL") == [{"count": 2}]
    assert sql("UPDATE t SET price = id / 2, name = coalesce(name, 'none') WHERE id < 10") == [{"count": 3}]
    assert sql("DELETE FROM t WHERE id = $id", id=10) == [{"count": 1}]
    native = sql.native("t")
    assert native.schema == pa.schema([
        pa.field("id", pa.int64(), nullable=False), ("name", pa.string()), ("v", pa.list_(pa.float32(), 2)), ("price", pa.float64()),
    ])
    rows = sorted(native.to_table().to_pylist(), key=lambda row: row["id"])
    assert rows == [
        {"id": 1, "name": "a", "v": [0.5, 1], "price": 0.0},
        {"id": 2, "name": "none", "v": None, "price": 1.0},
        {"id": 3, "name": "it's", "v": [1, 2.5], "price": 1.0},
        {"id": 30, "name": "IT'S", "v": None, "price": None},
    ]
    assert sql("CREATE TABLE u AS SELECT id, name FROM t WHERE id > 2") == [{"count": 2}]
    assert sorted(sql.native("u").to_table().to_pylist(), key=lambda row: row["id"]) == [{"id": 3, "name": "it's"}, {"id": 30, "name": "IT'S"}]


@pytest.mark.engine
def test_merges_are_those_of_native_lance(wire, sql, outside):
    rng = random.Random(7)

    def rows(ids: list[int]) -> pa.Table:
        return pa.table({
            "id": pa.array(ids, pa.int64()),
            "n": pa.array([rng.choice([None, *range(6)]) for _ in ids], pa.int32()),
            "name": pa.array([rng.choice(["a", "b", None]) for _ in ids], pa.string()),
        })

    for i in range(20):
        old, new = rows(rng.sample(range(60), 40)), rows(rng.sample([None, *range(30, 90)], 25))
        path = outside / f"merge-{sql.space}"
        native = lance.write_dataset(old, path / f"native{i}.lance")
        for name, table in (("t", old), ("s", new)):
            lance.write_dataset(table, path / f"{name}{i}.lance")
            assert wire.post(f"/v1/table/{sql.space}${name}{i}/register", {"location": str(path / f"{name}{i}.lance")}).status == 200
        merge, text = native.merge_insert("id"), f"MERGE INTO t{i} AS t USING s{i} AS s ON t.id = s.id"
        kind = rng.randrange(3)
        if kind == 0:
            merge, text = merge.when_matched_update_all(), text + " WHEN MATCHED THEN UPDATE SET *"
        elif kind == 1:
            condition = rng.choice(["{s}.n > {t}.n", "{s}.name = 'a' OR {t}.n IS NULL", "{t}.id % 2 = 0"])
            merge = merge.when_matched_update_all(condition=condition.format(s="source", t="target"))
            text += f" WHEN MATCHED AND {condition.format(s='s', t='t')} THEN UPDATE SET *"
        if kind == 2 or rng.random() < 0.5:
            merge, text = merge.when_not_matched_insert_all(), text + " WHEN NOT MATCHED THEN INSERT *"
        if rng.random() < 0.4:
            condition = rng.choice([None, "n > 2", "name IS NULL AND id < 20"])
            merge = merge.when_not_matched_by_source_delete(condition)
            text += f" WHEN NOT MATCHED BY SOURCE{' AND ' + condition if condition else ''} THEN DELETE"
        done = merge.execute(new)
        assert sql(text) == [{"count": done["num_updated_rows"] + done["num_inserted_rows"] + done["num_deleted_rows"]}], text
        want = lance.dataset(path / f"native{i}.lance").to_table().to_pylist()
        assert sorted(map(repr, sql.native(f"t{i}").to_table().to_pylist())) == sorted(map(repr, want)), text


def test_information_schema_has_the_tables_of_the_catalog(sql):
    sql("CREATE TABLE t (id int NOT NULL, at timestamp)")
    sql("CREATE VIEW v AS SELECT id FROM t")
    inside = f"WHERE table_schema = '{sql.space}' ORDER BY 1"
    assert sql(f"SELECT table_name, table_type FROM information_schema.tables {inside}") == [{"table_name": "t", "table_type": "BASE TABLE"}, {"table_name": "v", "table_type": "VIEW"}]
    assert sql(f"SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable AS c FROM information_schema.columns {inside}") == [
        {"c": "t.at Timestamp(µs) YES"}, {"c": "t.id Int32 NO"}, {"c": "v.id Int32 NO"},
    ]
    assert sql(f"SELECT schema_name FROM information_schema.schemata WHERE schema_name = '{sql.space}'") == [{"schema_name": sql.space}]


def test_columns_tags_branches_and_indices(sql, opens):
    sql("CREATE TABLE t (id int, x float)")
    sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    sql("ALTER TABLE t ADD COLUMN note text")
    sql("ALTER TABLE t RENAME COLUMN x TO y")
    sql("ALTER TABLE t ALTER COLUMN id TYPE bigint")
    sql("UPDATE t SET note = 'n'")
    sql("ALTER TABLE t ALTER COLUMN note SET NOT NULL")
    sql("CREATE TAG 'v-2' ON t VERSION AS OF 2")
    sql("CREATE BRANCH trial ON t")
    sql("INSERT INTO t BRANCH 'trial' VALUES (3, 3, 'm')")
    assert sql("SELECT id, x FROM t TAG 'v-2' ORDER BY id") == [{"id": 1, "x": 1.0}, {"id": 2, "x": 2.0}]
    native = sql.native("t")
    assert native.schema == pa.schema([("id", pa.int64()), ("y", pa.float32()), pa.field("note", pa.string(), nullable=False)])
    assert native.tags.list()["v-2"]["version"] == 2
    assert native.count_rows() == 2 and native.checkout_version(("trial", None)).count_rows() == 3
    assert [row["column_name"] for row in sql("DESCRIBE t")] == ["id", "y", "note"]
    assert [row["name"] for row in sql("SHOW TAGS t")] == ["v-2"] and [row["name"] for row in sql("SHOW BRANCHES t")] == ["trial"]
    sql.job("CREATE INDEX ids ON t USING BTREE (id)")
    assert [(row["name"], row["type"]) for row in sql("SHOW INDEXES FROM t")] == [("ids", "BTREE")]
    assert [index["name"] for index in sql.native("t").list_indices()] == ["ids"]
    sql.job("OPTIMIZE TABLE t")
    sql("DROP INDEX ids ON t")
    sql("DROP TAG 'v-2' ON t")
    sql("DROP BRANCH trial ON t")
    sql("ALTER TABLE t DROP COLUMN y")
    native = sql.native("t")
    assert native.schema.names == ["id", "note"] and not native.tags.list() and not native.list_indices()
    sql("DROP TABLE t")
    assert sql("SHOW TABLES") == []


def test_the_statements_of_lancedb_about_materialized_views(sql, opens):
    sql("CREATE TABLE people (id bigint, age int)")
    sql("INSERT INTO people VALUES (1, 20), (2, 10)")
    sql.job('CREATE MATERIALIZED VIEW "adults" AS SELECT id FROM people WHERE age > 17')
    sql.job('CREATE MATERIALIZED VIEW "b\'c" WITH (auto_refresh_enabled = true, auto_refresh_interval_seconds = 300.5) AS SELECT * FROM people')
    assert sql.native("adults").to_table(columns=["id"]).to_pylist() == [{"id": 1}]
    sql("INSERT INTO people VALUES (3, 30)")
    sql.job('REFRESH MATERIALIZED VIEW "adults"')
    sql.job('REFRESH MATERIALIZED VIEW "adults" WITH (full = true)')
    assert sorted(row["id"] for row in sql.native("adults").to_table().to_pylist()) == [1, 3]
    (described,) = sql('DESCRIBE MATERIALIZED VIEW "adults"')
    assert described["query"] == f"SELECT id FROM {sql.space}.people WHERE age > 17"
    assert sql("SHOW MATERIALIZED VIEWS LIMIT 2") == [{"name": "adults"}, {"name": "b'c"}]
    assert sql("SHOW MATERIALIZED VIEWS WHERE name > 'adults' LIMIT 3") == [{"name": "b'c"}]
    sql('DROP MATERIALIZED VIEW "adults"')
    assert sql("SHOW MATERIALIZED VIEWS LIMIT 101") == [{"name": "b'c"}]


def test_refused_statements_change_nothing(sql):
    sql("CREATE TABLE t (id int)")
    for text, status, named in (
        ("DELETE FROM t", 400, "byte 13"),
        ("COMMIT", 501, "committed when it ends"),
        ("INSERT INTO t VALUES (1, 2)", 400, "2 columns"),
        ("INSERT INTO t VALUES ('x')", 400, "byte 22"),
        ("INSERT INTO t SELECT nope FROM t", 404, "nope"),
        ("CREATE TABLE t (id int)", 409, "t"),
        ("DROP TABLE none", 404, "none"),
        ("SHOW TABLES; DROP TABLE t", 400, "DROP"),
    ):
        answer = sql.send(text)
        assert answer.status == status and named in answer.json["error"], (text, answer.body)
    assert sql("SELECT count(*) AS n FROM t") == [{"n": 0}]
    assert [row["version"] for row in sql("SHOW VERSIONS t")] == [1]
