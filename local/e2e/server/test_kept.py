"""What a deployment that is meant to be kept has beside its functions: the bucket of the audit,
a network, and a queue that gets events. scripts/try-kept.sh makes the deployment."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import urllib.error
import xml.etree.ElementTree as xml

import pytest

from process import binary
from stack import Stack, text_of
from test_maintenance import until


@pytest.fixture(scope="module")
def stack():
    if not (name := os.environ.get("E2E_STACK")):
        pytest.skip("looks at what a deployment keeps, and E2E_STACK is not set")
    return Stack(name)


@pytest.fixture(scope="module")
def audit(stack) -> str:
    return stack.find("AWS::S3::Bucket", "AuditStore")


def lines(packed: bytes) -> list[str]:
    """The lines of an object of the audit as CloudWatch sends them, packed. In AWS, Firehose unpacks them."""
    text, found, at = gzip.decompress(packed).decode(), [], 0
    while at < len(text):
        batch, at = json.JSONDecoder().raw_decode(text, at)
        found += [event["message"] for event in batch["logEvents"]]
    return found


def test_lines_of_the_audit_reach_their_bucket(stack, audit, wire, space, tmp_path):
    for i in range(5):
        assert wire.post(f"/v1/namespace/{space}$n{i}/create", {}).status == 200

    def kept():
        # A line may leave the function only with its next call.
        assert wire.post(f"/v1/namespace/{space}/describe", {}).status == 200
        found = [line for key in stack.keys(audit, "audit/") for line in lines(stack.s3(f"{audit}/{key}"))]
        made = [event for event in map(json.loads, found) if event["object"].startswith(f"{space}$n")]
        return found if len(made) == 5 else None

    found = until(kept)
    assert {json.loads(line)["msg"] for line in found} == {"audit"}, "other lines stay in the log"
    assert {json.loads(line)["principal"] for line in found} >= {"key:ada"}
    (tmp_path / "lines").write_text("".join(found))
    verified = subprocess.run([binary(), "audit", "verify", tmp_path / "lines"], capture_output=True, text=True)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_the_audit_is_locked(stack, audit):
    """No request deletes an object before its time that does not ask to bypass the lock."""
    lock = xml.fromstring(stack.s3(audit, object_lock=""))
    assert (text_of(lock, "Mode"), text_of(lock, "Days")) == (["GOVERNANCE"], ["365"])
    versions = xml.fromstring(stack.s3(audit, versions=""))
    (key, *_), (version, *_) = text_of(versions, "Key"), text_of(versions, "VersionId")
    with pytest.raises(urllib.error.HTTPError) as refused:
        stack.s3(f"{audit}/{key}", "DELETE", versionId=version)
    assert refused.value.code == 403
    assert key in stack.keys(audit, "audit/")


def test_functions_are_in_a_network_without_a_way_out(stack):
    network = stack.find("AWS::EC2::VPC")
    subnets = stack.query("ec2", "DescribeSubnets", **{"Filter.1.Name": "vpc-id", "Filter.1.Value.1": network})
    inside = set(text_of(subnets, "subnetId"))
    assert len(inside) == 2
    for kind, logical, function in stack.resources:
        if kind == "AWS::Lambda::Function":
            place = json.loads(stack.send("lambda", "GET", f"/2015-03-31/functions/{function}/configuration"))["VpcConfig"]
            assert set(place["SubnetIds"]) == inside and len(place["SecurityGroupIds"]) == 1, logical
    services = text_of(stack.query("ec2", "DescribeVpcEndpoints"), "serviceName")
    assert {name.rpartition(".")[2] for name in services} == {"s3", "dynamodb", "sqs", "kms"}
    assert not text_of(stack.query("ec2", "DescribeNatGateways"), "natGatewayId")


def test_a_queue_gets_the_events_of_changes(stack, wire, space):
    assert wire.post(f"/v1/namespace/{space}$new/create", {}).status == 200
    queue = stack.sqs("GetQueueUrl", QueueName="tiltyard-kept-events")["QueueUrl"]

    def event():
        for message in stack.sqs("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", []):
            got = json.loads(message["Body"])
            if got["type"] == "tiltyard.namespace.created" and got["data"]["id"] == [space, "new"]:
                return got
        return None

    assert until(event)["source"] == "urn:lake:kept"
