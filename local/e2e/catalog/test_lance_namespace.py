"""The Lance Namespace clients with our server: the native one inside pylance, and the generated
one.

Where the reference server (pylance's RestAdapter over a directory) is correct, it gets the same
requests and its responses must be equal. Where it is known to be wrong (it ignores modes and
cascades, has no pages, and responds to mistakes with 500), the text of the protocol decides.
"""

from __future__ import annotations

import io
import json
import time

import lance
import lance.namespace
import lance_namespace as n
import lance_namespace_urllib3_client as generated
import pyarrow as pa
import pytest
from lance_namespace_urllib3_client import exceptions
from lance_namespace_urllib3_client import models as m

import sample
from files import Folder
from namespaces import create, query, read
from rows import assert_same, by
from wire import stream


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    """The reference server over a directory, and a client of it."""
    with lance.namespace.RestAdapter("dir", {"root": str(tmp_path_factory.mktemp("peer"))}, port=0) as adapter:
        yield n.connect("rest", {"uri": f"http://127.0.0.1:{adapter.port}"})


@pytest.fixture(scope="module")
def api(server) -> generated.ApiClient:
    """The generated client."""
    return generated.ApiClient(generated.Configuration(host=server.url, access_token=server.token))


@pytest.fixture
def table(ns, space) -> list[str]:
    """A table of 20 rows."""
    id = [space, "t"]
    create(ns, id, sample.people(20))
    return id


# Namespaces


def test_namespace_life(ns, space):
    id = [space, "child"]
    made = ns.create_namespace(n.CreateNamespaceRequest(id=id, properties={"owner": "ada", "ü": "ö"}))
    assert made.properties == {"owner": "ada", "ü": "ö"}
    assert ns.describe_namespace(n.DescribeNamespaceRequest(id=id)).properties == {"owner": "ada", "ü": "ö"}
    ns.namespace_exists(n.NamespaceExistsRequest(id=id))
    assert ns.list_namespaces(n.ListNamespacesRequest(id=[space])).namespaces == ["child"]
    dropped = ns.drop_namespace(n.DropNamespaceRequest(id=id))
    assert dropped.properties == {"owner": "ada", "ü": "ö"}
    with pytest.raises(n.NamespaceNotFoundError):
        ns.namespace_exists(n.NamespaceExistsRequest(id=id))


def test_properties_are_an_empty_object_when_there_are_none(ns, wire, space):
    answer = wire.post(f"/v1/namespace/{space}/describe", {})
    assert answer.json["properties"] == {}


@pytest.mark.parametrize(
    "mode,want",
    [
        (None, "error"),
        ("Create", "error"),
        ("create", "error"),
        ("ExistOk", "old"),
        ("exist_ok", "old"),
        ("EXISTOK", "old"),
        ("Overwrite", "new"),
        ("overwrite", "new"),
    ],
)
def test_create_namespace_modes(ns, space, mode, want):
    id = [space, "m"]
    ns.create_namespace(n.CreateNamespaceRequest(id=id, properties={"v": "old"}))
    ns.create_namespace(n.CreateNamespaceRequest(id=[*id, "inside"]))
    again = n.CreateNamespaceRequest(id=id, mode=mode, properties={"v": "new"})
    if want == "error":
        with pytest.raises(n.NamespaceAlreadyExistsError):
            ns.create_namespace(again)
        want = "old"
    else:
        assert ns.create_namespace(again).properties == {"v": want}
    assert ns.describe_namespace(n.DescribeNamespaceRequest(id=id)).properties == {"v": want}
    inside = ns.list_namespaces(n.ListNamespacesRequest(id=id)).namespaces
    assert inside == (["inside"] if want == "old" else [])


def test_parent_must_exist(ns, space):
    with pytest.raises(n.NamespaceNotFoundError):
        ns.create_namespace(n.CreateNamespaceRequest(id=[space, "missing", "child"]))


def test_root_exists_and_cannot_be_made_or_dropped(ns):
    ns.namespace_exists(n.NamespaceExistsRequest(id=[]))
    assert ns.describe_namespace(n.DescribeNamespaceRequest(id=[])).properties == {}
    with pytest.raises(n.NamespaceAlreadyExistsError):
        ns.create_namespace(n.CreateNamespaceRequest(id=[]))
    with pytest.raises(n.InvalidInputError):
        ns.drop_namespace(n.DropNamespaceRequest(id=[]))


@pytest.mark.parametrize("mode", [None, "Fail", "fail"])
def test_drop_missing_namespace_fails(ns, wire, space, mode):
    with pytest.raises(n.NamespaceNotFoundError):
        ns.drop_namespace(n.DropNamespaceRequest(id=[space, "missing"], mode=mode))
    answer = wire.post(f"/v1/namespace/{space}$missing/drop", {"mode": mode})
    assert (answer.status, answer.json["code"]) == (400, 1)


def test_drop_missing_namespace_with_skip(ns, wire, space):
    ns.drop_namespace(n.DropNamespaceRequest(id=[space, "missing"], mode="Skip"))
    answer = wire.post(f"/v1/namespace/{space}$missing/drop", {"mode": "skip"})
    assert (answer.status, answer.body) == (204, b"")


def test_restrict_keeps_what_is_not_empty(ns, table):
    with pytest.raises(n.NamespaceNotEmptyError):
        ns.drop_namespace(n.DropNamespaceRequest(id=table[:1], behavior="Restrict"))
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 20


def test_cascade_drops_everything_inside(ns, wire, table, opens):
    ns.create_namespace(n.CreateNamespaceRequest(id=[table[0], "a"]))
    create(ns, [table[0], "a", "deep"], sample.people(3))
    location = ns.describe_table(n.DescribeTableRequest(id=[table[0], "a", "deep"])).location
    ns.drop_namespace(n.DropNamespaceRequest(id=table[:1], behavior="Cascade"))
    for id in (table, [table[0], "a", "deep"]):
        with pytest.raises((n.TableNotFoundError, n.NamespaceNotFoundError)):
            ns.describe_table(n.DescribeTableRequest(id=id))
    for id in (table, [table[0], "a", "deep"]):
        assert wire.post(f"/v1/table/{'$'.join(id)}/purge", {}).status == 200
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(location)


# Listing


def test_lists_are_sorted_and_paged(ns, wire, space):
    names = sorted(["b", "a", "Z", "ä", "a b", "a.b", "a-b", "10", "9", "_", "zz"], key=lambda s: s.encode())
    for name in reversed(names):
        ns.create_namespace(n.CreateNamespaceRequest(id=[space, name]))
        ns.declare_table(n.DeclareTableRequest(id=[space, name]))
    lists = {
        "namespaces": lambda **page: ns.list_namespaces(n.ListNamespacesRequest(id=[space], **page)),
        "tables": lambda **page: ns.list_tables(n.ListTablesRequest(id=[space], **page)),
    }
    for field, ask in lists.items():
        assert getattr(ask(), field) == names
        for limit in (1, 2, 5, 11, 12):
            pages, token = [], None
            while True:
                page = ask(limit=limit, page_token=token)
                pages.append(getattr(page, field))
                token = page.page_token
                if not token:
                    break
                assert token == pages[-1][-1], "a token is the last name"
            assert sum(pages, []) == names
            assert all(len(p) == limit for p in pages[:-1]) and 0 < len(pages[-1]) <= limit
        assert getattr(ask(page_token="a c"), field) == [x for x in names if x.encode() > b"a c"]
        assert getattr(ask(limit=0), field) == []
        assert getattr(ask(page_token="\U0010ffff"), field) == []


@pytest.mark.parametrize("path", ["list", "table/list"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_lists_answer_both_methods(wire, table, path, method):
    answer = wire.call(method, f"/v1/namespace/{table[0]}/{path}?limit=5")
    assert answer.status == 200
    assert answer.json.get("tables", ["t"]) == ["t"]


def test_lists_of_a_missing_namespace(ns, space):
    with pytest.raises(n.NamespaceNotFoundError):
        ns.list_namespaces(n.ListNamespacesRequest(id=[space, "missing"]))
    with pytest.raises(n.NamespaceNotFoundError):
        ns.list_tables(n.ListTablesRequest(id=[space, "missing"]))


def test_declared_tables_may_be_left_out(ns, table):
    ns.declare_table(n.DeclareTableRequest(id=[table[0], "declared"]))
    ask = lambda include: ns.list_tables(n.ListTablesRequest(id=table[:1], include_declared=include)).tables
    assert ask(None) == ask(True) == ["declared", "t"]
    assert ask(False) == ["t"]


def test_all_tables_of_all_namespaces(own_server):
    ns = own_server.namespace()
    for id in (["top"], ["a", "t"], ["a", "b", "t"]):
        for depth in range(1, len(id)):
            ns.create_namespace(n.CreateNamespaceRequest(id=id[:depth], mode="ExistOk"))
        create(ns, id, sample.people(1))
    ns.declare_table(n.DeclareTableRequest(id=["a", "declared"]))
    assert ns.list_all_tables(n.ListTablesRequest()).tables == ["a$b$t", "a$declared", "a$t", "top"]
    wire = own_server.wire()
    assert wire.call("GET", "/v1/table?delimiter=.").json["tables"] == ["a.b.t", "a.declared", "a.t", "top"]
    assert wire.call("GET", "/v1/table?include_declared=false").json["tables"] == ["a$b$t", "a$t", "top"]
    page = wire.call("GET", "/v1/table?limit=2").json
    assert page == {"tables": ["a$b$t", "a$declared"], "page_token": "a$declared"}
    assert wire.call("GET", "/v1/table?limit=2&page_token=a$declared").json == {"tables": ["a$t", "top"]}
    assert wire.call("GET", "/v1/table/").json["tables"] == ["top"], "with a slash: the root's own, for LanceDB"


# Tables


def test_create_and_describe(ns, space, peer):
    rows = sample.people(7)
    made = create(ns, [space, "t"], rows, properties={"team": "blue"})
    assert made.version == 1 and made.location and made.properties == {"team": "blue"}
    create(peer, ["t_described"], rows)
    ask = lambda ns, id: ns.describe_table(n.DescribeTableRequest(id=id, load_detailed_metadata=True))
    got, want = ask(ns, [space, "t"]), ask(peer, ["t_described"])
    assert (got.table, got.namespace) == ("t", [space])
    assert got.version == want.version == 1
    assert got.var_schema.to_dict() == want.var_schema.to_dict()
    assert got.stats.to_dict() == {"num_deleted_rows": 0, "num_fragments": 1}
    assert got.is_only_declared is False
    assert got.properties == {"team": "blue"}
    assert_same(lance.dataset(got.location).to_table(), rows)


def test_schema_of_each_type_is_described_as_the_peer_does(ns, space, peer):
    rows = sample.of_all_types(3, "some")
    create(ns, [space, "types"], rows)
    create(peer, ["types"], rows)
    ask = lambda ns, id: ns.describe_table(n.DescribeTableRequest(id=id, load_detailed_metadata=True)).var_schema
    got, want = ask(ns, [space, "types"]), ask(peer, ["types"])
    for g, w in zip(got.fields, want.fields, strict=True):
        assert g.to_dict() == w.to_dict()
    assert got.metadata == want.metadata


def test_plain_describe_needs_no_data(ns, table):
    plain = ns.describe_table(n.DescribeTableRequest(id=table))
    assert plain.location and plain.version is None and plain.var_schema is None


def test_describe_at_a_version(ns, table):
    ns.insert_into_table(n.InsertIntoTableRequest(id=table, mode="overwrite"), stream(pa.table({"other": ["x"]})))
    ask = lambda v: ns.describe_table(n.DescribeTableRequest(id=table, version=v, load_detailed_metadata=True))
    assert [f.name for f in ask(1).var_schema.fields] == sample.people(0).column_names
    assert [f.name for f in ask(2).var_schema.fields] == ["other"]
    with pytest.raises(n.TableVersionNotFoundError):
        ask(3)


@pytest.mark.parametrize(
    "mode,want",
    [
        (None, "error"),
        ("Create", "error"),
        ("ExistOk", "old"),
        ("exist_ok", "old"),
        ("Overwrite", "new"),
        ("overwrite", "new"),
    ],
)
def test_create_table_modes(ns, table, mode, want):
    rows = pa.table({"fresh": [1, 2]})
    if want == "error":
        with pytest.raises(n.TableAlreadyExistsError):
            create(ns, table, rows, mode=mode)
    else:
        assert create(ns, table, rows, mode=mode).version == (2 if want == "new" else 1)
    assert_same(read(ns.query_table(query(table))), rows if want == "new" else sample.people(20))


def test_create_table_of_a_bare_schema(ns, space):
    schema = sample.people(0).schema
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, schema).close()
    ns.create_table(n.CreateTableRequest(id=[space, "empty"]), sink.getvalue())
    assert_same(read(ns.query_table(query([space, "empty"]))), schema.empty_table())


def test_table_needs_its_namespace(ns, space):
    for call in (
        lambda id: create(ns, id, sample.people(1)),
        lambda id: ns.declare_table(n.DeclareTableRequest(id=id)),
        lambda id: ns.describe_table(n.DescribeTableRequest(id=id)),
    ):
        with pytest.raises((n.NamespaceNotFoundError, n.TableNotFoundError)):
            call([space, "missing", "t"])
    with pytest.raises(n.NamespaceNotFoundError):
        create(ns, [space, "missing", "t"], sample.people(1))


def test_exists(ns, table):
    ns.table_exists(n.TableExistsRequest(id=table))
    ns.table_exists(n.TableExistsRequest(id=table, version=1))
    with pytest.raises(n.TableVersionNotFoundError):
        ns.table_exists(n.TableExistsRequest(id=table, version=2))
    with pytest.raises(n.TableNotFoundError):
        ns.table_exists(n.TableExistsRequest(id=[table[0], "missing"]))


def test_a_dropped_table_is_kept_for_a_week(ns, wire, table, opens):
    location = ns.describe_table(n.DescribeTableRequest(id=table)).location
    path = f"/v1/table/{'$'.join(table)}"
    ns.drop_table(n.DropTableRequest(id=table))
    with pytest.raises(n.TableNotFoundError):
        ns.table_exists(n.TableExistsRequest(id=table))
    assert ns.list_tables(n.ListTablesRequest(id=table[:1])).tables == []
    create(ns, table, sample.people(3))
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 3
    ns.drop_table(n.DropTableRequest(id=table))
    dropped = wire.post(f"/v1/namespace/{table[0]}/dropped/list", {"sizes": True}).json["dropped"]
    assert [d["restorable_until_millis"] - d["dropped_at_millis"] for d in dropped] == [7 * 24 * 3600 * 1000] * 2
    assert all(d["bytes"] > 0 for d in dropped) and location in [d["location"] for d in dropped]
    older = next(d["drop_id"] for d in dropped if d["location"] == location)
    assert wire.post(f"{path}/undrop", {"drop_id": older}).status == 200
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 20
    ns.drop_table(n.DropTableRequest(id=table))
    ns.drop_namespace(n.DropNamespaceRequest(id=table[:1]))  # what is dropped is not in it
    ns.create_namespace(n.CreateNamespaceRequest(id=table[:1]))


def test_drop_table_removes_the_data_without_a_retention(ns, space, opens):
    around = [space, "at-once"]
    ns.create_namespace(n.CreateNamespaceRequest(id=around, properties={"drop.retention": "0"}))
    table = [*around, "t"]
    create(ns, table, sample.people(20))
    location = ns.describe_table(n.DescribeTableRequest(id=table)).location
    dropped = ns.drop_table(n.DropTableRequest(id=table))
    assert dropped.id == table and dropped.location == location
    with pytest.raises(n.TableNotFoundError):
        ns.describe_table(n.DescribeTableRequest(id=table))
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(location)
    with pytest.raises(n.TableNotFoundError):
        ns.drop_table(n.DropTableRequest(id=table))


@pytest.mark.parametrize("way", ["drop", "deregister", "overwritten registration"])
def test_recreated_table_takes_rows_at_once(ns, table, outside, way):
    """What the server remembers of the old table must not stand in the way of the new."""
    insert = lambda: (
        ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(5))).num_inserted_rows
    )
    merge = n.MergeInsertIntoTableRequest(id=table, on=["id"], when_not_matched_insert_all=True)
    assert insert() == 5
    for i in range(2):
        if way == "overwritten registration":
            location = str(outside / f"re-{table[0]}-{i}.lance")
            lance.write_dataset(sample.people(20), location)
            ns.register_table(n.RegisterTableRequest(id=table, location=location, mode="Overwrite"))
        else:
            ns.drop_table(n.DropTableRequest(id=table)) if way == "drop" else ns.deregister_table(
                n.DeregisterTableRequest(id=table)
            )
            create(ns, table, sample.people(20))
        if i == 0:
            assert insert() == 5
        else:
            assert ns.merge_insert_into_table(merge, stream(sample.people(5, start=20))).num_inserted_rows == 5
        assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 25


def test_deregister_keeps_the_data_and_register_brings_it_back(ns, table, opens):
    gone = ns.deregister_table(n.DeregisterTableRequest(id=table))
    assert gone.id == table
    with pytest.raises(n.TableNotFoundError):
        ns.table_exists(n.TableExistsRequest(id=table))
    assert lance.dataset(gone.location).count_rows() == 20
    other = [table[0], "again"]
    back = ns.register_table(n.RegisterTableRequest(id=other, location=gone.location, properties={"p": "q"}))
    assert back.location == gone.location and back.properties == {"p": "q"}
    assert_same(read(ns.query_table(query(other))), sample.people(20))


@pytest.mark.parametrize("mode", [None, "Create", "create"])
def test_register_a_taken_name_fails(ns, table, outside, mode):
    location = str(outside / f"taken-{table[0]}-{mode}.lance")
    lance.write_dataset(sample.people(2), location)
    with pytest.raises(n.TableAlreadyExistsError):
        ns.register_table(n.RegisterTableRequest(id=table, location=location, mode=mode))
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 20


def test_register_overwrite_replaces_the_registration_and_keeps_the_old_data(ns, table, outside):
    old = ns.describe_table(n.DescribeTableRequest(id=table)).location
    location = str(outside / f"other-{table[0]}.lance")
    lance.write_dataset(sample.people(2, start=100), location)
    ns.register_table(n.RegisterTableRequest(id=table, location=location, mode="Overwrite"))
    assert_same(read(ns.query_table(query(table))), sample.people(2, start=100))
    assert lance.dataset(old).count_rows() == 20


def test_declare_then_lance_writes_there(ns, space, opens):
    id = [space, "declared"]
    declared = ns.declare_table(n.DeclareTableRequest(id=id))
    ns.table_exists(n.TableExistsRequest(id=id))
    described = ns.describe_table(n.DescribeTableRequest(id=id, load_detailed_metadata=True))
    assert described.is_only_declared is True and described.version is None and described.var_schema is None
    assert ns.list_table_versions(n.ListTableVersionsRequest(id=id)).versions == []
    with pytest.raises(n.TableAlreadyExistsError):
        ns.declare_table(n.DeclareTableRequest(id=id))
    lance.write_dataset(sample.people(6), declared.location)
    assert ns.describe_table(n.DescribeTableRequest(id=id, check_declared=True)).is_only_declared is False
    assert_same(read(ns.query_table(query(id))), sample.people(6))


@pytest.mark.parametrize("write", ["create", "insert", "merge"])
def test_declared_table_is_filled_by_its_first_write(ns, space, write):
    id = [space, "declared"]
    ns.declare_table(n.DeclareTableRequest(id=id, properties={"kept": "yes"}))
    data = stream(sample.people(6))
    if write == "create":
        ns.create_table(n.CreateTableRequest(id=id), data)
    elif write == "insert":
        assert ns.insert_into_table(n.InsertIntoTableRequest(id=id), data).num_inserted_rows == 6
    else:
        done = ns.merge_insert_into_table(
            n.MergeInsertIntoTableRequest(
                id=id, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True
            ),
            data,
        )
        assert (done.num_inserted_rows, done.num_updated_rows, done.num_deleted_rows) == (6, 0, 0)
    assert_same(read(ns.query_table(query(id))), sample.people(6))
    assert ns.describe_table(n.DescribeTableRequest(id=id)).properties == {"kept": "yes"}


def test_lance_opens_a_table_by_its_id(ns, table, opens):
    assert_same(lance.dataset(namespace_client=ns, table_id=table).to_table(), sample.people(20))


def test_lance_writes_a_table_by_its_id(ns, space, opens):
    id = [space, "native"]
    lance.write_dataset(sample.people(5), namespace_client=ns, table_id=id, mode="create")
    lance.write_dataset(sample.people(5, start=5), namespace_client=ns, table_id=id, mode="append")
    want = pa.concat_tables([sample.people(5), sample.people(5, start=5)])
    assert_same(read(ns.query_table(query(id))), want)


def test_rename(ns, table, opens):
    space, other = table[0], [table[0], "other"]
    ns.create_namespace(n.CreateNamespaceRequest(id=other))
    describe = lambda id: ns.describe_table(n.DescribeTableRequest(id=id))
    rename = lambda id, name, **f: ns.rename_table(n.RenameTableRequest(id=id, new_table_name=name, **f))
    place = describe(table).location
    rename(table, "u")
    assert ns.list_tables(n.ListTablesRequest(id=[space])).tables == ["u"]
    with pytest.raises(n.TableNotFoundError):
        describe(table)
    rename([space, "u"], "v", new_namespace_id=other)
    assert ns.list_tables(n.ListTablesRequest(id=[space])).tables == []
    assert describe([*other, "v"]).location == place
    assert_same(read(ns.query_table(query([*other, "v"]))), sample.people(20))
    # An empty namespace, which clients in Java always send, is the one that the table is in.
    rename([*other, "v"], "w", new_namespace_id=[])
    assert describe([*other, "w"]).location == place
    # Moved to the root and back.
    root_name = f"t_{space}"
    rename([*other, "w"], root_name, new_namespace_id=["$"])
    assert describe([root_name]).location == place
    rename([root_name], "t", new_namespace_id=[space])
    # The name is free for another table, which is no obstacle to its own rename.
    create(ns, [space, "w"], sample.people(3))
    with pytest.raises(n.TableAlreadyExistsError):
        rename([space, "w"], "t")
    with pytest.raises(n.TableAlreadyExistsError):
        rename(table, "t")
    with pytest.raises(n.TableNotFoundError):
        rename([space, "missing"], "x")
    with pytest.raises(n.NamespaceNotFoundError):
        rename(table, "x", new_namespace_id=[space, "missing"])
    with pytest.raises(n.InvalidInputError):
        rename(table, "a$b")
    assert lance.dataset(describe(table).location).count_rows() == 20


def test_stats(ns, table):
    ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(30, start=20)))
    stats = ns.get_table_stats(n.GetTableStatsRequest(id=table))
    assert (stats.num_rows, stats.num_indices) == (50, 0)
    assert stats.total_bytes > 1000
    assert stats.fragment_stats.num_fragments == stats.fragment_stats.num_small_fragments == 2
    lengths = stats.fragment_stats.lengths
    assert (lengths.min, lengths.max, lengths.mean) == (20, 30, 25)


@pytest.mark.parametrize("sizes", [[7], [3, 1], [3, 1, 7, 5], list(range(1, 12))])
def test_stats_are_those_of_the_peer(ns, space, peer, sizes):
    answers = []
    for at in (ns, peer):
        id = [f"stats_{space}_{len(sizes)}"]
        create(at, id, sample.people(sizes[0]))
        for size in sizes[1:]:
            at.insert_into_table(n.InsertIntoTableRequest(id=id), stream(sample.people(size)))
        answers.append(at.get_table_stats(n.GetTableStatsRequest(id=id)).to_dict())
    ours, want = answers
    assert ours["fragment_stats"] == want["fragment_stats"]
    assert (ours["num_rows"], ours["num_indices"]) == (want["num_rows"], want["num_indices"])


# Rows


def test_insert_appends_and_overwrites(ns, table):
    done = ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(5, start=20)))
    assert (done.version, done.num_inserted_rows) == (2, 5)
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 25
    for mode in ("Append", "append"):
        ns.insert_into_table(n.InsertIntoTableRequest(id=table, mode=mode), stream(sample.people(1, start=99)))
    assert ns.count_table_rows(n.CountTableRowsRequest(id=table)).count == 27
    done = ns.insert_into_table(n.InsertIntoTableRequest(id=table, mode="Overwrite"), stream(sample.people(3)))
    assert done.version == 5
    assert_same(read(ns.query_table(query(table))), sample.people(3))


@pytest.mark.parametrize("compression", ["lz4", "zstd", None])
def test_compressed_streams(ns, space, compression):
    id = [space, "compressed"]
    ns.create_table(n.CreateTableRequest(id=id), stream(sample.people(500), compression=compression))
    assert_same(read(ns.query_table(query(id))), sample.people(500))


def test_merge(ns, table):
    request = n.MergeInsertIntoTableRequest(
        id=table, on=["id"], when_matched_update_all=True, when_not_matched_insert_all=True
    )
    done = ns.merge_insert_into_table(request, stream(sample.people(10, start=15, seed=4)))
    assert (done.version, done.num_updated_rows, done.num_inserted_rows, done.num_deleted_rows) == (2, 5, 5, 0)
    got = by(read(ns.query_table(query(table))), "id")
    assert_same(
        got, pa.concat_tables([sample.people(20).slice(0, 15), sample.people(10, start=15, seed=4)]).combine_chunks()
    )


def test_merge_of_nothing_changes_nothing(wire, table):
    """The LanceDB client refuses to send it, others do not."""
    answer = wire.upload(
        f"/v1/table/{table[0]}$t/merge_insert?on=id&when_matched_update_all=true&when_not_matched_insert_all=true",
        sample.people(0),
    )
    assert answer.status == 200, answer.body
    assert [answer.json[f"num_{what}_rows"] for what in ("updated", "inserted", "deleted")] == [0, 0, 0]
    assert_same(wire.post(f"/v1/table/{table[0]}$t/query", {"k": 0, "vector": []}).table, sample.people(20))


def test_merge_flags_default_to_false(ns, wire, table):
    path = f"/v1/table/{table[0]}$t/merge_insert?on=id&when_matched_update_all=true"
    answer = wire.upload(path, sample.people(10, start=15, seed=4))
    assert (answer.json["num_updated_rows"], answer.json["num_inserted_rows"]) == (5, 0)


def test_count(ns, table):
    ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(5, start=20)))
    ask = lambda **f: ns.count_table_rows(n.CountTableRowsRequest(id=table, **f)).count
    assert ask() == 25
    assert ask(version=1) == 20
    assert ask(predicate="id >= 18") == 7
    assert ask(predicate="id >= 18", version=1) == 2
    with pytest.raises(n.TableVersionNotFoundError):
        ask(version=9)


QUERIES = [
    {},
    {"k": 5},
    {"k": 5, "offset": 3},
    {"filter": "id > 10", "columns": ["id", "name"]},
    {"filter": "grp IS NULL OR name LIKE '%a%'", "k": 4, "columns": ["name", "id"]},
    {"with_row_id": True, "columns": ["id"]},
    {"vector": sample.vectors(1, seed=5).to_pylist()[0], "k": 5},
    {"vector": sample.vectors(1, seed=5).to_pylist()[0], "k": 5, "distance_type": "cosine", "columns": ["id"]},
    {
        "vector": sample.vectors(1, seed=5).to_pylist()[0],
        "k": 5,
        "distance_type": "Dot",
        "vector_column": "vector",
        "columns": ["id", "_distance"],
    },
    {"vector": sample.vectors(1, seed=5).to_pylist()[0], "k": 5, "filter": "id < 12", "prefilter": True},
    {"vector": sample.vectors(1, seed=5).to_pylist()[0], "k": 5, "filter": "id < 12"},
    {"vector": sample.vectors(1, seed=5).to_pylist()[0], "k": 5, "lower_bound": 20.0, "upper_bound": 45.5},
    {
        "vector": sample.vectors(1, seed=5).to_pylist()[0],
        "k": 5,
        "bypass_vector_index": True,
        "nprobes": 4,
        "with_row_id": True,
    },
    {"version": 1},
]


@pytest.mark.parametrize(
    "fields", QUERIES, ids=lambda f: ", ".join(k if k == "vector" else f"{k}={v}" for k, v in f.items()) or "all"
)
def test_query_answers_what_the_peer_answers(ns, peer, table, fields):
    name = f"q_{table[0]}"
    create(peer, [name], sample.people(20))
    got, want = read(ns.query_table(query(table, **fields))), read(peer.query_table(query([name], **fields)))
    assert_same(got, want)


def test_query_at_each_version(ns, table):
    ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(5, start=20)))
    assert read(ns.query_table(query(table, version=1))).num_rows == 20
    assert read(ns.query_table(query(table, version=2))).num_rows == 25
    with pytest.raises(n.TableVersionNotFoundError):
        ns.query_table(query(table, version=3))


def test_query_of_several_vectors(ns, table):
    vectors = sample.vectors(3, seed=6).to_pylist()
    request = n.QueryTableRequest(id=table, k=4, vector=m.QueryTableRequestVector(multi_vector=vectors))
    answer = read(ns.query_table(request))
    assert answer["query_index"].to_pylist() == [0] * 4 + [1] * 4 + [2] * 4
    for i, vector in enumerate(vectors):
        one = read(ns.query_table(query(table, vector=vector, k=4)))
        assert_same(answer.slice(4 * i, 4).drop_columns(["query_index"]).combine_chunks(), one)


def test_column_aliases(ns, table):
    columns = m.QueryTableRequestColumns(column_aliases={"double": "id * 2", "n": "name"})
    request = n.QueryTableRequest(id=table, k=0, vector=m.QueryTableRequestVector(), columns=columns, filter="id = 4")
    answer = read(ns.query_table(request))
    assert sorted(answer.column_names) == ["double", "n"]
    assert answer["double"].to_pylist() == [8]


# Versions


def test_versions(ns, table, opens):
    began = time.time() * 1000
    for i in range(4):
        ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(1, start=20 + i)))
    ask = lambda **f: ns.list_table_versions(n.ListTableVersionsRequest(id=table, **f))
    assert [v.version for v in ask(descending=True).versions] == [5, 4, 3, 2, 1]
    assert sorted(v.version for v in ask().versions) == [1, 2, 3, 4, 5]
    for v in ask().versions:
        assert v.manifest_path.endswith(f"_versions/{2**64 - 1 - v.version:020}.manifest")
        assert not v.manifest_path.startswith(("/", "file:"))
        assert v.manifest_size > 0 and v.e_tag and v.metadata == {}
        assert began - 60_000 < v.timestamp_millis < time.time() * 1000 + 1000
    pages, token = [], None
    while True:
        page = ask(descending=True, limit=2, page_token=token)
        pages.append([v.version for v in page.versions])
        token = page.page_token
        if not token:
            break
    assert pages == [[5, 4], [3, 2], [1]]
    assert [v.version for v in ask(descending=True, limit=1).versions] == [5]


def test_pages_of_versions_oldest_first(ns, table):
    for i in range(6):
        ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(1, start=20 + i)))
    pages, token = [], None
    while True:
        page = ns.list_table_versions(n.ListTableVersionsRequest(id=table, limit=3, page_token=token))
        pages.append([v.version for v in page.versions])
        token = page.page_token
        if not token:
            break
    assert pages == [[1, 2, 3], [4, 5, 6], [7]]


def test_a_version_is_described_as_it_is_listed(ns, wire, table):
    ns.insert_into_table(n.InsertIntoTableRequest(id=table), stream(sample.people(1, start=20)))
    listed = {v.version: v for v in ns.list_table_versions(n.ListTableVersionsRequest(id=table)).versions}
    describe = lambda **f: wire.post(f"/v1/table/{'$'.join(table)}/version/describe", f)
    place = ns.describe_table(n.DescribeTableRequest(id=table)).location
    for number, want in ((None, 2), (1, 1), (2, 2)):
        answer = describe(version=number)
        assert answer.status == 200, answer.body
        got = m.DescribeTableVersionResponse.from_dict(answer.json).version
        assert got == listed[want]
        assert got.manifest_path.startswith(Folder(place).key)
    for number in (0, 3, 2**62):
        answer = describe(version=number)
        assert (answer.status, answer.json["code"]) == (404, 11)
    assert describe(version=-1).status == 400


def test_versions_of_missing_table(ns, space):
    with pytest.raises(n.TableNotFoundError):
        ns.list_table_versions(n.ListTableVersionsRequest(id=[space, "missing"]))


# Credentials


def test_credentials_in_each_place(server):
    wire = server.wire(token=None)
    path = "/v1/namespace/$/exists"
    assert wire.post(path, {}, Authorization=f"Bearer {server.token}").status == 200
    assert wire.post(path, {}, authorization=f"bearer {server.token}").status == 200
    assert wire.post(path, {}, **{"x-api-key": server.token}).status == 200
    for identity in ({"auth_token": server.token}, {"api_key": server.token}):
        assert wire.post(path, {"identity": identity}).status == 401, "a body holds no credentials"
        assert wire.post(path, {"identity": identity}, Authorization="Bearer wrong").status == 401


def test_wrong_token_is_unauthenticated(server):
    ns = n.connect("rest", {"uri": server.url, "header.Authorization": "Bearer wrong"})
    with pytest.raises(n.UnauthenticatedError):
        ns.namespace_exists(n.NamespaceExistsRequest(id=[]))


# The generated client


def test_generated_client(api, space):
    namespaces, tables, data = generated.NamespaceApi(api), generated.TableApi(api), generated.DataApi(api)
    id = f"{space}$g"
    namespaces.create_namespace(id, m.CreateNamespaceRequest(properties={"a": "b"}))
    assert namespaces.describe_namespace(id, m.DescribeNamespaceRequest()).properties == {"a": "b"}
    namespaces.namespace_exists(id, m.NamespaceExistsRequest())
    assert namespaces.list_namespaces(space).namespaces == ["g"]
    made = data.create_table(f"{id}$t", stream(sample.people(5)))
    assert made.version == 1
    assert data.insert_into_table(f"{id}$t", stream(sample.people(5, start=5))).num_inserted_rows == 5
    merged = data.merge_insert_into_table(
        f"{id}$t",
        ["id"],
        stream(sample.people(5, start=8)),
        when_matched_update_all=True,
        when_not_matched_insert_all=True,
    )
    assert (merged.num_updated_rows, merged.num_inserted_rows) == (2, 3)
    assert data.count_table_rows(f"{id}$t", m.CountTableRowsRequest()) == 13
    described = tables.describe_table(f"{id}$t", m.DescribeTableRequest(), load_detailed_metadata=True)
    assert described.version == 3 and len(described.var_schema.fields) == 12
    assert [v.version for v in tables.list_table_versions(f"{id}$t", descending=True).versions] == [3, 2, 1]
    raw = data.query_table(f"{id}$t", m.QueryTableRequest(k=3, vector=m.QueryTableRequestVector()))
    with pa.ipc.open_file(io.BytesIO(raw)) as answer:
        assert answer.read_all().num_rows == 3
    assert tables.list_tables(id).tables == ["t"]
    assert tables.get_table_stats(f"{id}$t", m.GetTableStatsRequest()).num_rows == 13
    tables.table_exists(f"{id}$t", m.TableExistsRequest())
    location = tables.deregister_table(f"{id}$t", m.DeregisterTableRequest()).location
    assert tables.register_table(f"{id}$r", m.RegisterTableRequest(location=location)).location == location
    assert tables.drop_table(f"{id}$r").id == [space, "g", "r"]
    assert tables.declare_table(f"{id}$d", m.DeclareTableRequest()).location
    namespaces.drop_namespace(id, m.DropNamespaceRequest(behavior="Cascade"))
    namespaces.drop_namespace(id, m.DropNamespaceRequest(mode="Skip"))


@pytest.mark.parametrize(
    "call,kind,code",
    [
        (
            lambda a, s: generated.NamespaceApi(a).describe_namespace(f"{s}$x", m.DescribeNamespaceRequest()),
            exceptions.NotFoundException,
            1,
        ),
        (
            lambda a, s: generated.NamespaceApi(a).create_namespace(s, m.CreateNamespaceRequest()),
            exceptions.ConflictException,
            2,
        ),
        (
            lambda a, s: generated.NamespaceApi(a).drop_namespace(f"{s}$x", m.DropNamespaceRequest()),
            exceptions.BadRequestException,
            1,
        ),
        (
            lambda a, s: generated.TableApi(a).describe_table(f"{s}$x", m.DescribeTableRequest()),
            exceptions.NotFoundException,
            4,
        ),
        (
            lambda a, s: generated.TableApi(a).register_table(f"{s}$x", m.RegisterTableRequest(location="/etc")),
            exceptions.BadRequestException,
            13,
        ),
        (
            lambda a, s: generated.TableApi(a).rename_table(f"{s}$x", m.RenameTableRequest(new_table_name="y")),
            exceptions.NotFoundException,
            4,
        ),
        (
            lambda a, s: generated.TableApi(a).alter_table_backfill_columns(f"{s}$x", m.AlterTableBackfillColumnsRequest(column="id")),
            exceptions.NotFoundException,
            4,
        ),
    ],
)
def test_generated_client_raises_by_status(api, space, call, kind, code):
    with pytest.raises(kind) as raised:
        call(api, space)
    assert json.loads(raised.value.body)["code"] == code


def test_rows_columns_tags_and_versions_change(ns, table):
    """With the request models of the specification."""
    updated = ns.update_table(n.UpdateTableRequest(id=table, updates=[["name", "'x'"]], predicate="id = 1"))
    assert updated.updated_rows == 1
    assert ns.delete_from_table(n.DeleteFromTableRequest(id=table, predicate="id = 1")).version == updated.version + 1
    added = ns.alter_table_add_columns(
        n.AlterTableAddColumnsRequest(id=table, new_columns=[m.AddColumnsEntry(name="x", expression="id * 2")])
    )
    assert added.version == updated.version + 2
    ns.create_table_tag(n.CreateTableTagRequest(id=table, tag="first", version=1))
    assert ns.get_table_tag_version(m.GetTableTagVersionRequest(id=table, tag="first")).version == 1
    assert ns.list_table_tags(m.ListTableTagsRequest(id=table)).tags["first"].version == 1
    ns.restore_table(m.RestoreTableRequest(id=table, version=1))
    described = ns.describe_table(n.DescribeTableRequest(id=table, load_detailed_metadata=True))
    assert described.version == updated.version + 3
    assert "x" not in [field.name for field in described.var_schema.fields]


@pytest.mark.parametrize("condition", ["nope = 1", "nope IS NULL", "address.nope = 'x'", "nope.x = 1", "id ="])
def test_wrong_conditions_are_refused_as_the_peer_does(ns, space, peer, condition):
    """Where the reference server answers 500 to the same mistake, ours is a wrong input, too."""
    rows = pa.table({"id": [1, 2], "address": [{"city": "x"}] * 2})
    merge = {"when_matched_update_all": True, "when_matched_update_all_filt": f"target.{condition}"}
    drop = {"when_not_matched_by_source_delete": True, "when_not_matched_by_source_delete_filt": condition}

    def codes(client, id) -> dict[str, int]:
        create(client, id, rows)
        asked = {
            "query": lambda: client.query_table(query(id, filter=condition)),
            "count": lambda: client.count_table_rows(n.CountTableRowsRequest(id=id, predicate=condition)),
            "delete": lambda: client.delete_from_table(n.DeleteFromTableRequest(id=id, predicate=condition)),
            "update": lambda: client.update_table(
                n.UpdateTableRequest(id=id, predicate=condition, updates=[["id", "3"]])
            ),
            "merge": lambda: client.merge_insert_into_table(
                n.MergeInsertIntoTableRequest(id=id, on=["id"], **merge), stream(rows)
            ),
            "merge by source": lambda: client.merge_insert_into_table(
                n.MergeInsertIntoTableRequest(id=id, on=["id"], **drop), stream(rows)
            ),
        }
        refused = {}
        for name, ask in asked.items():
            with pytest.raises(n.LanceNamespaceError) as error:
                ask()
            refused[name] = int(error.value.code)
        return refused

    got, want = codes(ns, [space, "t"]), codes(peer, [f"conditions_{space}"])
    assert (want.pop("query"), want.pop("count")) == (18, 18)
    assert got == {"query": 13, "count": 13, **want}


DAY = 24 * 60 * 60
ODD_VALUES = [
    *[(pa.time32("s"), value) for value in (DAY - 1, DAY, -1, -(2**31))],
    *[(pa.time32("ms"), value) for value in (DAY * 1000, -1)],
    *[(pa.time64("us"), value) for value in (DAY * 10**6, -1, 2**63 - 1)],
    *[(pa.time64("ns"), value) for value in (DAY * 10**9, -1, -(2**63))],
    *[(pa.date64(), value) for value in (DAY * 1000, DAY * 1000 + 1, -1, 2**63 - 1)],
    *[(pa.date32(), 2**31 - 1), (pa.timestamp("s"), 2**63 - 1)],
]


def as_integers(column) -> list[int]:
    integers = pa.int32() if column.type.bit_width == 32 else pa.int64()
    return [value for chunk in column.chunks for value in chunk.view(integers).to_pylist()]


@pytest.mark.parametrize("type,value", ODD_VALUES, ids=str)
def test_values_beyond_a_day_are_kept_as_native_lance_does(ns, space, tmp_path, type, value):
    """Arrow gives times and dates narrower meanings than their bits; Lance keeps the bits."""
    integers = pa.int32() if type.bit_width == 32 else pa.int64()
    rows = pa.table({"c": pa.array([value, None], integers).view(type)})
    lance.write_dataset(rows, tmp_path / "t.lance")
    create(ns, [space, "t"], rows)
    want = as_integers(lance.dataset(tmp_path / "t.lance").to_table().column("c"))
    assert as_integers(read(ns.query_table(query([space, "t"]))).column("c")) == want == [value, None]


DECIMALS = """999.99; -999.99; 1000; 1000.00; -1000; 999.999; 0.005; -0.005; '999.99'; '1000.00'; 1e10; i * 1000;
'nonsense'; cast('1000.00' as decimal(5,2)); cast(1000.0 as decimal(20,2)); cast(i * 1000 as decimal(5,2))"""
ODD_UPDATES = {
    "d": DECIMALS,
    "w": DECIMALS,
    "t": "'23:59:59'; '24:00:00'; '25:00:00'; '-01:00:00'; 86400; -1",
    "u": "'24:00:00'; 86400000000; -1; arrow_cast(-1, 'Time64(Microsecond)')",
    "e": "1; -1; '2020-01-01T10:00:00'; timestamp '2020-01-01T10:00:00'",
}


@pytest.mark.parametrize(
    "column,expression", [(column, sql) for column, all in ODD_UPDATES.items() for sql in all.split(";")]
)
def test_values_of_updates_are_kept_or_refused_as_native_lance_does(ns, space, tmp_path, column, expression):
    ones = pa.array([1, 2])
    rows = pa.table(
        {
            "i": ones,
            "d": ones.cast(pa.decimal128(21, 2)).cast(pa.decimal128(5, 2)),
            "w": ones.cast(pa.decimal256(21, 2)).cast(pa.decimal256(5, 2)),
            "t": pa.array([1, 2], pa.time32("s")),
            "u": pa.array([1, 2], pa.time64("us")),
            "e": pa.array([0, DAY * 1000], pa.int64()).view(pa.date64()),
        }
    )
    native = lance.write_dataset(rows, tmp_path / "t.lance")
    create(ns, [space, "t"], rows)
    request = n.UpdateTableRequest(id=[space, "t"], updates=[[column, expression]])
    try:
        native.update({column: expression})
    except (ValueError, OSError):
        with pytest.raises((n.InvalidInputError, n.UnsupportedOperationError)):
            ns.update_table(request)
    else:
        ns.update_table(request)
    got = read(ns.query_table(query([space, "t"]))).column(column)
    want = lance.dataset(tmp_path / "t.lance").to_table().column(column)
    assert got.to_pylist() == want.to_pylist() if column in "dw" else as_integers(got) == as_integers(want)
