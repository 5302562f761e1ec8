"""The program as its operator sees it: starting, stopping, and two of them at once."""

from __future__ import annotations

import os
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
