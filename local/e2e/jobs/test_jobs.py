"""Jobs during which servers are killed.

The job is to drop a namespace with many tables. The next server continues it where the last one
was. Once three servers have died during the job, the next one sets it aside, reports that in the
description of the job, and waits until a client resumes it.
"""

from __future__ import annotations

import datetime
import json
import pathlib
import time

import pytest

from process import Server
from wire import Wire

TABLES = 600
AT_ONCE = 8  # tables of a namespace are dropped at a time
WAIT_SECONDS = 120


def steps(job: dict) -> int:
    return job.get("progress", {}).get("steps_done", 0)


class Dropping:
    """A job that drops a namespace, and the servers that work on it one after the other."""

    def __init__(self, root: pathlib.Path):
        self.server = Server(root).start()
        self.wire = Wire(self.server.url, self.server.token)
        assert self.wire.post("/v1/namespace/n/create", {}).status == 200
        for i in range(TABLES):
            assert self.wire.post(f"/v1/table/n$t{i}/declare", {}).status == 200
        begun = self.wire.post("/v1/namespace/n/drop", {"behavior": "Cascade"})
        assert begun.status == 200, begun.body
        (self.id,) = begun.json["transaction_id"]
        self.record = root / "_records" / "job" / self.id

    def job(self) -> dict:
        found = self.wire.post("/v1/jobs/describe", {"job_id": self.id})
        assert found.status == 200, found.body
        return found.json

    def listed(self) -> dict:
        (found,) = [job for job in self.wire.post("/v1/jobs/list", {}).json["jobs"] if job["job_id"] == self.id]
        return found

    def tables_left(self) -> int:
        """Returns how many tables are in the namespace, which clients can no longer list."""
        return len(list((self.server.root / "_catalog" / "$n" / "t").glob("*")))

    def until(self, what):
        end = time.monotonic() + WAIT_SECONDS
        while not (found := what(self.job())):
            assert time.monotonic() < end, f"it did not come true: {self.job()}"
            time.sleep(0.01)
        return found

    def kill_over_it(self) -> int:
        """Kills the server when it has made some more progress, and returns its last report of
        the job."""
        before = steps(self.job())
        after = self.until(lambda job: steps(job) > before and steps(job))
        self.server.kill()
        work = json.loads(self.record.read_bytes())["value"]["work"]
        assert work["holder"] and self.tables_left() > 0, "the server was killed too late"
        return after

    def start(self) -> None:
        """Starts a server when the lease of the last one has run out."""
        record = json.loads(self.record.read_bytes())
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
        record["value"]["work"]["until"] = past.isoformat().replace("+00:00", "Z")
        self.record.write_text(json.dumps(record))
        self.start_again()

    def start_again(self) -> None:
        self.server.start()
        self.wire = Wire(self.server.url, self.server.token)

    def check_done(self, known: int) -> None:
        """Waits for the end of the job, of which so much was known to be done before."""
        job = self.until(lambda job: job["job_state"] != "IN_PROGRESS" and job)
        assert job["job_state"] == "DONE", job
        assert known < job["result"]["dropped"] <= TABLES + 1, job
        assert self.tables_left() == 0
        assert self.wire.post("/v1/namespace/n/exists", {}).status == 404


@pytest.fixture
def dropping(tmp_path):
    made = Dropping(tmp_path / "root")
    yield made
    made.server.stop()


@pytest.mark.embedded("kills the server")
def test_the_next_server_goes_on(dropping):
    known = dropping.kill_over_it()
    dropping.start()
    dropping.check_done(known)


@pytest.mark.embedded("kills the server")
def test_a_job_that_takes_three_servers_with_it_is_set_aside(dropping):
    for _ in range(2):
        dropping.kill_over_it()
        dropping.start()
    known = dropping.kill_over_it()
    dropping.start()
    job = dropping.until(lambda job: job["job_state"] != "IN_PROGRESS" and job)
    assert job["job_state"] == "FAILED", job
    assert "ended the process of its worker 3 times" in json.dumps(job) and "until the job is resumed" in json.dumps(job)
    assert dropping.listed()["state"] == "FAILED"

    # Neither this server nor the next one touches it.
    left, record = dropping.tables_left(), dropping.record.read_bytes()
    dropping.server.stop()
    dropping.start_again()
    time.sleep(1)
    assert dropping.job()["job_state"] == "FAILED"
    assert dropping.record.read_bytes() == record
    # Drops that were under way when a server died are completed by whoever comes across them.
    assert left - AT_ONCE <= dropping.tables_left() <= left

    resumed = dropping.wire.post("/v1/jobs/resume", {"job_id": dropping.id})
    assert resumed.status == 200, resumed.body
    dropping.check_done(known)
