"""Drivers of Arrow Flight SQL: ADBC in Python, and JDBC. They meet the local server, because gateways pass no gRPC on."""

from __future__ import annotations

import pathlib
import re
import sys

import adbc_driver_flightsql.dbapi
import lancedb
import pyarrow
import pytest

import recipes
from process import Server

ROOT = pathlib.Path(__file__).parents[2]
pytestmark = pytest.mark.embedded("gateways pass no gRPC on")
AUTHORIZATION = "adbc.flight.sql.authorization_header"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server with a table, and the address at which it answers drivers."""
    with Server(tmp_path_factory.mktemp("flightsql") / "root", settings={"TILTYARD_SQL_LISTEN": "127.0.0.1:0"}) as server:
        db = lancedb.connect("db://local", api_key=server.token, host_override=server.url)
        db.create_namespace(["shop"])
        rows = [{"id": i, "word": word, "vector": [float(i), 1.0]} for i, word in enumerate(["ant", "bee", "cat"])]
        db.create_table("docs", rows, namespace_path=["shop"])
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
    (table,) = schema["db_schema_tables"]
    assert (schema["db_schema_name"], table["table_name"], table["table_type"]) == ("shop", "docs", "TABLE")
    assert [column["column_name"] for column in table["table_columns"]] == ["id", "word", "vector"]
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
        "[[, shop, docs, TABLE]]",
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
