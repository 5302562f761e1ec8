"""LanceDB's clients of former versions, at both ends of a range in which they differ from newer ones: until
0.27 they name columns with expressions by pairs, and until 0.36 they need the time of a version as a text."""

from __future__ import annotations

import pathlib
import sys

import pytest

import recipes

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "local" / "clients" / "older"
VERSIONS = [line.removeprefix("lancedb==") for line in (FOLDER / "requirements.txt").read_text().split()]


@pytest.mark.parametrize("version", VERSIONS)
def test_python(version, installed, server):
    """The packages that the client needs are those of the newer clients."""
    installed("older")
    environment = {"PYTHONPATH": str(ROOT / ".tools" / f"lancedb-{version}")}
    printed = recipes.run([sys.executable, "-W", "ignore", str(FOLDER / "suite.py"), server.url, server.token], env=environment)
    assert printed.split() == ["done", version]


def test_node(installed, server, tmp_path):
    installed("older-node")
    (tmp_path / "suite.mjs").write_text((FOLDER / "suite.mjs").read_text())
    # A program finds packages in node_modules beside it, and nowhere else.
    start = f'cd "{tmp_path}" && ln -s "$NODE_PATH" node_modules && exec node suite.mjs "{server.url}" "{server.token}"'
    printed = recipes.run([str(ROOT / "scripts" / "npm.sh"), "local/clients/older", "sh", "-c", start])
    assert printed.split()[-1:] == ["done"]
