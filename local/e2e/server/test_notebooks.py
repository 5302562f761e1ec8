"""The notebooks of docs/notebooks run from the first cell to the last, and print what they have stored."""

from __future__ import annotations

import copy
import json
import os

import pytest

import notebooks
from process import Server, binary

pytestmark = pytest.mark.embedded("starts a server of its own")

FILES = sorted(notebooks.FOLDER.glob("*.ipynb"))


def printed(notebook: dict) -> list[list[str]]:
    return [[line for output in cell["outputs"] for line in output["text"]] for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_notebook(file, tmp_path, monkeypatch):
    stored = json.loads(file.read_text())
    with Server(tmp_path / "root", settings={"TILTYARD_STABLE_ROW_IDS": "on"}) as server:
        programs = tmp_path / "programs"
        programs.mkdir()
        (programs / "tiltyard").symlink_to(binary().resolve())
        monkeypatch.delenv("TILTYARD", raising=False)
        monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        monkeypatch.chdir(notebooks.FOLDER)  # as a kernel does
        monkeypatch.setenv("TILTYARD_URL", server.url)
        monkeypatch.setenv("TILTYARD_TOKEN", server.token)
        run = copy.deepcopy(stored)
        variables = notebooks.run(run)
        rows = variables["pictures"].count_rows() if file.stem == "images" else 0
    got, want = printed(run), printed(stored)
    assert [bool(lines) for lines in got] == [bool(lines) for lines in want]
    if file.stem == "text-search":  # its texts are those of the running Python
        assert variables["found"][0]["topic"] == "context-managers" and variables["news"][0]["topic"] == "house rules"
        assert (variables["done"].mode, variables["done"].rows_written) == ("incremental", 1)
    elif file.stem == "migration":
        assert got == want
    else:  # pictures change with the pages
        assert got[0] == want[0] and len(variables["files"]) == rows and got[3] == [f"{want[3][0].split(' of ')[0]} of {variables['first'].size()} bytes\n"]


def test_there_are_notebooks():
    assert {f.stem for f in FILES} == {"images", "migration", "text-search"}
