"""Branches: the unmodified LanceDB client on our server and on its own files, with native Lance
in between.

A branch that the service creates is a branch of native Lance, and the reverse: each opens,
changes and deletes the branches of the other.
"""

from __future__ import annotations

import datetime

import lance
import lance_namespace
import pytest
from lancedb.remote.errors import HttpError

import sample
from pair import everything
from rows import assert_same
from test_maintenance import maintain


@pytest.fixture
def pair(make):
    """The same table of two versions twice."""
    pair = make(sample.people(40))
    pair.both(lambda t: t.add(sample.people(10, start=40, seed=2)))
    return pair


@pytest.fixture
def path(space) -> str:
    return f"/v1/table/{space}$t"


def on(pair, branch):
    """The pair on a branch."""
    return type(pair)(pair.remote.branches.checkout(branch), pair.local.branches.checkout(branch))


def described(table) -> dict:
    """Returns the description of a table's branches without sizes and times, which differ."""
    keep = ("parent_branch", "parent_version")
    return {name: {k: v for k, v in branch.items() if k in keep} for name, branch in table.branches.list().items()}


# The LanceDB client


def test_branch_lives_on_its_own(pair):
    pair.both(lambda t: t.branches.create("dev"))
    dev = on(pair, "dev")
    assert dev.remote.current_branch() == "dev"
    assert_same(dev.same(everything), pair.same(everything))
    dev.both(lambda t: t.add(sample.people(5, start=100, seed=3)))
    dev.both(lambda t: t.delete("id < 7"))
    dev.both(lambda t: t.update(where="id = 20", values={"name": "changed"}))
    pair.both(lambda t: t.add(sample.people(1, start=200, seed=4)))
    assert dev.same(everything, sort=("id",)).num_rows == 48
    assert pair.same(everything).num_rows == 51
    assert dev.both(lambda t: t.version) == [dev.local.version] * 2
    assert dev.both(lambda t: t.count_rows("id >= 100")) == [5, 5]
    assert_same(
        dev.remote.search([1.0] * 16).limit(5).to_arrow().select(["id", "_distance"]),
        dev.local.search([1.0] * 16).limit(5).to_arrow().select(["id", "_distance"]),
    )


def test_branches_are_listed_as_the_peer_lists_them(pair):
    assert pair.both(described) == [{}, {}]
    pair.both(lambda t: t.branches.create("dev"))
    pair.both(lambda t: t.branches.create("old", from_version=1))
    on(pair, "dev").both(lambda t: t.add(sample.people(1, start=100)))
    pair.both(lambda t: t.branches.create("dev/two", "dev"))
    ours, peers = pair.both(described)
    assert ours == peers
    assert set(ours) == {"dev", "old", "dev/two"}
    assert on(pair, "old").same(everything).num_rows == 40
    assert on(pair, "dev/two").same(everything).num_rows == 51


def test_table_is_opened_on_a_branch(db, space, pair):
    pair.remote.branches.create("dev").add(sample.people(5, start=100))
    table = db.open_table("t", namespace_path=[space], branch="dev")
    assert table.count_rows() == 55
    assert table.current_branch() == "dev"
    assert table.schema == pair.remote.schema
    with pytest.raises(Exception, match="nothing"):
        db.open_table("t", namespace_path=[space], branch="nothing")


def test_every_write_goes_to_the_branch(pair):
    pair.both(lambda t: t.branches.create("dev"))
    dev = on(pair, "dev")
    before = pair.same(everything)
    fresh = sample.people(20, start=35, seed=9)
    dev.both(lambda t: t.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(fresh))
    dev.same(everything, sort=("id",))
    dev.both(lambda t: t.add_columns({"twice": "id * 2"}))
    dev.both(lambda t: t.alter_columns({"path": "twice", "rename": "doubled"}))
    dev.both(lambda t: t.drop_columns(["name"]))
    assert dev.remote.schema == dev.local.schema
    dev.same(everything, sort=("id",))
    assert [v["version"] for v in dev.remote.list_versions()] == [v["version"] for v in dev.local.list_versions()]
    first = min(v["version"] for v in dev.remote.list_versions())
    dev.both(lambda t: t.restore(first))
    assert_same(dev.same(everything, sort=("id",)), before)
    dev.both(lambda t: t.add(sample.people(3), mode="overwrite"))
    assert dev.same(everything).num_rows == 3
    assert_same(pair.same(everything), before)


def test_old_versions_of_a_branch_are_read(pair):
    pair.both(lambda t: t.branches.create("dev"))
    dev = on(pair, "dev")
    first = dev.remote.version
    dev.both(lambda t: t.add(sample.people(5, start=100)))
    pinned = [t.branches.checkout("dev", first) for t in (pair.remote, pair.local)]
    assert [t.count_rows() for t in pinned] == [50, 50]


def test_tags_name_versions_of_branches(pair):
    pair.both(lambda t: t.branches.create("dev"))
    dev = on(pair, "dev")
    dev.both(lambda t: t.add(sample.people(5, start=100)))
    dev.both(lambda t: t.tags.create("mine", t.version))
    assert dev.remote.tags.get_version("mine") == dev.local.tags.get_version("mine")
    with pytest.raises(Exception, match="(?i)refer"):
        pair.local.branches.delete("dev")
    with pytest.raises(HttpError, match="(?i)refer"):
        pair.remote.branches.delete("dev")
    pair.both(lambda t: t.tags.delete("mine"))
    pair.both(lambda t: t.branches.delete("dev"))
    assert pair.both(described) == [{}, {}]


def test_deleted_branch_is_gone_and_can_be_made_again(pair):
    for rows in (5, 7):
        pair.both(lambda t: t.branches.create("dev"))
        on(pair, "dev").both(lambda t, n=rows: t.add(sample.people(n, start=100)))
        assert on(pair, "dev").same(everything).num_rows == 50 + rows
        pair.both(lambda t: t.branches.delete("dev"))
        for table in (pair.remote, pair.local):
            with pytest.raises(Exception, match="(?i)dev"):
                table.branches.checkout("dev")


@pytest.mark.parametrize(
    ("name", "source", "version"),
    [("dev", None, None), ("main", None, None), ("a b", None, None), ("../x", None, None), ("n", "nothing", None), ("n", None, 99)],
)
def test_branches_that_cannot_be_made(pair, name, source, version):
    pair.both(lambda t: t.branches.create("dev"))
    for table in (pair.remote, pair.local):
        with pytest.raises(Exception):  # noqa: B017 - the peer has no one type for all of them
            table.branches.create(name, source, version)
    assert pair.both(described)[0].keys() == {"dev"}


# The wire


def test_errors_on_the_wire(wire, path, pair):
    def answer(operation, body):
        got = wire.post(f"{path}/{operation}", body)
        return got.status, got.json.get("code") if got.body else None

    assert answer("branches/create", {"name": "dev"})[0] == 200
    assert answer("branches/create", {"name": "dev"}) == (409, 23)
    assert answer("branches/create", {"name": "main"}) == (400, 13)
    assert answer("branches/create", {"name": ""}) == (400, 13)
    assert answer("branches/create", {"name": "n", "from_version": 0}) == (400, 13)
    assert answer("branches/create", {"name": "n", "from_branch": "x"}) == (404, 22)
    assert answer("branches/create", {"name": "n", "from_version": 99}) == (404, 11)
    assert answer("branches/create", {"name": "n", "from_branch": "dev"})[0] == 200
    assert answer("branches/delete", {"name": "dev"}) == (400, 13)
    assert answer("branches/delete", {"name": "x"}) == (404, 22)
    for operation, body in {
        "count_rows": {}, "query": {"k": 1, "vector": []}, "describe": {}, "stats": {}, "version/describe": {}, "restore": {"version": 1},
        "delete": {"predicate": "true"}, "update": {"updates": [["name", "'x'"]]}, "drop_columns": {"columns": ["name"]},
        "tags/create": {"tag": "x", "version": 1}, "tags/update": {"tag": "x", "version": 1},
        "add_columns": {"new_columns": [{"name": "x", "expression": "1"}]},
    }.items():
        code = (404, 8) if operation == "tags/update" else (404, 22)
        assert answer(operation, body | {"branch": "gone"}) in (code, (404, 22)), operation
    assert wire.post(f"{path}/version/list?branch=gone", {}).status == 404


def test_stats_and_details_are_those_of_the_branch(wire, path, pair):
    pair.remote.branches.create("dev").add(sample.people(5, start=100))
    assert wire.post(f"{path}/stats", {"branch": "dev"}).json["num_rows"] == 55
    assert wire.post(f"{path}/stats", {}).json["num_rows"] == 50
    version = wire.post(f"{path}/describe", {"branch": "dev", "load_detailed_metadata": True}).json["version"]
    assert version == 3
    wire.post(f"{path}/tags/create", {"tag": "x", "version": 3, "branch": "dev"})
    assert wire.post(f"{path}/describe", {"tag": "x", "load_detailed_metadata": True}).json["stats"]["num_fragments"] == 3
    assert "/tree/dev/_versions/" in wire.post(f"{path}/version/describe", {"branch": "dev"}).json["version"]["manifest_path"]


def test_transactions_of_branches_are_described(wire, path, pair):
    made = wire.post(f"{path}/branches/create", {"name": "dev/one"}).json["transaction_id"]
    told = wire.post(f"/v1/transaction/{made}/describe", {}).json
    assert told["properties"]["operation"] == "Clone"
    assert told["properties"]["branch"] == "dev/one"
    gone = wire.post(f"{path}/delete", {"predicate": "id = 1", "branch": "dev/one"}).json["transaction_id"]
    told = wire.post(f"/v1/transaction/{gone}/describe", {}).json
    assert (told["properties"]["operation"], told["properties"]["version"]) == ("Delete", "3")


def test_branches_of_a_declared_table(wire, space):
    path = f"/v1/table/{space}$declared"
    assert wire.post(f"{path}/declare", {}).status == 200
    assert wire.post(f"{path}/count_rows", {"branch": "dev"}).json["code"] == 22
    assert wire.post(f"{path}/branches/create", {"name": "dev"}).status == 404
    assert wire.post(f"{path}/branches/list", {}).json["branches"] == {}


# Native Lance


@pytest.fixture
def native(wire, path, pair, opens):
    """The directory of our table, as native Lance opens it."""
    return wire.post(f"{path}/describe", {}).json["location"]


def test_native_works_on_our_branch(native, pair):
    ours = pair.remote.branches.create("dev")
    ours.add(sample.people(5, start=100))
    dataset = lance.dataset(native)
    listed = dataset.branches.list()["dev"]
    assert (listed["parent_branch"], listed["parent_version"]) == (None, 2)
    branch = dataset.checkout_version(("dev", None))
    branch.validate()
    assert_same(branch.to_table(), everything(ours))
    branch.delete("id < 10")
    branch.insert(sample.people(2, start=300))
    branch.optimize.compact_files()
    assert_same(branch.to_table(), everything(ours))
    ours.delete("id = 300")
    assert dataset.checkout_version(("dev", None)).count_rows() == 46
    dataset.branches.delete("dev")
    assert pair.remote.branches.list() == {}
    with pytest.raises(Exception, match="dev"):
        pair.remote.branches.checkout("dev")


def test_we_work_on_a_branch_of_natives(native, pair):
    dataset = lance.dataset(native)
    branch = dataset.create_branch("theirs", 1)
    branch.insert(sample.people(3, start=60))
    ours = pair.remote.branches.checkout("theirs")
    assert_same(everything(ours), branch.to_table())
    ours.delete("id < 5")
    ours.add(sample.people(2, start=90))
    ours.branches.create("theirs/ours", "theirs")
    branch = dataset.checkout_version(("theirs", None))
    branch.validate()
    assert_same(branch.to_table(), everything(ours))
    with pytest.raises(Exception, match="(?i)refer"):
        dataset.branches.delete("theirs")
    child = dataset.checkout_version(("theirs/ours", None))
    assert child.count_rows() == ours.count_rows() == 40
    pair.remote.branches.delete("theirs/ours")
    pair.remote.branches.delete("theirs")
    assert dataset.branches.list() == {}
    dataset.create_branch("theirs", 2)
    assert pair.remote.branches.checkout("theirs").count_rows() == 50


def test_cleanup_of_main_keeps_what_our_branch_needs(native, pair):
    ours = pair.remote.branches.create("dev", from_version=1)
    before = everything(ours)
    pair.remote.delete("true")
    lance.dataset(native).cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
    assert_same(everything(pair.remote.branches.checkout("dev")), before)


def test_branches_are_compacted_with_their_table(native, wire, space, pair):
    ours = pair.remote.branches.create("dev")
    for start in range(100, 200, 20):
        ours.add(sample.people(20, start=start))
    ours.delete("id = 5 OR id = 105")
    before, of_main = everything(ours), everything(pair.remote)
    report = maintain(wire, f"{space}$t", compact=True)
    assert (report["fragments_removed"], report["fragments_added"]) == (2 + 5, 2), "what they share is not copied"
    assert_same(everything(ours), before)
    assert_same(everything(pair.remote), of_main)
    dataset = lance.dataset(native)
    branch = dataset.checkout_version(("dev", None))
    branch.validate()
    assert (len(dataset.get_fragments()), len(branch.get_fragments())) == (1, 2 + 1)
    assert_same(branch.to_table(), before)
    branch.insert(sample.people(5, start=300))
    dataset.cleanup_old_versions(older_than=datetime.timedelta(0), delete_unverified=True)
    assert ours.count_rows() == before.num_rows + 5


def test_names_of_branches_are_those_of_folders(native, pair):
    first = pair.remote.branches.create("é/ü.1")
    first.add(sample.people(5, start=100))
    pair.remote.branches.create("é", "é/ü.1").add(sample.people(5, start=200))
    dataset = lance.dataset(native)
    assert set(dataset.branches.list()) == {"é", "é/ü.1"}
    assert_same(dataset.checkout_version(("é", None)).to_table(), everything(pair.remote.branches.checkout("é")))
    dataset.create_branch("é/native", ("é", None)).insert(sample.people(5, start=300))
    assert pair.remote.branches.checkout("é/native").count_rows() == 65
    pair.remote.branches.delete("é/native")
    pair.remote.branches.delete("é")
    assert_same(dataset.checkout_version(("é/ü.1", None)).to_table(), everything(first))


def test_namespace_client_makes_and_deletes_branches(ns, space, pair):
    table = [space, "t"]
    made = ns.create_table_branch(lance_namespace.CreateTableBranchRequest(id=table, name="dev", from_version=1))
    assert made.transaction_id
    listed = ns.list_table_branches(lance_namespace.ListTableBranchesRequest(id=table)).branches
    assert listed["dev"].parent_version == 1
    assert ns.count_table_rows(lance_namespace.CountTableRowsRequest(id=table, branch="dev")).count == 40
    ns.delete_table_branch(lance_namespace.DeleteTableBranchRequest(id=table, name="dev"))
    assert not ns.list_table_branches(lance_namespace.ListTableBranchesRequest(id=table)).branches
