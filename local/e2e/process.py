"""The server as a process: build it, start it on a free port, stop it, kill it.

The suite, the demo and the benchmark all start the server through here, so that each of
them judges the program that users start and not a part of it.
"""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 20
STOP_SECONDS = 20

# The line in which the server says where it is; with port 0 only it knows.
GREETING = re.compile(rb"^tiltyard serves (\S+) at (http://\S+) ", re.MULTILINE)


def binary() -> pathlib.Path:
    """The program under test: E2E_BINARY, or bin/tiltyard built from the tree as it is."""
    given = os.environ.get("E2E_BINARY")
    if given:
        return pathlib.Path(given)
    path = REPOSITORY / "bin" / "tiltyard"
    build = ["go", "build", "-o", str(path), "./local/server"]
    subprocess.run(build, cwd=REPOSITORY, check=True, env={**os.environ, "CGO_ENABLED": "0"})
    return path


class Server:
    """A running server over a directory. It is a context manager that stops it."""

    def __init__(self, root: pathlib.Path | str, *, token: str = "e2e-token", allow=(), settings=None, log: str = ""):
        self.root = pathlib.Path(root)
        self.token = token
        self.url = ""
        self.started_in = 0.0  # seconds from exec to the first answered request
        self._command = [str(binary()), "serve", "--root", str(self.root), "--listen", "127.0.0.1:0"]
        for directory in allow:
            self._command += ["--allow-location", str(directory)]
        self._environment = {**os.environ, **(settings or {})}
        if token:
            self._environment["TILTYARD_TOKEN"] = token
        self._process: subprocess.Popen | None = None
        self.log_path = self.root.parent / (log or f"{self.root.name}.log")

    def start(self) -> Server:
        """Starts the server and returns when it answers."""
        began = time.perf_counter()
        offset = self.log_path.stat().st_size if self.log_path.exists() else 0
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, env=self._environment)
        deadline = time.monotonic() + START_SECONDS
        while not (greeting := GREETING.search(self.log()[offset:])):
            if self._process.poll() is not None or time.monotonic() > deadline:
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
        assert code == 0, f"the server ended with {code}:\n{self.log_tail()}"

    def kill(self) -> None:
        """Ends the server as a power cut does (but for what the kernel still writes)."""
        process, self._process = self._process, None
        process.kill()
        process.wait()

    def log(self) -> bytes:
        return self.log_path.read_bytes()

    def log_tail(self, lines: int = 60) -> str:
        return "\n".join(self.log().decode(errors="replace").splitlines()[-lines:])

    def faults(self) -> list[str]:
        """The lines of the log that speak of faults of the program: panics and 500s."""
        lines = self.log().decode(errors="replace").splitlines()
        return [line for line in lines if "level=ERROR" in line or line.startswith(("panic:", "fatal error:"))]

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, kind, _error, _traceback) -> None:
        if kind is None:
            self.stop()
        elif self._process is not None:
            self.kill()
            print(self.log_tail(), file=sys.stderr)
