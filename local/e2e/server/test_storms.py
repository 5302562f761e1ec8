"""The server over a bucket that refuses requests in bursts, as S3 does when it gets too many: nothing that was
acknowledged is lost, no client gets another error than 503 with a time to wait, and when the storm is over all works."""

from __future__ import annotations

import collections
import os
import re
import subprocess
import threading
import time

import pyarrow as pa
import pytest

from process import REPOSITORY, Server
from wire import Wire

BATCH = 20  # rows of an insert
WRITERS, READERS = 3, 2
STORMS = [(0.5, 3), (1, 2), (0.8, 3)]  # the share of refused requests, and seconds
CALM_SECONDS = 5  # after a storm, until all works again
GREETING = re.compile(rb"^the bucket lake answers at (http://\S+)$", re.MULTILINE)


@pytest.fixture
def bucket(tmp_path):
    """The URL of a bucket over a directory."""
    program = tmp_path / "bucket"
    environment = {"GOFLAGS": "-trimpath", **os.environ, "CGO_ENABLED": "0"}
    subprocess.run(["go", "build", "-o", program, "./local/standins/bucket"], cwd=REPOSITORY, check=True, env=environment)
    (tmp_path / "objects").mkdir()
    log = tmp_path / "bucket.log"
    with open(log, "wb") as out:
        process = subprocess.Popen([program, "-root", tmp_path / "objects"], stdout=out, stderr=out)
    deadline = time.monotonic() + 30
    while not (greeting := GREETING.search(log.read_bytes())):
        assert process.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.01)
    yield greeting.group(1).decode()
    process.terminate()
    process.wait(30)


class Caller(threading.Thread):
    """Does one thing after the other until it is told to stop."""

    def __init__(self, server: Server, number: int, stop: threading.Event):
        super().__init__()
        self.wire, self.stop_now = Wire(server.url, server.token), stop
        self.table, self.path = f"t{number % WRITERS}", f"/v1/table/t{number % WRITERS}"
        self.answers = collections.Counter()
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self.stop_now.is_set():
            answer = self.once()
            self.answers[answer.status] += 1
            if answer.status not in (200, 503) or answer.status == 503 and not answer.headers["Retry-After"]:
                self.wrong.append(f"{answer.status} {dict(answer.headers)} {bytes(answer.body[:300])}")
            if answer.status == 503:
                self.stop_now.wait(0.2)


class Writer(Caller):
    """Inserts batches, each with a number of its own."""

    def __init__(self, *given):
        super().__init__(*given)
        self.sent, self.acknowledged = 0, set()

    def once(self):
        self.sent += 1
        rows = pa.table({"batch": pa.array([self.sent] * BATCH, pa.int64()), "row": pa.array(range(BATCH), pa.int64())})
        answer = self.wire.upload(f"{self.path}/insert", rows)
        if answer.status == 200:
            self.acknowledged.add(self.sent)
        return answer

    def check(self, rows: pa.Table) -> None:
        there = collections.defaultdict(list)
        for row in rows.to_pylist():
            there[row["batch"]].append(row["row"])
        for batch, numbers in there.items():
            assert sorted(numbers) == list(range(BATCH)), f"batch {batch} is there in part or twice"
        assert self.acknowledged <= there.keys() <= set(range(self.sent + 1))


class Reader(Caller):
    """Counts rows, which are whole batches and do not become fewer."""

    seen = 0

    def once(self):
        answer = self.wire.post(f"{self.path}/count_rows", {"predicate": "row >= 0"})
        if answer.status == 200:
            if answer.json % BATCH or answer.json < self.seen:
                self.wrong.append(f"{answer.json} rows after {self.seen}")
            self.seen = answer.json
        return answer


@pytest.mark.embedded("starts a server over a bucket that refuses requests")
def test_storms_of_refusals(bucket, tmp_path):
    settings = {
        "AWS_ENDPOINT_URL_S3": bucket,
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    with Server(tmp_path / "root", uri="s3://lake", settings=settings) as server:
        wire, stop = Wire(server.url, server.token), threading.Event()
        empty = pa.schema([("batch", pa.int64()), ("row", pa.int64())]).empty_table()
        for number in range(WRITERS):
            assert wire.upload(f"/v1/table/t{number}/create", empty).status == 200
        writers = [Writer(server, number, stop) for number in range(WRITERS)]
        readers = [Reader(server, number, stop) for number in range(READERS)]
        for caller in writers + readers:
            caller.start()
        try:
            for share, seconds in STORMS:
                assert Wire(bucket).call("POST", f"/-/storm?share={share}&seconds={seconds}").status == 204
                time.sleep(seconds)
                acknowledged = [len(writer.acknowledged) for writer in writers]
                deadline = time.monotonic() + CALM_SECONDS
                while not all(len(writer.acknowledged) > before for writer, before in zip(writers, acknowledged)):
                    assert time.monotonic() < deadline, f"writers still wait {CALM_SECONDS} s after a storm"
                    time.sleep(0.05)
        finally:
            stop.set()
            for caller in writers + readers:
                caller.join()
        refused = Wire(bucket).call("GET", "/-/taken").json["requests"]["SLOWDOWN"]
        assert refused > 50 and all(caller.answers[200] for caller in writers + readers)
        assert not [wrong for caller in writers + readers for wrong in caller.wrong]
        for writer in writers:
            answer = wire.post(f"{writer.path}/query", {"columns": {"column_names": ["batch", "row"]}, "vector": {}, "k": 1 << 30})
            assert answer.status == 200, bytes(answer.body[:300])
            writer.check(answer.table)
        assert not server.faults()
