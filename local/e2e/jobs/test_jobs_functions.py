"""Jobs during which the processes of functions end, and messages that are given up.

The built functions work on jobs from a queue. The tests kill the worker function during a job,
as a job does that needs too much memory. The queue would deliver its message again some minutes
later, for which the tests do not wait: they let the lease of the dead worker expire and send
the message themselves.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import signal
import time
import urllib.request
import uuid

import pytest

from process import Functions
from target import TARGET
from wire import Wire

TABLES = 300
WAIT_SECONDS = 120


class Cloud:
    """The built functions, with a hand on their queues and their table of records."""

    def __init__(self, folder: pathlib.Path):
        self.functions = Functions(folder / "functions.log").start()
        self.wire = Wire(self.functions.url, self.functions.token)
        self.name = self.functions.bucket.removeprefix("s3://")

    def aws(self, service: str, operation: str, request: dict) -> dict:
        """Sends a request to the stand-in of AWS, which does not check signatures."""
        scope = service.partition("_")[0].lower().removeprefix("amazon")
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"{service}.{operation}",
            "Authorization": f"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/{scope}/aws4_request, SignedHeaders=host, Signature=0",
        }
        sent = urllib.request.Request(self.functions.storage["aws_endpoint_url"], json.dumps(request).encode(), headers)
        with urllib.request.urlopen(sent, timeout=30) as answer:
            return json.loads(answer.read() or b"{}")

    def queue(self, dead: bool = False) -> str:
        return self.aws("AmazonSQS", "GetQueueUrl", {"QueueName": self.name + "-dead" * dead})["QueueUrl"]

    def attributes(self, dead: bool = False) -> dict:
        return self.aws("AmazonSQS", "GetQueueAttributes", {"QueueUrl": self.queue(dead), "AttributeNames": ["All"]})["Attributes"]

    def send(self, message: dict, dead: bool = False) -> None:
        self.aws("AmazonSQS", "SendMessage", {"QueueUrl": self.queue(dead), "MessageBody": json.dumps(message)})

    def record(self, job: str) -> dict:
        key = {"folder": {"S": "job"}, "name": {"S": job}}
        found = self.aws("DynamoDB_20120810", "GetItem", {"TableName": self.name, "Key": key, "ConsistentRead": True})
        return json.loads(found["Item"]["value"]["S"])

    def put_record(self, job: str, value: dict) -> None:
        item = {"folder": {"S": "job"}, "name": {"S": job}, "value": {"S": json.dumps(value)}, "write": {"S": uuid.uuid4().hex}, "after": {"S": ""}}
        self.aws("DynamoDB_20120810", "PutItem", {"TableName": self.name, "Item": item})

    def job(self, job: str) -> dict:
        found = self.wire.post("/v1/jobs/describe", {"job_id": job})
        assert found.status == 200, found.body
        return found.json

    def until(self, what):
        end = time.monotonic() + WAIT_SECONDS
        while not (found := what()):
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.01)
        return found

    def ended(self, job: str) -> dict:
        return self.until(lambda: (found := self.job(job))["job_state"] != "IN_PROGRESS" and found)

    def workers(self) -> list[int]:
        """The processes of the worker function, of these functions and not of others here."""
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "exe").endswith("/functions/worker/bootstrap") and self.name_of(path) == self.functions.storage["aws_endpoint_url"]:
                    found.append(int(path.name))
            except OSError:
                continue  # it has ended, or is not ours
        return found

    @staticmethod
    def name_of(path: pathlib.Path) -> str:
        """The endpoint that a process works at."""
        for variable in (path / "environ").read_bytes().split(b"\0"):
            if variable.startswith(b"AWS_ENDPOINT_URL="):
                return variable.partition(b"=")[2].decode()
        return ""

    def kill_over(self, job: str) -> None:
        """Kills the worker when it has done a little more of a job, and lets the next one begin."""
        steps = self.record(job).get("done", 0)
        self.until(lambda: (now := self.record(job)).get("done", 0) > steps and now["work"].get("holder"))
        (pid,) = self.workers()
        os.kill(pid, signal.SIGKILL)
        self.until(lambda: pid not in self.workers())
        record = self.record(job)
        assert record["work"]["holder"], "the worker was killed too late"
        past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=1)
        record["work"]["until"] = past.isoformat().replace("+00:00", "Z")
        self.put_record(job, record)
        self.send({"job": job})


@pytest.fixture
def cloud(tmp_path):
    if TARGET != "lambda":
        pytest.skip("is about the functions")
    made = Cloud(tmp_path)
    yield made
    made.functions.stop()


def test_a_job_that_ends_three_workers_is_set_aside(cloud):
    assert cloud.wire.post("/v1/namespace/n/create", {}).status == 200
    for i in range(TABLES):
        assert cloud.wire.post(f"/v1/table/n$t{i}/declare", {}).status == 200
    begun = cloud.wire.post("/v1/namespace/n/drop", {"behavior": "Cascade"})
    assert begun.status == 200, begun.body
    (job,) = begun.json["transaction_id"]
    for _ in range(3):
        cloud.kill_over(job)
    told = cloud.ended(job)
    assert told["job_state"] == "FAILED", told
    assert "ended the process of its worker 3 times" in json.dumps(told) and "until the job is resumed" in json.dumps(told)
    (listed,) = [found for found in cloud.wire.post("/v1/jobs/list", {}).json["jobs"] if found["job_id"] == job]
    assert listed["state"] == "FAILED"

    # Whatever the queue still brings is done with, and changes nothing.
    before = cloud.record(job)
    cloud.send({"job": job})
    cloud.until(lambda: cloud.attributes()["ApproximateNumberOfMessages"] == "0")
    time.sleep(1)
    assert cloud.record(job) == before

    assert cloud.wire.post("/v1/jobs/resume", {"job_id": job}).status == 200
    told = cloud.ended(job)
    assert told["job_state"] == "DONE", told
    assert cloud.wire.post("/v1/namespace/n/exists", {}).status == 404


def test_a_job_whose_message_is_given_up_is_set_aside(cloud):
    policy = json.loads(cloud.attributes()["RedrivePolicy"])
    assert policy["deadLetterTargetArn"] == cloud.attributes(dead=True)["QueueArn"]
    assert int(policy["maxReceiveCount"]) > 3, "a message has to come again after each of three deaths"

    # A job that no worker knows, whose message would come until the queue gives it up.
    now = datetime.datetime.now(datetime.UTC)
    job = f"{2**48 - 1 - int(now.timestamp() * 1000):012x}" + uuid.uuid4().hex[:20]
    due = (now + datetime.timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    at = now.isoformat().replace("+00:00", "Z")
    cloud.put_record(job, {
        "id": job, "kind": "unheard-of", "object": ["n"], "status": "Queued", "created": at, "updated": at, "work": {"due": due},
    })
    assert cloud.job(job)["job_state"] == "IN_PROGRESS"
    cloud.send({"job": job}, dead=True)
    told = cloud.ended(job)
    assert told["job_state"] == "FAILED", told
    assert "was delivered again and again" in json.dumps(told) and "until the job is resumed" in json.dumps(told)
    cloud.until(lambda: cloud.attributes(dead=True)["ApproximateNumberOfMessages"] == "0")
