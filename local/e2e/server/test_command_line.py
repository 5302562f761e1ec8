"""The command line beside the stock client: what one writes the other reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time

import lance
import lancedb
import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lancedb import col
from lancedb.index import BTree

from process import Server, binary
from wire import Wire

pytestmark = pytest.mark.embedded("runs the program beside a server of its own")

ROWS = pa.table(
    {
        "id": pa.array(range(200), pa.int64()),
        "word": [f"word {i % 7}" for i in range(200)],
        "vector": pa.array([[i / 200, 1 - i / 200] for i in range(200)], pa.list_(pa.float32(), 2)),
    }
)


class Line:
    """A command line, and the stock client, of one server."""

    def __init__(self, server: Server):
        self.root, self.url, self.token = server.root, server.url, server.token
        self.environment = {**os.environ, "TILTYARD_URL": server.url, "TILTYARD_TOKEN": server.token, "HOME": str(server.root.parent)}
        self.db = lancedb.connect("db://local", api_key=server.token, host_override=server.url)

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run([str(binary()), *arguments], capture_output=True, text=True, timeout=60, env=self.environment)
        assert done.returncode == code, f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    def objects(self, *arguments: str) -> list[dict]:
        return [json.loads(line) for line in self.run(*arguments, "--output", "json").splitlines()]


@pytest.fixture
def line(tmp_path):
    with Server(tmp_path / "root") as server:
        yield Line(server)


def test_rows_go_in_and_out(line, tmp_path):
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    line.run("insert", "files", str(tmp_path / "rows.parquet"), "--create")
    assert line.db.open_table("files").search().limit(1000).to_arrow().sort_by("id").equals(ROWS)
    for ending, read in {"parquet": pq.read_table, "arrow": lambda path: pa.ipc.open_stream(path).read_all()}.items():
        path = tmp_path / f"out.{ending}"
        line.run("export", "files", str(path))
        assert read(path).cast(ROWS.schema).sort_by("id").equals(ROWS), ending
    nearest = line.db.open_table("files").search([0.5, 0.5]).limit(3).to_list()
    shown = line.objects("query", "files", "--vector", "[0.5,0.5]", "--limit", "3")
    assert [(r["id"], r["_distance"]) for r in shown] == [(r["id"], pytest.approx(r["_distance"])) for r in nearest]


def test_a_dropped_table_comes_back(line):
    line.run("ns", "create", "kept", "--property", "drop.retention=1h")
    table = line.db.create_table("t", ROWS, namespace_path=["kept"])
    table.tags.create("first", 1)
    table.create_index("id", config=BTree())
    table.wait_for_index(["id_idx"])
    table.delete("id >= 150")
    version = table.version
    line.db.drop_table("t", namespace_path=["kept"])
    assert line.db.list_tables(namespace_path=["kept"]).tables == []
    assert [(d["kind"], d["id"]) for d in line.objects("dropped", "list", "kept")] == [("table", ["kept", "t"])]
    line.db.create_table("t", ROWS.slice(0, 1), namespace_path=["kept"])
    line.run("undrop", "kept/t", code=4)
    line.run("undrop", "kept/t", "--as", "kept/again")
    again = line.db.open_table("again", namespace_path=["kept"])
    assert again.version == version and again.search().limit(1000).to_arrow().sort_by("id").equals(ROWS.slice(0, 150))
    assert list(again.tags.list()) == ["first"] and [i.name for i in again.list_indices()] == ["id_idx"]
    assert line.db.open_table("t", namespace_path=["kept"]).count_rows() == 1
    again.add(ROWS.slice(150))
    assert again.count_rows("id = 199") == 1
    line.run("undrop", "kept/t", code=3)


def test_doctor_finds_and_mends(line):
    line.db.create_table("healthy", ROWS)
    assert line.run("doctor", "--root", str(line.root), "--json") == ""
    orphan = line.root / "gone-0123456789abcdef01234567.lance"
    location = next(line.root.glob("healthy-*.lance"))
    shutil.copytree(location, orphan)
    old = time.time() - 3 * 86400
    for path in orphan.rglob("*"):
        os.utime(path, (old, old))
    faults = [json.loads(text) for text in line.run("doctor", "--root", str(line.root), "--json", code=9).splitlines()]
    assert [f["kind"] for f in faults if orphan.name in json.dumps(f)] == ["orphan-folder"]
    line.run("doctor", "--root", str(line.root), "--fix")
    assert not list(orphan.rglob("*.lance")) and line.db.open_table("healthy").count_rows() == 200
    assert line.run("doctor", "--root", str(line.root), "--json") == ""


def test_functions_are_made(line, tmp_path):
    (tmp_path / "loud.sql").write_text("upper(text)\n")
    line.run("function", "create", "loud", str(tmp_path / "loud.sql"), "--input", "text:utf8?", "--output", "utf8", "--wait")
    loud = line.db.get_function("loud", version="1")
    table = line.db.create_table("texts", ROWS)
    table.add_columns({"loud": loud(text=col("word"))})
    table.refresh_column_async("loud").wait()
    assert [r["loud"] for r in table.search().where("id < 3").limit(3).to_list()] == ["WORD 0", "WORD 1", "WORD 2"]
    assert [f["name"] for f in line.objects("function", "list")] == ["loud"]


def test_bench_measures(line):
    line.db.create_table("measured", ROWS)
    result = json.loads(line.run("bench", "measured", "--where", "id < 10", "--requests", "20", "--clients", "4", "-o", "json"))
    assert result["requests"] == 20 and result["rows"] == 10 and 0 < result["p50_ms"] <= result["slowest_ms"]


def test_rows_over_http_are_those_of_the_command_line(line):
    values = pa.table({
        "id": pa.array([1, 2**53 + 1, None], pa.int64()), "bytes": pa.array([b"\x00\xff", b"", None], pa.binary()),
        "half": pa.array([0.1, float("nan"), None], pa.float32()), "day": pa.array([0, 20000, None], pa.date32()),
        "vector": pa.array([[0.5, 1], [2, 3], [4, 5]], pa.list_(pa.float32(), 2)), "text": ["a\n\"b\"", "ü<&>", None],
    })
    wire = Wire(line.url, line.token)
    assert wire.upload("/v1/table/t/create", values).status == 200
    query = {"k": 10, "vector": []}
    lines = wire.post("/v1/table/t/query", query, Accept="application/x-ndjson")
    assert lines.headers["Content-Type"] == "application/x-ndjson" and lines.body.decode() == line.run("query", "t", "-o", "json")
    document = wire.post("/v1/table/t/query", query, Accept="application/json")
    assert document.headers["Content-Type"] == "application/json" and document.json == [json.loads(text) for text in lines.body.splitlines()]
    assert document.json[1]["id"] == 2**53 + 1 and document.json[0]["bytes"] == "AP8=" and document.json[0]["vector"] == [0.5, 1]
    assert wire.post("/v1/table/t/query", query, Accept="*/*").table.num_rows == 3
    assert wire.post("/v1/table/t/query", {"vector": [], "k": 1, "filter": "nope = 1"}, Accept="application/x-ndjson").status == 400


def test_csv_and_json_become_tables(line, tmp_path):
    (tmp_path / "rows.csv").write_text('id,word,day,vector\n1,a,2024-02-29,"[1, 2]"\n2,,,"[3, 4]"\n')
    line.run("insert", "rows", str(tmp_path / "rows.csv"), "--create", "--type", "id=int32")
    table = line.db.open_table("rows")
    assert table.schema == pa.schema({"id": pa.int32(), "word": pa.string(), "day": pa.date32(), "vector": pa.list_(pa.float32(), 2)})
    assert table.search([3, 4]).limit(1).to_list()[0]["id"] == 2
    (tmp_path / "rows.jsonl").write_text('{"id": 1, "at": "2024-02-29T01:02:03Z", "o": {"x": [1, 2]}}\n{"id": 2, "more": true}\n')
    line.run("insert", "objects", str(tmp_path / "rows.jsonl"), "--create")
    found = line.db.open_table("objects").search().to_arrow().sort_by("id")
    assert found.schema.field("o").type == pa.struct({"x": pa.list_(pa.float32(), 2)})
    assert found.column("at")[0].as_py().isoformat() == "2024-02-29T01:02:03+00:00" and found.column("more").to_pylist() == [None, True]


def test_vectors_of_files_and_rows(line, tmp_path):
    table = line.db.create_table("t", ROWS)
    numpy.save(tmp_path / "v.npy", numpy.array([0.25, 0.75], "float64"))
    nearest = [r["id"] for r in table.search([0.25, 0.75]).limit(3).to_list()]
    for vector in (["--vector", f"@{tmp_path / 'v.npy'}"], ["--like", "id = 50"]):
        assert [r["id"] for r in line.objects("query", "t", *vector, "--limit", "3")] == nearest, vector


def test_log_and_diff_show_what_changed(line):
    table = line.db.create_table("t", ROWS)
    table.tags.create("first", 1)
    table.delete("id >= 150")
    table.add(ROWS.slice(150, 10))
    entries = line.objects("log", "t")
    assert [(e["version"], e["rows"], e["change"], e["tags"]) for e in entries] == [(3, 160, 10, []), (2, 150, -50, []), (1, 200, 200, ["first"])]
    found = json.loads(line.run("diff", "t", "1", "2", "--limit", "100", "-o", "json"))
    assert found["removed"] == 50 and found["added"] == found["changed"] == 0 and found["columns"] == []
    assert sorted(row["before"]["id"] for row in found["rows"]) == list(range(150, 200))


def test_tables_are_copied_between_servers(line, tmp_path):
    line.db.create_table("t", ROWS)
    with Server(tmp_path / "other") as server:
        other = Line(server)
        for name, one in {"here": line, "there": other}.items():
            subprocess.run([str(binary()), "login", name, "--url", one.url, "--token-stdin"], input=one.token, text=True, check=True, env=line.environment)
        line.run("cp", "here:t", "there:t")
        assert other.db.open_table("t").search().limit(1000).to_arrow().sort_by("id").equals(ROWS)
        line.run("cp", "here:t", "there:t", code=4)
        line.run("cp", "here:t", "there:t", "--append")
        assert other.db.open_table("t").count_rows() == 400
        line.run("mv", "here:t", "there:u", code=2)
        line.run("cp", "there:t", str(tmp_path / "t.parquet"))
        assert pq.read_metadata(tmp_path / "t.parquet").num_rows == 400
        (tmp_path / "bad.csv").write_text("id\n" + "1\n" * 10_000 + "x\n")
        line.run("cp", str(tmp_path / "bad.csv"), "there:bad", code=1)
        assert other.db.list_tables().tables == ["t"]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_blobs_of_native_lance_are_copied(line, tmp_path, version):
    """Native Lance reads the bytes of a copy, and pyarrow those of a file."""
    values = [b"inline", None, b"", os.urandom(200_000), os.urandom(5 << 20), os.urandom(6 << 20)]
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    rows = pa.table({"id": range(len(values)), "b": values}, schema=schema)
    if version == "2.2":
        rows = pa.table([rows["id"], lance.blob_array(values)], schema=pa.schema([schema.field("id"), lance.blob_field("b")]))
    lance.write_dataset(rows, line.root / "t.lance", data_storage_version=version)
    line.run("table", "register", "t", "t.lance")
    line.run("cp", "t", str(tmp_path / "t.parquet"))
    assert pq.read_table(tmp_path / "t.parquet").sort_by("id")["b"].to_pylist() == values
    line.run("cp", "t", "u")
    line.run("cp", str(tmp_path / "t.parquet"), "v")
    for name in ("u", "v"):
        found = json.loads(line.run("call", "DescribeTable", name))
        table = lance.dataset(found["location"])
        assert table.to_table(blob_handling="all_binary").sort_by("id")["b"].to_pylist() == values, name


def test_top_counts_requests(line):
    table = line.db.create_table("t", ROWS)
    for _ in range(5):
        table.search([0.5, 0.5]).limit(1).to_list()
    (found,) = line.objects("top")
    queries = next(one for one in found["operations"] if one["operation"] == "QueryTable")
    assert queries["requests"] == 5 and 0 < queries["p50_ms"] <= queries["p95_ms"] and queries["failed"] == 0
    assert found["memory"]["limit"] > 0 and found["jobs"] == []
    cache = found["cache"]
    assert 0 < cache["held"] < cache["limit"] and cache["hits"] > 0 and cache["misses"] > 0 and 0 < cache["hit_rate"] < 1


def test_bash_completes_names(line):
    line.db.create_table("tables_of_bash", ROWS)
    words = line.run("__complete", "query", "tab").splitlines()
    assert words == ["tables_of_bash", ":4"]
    assert line.run("__complete", "query", "tables_of_bash", "--columns", "id,w").splitlines()[0] == "id,word"
