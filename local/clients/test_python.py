"""The clients in Python, each in a process of its own, which is what its page describes."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest

import recipes

CLIENTS = ["daft", "duckdb", "langchain", "llamaindex", "ray"]

# The workers of Ray otherwise give way to all else that runs here, and start for minutes. A cluster of another
# test (test_clusters.py) is not to be used.
ENVIRONMENT = {"RAY_worker_niceness": "0", "RAY_ADDRESS": "local"}


@pytest.mark.seconds(600)  # Ray starts half a dozen processes, each of which imports a lot
@pytest.mark.parametrize("client", CLIENTS)
def test_recipe(client, server, tmp_path):
    printed = recipes.run([sys.executable, "-c", recipes.program(client, "python", server)], cwd=tmp_path, env=ENVIRONMENT)
    recipes.check(client, printed)


@pytest.mark.parametrize("client", CLIENTS)
def test_pages_install_what_is_tested(client):
    """What a page installs is what the suite has installed."""
    pinned = (pathlib.Path(__file__).parent / "requirements.txt").read_text().replace("_", "-").split()
    install = re.search(r"^    pip install (.*)$", recipes.page(client), re.MULTILINE)
    assert install and [word for word in install[1].split() if word not in pinned] == []


def test_what_daft_writes_the_service_reads(server, space, tmp_path):
    """Rows of the one are rows of the other, with vectors and nulls."""
    catalog = {"uri": server.url, "header.x-api-key": server.token}
    program = f"""
import daft, daft_lance
table = dict(namespace_impl="rest", namespace_properties={catalog!r}, table_id=[{space!r}, "t"])
read = daft_lance.read_lance(**table)
daft_lance.write_lance(read.with_column("id", daft.col("id") + 10), mode="append", **table)
print(sorted(daft_lance.read_lance(**table).to_pydict()["id"]))
"""
    db = server.lancedb()
    rows = [{"id": 1, "word": "a", "vector": [0.1, 0.2]}, {"id": 2, "word": None, "vector": [0.3, 0.4]}]
    table = db.create_table("t", rows, namespace_path=[space])
    assert recipes.run([sys.executable, "-c", program], cwd=tmp_path).strip() == "[1, 2, 11, 12]"
    table.checkout_latest()
    found = table.search([0.3, 0.4]).where("id > 2").limit(2).to_list()
    assert [(row["id"], row["word"]) for row in found] == [(12, None), (11, "a")]
    assert found[0]["vector"] == pytest.approx([0.3, 0.4])
