"""The console in a real browser: weighted searches, downloads, and the pages of versions and health."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv  # noqa: F401
import pytest
from playwright.sync_api import expect

from test_console import column, films, ids, movies, page, press, search, settle, shoot, shown, snippet, visit  # noqa: F401


def weighted(wire, space: str, vector: list[float], weights: dict[str, float]) -> list[int]:
    """The ids that the service finds with weights."""
    body = {"vector": {"single_vector": vector}, "vector_column": "vector", "prefilter": True, "k": 20,
            "full_text_query": {"string_query": {"query": "lantern harbor"}}, "rerank": {"method": "rrf", "weights": weights}}
    return wire.post(f"/v1/table/{space}$movies/query", body).table["id"].to_pylist()


def test_a_hybrid_search_weights_meaning_and_words(page, movies, wire, module_space):
    vector = movies.search().where("id = 5").limit(1).to_arrow()["vector"][0].as_py()
    visit(page, module_space, q="lantern harbor", k=20)
    slider = page.get_by_role("slider", name="Weights of meaning and words")
    assert slider.count() == 0
    visit(page, module_space, q="lantern harbor like:id=5", k=20)
    alike = ids(page)
    assert slider.input_value() == "50" and "balance" not in page.url
    assert alike == weighted(wire, module_space, vector, {})

    slider.fill("80")
    page.wait_for_function("() => location.hash.includes('balance=80')")
    settle(page)
    words = ids(page)
    assert words == weighted(wire, module_space, vector, {"vector": 0.4, "text": 1.6}) != alike
    expect(slider).to_have_attribute("aria-valuetext", "meaning 20 %, words 80 %")
    shoot(page, "weights")

    page.get_by_text("Saved", exact=True).click()
    page.get_by_label("Name of this search").fill("mostly words")
    press(page, "Save")
    slider.press("Home")
    page.wait_for_function("() => location.hash.includes('balance=0')")
    settle(page)
    meaning = ids(page)
    assert meaning == weighted(wire, module_space, vector, {"vector": 2, "text": 0})
    assert meaning[:5] == movies.search(vector).limit(5).to_arrow()["id"].to_pylist()
    page.go_back()
    expect(slider).to_have_value("80")
    visit(page, module_space)
    page.locator("#query").click()
    page.get_by_role("option", name="mostly words saved").click()
    expect(slider).to_have_value("80")
    settle(page)
    assert ids(page) == words
    slider.fill("50")
    page.wait_for_function("() => !location.hash.includes('balance')")


@pytest.mark.embedded("the page does not see what serves it")
def test_the_code_of_a_search_has_its_weights(page, movies, server, module_space, tmp_path):
    visit(page, module_space, q="lantern's harbor like:id=5", k=20, balance=80)
    want = ids(page)
    program = snippet(page, "Python") + "\nprint('ids', list(rows['id']))"
    assert server.token not in program
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TOKEN": server.token}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"ids {want}"
    press(page, "Node")
    assert '"rerank":{"method":"rrf","weights":{"vector":0.4,"text":1.6}}' in page.locator("pre.snippet").inner_text()
    press(page, "curl")
    subprocess.run(["sh", "-ec", page.locator("pre.snippet").inner_text()], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    with pa.ipc.open_stream((tmp_path / "rows.arrows").read_bytes()) as reader:
        assert reader.read_all()["id"].to_pylist() == want
