"""Native Lance in Java, and the client of the REST protocol that it brings."""

from __future__ import annotations

import pathlib

import pytest

import recipes

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "local" / "clients" / "java"


@pytest.fixture(scope="module")
def jars(installed) -> str:
    """The folder with what Java needs."""
    installed("java")
    return recipes.run([str(ROOT / "scripts" / "jars.sh"), "local/clients/java"]).strip()


def java(jars: str, program: pathlib.Path, *arguments: str) -> str:
    return recipes.run(["java", "--add-opens=java.base/java.nio=ALL-UNNAMED", "-cp", f"{jars}/*", str(program), *arguments])


def test_recipe(jars, server, tmp_path):
    program = tmp_path / "Example.java"
    program.write_text(recipes.program("java", "java", server))
    recipes.check("java", java(jars, program))


def test_the_page_names_what_is_tested():
    recipes.same_dependency("java", FOLDER / "pom.xml")


def test_suite(jars, server, space, managed_space):
    assert java(jars, FOLDER / "Suite.java", server.url, server.token, space, managed_space).strip() == "done"
