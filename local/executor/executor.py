#!/usr/bin/env python3
"""An executor of Tiltyard: runs functions of Python that clients register, in the environment of this image.

    executor.py                                     calls on the standard input, for exec:/path
    executor.py --http HOST:PORT --key-file FILE    calls by HTTP, for https://… (give --cert and --cert-key, or put TLS before it)
    executor.handler                                calls of AWS Lambda, for lambda:arn…

It installs nothing: the image must contain every module that a function imports. Each function, with its initialization
and its variables, runs in a separate process. The package comment of shared/engine/udf/executor describes calls.

Clients of the Lance Namespace protocol send functions in an envelope. The variable EXECUTOR_LOADER, MODULE:FUNCTION, names
a loader: it is called with the backend and the bytes of an envelope, and returns a callable. The module pickled next to
this file contains a loader for pickles. Without the variable, envelopes are refused.
"""

from __future__ import annotations

import argparse
import base64
import collections
import hashlib
import hmac
import importlib
import inspect
import json
import os
import re
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GREETING = b"tiltyard 1\n"
HEAD = struct.Struct("<4sIQ")  # magic, size of the JSON object or status, size of the stream
MOST_BYTES = 300 << 20  # maximum size of a call
MOST_IDLE = 16  # maximum of idle processes of a server
CLOCK_SECONDS = 300  # maximum difference from the clock of a caller
MOST_OF_MESSAGE = 10_000  # maximum characters of an error message
MOST_OF_RESPONSE = 4 << 20  # maximum bytes of the stream in a Lambda response, where it is in base64
LOADER = os.environ.get("EXECUTOR_LOADER", "")  # set by the operator, not by a function

# The result rows of a call: one for each input row, any number for each, or any number for all together.
ADAPTERS = EACH_ROW, MANY_ROWS, ALL_ROWS = "scalar_to_arrow_batch", "row_to_arrow_rows", "table_to_arrow_rows"

Fault = collections.namedtuple("Fault", "error_type message retryable")


class Refused(Exception):
    """A call that this executor cannot run."""


class TooLarge(Exception):
    """A reply that exceeds the service's limit. The service then sends fewer rows per call."""


# The function


class Function:
    """A loaded function and its state between calls."""

    def __init__(self, call: dict):
        import pyarrow as pa

        artifact = base64.b64decode(call["artifact"])
        if call["digest"] != "sha256:" + hashlib.sha256(artifact).hexdigest():
            raise Refused("the artifact has another digest")
        if call["adapter"]["version"] != 1 or call["adapter"]["kind"] not in ADAPTERS:
            raise Refused(f"the adapter {call['adapter']} is unknown")
        self.adapter, self.by_batch = call["adapter"]["kind"], call.get("batch") is True
        self.outputs = pa.ipc.open_stream(base64.b64decode(call["outputs"])).schema
        os.environ.update(call.get("env") or {})
        self.by_position = call["kind"] == "envelope"
        if self.by_position:
            self.target = self._unpack(call.get("backend", ""), artifact)
        else:
            self.target = self._load(call["kind"], artifact, call["entrypoint"])
        if not callable(self.target):
            raise Refused(f"{call.get('entrypoint') or call['function']} is no function and no class")
        self.initialization = call.get("initialization")
        self.instance = None
        self.batch_parameter, self.takes_arrays = self._style(self.target)

    @staticmethod
    def _unpack(backend: str, artifact: bytes):
        """Returns the callable of an envelope, from the operator's loader."""
        module, _, name = LOADER.partition(":")
        if not name:
            raise Refused(f"functions of the backend {backend!r} do not run here: the executor has no EXECUTOR_LOADER")
        return getattr(importlib.import_module(module), name)(backend, artifact)

    def _load(self, kind: str, artifact: bytes, entrypoint: str):
        if kind == "python_callable":
            files = {"user_function.py": artifact.decode()}
        elif kind == "python_bundle":
            files = json.loads(artifact)["files"]
        else:
            raise Refused(f"artifacts of the kind {kind} do not run here")
        self.folder = tempfile.TemporaryDirectory()
        for path, text in files.items():
            if not re.fullmatch(r"([A-Za-z_]\w*/)*[A-Za-z_]\w*\.py", path, re.ASCII):
                raise Refused(f"{path!r} is no path of a bundle")
            place = os.path.join(self.folder.name, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
        sys.path.insert(0, self.folder.name)
        return getattr(importlib.import_module("user_function"), entrypoint)

    def _instantiate(self):
        """Creates the instance of a class when the first rows arrive, because a call without rows, at registration, has
        no initialization. A null value selects the default of a parameter."""
        import pyarrow as pa

        values = {}
        if self.initialization:
            values = pa.ipc.open_stream(base64.b64decode(self.initialization)).read_all().to_pylist()[0]
        self.instance = self.target = self.target(**{name: value for name, value in values.items() if value is not None})

    @staticmethod
    def _style(target) -> tuple[str | None, bool]:
        """Returns the name of the parameter for a whole batch, or None, and whether all parameters are arrays. It
        compares the names of types, because the function's source need not import the types of its annotations."""
        call = target if inspect.isfunction(target) else (target if inspect.isclass(target) else type(target)).__call__
        try:
            parameters = [p for p in inspect.signature(call).parameters.values() if p.name != "self"]
        except ValueError:  # a function in C has no signature
            return None, False
        kinds = [getattr(p.annotation, "__name__", str(p.annotation)).rpartition(".")[2] for p in parameters]
        return parameters[0].name if kinds == ["RecordBatch"] else None, bool(kinds) and all(kind == "Array" for kind in kinds)

    def compute(self, batch):
        """Returns the output columns of a batch, and the errors by row, or None if no row failed."""
        import pyarrow as pa

        if batch.num_rows == 0:
            return [pa.array([], field.type) for field in self.outputs], None
        if self.batch_parameter:
            return self._columns(self.target(**{self.batch_parameter: batch}), batch.num_rows), None
        if self.takes_arrays and self.by_position:
            return self._columns(self.target(*batch.columns), batch.num_rows), None
        if self.takes_arrays:
            return self._columns(self.target(**dict(zip(batch.schema.names, batch.columns))), batch.num_rows), None
        rows, errors = [], []
        for row in batch.to_pylist():
            try:
                rows.append(self._fit(self._call(row)))
                errors.append(None)
            except Exception as error:
                if getattr(error, "retryable", False) is True:
                    raise
                rows.append([None] * len(self.outputs))
                errors.append(f"{type(error).__name__}: {error}"[:MOST_OF_MESSAGE])
        columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(self.outputs)]
        return columns, errors if any(errors) else None

    def _call(self, row: dict):
        return self.target(*row.values()) if self.by_position else self.target(**row)

    def _fit(self, returned) -> list:
        """Returns the outputs of a row as scalars, after checking their types."""
        import pyarrow as pa

        values = [returned]
        if self._is_spread(isinstance(returned, dict)):
            if not isinstance(returned, dict):
                raise TypeError(f"the function returned {type(returned).__name__}; it must be a dict of its outputs")
            values = [returned.get(field.name) for field in self.outputs]
        for value, field in zip(values, self.outputs):
            if value is None and not field.nullable:
                raise TypeError(f"the function returned no value of {field.name}")
            pa.array([value], field.type)
        return values

    def _is_spread(self, is_struct: bool) -> bool:
        """Reports whether the returned value contains the outputs as fields."""
        import pyarrow as pa

        return len(self.outputs) > 1 or is_struct and not pa.types.is_struct(self.outputs[0].type)

    def _columns(self, returned, rows: int) -> list:
        """Returns the output columns of a batch: from an array or, for several, from a batch or an array of structs."""
        import pyarrow as pa

        if isinstance(returned, (pa.RecordBatch, pa.Table)):
            columns = [returned.column(field.name) for field in self.outputs]
        elif self._is_spread(isinstance(returned, pa.StructArray)):
            columns = [returned.field(field.name) for field in self.outputs]
        else:
            columns = [returned]
        fitted = []
        for column, field in zip(columns, self.outputs):
            column = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, field.type)
            column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            if len(column) != rows:
                raise ValueError(f"the function returned {len(column)} values of {field.name} for {rows} rows")
            fitted.append(column.cast(field.type))
        return fitted

    def expand(self, batch):
        """Returns the result rows of all rows of a batch as columns, the first of which has the numbers of the input
        rows, and the errors by result row."""
        rows = batch.to_pylist()
        if self.by_batch:
            groups = list(self.target(batch)) if rows else []
            if len(groups) != len(rows):
                raise ValueError(f"the function returned {len(groups)} groups for {len(rows)} rows")
        parents, made, errors = [], [], []
        for number, row in enumerate(rows):
            try:
                group = [self._fit(self._plain(each)) for each in (groups[number] if self.by_batch else self._call(row)) or ()]
                made += group
                errors += [None] * len(group)
            except Exception as error:
                if getattr(error, "retryable", False) is True:
                    raise
                made.append([None] * len(self.outputs))
                errors.append(f"{type(error).__name__}: {error}"[:MOST_OF_MESSAGE])
            parents += [number] * (len(made) - len(parents))
        return [parents, *([row[i] for row in made] for i in range(len(self.outputs)))], errors

    def _plain(self, row):
        """Returns a row that the function yielded as a dict of outputs, if it is a tuple of them."""
        if hasattr(row, "_asdict"):
            return row._asdict()
        if isinstance(row, tuple) and len(row) == len(self.outputs) > 1:
            return dict(zip(self.outputs.names, row))
        return row

    def tables(self, table) -> list:
        """Returns the batches that the function computes from all rows together."""
        import pyarrow as pa

        returned = self.target(table) if table.num_rows else []
        batches = []
        for part in [returned] if isinstance(returned, (pa.Table, pa.RecordBatch)) else returned or ():
            if isinstance(part, pa.Table):
                part = part.combine_chunks()
            elif not isinstance(part, pa.RecordBatch):
                part = pa.RecordBatch.from_pylist([self._plain(part)], self.outputs)
            columns = (part.column(field.name).cast(field.type) for field in self.outputs)
            batches += pa.Table.from_arrays(list(columns), schema=self.outputs).to_batches()
        return batches

    def reply(self, stream: bytes) -> bytes:
        """Returns the stream of outputs for a stream of rows."""
        import pyarrow as pa

        table = pa.ipc.open_stream(stream).read_all()
        if table.num_rows and inspect.isclass(self.target):
            self._instantiate()
        fields = [field.with_nullable(True) for field in self.outputs]
        replies = []
        if self.adapter == ALL_ROWS:
            replies = self.tables(table)
            fields = list(self.outputs)
        for batch in table.to_batches() if self.adapter == EACH_ROW else ():
            columns, errors = self.compute(batch)
            if errors is not None:
                columns, fields = [*columns, pa.array(errors, pa.string())], [*fields, pa.field("__error", pa.string())]
            replies.append(pa.record_batch(columns, schema=pa.schema(fields)))
        if self.adapter == MANY_ROWS:
            fields = [pa.field("__parent", pa.int32()), *fields, pa.field("__error", pa.string())]
            for batch in table.to_batches():
                columns, errors = self.expand(batch)
                replies.append(pa.record_batch([pa.array(c, f.type) for c, f in zip([*columns, errors], fields)], schema=pa.schema(fields)))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, replies[0].schema if replies else pa.schema(fields)) as writer:
            for batch in replies:
                writer.write_batch(batch)
        return sink.getvalue().to_pybytes()

    def close(self):
        if hasattr(self.instance, "close"):
            self.instance.close()


# Frames


def read_exactly(file, size: int) -> bytes:
    data = file.read(size) if 0 <= size <= MOST_BYTES else b""
    if len(data) != size:
        raise EOFError
    return data


def frame(reply: bytes | Fault) -> bytes:
    status = isinstance(reply, Fault)
    data = json.dumps(reply._asdict()).encode() if status else reply
    return HEAD.pack(b"TYR1", status, len(data)) + data


def fault(error: BaseException) -> Fault:
    return Fault(type(error).__name__, str(error)[:MOST_OF_MESSAGE], getattr(error, "retryable", False) is True)


def serve_frames():
    """Serves calls of one function on standard input until it ends."""
    calls, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of functions must not mix with replies
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=end_with_parent, args=(os.getppid(),), daemon=True).start()
    replies.write(GREETING)
    replies.flush()
    function = None
    while head := calls.read(HEAD.size):
        _, size, stream_size = HEAD.unpack(head)
        call, stream = json.loads(read_exactly(calls, size)), read_exactly(calls, stream_size)
        try:
            function = function or Function(call)
            reply = function.reply(stream)
            if len(reply) > call.get("reply_bytes", MOST_BYTES):
                raise TooLarge(f"the reply has {len(reply)} bytes; {call['reply_bytes']} are possible")
        except (Exception, SystemExit) as error:
            reply = fault(error)
        replies.write(frame(reply))
        replies.flush()
    if function:
        function.close()


def end_with_parent(parent: int):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


# Servers with a process for each function


class Child:
    """A process that runs one function."""

    def __init__(self, key: str):
        self.key = key
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def do(self, call: dict, stream: bytes, is_new: bool) -> bytes | Fault:
        data = json.dumps(call).encode()
        timer = threading.Timer(call["deadline_ms"] / 1000, self.process.kill)
        timer.start()
        try:
            if is_new:
                read_exactly(self.process.stdout, len(GREETING))
            self.process.stdin.write(HEAD.pack(b"TYC1", len(data), len(stream)) + data + stream)
            self.process.stdin.flush()
            _, status, size = HEAD.unpack(read_exactly(self.process.stdout, HEAD.size))
            reply = read_exactly(self.process.stdout, size)
        except (EOFError, OSError):
            self.process.kill()
            return Fault("ExecutorCrashed", f"the process of the function ended with {self.process.wait()}", False)
        finally:
            timer.cancel()
        return Fault(**json.loads(reply)) if status else reply

    def close(self):
        self.process.stdin.close()
        self.process.wait()


idle: list[Child] = []  # the process used last is at the end
idle_lock = threading.Lock()


def run(call: dict, stream: bytes) -> bytes | Fault:
    """Runs a call in an idle process of its function, or in a new one."""
    identity = [call.get(name) for name in ("digest", "kind", "entrypoint", "backend", "adapter", "batch", "outputs", "initialization", "env")]
    key = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    with idle_lock:
        found = next((child for child in reversed(idle) if child.key == key), None)
        if found:
            idle.remove(found)
    if not found and "artifact_url" in call:
        call = {**call, "artifact": base64.b64encode(fetch(call["artifact_url"])).decode()}
    child = found or Child(key)
    reply = child.do(call, stream, is_new=not found)
    surplus = None
    with idle_lock:
        if child.process.poll() is None:
            idle.append(child)
        if len(idle) > MOST_IDLE:
            surplus = idle.pop(0)
    if surplus:
        surplus.close()
    return reply


def fetch(url: str) -> bytes:
    """Downloads data that the service has stored because it is too large for an event."""
    with urllib.request.urlopen(url, timeout=CLOCK_SECONDS) as answer:
        return read_exactly(answer, int(answer.headers["Content-Length"]))


def handler(event, _context):
    """Handles an invocation by AWS Lambda. Data that is too large for an event or a response is at signed URLs in the
    event."""
    stream = fetch(event["arrow_url"]) if "arrow_url" in event else base64.b64decode(event["arrow"])
    reply = run(event["call"], stream)
    if isinstance(reply, Fault):
        return reply._asdict()
    if len(reply) <= MOST_OF_RESPONSE:
        return {"arrow": base64.b64encode(reply).decode()}
    if "reply_url" not in event:
        return fault(TooLarge(f"the reply has {len(reply)} bytes; a response holds {MOST_OF_RESPONSE}"))._asdict()
    request = urllib.request.Request(event["reply_url"], reply, {"Content-Type": "application/octet-stream"}, method="PUT")
    with urllib.request.urlopen(request, timeout=CLOCK_SECONDS):
        return {"stored": True}


class Handler(BaseHTTPRequestHandler):
    key: bytes
    timeout = 60  # seconds after which a silent connection ends
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            return self.refuse(411)
        if self.path.rpartition("/v1/")[2] != "call" or not self.is_signed():
            return self.refuse(401)  # before the body is read
        if int(length) > MOST_BYTES:
            return self.refuse(413)
        body = self.rfile.read(int(length))
        if len(body) < HEAD.size or not hmac.compare_digest(hashlib.sha256(body).hexdigest(), self.headers["X-Tiltyard-Content-SHA256"]):
            return self.refuse(401)
        _, object_size, _ = HEAD.unpack(body[: HEAD.size])
        call = json.loads(body[HEAD.size : HEAD.size + object_size])
        reply = run(call, body[HEAD.size + object_size :])
        if isinstance(reply, Fault):
            return self.answer(422, json.dumps(reply._asdict()).encode(), "application/json")
        return self.answer(200, reply, "application/vnd.apache.arrow.stream")

    def is_signed(self) -> bool:
        """Reports whether the signature covers the headers, which include the digest of the body."""
        moment, digest = self.headers.get("X-Tiltyard-Time", "0"), self.headers.get("X-Tiltyard-Content-SHA256", "")
        text = "\n".join([self.command, self.path, moment, digest])
        want = "TILTYARD-HMAC-SHA256 " + hmac.new(self.key, text.encode(), "sha256").hexdigest()
        fresh = re.fullmatch("[0-9]{1,12}", moment) and abs(int(moment) - time.time()) < CLOCK_SECONDS
        is_digest = re.fullmatch("[0-9a-f]{64}", digest)
        return bool(fresh and is_digest) and hmac.compare_digest(want.encode(), self.headers.get("Authorization", "").encode())

    def refuse(self, status: int):
        """Refuses a request without reading its body, after which the connection cannot be used any more."""
        self.close_connection = True
        self.answer(status, b"", "text/plain")

    def answer(self, status: int, body: bytes, kind: str):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--http", metavar="HOST:PORT", help="serve calls by HTTP")
    parser.add_argument("--key-file", help="file of the key that calls are signed with")
    parser.add_argument("--cert", help="file of a certificate, to serve TLS")
    parser.add_argument("--cert-key", help="file of its key")
    options = parser.parse_args()
    if not options.http:
        return serve_frames()
    if not options.key_file:
        parser.error("--http needs --key-file")
    with open(options.key_file, "rb") as file:
        Handler.key = file.read().strip()
    host, _, port = options.http.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    if options.cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.cert, options.cert_key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(f"serving calls at {host}:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
