"""The snippets of README.md, run unchanged against an otherwise empty server, and the pages that lead, read as pages.py does."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

import pages
from process import Server

ROOT = pathlib.Path(__file__).parents[3]
ADDRESS = "http://127.0.0.1:10024"  # as the README has it

pytestmark = pytest.mark.embedded("starts a server of its own")


def snippets() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def test_snippets_run(tmp_path):
    found = snippets()
    assert len(found) == 2
    with Server(tmp_path / "root") as server:
        program = f"TOKEN = {server.token!r}\n" + "\n".join(found).replace(ADDRESS, server.url)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    # The search finds points 2 and 3 by their distance; pylance reads all three, as merged.
    assert re.search(r"2 +\[0\.5, 0\.6\] +0\.01\n.* 3 +\[0\.7, 0\.8\] +0\.13", done.stdout), done.stdout
    ids = re.search(r"^id: (\[.*\])$", re.sub(r"\n(?!vector|id|---)", "", done.stdout), re.MULTILINE)
    assert ids and re.findall(r"\d+", ids[1]) == ["1", "2", "3"], done.stdout


def test_readme_fits_two_screens():
    assert len((ROOT / "README.md").read_text().split()) <= 900


# Packages that only one page needs, as that page imports them.
NEEDS = {"from-chroma": ["chromadb"], "from-pgvector": ["pgserver", "psycopg"]}


@pytest.mark.parametrize("page", [pages.DOCS / "start.md", pages.DOCS / "mcp.md", *sorted((pages.DOCS / "guides").glob("*.md"))], ids=lambda page: page.stem)
def test_page(page, tmp_path):
    for package in NEEDS.get(page.stem, []):
        pytest.importorskip(package)  # make installs it with the others
        pinned = "".join((ROOT / "local/e2e" / name).read_text() for name in ("requirements.txt", "data.txt"))
        assert re.search(rf"^{package}\b", pinned, re.MULTILINE)
    with pages.Reader(tmp_path) as reader:
        reader.read(page)
