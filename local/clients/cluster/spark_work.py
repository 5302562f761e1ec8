"""Work of Spark on a table of the service, on a cluster of four executors of which each step loses one.

    python spark_work.py URL TOKEN NAMESPACE ROWS

The last steps run beside other writers, between lines with "beside": true and "beside": false.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from work import say, step

url, token, space, rows = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
EXECUTOR = "CoarseGrainedExecutorBackend"
WORKERS = 4

spark = (
    SparkSession.builder.master(f"local-cluster[{WORKERS},1,1024]")
    .config("spark.driver.extraClassPath", "jars/*")
    .config("spark.executor.extraClassPath", os.path.realpath("jars") + "/*")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
    .config("spark.sql.catalog.lance", "org.lance.spark.LanceNamespaceSparkCatalog")
    .config("spark.sql.catalog.lance.impl", "rest")
    .config("spark.sql.catalog.lance.uri", url)
    .config("spark.sql.catalog.lance.header.x-api-key", token)
    .config("spark.sql.shuffle.partitions", str(WORKERS))
    .getOrCreate()
)


def sql(statement: str) -> list[tuple]:
    return [tuple(row) for row in spark.sql(statement).collect()]


def same(got, want) -> None:
    assert got == want, f"got {got}, want {want}"


def made(start: int, count: int, parts: int) -> None:
    """A view with rows from a number on."""
    spark.range(start, start + count, 1, parts).selectExpr(
        "id",
        "int(id % 100) AS label",
        "concat_ws(' ', transform(sequence(1, 8), n -> concat('w', pmod(hash(id, n), 1000)))) AS text",
        "transform(sequence(1, 32), n -> float(pmod(hash(id, n, 7), 65536)) / 65536f) AS vector",
    ).createOrReplaceTempView("made")


def insert() -> None:
    sql("INSERT INTO spark SELECT * FROM made")


def merge() -> None:
    """Replaces the second half of the rows, and adds as many."""
    sql("MERGE INTO spark USING made ON spark.id = made.id WHEN MATCHED THEN UPDATE SET label = -1 WHEN NOT MATCHED THEN INSERT *")


def add() -> None:
    spark.sql("SELECT _rowaddr, _fragid, id * 2 AS twice FROM spark").createOrReplaceTempView("doubled")
    sql("ALTER TABLE spark ADD COLUMNS twice FROM doubled")


def count(condition: str) -> int:
    return sql(f"SELECT count(*) FROM spark WHERE {condition}")[0][0]


def index(kind: str) -> None:
    if kind == "BTREE":
        sql("ALTER TABLE spark CREATE INDEX id_idx USING btree (id)")
        return
    sql("""ALTER TABLE spark CREATE INDEX text_idx USING fts (text) WITH (base_tokenizer = 'simple', language = 'English',
        max_token_length = 40, lower_case = true, stem = false, remove_stop_words = false, ascii_folding = false, with_position = false)""")


def compact() -> None:
    sql(f"OPTIMIZE spark WITH (target_rows_per_fragment = {rows // 4})")


sql(f"USE lance.{space}")
sql("""CREATE TABLE spark (id BIGINT, label INT, text STRING, vector ARRAY<FLOAT>) USING lance
    TBLPROPERTIES ('vector.arrow.fixed-size-list.size' = '32')""")
made(0, rows, 2 * WORKERS)
step("write", EXECUTOR, insert, committed=lambda: count("true") == rows)
same(count("true"), rows)
same(step("training read", EXECUTOR, lambda: spark.table("spark").where("label < 50").select("vector", "label").rdd.mapPartitions(lambda part: [sum(1 for _ in part)]).sum()), rows // 2)
step("update", EXECUTOR, lambda: sql("UPDATE spark SET label = 100 WHERE label = 0"))
same(count("label = 100"), rows // 100)
made(rows // 2, rows, 2 * WORKERS)
step("merge", EXECUTOR, merge)
same((count("true"), count("label = -1")), (rows * 3 // 2, rows // 2))
step("add column", EXECUTOR, add, committed=lambda: "twice" in spark.table("spark").columns)
same(count("twice = id * 2"), rows * 3 // 2)
step("compaction", EXECUTOR, compact)
step("BTREE", EXECUTOR, lambda: index("BTREE"))
step("INVERTED", EXECUTOR, lambda: index("INVERTED"))
same(count("true"), rows * 3 // 2)

made(rows * 3 // 2, rows, 2 * WORKERS)
spark.sql("SELECT *, id * 2 AS twice FROM made").createOrReplaceTempView("made")
say(beside=True)
step("append beside others", EXECUTOR, insert)
step("compaction beside others", EXECUTOR, compact)
step("BTREE beside others", EXECUTOR, lambda: index("BTREE"))
say(beside=False)
spark.stop()
