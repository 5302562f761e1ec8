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
    assert made.disabled and made.version == "1" and made.signature.inputs[0].name == "value"
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
