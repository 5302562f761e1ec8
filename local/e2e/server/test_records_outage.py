"""The server whose records are in DynamoDB, while DynamoDB refuses connections or does not answer: what needs no records
goes on, all else gets 503 with a time to wait, and nothing that was acknowledged is lost."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import threading
import time
import urllib.request

import pyarrow as pa
import pytest

from process import REPOSITORY, Server
from wire import ARROW_STREAM, Wire, stream

KEYS = [{"AttributeName": "folder", "KeyType": "HASH"}, {"AttributeName": "name", "KeyType": "RANGE"}]
REQUEST_SECONDS = 4
LONGEST = REQUEST_SECONDS + 4
JOB_SECONDS = 60
STAND_IN_SECONDS = 120


class Line:
    """A connection to a server that can be cut. It is a proxy of bytes at an address of its own."""

    def __init__(self, url: str):
        host, port = url.removeprefix("http://").split(":")
        self.to, self.silent, self.open = (host, int(port)), False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return  # it is cut
            self.open.append(client)
            threading.Thread(target=self.carry, args=(client,), daemon=True).start()

    def carry(self, client: socket.socket) -> None:
        try:
            with client, socket.create_connection(self.to) as server:
                while True:
                    for one in select.select([client, server], [], [])[0]:
                        data = one.recv(1 << 16)
                        if not data:
                            return
                        if not self.silent:
                            (server if one is client else client).sendall(data)
        except OSError:
            pass

    def cut(self) -> None:
        """Refuses connections from now on."""
        self.listener.shutdown(socket.SHUT_RDWR)  # ends a wait for the next connection
        self.listener.close()
        for one in self.open:
            with contextlib.suppress(OSError):  # it has ended
                one.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self.silent = False
        if self.listener.fileno() < 0:
            self.listener = socket.create_server(("127.0.0.1", int(self.url.rpartition(":")[2])))
            threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()


@pytest.fixture(scope="module")
def dynamodb():
    """The URL of a stand-in with the table for records."""
    if "ministack" in os.environ.get("WITHOUT", "").split():
        pytest.skip("*** WITHOUT=ministack: the records of a server are not cut off ***")
    command = ["scripts/ministack.sh", "sh", "-c", "echo $TILTYARD_TEST_DYNAMODB; exec cat"]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        url = process.stdout.readline().strip()
        assert url, "no stand-in for DynamoDB could be started"
        columns = [{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in KEYS]
        table = {"TableName": "records", "KeySchema": KEYS, "AttributeDefinitions": columns, "BillingMode": "PAY_PER_REQUEST"}
        request = urllib.request.Request(url, json.dumps(table).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.CreateTable",
            "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        })
        urllib.request.urlopen(request, timeout=STAND_IN_SECONDS).read()
        yield url
        process.stdin.close()


def rows(first: int) -> pa.Table:
    return pa.table({"id": range(first, first + 10)})


@pytest.mark.embedded("cuts the line between the server and its records")
@pytest.mark.parametrize("outage", ["refuses", "is silent"])
def test_without_records(tmp_path, dynamodb, outage):
    line = Line(dynamodb)
    settings = {
        "TILTYARD_RECORDS": "dynamodb://records", "AWS_ENDPOINT_URL_DYNAMODB": line.url, "AWS_REGION": "us-east-1",
        "TILTYARD_REQUEST_TIMEOUT": f"{REQUEST_SECONDS}s", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
    }
    with Server(tmp_path / "root", settings=settings) as server:
        wire = Wire(server.url, server.token, timeout=120)
        assert wire.upload("/v1/table/t/create", rows(0)).status == 200
        assert indexed(wire, "before")

        line.cut() if outage == "refuses" else setattr(line, "silent", True)
        assert wire.post("/v1/table/t/count_rows", {}).json == 10
        assert wire.post("/v1/table/t/query", {"vector": {}, "k": 3, "filter": "id = 7"}).table["id"].to_pylist() == [7]
        kept = 10
        for first, headers in ((10, {}), (20, {"Idempotency-Key": "k"})):
            sent = {"Content-Type": ARROW_STREAM, **headers}
            answer = answered(lambda: wire.call("POST", "/v1/table/t/insert", stream(rows(first)), sent))
            kept += 10 * (answer.status == 200)
        refused = answered(lambda: wire.post("/v1/table/t/create_index", {"column": "id", "index_type": "BITMAP", "name": "during"}))
        assert refused.status == 503, "a job was made without records"
        assert wire.post("/v1/table/t/count_rows", {}).json == kept

        line.mend()
        assert indexed(wire, "after")
        assert wire.post("/v1/table/t/count_rows", {}).json == kept
        assert not [line for line in server.faults() if "status=503" not in line]


def answered(ask):
    """The answer to a request, which is a success or a refusal for some time."""
    began = time.monotonic()
    answer = ask()
    assert answer.status in (200, 503), bytes(answer.body)
    assert answer.status == 200 or answer.headers["Retry-After"], dict(answer.headers)
    assert time.monotonic() - began < LONGEST
    return answer


def indexed(wire: Wire, name: str) -> bool:
    """Builds an index, and reports whether it is there in time."""
    deadline = time.monotonic() + JOB_SECONDS
    wire.post("/v1/table/t/create_index", {"column": "id", "index_type": "BTREE", "name": name})
    while time.monotonic() < deadline:
        found = wire.post("/v1/table/t/index/list", {})
        if found.status == 200 and name in [index["index_name"] for index in found.json["indexes"]]:
            return True
        time.sleep(0.1)
    return False
