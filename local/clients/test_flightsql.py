"""Drivers of Arrow Flight SQL: ADBC in Python and in Go, SQLAlchemy over it, and JDBC. They meet the local server, because
gateways pass no gRPC on."""

from __future__ import annotations

import datetime
import pathlib
import re
import sys

import adbc_driver_flightsql.dbapi
import duckdb
import lancedb
import pyarrow
import pytest
import sqlalchemy

import recipes
from process import Server

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.embedded("gateways pass no gRPC on")
AUTHORIZATION = "adbc.flight.sql.authorization_header"
SALES = pyarrow.table({
    "id": pyarrow.array(range(60), pyarrow.int64()),
    "kind": [["book", "map", None, "Pen"][i % 4] for i in range(60)],
    "amount": [None if i % 7 == 0 else i * 0.5 for i in range(60)],
    "day": pyarrow.array([datetime.datetime(2024, 1 + i % 12, 1 + i % 28, i % 24) for i in range(60)], pyarrow.timestamp("us")),
    "open": [i % 3 == 0 for i in range(60)],
})

# Statements as these tools write them for a table of a schema, by what they want to know.
TOOLS = {
    "DBeaver, rows": "SELECT t.* FROM shop.sales t LIMIT 200",
    "DBeaver, how many": "SELECT COUNT(*) FROM (\nSELECT id, kind FROM shop.sales\n) dbvrcnt",
    "Superset, bars": 'SELECT kind AS kind, sum(amount) AS "SUM(amount)" FROM shop.sales GROUP BY kind ORDER BY "SUM(amount)" DESC LIMIT 1000',
    "Superset, a time line": "SELECT DATE_TRUNC('month', day) AS __timestamp, COUNT(*) AS count FROM shop.sales WHERE day >= TIMESTAMP '2024-02-01 00:00:00.000000' "
    "AND day < TIMESTAMP '2024-11-01 00:00:00.000000' GROUP BY DATE_TRUNC('month', day) ORDER BY __timestamp LIMIT 10000",
    "Superset, values of a filter": "SELECT DISTINCT kind AS kind FROM shop.sales ORDER BY kind LIMIT 1000",
    "Superset, a query as a table": "SELECT id AS id, amount AS amount FROM (SELECT id, amount FROM shop.sales WHERE amount > 3) AS virtual_table WHERE id > 9 ORDER BY id LIMIT 100",
    "Metabase, rows": 'SELECT "shop"."sales"."id" AS "id", "shop"."sales"."kind" AS "kind" FROM "shop"."sales" WHERE ("shop"."sales"."open" = TRUE) LIMIT 1048575',
    "Metabase, groups": 'SELECT "source"."kind" AS "kind", COUNT(*) AS "count", SUM(CASE WHEN "source"."amount" > 5 THEN 1 ELSE 0.0 END) AS "count-where" FROM '
    '(SELECT "shop"."sales"."kind" AS "kind", "shop"."sales"."amount" AS "amount" FROM "shop"."sales") AS "source" GROUP BY "source"."kind" ORDER BY "source"."kind" ASC',
    "Metabase, a column": 'SELECT COUNT(DISTINCT "shop"."sales"."kind") AS "count", MIN("shop"."sales"."day") AS "min", MAX("shop"."sales"."day") AS "max" FROM "shop"."sales"',
    "Metabase, texts": 'SELECT SUBSTRING("shop"."sales"."kind", 1, 3) AS "substring51" FROM "shop"."sales" LIMIT 10000',
    "Metabase, a search": """SELECT "shop"."sales"."id" AS "id" FROM "shop"."sales" WHERE (LOWER("shop"."sales"."kind") LIKE '%pe%') LIMIT 2000""",
    "Tableau, bars": 'SELECT "sales"."kind" AS "kind", SUM("sales"."amount") AS "sum:amount:ok" FROM "shop"."sales" "sales" GROUP BY 1',
    "Tableau, how many": 'SELECT COUNT(1) AS "cnt:sales" FROM "shop"."sales" "sales" HAVING (COUNT(1) > 0)',
    "Tableau, columns": 'SELECT * FROM (SELECT * FROM shop.sales) "Custom SQL Query" WHERE (0 = 1)',
    "Tableau, a filter": """SELECT "sales"."id" AS "id" FROM "shop"."sales" "sales" WHERE (("sales"."kind" IN ('book', 'map')) AND ("sales"."amount" >= 1.5) AND ("sales"."amount" <= 20))""",
    "Power BI, rows": 'select "$Table"."id" as "id", "$Table"."day" as "day" from "shop"."sales" as "$Table" order by "$Table"."id" limit 1001',
    "Power BI, sums": 'select "_"."kind" as "kind", "_"."a0" as "a0" from (select "rows"."kind" as "kind", sum("rows"."amount") as "a0" from '
    '(select "_"."kind", "_"."amount" from "shop"."sales" as "_" where "_"."open") as "rows" group by "rows"."kind") as "_" where not "_"."a0" is null limit 1001',
    "Looker, bars": 'SELECT sales.kind AS "sales.kind", COALESCE(SUM(sales.amount), 0) AS "sales.total" FROM shop.sales AS sales GROUP BY 1 ORDER BY 2 DESC LIMIT 500',
    "all of them, alive": "SELECT 1",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with a table, and the address at which it answers drivers."""
    with Server(tmp_path_factory.mktemp("flightsql") / "root", settings={"TILTYARD_SQL_LISTEN": "127.0.0.1:0"}) as server:
        db = lancedb.connect("db://local", api_key=server.token, host_override=server.url)
        db.create_namespace(["shop"])
        rows = [{"id": i, "word": word, "vector": [float(i), 1.0]} for i, word in enumerate(["ant", "bee", "cat"])]
        db.create_table("docs", rows, namespace_path=["shop"])
        db.create_table("sales", SALES, namespace_path=["shop"])
        server.sql = re.search(rb"drivers of Flight SQL.* address=(\S+)", server.log()).group(1).decode()
        yield server
        assert server.faults() == []


@pytest.fixture
def connection(served):
    with connect(served, {AUTHORIZATION: f"Bearer {served.token}"}) as connection:
        yield connection


def connect(served, options):
    return adbc_driver_flightsql.dbapi.connect(f"grpc://{served.sql}", db_kwargs=options, autocommit=True)


def query(connection, text: str, parameters=None) -> list:
    with connection.cursor() as cursor:
        cursor.execute(text, parameters)
        return cursor.fetchall()


def test_statements(connection):
    assert query(connection, "SELECT id, word FROM shop.docs WHERE id > 0 ORDER BY id") == [(1, "bee"), (2, "cat")]
    assert query(connection, "SELECT count(*) FROM shop.docs") == [(3,)]
    assert query(connection, "SELECT id FROM shop.docs WHERE id > 100") == []


def test_parameters(connection):
    assert query(connection, "SELECT id FROM shop.docs WHERE word = ? AND id < ?", ("bee", 5)) == [(1,)]
    vector = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array([2.0, 1.0], pyarrow.float32()), 2)
    named = pyarrow.record_batch([pyarrow.array([1]), vector], names=["k", "v"])
    assert query(connection, "SELECT id FROM shop.docs ORDER BY distance(vector, $v) LIMIT $k", named) == [(2,)]


def test_metadata(connection):
    (catalog,) = connection.adbc_get_objects(db_schema_filter="shop").read_all().to_pylist()
    (schema,) = catalog["catalog_db_schemas"]
    assert [table["table_name"] for table in schema["db_schema_tables"]] == ["docs", "sales"]
    table = schema["db_schema_tables"][0]
    assert (schema["db_schema_name"], table["table_type"]) == ("shop", "TABLE")
    columns = [(column["column_name"], column["xdbc_type_name"]) for column in table["table_columns"]]
    assert columns == [("id", "BIGINT"), ("word", "VARCHAR"), ("vector", "ARRAY")]
    assert connection.adbc_get_table_schema("docs", db_schema_filter="shop").names == ["id", "word", "vector"]
    assert connection.adbc_get_table_types() == ["TABLE", "VIEW"]
    assert connection.adbc_get_info()["vendor_name"] == "Tiltyard"


def test_credentials(served):
    statement = "SELECT count(*) FROM shop.docs"
    with connect(served, {"username": "anyone", "password": served.token}) as connection:
        assert query(connection, statement) == [(3,)]
    for options in [{AUTHORIZATION: "Bearer wrong"}, {"username": "anyone", "password": "wrong"}, {}]:
        with pytest.raises(adbc_driver_flightsql.dbapi.ProgrammingError, match="UNAUTHENTICATED"), connect(served, options) as connection:
            query(connection, statement)


def test_errors_have_the_text_of_the_service(connection):
    with pytest.raises(adbc_driver_flightsql.dbapi.ProgrammingError, match='no column "nothing"'):
        query(connection, "SELECT nothing FROM shop.docs")


@pytest.mark.parametrize("what", TOOLS)
def test_statements_of_tools(connection, what):
    """What tools for tables and charts ask for is what DuckDB answers."""
    sales, own = SALES, duckdb.connect()  # noqa: F841: DuckDB finds the table by the name of the variable
    own.execute("CREATE SCHEMA shop; CREATE TABLE shop.sales AS SELECT * FROM sales")
    want, got = own.execute(TOOLS[what]).fetchall(), query(connection, TOOLS[what])
    order = (lambda rows: rows) if "ORDER BY" in TOOLS[what].upper() else (lambda rows: sorted(rows, key=repr))
    assert order([tuple(float(v) if isinstance(v, float) else v for v in row) for row in got]) == order(want)


@pytest.mark.filterwarnings("ignore:Cannot disable autocommit")
def test_sqlalchemy(served):
    engine = sqlalchemy.create_engine(f"adbc+flightsql://any:{served.token}@{served.sql}/?tls=false")
    with engine.connect() as db:
        docs = sqlalchemy.Table("docs", sqlalchemy.MetaData(), schema="shop", autoload_with=db)
        assert [(c.name, type(c.type).__name__) for c in docs.columns][:2] == [("id", "BigInteger"), ("word", "String")]
        assert sqlalchemy.inspect(db).get_schema_names() == ["shop"]
        chosen = sqlalchemy.select(docs.c.id, docs.c.word.label("text")).where(docs.c.word.in_(["bee", "cat"]), docs.c.id < 9)
        assert db.execute(chosen.order_by(docs.c.id.desc()).limit(1).offset(1)).all() == [(1, "bee")]
        other = docs.alias("other")
        pairs = sqlalchemy.select(sqlalchemy.func.count(), sqlalchemy.func.max(other.c.word)).join_from(docs, other, docs.c.id == other.c.id + 1)
        assert db.execute(pairs).all() == [(2, "bee")]
        assert db.execute(sqlalchemy.text("SELECT word FROM shop.docs WHERE id = :id"), {"id": 2}).scalar() == "cat"
    engine.dispose()


@pytest.mark.seconds(600)
def test_lancedb_crate(installed, tmp_path):
    """LanceDB's client of the next version, which has left REST for SQL where it is about views and statements."""
    installed("lancedb-crate")
    with Server(tmp_path / "root", settings={"TILTYARD_SQL_LISTEN": "127.0.0.1:0"}) as server:
        lancedb.connect("db://local", api_key=server.token, host_override=server.url).create_namespace(["new"])
        address = re.search(rb"drivers of Flight SQL.* address=(\S+)", server.log()).group(1).decode()
        program = ROOT / "local" / "clients" / "lancedb" / "src" / "main.rs"
        command = [str(ROOT / "scripts" / "crate.sh"), "local/clients/lancedb", str(program), server.url, address, server.token, "new"]
        assert recipes.run(command).strip() == "done"
        assert server.faults() == []


def test_go(installed, served):
    installed("go")
    program = recipes.run([str(ROOT / "scripts" / "adbc.sh")]).strip()
    assert recipes.run([program, served.sql, served.token, "shop"]).splitlines() == [
        "id int64",
        "word utf8",
        "vector fixed_size_list<item: float32, nullable>[2]",
        "0 ant ",
        "1 bee ",
        "2 cat ",
        "2 ",
    ]


@pytest.mark.seconds(600)
def test_jdbc(installed, served):
    installed("jdbc")
    jars = recipes.run([str(ROOT / "scripts" / "jars.sh"), "local/clients/jdbc"]).strip()
    program = ROOT / "local" / "clients" / "jdbc" / "Suite.java"
    command = ["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", f"{jars}/*", str(program), served.sql, served.token, "shop"]
    assert recipes.run(command).splitlines() == [
        'Tiltyard "',
        "[[]]",
        "[[shop]]",
        "[[TABLE], [VIEW]]",
        "[[, shop, docs, TABLE], [, shop, sales, TABLE]]",
        "[[, shop, docs, id, -5, BIGINT], [, shop, docs, word, 12, VARCHAR], [, shop, docs, vector, 2003, ARRAY]]",
        "[]",
        "[[3]]",
        "[[0, ant], [1, bee], [2, cat]]",
        "true",
        "[[2]]",
        "[[2]]",
    ]


def test_the_page_works(served):
    """The code in docs/sql.md prints what the page says."""
    page = (ROOT / "docs" / "sql.md").read_text()
    code, printed = (re.search(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1] for language in ("python", "text"))
    assert "127.0.0.1:10025" in code and "TOKEN" in code
    assert recipes.run([sys.executable, "-c", code.replace("127.0.0.1:10025", served.sql).replace("TOKEN", served.token)]) == printed
