"""The shipped executor of functions of Python: by itself, as a command, by HTTP and as a function of AWS."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import http.server
import importlib.util
import json
import os
import pathlib
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from typing import Annotated

import lance
import lancedb
import lancedb.secrets
import pyarrow as pa
import pytest
from lancedb import udf
from lancedb.remote.errors import HttpError
from process import Server

EXECUTOR = pathlib.Path(__file__).resolve().parents[2] / "executor" / "executor.py"
KEY = "0123456789abcdef0123456789abcdef"
HEAD = struct.Struct("<4sIQ")
NUMBER = pa.schema([pa.field("value", pa.int64(), False)])

pytestmark = pytest.mark.embedded("tests a program of this machine")


@udf
def half(value: int) -> float:
    if value < 0:
        raise ValueError(f"{value} is negative")
    return value / 2


@udf(input_schema=NUMBER, output_schema=pa.float32())
def halves(value: pa.Array) -> pa.Array:
    return pa.array([v / 2 for v in value.to_pylist()])


@udf(input_schema=NUMBER, output_schema=pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.string())]))
def parts(value):
    return {"a": value, "b": None if value == 2 else str(value)}


@udf(input_schema=NUMBER, output_schema=pa.schema([pa.field("a", pa.int32()), pa.field("b", pa.string())]))
def columns(value: pa.RecordBatch):
    return pa.table({"b": [str(v) for v in value["value"].to_pylist()], "a": value["value"]})


@udf
class scale:
    def __init__(self, factor: float, offset: float = 10.0):
        self.factor, self.offset, self.calls = factor, offset, 0

    def __call__(self, value: int) -> Annotated[dict, pa.struct([("scaled", pa.float64()), ("calls", pa.int64())])]:
        self.calls += 1
        return {"scaled": value * self.factor + self.offset, "calls": self.calls}


@udf
class ways:
    def __init__(self, mark: str):
        self.mark, self.calls = mark, 0

    def __call__(self, value: int) -> str:
        self.calls += 1
        while value == 0:
            pass
        if value < 0:
            raise ValueError(f"{value} is negative")
        print("printed by the function")
        return f"{os.environ['GREETING']}{value} {self.calls}" + os.environ.get("TILTYARD_TOKEN", "")

    def close(self):
        open(self.mark, "w").close()


@udf(input_schema=NUMBER, output_schema=pa.int64())
def wrong(value: pa.Array):
    raise KeyError("every row")


def stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def call_of(definition, *outputs: pa.Field, env=None) -> dict:
    """The call of a function as the service sends it after a client has registered the function."""
    artifact = definition.registration_request.artifact
    return {
        "tiltyard": 1,
        "function": "f",
        "version": "1",
        "kind": artifact.kind,
        "entrypoint": artifact.entrypoint,
        "digest": artifact.digest,
        "artifact": artifact.content.data,
        "adapter": {"kind": artifact.adapter.kind, "version": artifact.adapter.version},
        "outputs": text(stream(pa.RecordBatch.from_pylist([], pa.schema(outputs)))),
        "env": env or {},
        "attempt": 1,
        "deadline_ms": 20_000,
    }


def framed(call: dict, rows: bytes) -> bytes:
    data = json.dumps(call).encode()
    return HEAD.pack(b"TYC1", len(data), len(rows)) + data + rows


class Here:
    """The functions of the executor within this process."""

    def __init__(self, _folder):
        self.module = load()
        self.functions = {}

    def call(self, call, rows):
        key = json.dumps(call)
        try:
            if key not in self.functions:
                sys.modules.pop("user_function", None)
                self.functions[key] = self.module.Function(call)
            return self.functions[key].reply(rows)
        except Exception as error:
            return self.module.fault(error)._asdict()

    def close(self):
        for function in self.functions.values():
            function.close()


def load():
    spec = importlib.util.spec_from_file_location("executor", EXECUTOR)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Command:
    """The executor as a command, of which each function has its own."""

    def __init__(self, _folder):
        self.processes = {}

    def call(self, call, rows):
        key = json.dumps(call)
        if key not in self.processes:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            self.processes[key] = subprocess.Popen([sys.executable, EXECUTOR], env={}, **pipes)
            assert self.processes[key].stdout.read(11) == b"tiltyard 1\n"
        process = self.processes[key]
        process.stdin.write(framed(call, rows))
        process.stdin.flush()
        magic, status, size = HEAD.unpack(process.stdout.read(HEAD.size))
        assert magic == b"TYR1"
        reply = process.stdout.read(size)
        return json.loads(reply) if status else reply

    def close(self):
        for process in self.processes.values():
            process.stdin.close()
            assert process.wait(60) == 0


class Http:
    """The executor as a server."""

    def __init__(self, folder):
        (folder / "key").write_text(KEY + "\n")
        command = [sys.executable, EXECUTOR, "--http", "127.0.0.1:0", "--key-file", folder / "key"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.url = "http://" + self.process.stdout.readline().decode().split()[-1] + "/v1/call"

    def call(self, call, rows):
        try:
            with urllib.request.urlopen(self.request(framed(call, rows), KEY, int(time.time()))) as answer:
                assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
                return answer.read()
        except urllib.error.HTTPError as error:
            assert error.code == 422
            return json.loads(error.read())

    def status_without_body(self, headers: dict) -> int:
        """The status of the answer to a request whose body does not come."""
        connection = http.client.HTTPConnection(self.url.split("/")[2], timeout=10)
        connection.putrequest("POST", "/v1/call", skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    def request(self, body: bytes, key: str, moment: int) -> urllib.request.Request:
        digest = hashlib.sha256(body).hexdigest()
        signed = f"POST\n/v1/call\n{moment}\n{digest}"
        signature = hmac.new(key.encode(), signed.encode(), "sha256").hexdigest()
        headers = {"X-Tiltyard-Time": str(moment), "X-Tiltyard-Content-SHA256": digest, "Authorization": "TILTYARD-HMAC-SHA256 " + signature}
        return urllib.request.Request(self.url, body, headers, method="POST")

    def close(self):
        self.process.kill()
        self.process.wait()


class Lambda:
    """The executor as a function of AWS."""

    def __init__(self, _folder):
        self.module = load()

    def call(self, call, rows):
        event = json.loads(json.dumps({"tiltyard": 1, "call": call, "arrow": text(rows)}))
        reply = json.loads(json.dumps(self.module.handler(event, None)))
        return base64.b64decode(reply["arrow"]) if "arrow" in reply else reply

    def close(self):
        for child in self.module.idle:
            child.close()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", sys.path[:])
    opened = Here(tmp_path)
    yield opened
    opened.close()


def rows_of(way, call: dict, *values) -> list[dict]:
    reply = way.call(call, stream(pa.RecordBatch.from_pylist([{"value": v} for v in values], NUMBER)))
    assert isinstance(reply, bytes), reply
    return pa.ipc.open_stream(reply).read_all().to_pylist()


def fault_of(way, call: dict, *values) -> dict:
    reply = way.call(call, stream(pa.RecordBatch.from_pylist([{"value": v} for v in values], NUMBER)))
    assert isinstance(reply, dict) and set(reply) == {"error_type", "message", "retryable"}, reply
    return reply


@pytest.mark.parametrize("kind", [Command, Http, Lambda])
def test_ways_to_the_executor(kind, tmp_path, monkeypatch):
    if kind is Command:
        monkeypatch.setenv("TILTYARD_TOKEN", "ours")
    way = kind(tmp_path)
    try:
        call = call_of(ways, pa.field("result", pa.string(), False), env={"GREETING": "hello"})
        call["initialization"] = text(stream(pa.RecordBatch.from_pylist([{"mark": str(tmp_path / "mark")}])))
        want = [{"result": "hello1 1", "__error": None}, {"result": None, "__error": "ValueError: -1 is negative"}]
        assert rows_of(way, call, 1, -1) == want
        assert rows_of(way, call, 2) == [{"result": "hello2 3"}]
        assert "digest" in fault_of(way, call | {"digest": "sha256:00"}, 1)["message"] if kind is not Command else True
        if kind is Http:
            assert fault_of(way, call | {"deadline_ms": 300}, 0)["error_type"] == "ExecutorCrashed"
            for key, moment in ((KEY[:-1], time.time()), (KEY, time.time() - 1000), (KEY, time.time() + 1000)):
                assert refused(way.request(b"", key, int(moment))) == 401
            assert way.status_without_body({"Content-Length": "200000000"}) == 401
            assert way.status_without_body({"Content-Length": "-1"}) == way.status_without_body({}) == 411
            request = way.request(b"signed", KEY, int(time.time()))
            request.data = b"other"
            assert refused(request) == 401
    finally:
        way.close()
    assert kind is Http or (tmp_path / "mark").exists()


@pytest.fixture
def shelf(tmp_path):
    """A server that keeps what is PUT to it."""
    kept = {}

    class Shelf(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(kept[self.path])))
            self.end_headers()
            self.wfile.write(kept[self.path])

        def do_PUT(self):
            kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.end_headers()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shelf)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", kept
    server.shutdown()


def test_what_an_event_cannot_carry_is_referred_to(shelf):
    url, kept = shelf
    way = Lambda(None)
    try:
        call = call_of(halves, pa.field("result", pa.float64(), False))
        kept["/artifact"] = base64.b64decode(call.pop("artifact"))
        kept["/rows"] = stream(pa.table({"value": pa.array(range(600_000))}).to_batches()[0])
        event = {"tiltyard": 1, "call": call | {"artifact_url": url + "/artifact"}, "arrow_url": url + "/rows", "reply_url": url + "/reply"}
        assert way.module.handler(event, None) == {"stored": True}
        assert pa.ipc.open_stream(kept["/reply"]).read_all()["result"].to_pylist()[:3] == [0.0, 0.5, 1.0]
        del event["reply_url"]
        assert way.module.handler(event, None)["error_type"] == "TooLarge"
        del kept["/artifact"]  # the function is loaded already
        assert rows_of(way, event["call"], 3) == [{"result": 1.5}]
    finally:
        way.close()


@pytest.mark.parametrize("kind", [Command, Http, Lambda])
def test_replies_have_a_limit(kind, tmp_path):
    way = kind(tmp_path)
    try:
        call = call_of(half, pa.field("result", pa.float64(), False)) | {"reply_bytes": 1000}
        assert rows_of(way, call, 1) == [{"result": 0.5}]
        assert fault_of(way, call, *range(200))["error_type"] == "TooLarge"
        assert rows_of(way, call, 2) == [{"result": 1.0}]
    finally:
        way.close()


def refused(request: urllib.request.Request) -> int:
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request)
    return raised.value.code


def test_functions_are_called_by_row_and_by_batch(here):
    result = pa.field("result", pa.float64(), False)
    assert rows_of(here, call_of(half, result), 1, 2) == [{"result": 0.5}, {"result": 1.0}]
    assert rows_of(here, call_of(half, result)) == []
    failed = rows_of(here, call_of(half, result), 4, -1)
    assert failed == [{"result": 2.0, "__error": None}, {"result": None, "__error": "ValueError: -1 is negative"}]
    assert rows_of(here, call_of(halves, pa.field("result", pa.float32(), False)), 1, 2) == [{"result": 0.5}, {"result": 1.0}]
    fields = [pa.field("a", pa.int32()), pa.field("b", pa.string())]
    assert rows_of(here, call_of(parts, *fields), 1, 2) == [{"a": 1, "b": "1"}, {"a": 2, "b": None}]
    assert rows_of(here, call_of(columns, *fields), 1, 2) == [{"a": 1, "b": "1"}, {"a": 2, "b": "2"}]


def test_outputs_that_do_not_fit_fail_their_rows(here):
    for field in (pa.field("a", pa.int8()), pa.field("b", pa.string(), False)):
        call = call_of(parts, *(field if f.name == field.name else f for f in (pa.field("a", pa.int32()), pa.field("b", pa.string()))))
        for value, row in zip((1, 2, 300), rows_of(here, call, 1, 2, 300)):
            if value == (300 if field.name == "a" else 2):
                assert row["a"] is None and row["b"] is None and row["__error"]
            else:
                assert row["a"] == value and row["__error"] is None
    assert rows_of(here, call_of(wrong, pa.field("result", pa.int64()))) == []
    assert "KeyError" == fault_of(here, call_of(wrong, pa.field("result", pa.int64())), 1, 2)["error_type"]


def test_classes_keep_state(here):
    call = call_of(scale, pa.field("result", pa.struct([("scaled", pa.float64()), ("calls", pa.int64())]), False))
    assert rows_of(here, call) == []  # the proof of a new function has no initialization
    call["initialization"] = text(stream(pa.RecordBatch.from_pylist([{"factor": 2.0, "offset": None}])))
    assert rows_of(here, call, 1) == [{"result": {"scaled": 12.0, "calls": 1}}]
    assert rows_of(here, call, 2, 3)[1] == {"result": {"scaled": 16.0, "calls": 3}}


def test_bundles(here):
    helper = "def twice(v):\n    return 2 * v\n"
    source = "from helpers.math import twice\n\ndef run(value: int) -> int:\n    return twice(value)\n"
    artifact = json.dumps({"files": {"helpers/__init__.py": "", "helpers/math.py": helper, "user_function.py": source}}).encode()
    call = call_of(half, pa.field("result", pa.int64(), False))
    call |= {"kind": "python_bundle", "entrypoint": "run", "artifact": text(artifact), "digest": "sha256:" + hashlib.sha256(artifact).hexdigest()}
    assert rows_of(here, call, 4) == [{"result": 8}]
    outside = json.dumps({"files": {"../x.py": ""}}).encode()
    call |= {"artifact": text(outside), "digest": "sha256:" + hashlib.sha256(outside).hexdigest()}
    assert "no path" in fault_of(here, call, 4)["message"]


def test_calls_that_cannot_run_are_faults(here):
    result = pa.field("result", pa.float64(), False)
    for change, message in (
        ({"digest": "sha256:00"}, "digest"),
        ({"adapter": {"kind": "other", "version": 1}}, "adapter"),
        ({"kind": "wasm_module"}, "wasm_module"),
        ({"entrypoint": "missing"}, "missing"),
        ({"artifact": text(b"import nothing_like_it"), "digest": "sha256:" + hashlib.sha256(b"import nothing_like_it").hexdigest()}, "nothing_like_it"),
    ):
        assert message in fault_of(here, call_of(half, result) | change, 1)["message"]


VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def command(folder: pathlib.Path) -> pathlib.Path:
    """The executor as a command without a variable of its own, as the service starts it."""
    path = folder / "executor"
    path.write_text(f"#!/bin/sh\nexec {sys.executable} {EXECUTOR}\n")
    path.chmod(0o700)
    return path


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    (folder / "key").write_text(KEY)
    settings = f"py=exec:{command(folder)} python={VERSION} packages=pyarrow|numpy==2.*"
    with Server(folder / "root", settings={"TILTYARD_EXECUTOR": settings}) as server:
        yield lancedb.connect("db://e2e", api_key=server.token, host_override=server.url)


@udf(pip=["pyarrow", "numpy==2.2.0"], env={"GREETING": "hello"})
class length:
    def __init__(self, factor: int):
        self.factor = factor

    def __call__(self, text: str) -> int:
        return len(os.environ["GREETING"] + text) * self.factor


def test_the_client_registers_functions_that_the_executor_loads(serving):
    made = serving.create_function(length)
    assert (made.name, made.version, made.disabled) == ("length", "1", False)
    assert serving.get_function("length", version="1").signature == length.registration_request.signature
    broken = length.registration_request
    source = b"import missing_module\n\ndef length(text):\n    return 1\n"
    artifact = broken.artifact.model_copy(update={
        "digest": "sha256:" + hashlib.sha256(source).hexdigest(), "content": broken.artifact.content.model_copy(update={"data": text(source)}),
    })
    length._request = broken.model_copy(update={"artifact": artifact})
    try:
        with pytest.raises(Exception, match="missing_module"):
            serving.create_function(length)
    finally:
        length._request = broken


def test_functions_that_no_executor_accepts_are_refused(serving):
    for changed, message in (
        (udf(name="a", pip=["scipy==1.0"]), "no executor of this deployment runs .* with scipy"),
        (udf(name="a", pip=["numpy==1.26"]), "with numpy==1.26"),
        (udf(name="a", python_version="3.7"), "Python 3.7"),
        (udf(name="a", gpu=True), "a GPU"),
    ):
        with pytest.raises(HttpError, match=message) as raised:
            serving.create_function(changed(plain))
        assert raised.value.status_code == 501 and "TILTYARD_EXECUTOR" in str(raised.value)


def plain(value: int) -> int:
    return value


@udf
def signed(value: int) -> str:
    if value == 2:
        raise ValueError("the key is " + os.environ["KEY"])
    return str(value) + os.environ["KEY"][:3]


def test_the_client_computes_columns(serving):
    rows = pa.table({"text": ["a", "bb", "ccc"], "value": [1, 2, 3]}, schema=pa.schema([pa.field("text", pa.string(), False), pa.field("value", pa.int64(), False)]))
    table = serving.create_table("texts", rows)
    made = serving.create_function(length)
    table.add_columns({"n": made(text=lancedb.col("text"), factor=10)})
    assert table.refresh_column_async("n").wait().rows_assigned == 3
    serving.create_secret("key", "canary-value")
    made = serving.create_function(signed, secrets=[lancedb.secrets.EnvVarSecret(secret_name="key", env_variable="KEY")])
    table.add_columns({"s": made(value=lancedb.col("value"))})
    result = table.refresh_column_async("s").wait()
    assert (result.rows_assigned, result.rows_failed) == (2, 1)
    found = sorted(table.search().limit(10).to_list(), key=lambda row: row["value"])
    assert [(row["n"], row["s"]) for row in found] == [(60, "1can"), (70, None), (80, "3can")]


@udf(input_schema=pa.schema([lancedb.schema.blob("image")]), output_schema=pa.schema([pa.field("size", pa.int64()), pa.field("first", pa.string())]))
def look(image):
    if image == b"bad":
        raise ValueError("no image")
    return {"size": None, "first": None} if image is None else {"size": len(image), "first": image[:1].decode()}


def test_functions_get_the_bytes_of_blobs(serving):
    made = serving.create_function(look)
    assert made.signature.inputs[0].arrow_type == "blob_v2"
    images = [b"a", None, b"bad", b"", b"c" * (9 << 20), b"d" * (9 << 20), b"e" * (17 << 20), b"f" * 70_000]
    schema = pa.schema([pa.field("id", pa.int64()), lancedb.schema.blob("image"), pa.field("text", pa.string())])
    table = serving.create_table("images", schema=schema)
    texts = pa.array([str(n) for n in range(len(images))])
    table.add(pa.table([pa.array(range(len(images))), lance.blob_array(images), texts], schema=schema))
    table.add_columns(made(image=lancedb.col("image")))
    result = table.refresh_column_async("size").wait()
    assert (result.rows_assigned, result.rows_failed) == (6, 2)
    found = sorted(table.search().select(["id", "size", "first"]).limit(20).to_list(), key=lambda row: row["id"])
    want = [(1, "a"), (None, None), (None, None), (0, ""), (9 << 20, "c"), (9 << 20, "d"), (None, None), (70_000, "f")]
    assert [(row["size"], row["first"]) for row in found] == want
    errors = {error.error_type for error in table.function_errors().records}
    assert errors == {"ValueError", "InputLimit"}, errors
    again = table.refresh_column_async("size").wait()  # only the rows that failed are tried again
    assert (again.rows_assigned, again.rows_failed) == (0, 2)
    with pytest.raises(HttpError, match="only parameters of type blob_v2 get blobs") as raised:
        table.add_columns({"n": serving.create_function(udf(input_schema=pa.schema([lancedb.schema.blob("image")]), output_schema=pa.int64(), name="other")(plain_image))(image=lancedb.col("text"))})
    assert raised.value.status_code == 400


def plain_image(image):
    return 1


def test_a_function_that_the_executors_do_not_run_any_more_is_disabled(tmp_path):
    def serve(packages):
        settings = {"TILTYARD_EXECUTOR": f"py=exec:{command(tmp_path)} python={VERSION} packages={packages}"} if packages else {}
        return Server(tmp_path / "root", settings=settings)

    def connect(server):
        return lancedb.connect("db://e2e", api_key=server.token, host_override=server.url)

    with serve("pyarrow|numpy==2.*") as server:
        db = connect(server)
        made = db.create_function(length)
        assert not made.disabled and dict(made.metadata) == {}
        schema = pa.schema([pa.field("text", pa.string(), False)])
        db.create_table("texts", pa.table({"text": ["a"]}, schema=schema)).add_columns({"n": made(text=lancedb.col("text"), factor=1)})
    for packages, why in (("pyarrow", "with numpy==2.2.0, pyarrow: there are py"), ("", "this deployment has no executors")):
        with serve(packages) as server:
            db = connect(server)
            seen = db.get_function("length", version="1")
            assert seen.disabled and why in seen.metadata["disabled_reason"] and "TILTYARD_EXECUTOR" in seen.metadata["disabled_reason"]
            assert db.list_functions() == [seen]
            table = db.open_table("texts")
            for use in (lambda: table.add_columns({"m": made(text=lancedb.col("text"), factor=1)}), lambda: table.refresh_column_async("n")):
                with pytest.raises(HttpError, match="no executor of this deployment runs") as raised:
                    use()
                assert raised.value.status_code == 501 and "TILTYARD_EXECUTOR" in str(raised.value)
    with serve("pyarrow|numpy==2.*") as server:
        db = connect(server)
        assert db.get_function("length", version="1") == made
        assert db.open_table("texts").refresh_column_async("n").wait().rows_assigned == 1
