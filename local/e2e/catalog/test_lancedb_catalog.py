"""The unmodified LanceDB client on everything but rows: databases, namespaces, tables, tags,
branches, jobs. Its results on our responses are those that its users see."""

from __future__ import annotations

import uuid

import lance_namespace as n
import lancedb
import pyarrow as pa
import pytest
from lancedb.remote.errors import HttpError

ROWS = pa.table({"id": [1, 2, 3], "word": ["a", "b", "c"]})


@pytest.fixture
def table(db, space):
    """A table of two versions."""
    made = db.create_table("t", ROWS, namespace_path=[space])
    made.add(ROWS)
    return made


def test_databases_are_namespaces_of_the_root(server):
    catalog = lancedb.connect_catalog(server.url, api_key=server.token)
    name = "d" + uuid.uuid4().hex[:12]
    catalog.create_database(name)
    assert name in catalog.list_databases().databases
    server.lancedb().create_table("t", ROWS, namespace_path=[name])
    catalog.connect_database(name)
    with pytest.raises(HttpError, match="not empty"):
        catalog.drop_database(name)
    server.lancedb().drop_table("t", namespace_path=[name])
    catalog.drop_database(name)
    with pytest.raises(HttpError, match="does not exist"):
        catalog.drop_database(name)
    catalog.drop_database(name, ignore_missing=True)
    assert name not in catalog.list_databases().databases


@pytest.mark.parametrize(
    ("call", "status"),
    [
        (lambda db, s: db.describe_namespace([s, "missing"]), 404),
        (lambda db, s: db.create_namespace([s]), 409),
        (lambda db, s: db.create_namespace([s, "missing", "x"]), 404),
        (lambda db, s: db.drop_namespace([s, "missing"]), 400),
        (lambda db, s: db.drop_namespace([s]), 409),
        (lambda db, s: db.list_tables(namespace_path=[s, "missing"]), 404),
        (lambda db, s: db.list_namespaces(namespace_path=[s, "missing"]), 404),
        (lambda db, s: db.drop_table("missing", namespace_path=[s]), 404),
        (lambda db, s: db.rename_table("missing", "x", cur_namespace_path=[s], new_namespace_path=[s]), 404),
    ],
)
def test_mistakes_are_told_with_their_status(db, space, table, call, status):
    with pytest.raises(HttpError) as raised:
        call(db, space)
    assert raised.value.status_code == status, raised.value


def test_drop_in_the_background(db, space, table):
    db.drop_table_async("t", namespace_path=[space])
    assert db.table_names(namespace_path=[space]) == []


def test_clones(db, space, table):
    table.tags.create("first", 1)
    for name, options, rows in (("c", {}, 6), ("v", {"source_version": 1}, 3), ("tag", {"source_tag": "first"}, 3), ("deep", {"is_shallow": False}, 6)):
        clone = db.clone_table(name, table.uri, target_namespace_path=[space], **options)
        assert clone.count_rows() == rows
        clone.add(ROWS)
        assert (clone.count_rows(), table.count_rows()) == (rows + 3, 6)
    with pytest.raises(HttpError, match="already exists"):
        db.clone_table("c", table.uri, target_namespace_path=[space])


def test_metadata_of_columns(table):
    table.update_field_metadata({"path": "word", "metadata": {"a": "1", "b": "2"}})
    table.update_field_metadata({"path": "word", "metadata": {"b": None, "c": "3"}})
    assert table.schema.field("word").metadata == {b"a": b"1", b"c": b"3"}
    assert table.update_field_metadata({"path": "word", "metadata": {"d": "4"}, "replace": True}).version == table.version
    assert table.schema.field("word").metadata == {b"d": b"4"}


def test_jobs_that_are_not_there(db):
    missing = uuid.uuid4().hex
    with pytest.raises(Exception, match="not found"):
        db.open_job(missing)
    assert db.cancel_job(missing) is False
    for call in (db.pause_job, db.resume_job):
        with pytest.raises(HttpError, match="does not exist"):
            call(missing)


def test_tags(table):
    table.tags.create("one", 1)
    assert table.tags.list() == {"one": {"version": 1, "manifest_size": table.tags.list()["one"]["manifest_size"]}}
    table.tags.update("one", 2)
    assert table.tags.get_version("one") == 2
    with pytest.raises(HttpError, match="has a tag") as raised:
        table.tags.create("one", 1)
    assert raised.value.status_code == 400, "409 would be sent again in vain"
    for call in (
        lambda: table.tags.get_version("missing"),
        lambda: table.tags.update("missing", 1),
        lambda: table.tags.delete("missing"),
        lambda: table.tags.create("two", 99),
    ):
        with pytest.raises(ValueError, match="not found"):
            call()
    table.tags.delete("one")
    assert table.tags.list() == {}


def test_branches(table):
    table.branches.create("dev", from_version=1)
    with pytest.raises(ValueError, match="already exists"):
        table.branches.create("dev")
    with pytest.raises(ValueError, match="not found"):
        table.branches.create("x", "missing")
    with pytest.raises(ValueError, match="not found"):
        table.branches.delete("missing")
    table.branches.delete("dev")
    assert table.branches.list() == {}


def test_versions_that_are_not_there(table):
    for call in (lambda: table.checkout(99), lambda: table.restore(99), lambda: table.checkout("missing")):
        with pytest.raises(ValueError, match="not found"):
            call()
    table.tags.create("first", 1)
    table.restore("first")
    assert (table.version, table.count_rows()) == (3, 3)


def test_namespace_client_of_a_connection(db, space, table):
    """It speaks the other dialect under the headers of this one."""
    ns = db.namespace_client()
    assert ns.list_tables(n.ListTablesRequest(id=[space])).tables == ["t"]
    described = ns.describe_table(n.DescribeTableRequest(id=[space, "t"], load_detailed_metadata=True))
    assert [field.type.type for field in described.var_schema.fields] == ["int64", "utf8"]
    with pytest.raises(n.TableAlreadyExistsError):
        ns.declare_table(n.DeclareTableRequest(id=[space, "t"]))


@pytest.mark.filterwarnings("ignore:.*no-op")
def test_what_does_nothing_does_no_harm(table):
    for call in (table.optimize, table.compact_files, table.cleanup_old_versions):
        call()
    assert table.version == 2
    assert table.embedding_functions == {}
    assert table.search().output_schema() == ROWS.schema
