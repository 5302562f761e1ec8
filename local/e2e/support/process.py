"""The server as a process: build it, start it on a free port, stop it, kill it. The same for
the functions behind the stand-in of a gateway.

The suite, the demo and the benchmark all start the server through this module, so that each of
them tests the program that users start and not a part of it.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
START_SECONDS = 60
STOP_SECONDS = 60
FUNCTIONS_START_SECONDS = 300  # the first time, what stands in for AWS is installed

# The line in which the server says where it is; with port 0 only it knows.
GREETING = re.compile(rb"tiltyard serves (\S+) at (http://\S+) ")

# The line in which it says who takes its place.
HANDOVER = re.compile(rb'msg="handing over" successor=(\d+)')

# What lines of a log have that speak of faults: panics and 500s, as text and as JSON.
FAULT = re.compile(rb"level=ERROR|\"level\":\"ERROR\"|^panic:|^fatal error:")


def faults(log: bytes) -> list[str]:
    return [line.decode(errors="replace") for line in log.splitlines() if FAULT.search(line)]


@functools.cache
def binary() -> pathlib.Path:
    """The program under test: E2E_BINARY, or bin/tiltyard built from the tree as it is, by what make has compiled."""
    given = os.environ.get("E2E_BINARY")
    if given:
        return pathlib.Path(given)
    path = REPOSITORY / "bin" / "tiltyard"
    build = ["go", "build", "-o", str(path), "./local/server"]
    subprocess.run(build, cwd=REPOSITORY, check=True, env={"GOFLAGS": "-trimpath", **os.environ, "CGO_ENABLED": "0"})
    return path


class Successor:
    """A process that another one started, so that its exit code is not known."""

    def __init__(self, pid: int):
        self.pid = pid

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(self.pid)], capture_output=True, text=True).stdout.strip()
        return None if state and not state.startswith("Z") else 0

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        deadline = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a successor", seconds)
            time.sleep(0.05)
        return 0


class Server:
    """A running server over a directory, or over a bucket at a URI. It is a context manager that stops it."""

    def __init__(self, root: pathlib.Path | str, *, token: str = "e2e-token", allow=(), settings=None, log: str = "", uri: str = "", program=None, socket=None):
        self.root = pathlib.Path(root)
        self.token = token
        self.url = ""
        self.started_in = 0.0  # seconds from exec to the first answered request
        self._command = [str(program or binary()), "serve", "--root", uri or str(self.root), "--listen", "127.0.0.1:0"]
        for directory in allow:
            self._command += ["--allow-location", str(directory)]
        self._environment = {**os.environ, **(settings or {})}
        if token:
            self._environment["TILTYARD_TOKEN"] = token
        self._process: subprocess.Popen | Successor | None = None
        self._descriptors = ()
        if socket:  # one that outlives the server, which gets it as systemd would give it
            self._descriptors = (socket.fileno(),)
            become = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
            self._command = [sys.executable, "-c", become, str(socket.fileno()), *self._command]
            self._environment["LISTEN_FDS"] = "1"
        self.log_path = self.root.parent / (log or f"{self.root.name}.log")

    def start(self) -> Server:
        """Starts the server and returns when it answers."""
        began = time.perf_counter()
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment, pass_fds=self._descriptors)
        deadline = time.monotonic() + START_SECONDS
        while not (greeting := GREETING.search(self.log()[offset:])):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"the server did not start:\n{self.log()[offset:].decode(errors='replace')}")
            time.sleep(0.002)
        self.url = greeting.group(2).decode()
        self._wait_until_healthy(deadline)
        self.started_in = time.perf_counter() - began
        return self

    def _wait_until_healthy(self, deadline: float) -> None:
        from wire import Wire  # not at the top: wire knows nothing of processes, nor need it

        while True:
            try:
                if Wire(self.url).call("GET", "/healthz").status == 200:
                    return
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise RuntimeError("the server does not answer /healthz")
            time.sleep(0.002)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hand_over(self) -> None:
        """Lets the server start its program anew, and returns when it has left its clients to that."""
        offset, process = self.log_path.stat().st_size, self._process
        process.send_signal(signal.SIGUSR2)
        code = process.wait(START_SECONDS + STOP_SECONDS)
        assert not code, f"the server ended with {code}:\n{self.log_tail()}"
        self._process = Successor(int(HANDOVER.search(self.log(offset)).group(1)))

    def stop(self) -> None:
        """Ends the server as an operator does, and insists that it ends well."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError("the server did not stop on SIGTERM") from None
        assert not code, f"the server ended with {code}:\n{self.log_tail()}"

    def kill(self) -> None:
        """Ends the server as a power failure does, except that the kernel still completes its
        writes."""
        process, self._process = self._process, None
        process.kill()
        process.wait()

    def log(self, offset: int = 0) -> bytes:
        with open(self.log_path, "rb") as file:
            file.seek(offset)
            return file.read()

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log().decode(errors="replace").splitlines()[-lines:])

    def faults(self) -> list[str]:
        """The lines of the log that speak of faults of the program: panics and 500s."""
        return faults(self.log())

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, kind, _error, _traceback) -> None:
        if kind is None:
            self.stop()
        elif self._process is not None:
            self.kill()
            print(self.log_tail(), file=sys.stderr)


class Functions:
    """The built functions behind a gateway, over the stand-in of S3, DynamoDB and SQS.

    E2E_FUNCTIONS is a folder like bin, with functions and lambda in it; without it both
    are built from the tree as it is.
    """

    GREETING = re.compile(rb"^the functions of \S+ answer at (http://\S+), over (s3://\S+) at (http://\S+)$", re.MULTILINE)
    URL = re.compile(rb"^the URL of the function \S+ is (http://\S+)$", re.MULTILINE)

    def __init__(self, log_path: pathlib.Path, *, token: str = "e2e-token", vends: bool = False):
        self.log_path, self.token = log_path, token
        self._keys = log_path.with_suffix(".keys") if vends else None  # what descriptions of tables have
        self.url = self.bucket = ""
        self.streams_at = ""  # the function that serves everything, without a gateway
        self.storage: dict[str, str] = {}  # options with which Lance opens tables there
        self._process: subprocess.Popen | None = None

    def start(self) -> Functions:
        """Starts all and returns when the gateway answers. The functions start when asked."""
        folder = self.folder()
        command = [str(REPOSITORY / "scripts" / "run-lambda.sh"), "-functions", f"{folder}/functions", "-listen", "127.0.0.1:0"]
        command += ["-url", "127.0.0.1:0"]
        # Small parts let tables of tests be large enough for queries in parts.
        environment = {**os.environ, "TILTYARD_TOKEN": self.token, "LAMBDA": f"{folder}/lambda", "TILTYARD_PART_BYTES": "256KiB"}
        if self._keys:
            environment["TILTYARD_VEND_KEYS"] = str(self._keys)
        with open(self.log_path, "wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        deadline = time.monotonic() + FUNCTIONS_START_SECONDS
        while True:
            log = self.log_path.read_bytes()
            greeting, url = self.GREETING.search(log), self.URL.search(log)
            if greeting and url:
                break
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the functions did not start:\n{self.log_path.read_text(errors='replace')}")
            time.sleep(0.05)
        self.url, self.bucket, endpoint = (group.decode() for group in greeting.groups())
        self.streams_at = url.group(1).decode()
        self.storage = {
            "aws_endpoint_url": endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": "test",
            "aws_secret_access_key": "test",
            "aws_allow_http": "true",
        }
        if self._keys:  # no function has started yet
            # The name without aws_ is that of credentials for a role, too; daft has another value for it.
            self._keys.write_text(json.dumps(self.storage | {"allow_http": "true"}))
        return self

    @staticmethod
    def folder() -> str:
        """Returns E2E_FUNCTIONS, or bin after a build of the tree."""
        if given := os.environ.get("E2E_FUNCTIONS"):
            return given
        subprocess.run([str(REPOSITORY / "scripts" / "build-functions.sh")], check=True)
        build = ["go", "build", "-o", "bin/lambda", "./local/standins/lambda"]
        subprocess.run(build, cwd=REPOSITORY, check=True, env={"GOFLAGS": "-trimpath", **os.environ, "CGO_ENABLED": "0"})
        return str(REPOSITORY / "bin")

    def stop(self) -> None:
        """Ends all of it as Ctrl-C does, and insists that it ends well."""
        os.killpg(self._process.pid, signal.SIGINT)
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            raise AssertionError("the functions did not stop on SIGINT") from None
        assert code == 0, f"the functions ended with {code}: {self.log_path}"

    def faults(self) -> list[str]:
        return faults(self.log_path.read_bytes())


def download(server: Server, path: str, body: bytes) -> int:
    """Posts a query and returns how many bytes were answered; they are not kept."""
    parts = urllib.parse.urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    connection.request("POST", path, body=body, headers={"Authorization": f"Bearer {server.token}"})
    response, received = connection.getresponse(), 0
    while piece := response.read(1 << 20):
        received += len(piece)
    connection.close()
    return received
