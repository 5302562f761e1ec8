"""What users of Spark do beside the program of docs/clients/spark.md. The arguments are the URL of
the service, a token, and an empty namespace in which versions are managed. The table points stays.
"""

import sys

from pyspark.sql import SparkSession

URL, TOKEN, SPACE = sys.argv[1:]

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.extraClassPath", "jars/*")
    .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
    .config("spark.sql.catalog.lance", "org.lance.spark.LanceNamespaceSparkCatalog")
    .config("spark.sql.catalog.lance.impl", "rest")
    .config("spark.sql.catalog.lance.uri", URL)
    .config("spark.sql.catalog.lance.header.authorization", f"Bearer {TOKEN}")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)


def rows(statement: str) -> list[tuple]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def fails(statement: str, part: str) -> None:
    """The statement fails with an error whose text has the part."""
    try:
        rows(statement)
    except Exception as error:
        assert part in str(error), f"{statement} fails with {error}, want {part}"
        return
    raise AssertionError(f"{statement} works")


def same(got, want) -> None:
    assert got == want, f"got {got}, want {want}"


def namespaces() -> None:
    spark.sql(f"CREATE NAMESPACE lance.{SPACE}.inner WITH PROPERTIES ('a' = 'b')")
    fails(f"CREATE NAMESPACE lance.{SPACE}.inner", "SCHEMA_ALREADY_EXISTS")
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lance.{SPACE}.inner")
    same(rows(f"SHOW NAMESPACES IN lance.{SPACE}"), [(f"{SPACE}.inner",)])
    assert ("Properties", "((a,b))") in rows(f"DESCRIBE NAMESPACE EXTENDED lance.{SPACE}.inner")
    spark.sql(f"CREATE TABLE lance.{SPACE}.inner.t (id INT) USING lance")
    fails(f"DROP NAMESPACE lance.{SPACE}.inner", "is not empty")
    spark.sql(f"DROP NAMESPACE lance.{SPACE}.inner CASCADE")
    fails(f"DROP NAMESPACE lance.{SPACE}.inner", "SCHEMA_NOT_FOUND")


def types() -> None:
    """Values of each type come back as they were."""
    columns = "i INT, sh SMALLINT, t TINYINT, f FLOAT, d DOUBLE, c DECIMAL(10,2), b BOOLEAN, s STRING, x BINARY, "
    columns += "day DATE, at TIMESTAMP, l ARRAY<STRING>, o STRUCT<a: INT, b: STRING>"
    spark.sql(f"CREATE TABLE types ({columns}) USING lance")
    values = "1, 2S, 3Y, 0.5F, 0.25D, 1.25BD, true, 'é', X'0102', DATE'2020-02-29', TIMESTAMP'2020-02-29 01:02:03.456789', "
    values += "array('a', null), named_struct('a', 1, 'b', 'q')"
    nulls = "null, " * 12 + "named_struct('a', null, 'b', null)"
    spark.sql(f"INSERT INTO types VALUES ({values}), ({nulls})")
    want = rows(f"SELECT 1, 2S, 3Y, 0.5F, 0.25D, CAST(1.25 AS DECIMAL(10,2)), true, 'é', X'0102', {values[values.index('DATE'):]}")
    same(rows("SELECT * FROM types WHERE i = 1"), want)
    same(rows("SELECT * FROM types WHERE i IS NULL"), [(None,) * 12 + ((None, None),)])
    where = "day >= DATE'2020-01-01' AND at < TIMESTAMP'2021-01-01 00:00:00' AND c > 1.0 AND o.a = 1 AND b AND s LIKE 'é%'"
    same(rows(f"SELECT i FROM types WHERE {where}"), [(1,)])
    spark.sql("DROP TABLE types PURGE")


def writes() -> None:
    spark.sql("CREATE TABLE copy USING lance AS SELECT id, concat('n', id) AS name FROM range(10)")
    fails("CREATE TABLE copy (id INT) USING lance", "TABLE_OR_VIEW_ALREADY_EXISTS")
    spark.sql("CREATE TABLE IF NOT EXISTS copy (id INT) USING lance")
    spark.sql("INSERT OVERWRITE copy SELECT id, 'o' FROM range(3)")
    same(rows("SELECT count(*), min(name) FROM copy"), [(3, "o")])
    more = spark.range(3, 5).selectExpr("id", "'w' AS name")
    more.writeTo("copy").append()
    same(rows("SELECT id, name FROM copy WHERE id > 1 ORDER BY id"), [(2, "o"), (3, "w"), (4, "w")])
    same(rows("SELECT id FROM copy ORDER BY id DESC LIMIT 1"), [(4,)])
    more.writeTo("copy").using("lance").createOrReplace()
    same(rows("SELECT count(*) FROM copy"), [(2,)])
    same(sorted(name for _, name, _ in rows("SHOW TABLES")), ["copy"])
    spark.sql("DROP TABLE copy")
    spark.sql("DROP TABLE IF EXISTS copy")
    fails("SELECT * FROM copy", "TABLE_OR_VIEW_NOT_FOUND")


def history() -> None:
    """What happens to a table of several versions and files; it stays."""
    vectors = "TBLPROPERTIES ('vector.arrow.fixed-size-list.size' = '2')"
    spark.sql(f"CREATE TABLE points (id BIGINT NOT NULL, name STRING, vector ARRAY<FLOAT>) USING lance {vectors}")
    spark.sql("INSERT INTO points SELECT id, concat('n', id), array(float(id), 0f) FROM range(100)")
    spark.sql("DELETE FROM points WHERE id < 5")
    spark.sql("UPDATE points SET name = 'five' WHERE id = 5")
    spark.range(98, 106).selectExpr("id", "concat('m', id) AS name", "array(float(id), 0f) AS vector").createOrReplaceTempView("more")
    spark.sql("""
        MERGE INTO points USING more ON points.id = more.id
        WHEN MATCHED AND more.id = 98 THEN DELETE WHEN MATCHED THEN UPDATE SET name = more.name
        WHEN NOT MATCHED THEN INSERT *""")
    same(rows("SELECT count(*), sum(int(name LIKE 'm%')) FROM points"), [(100, 7)])
    spark.sql("SELECT _rowaddr, _fragid, id * 2 AS twice FROM points").createOrReplaceTempView("column")
    spark.sql("ALTER TABLE points ADD COLUMNS twice FROM column")
    spark.sql("SELECT _rowaddr, _fragid, id * 3 AS twice FROM points").createOrReplaceTempView("column")
    spark.sql("ALTER TABLE points UPDATE COLUMNS twice FROM column")
    same(rows("SELECT id, name, twice FROM points WHERE id IN (5, 99, 105) ORDER BY id"), [(5, "five", 15), (99, "m99", 297), (105, "m105", 315)])
    spark.sql("ALTER TABLE points CREATE INDEX ids USING btree (id)")
    spark.sql("""
        ALTER TABLE points CREATE INDEX names USING fts (name) WITH (base_tokenizer = 'simple', language = 'English',
        max_token_length = 40, lower_case = true, stem = false, remove_stop_words = false, ascii_folding = false, with_position = true)""")
    same(sorted((index.name, index.index_type, index.num_indexed_rows) for index in spark.sql("SHOW INDEXES IN points").collect()),
         [("ids", "btree", 100), ("names", "inverted", 100)])
    same(rows("SELECT name FROM points WHERE id = 50"), [("n50",)])
    assert spark.sql("OPTIMIZE points WITH (target_rows_per_fragment = 20000)").first().fragments_added == 1
    spark.sql("INSERT INTO points SELECT 200, 'late', array(200f, 0f), 600")
    same(rows("SELECT count(*) FROM points VERSION AS OF 2"), [(100,)])
    same(rows("SELECT count(*) FROM points TIMESTAMP AS OF current_timestamp()"), [(101,)])
    assert spark.sql("VACUUM points WITH (before_version = 3)").first().old_versions == 2
    fails("SELECT count(*) FROM points VERSION AS OF 1", "1")
    same(rows("SELECT count(*) FROM points"), [(101,)])


def faults() -> None:
    """What does not work in the client: docs/clients/spark.md lists it."""
    for change in ["ADD COLUMNS (extra INT)", "RENAME COLUMN name TO label", "DROP COLUMN name", "SET TBLPROPERTIES ('a' = 'b')"]:
        fails(f"ALTER TABLE points {change}", "Table alteration is not supported")
    fails("ALTER TABLE points RENAME TO other", "Table renaming is not supported")
    fails("TRUNCATE TABLE points", "does not support truncates")


namespaces()
spark.sql(f"USE lance.{SPACE}")
types()
writes()
history()
faults()
print("done")
