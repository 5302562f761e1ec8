"""Plain HTTP: requests that the clients do not allow, and parts of responses that they do not
show.

Wire is http.client with one kept-alive connection. Line is the same with as little Python
around the bytes as possible, for measuring; otherwise most of a request's time would be the
client's.
"""

from __future__ import annotations

import dataclasses
import http.client
import io
import json
import socket
import time
import urllib.parse
from collections.abc import Iterator

import pyarrow as pa

ARROW_STREAM = "application/vnd.apache.arrow.stream"
ARROW_FILE = "application/vnd.apache.arrow.file"


@dataclasses.dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes | memoryview

    @property
    def json(self):
        return json.loads(bytes(self.body))

    @property
    def table(self) -> pa.Table:
        with pa.ipc.open_file(io.BytesIO(self.body)) as reader:
            return reader.read_all()


class Wire:
    """A client of one server. Paths go out exactly as they are given."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 60):
        parts = urllib.parse.urlsplit(url)
        self.base = parts.path.rstrip("/")
        self.token = token
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> Answer:
        sent = {"User-Agent": "tiltyard-e2e"}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update(headers or {})
        for attempt in (1, 2):
            try:
                self._send(method, path, body, sent)
                response = self._connection.getresponse()
                return Answer(response.status, response.headers, response.read())
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                # The server closes an idle connection whenever it likes, and after some
                # refusals. A fresh connection that is cut is an answer of its own.
                self._connection.close()
                if attempt == 2:
                    raise
            except BaseException:
                self._connection.close()
                raise
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: bytes | None, headers: dict) -> None:
        try:
            self._connection.request(method, self.base + path, body=body, headers=headers)
        except BrokenPipeError:
            # The server has answered without reading all that we had to say.
            if self._connection.sock is None:
                raise

    def another(self) -> Wire:
        """One more client of the same server, with a connection of its own."""
        return type(self)(f"http://{self._connection.host}:{self._connection.port}{self.base}", self.token)

    def post(self, path: str, fields=None, **headers) -> Answer:
        """Posts a JSON object, or nothing at all."""
        body = None if fields is None else json.dumps(fields).encode()
        return self.call("POST", path, body, {"Content-Type": "application/json", **headers})

    def upload(self, path: str, rows) -> Answer:
        """Posts rows as an Arrow stream: a table, a batch, or bytes that claim to be one."""
        body = rows if isinstance(rows, bytes) else stream(rows)
        return self.call("POST", path, body, {"Content-Type": ARROW_STREAM})

    def upload_pieces(self, path: str, pieces: Iterator[bytes]) -> Answer:
        """Posts an Arrow stream in chunks, as they come, on a connection of its own."""
        connection = http.client.HTTPConnection(
            self._connection.host, self._connection.port, timeout=self._connection.timeout
        )
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": ARROW_STREAM,
            "Transfer-Encoding": "chunked",
        }
        connection.request("POST", self.base + path, body=pieces, headers=headers, encode_chunked=True)
        response = connection.getresponse()
        answer = Answer(response.status, response.headers, response.read())
        connection.close()
        return answer

    def close(self) -> None:
        self._connection.close()


LARGE = 1 << 20  # bytes that are not copied to be sent with one call
IDLE = 10  # seconds after which a server may have closed a connection


class Line(Wire):
    """A client that sends a request with one call, unless it is large, and reads nothing of
    the response but its status and its length. It must not be used for more than one request
    at a time; a large body is good until the next one, which gets its memory."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 60):
        super().__init__(url, token, timeout)
        self._timeout = timeout
        self._socket = None
        self._used = 0.0  # when the last request ended
        self._memory = bytearray(LARGE)

    def _connect(self) -> None:
        """Connects at the first request: a server waits for it only for some seconds."""
        self._socket = socket.create_connection((self._connection.host, self._connection.port), self._timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = self._socket.makefile("rb", 1 << 18)

    def call(self, method: str, path: str, body: bytes | None = None, headers: dict | None = None) -> Answer:
        lines = [
            f"{method} {self.base}{path} HTTP/1.1",
            "Host: localhost",
            "User-Agent: tiltyard-e2e",
            f"Content-Length: {len(body or b'')}",
        ]
        if self.token is not None:
            lines.append(f"Authorization: Bearer {self.token}")
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        head, body = ("\r\n".join(lines) + "\r\n\r\n").encode(), body or b""
        if len(body) < LARGE:
            head, body = head + body, b""
        if self._socket is not None and time.monotonic() - self._used > IDLE:
            self.close()
        if self._socket is None:
            self._connect()
        self._socket.sendall(head)
        self._socket.sendall(body)
        answer = self._read()
        self._used = time.monotonic()
        return answer

    def _read(self) -> Answer:
        status = int(self._reader.readline().split(None, 2)[1])
        length, chunked = 0, False
        while (line := self._reader.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            name = name.lower()
            if name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                chunked = b"chunked" in value
        if chunked:
            length = 0
            while size := int(self._reader.readline(), 16):
                self._fill(length, size)
                length += size
                self._reader.readline()
            self._reader.readline()
        else:
            self._fill(0, length)
        body = memoryview(self._memory)[:length]
        return Answer(status, http.client.HTTPMessage(), body if length > LARGE else bytes(body))

    def _fill(self, at: int, size: int) -> None:
        """Reads that many bytes into memory that has held larger bodies before, because copying
        them, or getting new pages from the system, is not a cost of the request."""
        if len(self._memory) < at + size:
            self._memory = self._memory + bytes(2 * (at + size) - len(self._memory))
        with memoryview(self._memory) as memory:
            while size:
                got = self._reader.readinto(memory[at : at + size])
                if not got:
                    raise ConnectionResetError("the answer broke off")
                at, size = at + got, size - got

    def close(self) -> None:
        if self._socket is not None:
            self._reader.close()
            self._socket.close()
            self._socket = None


def stream(rows: pa.Table | pa.RecordBatch, **options) -> bytes:
    """Rows as the bytes of an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write(rows)
    return sink.getvalue()
