"""The HTTP API through which a Lambda function gets its events and gives its answers."""

from __future__ import annotations

import dataclasses
import json
import queue
import threading
import time
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PREFIX = "/2018-06-01/runtime/"


@dataclasses.dataclass
class Event:
    id: str
    function: str  # its ARN
    trace: str
    payload: bytes
    deadline: float  # seconds since the epoch
    answer: Future = dataclasses.field(default_factory=Future)  # (payload, whether it is an error)


class RuntimeAPI:
    """Serves one process, which works on one event at a time."""

    def __init__(self):
        self.asked = threading.Event()  # set once the process has asked for an event: it is ready
        self._waiting: queue.Queue[Event] = queue.Queue()
        self._working: dict[str, Event] = {}
        self._lock = threading.Lock()
        self._failure: str | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_port}"

    def call(self, event: Event) -> tuple[bytes, bool]:
        """Hands the event over and waits for the answer, past the deadline by no more than a second."""
        with self._lock:
            if self._failure is not None:
                return failure("Runtime.ExitError", self._failure), True
            self._working[event.id] = event
        self._waiting.put(event)
        try:
            return event.answer.result(timeout=event.deadline - time.time() + 1)
        except TimeoutError:
            return failure("Sandbox.Timedout", "the function took too long"), True
        finally:
            with self._lock:
                self._working.pop(event.id, None)

    def fail(self, message: str) -> None:
        """Answers what is waiting and what will be: the process has ended."""
        with self._lock:
            self._failure = message
            working = list(self._working.values())
        for event in working:
            self._settle(event, failure("Runtime.ExitError", message), True)
        self.asked.set()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, id: str, payload: bytes, wrong: bool) -> bool:
        with self._lock:
            event = self._working.get(id)
        return event is not None and self._settle(event, payload, wrong)

    @staticmethod
    def _settle(event: Event, payload: bytes, wrong: bool) -> bool:
        if event.answer.done():
            return False
        event.answer.set_result((payload, wrong))
        return True

    def _handler(api):
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # in two pieces a reply would wait 40 ms for the first to be acknowledged

            def do_GET(self):
                if self.path != PREFIX + "invocation/next":
                    return self._reply(404)
                api.asked.set()
                event = api._waiting.get()
                self._reply(
                    200,
                    event.payload,
                    {
                        "Lambda-Runtime-Aws-Request-Id": event.id,
                        "Lambda-Runtime-Invoked-Function-Arn": event.function,
                        "Lambda-Runtime-Trace-Id": event.trace,
                        "Lambda-Runtime-Deadline-Ms": str(int(event.deadline * 1000)),
                    },
                )

            def do_POST(self):
                body = self._body()
                match self.path.removeprefix(PREFIX).split("/"):
                    case ["init", "error"]:
                        api.fail(body.decode(errors="replace"))
                        self._reply(202)
                    case ["invocation", id, ("response" | "error") as kind]:
                        self._reply(202 if api.answer(id, body, kind == "error") else 400)
                    case _:
                        self._reply(404)

            def _body(self) -> bytes:
                if self.headers.get("Transfer-Encoding") != "chunked":
                    return self.rfile.read(int(self.headers.get("Content-Length", 0)))
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                while self.rfile.readline().strip():
                    pass  # trailers
                return b"".join(parts)

            def _reply(self, status: int, body: bytes = b"", headers: dict | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args):
                pass

        return Handler


def failure(kind: str, message: str) -> bytes:
    """What Lambda answers in place of a function."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()
