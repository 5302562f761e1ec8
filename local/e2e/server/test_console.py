"""The console in a real browser: what it shows is what the clients get.

SCREENSHOTS names a folder for pictures of the pages; make screenshots writes those of the docs.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import urllib.parse
import zlib

import numpy as np
import pyarrow as pa
import pytest
from lancedb.index import FTS
from lancedb.rerankers import RRFReranker
from playwright.sync_api import expect

import all_types as types
import expensive
from process import binary
from test_maintenance import maintain

COUNT, DIMENSIONS = 600, 32
WAIT = 120_000  # milliseconds; a search looks at the tables of all tests
expect.set_options(timeout=WAIT)
WORDS = "river night city garden storm letter ocean train mountain secret harbor winter lantern bridge forest violin".split()
GENRES = ["drama", "comedy", "thriller", "documentary"]


def picture(rgb) -> bytes:
    """A picture of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    side = 24
    lines = b"".join(b"\0" + bytes(rgb) * side for _ in range(side))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def films() -> pa.Table:
    """Films whose vectors lie near those of their genre."""
    random = np.random.default_rng(7)
    genre = random.integers(0, len(GENRES), COUNT)
    centres = random.normal(size=(len(GENRES), DIMENSIONS))
    vectors = (centres[genre] + random.normal(size=(COUNT, DIMENSIONS)) * 0.5).astype("f4")
    return pa.table({
        "id": pa.array(np.arange(COUNT)),
        "title": [" ".join(random.choice(WORDS, 3)).title() for _ in range(COUNT)],
        "genre": [GENRES[i] for i in genre],
        "rating": random.uniform(1, 10, COUNT).round(1),
        "plot": [" ".join(random.choice(WORDS, 18)) for _ in range(COUNT)],
        "poster": pa.array([picture(random.integers(0, 255, 3).tolist()) for _ in range(COUNT)], pa.binary()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSIONS),
    })


@pytest.fixture(scope="module")
def movies(db, module_space):
    """A table with versions, a tag, indices, deleted rows and rows that no index covers."""
    table = db.create_table("movies", films(), namespace_path=[module_space])
    table.delete("id = 3")
    table.update("id = 5", {"rating": 9.9})
    table.tags.create("first", 1)
    table.create_index("plot", config=FTS())
    table.wait_for_index(["plot_idx"])
    table.add(films().slice(0, 20).set_column(0, "id", pa.array(range(COUNT, COUNT + 20))))
    return table


@pytest.fixture
def page(browser, server):
    """A page on which somebody is signed in. It must not complain, nor try what its policy forbids."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if complains(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(WAIT)
    page.goto(f"{server.url}/console/")
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.get_by_role("tree").wait_for()
    yield page
    context.close()
    assert not complaints


def complains(message) -> bool:
    """Whether the browser says that the page is wrong; it also notes each refusal by the server."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource: the server responded with")


def shoot(page, name: str) -> None:
    """Keeps a picture of the page where they are asked for."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")


def visit(page, space: str, tab: str = "", table: str = "movies") -> None:
    """Opens a tab of the table, without loading the page again, which would sign out."""
    page.evaluate("hash => { location.hash = hash; }", f"#/table/{space}/{table}{'?' + tab if tab else ''}")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)  # the list of tables may be busy, too


def ids(page) -> list[int]:
    """The first column of the rows that a query found."""
    page.locator("#results table").wait_for()
    return [int(text) for text in page.locator("#results tbody tr > td:first-child").all_inner_texts()]


def run(page, button: str = "Run") -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.locator("#results[aria-busy=true]").wait_for(state="detached")


def test_only_who_has_a_token_gets_in(browser, server):
    page = browser.new_page()
    page.goto(f"{server.url}/console")
    assert page.url.endswith("/console/")
    page.fill("input[name=token]", "not the token")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("tree").count() == 0
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.get_by_role("tree").wait_for()
    kept = page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
    assert server.token not in kept
    page.reload()
    page.locator("input[name=token]").wait_for()
    page.close()


@pytest.mark.embedded("the page does not see what serves it")
def test_tables_are_found_by_keys_and_by_search(page, movies, module_space):
    page.keyboard.press("/")
    page.keyboard.type("movi")
    found = page.locator("#found a", has_text=module_space)
    found.wait_for()
    page.fill("#search", "first lantern")
    expect(page.locator("#found")).to_contain_text("No table has that.")
    page.fill("#search", f"{module_space} first poster")
    page.get_by_label("also columns").check()
    found.wait_for()
    expect(page.locator("#found li").first).to_contain_text("column poster: binary")
    expect(page.locator("#found li").first).to_contain_text("tag first")
    shoot(page, "search")
    page.fill("#search", "")
    item = page.get_by_role("treeitem", name=module_space)
    item.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("treeitem", name="movies").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="movies").wait_for()
    assert page.get_by_role("treeitem", name="movies").get_attribute("aria-current") is not None
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert item.get_attribute("aria-expanded") == "false"


def test_the_overview_agrees_with_the_client(page, movies, module_space):
    visit(page, module_space)
    text = page.locator("main .facts").inner_text()
    assert f"{movies.count_rows():,}" in text and f"{movies.version}" in text
    assert page.locator("td code", has_text=f"float32[{DIMENSIONS}]").count() == 1
    assert page.get_by_role("cell", name="first", exact=True).count() == 1
    vectors = page.get_by_role("region", name="Columns").get_by_role("row", name="vector")
    expect(vectors).to_contain_text(re.compile(r"\d KiB \d+\.\d %"))
    shoot(page, "overview")


def test_queries_find_what_the_client_finds(page, movies, module_space):
    visit(page, module_space, "query")
    page.fill("input[name=filter]", "rating > 9 AND genre = 'drama'")
    page.select_option("select[name=order]", "id")
    run(page)
    assert ids(page) == sorted(movies.search().where("rating > 9 AND genre = 'drama'").limit(1000).to_arrow()["id"].to_pylist())[:20]

    vector = movies.search().where("id = 5").limit(1).to_arrow()["vector"][0].as_py()
    page.select_option("select[name=kind]", "vector")
    page.fill("input[name=filter]", "rating > 3")
    page.fill("input[name=like]", "id = 5")
    run(page)
    assert ids(page) == movies.search(vector).where("rating > 3").limit(20).to_arrow()["id"].to_pylist()
    shown = page.locator("img.picture").first
    assert shown.evaluate("image => image.complete && image.naturalWidth") == 24
    shoot(page, "query")

    page.fill("input[name=filter]", "")
    page.select_option("select[name=kind]", "text")
    page.fill("input[name=text]", "lantern harbor")
    run(page)
    assert ids(page) == movies.search("lantern harbor", query_type="fts").limit(20).to_arrow()["id"].to_pylist()

    page.select_option("select[name=kind]", "hybrid")
    run(page)
    hybrid = movies.search(query_type="hybrid", vector_column_name="vector").vector(vector).text("lantern harbor")
    want = hybrid.rerank(RRFReranker()).limit(20).to_arrow()
    scores = dict(zip(want["id"].to_pylist(), want["_relevance_score"].to_pylist()))
    got = ids(page)
    assert got[0] == want["id"][0].as_py() and len(got) == 20
    told = page.locator("#results tbody tr > td:last-child").all_inner_texts()
    for one, score in zip(got, told):
        assert one not in scores or float(score) == pytest.approx(scores[one], rel=1e-4)
    assert len(set(got) & set(scores)) >= 18  # rows of one score are in any order


@pytest.mark.embedded("the page does not see what serves it")
def test_plans_are_trees_with_times(page, movies, module_space):
    visit(page, module_space, "query")
    page.select_option("select[name=kind]", "text")
    page.fill("input[name=text]", "river")
    run(page, "Plan")
    assert page.locator(".plan strong", has_text="MatchText").count() == 1
    run(page, "Run and measure")
    assert page.locator(".plan .took").count() >= 3
    assert page.locator(".plan .figure", has_text="requests").count() >= 1
    shoot(page, "plan")


@pytest.mark.embedded("the page does not see what serves it")
def test_what_is_copied_for_python_runs(page, movies, module_space, server):
    visit(page, module_space, "query")
    page.select_option("select[name=kind]", "vector")
    page.fill("input[name=like]", "id = 5")
    page.fill("input[name=filter]", "title <> 'it''s \"quoted\"'")
    run(page)
    want = ids(page)
    run(page, "As Python")
    program = page.locator("pre.snippet").inner_text() + "\nprint('ids', list(rows['id']))"
    assert server.token not in program
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TOKEN": server.token}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"ids {want}"


def test_what_is_copied_for_curl_runs(page, movies, module_space, server, tmp_path):
    visit(page, module_space, "query")
    page.fill("input[name=filter]", "title <> 'it''s' AND id < 50")
    run(page)
    want = ids(page)
    run(page, "As curl")
    command = page.locator("pre.snippet").inner_text()
    subprocess.run(["sh", "-ec", command], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    with pa.ipc.open_stream((tmp_path / "rows.arrows").read_bytes()) as reader:
        assert reader.read_all()["id"].to_pylist() == want


def test_a_hybrid_query_for_curl_keeps_both_answers(page, movies, module_space, server, tmp_path):
    visit(page, module_space, "query")
    page.select_option("select[name=kind]", "hybrid")
    page.fill("input[name=like]", "id = 5")
    page.fill("input[name=text]", "lantern")
    run(page, "As curl")
    command = page.locator("pre.snippet").inner_text()
    subprocess.run(["sh", "-ec", command], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    columns = {f.name: pa.ipc.open_stream(f.read_bytes()).schema.names for f in tmp_path.iterdir()}
    assert "_distance" in columns["vectors.arrows"] and "_score" in columns["text.arrows"] and len(columns) == 2


@pytest.mark.embedded("the page does not see what serves it")
def test_values_of_all_types_are_those_of_the_command_line(page, server, module_space):
    table = types.all_types()
    created = server.wire().upload(f"/v1/table/{module_space}$types/create", table)
    assert created.status == 200, created.body

    def line(*args) -> list[list[str]]:
        env = {**os.environ, "TILTYARD_URL": server.url, "TILTYARD_TOKEN": server.token}
        done = subprocess.run([str(binary()), *args], capture_output=True, text=True, env=env, timeout=60)
        assert done.returncode == 0, done.stderr
        return [re.split(r"  +", text) for text in done.stdout.splitlines()]

    visit(page, module_space, "query", "types")
    page.select_option("select[name=order]", "id")
    run(page)
    shown = [row.split("\t") for row in page.locator("#results tr").all_inner_texts()]
    shoot(page, "types")
    assert shown[0] == table.schema.names
    assert shown == line("query", f"{module_space}/types", "--order-by", "id")
    first = dict(zip(shown[0], shown[1]))
    assert {name: first[name] for name in types.TEXTS} == types.TEXTS
    visit(page, module_space, "", "types")
    cells = "rows => rows.map(row => [row.cells[0].innerText, row.cells[1].innerText])"
    told = dict(page.get_by_role("region", name="Columns").locator("tbody tr").evaluate_all(cells))
    assert {name: told[name] for name in types.TYPES} == types.TYPES
    columns = {row[0]: row[1] for row in line("table", "show", f"{module_space}/types") if len(row) > 1}
    assert {name: columns[name] for name in types.TYPES} == types.TYPES


def test_a_refusal_of_the_server_names_its_request(page, movies, module_space):
    refused = {"status": 500, "json": {"error": "internal error", "code": 18, "request_id": "the-request"}}
    page.route("**/query", lambda route: route.fulfill(**refused))
    visit(page, module_space, "query")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("the-request")


def test_the_address_of_the_server_leads_to_the_console(browser, server):
    page = browser.new_page()
    page.goto(server.url)
    page.locator("input[name=token]").wait_for()
    assert page.url == f"{server.url}/console/" and page.request.get(f"{server.url}/favicon.ico").ok
    page.close()


def differing(page) -> list[list[str]]:
    """The cells of the rows that differ, as the tab Compare lists them."""
    rows = page.locator("table", has_text="Rows that differ").locator("tbody tr")
    rows.first.wait_for()
    return [[text.strip() for text in row.split("\t")] for row in rows.all_inner_texts()]


def compare(page, key: str) -> None:
    page.get_by_role("cell", name="Deleted rows", exact=True).wait_for()
    page.select_option("select[name=key]", key)
    page.get_by_role("button", name="Compare", exact=True).click()


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.embedded("the page does not see what serves it")
def test_versions_are_compared_by_the_rows_that_differ(page, db, wire, module_space, stable):
    name = f"long{stable}".lower()
    ids = [i // 2 for i in range(30_000)]  # two rows for each key
    rows = pa.table({"id": ids, "n": list(range(30_000)), "v": [0.5] * 30_000})
    options = urllib.parse.quote(json.dumps({"new_table_enable_stable_row_ids": str(stable).lower()}))
    assert wire.upload(f"/v1/table/{module_space}${name}/create?storage_options={options}", rows).status == 200
    table = db.open_table(name, namespace_path=[module_space])
    table.update("n = 29000", {"v": 0.25})
    table.delete("n = 24001")
    table.add(pa.table({"id": [7], "n": [-1], "v": [1.5]}))
    changed = table.version
    visit(page, module_space, f"compare&a=1&b={changed}", name)
    compare(page, "id")
    assert sorted(differing(page)) == [["+ added", "7", "id 7 n -1 v 1.5"], ["± changed", "14500", "v 0.5 → 0.25"], ["− removed", "12000", "id 12000 n 24001 v 0.5"]]
    compare(page, "")
    assert sorted(row[0] for row in differing(page)) == (["+ added", "± changed", "− removed"] if stable else ["+ added", "+ added", "− removed", "− removed"])
    assert maintain(wire, f"{module_space}${name}", compact=True)["fragments_added"] > 0
    visit(page, module_space, f"compare&a={changed}&b={table.version}", name)
    compare(page, "n")
    page.get_by_text("No rows differ" if stable else "No rows differ among the first 20,000 that were removed, added or moved").wait_for()


@pytest.mark.embedded("the page does not see what serves it")
def test_refusals_are_told_in_the_words_of_the_service(page, movies, module_space):
    visit(page, module_space, "query")
    page.fill("input[name=filter]", "nothing_like_it > 3")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("alert").wait_for()
    assert "nothing_like_it" in page.get_by_role("alert").inner_text()


def test_versions_and_their_difference(page, movies, module_space):
    visit(page, module_space, "versions")
    page.locator("tbody tr").first.wait_for()
    assert page.locator("tbody tr").count() == len(movies.list_versions())
    deleted = page.get_by_role("row").filter(has=page.get_by_role("link", name="Delete", exact=True))
    assert re.search(r"\t(\S+)\tDelete\t599\t1\t1\t", deleted.inner_text())  # by whom, what, rows and deleted rows
    made_by_a_job = page.get_by_role("row").filter(has=page.get_by_role("link", name="CreateIndex", exact=True))
    assert "\t\tCreateIndex" in made_by_a_job.inner_text()
    shoot(page, "versions")
    visit(page, module_space, "compare&a=1&b=3")
    compare(page, "id")
    rows = sorted(differing(page))
    assert [row[:2] for row in rows] == [["± changed", "5"], ["− removed", "3"]]
    assert "9.9" in rows[0][2]
    shoot(page, "compare")


def test_maintenance_is_begun_and_followed(page, movies, module_space):
    visit(page, module_space, "indices")
    page.get_by_text("all but 20 rows").wait_for()
    visit(page, module_space, "health")
    page.get_by_text("1 index takes in").wait_for()
    shoot(page, "health")
    page.get_by_role("button", name="Maintain now").click()
    page.get_by_text("the table is in order").wait_for()
    visit(page, module_space, "indices")
    page.get_by_text("100 %").wait_for()
    page.get_by_role("link", name="Jobs").click()
    page.locator("tbody tr", has_text="movies").first.wait_for()
    assert page.locator(".state.done").count() >= 1
    shoot(page, "jobs")


@pytest.mark.embedded("the page does not see what serves it")
def test_embeddings_are_drawn_and_lead_to_a_search(page, movies, module_space):
    visit(page, module_space, "plot")
    page.locator("svg.plot a").first.wait_for()
    assert page.locator("svg.plot a").count() == movies.count_rows()
    assert sorted(text.strip() for text in page.locator(".legend li").all_inner_texts()) == sorted(GENRES)
    shoot(page, "embeddings")
    first = page.locator("svg.plot a").nth(10)
    name = first.get_attribute("aria-label")
    first.dispatch_event("click")
    page.locator("#results table").wait_for()
    assert str(ids(page)[0]) == name.removeprefix("id = ")


HOSTILE = '<img src=x onerror="document.title=1">'


def test_values_and_names_are_only_ever_text(page, wire, space):
    data = pa.table({"id": [1], "text": [HOSTILE], HOSTILE.replace(".", ""): ["x"], "long": [HOSTILE * 20]})
    body = expensive.stream(data)
    created = wire.call("POST", f"/v1/table/{space}%24%C3%BC%20x/create", body, {"Content-Type": "application/vnd.apache.arrow.stream"})
    assert created.status == 200, created.body
    visit(page, space, "", "%C3%BC%20x")
    page.get_by_role("heading", name="ü x").wait_for()
    visit(page, space, "query", "%C3%BC%20x")
    run(page)
    page.get_by_role("cell", name=HOSTILE, exact=True).wait_for()
    assert page.locator("main img").count() == 0 and page.title() == "Tiltyard"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.embedded("the page does not see what serves it")
def test_narrow_screens_and_both_schemes(browser, server, movies, module_space, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 780}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{server.url}/console/")
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Tables").wait_for()
    for tab in ("", "query", "versions", "compare", "indices", "health", "plot", "access"):
        visit(page, module_space, tab)
        page.locator("main section > *").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, f"{tab or 'overview'} is wider than the screen"
    shoot(page, f"narrow-{scheme}")
    page.get_by_role("button", name="Tables").click()
    page.get_by_role("treeitem").first.wait_for()
    ink, ground = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert contrast(ink, ground) > 7
    context.close()


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as the accessibility guidelines of the W3C define it."""

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_access_is_explained(page, movies, module_space):
    visit(page, module_space, "access")
    table = page.get_by_role("region", name="Operations")
    expect(table.get_by_role("row", name="QueryTable")).to_contain_text("yes")
    expect(table.get_by_role("row", name="DropTableIndex")).to_contain_text("yes")
    page.get_by_label("Subject").fill("ada")
    page.get_by_label("Scopes").fill("tiltyard:read")
    page.get_by_role("button", name="Explain").click()
    expect(table.get_by_role("row", name="DropTableIndex")).to_contain_text("no")
    shoot(page, "access")
    expect(table.get_by_role("row", name="QueryTable")).to_contain_text("yes")
