"""Hooks of the site's generator, which mkdocs.yml names.

They add the pages outside of docs (CONTRIBUTING.md and others) and the notebooks, and change links to them. Links to
folders of the source become plain text, because the site does not contain the source.
"""

from __future__ import annotations

import json
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
ADDED = {"infra/COSTS.md": "costs.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
SHIM = 'src="https://unpkg.com/iframe-worker/shim"'
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^()\s]+)\)")


def on_files(files, config):
    """Adds pages for the files beside docs and for the notebooks, and leaves out the notebooks themselves."""
    for source, page in ADDED.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    for file in [f for f in files if f.src_uri.endswith((".ipynb", ".jsonl"))]:
        files.remove(file)
        if file.src_uri.endswith(".ipynb"):
            text = page_of_notebook(json.loads((ROOT / "docs" / file.src_uri).read_text()))
            files.append(File.generated(config, file.src_uri.removesuffix(".ipynb") + ".md", content=text))
    return files


def page_of_notebook(notebook: dict) -> str:
    """Returns the cells of a notebook as Markdown, with what they print."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        printed = "".join(line for output in cell.get("outputs", []) for line in output["text"])
        if printed:
            parts.append(f"```text\n{printed}```")
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown, page, config, files):
    """Changes the links of a page to those of the site."""
    uri = page.file.src_uri
    # The path of the page's source in the repository.
    source = next((s for s, added in ADDED.items() if added == uri), f"docs/{uri}")
    folder = posixpath.dirname(uri)

    def change(match):
        text, target = match.groups()
        file, mark, heading = target.partition("#")
        if not file or "://" in file:
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), file))
        if path in ADDED:
            to = ADDED[path]
        elif path.startswith("docs/"):
            to = re.sub(r"\.ipynb$", ".md", path.removeprefix("docs/"))
        else:
            return text if (ROOT / path).exists() else match[0]
        return f"[{text}]({posixpath.relpath(to, folder or '.')}{mark}{heading})"

    return outside_of_code(LINK, change, markdown)


def outside_of_code(pattern, change, markdown: str) -> str:
    """Replaces matches outside of fenced blocks."""
    pieces = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(p if p.startswith("```") else pattern.sub(change, p) for p in pieces)


def on_post_page(output, page, config):
    """Lets the search load its script from the site, not from another server."""
    assert SHIM in output, "the theme no longer loads the script that docs/assets has"
    local = posixpath.relpath("assets/iframe-worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace(SHIM, f'src="{local}"')


def on_post_template(output, template_name, config):
    """Does the same in the page for unknown addresses."""
    return output.replace(SHIM, 'src="/assets/iframe-worker.js"')
