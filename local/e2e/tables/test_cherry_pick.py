"""Cherry-picks of branches: the unmodified LanceDB client, whose local tables have none, on our server,
and native Lance, which makes branches for it and reads what it has made.
"""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

import sample

SUMMARY = {"unchanged", "newOnBase", "newOnBranch", "staleRecompute", "inputsChanged", "deltaAvailable"}


@pytest.fixture
def table(db, space):
    """A table of three fragments, one of which has lost rows, and its branch "exp"."""
    table = db.create_table("t", sample.people(20), namespace_path=[space])
    table.add(sample.people(20, start=20, seed=2))
    table.add(sample.people(5, start=40, seed=3))
    table.delete("id % 9 = 0")
    table.branches.create("exp")
    return table


@pytest.fixture
def path(space) -> str:
    return f"/v1/table/{space}$t"


@pytest.fixture
def native(wire, table, path, opens):
    """The directory of our table, as native Lance opens it."""
    return wire.post(f"{path}/describe", {}).json["location"]


def codes(diff) -> list:
    return [error["code"] for error in diff["errors"]]


def test_diff_has_all_fields(table):
    branch = table.branches.checkout("exp")
    branch.add_columns({"twice": "id * 2"})
    branch.add_columns(pa.schema([pa.field("later", pa.list_(pa.float32(), 4))]))
    diff = table.branches.diff("exp")
    assert diff == {
        "fromBranch": "exp",
        "parentVersion": table.version,
        "mainVersion": table.version,
        "branchVersion": branch.version,
        "baseMoved": False,
        "rowCountMain": 40,
        "rowCountBranch": 40,
        "rowSummary": dict.fromkeys(SUMMARY, 0) | {"unchanged": 40, "deltaAvailable": True},
        "addedColumns": [
            {"name": "twice", "dataType": "int64", "nullable": True},
            {"name": "later", "dataType": "fixed_size_list", "nullable": True},
        ],
        "removedColumns": [],
        "changedColumns": [],
        "addedIndexes": [],
        "removedIndexes": [],
        "errors": [],
    }


def test_columns_come_to_the_table_and_stay(native, table):
    branch = table.branches.checkout("exp")
    branch.add_columns({"twice": "id * 2", "shout": "upper(name)"})
    branch.add_columns(pa.schema([pa.field("later", pa.int32())]))
    before = table.version
    preview = table.branches.cherry_pick("exp", dry_run=True)
    assert (preview["status"], preview["preview"]["promotedColumns"]) == ("ready", ["twice", "shout", "later"])
    assert table.version == before
    want = branch.search().to_arrow()
    done = table.branches.cherry_pick("exp")
    assert (done["status"], done["mainVersionAfter"]) == ("cherryPicked", before + 1)
    table.branches.delete("exp")
    assert table.search().to_arrow().equals(want)
    assert table.version == before + 1
    # Native Lance reads the values, and goes on from there.
    dataset = lance.dataset(native)
    assert dataset.to_table().equals(want.cast(dataset.schema))
    dataset.update({"later": "twice + 1"}, where="id < 10")
    assert table.count_rows("later = id * 2 + 1") == 8
    dataset.optimize.compact_files()
    table.add(pa.table({"id": pa.array([99], pa.int64())}))
    assert table.count_rows() == 41


def test_columns_that_native_lance_added_are_picked(native, table):
    dataset = lance.dataset(native)
    theirs = dataset.create_branch("theirs", dataset.version)
    theirs.add_columns({"half": "id / 2"})
    assert codes(table.branches.diff("theirs")) == []
    assert table.branches.cherry_pick("theirs")["status"] == "cherryPicked"
    dataset = lance.dataset(native)
    dataset.branches.delete("theirs")
    assert dataset.to_table(columns=["id", "half"]).to_pylist() == [{"id": i, "half": i // 2} for i in range(45) if i % 9]


def test_what_cannot_be_picked_is_an_answer(table):
    branch = table.branches.checkout("exp")
    assert codes(table.branches.diff("exp")) == ["nothingToApply"]
    branch.add(sample.people(1, start=200))
    failed = table.branches.cherry_pick("exp")
    assert failed["status"] == "failed"
    assert failed.get("mainVersionAfter") is None
    assert failed["preview"]["promotedColumns"] == []
    assert codes(failed["diff"]) == ["rowCountMismatch", "rowsChanged", "noColumnChanges"]
    branch.restore(table.version)
    branch.drop_columns(["name"])
    branch.alter_columns({"path": "price", "rename": "cost"})
    assert codes(table.branches.diff("exp")) == ["columnRemoved", "columnChanged", "noColumnChanges"]
    assert [c["name"] for c in table.branches.diff("exp")["removedColumns"]] == ["name"]
    assert [c["name"] for c in table.branches.diff("exp")["changedColumns"]] == ["price"]


def test_table_that_goes_on_is_not_changed(table):
    table.branches.checkout("exp").add_columns({"twice": "id * 2"})
    table.update(where="id = 1", values={"name": "new"})
    table.add(sample.people(2, start=300))
    before = table.search().to_arrow()
    failed = table.branches.cherry_pick("exp")
    assert codes(failed["diff"]) == ["baseMoved", "rowCountMismatch"]
    assert failed["diff"]["baseMoved"]
    assert table.search().to_arrow().equals(before)
    table.branches.create("more", "exp")
    assert "parentNotMain" in codes(table.branches.diff("more"))


def test_answers_on_the_wire(wire, table, path):
    table.branches.checkout("exp").add_columns({"twice": "id * 2"})

    def answer(operation, body):
        got = wire.post(f"{path}/branches/{operation}", body)
        return got.status, got.json

    status, diff = answer("diff/", {"from_branch": "exp"})
    assert (status, diff["fromBranch"], diff["errors"]) == (200, "exp", [])
    assert diff["rowSummary"].keys() == SUMMARY
    for operation in ("diff", "cherry_pick"):
        for name, want in (("none", (404, 22)), ("", (400, 13)), ("main", (400, 13)), (None, (400, 13))):
            status, problem = answer(operation, {"from_branch": name})
            assert (status, problem["code"]) == want
    assert answer("cherry_pick/", {"from_branch": "exp", "dry_run": False})[1]["status"] == "cherryPicked"
    status, again = answer("cherry_pick/", {"from_branch": "exp", "dry_run": False})
    assert (status, again["status"], codes(again["diff"])) == (409, "failed", ["baseMoved"])
