"""tiltyard import: the program imports tables that LanceDB and the directory namespace keep in
a directory, a server serves them, and their writers continue to use them."""

from __future__ import annotations

import subprocess

import lance
import lance_namespace as n
import lancedb
import pyarrow as pa
import pytest

from namespaces import query, read
from process import Server, binary
from wire import stream

pytestmark = pytest.mark.embedded("imports directories, and starts servers of its own")


def rows(*ids) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


def run(*args) -> list[str]:
    """The lines that tiltyard import writes, but for the last ones, which sum up."""
    command = [str(binary()), "import", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.split(":")[0] in ("imported", "to be imported", "there", "skipped")]


def names(lines) -> list[str]:
    return [line.split(" at ")[0] for line in lines]


@pytest.fixture
def clients():
    """Starts a server over a root and gives the two clients of it."""
    running = []

    def start(root, allow=()):
        server = Server(root, allow=allow).start()
        running.append(server)
        header = {"header.Authorization": f"Bearer {server.token}"}
        return (
            n.connect("rest", {"uri": server.url, **header}),
            lancedb.connect("db://e2e", api_key=server.token, host_override=server.url),
        )

    yield start
    for server in running:
        server.stop()


def test_a_directory_of_lancedb_is_served_as_it_is(tmp_path, clients):
    root = tmp_path / "root"
    local = lancedb.connect(root)
    local.create_table("people", rows(1, 2))
    local.create_table("odd-name.x", rows(3))
    want = ["table odd-name.x", "table people"]
    assert names(run("--root", root, "--dry-run")) == [f"to be imported: {w}" for w in want]
    assert names(run("--root", root)) == [f"imported: {w}" for w in want]
    assert names(run("--root", root)) == [f"there: {w}" for w in want]
    _, remote = clients(root)
    assert remote.table_names() == ["odd-name.x", "people"]
    # Both go on with one table.
    remote.open_table("people").add(rows(4))
    local.open_table("people").add(rows(5))
    assert sorted(remote.open_table("people").search().to_arrow()["id"].to_pylist()) == [1, 2, 4, 5]
    assert local.open_table("people").count_rows() == 4


def test_a_directory_namespace_is_served_from_where_it_is(tmp_path, clients):
    root, lake = tmp_path / "root", tmp_path / "lake"
    theirs = n.connect("dir", {"root": str(lake)})
    theirs.create_namespace(n.CreateNamespaceRequest(id=["a"], properties={"k": "v"}))
    theirs.create_namespace(n.CreateNamespaceRequest(id=["a", "b"]))
    for i, id in enumerate((["top"], ["a", "t"], ["a", "b", "u"])):
        theirs.create_table(n.CreateTableRequest(id=id), stream(rows(i)))
    theirs.declare_table(n.DeclareTableRequest(id=["a", "later"]))
    first = run("--root", root, lake)
    assert [line.split(":")[0] for line in first] == ["imported"] * 6, first
    theirs.create_table(n.CreateTableRequest(id=["a", "b", "new"]), stream(rows(9)))
    again = run("--root", root, lake)
    assert [line for line in names(again) if not line.startswith("there")] == ["imported: table a$b$new"], again

    ns, _ = clients(root, allow=[lake])
    assert ns.describe_namespace(n.DescribeNamespaceRequest(id=["a"])).properties == {"k": "v"}
    assert ns.list_tables(n.ListTablesRequest(id=["a"])).tables == ["later", "t"]
    for i, id in enumerate((["top"], ["a", "t"], ["a", "b", "u"])):
        assert read(ns.query_table(query(id)))["id"].to_pylist() == [i]
    ns.insert_into_table(n.InsertIntoTableRequest(id=["a", "t"]), stream(rows(7)))
    place = theirs.describe_table(n.DescribeTableRequest(id=["a", "t"])).location
    assert lance.dataset(place).count_rows() == 2
    # A rename here is none there, and importing again does not undo it.
    ns.rename_table(n.RenameTableRequest(id=["a", "t"], new_table_name="t2", new_namespace_id=["a", "b"]))
    assert "there: table a$b$t2" in names(run("--root", root, lake))
    assert ns.list_tables(n.ListTablesRequest(id=["a"])).tables == ["later"]


def test_a_table_outside_of_the_root_is_refused_with_the_flag(tmp_path, clients):
    root, lake = tmp_path / "root", tmp_path / "lake"
    lancedb.connect(lake).create_table("t", rows(1))
    run("--root", root, lake)
    ns, remote = clients(root)
    for ask in (lambda: ns.count_table_rows(n.CountTableRowsRequest(id=["t"])), lambda: remote.open_table("t")):
        with pytest.raises(Exception, match="allow-location"):
            ask()


def test_what_cannot_be_read_is_skipped_with_a_reason(tmp_path):
    root = tmp_path / "root"
    lancedb.connect(root).create_table("good", rows(1))
    (root / "broken.lance" / "_versions").mkdir(parents=True)
    (root / "broken.lance" / "_versions" / "1.manifest").write_bytes(b"x")
    (root / "empty.lance").mkdir()
    (root / "empty.lance" / "x").write_bytes(b"x")
    lines = run("--root", root)
    assert [line.split(" at ")[0] for line in lines] == ["skipped: table broken", "skipped: table empty", "imported: table good"]
    assert "cannot be opened" in lines[0] and "holds no version" in lines[1]


@pytest.mark.parametrize("args", [["/no/such/place"], ["a", "b"], ["--root", "", "."]])
def test_mistakes_are_told(tmp_path, args):
    done = subprocess.run([str(binary()), "import", *args], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.returncode != 0 and done.stderr.startswith("tiltyard: "), done
