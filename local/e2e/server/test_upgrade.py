"""One release takes the place of another while clients work, and that one its place again.

The second release is a copy of the first under another version, unless UPGRADE_TO is a folder like
bin with the program and the functions of another one. The clients are LanceDB's and pylance with
their own defaults: none of their calls may fail, and nothing that they were told may be lost.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import lance
import lance_namespace
import lancedb
import pytest

from process import Functions, Server, binary
from target import TARGET
from wire import Wire

# What each kind of traffic does at least before and after each change of the release.
ROUNDS = int(os.environ.get("UPGRADE_ROUNDS", "3"))
KEYS = 20


class Traffic:
    """Clients that work until they are told to stop, and what they were told."""

    def __init__(self, url: str, token: str, storage: dict[str, str] | None = None):
        self.url, self.token, self.storage = url, token, storage
        self.failed: list[str] = []
        self.counts = {kind: 0 for kind in ("insert", "merge", "read", "names", "build", "native")}
        self.inserted, self.merged = 0, {}
        self._stop = threading.Event()
        self._moved = threading.Condition()
        db = self.connect()
        db.create_table("rows", [{"id": -1, "n": 0}])
        db.create_table("keyed", [{"id": i, "n": 0} for i in range(KEYS)])
        self._threads = [threading.Thread(target=self._repeat, args=(kind,)) for kind in self.counts]

    def connect(self):
        return lancedb.connect("db://e2e", api_key=self.token, host_override=self.url)

    def _repeat(self, kind: str) -> None:
        turn = functools.partial(getattr(self, f"_{kind}"), self.connect())
        while not self._stop.is_set():
            try:
                turn(self.counts[kind])
            except Exception as failure:  # whatever a client shows
                self.failed.append(f"{kind} {self.counts[kind]}: {failure}")
            with self._moved:
                self.counts[kind] += 1
                self._moved.notify_all()

    def _insert(self, db, n: int) -> None:
        db.open_table("rows").add([{"id": n, "n": n}])
        self.inserted = n + 1

    def _merge(self, db, n: int) -> None:
        key = n % KEYS
        rows = [{"id": key, "n": n}, {"id": KEYS + n, "n": n}]
        db.open_table("keyed").merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        self.merged |= {key: n, KEYS + n: n}

    def _read(self, db, n: int) -> None:
        told = self.inserted
        table = db.open_table("rows")
        assert table.count_rows("id >= 0") >= told
        assert table.search().where("id = -1").to_list() == [{"id": -1, "n": 0}]

    def _names(self, db, n: int) -> None:
        db.create_table(f"short{n}", [{"id": n}])
        assert f"short{n}" in db.table_names(limit=1000)
        db.drop_table(f"short{n}")

    def _build(self, db, n: int) -> None:
        db.create_table(f"built{n}", [{"id": i} for i in range(300)])
        db.open_table(f"built{n}").create_scalar_index("id")
        time.sleep(0.3)  # a job each round is more than the worker keeps up with

    def _native(self, _db, n: int) -> None:
        told = self.inserted
        ns = lance_namespace.connect("rest", {"uri": self.url, "header.x-api-key": self.token})
        found = ns.describe_table(lance_namespace.DescribeTableRequest(id=["rows"]))
        assert lance.dataset(found.location, storage_options=self.storage).count_rows() > told

    def settle(self) -> None:
        """Returns when each kind of traffic has done some more rounds."""
        goal = {kind: count + ROUNDS for kind, count in self.counts.items()}
        with self._moved:
            self._moved.wait_for(lambda: all(self.counts[kind] >= goal[kind] for kind in goal))

    def __enter__(self) -> Traffic:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def check(self) -> None:
        """Asserts that nothing has failed and that what was told is there, and nothing else."""
        print(self.counts)
        assert not self.failed, "\n".join(self.failed)
        db = self.connect()
        ids = [row["id"] for row in db.open_table("rows").search().limit(1_000_000).to_list()]
        assert sorted(ids) == list(range(-1, self.inserted)), "rows were lost, or added twice"
        found = {row["id"]: row["n"] for row in db.open_table("keyed").search().limit(1_000_000).to_list()}
        assert found == {i: 0 for i in range(KEYS)} | self.merged
        built = [f"built{n}" for n in range(self.counts["build"])]
        assert sorted(db.table_names(limit=1000)) == sorted(["rows", "keyed", *built]), "not the tables that were made and not dropped"
        for name in built:
            table = db.open_table(name)
            table.wait_for_index(["id_idx"])
            assert table.index_stats("id_idx").num_indexed_rows == 300


def release_at(url: str) -> str:
    return Wire(url).call("GET", "/version").json["version"]


def put(program: pathlib.Path, place: pathlib.Path) -> None:
    """Puts a program in place by a rename, so that it is whole at any time."""
    new = place.with_name("new")
    try:
        os.link(program, new)
    except OSError:  # on another device
        shutil.copy2(program, new)
    new.replace(place)


def relabel(program: pathlib.Path, place: pathlib.Path) -> None:
    """Writes a copy of a Go program that says that it is another release."""
    data = program.read_bytes()
    version = re.search(rb"\nmod\ttiltyard\t([^\t]+)\t", data).group(1)
    other = version[:-1] + (b"~" if version[-1:] != b"~" else b"-")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data.replace(b"\nmod\ttiltyard\t" + version + b"\t", b"\nmod\ttiltyard\t" + other + b"\t"))
    place.chmod(0o755)
    if sys.platform == "darwin":
        subprocess.run(["codesign", "--force", "--sign", "-", place], check=True)


def other_release(folder: pathlib.Path, pattern: str, tmp_path: pathlib.Path) -> pathlib.Path:
    """Returns a folder with the programs of another release that are those of pattern in folder."""
    if given := os.environ.get("UPGRADE_TO"):
        return pathlib.Path(given).resolve()
    other = tmp_path / "other"
    for program in folder.glob(pattern):
        relabel(program, other / program.relative_to(folder))
    return other


@pytest.mark.skipif(TARGET != "embedded", reason="is about the server")
@pytest.mark.parametrize("way", ["signal", "socket"])
def test_the_server_is_replaced_while_clients_work(tmp_path, way):
    """By a signal, the server hands over to its successor. With a socket that outlives it, as one of
    systemd does, it is stopped and another one is started."""
    first, place = binary().resolve(), tmp_path / "bin" / "tiltyard"
    other = other_release(first.parent, first.name, tmp_path) / first.name
    place.parent.mkdir()
    put(first, place)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(tmp_path / "root", program=place, socket=listener if way == "socket" else None).start()
        names = [release_at(server.url)]
        with Traffic(server.url, server.token) as traffic:
            for program in (other, first):
                traffic.settle()
                put(program, place)
                if way == "signal":
                    server.hand_over()
                else:
                    server.stop()
                    server.start()
                names.append(release_at(server.url))
            traffic.settle()
        try:
            traffic.check()
        finally:
            server.stop()
    assert names[0] == names[2] != names[1]
    assert not server.faults()


@pytest.mark.skipif(TARGET != "embedded", reason="is about the server")
def test_a_successor_that_cannot_start_changes_nothing(tmp_path):
    place = tmp_path / "bin" / "tiltyard"
    place.parent.mkdir()
    put(binary().resolve(), place)
    with Server(tmp_path / "root", program=place) as server:
        broken = tmp_path / "broken"
        broken.write_text("#!/bin/sh\nexit 3\n")
        broken.chmod(0o755)
        put(broken, place)
        os.kill(server.pid, signal.SIGUSR2)
        while b"the successor could not start" not in server.log():
            time.sleep(0.05)
        assert Wire(server.url, server.token).call("GET", "/v1/table/").status == 200


@pytest.mark.skipif(TARGET != "lambda", reason="is about the functions")
def test_functions_are_replaced_while_clients_work(tmp_path, monkeypatch):
    """The programs of the functions are replaced one after the other, as a deployment does it."""
    first, place = pathlib.Path(Functions.folder()).resolve(), tmp_path / "bin"
    other = other_release(first, "functions/*/bootstrap", tmp_path)
    programs = [program.relative_to(first) for program in sorted(first.glob("functions/*/bootstrap"))]
    for program in programs:
        (place / program).parent.mkdir(parents=True)
        put(first / program, place / program)
    put(first / "lambda", place / "lambda")
    monkeypatch.setenv("E2E_FUNCTIONS", str(place))
    functions = Functions(tmp_path / "functions.log").start()
    try:
        names = [release_at(functions.url)]
        with Traffic(functions.url, functions.token, functions.storage) as traffic:
            for release in (other, first):
                traffic.settle()
                for program in programs:
                    put(release / program, place / program)
                names.append(release_at(functions.url))
            traffic.settle()
        traffic.check()
    finally:
        functions.stop()
    assert names[0] == names[2] != names[1]
    assert not functions.faults()
