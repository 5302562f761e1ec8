"""Bad requests of every kind, as bytes on the wire.

The response to each has the status and the code of its kind and an error body that every client
can parse, and the request changes nothing: not one file under the root.
"""

from __future__ import annotations

import json
import pathlib
import socket
import urllib.parse

import pyarrow as pa
import pytest

import sample
from bad_requests import CASES, ERROR_FIELDS, Case
from wire import ARROW_STREAM, stream


@pytest.fixture(scope="module")
def places(server, module_space):
    """The tables that the requests are about."""
    wire = server.wire()
    strict = pa.schema([pa.field("must", pa.int64(), nullable=False), pa.field("x", pa.int64())])
    tables = {
        "t": sample.people(100),
        "plain": pa.table({"x": [1]}),
        "strict": pa.table({"must": [1], "x": [1]}, schema=strict),
        "large": pa.table({"id": range(100_001), "vector": sample.vectors(100_001, 2)}),
    }
    for name, rows in tables.items():
        assert wire.upload(f"/v1/table/{module_space}${name}/create", rows).status == 200
    assert wire.post(f"/v1/table/{module_space}$declared/declare", {}).status == 200
    assert wire.post(f"/v1/namespace/{module_space}$empty/create", {}).status == 200
    return {"s": module_space, "t": f"{module_space}$t", "e": f"{module_space}$empty"}


def send(server, places: dict, case: Case):
    body, headers = case.body, dict(case.headers)
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    elif isinstance(body, pa.Table):
        body = stream(body)
    if "insert" in case.path or "create" in case.path and "/table/" in case.path:
        headers.setdefault("Content-Type", ARROW_STREAM)
    path = case.path
    for name, place in places.items():
        path = path.replace("{" + name + "}", place)
    token = server.token if case.token == "valid" else case.token
    client = server.wire(token=token)
    answer = client.call(case.method, path, body, headers)
    client.close()
    return answer, path


def snapshot(directory: pathlib.Path | None) -> dict:
    """Every file under the root but locks, which are taken also to find out that nothing
    is to be done. Small ones, as records of the catalog are, count by their content."""

    def look(path: pathlib.Path):
        try:
            status = path.stat()
            return path.read_bytes() if status.st_size < 10_000 else (status.st_size, status.st_mtime_ns)
        except FileNotFoundError:  # a draft of a background look at the tables of earlier tests
            return None

    files = directory.rglob("*") if directory else []
    background = {"locks", "tmp", "look"}
    return {str(p): look(p) for p in files if not background & set(p.relative_to(directory).parts) and p.is_file()}


def check_problem(case: Case, answer, path: str, broken_on_the_way: bool = False) -> None:
    """An error body holds the fields of both specifications with their exact types."""
    assert answer.headers["Content-Type"] == "application/json"
    problem = answer.json
    for field, kind in ERROR_FIELDS.items():
        assert type(problem.get(field)) is kind, f"{field} is {problem.get(field)!r}"
    assert problem["status"] == answer.status
    assert problem["type"].startswith("/errors/") and problem["title"]
    if not broken_on_the_way:
        assert problem["instance"] == path.split("?")[0]
    assert problem["error"] and "\n" not in problem["error"] and len(problem["error"]) < 2000
    assert case.says.lower() in (problem["error"] + problem["detail"]).lower(), problem


@pytest.mark.parametrize("case", CASES, ids=lambda c: ascii(c.name))
def test_bad_request(server, places, case):
    if case.name == "query too large":
        server.not_behind_gateway("an HTTP API refuses large requests in its own words")
    before = snapshot(server.directory)
    answer, path = send(server, places, case)
    got, want = (answer.status, answer.json["code"]), case.want if isinstance(case.want, set) else {case.want}
    assert got in want, f"{got}, want {want}: {answer.body[:500]!r}"
    # What is not UTF-8 a gateway that decodes paths cannot hand over as it was.
    undecodable = "\uFFFD" in urllib.parse.unquote(path.split("?")[0])
    check_problem(case, answer, path, server.behind_gateway and undecodable)
    if answer.status == 401:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    if answer.status == 405:
        assert answer.headers["Allow"]
    after = snapshot(server.directory)
    changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
    assert not changed, f"files changed: {sorted(changed)[:5]}"


def test_there_are_enough_cases():
    assert len(CASES) >= 150
    assert len({c.name for c in CASES}) == len(CASES), "two cases have the same name"


def test_nothing_changed_and_all_is_well(server, places):
    """After all the above: the rows are those of before, and the server answers."""
    wire = server.wire()
    assert wire.post(f"/v1/table/{places['t']}/count_rows", {}).json == 100
    tables = wire.call("GET", f"/v1/namespace/{places['s']}/table/list").json["tables"]
    assert tables == ["declared", "large", "plain", "strict", "t"]
    assert wire.call("GET", f"/v1/namespace/{places['s']}/list").json["namespaces"] == ["empty"]
    versions = wire.post(f"/v1/table/{places['t']}/version/list", {}).json["versions"]
    assert [v["version"] for v in versions] == [1]
    assert wire.call("GET", "/healthz").status == 200


# What no HTTP client sends


def raw(server, data: bytes) -> bytes:
    """Sends bytes and returns the response until the connection is closed."""
    parts = urllib.parse.urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=15) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while more := connection.recv(65536):
            answer += more
    return answer


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + bytes(200),
        b"hello\r\n\r\n",
        b"GET\r\n\r\n",
        b"POST /v1/namespace/$/list HTTP/9.9\r\nHost: x\r\n\r\n",
        b"POST /v1/namespace/$/exists HTTP/1.1\r\n\r\n",
        b"POST /v1/namespace/$/exists HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/namespace/$/exists HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /v1/namespace/$/exists HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"POST /v1/namespace/100%/exists HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/namespace/ /exists HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST /v1/table/t/insert HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
    ids=[
        "TLS",
        "words",
        "half a line",
        "version",
        "no host",
        "negative length",
        "two lengths",
        "huge header",
        "percent alone",
        "space in the path",
        "bad chunk",
    ],
)
def test_broken_http(server, data):
    server.not_behind_gateway("what is no HTTP ends at the gateway, which answers as it likes")
    answer = raw(server, data)
    assert answer == b"" or b" 4" in answer[:15] or b" 505 " in answer[:15], answer[:100]
    assert server.wire().call("GET", "/healthz").status == 200


@pytest.mark.parametrize("chunk", [b"ZZ\r\n", b"2\r\n{}XX0\r\n\r\n", b"fffffffffffffffff\r\n"])
def test_malformed_chunks_are_the_callers_fault(server, places, chunk):
    server.not_behind_gateway("a gateway joins the chunks")
    head = f"POST /v1/table/{places['t']}/count_rows HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
    answer = raw(server, head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunk)
    assert answer[:13] == b"HTTP/1.1 400 " and b"chunks are malformed" in answer, answer
    assert server.wire().post(f"/v1/table/{places['t']}/count_rows", {}).json == 100


@pytest.mark.parametrize("path", ["create", "insert", "merge_insert?on=id&when_matched_update_all=true"])
def test_connection_lost_in_an_upload_changes_nothing(server, places, path):
    table = f"{places['s']}$lost" if path == "create" else places["t"]
    body = stream(sample.people(5000))
    base = urllib.parse.urlsplit(server.url).path.rstrip("/")
    head = f"POST {base}/v1/table/{table}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    raw(server, head.encode() + body[: len(body) // 2])
    wire = server.wire()
    assert wire.post(f"/v1/table/{places['t']}/count_rows", {}).json == 100
    assert wire.post(f"/v1/table/{places['s']}$lost/exists", {}).status == 404
