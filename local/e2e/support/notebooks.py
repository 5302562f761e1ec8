"""Runs the notebooks of docs/notebooks against a server, as Jupyter does: cell by cell, in one namespace.

    python notebooks.py FILE ...     # with TILTYARD_URL and TILTYARD_TOKEN; writes what the cells print into the files
"""

from __future__ import annotations

import contextlib
import io
import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).parents[3] / "docs" / "notebooks"


def run(notebook: dict) -> dict:
    """Runs the cells of code and keeps what they print as their output. It returns their variables."""
    variables = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        source, printed = "".join(cell["source"]), io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, "cell", "exec"), variables)
        lines = printed.getvalue().splitlines(keepends=True)
        cell["outputs"] = [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []
    return variables


def main() -> None:
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        notebook = json.loads(path.read_text())
        run(notebook)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
