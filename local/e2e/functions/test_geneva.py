"""The exchange of a client like Geneva's, recorded by hand: columns that bring their functions along, their backfill,
views of functions and their refreshes, and the table in which such a client looks for its jobs. The requests go out
through pylance's RestNamespace and as plain HTTP; the functions run on the executor of local/executor.
"""

import base64
import hashlib
import importlib
import json
import pathlib
import pickle
import sys
import time

import lance.namespace
import lance_namespace as ln
import lancedb
import pyarrow as pa
import pytest
from process import Server
from wire import Wire, stream

EXECUTOR = pathlib.Path(__file__).resolve().parents[2] / "executor" / "executor.py"
AGENT = "Geneva-Python-Client/0.17.0"

FUNCTIONS = '''
import pyarrow as pa


def shout(text):
    if text == "bad":
        raise ValueError("not this one")
    return text.upper() + "!"


def measure(text: pa.Array):
    import pyarrow.compute as pc

    return pa.StructArray.from_arrays([pc.utf8_length(text), pc.utf8_upper(text)], ["size", "upper"])


def words(text):
    if text == "bad":
        raise ValueError("not this one")
    for at, word in enumerate(text.split()):
        yield {"word": word, "at": at}


def words_of(batch):
    return [list(words(text)) for text in batch.column(0).to_pylist()]


def count(table):
    if "bad" in table["text"].to_pylist():
        raise ValueError("not this one")
    yield pa.record_batch({"team": [table["team"][0].as_py()], "texts": [table.num_rows]})
    yield {"team": "sum", "texts": sum(len(t) for t in table["text"].to_pylist())}
'''


class House:
    """A server with an executor, and a client of it."""

    def __init__(self, server: Server):
        self.folder = server.root.parent / "native"
        self.native = lancedb.connect(self.folder)
        self.wire = Wire(server.url, server.token)
        self.space = lance.namespace.RestNamespace(
            uri=server.url, **{"header.Authorization": f"Bearer {server.token}", "header.User-Agent": AGENT}
        )

    def post(self, path: str, fields=None, status: int = 200, version: int | None = None):
        headers = {"User-Agent": AGENT} | ({"x-lancedb-min-read-version": str(version)} if version else {})
        answer = self.wire.post(path, fields, **headers)
        assert answer.status == status, answer.body
        return answer.json if answer.body else None

    def make(self, name: str, rows: pa.Table):
        assert self.wire.upload(f"/v1/table/{name}/create", rows).status == 200

    def make_stable(self, name: str, rows: pa.Table):
        """A table with stable row ids, which views need to be refreshed by the rows that differ."""
        self.native.create_table(name, rows, storage_options={"new_table_enable_stable_row_ids": "true"})
        self.post(f"/v1/table/{name}/register", {"location": (self.folder / f"{name}.lance").as_uri()})

    def rows(self, name: str, *columns: str) -> list[dict]:
        answer = self.wire.post(f"/v1/table/{name}/query", {"k": 1000, "vector": [], "columns": list(columns) or None})
        assert answer.status == 200, answer.body
        return answer.table.to_pylist()

    def job(self, begun: dict) -> dict:
        for _ in range(400):
            found = self.post("/v1/jobs/describe", {"job_id": begun["job_id"]})
            if found["job_state"] in ("DONE", "FAILED", "CANCELLED"):
                return found
            time.sleep(0.05)
        raise AssertionError(found)

    def version(self, name: str) -> int:
        return self.post(f"/v1/table/{name}/describe", {"load_detailed_metadata": True})["version"]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """A module with functions that the executor has, too. Their pickles name them."""
    folder = tmp_path_factory.mktemp("functions")
    (folder / "geneva_functions.py").write_text(FUNCTIONS)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("geneva_functions")
    sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def house(functions, tmp_path_factory):
    folder = tmp_path_factory.mktemp("geneva")
    command = folder / "executor"
    place = pathlib.Path(functions.__file__).parent
    command.write_text(f"#!/bin/sh\nPYTHONPATH={place} EXECUTOR_LOADER=pickled:load exec {sys.executable} {EXECUTOR}\n")
    command.chmod(0o700)
    settings = {"TILTYARD_EXECUTOR": f"geneva=exec:{command} backends=DockerUDFSpecV1|pickle*"}
    (folder / "native").mkdir()
    with Server(folder / "root", allow=[folder / "native"], settings=settings) as server:
        yield House(server)


TEXTS = pa.table({"id": [1, 2, 3], "text": ["one two", "bad", "three"], "team": ["a", "b", "a"]})


def pickled(function) -> str:
    return base64.b64encode(pickle.dumps(function)).decode()


def virtual(function, outputs: dict, backend: str = "DockerUDFSpecV1", **fields) -> dict:
    """The entry of add_columns for a function with the outputs by the names of their columns."""
    made = [
        {"column": column, "struct_field": member, "data_type": {"type": kind}, "nullable": True}
        for column, (member, kind) in outputs.items()
    ]
    entry = {
        "input_columns": ["text"], "outputs": made, "image": "", "udf": pickled(function), "udf_name": function.__name__,
        "udf_version": "1", "udf_backend": backend, "auto_backfill": False,
    }
    return {"new_columns": [{"name": made[0]["column"], "virtual_column": entry | fields}]}


def test_columns_are_added_and_filled(house, functions):
    house.make("texts", TEXTS)
    added = house.space.alter_table_add_columns(
        ln.AlterTableAddColumnsRequest.from_dict({"id": ["texts"]} | virtual(functions.shout, {"loud": ("", "string")}))
    )
    assert added.version == house.version("texts") == 2
    begun = house.space.alter_table_backfill_columns(
        ln.AlterTableBackfillColumnsRequest(id=["texts"], column="loud", read_version=2, concurrency=8, task_size=1000)
    )
    done = house.job({"job_id": begun.job_id})
    assert done["result"] | {"published_version": 0} == {
        "rows_assigned": 2, "rows_failed": 1, "rows_remaining": 0, "source_version": 2, "published_version": 0,
    }, done
    assert [row["loud"] for row in house.rows("texts", "loud")] == ["ONE TWO!", None, "THREE!"]
    errors = house.post("/v1/table/texts/errors", {"column": "loud"})["records"]
    assert [(e["row_offset"], e["function"], e["error_type"], e["error_message"]) for e in errors] == [(1, "shout", "ValueError", "not this one")]


def test_backfills_choose_rows_and_fragments(house, functions):
    house.make("chosen", TEXTS)
    house.wire.upload("/v1/table/chosen/insert", TEXTS)
    house.post("/v1/table/chosen/add_columns", virtual(functions.measure, {"size": ("size", "int32"), "upper": ("upper", "string")}), version=2)
    request = {"column": "size", "where": "id = 2", "num_frags": 1, "commit_granularity": 1, "read_version": 3, "min_checkpoint_size": 1, "cluster": None}
    first = house.job(house.post("/v1/table/chosen/backfill_column", request, 202, version=3))
    assert (first["result"]["rows_assigned"], first["result"]["rows_remaining"]) == (1, 1), first
    # The members of one result are computed together.
    filled = [(row["size"], row["upper"]) for row in house.rows("chosen", "size", "upper")]
    assert filled == [(None, None), (3, "BAD"), *[(None, None)] * 4]
    rest = house.job(house.post("/v1/table/chosen/backfill_column", {"column": "upper"}, 202))
    assert rest["result"]["rows_assigned"] == 6 - 1
    assert [row["size"] for row in house.rows("chosen", "size")] == [7, 3, 5] * 2
    assert house.job(house.post("/v1/table/chosen/backfill_column", {"column": "size"}, 202))["result"]["rows_assigned"] == 0


def test_functions_that_no_executor_runs_are_refused(house, functions):
    house.make("refused", TEXTS)
    house.post("/v1/table/refused/add_columns", virtual(functions.shout, {"loud": ("", "string")}, backend="Other"))
    refused = house.post("/v1/table/refused/backfill_column", {"column": "loud"}, 501)
    assert "backend \"Other\"" in json.dumps(refused) or "backend \\\"Other\\\"" in json.dumps(refused), refused
    assert "TILTYARD_EXECUTOR" in json.dumps(refused)


def test_large_functions_lie_beside_the_table(house, functions):
    house.make("large", TEXTS)
    entry = virtual(functions.shout, {"loud": ("", "string")})
    function = entry["new_columns"][0]["virtual_column"]
    function["udf"] = base64.b64encode(pickle.dumps((functions.shout, "x" * 100_000))).decode()
    house.post("/v1/table/large/add_columns", entry)
    answer = house.wire.post("/v1/table/large/query", {"k": 1, "vector": []}).table
    kept = answer.schema.field("loud").metadata[b"virtual_column.udf"].decode()
    assert kept == "_udfs/" + hashlib.sha256(function["udf"].encode()).hexdigest()
    failed = house.job(house.post("/v1/table/large/backfill_column", {"column": "loud"}, 202))
    assert failed["job_state"] == "FAILED" and "is no function" in failed["failure"]["message"], failed


def spec(function, backend: str = "DockerUDFSpecV1", **fields) -> dict:
    """The description of a function of a view."""
    envelope = {"backend": backend, "name": function.__name__, "payload": pickled(function)}
    text = base64.b64encode(json.dumps(envelope).encode()).decode()
    return {
        "udtf": text, "udtf_sha": hashlib.sha256(text.encode()).hexdigest(), "udtf_name": function.__name__, "udtf_version": "1",
        "num_cpus": 1, "memory": 1 << 30, **fields,
    }


def view(kind: str, columns: list[str] | None, schema: pa.Schema, source: str, function: dict) -> dict:
    query = {"base": {"columns": columns, "filter": None}, "source_table": source, "source_db_uri": "db://e2e"}
    return {
        "kind": kind, "source_query": json.dumps(query), "output_schema": base64.b64encode(schema.serialize()).decode(),
        "udtf_spec": {"kind": kind} | function, "with_no_data": True, "auto_refresh": False,
    }


WORDS = pa.schema([("id", pa.int64()), ("word", pa.string()), ("at", pa.int64())])
COUNTS = pa.schema([("team", pa.string()), ("texts", pa.int64())])


def refreshed(house, name: str, **body) -> dict:
    return house.job(house.post(f"/v1/materialized_view/{name}/refresh", body, 202))


@pytest.mark.parametrize("batch", [False, True])
def test_chunkers_make_rows_of_rows(house, functions, batch):
    source, name = f"docs{batch}", f"words{batch}"
    house.make_stable(source, TEXTS)
    function = functions.words_of if batch else functions.words
    if batch:
        house.post(f"/v1/table/{source}/delete", {"predicate": "id = 2"})
    body = view("chunker", ["id"], WORDS, source, spec(function, input_columns=["text"], batch=batch))
    made = house.space.create_materialized_view(ln.CreateMaterializedViewRequest.from_dict({"id": [name]} | body))
    assert made.version == 1
    done = refreshed(house, name)
    assert done["job_state"] == "DONE" and done["result"]["mode"] == "rebuild", done
    want = [(1, 0, "one", 0), (1, 1, "two", 1), (3, 0, "three", 0)]
    seen = lambda: sorted((r["id"], r["__child_index"], r["word"], r["at"]) for r in house.rows(name))
    assert seen() == want
    if batch:
        return
    assert done["result"]["rows_failed"] == 1
    errors = house.post(f"/v1/table/{name}/errors", {})["records"]
    assert [(e["row_offset"], e["function"], e["error_message"]) for e in errors] == [(1, "words", "not this one")]
    house.wire.upload(f"/v1/table/{source}/insert", pa.table({"id": [4], "text": ["four more"], "team": ["b"]}))
    house.post(f"/v1/table/{source}/delete", {"predicate": "id = 1"})
    again = refreshed(house, name)
    assert (again["result"]["mode"], again["result"]["rows_written"]) == ("incremental", 2), again
    assert seen() == [(3, 0, "three", 0), (4, 0, "four", 0), (4, 1, "more", 1)]
    house.post(f"/v1/table/{name}/add_columns", virtual(functions.shout, {"loud": ("", "string")}, input_columns=["word"]))
    house.job(house.post(f"/v1/table/{name}/backfill_column", {"column": "loud"}, 202))
    limited = refreshed(house, name, output_limit=2, src_version=house.version(source), max_rows_per_fragment=100)
    assert limited["result"]["rows_written"] == 2, limited
    assert [r["word"] for r in house.rows(name)] == ["three", "four"]


def test_functions_of_all_rows(house, functions):
    house.make("teams", TEXTS)
    body = view("udtf", None, COUNTS, "teams", spec(functions.count, input_columns=["text", "team"], partition_by="team"))
    house.post("/v1/materialized_view/counts/create", body, 201)
    failed = refreshed(house, "counts")
    assert failed["job_state"] == "FAILED" and "whose team is \\\"b\\\"" in json.dumps(failed).replace('\\\\', '\\'), failed
    assert house.rows("counts") == []
    skipping = {"error_handling": {"on_error": "skip"}}
    body = view("udtf", None, COUNTS, "teams", spec(functions.count, input_columns=["text", "team"], partition_by="team", **skipping))
    house.post("/v1/materialized_view/some/create", body, 201)
    done = refreshed(house, "some")
    assert (done["result"]["rows_written"], done["result"]["rows_failed"], done["result"]["mode"]) == (2, 1, "rebuild"), done
    assert house.rows("some") == [{"team": "a", "texts": 2}, {"team": "sum", "texts": 12}]
    assert refreshed(house, "some")["result"]["mode"] == "no_op"
    errors = house.post("/v1/table/some/errors", {})["records"]
    assert [(e["column"], e["error_type"]) for e in errors] == [("team", "ValueError")] and "'b'" in errors[0]["error_message"].replace('"', "'")
    house.post("/v1/table/teams/delete", {"predicate": "id = 2"})
    again = refreshed(house, "some", full=True)
    assert (again["result"]["rows_written"], again["result"].get("rows_failed")) == (2, None)
    refreshed(house, "some", src_version=1)
    assert [r["texts"] for r in house.rows("some")] == [2, 12]


def test_views_without_an_executor_keep_their_rows(house, functions):
    house.make("lone", TEXTS)
    house.post("/v1/materialized_view/lonely/create", view("udtf", None, COUNTS, "lone", spec(functions.count, backend="Other")), 201)
    refused = house.post("/v1/materialized_view/lonely/refresh", {}, 501)
    assert "Other" in json.dumps(refused) and "TILTYARD_EXECUTOR" in json.dumps(refused)
    assert house.post("/v1/materialized_view/lonely/describe", {})["kind"] == "udtf"


JOBS = pa.schema([
    ("job_id", pa.string()), ("table_name", pa.string()), ("status", pa.string()), ("metrics", pa.list_(pa.string())),
    ("events", pa.list_(pa.string())), ("launched_at", pa.timestamp("us", "UTC")), ("updated_at", pa.timestamp("us", "UTC")),
    ("completed_at", pa.timestamp("us", "UTC")),
])


def test_the_table_of_jobs_follows_them(house, functions):
    house.make("followed", TEXTS)
    house.post("/v1/table/followed/add_columns", virtual(functions.shout, {"loud": ("", "string")}))
    house.job(house.post("/v1/table/followed/backfill_column", {"column": "loud"}, 202))  # no such table: nothing happens
    house.post("/v1/namespace/__system/create", {})
    house.make("__system$geneva_jobs", JOBS.empty_table())
    begun = house.post("/v1/table/followed/backfill_column", {"column": "loud", "where": "id <= 2", "read_version": 2}, 202, version=2)
    rows = house.rows("__system$geneva_jobs")
    assert [row["job_id"] for row in rows] == [begun["job_id"]], "the row is there before the answer"
    own = pa.table({"job_id": [begun["job_id"]], "table_name": ["followed"], "status": ["PENDING"]})
    house.wire.upload("/v1/table/__system$geneva_jobs/insert", own)  # a client that looked too early
    house.job(begun)
    for _ in range(100):
        rows = house.rows("__system$geneva_jobs")
        if all(row["status"] == "DONE" for row in rows):
            break
        time.sleep(0.1)
    assert [row["status"] for row in rows] == ["DONE", "DONE"], rows
    assert {row["table_name"] for row in rows} == {None, "followed"}
    metrics = {m["name"]: m for m in map(json.loads, rows[0]["metrics"])}
    assert (metrics["rows_checkpointed"]["n"], metrics["rows_skipped"]["n"], metrics["rows_checkpointed"]["done"]) == (1, 1, True)
    assert rows[0]["completed_at"] >= rows[0]["updated_at"] and rows[0]["completed_at"].year > 2000
