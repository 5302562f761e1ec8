"""What a deployment has made, and the hands of its operator: the API of AWS, or of what stands in
for it at AWS_ENDPOINT_URL, where no signature is checked."""

from __future__ import annotations

import contextlib
import json
import os
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml
from collections.abc import Iterator

SECONDS = 60
VERSIONS = {"cloudformation": "2010-05-15", "ec2": "2016-11-15"}


def text_of(root: xml.Element, name: str) -> list[str]:
    """The texts of all elements with a name, in any namespace."""
    return [element.text or "" for element in root.findall(".//{*}" + name)]


class API:
    """Requests to the services."""

    def __init__(self):
        self.endpoint = os.environ["AWS_ENDPOINT_URL"]

    def send(self, service: str, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        """A request. The names of headers have underscores in place of hyphens."""
        request = urllib.request.Request(self.endpoint + path, body, method=method)
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        scope = f"Credential=test/20260101/us-east-1/{service}/aws4_request"
        request.add_header("Authorization", f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0")
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.read()

    def query(self, service: str, action: str, **parameters: str) -> xml.Element:
        """A request in the form of the older services, which answer with XML."""
        form = urllib.parse.urlencode({"Action": action, "Version": VERSIONS[service], **parameters}).encode()
        return xml.fromstring(self.send(service, "POST", "/", form, Content_Type="application/x-www-form-urlencoded"))

    def sqs(self, operation: str, **request) -> dict:
        body = json.dumps(request).encode()
        answer = self.send("sqs", "POST", "/", body, Content_Type="application/x-amz-json-1.0", X_Amz_Target="AmazonSQS." + operation)
        return json.loads(answer or b"{}")

    def s3(self, path: str, method: str = "GET", **parameters: str) -> bytes:
        query = urllib.parse.urlencode({name.replace("_", "-"): value for name, value in parameters.items()})
        return self.send("s3", method, f"/{urllib.parse.quote(path)}?{query}")

    def keys(self, bucket: str, prefix: str) -> list[str]:
        return text_of(xml.fromstring(self.s3(bucket, list_type="2", prefix=prefix)), "Key")


class Stack(API):
    """The resources of the stacks NAME-storage and NAME-service."""

    def __init__(self, name: str):
        super().__init__()
        self.resources: list[tuple[str, str, str]] = []  # the type, the logical id, the physical id
        for part in ("storage", "service"):
            self.resources += self._list(f"{name}-{part}")

    def _list(self, name: str) -> Iterator[tuple[str, str, str]]:
        after: dict[str, str] = {}
        while True:
            page = self.query("cloudformation", "ListStackResources", StackName=name, **after)
            for one in page.findall(".//{*}member"):
                yield tuple(one.findtext("{*}" + field) for field in ("ResourceType", "LogicalResourceId", "PhysicalResourceId"))
            if not (token := text_of(page, "NextToken")):
                return
            after = {"NextToken": token[0]}

    def find(self, kind: str, logical: str = "") -> str:
        """The physical id of the one resource of a type whose logical id begins so."""
        (found,) = [physical for a, b, physical in self.resources if a == kind and b.startswith(logical)]
        return found

    def attributes(self, queue: str) -> dict[str, str]:
        return self.sqs("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]

    @contextlib.contextmanager
    def quick(self, *queues: str) -> Iterator[None]:
        """Within, messages that nobody extends are delivered again after two seconds."""
        before = {queue: self.attributes(queue)["VisibilityTimeout"] for queue in queues}
        try:
            for queue in queues:
                self.sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"VisibilityTimeout": "2"})
            yield
        finally:
            for queue, seconds in before.items():
                self.sqs("SetQueueAttributes", QueueUrl=queue, Attributes={"VisibilityTimeout": seconds})

    @contextlib.contextmanager
    def without(self, function: str, variable: str) -> Iterator[None]:
        """Within, a function does not have a variable of its environment."""
        path = f"/2015-03-31/functions/{function}/configuration"
        before = json.loads(self.send("lambda", "GET", path))["Environment"]["Variables"]

        def put(variables: dict[str, str]) -> None:
            body = json.dumps({"Environment": {"Variables": variables}}).encode()
            self.send("lambda", "PUT", path, body, Content_Type="application/json")

        put({name: value for name, value in before.items() if name != variable})
        try:
            yield
        finally:
            put(before)
