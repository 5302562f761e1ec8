"""LanceDB's client for Node."""

from __future__ import annotations

import json
import pathlib

import pytest

import recipes

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def node(installed, server, tmp_path):
    """Runs a program of Node."""
    installed("node")

    def run(text: str) -> str:
        (tmp_path / "program.mjs").write_text(text)
        # A program finds packages in node_modules beside it, and nowhere else.
        start = f'cd "{tmp_path}" && ln -s "$NODE_PATH" node_modules && exec node program.mjs'
        return recipes.run([str(ROOT / "scripts" / "npm.sh"), "local/clients/node", "sh", "-c", start])

    return run


def test_recipe(node, server):
    recipes.check("node", node(recipes.program("node", "js", server)))


def test_page_installs_what_is_tested():
    packages = json.loads((ROOT / "local" / "clients" / "node" / "package.json").read_text())["dependencies"]
    assert "npm install " + " ".join(f"{name}@{version}" for name, version in packages.items()) in recipes.page("node")
