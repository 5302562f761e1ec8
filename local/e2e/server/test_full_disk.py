"""A disk that is really full: writes are refused with that reason, nothing is lost, and the
server recovers by itself.

The disk is a small file system in memory, which only root may mount.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pyarrow as pa
import pytest

from process import Server
from wire import Wire

MEBIBYTES = 24
WAIT_SECONDS = 120


@pytest.fixture
def small_disk(tmp_path):
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system: NO FULL DISK WAS TESTED")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={MEBIBYTES}m", "tmpfs", disk], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: NO FULL DISK WAS TESTED ({mounted.stderr.strip()})")
    yield disk
    subprocess.run(["umount", disk], check=True)


def ready(wire: Wire) -> int:
    return wire.call("GET", "/readyz").status


def until_ready(wire: Wire, want: int) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while (status := ready(wire)) != want:
        assert time.monotonic() < end, f"/readyz stays {status}, want {want}"
        time.sleep(0.1)


@pytest.mark.embedded("fills the disk of the server")
def test_a_full_disk_refuses_writes_and_heals(small_disk):
    rows = pa.table({"id": range(1000), "text": ["x" * 100] * 1000})
    with Server(small_disk / "root", log="../full-disk.log") as server:
        wire = Wire(server.url, server.token)
        assert wire.upload("/v1/table/t/create", rows).status == 200
        with open(small_disk / "filler", "wb") as filler, pytest.raises(OSError):
            while True:
                filler.write(bytes(1 << 20))
                filler.flush()
        with open(small_disk / "filler", "ab", buffering=0) as filler, pytest.raises(OSError):
            while True:
                filler.write(bytes(4096))

        refused = {
            "insert": wire.upload("/v1/table/t/insert", rows),
            "merge": wire.upload("/v1/table/t/merge_insert?on=id&when_matched_update_all=true", rows),
            "create": wire.upload("/v1/table/other/create", rows),
            "update": wire.post("/v1/table/t/update", {"updates": [["text", "'y'"]]}),
            "declare": wire.post("/v1/table/declared/declare", {}),
            "namespace": wire.post("/v1/namespace/n/create", {}),
        }
        for what, answer in refused.items():
            assert answer.status in (503, 507), f"{what}: {answer.status} {answer.body}"
        until_ready(wire, 503)
        assert wire.post("/v1/table/t/count_rows", {}).json == 1000, "what was there is still read"

        (small_disk / "filler").unlink()
        until_ready(wire, 200)
        for what, path in {"insert": "/v1/table/t/insert", "create": "/v1/table/other/create"}.items():
            answer = wire.upload(path, rows)
            assert answer.status == 200, f"{what}: {answer.body}"
        assert wire.post("/v1/table/t/count_rows", {}).json == 2000
        assert wire.post("/v1/namespace/n/create", {}).status == 200


@pytest.mark.embedded("fills the disk of the server")
def test_a_full_disk_can_be_freed_through_the_service(small_disk):
    rows = pa.table({"id": range(1000), "text": [os.urandom(500).hex() for _ in range(1000)]})
    with Server(small_disk / "root", log="../freed-disk.log", settings={"TILTYARD_DROP_RETENTION": "168h"}) as server:
        wire = Wire(server.url, server.token)
        for name in ("kept", "dropped", "cleaned"):
            assert wire.upload(f"/v1/table/{name}/create", rows).status == 200
        assert wire.post("/v1/table/dropped/drop", {}).status == 200
        for size in (1 << 20, 4096):
            with open(small_disk / "filler", "ab", buffering=0) as filler, pytest.raises(OSError):
                while True:
                    filler.write(bytes(size))

        assert wire.upload("/v1/table/kept/insert", rows).status in (503, 507)
        begun = wire.post("/v1/table/cleaned/maintain", {"cleanup": True})
        assert begun.status == 200, begun.body
        for path in ("/v1/table/dropped/purge", "/v1/table/kept/drop", "/v1/table/kept/purge"):
            answer = wire.post(path, {})
            assert answer.status == 200, f"{path}: {answer.status} {answer.body}"
        until_ready(wire, 200)
        end = time.monotonic() + WAIT_SECONDS
        while not (small_disk / "root" / "_tiltyard" / "reserve").exists():
            assert time.monotonic() < end, "the reserve is not made again"
            assert wire.upload("/v1/table/cleaned/insert", rows.slice(0, 1)).status == 200
            time.sleep(0.1)
