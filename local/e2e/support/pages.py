"""Runs the code of a page of docs as its reader would, from the first block to the last, in an empty folder.

    ```sh title="server"       a server, in a terminal of its own; it replaces the server of an earlier such block
    ```sh                      commands
    ```python                  all such blocks of a page are one program
    ```text                    what the block before it prints; … stands for any text
    ```csv title="films.csv"   the content of a file in the folder; any other language will do

Indented blocks are not run. The commands find the program as bin/tiltyard. Pages name the server by its usual address,
which is replaced by that of the server under test. What make would do is only printed, not done, because the tests have
built the program already.
"""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
from typing import NamedTuple

from process import GREETING, REPOSITORY, binary

DOCS = REPOSITORY / "docs"
ADDRESS = "http://127.0.0.1:10024"  # as the pages have it
SECONDS = 120


class Block(NamedTuple):
    language: str
    title: str
    code: str
    line: int  # of the first line of the code in its page


def blocks(page: pathlib.Path) -> list[Block]:
    text = page.read_text()
    found = re.finditer(r'^```(\w+)(?: title="([^"]*)")?\n(.*?)^```$', text, re.MULTILINE | re.DOTALL)
    return [Block(m[1], m[2] or "", m[3], text.count("\n", 0, m.start(3)) + 1) for m in found]


class Reader:
    """Somebody who does what a page tells, in a folder. It is a context manager that stops the servers."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.listen = f"127.0.0.1:{free.getsockname()[1]}"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("TILTYARD_")}
        programs = folder / "bin"
        programs.mkdir()
        (programs / "tiltyard").symlink_to(binary().resolve())
        make = folder / "programs" / "make"
        make.parent.mkdir()
        make.write_text(f'#!/bin/sh\nexec "{shutil.which("make")}" -n -C "{REPOSITORY}" "$@" >/dev/null\n')
        make.chmod(0o755)
        self.environment["PATH"] = f"{make.parent}:{self.environment['PATH']}"
        self.environment["TILTYARD_URL"] = f"http://{self.listen}"
        self.variables = {"__name__": "__main__"}
        self.server: subprocess.Popen | None = None

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def read(self, page: pathlib.Path) -> None:
        """Runs a page. What differs from it is an AssertionError with the line of the page."""
        printed = ""
        for block in blocks(page):
            code, at = block.code.replace(ADDRESS, f"http://{self.listen}"), f"{page.name}:{block.line}"
            if block.language == "text":
                want = ".*".join(re.escape(part) for part in tidy(code).split("…"))
                assert re.fullmatch(want, tidy(printed), re.DOTALL), f"{at} promises\n{code}\nand the code prints\n{printed}"
            elif block.language == "sh" and block.title == "server":
                self.serve(code, at)
            elif block.language == "sh":
                printed = self.run(code, at)
            elif block.language == "python":
                printed = self.execute(code, at)
            else:
                assert block.title, f"{at}: nothing runs this block"
                (self.folder / block.title).write_text(block.code)

    def run(self, code: str, at: str) -> str:
        """Runs commands, and keeps the variables that they set for those to come."""
        kept = self.folder / "programs" / "environment"
        program = f"set -aeu\n{code}\nenv -0 >{kept}\n"
        done = subprocess.run(["bash", "-c", program], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0, f"{at}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        self.environment = dict(line.split("=", 1) for line in kept.read_text().split("\0") if line)
        return done.stdout

    def execute(self, code: str, at: str) -> str:
        printed, outside, folder = io.StringIO(), os.environ.copy(), os.getcwd()
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, at, "exec"), self.variables)
        finally:
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(outside)
        return printed.getvalue()

    def serve(self, code: str, at: str) -> None:
        self.stop()
        environment = {name: value for name, value in self.environment.items() if name != "TILTYARD_URL"}
        log = self.folder / "server.log"
        with open(log, "wb") as output:
            self.server = subprocess.Popen(
                ["bash", "-c", code], cwd=self.folder, env=environment | {"TILTYARD_LISTEN": self.listen}, stdout=output, stderr=output, start_new_session=True
            )
        deadline = time.monotonic() + SECONDS
        while not GREETING.search(log.read_bytes()):
            assert self.server.poll() is None and time.monotonic() < deadline, f"{at}: no server\n{log.read_text()}"
            time.sleep(0.02)

    def stop(self) -> None:
        if self.server and self.server.poll() is None:
            os.killpg(self.server.pid, signal.SIGTERM)
            self.server.wait(SECONDS)
        self.server = None


def tidy(printed: str) -> str:
    """Returns what was printed without spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in printed.strip().splitlines())
