"""Events that the built functions forward to a queue: the worker announces what the functions behind the gateway
have changed, and sends it on."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pyarrow as pa
import pytest

from target import TARGET
from test_jobs_functions import Cloud

QUEUE = "told"


@pytest.fixture
def cloud(tmp_path, monkeypatch):
    if TARGET != "lambda":
        pytest.skip("is about the functions")
    monkeypatch.setenv("TILTYARD_EVENTS", "urn:lake:test")
    monkeypatch.setenv("TILTYARD_EVENT_TARGET", f"arn:aws:sqs:us-east-1:000000000000:{QUEUE}")
    made = Cloud(tmp_path)
    made.aws("AmazonSQS", "CreateQueue", {"QueueName": QUEUE})
    yield made
    made.functions.stop()


def has_begun(cloud) -> bool:
    """Whether the log of events is there. What happened before has no events."""
    try:
        urllib.request.urlopen(f"{cloud.functions.storage['aws_endpoint_url']}/{cloud.name}/_events/start", timeout=30).close()
    except urllib.error.HTTPError as error:
        assert error.code == 404
        return False
    return True


def test_changes_of_tables_and_branches_are_told_to_a_queue(cloud):
    assert cloud.wire.post("/v1/namespace/first/create", {}).status == 200
    cloud.until(lambda: has_begun(cloud))
    rows = pa.table({"id": [1, 2, 3]})
    assert cloud.wire.post("/v1/namespace/n/create", {}).status == 200
    assert cloud.wire.upload("/v1/table/n$t/create", rows).status == 200
    assert cloud.wire.post("/v1/table/n$t/branches/create", {"name": "dev"}).status == 200
    assert cloud.wire.upload("/v1/table/n$t/insert?branch=dev", rows).status == 200

    want = {
        ("namespace.created", "n", "", 0, 0),
        ("table.created", "n$t", "", 0, 0),
        ("table.committed", "n$t", "", 1, 3),
        ("branch.committed", "n$t", "dev", 1, 3),
        ("branch.committed", "n$t", "dev", 2, 6),
    }
    queue, told = cloud.aws("AmazonSQS", "GetQueueUrl", {"QueueName": QUEUE})["QueueUrl"], {}

    def all_told() -> bool:
        for message in cloud.aws("AmazonSQS", "ReceiveMessage", {"QueueUrl": queue, "MaxNumberOfMessages": 10}).get("Messages", []):
            event = json.loads(message["Body"])
            assert event["source"] == "urn:lake:test"
            data = event["data"]
            told[event["id"]] = (
                event["type"].removeprefix("tiltyard."), event["subject"], data.get("branch", ""), data.get("version", 0), data.get("rows", 0)
            )  # fmt: skip
        return len(told) >= len(want)

    cloud.until(all_told)
    assert set(told.values()) == want and len(told) == len(want), told
