"""Multipart writes by the unmodified LanceDB client: it divides the rows of an add into parts, which
become one version, and begins again when the answers to its completion are lost."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.parse
import uuid

import lance
import lancedb
import pyarrow as pa
import pytest

import proxy
from wire import stream

PARTS = 4
ROWS, BATCH = 20_000, 500
# The client reads this variable once, when it is loaded, so the tests have it all or none.
LIMIT = "LANCE_CLIENT_MAX_BYTES_PER_REQUEST"


def rows(first: int, n: int = ROWS) -> pa.Table:
    ids = range(first, first + n)
    return pa.table({"id": list(ids), "word": [f"word {i * 7919}" for i in ids]})


def batches(first: int) -> pa.Table:
    """Can be read again, so the client can send all of it again."""
    return pa.Table.from_batches(rows(first).to_batches(max_chunksize=BATCH))


def ids(table) -> list[int]:
    return sorted(table.search().select(["id"]).limit(10 * ROWS).to_arrow()["id"].to_pylist())


@pytest.fixture
def way(server):
    if not server.url.startswith("http:"):
        pytest.skip("the proxy speaks plain HTTP")
    with proxy.Proxy(server.url) as way:
        yield way


@pytest.fixture
def remote(server, way):
    retries = {"retry_config": {"backoff_factor": 0.01, "backoff_jitter": 0.01}}
    return lancedb.connect("db://e2e", api_key=server.token, host_override=way.url, client_config=retries)


@pytest.fixture
def table(remote, space):
    return remote.create_table("t", rows(0, 5), namespace_path=[space])


def operations(way) -> list[str]:
    """The requests of uploads that came, in order."""
    names = [urllib.parse.urlsplit(seen.path).path.rstrip("/").rpartition("/")[2] for seen in way.seen]
    return [name for name in names if name in ("insert", "create", "complete", "abort")]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_parts_become_one_version(way, table, mode):
    before = table.version
    done = table.add(batches(10), mode=mode, write_parallelism=PARTS)
    assert done.version == table.version == before + 1
    assert ids(table) == [*(range(5) if mode == "append" else []), *range(10, 10 + ROWS)]
    inserts = way.sent("insert")
    assert len(inserts) == PARTS and all("upload_part_id=" in seen.path for seen in inserts)


def test_native_lance_reads_what_came_in_parts(opens, table):
    table.add(batches(10), write_parallelism=PARTS)
    dataset = lance.dataset(table.uri)
    dataset.validate()
    assert sorted(dataset.to_table(columns=["id"])["id"].to_pylist()) == ids(table)


def test_parts_go_to_the_branch(table):
    table.branches.create("b")
    branch = table.branches.checkout("b")
    branch.add(batches(10), write_parallelism=PARTS)
    assert len(ids(branch)) == 5 + ROWS
    assert ids(table) == list(range(5))


# Faults for the completion of an upload, and for the abort and a part.
LOST = {
    "completion answered 503 by the proxy": [("complete", proxy.instead(503))],
    "completion lost once": [("complete", proxy.afterwards(503))],
    "all completions lost": [("complete", proxy.afterwards(503))] * 4,
    "all completions lost twice": [("complete", proxy.afterwards(503))] * 8,
    "completions given up": [("complete", proxy.give_up(504))] * 4,
    "completion sent twice at once": [("complete", proxy.twice_at_once)],
    "completions never arrive": [("complete", proxy.instead(503))] * 4,
    "begin and abort lost": [("multipart_write/create", proxy.afterwards(503)), ("abort", proxy.afterwards(503)), *[("complete", proxy.afterwards(503))] * 4],
    "a part sent twice at once": [("insert", proxy.twice_at_once)],
    "all parts sent twice": [("insert", proxy.twice)] * PARTS,
    "a part answered 503": [("insert", proxy.instead(503))],
    "a part lost": [("insert", proxy.afterwards(503))],
}


@pytest.mark.parametrize("what", LOST)
def test_an_upload_counts_once_whatever_is_lost(way, table, what):
    for operation, fault in LOST[what]:
        way.plan(operation, fault)
    version = table.version
    done = table.add(batches(10), write_parallelism=PARTS)
    assert ids(table) == [*range(5), *range(10, 10 + ROWS)], operations(way)
    assert done.version == version + 1
    # The same rows on purpose, afterwards.
    table.add(batches(10), write_parallelism=PARTS)
    assert len(ids(table)) == 5 + 2 * ROWS, operations(way)


def test_the_wire_of_a_multipart_write(wire, table, space):
    """What is not an upload, or not the upload of this table, is refused with 400: clients would take
    404 for a missing table and repeat the request after 409."""
    base = f"/v1/table/{space}$t"

    def part(query: str, first: int = 7):
        return wire.upload(f"{base}/insert/?{query}", rows(first, 3))

    def end(how: str, query: str):
        return wire.post(f"{base}/multipart_write/{how}{query}")

    begun = end("create", "")
    upload, one = begun.json["upload_id"], uuid.uuid4()
    assert begun.headers["phalanx-version"] == "0.6.0"
    for _ in range(2):
        assert part(f"upload_id={upload}&upload_part_id={one}").json["num_inserted_rows"] == 3
    for query in (
        f"upload_id={upload}",
        f"upload_part_id={one}",
        f"upload_id={upload}&upload_part_id=..",
        f"upload_id={'0' * 32}&upload_part_id={one}",
        f"upload_id={upload}&upload_part_id={uuid.uuid4()}&branch=none",
    ):
        answer = part(query)
        assert (answer.status, answer.json["code"]) == (400, 13), query
    assert part(f"upload_id={upload}&upload_part_id={one}", first=8).status == 400, "other rows under the same id"
    cut = stream(rows(7, 3))[:-8]
    assert wire.upload(f"{base}/insert/?upload_id={upload}&upload_part_id={uuid.uuid4()}", cut).status == 400
    assert len(ids(table)) == 5
    for _ in range(2):
        assert end("complete", f"?upload_id={upload}").json["version"] == 2
    assert len(ids(table)) == 8
    assert end("abort", f"?upload_id={upload}").status == 409
    assert end("complete", "").status == 400
    assert end("complete", "?upload_id=x").status == 400
    assert wire.post(f"/v1/table/{space}$none/multipart_write/create").status == 404


MANY_PARTS = """
import sys, lancedb, pyarrow as pa
url, token, space = sys.argv[1:]
table = lancedb.connect("db://e2e", api_key=token, host_override=url).open_table("t", namespace_path=[space])
data = pa.table({"id": list(range(10, 100010)), "word": [f"word {i * 7919}" for i in range(10, 100010)]})
print(table.add(data.to_reader(max_chunksize=500), write_parallelism=2).version)
"""


def test_the_client_cuts_parts_by_their_size(server, way, table, space):
    """As users set it for servers whose requests must be small."""
    run = [sys.executable, "-c", MANY_PARTS, way.url, server.token, space]
    done = subprocess.run(run, env={**os.environ, LIMIT: "20000"}, capture_output=True, text=True, check=True)
    assert int(done.stdout) == 2
    assert len(way.sent("insert")) > PARTS
    assert table.count_rows() == 5 + 100_000
