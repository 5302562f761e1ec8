"""Credentials in the description of a table: Lance opens the table with them, and nothing else."""

from __future__ import annotations

import os
import time

import lance
import pyarrow as pa
import pytest
from lance_namespace import DescribeTableRequest

from rows import assert_same

pytestmark = pytest.mark.skipif(not os.environ.get("E2E_VENDS"), reason="E2E_VENDS does not say that the server vends")

ROWS = pa.table({"id": [1, 2, 3], "text": ["a", None, "c"]})


@pytest.fixture
def no_environment(monkeypatch):
    """Removes the credentials that Lance would find by itself."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)


def test_vended_credentials_open_the_table(db, ns, space, no_environment):
    db.create_table("t", ROWS, namespace_path=[space])
    described = ns.describe_table(DescribeTableRequest(id=[space, "t"], vend_credentials=True))
    options = described.storage_options
    left = int(options["expires_at_millis"]) / 1000 - time.time()
    assert options["aws_session_token"] and 25 * 60 < left < 65 * 60
    assert_same(lance.dataset(described.location, storage_options=options).to_table(), ROWS)
    with pytest.raises(Exception):
        lance.dataset(described.location, storage_options={k: v for k, v in options.items() if "aws_" not in k})


def test_who_wants_none_gets_none(db, ns, space):
    db.create_table("t", ROWS, namespace_path=[space])
    described = ns.describe_table(DescribeTableRequest(id=[space, "t"], vend_credentials=False))
    assert not described.storage_options
