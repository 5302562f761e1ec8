"""A worker that cannot start, as after a deployment that went wrong: its queue gives the messages
of jobs up, and they end, with the reason, when there is a worker again.

The test breaks the worker of a deployment, so that no other test may run beside it."""

from __future__ import annotations

import json
import os

import pytest

from stack import Stack
from test_maintenance import finished, plant, until


@pytest.fixture
def stack():
    if not (name := os.environ.get("E2E_STACK")):
        pytest.skip("breaks the worker of a deployment, and E2E_STACK is not set")
    return Stack(name)


@pytest.mark.seconds(600)
def test_jobs_of_a_worker_that_cannot_start_fail_and_are_resumed(stack, wire, space):
    jobs, dead = (stack.find("AWS::SQS::Queue", name) for name in ("Jobs", "DeadLetters"))
    policy = json.loads(stack.attributes(jobs)["RedrivePolicy"])
    assert policy["deadLetterTargetArn"] == stack.attributes(dead)["QueueArn"]
    assert int(policy["maxReceiveCount"]) == 10
    plant(wire, space, 20)
    for queue in (jobs, dead):  # what other tests have left there would be delivered ten times, too
        stack.sqs("PurgeQueue", QueueUrl=queue)
    with stack.quick(jobs, dead):
        with stack.without(stack.find("AWS::Lambda::Function", "Worker"), "TILTYARD_ROOT"):
            (job,) = wire.post(f"/v1/namespace/{space}/drop", {"behavior": "Cascade"}).json["transaction_id"]
            until(lambda: given_up(stack, dead, job))
            assert wire.post("/v1/jobs/describe", {"job_id": job}).json["job_state"] == "IN_PROGRESS"
        told = finished(wire, job)
    assert told["job_state"] == "FAILED", told
    reason = "the message for the job was delivered again and again, and no worker could process it"
    assert reason in json.dumps(told), told
    transaction = wire.post(f"/v1/transaction/{job}/describe", {}).json
    assert transaction["status"] == "Failed" and reason in json.dumps(transaction), transaction
    assert wire.post("/v1/jobs/resume", {"job_id": job}).status == 200
    assert finished(wire, job)["job_state"] == "DONE"
    assert wire.post(f"/v1/namespace/{space}/exists", {}).status == 404


def given_up(stack: Stack, queue: str, job: str) -> bool:
    """Whether a message of the job is among those of a queue, which may also have some of other tests. The ones that
    are looked at stay away for a second, so that the next look finds others."""
    found = stack.sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=1)
    return any(job in message["Body"] for message in found.get("Messages", []))
