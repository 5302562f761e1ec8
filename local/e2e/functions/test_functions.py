"""Registered functions by the unmodified LanceDB client. Functions in SQL are registered by HTTP, because the
client only writes functions in Python; all else it does itself."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor

import lancedb
import pyarrow as pa
import pytest
from lancedb import col
from lancedb.remote.errors import HttpError


def field(name: str, arrow_type: str, nullable: bool = True) -> dict:
    return {"name": name, "arrow_type": arrow_type, "nullable": nullable}


def body(expression, inputs, output, **changed) -> dict:
    """The request that registers an expression. A dictionary has several, for a struct."""
    content = json.dumps(expression) if isinstance(expression, dict) else expression
    content = content.encode()
    if isinstance(output, str):
        output = {"kind": "scalar", "arrow_type": output, "nullable": False}
    return {
        "artifact": {
            "kind": "sql_expression",
            "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
            "content": {"encoding": "base64", "data": base64.b64encode(content).decode()},
        },
        "signature": {"inputs": inputs, "output": output},
        "runtime": {"kind": "sql"},
        **changed,
    }


class Registry:
    """The functions of one namespace."""

    def __init__(self, db, wire, space):
        self.db, self.wire, self.space = db, wire, space

    def begin(self, name: str, request: dict):
        answer = self.wire.post(f"/v1/function/{self.space}${name}/create", request)
        assert answer.status == 202, answer.json
        assert answer.json["job_id"] == answer.json["transaction_id"]
        return answer.json["job_id"]

    def finish(self, job: str) -> dict:
        """The job as it ended."""
        pause = 0.02
        while (told := self.wire.post("/v1/jobs/describe", {"job_id": job}).json)["job_state"] == "IN_PROGRESS":
            time.sleep(pause)
            pause = min(2 * pause, 1)
        return told

    def create(self, name: str, *args, **changed):
        """The version that the registration of an expression made, as the client opens it."""
        told = self.finish(self.begin(name, body(*args, **changed)))
        assert told["job_state"] == "DONE" and told["job_type"] == "create_function", told
        return self.get(name, told["result"]["version"])

    def get(self, name: str, version: str):
        return self.db.get_function(name, version=version, namespace_path=[self.space])


@pytest.fixture
def registry(db, wire, space):
    return Registry(db, wire, space)


UPPER = ("upper(text)", [field("text", "utf8")], "utf8")


def test_a_function_is_created_described_listed_and_dropped(db, registry, space):
    upper = registry.create("upper", *UPPER)
    assert (upper.name, upper.namespace_path, upper.version, upper.disabled) == ("upper", (space,), "1", False)
    assert upper.signature.inputs[0].arrow_type == "utf8" and upper.signature.output.kind == "scalar"
    assert upper.image.descriptor["artifact"]["kind"] == "sql_expression"
    again = registry.create("upper", *UPPER)
    assert again == upper  # the same content is the same version
    lower = registry.create("upper", "lower(text)", *UPPER[1:])
    assert lower.version == "2" and lower.object_id == upper.object_id
    assert lower.image.manifest_digest != upper.image.manifest_digest
    registry.create("another", "n + 1", [field("n", "int64")], "int64")
    listed = db.list_functions(namespace_path=[space])
    assert [(f.name, f.version) for f in listed] == [("another", "1"), ("upper", "1"), ("upper", "2")]
    with pytest.raises(HttpError, match="no version 3") as raised:
        db.drop_function("upper", version="3", namespace_path=[space])
    assert raised.value.status_code == 404
    assert db.drop_function("upper", version="1", namespace_path=[space]) is True
    assert db.drop_function("upper", version="1", namespace_path=[space]) is False
    with pytest.raises(HttpError) as raised:
        registry.get("upper", "2")
    assert raised.value.status_code == 404
    assert registry.create("upper", *UPPER).object_id != upper.object_id


def test_versions_of_creators_at_once_are_all_there(db, registry, server, space):
    def create(n):
        return Registry(db, server.wire(), space).create("f", f"n + {n % 4}", [field("n", "int64")], "int64")

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(create, range(8)))
    assert sorted({f.version for f in made}) == ["1", "2", "3", "4"]
    for n in range(4):
        assert made[n] == made[n + 4]
    assert len(db.list_functions(namespace_path=[space])) == 4


@lancedb.udf(pip=["numpy>=2"], env={"MODE": "test"})
def score(value: float) -> float:
    return value / 100.0


def test_a_function_in_python_is_registered_but_disabled(db, registry, space):
    made = db.create_function(score, namespace_path=[space])
    assert made.disabled and "TILTYARD_EXECUTOR" in made.metadata["disabled_reason"]
    assert made.version == "1" and made.signature.inputs[0].name == "value"
    assert made == registry.get("score", "1")
    assert made.image.descriptor["runtime"]["environment"]["packages"] == ("numpy>=2",)


@pytest.mark.parametrize(
    "why, expression, inputs, output",
    [
        ("type int64", "n + 1", [field("n", "int64")], "utf8"),
        ("no_such", "no_such(n)", [field("n", "int64")], "int64"),
        ("missing", "missing + 1", [field("n", "int64")], "int64"),
        ("another value each time", "random()", [], "float64"),
        ("another value each time", "now()", [], "date64"),
        ("", "n +", [field("n", "int64")], "int64"),
        ("for each", "n + 1", [field("n", "int64")], {"kind": "named_struct", "fields": [field("a", "int64"), field("b", "int64")]}),
        ("no expression for output", {"a": "n"}, [field("n", "int64")], {"kind": "named_struct", "fields": [field("b", "int64")]}),
    ],
)
def test_an_expression_that_does_not_fit_fails_its_job(db, registry, space, why, expression, inputs, output):
    told = registry.finish(registry.begin("f", body(expression, inputs, output)))
    assert told["job_state"] == "FAILED" and not told["failure"]["retryable"], told
    assert why in told["failure"]["message"]
    assert db.list_functions(namespace_path=[space]) == []


def changed(**parts):
    """A registration with some of its parts replaced; a dictionary replaces members of a part."""
    request = body(*UPPER)
    for key, value in parts.items():
        request[key] = {**request[key], **value} if isinstance(value, dict) and key in request else value
    return request


BAD = [
    changed(artifact={"digest": "sha256:" + "0" * 64}),
    changed(artifact={"content": {"encoding": "base64", "data": "?"}}),
    changed(artifact={"content": {"encoding": "gzip", "data": ""}}),
    changed(artifact={"kind": "No Word"}),
    changed(artifact={"entrypoint": "x" * 2000}),
    changed(artifact=None),
    changed(signature=None),
    changed(signature={"inputs": [field("a", "utf8"), field("a", "utf8")]}),
    changed(signature={"inputs": [field("a", "struct<a: int32>")]}),
    changed(signature={"inputs": [field("a", "list<" * 1000 + "utf8" + ">" * 1000)]}),
    changed(signature={"inputs": [field("a", '{"type":"struct"}')]}),
    changed(signature={"inputs": [field(f"a{n}", "utf8") for n in range(300)]}),
    changed(signature={"output": {"kind": "table"}}),
    changed(signature={"output": {"kind": "scalar", "arrow_type": "utf8", "nullable": True}}),
    changed(signature={"output": {"kind": "named_struct", "fields": []}}),
    changed(signature={"initialization": [field("text", "utf8")]}),
    changed(runtime={"kind": "SQL"}),
    changed(runtime={"kind": "python"}),
    changed(runtime={"env": {"A B": "c"}}),
    changed(runtime=[]),
    changed(runtime={"x": "y" * 70_000}),
    changed(secret_bindings=[{"kind": "file", "variable": "A", "secret_ref": {"name": "s"}}]),
    changed(secret_bindings=[{"kind": "env", "variable": "A B", "secret_ref": {"name": "s"}}]),
    changed(secret_bindings=[{"kind": "env", "variable": "A", "secret_ref": {"name": "s t"}}]),
    changed(secret_bindings=[{"kind": "env", "variable": "A", "secret_ref": {"name": "s"}}] * 2),
]


@pytest.mark.parametrize("request_body", BAD, ids=range(len(BAD)))
def test_bad_registrations_are_refused(wire, space, request_body):
    answer = wire.post(f"/v1/function/{space}$f/create", request_body)
    assert answer.status == 400 and answer.json["code"] == 13 and len(answer.json["detail"]) < 1000, answer.json


def test_names_versions_and_namespaces_that_cannot_be(db, wire, space):
    assert wire.post(f"/v1/function/{space}$a+b/create", body(*UPPER)).status == 400
    assert wire.post(f"/v1/function/{space}$1a/create", body(*UPPER)).status == 400
    missing = wire.post(f"/v1/function/{space}$no$f/create", body(*UPPER))
    assert (missing.status, missing.json["code"]) == (404, 1)
    for version in ("0", "01", "-1", "x", "", "99999999999999999999"):
        assert wire.post(f"/v1/function/{space}$f/describe", {"version": version}).status == 400
    absent = wire.post(f"/v1/function/{space}$f/describe", {"version": "1"})
    assert (absent.status, absent.json["code"], absent.json["type"]) == (404, 4, "/errors/function-not-found")
    with pytest.raises(HttpError):
        db.list_functions(namespace_path=[space, "no"])


def test_a_namespace_with_a_function_is_not_empty(db, wire, space):
    child = [space, "child"]
    db.create_namespace(child)
    registry = Registry(db, wire, f"{space}$child")
    told = registry.finish(registry.begin("f", body(*UPPER)))
    assert told["job_state"] == "DONE"
    with pytest.raises(Exception, match="not empty"):
        db.drop_namespace(child)
    db.drop_namespace(child, behavior="cascade")
    with pytest.raises(HttpError):
        db.get_function("f", version="1", namespace_path=child)


def test_lists_come_in_pages(registry, wire, space):
    for name in ("a", "b", "c"):
        registry.create(name, *UPPER)
    path = f"/v1/namespace/{space}/function/list?include_definition=true&limit=2"
    first = wire.call("GET", path).json
    assert [f["definition"]["name"] for f in first["functions"]] == ["a", "b"] and first["page_token"]
    second = wire.call("GET", f"{path}&page_token={first['page_token']}").json
    assert [f["definition"]["name"] for f in second["functions"]] == ["c"] and not second.get("page_token")


def test_large_artifacts_are_accepted_up_to_a_bound(server, wire, space):
    server.not_behind_gateway("an HTTP API takes smaller bodies")
    request = body("text || '" + "x" * (6 << 20) + "'", *UPPER[1:])
    request["runtime"] = {"kind": "python", "python_version": "3.12", "environment": {"kind": "pip"}}
    assert wire.post(f"/v1/function/{space}$f/create", request).status == 202
    request["artifact"]["content"]["data"] *= 3
    assert wire.post(f"/v1/function/{space}$f/create", request).status == 413


@pytest.fixture
def words(db, space):
    """A table of five rows in two fragments, one of which has no text."""
    data = pa.table(
        {
            "id": pa.array(range(3), pa.int64()),
            "text": ["a", None, "c"],
            "meta": pa.array([{"title": "x"}, {"title": "y"}, None], pa.struct([("title", pa.string())])),
            "sure": pa.array(["p", "q", "r"]),
        },
        schema=pa.schema(
            [
                ("id", pa.int64()),
                ("text", pa.string()),
                ("meta", pa.struct([("title", pa.string())])),
                pa.field("sure", pa.string(), nullable=False),
            ]
        ),
    )
    table = db.create_table("words", data, namespace_path=[space])
    table.add(data.slice(0, 2).set_column(0, "id", pa.array([3, 4], pa.int64())))
    return table


def column(table, name: str) -> list:
    return [row[name] for row in sorted(table.search().select(["id", name]).to_list(), key=lambda row: row["id"])]


def refresh(table, name: str):
    return table.refresh_column_async(name).wait()


def test_a_column_is_computed_by_a_function(registry, words):
    shout = registry.create("shout", "coalesce(upper(text), 'none')", [field("text", "utf8")], "utf8")
    words.add_columns({"loud": shout(text=col("text"))})
    assert column(words, "loud") == [None] * 5
    done = refresh(words, "loud")
    assert (done.rows_assigned, done.rows_failed, done.rows_remaining) == (5, 0, 0) and done.published_version
    assert column(words, "loud") == ["A", "none", "C", "A", "none"]
    assert refresh(words, "loud").rows_assigned == 0
    words.add([{"id": 9, "text": "z", "meta": {"title": "t"}, "sure": "s"}])
    assert refresh(words, "loud").rows_assigned == 1
    assert column(words, "loud")[-1] == "Z"
    words.update(where="id = 0", values={"text": "new"})
    assert refresh(words, "loud").rows_assigned >= 1
    assert column(words, "loud")[0] == "NEW"


def test_a_function_without_parameters_gives_each_row_a_value(registry, words):
    answer = registry.create("answer", "CAST(42 AS int)", [], "int32")
    words.add_columns({"n": answer()})
    assert refresh(words, "n").rows_assigned == 5
    assert column(words, "n") == [42] * 5


def test_members_of_structs_and_vectors(registry, db, space):
    rows = pa.table(
        {"id": pa.array([0, 1], pa.int64()), "meta": [{"t": "x"}, {"t": "y"}], "v": pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))}
    )
    table = db.create_table("vectors", rows, namespace_path=[space])
    title = registry.create("title", "upper(t)", [field("t", "utf8")], "utf8")
    table.add_columns({"title": title(t=col("meta.t"))})
    same = registry.create("same", "v", [field("v", "fixed_size_list<float32, 2>")], "fixed_size_list<float32, 2>")
    table.add_columns({"w": same(v=col("v"))})
    refresh(table, "title")
    refresh(table, "w")
    assert column(table, "title") == ["X", "Y"]
    assert column(table, "w") == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "why, change",
    [
        ("input_schema.fields", {"input_schema": {"fields": [{"name": "text", "nullable": True, "type": {"type": "int64"}}]}}),
        ("input_schema.fields", {"input_schema": {"fields": [{"name": "other", "nullable": True, "type": {"type": "utf8"}}]}}),
        ("input_schema.fields", {"input_schema": {"fields": [{"name": "text", "nullable": False, "type": {"type": "utf8"}}]}}),
        ("input_schema has 0 fields", {"input_schema": {"fields": []}}),
        ("input_schema", {"input_schema": {"fields": 1}}),
        ("output_schema.fields", {"output_schema": {"fields": [{"name": "loud", "nullable": True, "type": {"type": "float32"}}]}}),
        ("output_schema.fields", {"output_schema": {"fields": [{"name": "loud", "nullable": False, "type": {"type": "utf8"}}]}}),
        ("input_bindings", {"input_bindings": [{"parameter": "text", "field_path": "text", "arrow_type": "int64", "nullable": True}]}),
    ],
)
def test_a_declaration_with_other_types_than_the_table_is_refused(registry, words, wire, space, why, change):
    made = registry.create("shout", *UPPER)
    reference = {"name": made.name, "namespace_path": [space], "object_id": made.object_id, "location": made.location, "version": "1"}
    declaration = {
        "application": {
            "function": {**reference, "manifest_digest": made.image.manifest_digest},
            "inputs": [{"parameter": "text", "kind": "column", "value": {"path": "text"}}],
            "output": {"kind": "scalar", "arrow_type": "utf8", "nullable": False},
        },
        "binding_metadata_version": 1,
        "input_bindings": [{"parameter": "text", "field_path": "text", "arrow_type": "utf8", "nullable": True}],
        "input_schema": {"fields": [{"name": "text", "nullable": True, "type": {"type": "utf8"}}]},
        "output_schema": {"fields": [{"name": "loud", "nullable": True, "type": {"type": "utf8"}}]},
        "outputs": [{"result_field": "$value", "output_name": "loud", "output_ordinal": 0}],
    }
    path, new = f"/v1/table/{space}$words/add_columns/", [{"name": "loud", "all_null": True}]
    answer = wire.post(path, {"new_columns": new, "function": {**declaration, **change}})
    assert (answer.status, answer.json["code"]) == (400, 13) and why in answer.json["error"], answer.json
    assert wire.post(path, {"new_columns": new, "function": declaration}).status == 200


PAIR = {"kind": "named_struct", "fields": [field("a", "utf8", False), field("b", "int64")]}
NULLABLE = {"kind": "named_struct", "fields": [field("a", "utf8"), field("b", "int64")]}


def test_a_struct_becomes_several_columns(registry, words):
    both = registry.create("both", {"a": "upper(s)", "b": "CAST(length(t) AS bigint)"}, [field("s", "utf8", False), field("t", "utf8")], PAIR)
    words.add_columns(both(s=col("sure"), t=col("text")).rename(columns={"a": "big"}))
    assert refresh(words, "b").rows_assigned == 5  # either column stands for both
    assert refresh(words, "big").rows_assigned == 0
    assert column(words, "big") == ["P", "Q", "R", "P", "Q"]
    assert column(words, "b") == [1, None, 1, 1, None]
    with pytest.raises(HttpError, match="together"):
        words.drop_columns(["big"])
    words.drop_columns(["big", "b"])
    assert words.schema.names == ["id", "text", "meta", "sure"]
    words.add_columns({"big": "upper(sure)"})  # the client would refuse if anything were left


def test_a_struct_whose_fields_may_all_be_null(registry, words):
    both = registry.create("both", {"a": "upper(t)", "b": "CAST(length(t) AS bigint)"}, [field("t", "utf8")], NULLABLE)
    words.add_columns(both(t=col("text")))
    assert len(words.schema.names) == 7  # with the column that knows which rows have a value
    assert refresh(words, "a").rows_assigned == 5
    assert refresh(words, "a").rows_assigned == 0  # also those whose fields are null
    assert column(words, "a") == ["A", None, "C", "A", None]
    words.add_columns({"more": "id + 1"})
    words.drop_columns(["a", "b"])
    assert words.schema.names == ["id", "text", "meta", "sure", "more"]


def test_a_struct_becomes_one_column(registry, words):
    both = registry.create("both", {"a": "upper(s)", "b": "CAST(length(t) AS bigint)"}, [field("s", "utf8", False), field("t", "utf8")], PAIR)
    words.add_columns({"pair": both(s=col("sure"), t=col("text"))})
    assert refresh(words, "pair").rows_assigned == 5
    assert column(words, "pair")[:2] == [{"a": "P", "b": 1}, {"a": "Q", "b": None}]
    words.add_columns({"more": "id + 1"})


def test_rows_that_fail_stay_null_and_are_counted(registry, db, space):
    table = db.create_table("numbers", [{"id": n, "n": n * 100} for n in range(5)], namespace_path=[space])
    narrow = registry.create("narrow", "CAST(n AS tinyint)", [field("n", "int64")], "int8")
    table.add_columns({"small": narrow(n=col("n"))})
    done = refresh(table, "small")
    assert (done.rows_assigned, done.rows_failed) == (2, 3)
    assert column(table, "small") == [0, 100, None, None, None]
    first = table.function_errors()
    assert [(e.fragment_id, e.row_offset, e.column, e.function_version) for e in first.records] == [(0, n, "small", "1") for n in (2, 3, 4)]
    assert all("narrow" in e.function and e.error_message and e.created_at_millis for e in first.records)
    table.update(where="id = 2", values={"n": 7})
    assert refresh(table, "small").rows_failed == 2
    both = table.function_errors(column="small").records
    assert len(both) == 5 and both[0].job_id != both[-1].job_id and [e.row_offset for e in both] == [3, 4, 2, 3, 4]
    assert column(table, "small") == [0, 100, 7, None, None]
    maybe = registry.create("maybe", "nullif(n, 7)", [field("n", "int64")], "int64")
    table.add_columns({"m": maybe(n=col("n"))})
    assert refresh(table, "m").rows_failed == 1  # a null is no value of an output that must not be null


def test_columns_that_do_not_fit_a_function_are_refused(registry, db, words, space):
    sure = registry.create("sure", "upper(s)", [field("s", "utf8", False)], "utf8")
    number = registry.create("number", "n + 1", [field("n", "int64")], "int64")
    for application, why in (
        (sure(s=col("text")), "must not be null"),
        (number(n=col("text")), "of type int64, and column"),
    ):
        with pytest.raises(HttpError, match=why) as raised:
            words.add_columns({"x": application})
        assert raised.value.status_code == 400
    python = db.create_function(score, namespace_path=[space])
    with pytest.raises(HttpError, match="is disabled.*executor") as raised:
        words.add_columns({"x": python(value=col("id"))})
    assert raised.value.status_code == 400
    words.add_columns({"x": number(n=col("id"))})
    with pytest.raises(Exception, match="computed"):
        words.add_columns({"y": number(n=col("x"))})
    for change in (
        lambda: words.drop_columns(["id"]),
        lambda: words.alter_columns({"path": "id", "rename": "key"}),
        lambda: words.alter_columns({"path": "x", "rename": "key"}),
        lambda: words.update(where="id = 0", values={"x": 1}),
    ):
        with pytest.raises(Exception, match="x|id|computed"):
            change()
    assert "x" in words.schema.names and "id" in words.schema.names
    db.drop_function("number", version="1", namespace_path=[space])
    with pytest.raises(Exception, match="number does not exist"):
        refresh(words, "x")
    registry.create("number", "n + 2", [field("n", "int64")], "int64")
    with pytest.raises(Exception, match="dropped and created again"):
        refresh(words, "x")


def test_hostile_declarations_are_refused(registry, words, wire, space):
    f = registry.create("f", "upper(s)", [field("s", "utf8")], "utf8")
    good = {
        "application": {
            "function": {
                "name": "f", "namespace_path": [space], "object_id": f.object_id, "location": f.location, "version": "1",
                "manifest_digest": f.image.manifest_digest,
            },
            "inputs": [{"parameter": "s", "kind": "column", "value": {"path": "text"}}],
            "output": {"kind": "scalar", "arrow_type": "utf8", "nullable": False},
        },
        "binding_metadata_version": 1,
        "input_bindings": [{"parameter": "s", "field_path": "text", "arrow_type": "utf8", "nullable": True}],
        "input_schema": {"fields": [{"name": "s", "nullable": True, "type": {"type": "utf8"}}]},
        "output_schema": {"fields": [{"name": "u", "nullable": True, "type": {"type": "utf8"}}]},
        "outputs": [{"result_field": "$value", "output_name": "u", "output_ordinal": 0}],
    }

    def send(function, columns=({"name": "u", "all_null": True},)):
        return wire.post(f"/v1/table/{space}$words/add_columns/", {"new_columns": list(columns), "function": function})

    for path, value, status in (
        (("binding_metadata_version",), 2, 501),
        (("application", "function", "version"), "2", 400),
        (("application", "function", "version"), "x", 400),
        (("application", "function", "name"), "g", 400),
        (("application", "function", "object_id"), "other", 400),
        (("application", "function", "manifest_digest"), "sha256:0", 400),
        (("application", "inputs", 0, "kind"), "literal", 501),
        (("application", "inputs", 0, "value"), {"path": "id"}, 400),
        (("application", "inputs"), [], 400),
        (("application", "output", "arrow_type"), "int64", 400),
        (("application", "initialization"), {"x": 1}, 400),
        (("input_bindings", 0, "field_path"), "id", 400),
        (("input_bindings", 0, "nullable"), False, 400),
        (("input_schema",), [], 400),
        (("outputs", 0, "output_name"), "other", 400),
        (("outputs", 0, "result_field"), "other", 400),
        (("outputs",), [], 400),
        (("application",), None, 400),
    ):
        function = json.loads(json.dumps(good))
        part = function
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        answer = send(function)
        assert answer.status == status, (path, value, answer.json)
    assert send(None).status == 400
    assert send(good, [{"name": "u", "all_null": True}] * 2).status == 400
    forged = wire.post(f"/v1/table/{space}$words/schema_metadata/update/", {"lancedb::function_bindings": "{}"})
    assert forged.status == 400
    assert words.schema.names == ["id", "text", "meta", "sure"]
    assert send(good).status == 200
    assert refresh(words, "u").rows_assigned == 3 and refresh(words, "u").rows_failed == 2


def test_secrets_of_functions(registry, db, words, wire, space):
    binding = {"kind": "env", "variable": "API_KEY", "secret_ref": {"name": "key", "namespace_path": [space]}}
    f = registry.create("f", "upper(s)", [field("s", "utf8", False)], "utf8", secret_bindings=[binding])
    assert f.secret_bindings[0].variable == "API_KEY"
    with pytest.raises(HttpError, match=f"{space}.key for the variable API_KEY") as raised:
        words.add_columns({"u": f(s=col("sure"))})
    assert raised.value.status_code == 400
    if wire.post(f"/v1/secret/{space}$key/create", {"value": "canary"}).status == 501:
        pytest.skip("functions keep no secrets, and say so")
    words.add_columns({"u": f(s=col("sure"))})
    assert refresh(words, "u").rows_assigned == 5
    db.drop_secret("key", namespace_path=[space])
    words.add([{"id": 9, "text": "z", "meta": None, "sure": "s"}])
    with pytest.raises(Exception, match=f"needs the secret {space}.key for the variable API_KEY, and it does not exist"):
        refresh(words, "u")
