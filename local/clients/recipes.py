"""The pages of docs/clients as programs.

A page has blocks of code in one language, which together are one program, and blocks of text, which
together are all that the program prints. The program speaks to the server at ADDRESS with the
token "TOKEN". It drops what it creates, so that it runs again.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess

DOCS = pathlib.Path(__file__).parents[2] / "docs" / "clients"
ADDRESS = "http://127.0.0.1:10024"  # as the pages have it
SECONDS = 570  # less than the longest test may take


def page(client: str) -> str:
    return (DOCS / f"{client}.md").read_text()


def blocks(client: str, language: str) -> list[str]:
    """The blocks of the page in a language, which is the word behind the three backticks."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page(client), re.MULTILINE | re.DOTALL)


def program(client: str, language: str, server) -> str:
    """The blocks of the page in a language, for this server."""
    found = blocks(client, language)
    assert found, f"docs/clients/{client}.md has no code in {language}"
    text = "\n".join(found)
    assert ADDRESS in text and '"TOKEN"' in text, f"docs/clients/{client}.md does not say where the server is"
    return text.replace(ADDRESS, server.url).replace('"TOKEN"', f'"{server.token}"')


def run(command: list[str], **options) -> str:
    """Runs a program and returns what it printed."""
    environment = os.environ | options.pop("env", {})
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=environment, **options)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def check(client: str, printed: str) -> None:
    """The program printed what its page says."""
    assert printed.strip() == "".join(blocks(client, "text")).strip()


def same_dependency(client: str, pom: pathlib.Path) -> None:
    """The page has the dependency that the tests use."""
    (dependency,) = blocks(client, "xml")
    assert "".join(dependency.split()) in "".join(pom.read_text().split())
