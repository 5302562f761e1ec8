"""What users of LanceDB's client for Python do, in the words of all of its versions since 0.24.
Arguments are the URL of the service and a token."""

import importlib.metadata
import os
import sys
import time
import uuid

import lancedb
import pyarrow as pa

url, token = sys.argv[1:]
db = lancedb.connect("db://local", api_key=token, host_override=url, client_config={"retry_config": {"retries": 0}})
name = "older_" + uuid.uuid4().hex[:12]


def row(number: int, item: str | None = None) -> dict:
    return {"id": number, "item": item or f"word{number}", "vector": [float(number), 1.0]}


table = db.create_table(name, [row(i) for i in range(20)])
assert name in list(db.table_names(limit=10_000))
assert db.open_table(name).schema.names == ["id", "item", "vector"]
table.add([row(100, "extra")])
assert table.count_rows() == 21 and table.count_rows("id > 17") == 3
assert table.update(where="id = 1", values={"item": "one"}).rows_updated == 1
table.delete("id = 2")
merged = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute([row(1, "merged"), row(101)])
assert (merged.num_updated_rows, merged.num_inserted_rows) == (1, 1)

versions = table.list_versions()
assert [version["version"] for version in versions] == [1, 2, 3, 4, 5] == list(range(1, table.version + 1))
assert all(abs(time.time() - version["timestamp"].timestamp()) < 48 * 3600 for version in versions)  # of any time zone

found = table.search([3.1, 1.0]).where("id < 50").select(["id"]).limit(2).to_list()
assert [hit["id"] for hit in found] == [3, 4]
found = table.search([5.0, 1.0]).select({"number": "id", "upper": "upper(item)"}).limit(1).to_list()
assert (found[0]["number"], found[0]["upper"]) == (5, "WORD5")
assert table.search().where("id >= 100").select({"double": "id * 2"}).limit(10).to_arrow()["double"].to_pylist() == [200, 202]
assert [hit["query_index"] for hit in table.search([[1.0, 1.0], [7.0, 1.0]]).limit(1).to_list()] == [0, 1]

table.create_fts_index("item")
table.create_scalar_index("id")
for _ in range(600):
    names = sorted(index.name for index in table.list_indices())
    if names == ["id_idx", "item_idx"]:
        break
    time.sleep(0.1)
assert names == ["id_idx", "item_idx"]
assert table.index_stats("item_idx").num_unindexed_rows == 0
assert [hit["id"] for hit in table.search("word9", query_type="fts").limit(3).to_list()] == [9]
assert table.stats()["num_rows"] == 21
assert "Scan" in table.search([1.0, 1.0]).explain_plan()

table.add_columns({"twice": "id * 2"})
table.alter_columns({"path": "twice", "rename": "double"})
assert pa.types.is_int64(table.schema.field("double").type)
table.drop_columns(["double"])
table.tags.create("first", 1)
assert table.tags.get_version("first") == 1 and set(table.tags.list()) == {"first"}
table.checkout(1)
assert table.count_rows() == 20
table.restore()
table.checkout_latest()
assert table.count_rows() == 20
db.drop_table(name)
print("done", importlib.metadata.version("lancedb"), flush=True)
os._exit(0)  # threads of these clients sometimes crash an interpreter that ends as others do
