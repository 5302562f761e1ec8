"""A proxy between a client and the server that loses requests and responses on demand.

It stands for the equipment between real clients and servers: balancers that give up, networks
that break, gateways that repeat requests that they believe lost.
"""

from __future__ import annotations

import dataclasses
import http.client
import http.server
import itertools
import socket
import threading
import urllib.parse

ANSWER_SECONDS = 60
OF_THE_CONNECTION = ("transfer-encoding", "connection", "content-length")


@dataclasses.dataclass
class Seen:
    """A request that passed the proxy, with the server's response if the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    status: int | None = None

    @property
    def request_id(self) -> str | None:
        return self.headers.get("x-request-id")


# What may befall a request: nothing unusual, it never arrives, its answer is lost, it is answered with a
# status by the proxy (before or after it was forwarded), it arrives twice.
def lose_request(proxy, seen):
    return None


def forward(proxy, seen):
    return proxy.forward(seen)


def lose_answer(proxy, seen):
    proxy.forward(seen)
    return None


def instead(status: int):
    """Not forwarded, but answered with the status."""
    return lambda proxy, seen: Answer(status, {"content-type": "application/json"}, b'{"message":"from the proxy"}')


def afterwards(status: int):
    """Forwarded, and answered with the status all the same."""

    def fault(proxy, seen):
        proxy.forward(seen)
        return instead(status)(proxy, seen)

    return fault


def give_up(status: int):
    """Forwarded, but not waited for: the connection to the server is closed at once. The system
    keeps the last of the request until then, as the server may be quicker than we are."""

    def fault(proxy, seen):
        proxy.send(seen, corked=True).close()
        return instead(status)(proxy, seen)

    return fault


def twice(proxy, seen):
    """Sent twice, one after the other; the second answer counts."""
    proxy.forward(seen)
    return proxy.forward(seen)


def twice_at_once(proxy, seen):
    """Sent twice side by side; the first answer to come counts."""
    other = threading.Thread(target=proxy.forward, args=(seen,))
    other.start()
    answer = proxy.forward(seen)
    other.join()
    return answer


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Proxy:
    """Forwards to servers of the same tables, in turn. Each planned fault applies to one
    request: the next one whose path ends with the fault's."""

    def __init__(self, *urls: str):
        self._targets = itertools.cycle([urllib.parse.urlsplit(url) for url in urls])
        self.planned: list[tuple[str, object]] = []
        self._lock = threading.Lock()
        self.seen: list[Seen] = []
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def plan(self, operation: str, *faults) -> None:
        """The next requests for an operation, such as insert, meet these faults in turn."""
        with self._lock:
            self.planned += [(operation, fault) for fault in faults]

    def fault_for(self, seen: Seen):
        path = urllib.parse.urlsplit(seen.path).path.rstrip("/")
        with self._lock:
            self.seen.append(seen)
            for i, (operation, fault) in enumerate(self.planned):
                if path.endswith("/" + operation):
                    del self.planned[i]
                    return fault
        return forward

    def send(self, seen: Seen, corked: bool = False) -> http.client.HTTPConnection:
        """Sends a request on, over a connection of its own. What is corked is sent when that
        is closed, or when it fills a packet."""
        with self._lock:
            target = next(self._targets)
        connection = http.client.HTTPConnection(target.hostname, target.port, timeout=ANSWER_SECONDS)
        headers = {k: v for k, v in seen.headers.items() if k not in OF_THE_CONNECTION}
        connection.connect()
        if corked:
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        connection.request(seen.method, target.path.rstrip("/") + seen.path, body=seen.body, headers=headers)
        return connection

    def forward(self, seen: Seen) -> Answer:
        """Sends a request on and waits for the answer."""
        return self.receive(seen, self.send(seen))

    def receive(self, seen: Seen, connection: http.client.HTTPConnection) -> Answer:
        """Waits for the answer to a request that was sent."""
        try:
            response = connection.getresponse()
            answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()
        seen.status = answer.status
        return answer

    def sent(self, operation: str) -> list[Seen]:
        """The requests that came for an operation."""
        return [s for s in self.seen if urllib.parse.urlsplit(s.path).path.rstrip("/").endswith("/" + operation)]

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        headers = {k.lower(): v for k, v in self.headers.items()}
        seen = Seen(self.command, self.path, headers, self._body(headers))
        answer = self.proxy.fault_for(seen)(self.proxy, seen)
        if answer is None:
            self.close_connection = True
            self.connection.close()
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name not in OF_THE_CONNECTION:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def log_message(self, *_) -> None:
        """Prints nothing, because tests read the recorded requests."""
