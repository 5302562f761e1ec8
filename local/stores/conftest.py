"""The servers of the S3 protocol under test: scripts/test-stores.sh starts one and names it."""

from __future__ import annotations

import os
import pathlib
import sys
import uuid

import pyarrow.fs
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "support"))

ENDPOINT = os.environ.get("TILTYARD_TEST_S3", "")


def settings(endpoint: str = ENDPOINT) -> dict[str, str]:
    """The environment of a program over the server at an endpoint."""
    return {"AWS_ENDPOINT_URL_S3": endpoint, "AWS_REGION": "us-east-1"}


@pytest.fixture
def bucket() -> str:
    """A new bucket."""
    name = f"test-{uuid.uuid4().hex}"
    store = pyarrow.fs.S3FileSystem(
        access_key=os.environ["AWS_ACCESS_KEY_ID"], secret_key=os.environ["AWS_SECRET_ACCESS_KEY"], region="us-east-1",
        scheme="http", endpoint_override=ENDPOINT.removeprefix("http://"), allow_bucket_creation=True,
    )
    store.create_dir(name)
    return name


@pytest.fixture
def storage() -> dict[str, str]:
    """The storage options of native Lance."""
    return {
        "aws_access_key_id": os.environ["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": os.environ["AWS_SECRET_ACCESS_KEY"],
        "aws_region": "us-east-1", "aws_endpoint": ENDPOINT, "allow_http": "true",
    }
