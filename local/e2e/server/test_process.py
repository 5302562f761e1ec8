"""The program as its operator sees it: starting, stopping, and two of them at once."""

from __future__ import annotations

import os
import pathlib
import pty
import re
import subprocess
import threading
import time

import pyarrow as pa
import pytest

import sample
from process import Server, binary
from wire import Wire, stream

pytestmark = pytest.mark.embedded("starts servers of its own")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(binary()), *arguments], capture_output=True, text=True, timeout=30, env={**os.environ, **environment}
    )


def test_version_and_help():
    version = run("version")
    assert version.returncode == 0 and "tiltyard" in version.stdout and "0.13" in version.stdout
    text = run("serve", "--help").stdout
    for flag in ("--root", "--listen", "--token", "--allow-location"):
        assert flag in text and f"TILTYARD_{flag[2:].upper().replace('-', '_')}" in text


@pytest.mark.parametrize(
    "arguments,says",
    [
        (["serve", "--listen", "nowhere"], "listen"),
        (["serve", "--listen", "127.0.0.1:0", "--root", "/proc/nope"], "/proc/nope"),
        (["serve", "--listen", "127.0.0.1:0", "--cache-bytes", "much"], "cache-bytes"),
        (["serve", "--nonsense"], "nonsense"),
        (["juggle"], "juggle"),
    ],
    ids=["address", "root", "size", "flag", "command"],
)
def test_mistakes_are_told_at_once(tmp_path, arguments, says):
    done = run(*arguments, TILTYARD_ROOT=str(tmp_path / "root"))
    assert done.returncode != 0
    assert says in done.stderr and "panic" not in done.stderr and len(done.stderr.splitlines()) < 10


def test_taken_address_is_told(tmp_path):
    with Server(tmp_path / "root") as server:
        address = server.url.removeprefix("http://")
        done = run("serve", "--listen", address, "--root", str(tmp_path / "other"))
        assert done.returncode != 0 and address in done.stderr


def test_token_is_made_when_none_is_given(tmp_path):
    """The one line on the terminal is enough to connect, and the log never has the token."""
    server = Server(tmp_path / "root", token="")
    with server:
        greeting, log = re.split(r"\n(?=time=)", server.log().decode() + "\ntime=", maxsplit=1)
        token = re.search(r"api_key=\"([^\"]+)\"", greeting).group(1)
        assert len(token) >= 20
        assert Wire(server.url, token).post("/v1/namespace/$/exists").status == 200
        assert Wire(server.url, "wrong").post("/v1/namespace/$/exists").status == 401
        assert Wire(server.url).post("/v1/namespace/$/exists").status == 401
        assert token not in log


def test_secrets_stay_out_of_the_log(tmp_path):
    with Server(tmp_path / "root", settings={"TILTYARD_LOG_LEVEL": "debug"}, token="a-secret-token") as server:
        wire = Wire(server.url, server.token)
        wire.post("/v1/namespace/$/exists", {"identity": {"api_key": "another-secret"}})
        wire.post("/v1/namespace/n/create", {"properties": {"password": "third-secret"}})
        Wire(server.url, "fourth-secret").post("/v1/namespace/$/exists")
        wire.upload("/v1/table/t/create", sample.people(3))
        wire.post("/v1/table/t/query", {"k": 0, "vector": [], "filter": "name = 'fifth-secret'"})
        wire.post("/v1/table/t/query", {"k": 0, "vector": [], "filter": "nope = 'sixth-secret'"})
        log = server.log().decode()
    assert "msg=request" in log
    assert not re.findall(r"\S*-secret\S*", log)


def test_stopping_lets_requests_finish(tmp_path):
    """An upload that has begun when the server is asked to stop completes."""
    server = Server(tmp_path / "root").start()
    begun = threading.Event()

    def pieces():
        data = stream(sample.people(2000))
        yield data[: len(data) // 2]
        begun.set()
        time.sleep(0.5)
        yield data[len(data) // 2 :]

    answers = []
    upload = threading.Thread(
        target=lambda: answers.append(Wire(server.url, server.token).upload_pieces("/v1/table/t/create", pieces()))
    )
    upload.start()
    assert begun.wait(10)
    time.sleep(0.1)
    server.stop()
    upload.join(10)
    assert answers[0].status == 200, answers[0].body
    with server:
        assert Wire(server.url, server.token).post("/v1/table/t/count_rows").json == 2000


def test_restart_finds_everything(tmp_path):
    server = Server(tmp_path / "root")
    with server:
        wire = Wire(server.url, server.token)
        wire.post("/v1/namespace/n/create", {"properties": {"a": "b"}})
        wire.upload("/v1/table/n$t/create", sample.people(10))
        wire.upload("/v1/table/n$t/insert", sample.people(10, start=10))
    with server:
        wire = Wire(server.url, server.token)
        assert wire.post("/v1/namespace/n/describe").json["properties"] == {"a": "b"}
        assert wire.post("/v1/table/n$t/count_rows").json == 20
        assert wire.post("/v1/table/n$t/count_rows", {"version": 1}).json == 10
        assert server.started_in < 2


def test_two_servers_over_one_root_agree(tmp_path):
    """What one does the other sees at once, also where it remembers something else."""
    with Server(tmp_path / "root") as first, Server(tmp_path / "root", log="second.log") as second:
        a, b = Wire(first.url, first.token), Wire(second.url, second.token)
        count = lambda wire: wire.post("/v1/table/n$t/count_rows").json
        for turn in range(5):
            assert b.post("/v1/table/n$t/exists").status == 404
            assert b.post("/v1/namespace/n/exists").status == 404
            assert a.post("/v1/namespace/n/create").status == 200
            assert b.post("/v1/namespace/n/create").status == 409
            assert b.upload("/v1/table/n$t/create", pa.table({"x": [turn]})).status == 200
            assert a.upload("/v1/table/n$t/create", pa.table({"x": [turn]})).status == 409
            for wire, want in ((a, 2), (b, 3), (b, 4), (a, 5)):
                assert wire.upload("/v1/table/n$t/insert", pa.table({"x": [turn]})).status == 200
                assert count(a) == count(b) == want
            merge = "/v1/table/n$t/merge_insert?on=x&when_matched_update_all=true&when_not_matched_insert_all=true"
            assert a.upload(merge, pa.table({"x": [100 + turn]})).json["num_inserted_rows"] == 1
            assert b.upload(merge, pa.table({"x": [100 + turn]})).json["num_updated_rows"] == 1
            assert b.post("/v1/table/n$t/drop").status == 200
            assert a.post("/v1/table/n$t/count_rows").status == 404
            # Made anew by the one, with other columns, it takes rows from the other.
            assert b.upload("/v1/table/n$t/create", pa.table({"y": ["new"]})).status == 200
            assert a.upload("/v1/table/n$t/insert", pa.table({"y": ["newer"]})).status == 200
            assert b.post("/v1/namespace/n/drop", {"behavior": "Cascade"}).status == 200
            assert a.post("/v1/namespace/n/exists").status == 404


def test_two_servers_race_for_names_and_versions(tmp_path):
    with Server(tmp_path / "root") as first, Server(tmp_path / "root", log="second.log") as second:
        Wire(first.url, first.token).upload("/v1/table/t/create", pa.table({"w": [0]}))
        won, done = [], []

        def work(server: Server, worker: int) -> None:
            wire = Wire(server.url, server.token)
            for number in range(15):
                if wire.post(f"/v1/namespace/n{number}/create").status == 200:
                    won.append(number)
                answer = wire.upload("/v1/table/t/insert", pa.table({"w": [worker * 100 + number]}))
                assert answer.status == 200, answer.body
                done.append(worker * 100 + number)

        workers = [threading.Thread(target=work, args=(s, i)) for i, s in enumerate([first, second] * 3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert sorted(won) == list(range(15))
        assert len(done) == 90
        rows = Wire(second.url, second.token).post("/v1/table/t/query", {"k": 0, "vector": []}).table
        assert sorted(rows["w"].to_pylist()) == sorted([0, *done])


class Terminal:
    """The program on a terminal, in a folder of its own."""

    def __init__(self, folder, *arguments: str):
        self.folder, self.arguments, self.shown = folder, arguments, ""

    def __enter__(self) -> Terminal:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TILTYARD_")}
        self._ours, its = pty.openpty()
        program = str(pathlib.Path(binary()).resolve())
        self._process = subprocess.Popen([program, *self.arguments], stdin=its, stdout=its, stderr=its, cwd=self.folder, env={**clean, "TILTYARD_LISTEN": "127.0.0.1:0"})
        os.close(its)
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def _read(self) -> None:
        try:
            while piece := os.read(self._ours, 4096):
                self.shown += piece.decode().replace("\r\n", "\n")
        except OSError:
            pass  # the program has ended

    def find(self, pattern: str) -> re.Match:
        """Waits until the terminal shows a pattern."""
        deadline = time.monotonic() + 60
        while not (found := re.search(pattern, self.shown)):
            assert self._process.poll() is None and time.monotonic() < deadline, self.shown
            time.sleep(0.01)
        return found

    def __exit__(self, *_) -> None:
        self._process.terminate()
        assert self._process.wait(60) == 0, self.shown
        os.close(self._ours)


@pytest.mark.parametrize("arguments", [(), ("serve",)], ids=["alone", "serve"])
def test_a_terminal_shows_a_link_that_signs_in_once(tmp_path, arguments):
    with Terminal(tmp_path, *arguments) as terminal:
        url, code = terminal.find(r"Console  (http://\S+)/console/#code=([A-Z2-7]{26})  \(signs in, once").groups()
        own = terminal.find(r"Token    ([A-Z2-7]{26}) ").group(1)
        assert f"\nTables   {tmp_path}/data\nStop     Ctrl-C\n" in terminal.shown
        stranger = Wire(url)
        assert stranger.post("/console/session", {"code": "guess"}).status == 401
        session = stranger.post("/console/session", {"code": code})
        assert session.status == 200 and session.json["expires_in"] == 1800
        again = stranger.post("/console/session", {"code": code})
        assert again.status == 401 and "restart the server" in again.json["detail"]
        token = session.json["token"]
        for wire in (Wire(url, token), Wire(url, own)):
            assert wire.upload("/v1/table/t/create?mode=overwrite", pa.table({"x": [1]})).status == 200
        assert Wire(url, token).call("DELETE", "/console/session").status == 204
        assert Wire(url, token).call("GET", "/v1/table/").status == 401
        assert Wire(url, own).call("GET", "/v1/table/").status == 200
    for secret in (token, "INFO", "audit"):
        assert secret not in terminal.shown
    assert terminal.shown.count(code) == 1


def test_lines_of_requests_go_where_the_user_wants_them(tmp_path):
    with Terminal(tmp_path, "serve", "--log-level", "info", "--console-link", "off") as terminal:
        url, token = terminal.find(r"Console  (http://\S+)/console/\n").group(1), terminal.find(r"Token    (\S+)").group(1)
        Wire(url, token).upload("/v1/table/t/create", pa.table({"x": [1]}))
        terminal.find("level=INFO msg=request .*operation=CreateTable")
        terminal.find("msg=audit .*operation=CreateTable")
    with Terminal(tmp_path, "serve", "--access-log", "requests.log") as terminal:
        url, token = terminal.find(r"Console  (http://[^/]+)/console").group(1), terminal.find(r"Token    (\S+)").group(1)
        Wire(url, token).upload("/v1/table/t/create?mode=overwrite", pa.table({"x": [1]}))
    log = (tmp_path / "requests.log").read_text()
    assert "level=INFO" not in terminal.shown
    assert "msg=request" in log and "principal=token" in log and token not in log
    assert "lines" in run("audit", "verify", str(tmp_path / "requests.log")).stdout


def test_demo_serves_the_sample_and_keeps_it(tmp_path):
    for _ in range(2):  # the second time it exists
        with Terminal(tmp_path, "demo", "--root", "films") as terminal:
            url, token = terminal.find(r"Console  (http://[^/]+)/console/#code=").group(1), terminal.find(r"Token    (\S+)").group(1)
            rows = Wire(url, token).post("/v1/table/sample$films/query", {"k": 3, "vector": [], "full_text_query": {"query": "dragon"}}).table
            assert rows.num_rows == 3 and all(b"PNG" in poster for poster in rows["poster"].to_pylist())
            assert 0 < Wire(url, token).post("/v1/table/sample$recent_favourites/count_rows").json < 600


def test_demo_makes_the_sample_in_a_server_that_runs(tmp_path):
    with Server(tmp_path / "root") as server:
        environment = {"TILTYARD_URL": server.url, "TILTYARD_TOKEN": server.token}
        made = run("demo", **environment)
        assert made.returncode == 0 and f"sample/films is at {server.url}/console/" in made.stdout, made.stderr
        again = run("demo", **environment)
        assert again.returncode != 0 and "the sample exists already" in again.stderr
