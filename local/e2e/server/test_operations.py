"""Each operation of the specification, once by the client inside pylance and once by the
generated one: the server understands their requests, and they can parse the responses.

The table below has a row for each. Other tests cover the modes of each operation; these cover
the form.
"""

from __future__ import annotations

import base64
import dataclasses
import inspect
import json
import time
from collections.abc import Callable

import lance_namespace as n
import lance_namespace_urllib3_client as generated
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client import models as m
from lance_namespace_urllib3_client.exceptions import ApiException

from namespaces import create
from wire import stream

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "word": ["a", "b", "c"]})
MORE = pa.table({"id": pa.array([3, 4], pa.int64()), "word": ["C", "d"]})
NO_VECTOR = {"vector": m.QueryTableRequestVector(), "k": 2}


class World:
    """What there is before an operation: a table of two versions with a tag and a branch, a table
    that is only declared, and a namespace, all in one namespace."""

    def __init__(self, ns, space: str):
        self.space = space
        create(ns, [space, "t"], ROWS, properties={"team": "blue"})
        self.transaction = ns.insert_into_table(n.InsertIntoTableRequest(id=[space, "t"]), stream(ROWS)).transaction_id
        self.location = ns.describe_table(n.DescribeTableRequest(id=[space, "t"])).location
        ns.create_table_tag(n.CreateTableTagRequest(id=[space, "t"], tag="first", version=1))
        ns.create_table_branch(n.CreateTableBranchRequest(id=[space, "t"], name="dev", from_version=1))
        ns.declare_table(n.DeclareTableRequest(id=[space, "declared"]))
        ns.create_namespace(n.CreateNamespaceRequest(id=[space, "child"], properties={"p": "q"}))

    def id(self, name: str) -> list[str]:
        """The id that a row names: "t" is a table of the world, "." its namespace, "/" the root."""
        return {".": [self.space], "/": []}.get(name) or ([] if name == "/" else [self.space, *name.split("$")])


class Native:
    """The client inside pylance."""

    AS_DICT = ("create_table_version", "describe_table_version", "batch_delete_table_versions")
    CANNOT = ("update_field_metadata", "batch_create_table_versions", "batch_commit_tables")  # refused before they are sent
    MODELS = {"list_all_tables": "ListTables", "create_table_scalar_index": "CreateTableIndex"}

    def __init__(self, ns):
        self._ns = ns

    def call(self, operation: str, id: list[str] | None, fields: dict, rows: pa.Table | None):
        if operation in self.CANNOT:
            pytest.skip("the client cannot send it")
        name = self.MODELS.get(operation) or "".join(word.capitalize() for word in operation.split("_"))
        request = ({} if id is None else {"id": id}) | fields
        if operation not in self.AS_DICT:
            request = getattr(m, name + "Request")(**request)
        else:
            request = json.loads(json.dumps(request, default=lambda model: model.to_dict()))
        return getattr(self._ns, operation)(request, *([] if rows is None else [stream(rows)]))


class Generated:
    """The generated client, which has some fields in the path and in the query string."""

    def __init__(self, server):
        client = generated.ApiClient(generated.Configuration(host=server.url, access_token=server.token))
        groups = [kind(client) for name, kind in inspect.getmembers(generated, inspect.isclass) if name.endswith("Api")]
        self.calls = {name: call for group in groups for name, call in _operations(group)}

    def call(self, operation: str, id: list[str] | None, fields: dict, rows: pa.Table | None):
        call, fields, sent = self.calls[operation], dict(fields), {}
        for name in inspect.signature(call).parameters:
            if name == "id":
                sent[name] = "$".join(id) or "$"
            elif name == "body":
                sent[name] = stream(rows)
            elif name == "request_body":
                sent[name] = fields.pop("metadata")
            elif name in fields and not name.startswith("_"):
                sent[name] = fields.pop(name)
        if isinstance(sent.get("properties"), dict):
            sent["properties"] = json.dumps(sent["properties"])
        for name in inspect.signature(call).parameters:
            if name.endswith("_request") and not name.startswith("_"):
                kind = "".join(word.capitalize() for word in name.split("_"))
                sent[name], fields = getattr(m, kind)(**fields), {}
        assert not fields, f"the client has no place for {fields}"
        return call(**sent)


def _operations(group):
    for name, call in inspect.getmembers(group, inspect.ismethod):
        if not name.startswith("_") and not name.endswith(("_with_http_info", "_without_preload_content")):
            yield name, call


@pytest.fixture
def world(ns, space) -> World:
    return World(ns, space)


@pytest.fixture(params=["native", "generated"])
def client(request, ns, server):
    return Native(ns) if request.param == "native" else Generated(server)


@dataclasses.dataclass
class Row:
    """An operation, its object ("" for none), its request, and the expected response: a dict of
    some fields, or a function that checks the response."""

    operation: str
    on: str
    fields: dict | Callable[[World], dict] = dataclasses.field(default_factory=dict)
    want: dict | Callable[[object, World], bool] = dataclasses.field(default_factory=dict)
    rows: pa.Table | None = None

    def __repr__(self) -> str:
        return f"{self.operation} {self.on}".strip()

    def send(self, client, world: World):
        fields = self.fields(world) if callable(self.fields) else self.fields
        return client.call(self.operation, world.id(self.on) if self.on else None, fields, self.rows)


def said(answer) -> dict:
    """An answer as a dict, by the names of the wire."""
    return answer if isinstance(answer, dict) else answer.to_dict()


def made(answer, _) -> bool:
    """There is a transaction to be asked for."""
    return bool(said(answer)["transaction_id"])


def nothing(answer, _) -> bool:
    """An empty body."""
    return answer is None or not any(value for name, value in said(answer).items() if name != "context")


def arrow(answer, _) -> bool:
    data = getattr(answer, "data", answer)
    return pa.ipc.open_file(pa.BufferReader(bytes(data))).read_all().num_rows == 2


def text(answer, _) -> bool:
    return "Scan" in (answer if isinstance(answer, str) else said(answer).get("plan") or str(answer))


STATS = {"num_rows": 6, "num_indices": 0}
NEXT = {"version": 3}
OPERATIONS = [
    Row("create_namespace", "new", {"properties": {"a": "b"}}, {"properties": {"a": "b"}}),
    Row("list_namespaces", ".", {}, {"namespaces": ["child"]}),
    Row("list_namespaces", "/", {}, lambda a, w: w.space in said(a)["namespaces"]),
    Row("describe_namespace", "child", {}, {"properties": {"p": "q"}}),
    Row("describe_namespace", "/", {}, {"properties": {}}),
    Row("drop_namespace", "child", {}, {"properties": {"p": "q"}}),
    Row("drop_namespace", ".", {"behavior": "Cascade"}, {"properties": {}}),
    Row("drop_namespace", "missing", {"mode": "Skip"}, nothing),
    Row("namespace_exists", "child", {}, nothing),
    Row("list_tables", ".", {}, {"tables": ["declared", "t"]}),
    Row("list_tables", ".", {"include_declared": False}, {"tables": ["t"]}),
    Row("list_tables", ".", {"limit": 1}, {"tables": ["declared"], "page_token": "declared"}),
    Row("list_tables", ".", {"limit": 1, "page_token": "declared"}, {"tables": ["t"]}),
    Row("list_all_tables", "", {}, lambda a, w: f"{w.space}$t" in said(a)["tables"]),
    Row("register_table", "again", lambda w: {"location": w.location, "properties": {"x": "y"}}, {"properties": {"x": "y"}}),
    Row("describe_table", "t", {}, lambda a, w: (said(a)["location"], said(a)["table"], said(a)["namespace"]) == (w.location, "t", [w.space])),
    Row("describe_table", "t", {"with_table_uri": True}, lambda a, w: said(a)["table_uri"] == w.location),
    Row("describe_table", "t", {"load_detailed_metadata": True}, {"version": 2, "is_only_declared": False, "properties": {"team": "blue"}}),
    Row("describe_table", "t", {"load_detailed_metadata": True, "version": 1}, {"version": 1}),
    Row("describe_table", "t", {"load_detailed_metadata": True, "tag": "first"}, {"version": 1}),
    Row("describe_table", "t", {"load_detailed_metadata": True, "branch": "dev"}, lambda a, _: said(a)["stats"]["num_fragments"] == 1),
    Row("describe_table", "declared", {"check_declared": True}, {"is_only_declared": True}),
    Row("table_exists", "t", {}, nothing),
    Row("table_exists", "t", {"version": 1}, nothing),
    Row("drop_table", "t", {}, lambda a, w: (said(a)["id"], said(a)["location"]) == ([w.space, "t"], w.location)),
    Row("deregister_table", "t", {}, lambda a, w: (said(a)["id"], said(a)["location"]) == ([w.space, "t"], w.location)),
    Row("declare_table", "new", {"properties": {"x": "y"}}, lambda a, _: bool(said(a)["location"]) and said(a)["properties"] == {"x": "y"}),
    Row("rename_table", "t", {"new_table_name": "u"}, made),
    Row("rename_table", "t", lambda w: {"new_table_name": "u", "new_namespace_id": [w.space, "child"]}, made),
    Row("get_table_stats", "t", {}, STATS),
    Row("get_table_stats", "t", {"branch": "dev"}, {"num_rows": 3}),
    Row("create_table", "new", {"properties": {"x": "y"}}, {"version": 1, "properties": {"x": "y"}}, ROWS),
    Row("create_table", "declared", {}, {"version": 1}, ROWS),
    Row("insert_into_table", "t", {}, NEXT | {"num_inserted_rows": 3}, ROWS),
    Row("insert_into_table", "t", {"mode": "overwrite"}, NEXT | {"num_inserted_rows": 3}, ROWS),
    Row("insert_into_table", "t", {"branch": "dev"}, {"num_inserted_rows": 3}, ROWS),
    Row(
        "merge_insert_into_table",
        "new$t",
        {"on": ["id"], "when_matched_update_all": True, "when_not_matched_insert_all": True},
        {"num_updated_rows": 1, "num_inserted_rows": 1, "num_deleted_rows": 0, "version": 2},
        MORE,
    ),
    Row("update_table", "t", {"updates": [["word", "'x'"]], "predicate": "id = 1"}, NEXT | {"updated_rows": 2}),
    Row("delete_from_table", "t", {"predicate": "id = 1"}, NEXT),
    Row("query_table", "t", NO_VECTOR, arrow),
    Row("query_table", "t", NO_VECTOR | {"branch": "dev"}, arrow),
    Row("count_table_rows", "t", {}, lambda a, _: getattr(a, "count", a) == 6),
    Row("count_table_rows", "t", {"version": 1, "predicate": "id > 1"}, lambda a, _: getattr(a, "count", a) == 2),
    Row("explain_table_query_plan", "t", {"query": m.QueryTableRequest(**NO_VECTOR)}, text),
    Row("analyze_table_query_plan", "t", NO_VECTOR, text),
    Row("alter_table_add_columns", "t", {"new_columns": [m.AddColumnsEntry(name="twice", expression="id * 2")]}, NEXT),
    Row("alter_table_alter_columns", "t", {"alterations": [m.AlterColumnsEntry(path="word", rename="text")]}, NEXT),
    Row("alter_table_alter_columns", "t", {"alterations": [m.AlterColumnsEntry(path="id", data_type={"type": "int32"})]}, NEXT),
    Row("alter_table_drop_columns", "t", {"columns": ["word"]}, NEXT),
    Row(
        "update_field_metadata",
        "t",
        {"updates": [m.UpdateFieldMetadataEntry(path="word", metadata={"k": "v"})]},
        NEXT | {"fields": {"word": {"k": "v"}}},
    ),
    Row("update_table_schema_metadata", "t", {"metadata": {"k": "v"}}, lambda a, _: (said(a).get("metadata") or a) == {"k": "v"}),
    Row("list_table_indices", "t", {}, {"indexes": []}),
    Row("list_table_versions", "t", {}, lambda a, _: sorted(v["version"] for v in said(a)["versions"]) == [1, 2]),
    Row("list_table_versions", "t", {"descending": True, "limit": 1}, lambda a, _: said(a)["versions"][0]["version"] == 2),
    Row("list_table_versions", "declared", {}, {"versions": []}),
    Row("describe_table_version", "t", {}, lambda a, _: said(a)["version"]["version"] == 2),
    Row("describe_table_version", "t", {"version": 1, "branch": "dev"}, lambda a, _: said(a)["version"]["version"] == 1),
    Row("batch_delete_table_versions", "t", {"ranges": [m.VersionRange(start_version=1, end_version=2)]}, {"deleted_count": 0}),
    Row("restore_table", "t", {"version": 1}, made),
    Row("list_table_tags", "t", {}, lambda a, _: said(a)["tags"]["first"]["version"] == 1 and said(a)["tags"]["first"]["manifestSize"] > 0),
    Row("get_table_tag_version", "t", {"tag": "first"}, {"version": 1}),
    Row("create_table_tag", "t", {"tag": "second", "version": 2}, made),
    Row("update_table_tag", "t", {"tag": "first", "version": 2}, made),
    Row("delete_table_tag", "t", {"tag": "first"}, made),
    Row("list_table_branches", "t", {}, lambda a, _: said(a)["branches"]["dev"]["parentVersion"] == 1),
    Row("create_table_branch", "t", {"name": "two", "from_branch": "dev"}, made),
    Row("delete_table_branch", "t", {"name": "dev"}, made),
    Row("create_table_index", "t", {"column": "id", "index_type": "BTREE"}, made),
    Row("create_table_scalar_index", "t", {"column": "id", "index_type": "BITMAP"}, made),
]

# Those about what is not there by itself: see the tests of their own below.
ELSEWHERE = {
    "create_table_version", "batch_create_table_versions", "batch_commit_tables", "describe_transaction", "alter_transaction",
    "describe_table_index_stats", "drop_table_index", "create_materialized_view", "refresh_materialized_view",
    "alter_table_backfill_columns",
}  # fmt: skip

def test_all_operations_are_here(server):
    rows = {row.operation for row in OPERATIONS}
    assert rows | ELSEWHERE == set(Generated(server).calls)


@pytest.mark.parametrize("row", OPERATIONS, ids=repr)
def test_operation(ns, world, client, row):
    if row.on == "new$t":
        ns.create_namespace(n.CreateNamespaceRequest(id=world.id("new")))
        create(ns, world.id(row.on), ROWS)
    answer = row.send(client, world)
    if callable(row.want):
        assert row.want(answer, world), answer
    else:
        got = said(answer)
        assert {name: got.get(name) for name in row.want} == row.want


def test_backfill(world, client, db):
    table = db.open_table("t", namespace_path=[world.space])
    table.add_columns(computed={"more": "id + 1"})
    job = said(client.call("alter_table_backfill_columns", world.id("t"), {"column": "more"}, None))["job_id"]
    while said(client.call("describe_transaction", [job], {}, None))["status"] in ("Queued", "Running"):
        time.sleep(0.05)
    assert table.count_rows("more = id + 1") == table.count_rows() > 0


def test_materialized_views(world, client):
    def ended(job: str) -> str:
        while (status := said(client.call("describe_transaction", [job], {}, None))["status"]) in ("Queued", "Running"):
            time.sleep(0.05)
        return status

    def count(name: str) -> int:
        answer = client.call("count_table_rows", world.id(name), {}, None)
        return answer if isinstance(answer, int) else answer.count

    schema = base64.b64encode(ROWS.select(["id"]).schema.serialize()).decode()
    definition = {"kind": "query", "source_query": f"SELECT id FROM {world.space}.t WHERE id >= 0", "output_schema": schema}
    created = said(client.call("create_materialized_view", world.id("v"), definition, None))
    assert created["version"] == 1 and not created.get("job_id") and count("v") == 0
    assert ended(said(client.call("refresh_materialized_view", world.id("v"), {}, None))["job_id"]) == "Succeeded"
    assert count("v") == count("t") > 0
    created = said(client.call("create_materialized_view", world.id("w"), {**definition, "with_no_data": False}, None))
    assert ended(created["job_id"]) == "Succeeded" and count("w") == count("t")


def test_transactions(world, client):
    for id in ([world.transaction], [world.space, "t", world.transaction]):
        told = said(client.call("describe_transaction", id, {}, None))
        assert told["status"] == "Succeeded"
        assert (told["properties"]["operation"], told["properties"]["version"]) == ("Append", "2")
    actions = [m.AlterTransactionAction(set_property_action=m.AlterTransactionSetProperty(key="k", value="v"))]
    told = said(client.call("alter_transaction", [world.transaction], {"actions": actions}, None))
    assert told["status"] == "Succeeded"
    if isinstance(client, Generated):  # the other sends actions as empty objects, which do nothing
        assert told["properties"]["k"] == "v"


def test_versions_that_cannot_be_made(world, client):
    """Those that can are in test_managed.py, made by native Lance."""
    staged = {"version": 3, "manifest_path": "nowhere"}
    with pytest.raises((n.InvalidInputError, ApiException)) as raised:
        client.call("create_table_version", world.id("t"), staged, None)
    code_is(raised.value, 400, 13)


def test_batches_that_cannot_be_made(world, client):
    staged = {"version": 3, "manifest_path": "nowhere"}
    entry = m.CreateTableVersionEntry(id=world.id("t"), **staged)
    operation = m.CommitTableOperation(deregister_table=m.DeregisterTableRequest(id=world.id("missing")))
    for call, fields, want in (
        ("batch_create_table_versions", {"entries": [entry]}, (400, 13)),
        ("batch_commit_tables", {"operations": [operation]}, (404, 4)),
    ):
        with pytest.raises(ApiException) as raised:
            client.call(call, None, fields, None)
        code_is(raised.value, *want)


def test_batch_commit(world, server):
    client = Generated(server)
    operations = [
        m.CommitTableOperation(declare_table=m.DeclareTableRequest(id=world.id("new"))),
        m.CommitTableOperation(deregister_table=m.DeregisterTableRequest(id=world.id("declared"))),
    ]
    done = client.call("batch_commit_tables", None, {"operations": operations}, None)
    assert done.transaction_id and done.results[0].declare_table.location
    assert done.results[1].deregister_table.id == world.id("declared")
    assert client.call("list_tables", world.id("."), {}, None).tables == ["new", "t"]


# What goes wrong: status and code, and what the client inside pylance makes of it.
WRONG = [
    (Row("create_namespace", "child"), 409, 2, n.NamespaceAlreadyExistsError),
    (Row("create_namespace", "missing$x"), 404, 1, n.NamespaceNotFoundError),
    (Row("create_namespace", "x", {"mode": "Perhaps"}), 400, 13, n.InvalidInputError),
    (Row("create_namespace", "/"), 409, 2, n.NamespaceAlreadyExistsError),
    (Row("list_namespaces", "missing"), 404, 1, n.NamespaceNotFoundError),
    (Row("describe_namespace", "missing"), 404, 1, n.NamespaceNotFoundError),
    (Row("namespace_exists", "missing"), 404, 1, n.NamespaceNotFoundError),
    (Row("drop_namespace", "missing"), 400, 1, n.NamespaceNotFoundError),
    (Row("drop_namespace", "."), 409, 3, n.NamespaceNotEmptyError),
    (Row("drop_namespace", "/"), 400, 13, n.InvalidInputError),
    (Row("list_tables", "missing"), 404, 1, n.NamespaceNotFoundError),
    (Row("register_table", "t", lambda w: {"location": w.location}), 409, 5, n.TableAlreadyExistsError),
    (Row("register_table", "missing$t", lambda w: {"location": w.location}), 404, 1, n.NamespaceNotFoundError),
    (Row("register_table", "x", {"location": "/etc"}), 400, 13, n.InvalidInputError),
    (Row("describe_table", "missing"), 404, 4, n.TableNotFoundError),
    (Row("describe_table", "missing$t"), 404, 1, n.NamespaceNotFoundError),
    (Row("describe_table", "t", {"version": 9, "load_detailed_metadata": True}), 404, 11, n.TableVersionNotFoundError),
    (Row("describe_table", "t", {"version": 1, "tag": "first"}), 400, 13, n.InvalidInputError),
    (Row("describe_table", "t", {"tag": "missing"}), 404, 8, n.TableTagNotFoundError),
    (Row("table_exists", "missing"), 404, 4, n.TableNotFoundError),
    (Row("table_exists", "t", {"version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("drop_table", "missing"), 404, 4, n.TableNotFoundError),
    (Row("drop_table", "/"), 400, 13, n.InvalidInputError),
    (Row("deregister_table", "missing"), 404, 4, n.TableNotFoundError),
    (Row("declare_table", "t"), 409, 5, n.TableAlreadyExistsError),
    (Row("declare_table", "declared"), 409, 5, n.TableAlreadyExistsError),
    (Row("declare_table", "missing$t"), 404, 1, n.NamespaceNotFoundError),
    (Row("declare_table", "x", {"location": "/etc/x"}), 400, 13, n.InvalidInputError),
    (Row("rename_table", "t", {"new_table_name": "declared"}), 409, 5, n.TableAlreadyExistsError),
    (Row("rename_table", "missing", {"new_table_name": "x"}), 404, 4, n.TableNotFoundError),
    (Row("rename_table", "t", {"new_table_name": "x", "new_namespace_id": ["missing"]}), 404, 1, n.NamespaceNotFoundError),
    (Row("rename_table", "t", {"new_table_name": "a$b"}), 400, 13, n.InvalidInputError),
    (Row("get_table_stats", "missing"), 404, 4, n.TableNotFoundError),
    (Row("get_table_stats", "t", {"branch": "missing"}), 404, 22, n.TableBranchNotFoundError),
    (Row("create_table", "t", {}, rows=ROWS), 409, 5, n.TableAlreadyExistsError),
    (Row("create_table", "missing$t", {}, rows=ROWS), 404, 1, n.NamespaceNotFoundError),
    (Row("insert_into_table", "missing", {}, rows=ROWS), 404, 4, n.TableNotFoundError),
    (Row("insert_into_table", "t", {}, rows=pa.table({"other": [1]})), 400, 20, n.TableSchemaValidationError),
    (Row("insert_into_table", "t", {"mode": "perhaps"}, rows=ROWS), 400, 13, n.InvalidInputError),
    (Row("merge_insert_into_table", "t", {"on": ["missing"], "when_not_matched_insert_all": True}, rows=ROWS), 404, 12, n.TableColumnNotFoundError),
    (Row("update_table", "t", {"updates": []}), 400, 13, n.InvalidInputError),
    (Row("delete_from_table", "t", {"predicate": ""}), 400, 13, n.InvalidInputError),
    (Row("query_table", "t", NO_VECTOR | {"version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("count_table_rows", "t", {"version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("alter_table_drop_columns", "t", {"columns": ["missing"]}), 404, 12, n.TableColumnNotFoundError),
    (Row("describe_table_index_stats", "t", {"index_name": "missing"}), 404, 6, n.TableIndexNotFoundError),
    (Row("drop_table_index", "t", {"index_name": "missing"}), 404, 6, n.TableIndexNotFoundError),
    (Row("list_table_versions", "missing"), 404, 4, n.TableNotFoundError),
    (Row("describe_table_version", "t", {"version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("describe_table_version", "declared"), 404, 11, n.TableVersionNotFoundError),
    (Row("batch_delete_table_versions", "t", {"ranges": []}), 400, 13, n.InvalidInputError),
    (Row("restore_table", "t", {"version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("restore_table", "missing", {"version": 1}), 404, 4, n.TableNotFoundError),
    (Row("list_table_tags", "missing"), 404, 4, n.TableNotFoundError),
    (Row("get_table_tag_version", "t", {"tag": "missing"}), 404, 8, n.TableTagNotFoundError),
    (Row("create_table_tag", "t", {"tag": "first", "version": 1}), 409, 9, n.TableTagAlreadyExistsError),
    (Row("create_table_tag", "t", {"tag": "x", "version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("create_table_tag", "t", {"tag": "a b", "version": 1}), 400, 13, n.InvalidInputError),
    (Row("update_table_tag", "t", {"tag": "missing", "version": 1}), 404, 8, n.TableTagNotFoundError),
    (Row("update_table_tag", "t", {"tag": "first", "version": 9}), 404, 11, n.TableVersionNotFoundError),
    (Row("delete_table_tag", "t", {"tag": "missing"}), 404, 8, n.TableTagNotFoundError),
    (Row("list_table_branches", "missing"), 404, 4, n.TableNotFoundError),
    (Row("create_table_branch", "t", {"name": "dev"}), 409, 23, n.TableBranchAlreadyExistsError),
    (Row("create_table_branch", "t", {"name": "x", "from_branch": "missing"}), 404, 22, n.TableBranchNotFoundError),
    (Row("delete_table_branch", "t", {"name": "missing"}), 404, 22, n.TableBranchNotFoundError),
    (Row("describe_transaction", "missing"), 404, 10, n.TransactionNotFoundError),
    (Row("alter_transaction", "missing", {"actions": [m.AlterTransactionAction()]}), 404, 10, n.TransactionNotFoundError),
]


def code_is(error: Exception, status: int, code: int) -> None:
    if isinstance(error, ApiException):
        body = json.loads(error.body)
        assert (error.status, body["status"], body["code"]) == (status, status, code), error.body
        assert body["error"] and body["type"].startswith("/errors/") and body["instance"].startswith("/v1/")


@pytest.mark.parametrize(("row", "status", "code", "kind"), WRONG, ids=lambda v: f"{v} {v.fields}" if isinstance(v, Row) and isinstance(v.fields, dict) else str(v))
def test_what_goes_wrong(world, client, row, status, code, kind):
    with pytest.raises(kind if isinstance(client, Native) else ApiException) as raised:
        row.send(client, world)
    code_is(raised.value, status, code)
