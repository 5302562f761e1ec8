"""Functions in WebAssembly: a module in Go, built as docs/functions.md says, is registered by HTTP and used by
the unmodified LanceDB client. What a module does to its process does nothing to the server."""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import lancedb
import pyarrow as pa
import pytest
from lancedb import col

from process import REPOSITORY, Server
from target import TARGET, Target

# The example of the page, and what a function should not do.
SOURCE = """
package main

import (
	"os"
	"strings"

	"example.com/yours/guest"
)

var counted int

func count(n int) {
	for i := 0; i < n; i++ {
		counted += i & 3
	}
}

func init() {
	guest.OnOpen(func(guest.Opening) error {
		if os.Getenv("MODE") == "loop" {
			for {
				counted++
			}
		}
		if os.Getenv("MODE") == "slow" {
			count(1 << 28)
		}
		return nil
	})
	guest.Scalar(func(in guest.Batch, out *guest.Strings) {
		for i := range in.Rows {
			if in.Columns[0].IsNull(i) {
				out.Null()
				continue
			}
			text := in.Columns[0].String(i)
			switch text {
			case "loop":
				for {
					counted++
				}
			case "slow":
				count(1 << 28)
			}
			out.Append(strings.ToUpper(text))
		}
	})
}

func main() {}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory) -> bytes:
    """The module, built in a folder of its own with a copy of the kit."""
    folder = tmp_path_factory.mktemp("guest")
    (folder / "go.mod").write_text("module example.com/yours\n\ngo 1.26\n")
    (folder / "main.go").write_text(SOURCE)
    (folder / "guest").mkdir()
    for file in (REPOSITORY / "local" / "guest" / "go").glob("*.go"):
        if not file.name.endswith("_test.go"):
            shutil.copy(file, folder / "guest")
    build = ["go", "build", "-ldflags", "-s -w", "-buildmode=c-shared", "-o", "upper.wasm"]
    subprocess.run(build, cwd=folder, check=True, env={**os.environ, "GOOS": "wasip1", "GOARCH": "wasm", "GOFLAGS": ""})
    return (folder / "upper.wasm").read_bytes()


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """A server that waits for a call for a second."""
    if TARGET != "embedded":
        pytest.skip("needs a server of its own")
    with Server(tmp_path_factory.mktemp("wasm") / "root", settings={"TILTYARD_WASM_CALL_TIMEOUT": "1s"}) as process:
        yield Target(process.url, process.token, process)
    assert not process.faults(), "the server logged faults:\n" + "\n".join(process.faults()[:20])


def create(wire, name: str, code: bytes, output: str = "utf8", **runtime) -> str:
    """Begins a job."""
    answer = wire.post(
        f"/v1/function/{name}/create",
        {
            "artifact": {
                "kind": "wasm_module",
                "digest": "sha256:" + hashlib.sha256(code).hexdigest(),
                "content": {"encoding": "base64", "data": base64.b64encode(code).decode()},
            },
            "signature": {
                "inputs": [{"name": "text", "arrow_type": "utf8", "nullable": True}],
                "output": {"kind": "scalar", "arrow_type": output, "nullable": False},
            },
            "runtime": {"kind": "wasm", **runtime},
        },
    )
    assert answer.status == 202, answer.body
    return answer.json["job_id"]


def finished(wire, job: str) -> dict:
    while (told := wire.post("/v1/jobs/describe", {"job_id": job}).json)["job_state"] in ("IN_PROGRESS", "QUEUED"):
        time.sleep(0.05)
    return told


def hosts(server) -> list[int]:
    """The processes of the server that run modules."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = folder.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == server.process.pid and folder.joinpath("cmdline").read_bytes().split(b"\0")[1] == b"wasm-host":
                found.append(int(folder.name))
        except (OSError, IndexError):
            continue
    return found


def column(table, name: str) -> list:
    return table.search().limit(20_000).to_arrow().sort_by("id")[name].to_pylist()


def wait_for(what):
    while not (found := what()):
        time.sleep(0.01)
    return found


def test_a_module_is_a_function(db, wire, space, module):
    told = finished(wire, create(wire, f"{space}$upper", module))
    assert told["job_state"] == "DONE", told
    upper = db.get_function("upper", version="1", namespace_path=[space])
    assert not upper.disabled and upper.image.descriptor["artifact"]["kind"] == "wasm_module"


@pytest.mark.parametrize(
    "code, output, why",
    [
        (None, "int64", "output f is of type utf8, not int64"),
        (b"#!/bin/sh", "utf8", "InvalidModule: it cannot be compiled"),
        (b"\0asm\1\0\0\0", "utf8", "InvalidModule: it exports 0 memories"),
    ],
)
def test_a_module_that_breaks_the_rules_is_no_function(wire, space, module, code, output, why):
    told = finished(wire, create(wire, f"{space}$f", module if code is None else code, output))
    assert told["job_state"] == "FAILED" and why.replace("output f", "output") in str(told).replace("output value", "output"), told


def test_a_module_that_loops_is_ended(quick, module):
    told = finished(quick.wire(), create(quick.wire(), "endless", module, env={"MODE": "loop"}))
    assert told["job_state"] == "FAILED" and "TimeLimit: it takes longer than 3s" in str(told), told
    assert hosts(quick) == []
    lancedb.connect("db://local", api_key=quick.token, host_override=quick.url).create_table("healthy", [{"id": 1}])


def test_a_host_that_is_killed_is_started_again(server, space, module):
    if server.process is None:
        pytest.skip("looks at the processes of the server")
    job = create(server.wire(), f"{space}$slow", module, env={"MODE": "slow"})
    killed = wait_for(lambda: hosts(server))[0]
    os.kill(killed, signal.SIGKILL)
    wait_for(lambda: [host for host in hosts(server) if host != killed])
    told = finished(server.wire(), job)
    assert told["job_state"] == "DONE", told


def test_a_module_computes_a_column(db, wire, space, module):
    assert finished(wire, create(wire, f"{space}$upper", module))["job_state"] == "DONE"
    upper = db.get_function("upper", version="1", namespace_path=[space])
    texts = ["a", None, "ärger", ""] + [f"text {n}" for n in range(10_000)]
    table = db.create_table("texts", pa.table({"id": list(range(len(texts))), "text": texts}), namespace_path=[space])
    table.add_columns({"loud": upper(text=col("text"))})
    done = table.refresh_column_async("loud").wait()
    assert (done.rows_assigned, done.rows_failed) == (len(texts) - 1, 1)  # null is no value of this output
    assert column(table, "loud") == [text and text.upper() for text in texts]


def test_a_row_for_which_a_module_loops_fails_alone(quick, module):
    db, wire = quick.lancedb(), quick.wire()
    assert finished(wire, create(wire, "upper", module))["job_state"] == "DONE"
    table = db.create_table("texts", [{"id": n, "text": text} for n, text in enumerate(("a", "loop", "b"))])
    table.add_columns({"loud": db.get_function("upper", version="1")(text=col("text"))})
    done = table.refresh_column_async("loud").wait()
    assert (done.rows_assigned, done.rows_failed) == (2, 1)
    assert column(table, "loud") == ["A", None, "B"]
    assert hosts(quick) == [] and table.count_rows() == 3


def test_a_host_that_is_killed_in_a_batch_loses_no_rows(server, space, module):
    if server.process is None:
        pytest.skip("looks at the processes of the server")
    db, wire = server.lancedb(), server.wire()
    assert finished(wire, create(wire, f"{space}$upper", module))["job_state"] == "DONE"
    table = db.create_table("slow", [{"id": n, "text": text} for n, text in enumerate(("a", "slow", "b"))], namespace_path=[space])
    table.add_columns({"loud": db.get_function("upper", version="1", namespace_path=[space])(text=col("text"))})
    job = table.refresh_column_async("loud")
    os.kill(wait_for(lambda: hosts(server))[0], signal.SIGKILL)
    done = job.wait()
    assert (done.rows_assigned, done.rows_failed) == (3, 0)
    assert column(table, "loud") == ["A", "SLOW", "B"]
