"""What docs/operations.md tells operators to do, done."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import pathlib
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import lance
import lancedb
import pytest
from lancedb.remote.errors import HttpError

import awscli
from process import REPOSITORY, Functions, Server, binary
from target import TARGET
from wire import Wire

embedded = pytest.mark.skipif(TARGET != "embedded", reason="starts servers of its own, over a directory")
cloud = pytest.mark.skipif(TARGET != "lambda", reason="needs the stand-in of S3")


def connect(server):
    return lancedb.connect("db://e2e", api_key=server.token, host_override=server.url)


def run(*arguments, code: int = 0, stdin: str | None = None, **environment: str) -> str:
    done = subprocess.run(
        [str(binary()), *map(str, arguments)], capture_output=True, text=True, timeout=60, input=stdin, env={**os.environ, **environment}
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def client(server, *arguments, code: int = 0, stdin: str | None = None) -> str:
    """The command line as the client of a server."""
    return run(*arguments, code=code, stdin=stdin, TILTYARD_URL=server.url, TILTYARD_TOKEN=server.token)


def ids(table) -> list[int]:
    return sorted(row["id"] for row in table.search().limit(1_000_000).to_list())


def fill(server) -> None:
    """Tables of several versions with a tag and an index, one of them in a namespace."""
    db = connect(server)
    client(server, "ns", "create", "sales")
    for path in ([], ["sales"]):
        table = db.create_table("orders", [{"id": i} for i in range(100)], namespace_path=path)
        table.add([{"id": 100}])
        table.tags.create("first", 1)
    client(server, "index", "create", "sales/orders", "id", "--type", "BTREE", "--wait")


def check(server) -> None:
    db = connect(server)
    for path in ([], ["sales"]):
        table = db.open_table("orders", namespace_path=path)
        assert ids(table) == list(range(101))
        table.checkout("first")
        assert ids(table) == list(range(100))
    stats = db.open_table("orders", namespace_path=["sales"]).index_stats("id_idx")
    assert stats.num_indexed_rows == 101 and not stats.num_unindexed_rows


def damage(server) -> None:
    """What somebody regrets."""
    db = connect(server)
    db.drop_table("orders")
    db.create_table("orders", [{"id": -1}])
    db.create_table("later", [{"id": 1}])
    db.open_table("orders", namespace_path=["sales"]).delete("id > 5")


def doctor(*arguments, **environment: str) -> None:
    run("doctor", *arguments, **environment)  # ends with 9 when it finds faults


@embedded
@pytest.mark.parametrize("way", ["at rest", "by a snapshot"])
def test_a_directory_is_restored_from_a_copy(tmp_path, way):
    root, copy = tmp_path / "root", tmp_path / "copy"
    server = Server(root).start()
    fill(server)
    if way == "at rest":
        server.stop()
    else:  # what is on the disk in one moment, while the server runs
        server.kill()
    shutil.copytree(root, copy)
    with server:
        damage(server)
    root.rename(tmp_path / "damaged")
    copy.rename(root)
    doctor("--root", root)
    with server:
        check(server)
        connect(server).open_table("orders").add([{"id": 101}])
    assert not server.faults()


@embedded
def test_dropped_tables_are_restored(tmp_path):
    with Server(tmp_path / "root", settings={"TILTYARD_DROP_RETENTION": "7d"}) as server:
        fill(server)
        client(server, "table", "drop", "orders")
        connect(server).create_table("orders", [{"id": -1}])
        assert "orders" in client(server, "dropped", "list")
        client(server, "undrop", "orders", code=4)  # the name is taken
        client(server, "undrop", "orders", "--as", "orders_again")
        assert ids(connect(server).open_table("orders_again")) == list(range(101))


@embedded
def test_api_keys_are_replaced_while_the_server_runs(tmp_path):
    keys = tmp_path / "keys.txt"

    def write(*values: str) -> None:
        keys.write_text("".join(f"{value} {hashlib.sha256(value.encode()).hexdigest()}\n" for value in values))

    def statuses(server) -> list[int]:
        return [Wire(server.url, value).call("GET", "/v1/table/").status for value in ("old", "new")]

    write("old")
    with Server(tmp_path / "root", token="", settings={"TILTYARD_API_KEYS": str(keys)}) as server:
        assert statuses(server) == [200, 401]
        write("old", "new")
        server.hand_over()
        assert statuses(server) == [200, 200]
        write("new")
        server.hand_over()
        assert statuses(server) == [401, 200]


@embedded
def test_keys_of_secrets_are_replaced_while_the_server_runs(tmp_path):
    root, keys = tmp_path / "root", tmp_path / "root.keys"
    with Server(root) as server:
        client(server, "ns", "create", "sales")
        client(server, "secret", "create", "sales/one", stdin="value")
        run("secrets", "add-key", "--root", root)
        client(server, "secret", "create", "sales/two", stdin="value")
        told = run("secrets", "reseal", "--root", root)
        content = json.loads(keys.read_text())
        former = content["keys"].pop()
        assert former["id"] in told and len(content["keys"]) == 1
        keys.write_text(json.dumps(content))
        run("secrets", "reseal", "--root", root)  # opens each of them
        client(server, "secret", "create", "sales/three", stdin="value")
        content["keys"] = [former]
        keys.write_text(json.dumps(content))
        run("secrets", "reseal", "--root", root, code=1)  # what the removed key did not seal


@embedded
def test_the_key_of_page_tokens_is_replaced(tmp_path):
    root, policies = tmp_path / "root", tmp_path / "all.cedar"
    policies.write_text("permit (principal, action, resource);")

    def page(server, token: str = ""):
        sent = {"limit": 1} | ({"page_token": token} if token else {})
        return Wire(server.url, server.token).post("/v1/table/find", sent)

    server = Server(root, settings={"TILTYARD_POLICIES": str(policies)})
    with server:
        for i in range(3):
            connect(server).create_table(f"t{i}", [{"id": i}])
        token = page(server).json["page_token"]
        assert page(server, token).status == 200
    (root / "_records" / "tokens" / "find").unlink()
    with server:
        assert page(server, token).status == 400
        assert page(server, page(server).json["page_token"]).status == 200


@embedded
def test_a_directory_is_moved(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    with Server(old) as server:
        fill(server)
    old.rename(new)
    with Server(new) as server:
        check(server)
    doctor("--root", new)


def branch_and_clone(server) -> None:
    db = connect(server)
    table = db.open_table("orders")
    table.branches.create("dev")
    table.branches.checkout("dev").add([{"id": 500}])
    location = Wire(server.url, server.token).post("/v1/table/orders/describe").json["location"]
    made = Wire(server.url, server.token).post("/v1/table/shallow/clone", {"source_location": location, "is_shallow": True})
    assert made.status == 200, made.body


def branch_and_clone_read(server) -> list[list[int]]:
    db = connect(server)
    return [ids(db.open_table("orders").branches.checkout("dev")), ids(db.open_table("shallow"))]


@embedded
def test_branches_and_shallow_clones_read_the_place_that_was_left(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    with Server(old) as server:
        fill(server)
        branch_and_clone(server)
        both = branch_and_clone_read(server)
    shutil.copytree(old, new)
    with Server(new) as server:
        with pytest.raises(HttpError, match="refers to files that the server may not read"):
            branch_and_clone_read(server)
        check(server)
    told = run("doctor", "--root", new, code=9)
    assert re.findall(r"out-of-reach: (.*?): it has files below", told) == ["orders, branch dev", "shallow"], told
    with Server(new, allow=[old]) as server:
        assert branch_and_clone_read(server) == both


@embedded
def test_everything_can_be_taken_away(tmp_path):
    """The snippet of the page gives LanceDB a folder with the tables under their names."""
    root, folder = tmp_path / "root", tmp_path / "tables"
    with Server(root, settings={"TILTYARD_DROP_RETENTION": "7d"}) as server:
        fill(server)
        connect(server).create_table("dropped", [{"id": 1}])
        client(server, "table", "drop", "dropped")
        client(server, "export", "sales/orders", tmp_path / "orders.parquet")
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert '"data"' in snippet and '"tables"' in snippet
    snippet = snippet.replace('"data"', repr(str(root))).replace('"tables"', repr(str(folder)))
    subprocess.run([sys.executable, "-c", snippet], check=True)
    db = lancedb.connect(folder)
    assert sorted(db.table_names()) == ["orders", "sales.orders"]
    for name in db.table_names():
        assert ids(db.open_table(name)) == list(range(101))
        assert lance.dataset(folder / f"{name}.lance", version="first").count_rows() == 100
    assert "ScalarIndexQuery" in lance.dataset(folder / "sales.orders.lance").scanner(filter="id = 7").explain_plan()
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "orders.parquet").num_rows == 101


class Bucket:
    """A bucket at the stand-in of S3, which does not check signatures."""

    def __init__(self, functions: Functions):
        self.endpoint, self.name = functions.storage["aws_endpoint_url"], functions.bucket.removeprefix("s3://")
        self.environment = {
            "AWS_ENDPOINT_URL": self.endpoint, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        }

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None, bucket: str = "") -> bytes:
        request = urllib.request.Request(f"{self.endpoint}/{bucket or self.name}/{path}", body, headers or {}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read()

    def entries(self) -> list[dict]:
        import xml.etree.ElementTree as tree

        found = []
        for element in tree.fromstring(self.call("GET", "?versions&max-keys=100000")):
            kind = element.tag.rpartition("}")[2]
            if kind in ("Version", "DeleteMarker"):
                entry = {part.tag.rpartition("}")[2]: part.text for part in element}
                found.append(entry | {"kind": kind, "IsLatest": entry["IsLatest"] == "true"})
        return found

    def listing(self) -> dict:
        """What aws s3api list-object-versions writes."""
        found = self.entries()
        return {kind + "s": [entry for entry in found if entry["kind"] == kind] for kind in ("Version", "DeleteMarker")}

    def run(self, script: str, folder: pathlib.Path) -> None:
        """Runs a script with the commands of the AWS command line."""
        command = folder / "aws"
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(awscli.__file__)} "$@"\n')
        command.chmod(0o755)
        environment = {**os.environ, **self.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
        done = subprocess.run(["sh"], input=script, capture_output=True, text=True, timeout=300, env=environment)
        assert done.returncode == 0, done.stderr

    def copy_to(self, other: str) -> None:
        self.call("PUT", "", bucket=other)
        for entry in self.entries():
            if entry["kind"] == "Version" and entry["IsLatest"]:
                key = urllib.parse.quote(entry["Key"])
                self.call("PUT", key, b"", {"x-amz-copy-source": f"{self.name}/{key}"}, bucket=other)


@pytest.fixture
def functions(tmp_path):
    started = Functions(tmp_path / "functions.log").start()
    yield started
    started.stop()


@cloud
def test_a_bucket_is_restored_to_a_time(functions, tmp_path):
    bucket = Bucket(functions)
    enabled = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    bucket.call("PUT", "?versioning", enabled)
    fill(functions)
    large = os.urandom(12 << 20)
    for name in ("large", "deleted"):
        bucket.call("PUT", name, large)
    time.sleep(1.1)  # versions have the second in which they were made
    at = datetime.datetime.now(datetime.UTC).isoformat()
    time.sleep(1.1)
    damage(functions)
    bucket.call("PUT", "large", b"small")
    bucket.call("DELETE", "deleted")
    with pytest.raises(AssertionError):
        check(functions)
    script = [sys.executable, str(REPOSITORY / "scripts" / "restore-bucket.py"), bucket.name, at]
    planned = subprocess.run(script, input=json.dumps(bucket.listing()), capture_output=True, text=True, check=True).stdout
    assert '"$each" sh' in planned and "VersionId" in planned  # both ways to bring objects back
    bucket.run(planned, tmp_path)
    assert bucket.call("GET", "large") == bucket.call("GET", "deleted") == large
    doctor("--root", f"s3://{bucket.name}", "--records", f"dynamodb://{bucket.name}", **bucket.environment)
    check(functions)
    assert connect(functions).table_names() == ["orders"]
    connect(functions).open_table("orders").add([{"id": 101}])
    assert ids(connect(functions).open_table("orders")) == list(range(102))

    # An object beyond the limit for one copy.
    planner = runpy.run_path(script[1])
    planner["commands"].__globals__.update(COPY_BYTES=6 << 20, PART_BYTES=5 << 20)
    bucket.call("PUT", "large", b"small")
    only = {kind: [entry for entry in entries if entry["Key"] == "large"] for kind, entries in bucket.listing().items()}
    planned = "\n".join(planner["commands"](bucket.name, planner["moment"](at), only))
    assert '"$large" sh' in planned
    bucket.run(planned + "\n", tmp_path)
    assert bucket.call("GET", "large") == large


@cloud
def test_a_region_is_lost(functions, tmp_path):
    """The copy of the bucket lacks a file that was not yet replicated, and the records are gone."""
    bucket = Bucket(functions)
    fill(functions)
    connect(functions).create_table("torn", [{"id": i} for i in range(10)])
    before = {entry["Key"] for entry in bucket.entries()}
    connect(functions).open_table("torn").add([{"id": 10}])
    bucket.copy_to("elsewhere")
    (late,) = [key for key in {entry["Key"] for entry in bucket.entries()} - before if "/data/" in key]
    bucket.call("DELETE", urllib.parse.quote(late), bucket="elsewhere")
    told = run("doctor", "--root", "s3://elsewhere", code=9, **bucket.environment)
    assert "missing-file: torn" in told, told
    with Server(tmp_path / "second", uri="s3://elsewhere", settings=bucket.environment) as server:
        check(server)
        client(server, "version", "restore", "torn", "1")
        assert ids(connect(server).open_table("torn")) == list(range(10))
        connect(server).open_table("torn").add([{"id": 10}])
        client(server, "index", "create", "torn", "id", "--type", "BTREE", "--wait")
        assert ids(connect(server).open_table("torn")) == list(range(11))
        assert not server.faults()


@cloud
def test_a_bucket_is_moved(functions, tmp_path):
    bucket = Bucket(functions)
    fill(functions)
    branch_and_clone(functions)
    both = branch_and_clone_read(functions)
    bucket.copy_to("moved")
    place = {"uri": "s3://moved", "settings": bucket.environment | {"TILTYARD_RECORDS": f"dynamodb://{bucket.name}"}}
    assert "out-of-reach" in run("doctor", "--root", "s3://moved", "--records", f"dynamodb://{bucket.name}", code=9, **bucket.environment)
    with Server(tmp_path / "without", **place) as server:
        check(server)
        with pytest.raises(HttpError, match="refers to files that the server may not read"):
            branch_and_clone_read(server)
    with Server(tmp_path / "with", allow=[f"s3://{bucket.name}"], **place) as server:
        assert branch_and_clone_read(server) == both
