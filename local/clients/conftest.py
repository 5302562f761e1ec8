"""What the tests of other people's clients share: the server under test, as local/e2e starts it,
whose descriptions of tables have what is needed to open them.

Each client has a file of tests here and a page in docs/clients, whose code the tests run as it is
(recipes.py). A client whose packages could not be installed is left out, with the reason.
"""

from __future__ import annotations

import os
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e" / "support"))
pytest_plugins = ["target"]

LEFT_OUT = "E2E_WITHOUT"  # clients that scripts/test-clients.sh could not install, separated by spaces


@pytest.fixture(scope="session")
def vending() -> bool:
    """Clients open tables with what the catalog gives them, and not with this environment."""
    return True


@pytest.fixture(scope="session")
def installed():
    """Leaves the test out if the client of that name is not installed."""

    def check(client: str) -> None:
        if client in os.environ.get(LEFT_OUT, "").split():
            pytest.skip(f"{client} could not be installed")

    return check


def pytest_terminal_summary(terminalreporter):
    """Prints what tests have measured, which processes of pytest-xdist cannot."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, text in report.user_properties:
            if name == "figures":
                terminalreporter.line(text)


@pytest.fixture
def managed_space(server) -> str:
    """A namespace in which the catalog decides which versions of new tables exist."""
    name = "m" + uuid.uuid4().hex[:12]
    properties = {"managed_versioning": "true", "maintenance": "off"}
    assert server.wire().post(f"/v1/namespace/{name}/create", {"properties": properties}).status == 200
    return name


@pytest.fixture
def wire(server):
    """Plain HTTP to the server."""
    client = server.wire()
    yield client
    client.close()
