"""The client of the REST protocol in Rust."""

from __future__ import annotations

import pathlib

import pytest

import recipes

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "local" / "clients" / "rust"


@pytest.fixture
def rust(installed):
    """Compiles and runs a program."""
    installed("rust")

    def run(program: pathlib.Path, *arguments: str) -> str:
        return recipes.run([str(ROOT / "scripts" / "crate.sh"), "local/clients/rust", str(program), *arguments])

    return run


def test_recipe(rust, server, tmp_path):
    program = tmp_path / "main.rs"
    program.write_text(recipes.program("rust", "rust", server))
    recipes.check("rust", rust(program))


def test_the_page_names_what_is_tested():
    assert recipes.blocks("rust", "toml")[0] in (FOLDER / "Cargo.toml").read_text()


def test_suite(rust, server, space):
    assert rust(FOLDER / "src" / "main.rs", server.url, server.token, space).strip() == "done"
