"""Quotas of bytes: a program of its own, whose jobs measure at each start, so that no test waits an hour."""

from __future__ import annotations

import json
import pathlib
import time

import pyarrow as pa
import pytest

from process import Server
from wire import Wire

ROWS = pa.table({"id": pa.array(range(100), pa.int64())})


def until(holds) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.1)


def insert(wire: Wire, table: str):
    return wire.upload(f"/v1/table/{table}/insert", ROWS)


@pytest.fixture
def quotas(tmp_path) -> pathlib.Path:
    return tmp_path / "quotas.json"


def settings(quotas: pathlib.Path, *declared: dict) -> dict[str, str]:
    quotas.write_text(json.dumps({"quotas": declared}))
    return {"TILTYARD_QUOTAS": str(quotas), "TILTYARD_USAGE": "on"}


@pytest.mark.embedded("another program has quotas")
def test_written_bytes_are_limited(tmp_path, quotas):
    declared = {"name": "intake", "namespace": "*", "written_bytes": "4KiB", "per": "1h"}
    with Server(tmp_path / "root", settings=settings(quotas, declared)) as server:
        wire = Wire(server.url, server.token)
        for name in ("acme", "bolt"):
            assert wire.post(f"/v1/namespace/{name}/create", {}).status == 200
            assert wire.upload(f"/v1/table/{name}$t/create", ROWS).status == 200
        answers = [insert(wire, "acme$t") for _ in range(10)]
        refused = answers[-1]
        assert answers[0].status == 200 and refused.status == 429 and int(refused.headers["Retry-After"]) > 1
        assert refused.json["type"] == "/errors/quota-exceeded" and "4096 bytes written to storage in 1h0m0s" in refused.json["error"]
        assert refused.headers["RateLimit-Policy"] == '"intake";q=4096;qu="written-bytes";w=3600'
        assert insert(wire, "bolt$t").status == 200


@pytest.mark.embedded("another program has quotas")
def test_stored_bytes_are_limited(tmp_path, quotas):
    records = tmp_path / "root" / "_records"

    def has(folder: str, text: str) -> bool:
        return any(text in file.read_text() for file in (records / folder).glob("*"))

    limited = settings(quotas, {"name": "store", "namespace": "*", "stored_bytes": 100})
    unlimited = {"TILTYARD_USAGE": "on"}
    with Server(tmp_path / "root", settings=unlimited) as server:
        wire = Wire(server.url, server.token)
        for name in ("acme", "bolt"):
            assert wire.post(f"/v1/namespace/{name}/create", {}).status == 200
        assert wire.upload("/v1/table/acme$t/create", ROWS).status == 200
    with Server(tmp_path / "root", settings=unlimited):
        until(lambda: has("stored", '"acme"'))
    with Server(tmp_path / "root", settings=limited) as server:
        assert insert(Wire(server.url, server.token), "acme$t").status == 200  # nothing is added up yet
    with Server(tmp_path / "root", settings=limited) as server:
        until(lambda: has("stored-sum", "at_seconds"))
        wire = Wire(server.url, server.token)
        refused = insert(wire, "acme$t")
        assert refused.status == 429 and refused.json["retryable"] is False and refused.headers["Retry-After"] is None
        assert refused.headers["RateLimit"] == '"store";r=0'
        assert wire.upload("/v1/table/bolt$t/create", ROWS).status == 200
        assert wire.post("/v1/table/acme$t/count_rows", {}).status == 200
        assert wire.post("/v1/table/acme$t/drop", {}).status == 200
