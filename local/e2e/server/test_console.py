"""The console in a real browser: what it shows is what the clients get.

SCREENSHOTS names a folder for pictures of the pages; make screenshots writes those of the docs.
"""

from __future__ import annotations

import base64
import csv
import datetime
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import urllib.parse
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.csv  # noqa: F401
import pyarrow.parquet  # noqa: F401
import pytest
from lancedb.expr import col
from lancedb.index import FTS
from lancedb.rerankers import RRFReranker
from playwright.sync_api import expect

import all_types as types
import expensive
from process import binary
from test_maintenance import maintain

ROOT = pathlib.Path(__file__).resolve().parents[3]
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
    context = browser.new_context(viewport={"width": 1360, "height": 860})
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if complains(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(WAIT)
    sign_in(page, server)
    yield page
    context.close()
    assert not complaints


def sign_in(page, server) -> None:
    page.goto(f"{server.url}/console/")
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.locator("[role=tree]").wait_for(state="attached")


def complains(message) -> bool:
    """Whether the browser says that the page is wrong; it also notes each refusal by the server."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource: the server responded with")


def shoot(page, name: str) -> None:
    """Keeps a picture of the page where they are asked for."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")


def settle(page) -> None:
    """Waits until nothing on the page is awaited; the list of tables may be busy, too."""
    page.wait_for_function("() => !document.querySelector('[aria-busy=true], .skeleton')")


def visit(page, space: str, table: str = "movies", **parameters) -> None:
    """Opens the page of the table, without loading it again."""
    go = """hash => new Promise((drawn) => {
      const before = location.hash, next = () => requestAnimationFrame(() => requestAnimationFrame(drawn));
      addEventListener("hashchange", next, { once: true });
      location.hash = hash;
      if (location.hash === before) { removeEventListener("hashchange", next); drawn(); }
    })"""
    page.evaluate(go, f"#/table/{space}/{table}?{urllib.parse.urlencode(parameters)}")
    page.locator("#tab-content").wait_for()
    page.wait_for_timeout(50)
    settle(page)


def search(page, text: str) -> None:
    page.fill("#query", text)
    page.keyboard.press("Enter")
    page.wait_for_timeout(50)
    settle(page)


def column(page, name: str = "id") -> list[str]:
    """The cells of a column in the rows that are drawn, from the first on."""
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    return page.locator(f"#results [role=gridcell][data-column='{name}']").all_inner_texts()


def ids(page) -> list[int]:
    return [int(text) for text in column(page)]


def shown(page) -> int:
    """How many rows the page says there are."""
    told = page.locator(".told", has_text=re.compile(r"^\s*[\d,]+ row"))
    return int(told.inner_text().split()[0].replace(",", ""))


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_timeout(50)
    settle(page)


def test_only_who_has_a_token_gets_in(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/console")
    assert page.url.endswith("/console/")
    page.fill("input[name=token]", "not the token")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("tree").count() == 0
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.get_by_role("tree").wait_for()
    assert server.token not in page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])")
    page.reload()
    page.get_by_role("tree").wait_for()
    other = context.new_page()
    sign_in(other, server)
    press(other, "Sign out")
    page.get_by_text("You signed out in another tab.").wait_for()
    assert server.token not in page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    context.close()


def test_a_page_that_nobody_uses_signs_out(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.clock.install()
    sign_in(page, server)
    page.clock.fast_forward(31 * 60_000)
    page.get_by_text("You were signed out after 30 minutes without use.").wait_for()
    context.close()


@pytest.mark.embedded("the page does not see what serves it")
def test_a_link_with_a_code_signs_in_once(browser, server):
    context = browser.new_context()
    page = context.new_page()
    codes, ended = ["good"], []

    def session(route):
        if route.request.method == "DELETE":
            ended.append(route.request.headers["authorization"])
            return route.fulfill(status=204)
        code = json.loads(route.request.post_data)["code"]
        if code not in codes:
            return route.fulfill(status=401, json={"error": "spent"})
        codes.remove(code)
        return route.fulfill(json={"token": server.token, "expires_in": 3600})

    page.route("**/console/session", session)
    page.goto(f"{server.url}/console/#code=good")
    page.get_by_role("tree").wait_for()
    assert "good" not in page.url
    press(page, "Sign out")
    page.locator("input[name=token]").wait_for()
    assert ended == [f"Bearer {server.token}"]
    page.goto("about:blank")
    page.goto(f"{server.url}/console/#code=good")
    page.get_by_text("The link has been used or has expired.").wait_for()
    page.unroute("**/console/session")
    page.route("**/console/session", lambda route: route.fulfill(status=404, json={}))
    page.goto("about:blank")
    page.goto(f"{server.url}/console/#code=good")
    page.get_by_text("This server does not sign in by links.").wait_for()
    context.close()


def test_a_session_by_link_tells_when_its_token_ends(browser, server):
    context = browser.new_context()
    page = context.new_page()
    page.route("**/console/session", lambda route: route.fulfill(json={"token": server.token, "expires_in": 1800}))
    page.goto(f"{server.url}/console/#code=good")
    page.get_by_role("tree").wait_for()
    page.evaluate("location.hash = '#/connect'")
    press(page, "Show the token")
    expect(page.get_by_role("note")).to_contain_text("ends with your session: after 30 minutes without a request")
    expect(page.get_by_role("note")).to_contain_text("Programs need the token of the server")
    page.clock.install()
    page.clock.fast_forward(20 * 60_000)
    page.keyboard.press("Shift")
    page.clock.fast_forward(20 * 60_000)
    assert page.get_by_role("tree").count() == 1  # the session is used, so it goes on
    context.close()


def test_the_page_of_the_api_has_the_session_of_the_console(browser, server):
    context = browser.new_context()
    page = context.new_page()
    sign_in(page, server)
    page.get_by_role("link", name="API", exact=True).click()
    page.get_by_text("You are signed in.").wait_for()
    page.get_by_role("link", name="Console", exact=True).click()
    page.get_by_role("tree").wait_for()
    page.evaluate("location.hash = '#/connect'")
    press(page, "Show the token")
    assert page.get_by_role("note").count() == 0  # a token that was typed is not bound to the session
    page.goto(f"{server.url}/docs/")
    page.locator("#leave").click()
    page.locator("input[name=token]").wait_for()
    page.goto(f"{server.url}/console/")
    page.locator("input[name=token]").wait_for()
    context.close()


@pytest.mark.embedded("the page does not see what serves it")
def test_tables_are_found_by_keys_and_by_search(page, movies, module_space):
    page.keyboard.press("t")
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
    page.fill("#search", "")
    item = page.get_by_role("treeitem", name=module_space)
    item.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("treeitem", name="movies").first.wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="movies").wait_for()
    assert page.get_by_role("treeitem", name="movies").get_attribute("aria-current") == "page"
    page.get_by_role("treeitem", name="movies").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert item.get_attribute("aria-expanded") == "false"


def test_home_lists_what_changed_lately(page, movies, module_space):
    page.evaluate("location.hash = '#/'")
    visit(page, module_space)
    page.get_by_role("link", name="Home", exact=True).click()
    settle(page)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=f"{module_space} / movies"))
    expect(row).to_contain_text(f"{movies.count_rows():,}")
    expect(row).to_contain_text("Append")
    shoot(page, "home")


def test_an_empty_catalog_offers_ways_to_begin(page, server):
    """The sample is offered where the server has one."""
    page.route("**/v1/table", lambda route: route.fulfill(json={"tables": []}))
    page.route("**/console/sample", lambda route: route.fulfill(json={"available": True} if route.request.method == "GET" else {"table": ["sample", "films"]}))
    page.evaluate("location.hash = '#/jobs'")
    page.evaluate("location.hash = '#/'")
    page.get_by_role("heading", name="The catalog is empty").wait_for()
    for name in ("Python", "Node", "Command line", "Go", "curl"):
        press(page, name)
        assert server.url in page.locator("pre.snippet").inner_text() and server.token not in page.locator("main").inner_text()
    press(page, "Show the token")
    assert server.token in page.locator("main").inner_text()
    page.get_by_role("button", name="Load the sample").click()
    page.wait_for_url("**/#/table/sample/films")
    page.unroute("**/console/sample")
    page.route("**/console/sample", lambda route: route.fulfill(status=404, json={}))
    page.evaluate("location.hash = '#/'")
    page.get_by_role("heading", name="The catalog is empty").wait_for()
    assert page.get_by_text("Load a sample").count() == 0


def test_the_overview_agrees_with_the_client(page, movies, module_space):
    visit(page, module_space, tab="overview")
    text = page.locator("main .facts").inner_text()
    assert f"{movies.count_rows():,}" in text and f"{movies.version}" in text
    assert page.locator("td code", has_text=f"float32[{DIMENSIONS}]").count() == 1
    assert page.get_by_role("cell", name="first", exact=True).count() == 1
    vectors = page.get_by_role("region", name="Columns").get_by_role("row", name="vector")
    expect(vectors).to_contain_text(re.compile(r"\d KiB \d+\.\d %"))


def test_the_page_opens_on_rows(page, movies, module_space):
    visit(page, module_space)
    want = movies.search().limit(20).to_arrow()
    assert ids(page)[:20] == want["id"].to_pylist() and column(page, "title")[:20] == want["title"].to_pylist()
    assert shown(page) == movies.count_rows()
    assert page.get_by_role("grid").get_attribute("aria-rowcount") == str(movies.count_rows() + 1)
    picture = page.locator("img.thumb").first
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 24
    page.get_by_role("grid").evaluate("grid => { grid.scrollLeft = 0; }")


def test_searches_find_what_the_client_finds(page, movies, module_space):
    visit(page, module_space)
    search(page, "rating > 9 AND genre = 'drama'")
    want = movies.search().where("rating > 9 AND genre = 'drama'").limit(1000).to_arrow()["id"].to_pylist()
    assert shown(page) == len(want) and ids(page) == want[: len(ids(page))]
    visit(page, module_space, q="rating > 9 AND genre = 'drama'", order="rating", desc="1", k=20)
    ratings = [float(text) for text in column(page, "rating")]
    assert ratings == sorted(ratings, reverse=True) and set(ids(page)) <= set(want)

    vector = movies.search().where("id = 5").limit(1).to_arrow()["vector"][0].as_py()
    near = movies.search(vector).where("rating > 3").limit(20).to_arrow()["id"].to_pylist()
    visit(page, module_space, q="like:id=5 where rating > 3", k=20)
    assert ids(page) == near
    expect(page.locator(".told")).to_contain_text("exact distances (l2) on vector, without an index")
    visit(page, module_space, q=f"{json.dumps(vector)} where rating > 3", k=20)
    assert ids(page) == near

    visit(page, module_space, q="lantern harbor", k=20)
    assert ids(page) == movies.search("lantern harbor", query_type="fts").limit(20).to_arrow()["id"].to_pylist()
    expect(page.locator(".told")).to_contain_text("full-text index plot_idx on plot")
    visit(page, module_space, q="lantern harbor", mode="rows")
    lantern = movies.search().where("(plot LIKE '%lantern%' OR title LIKE '%Lantern%') AND (plot LIKE '%harbor%' OR title LIKE '%Harbor%')").limit(1000).to_arrow()
    assert shown(page) == lantern.num_rows

    visit(page, module_space, q="lantern harbor like:id=5", k=20)
    assert page.get_by_role("button", name="Hybrid").get_attribute("aria-pressed") == "true"
    hybrid = movies.search(query_type="hybrid", vector_column_name="vector").vector(vector).text("lantern harbor")
    want = hybrid.rerank(RRFReranker()).limit(20).to_arrow()
    assert ids(page) == want["id"].to_pylist()
    assert [float(text) for text in column(page, "_relevance_score")] == pytest.approx(want["_relevance_score"].to_pylist(), rel=1e-4)
    shoot(page, "hybrid")


def test_the_address_holds_the_search(page, movies, module_space):
    visit(page, module_space)
    search(page, "rating > 9")
    search(page, "genre = 'comedy'")
    comedies = shown(page)
    page.reload()
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert shown(page) == comedies and page.input_value("#query") == "genre = 'comedy'"
    page.go_back()
    expect(page.locator("#query")).to_have_value("rating > 9")
    page.fill("#query", "")
    expect(page.get_by_role("option", name="genre = 'comedy' recent")).to_be_visible()
    page.fill("#query", "gen")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.input_value("#query") == "genre "


def test_versions_are_chosen_on_every_page(page, movies, module_space):
    visit(page, module_space)
    page.select_option("select[name=version]", "1")
    settle(page)
    page.get_by_text("not the latest").wait_for()
    expect(page.locator(".told")).to_contain_text(f"{COUNT} rows")
    settle(page)
    assert shown(page) == COUNT and 3 in ids(page)
    page.get_by_role("tab", name="Overview").click()
    settle(page)
    expect(page.locator("main .facts")).to_contain_text(str(COUNT))


def test_a_row_opens_beside_the_grid(page, movies, module_space):
    visit(page, module_space)
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    panel = page.get_by_role("complementary", name="Row 2")
    expect(panel).to_contain_text(column(page, "plot")[1])
    page.keyboard.press("ArrowDown")
    page.get_by_role("complementary", name="Row 3").wait_for()
    third = ids(page)[2]
    shoot(page, "row")
    press(page, "Similar rows")
    assert ids(page)[0] == third and page.get_by_role("button", name="Vector", exact=True).get_attribute("aria-pressed") == "true"


def test_a_column_tells_what_it_holds(page, movies, module_space):
    rows = movies.search().limit(1000).to_arrow()
    visit(page, module_space)
    page.locator(".head-name", has_text="rating").click()
    panel = page.get_by_role("complementary", name="rating")
    expect(panel.locator(".facts")).to_contain_text("Least")
    settle(page)
    facts = panel.locator(".facts").inner_text().split()
    ratings = rows["rating"].to_pylist()
    assert facts == ["Nulls", "0", "Least", f"{min(ratings):g}", "Greatest", f"{max(ratings):g}", "Distinct", str(len(set(ratings)))]
    shoot(page, "column")
    page.get_by_role("button", name="Descending").click()
    settle(page)
    assert float(column(page, "rating")[0]) == max(ratings)
    press(page, "Facets")
    comedies = rows["genre"].to_pylist().count("comedy")
    label = page.locator(".facet", has_text="comedy")
    expect(label).to_contain_text(str(comedies))
    label.locator("input").check()
    expect(page.locator(".told")).to_contain_text(f"{comedies} row")
    assert page.input_value("#query") == "genre = 'comedy'"
    press(page, "Facets")


@pytest.mark.embedded("the page does not see what serves it")
def test_many_rows_are_read_as_they_are_looked_at(page, wire, module_space):
    count = 1_000_000
    assert wire.upload(f"/v1/table/{module_space}$many/create", pa.table({"n": np.arange(count)})).status == 200
    visit(page, module_space, "many")
    grid = page.get_by_role("grid")
    for place in (count // 2, count - 1, 3):
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        grid.evaluate("(grid, share) => { grid.scrollTop = share * (grid.scrollHeight - grid.clientHeight); }", place / count)
        page.wait_for_timeout(150)
        page.wait_for_function("near => [...document.querySelectorAll('[data-column=n][role=gridcell]')].some(cell => Math.abs(Number(cell.innerText || NaN) - near) < 60)", arg=place)
        assert len(asked) < 8
        numbers = column(page, "n")
        assert [int(n) for n in numbers] == list(range(int(numbers[0]), int(numbers[0]) + len(numbers)))
    grid.focus()
    page.keyboard.press("Control+End")
    page.wait_for_function("last => [...document.querySelectorAll('[data-column=n][role=gridcell]')].some(cell => cell.innerText === last)", arg=str(count - 1))
    assert page.locator("[role=row]").count() < 80


@pytest.mark.embedded("the page does not see what serves it")
def test_plans_are_trees_with_times(page, movies, module_space):
    visit(page, module_space, q="river")
    press(page, "Plan")
    assert page.locator(".plan strong", has_text="MatchText").count() == 1
    assert page.locator(".plan .took").count() >= 3
    assert page.locator(".plan .figure", has_text="requests").count() >= 1
    shoot(page, "plan")
    press(page, "Explain only")
    assert page.locator(".plan .took").count() == 0


def snippet(page, language: str) -> str:
    press(page, "Code")
    press(page, language)
    return page.locator(".panel pre.snippet").inner_text()


@pytest.mark.embedded("the page does not see what serves it")
def test_what_is_copied_for_python_runs(page, movies, module_space, server):
    visit(page, module_space, q="like:id=5 where title <> 'it''s \"quoted\"'", k=20)
    want = ids(page)
    program = snippet(page, "Python") + "\nprint('ids', list(rows['id']))"
    assert server.token not in program
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TOKEN": server.token}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"ids {want}"


def test_what_is_copied_for_curl_runs(page, movies, module_space, server, tmp_path):
    visit(page, module_space, q="title <> 'it''s' AND id < 20")
    want = ids(page)
    command = snippet(page, "curl")
    subprocess.run(["sh", "-ec", command], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    with pa.ipc.open_stream((tmp_path / "rows.arrows").read_bytes()) as reader:
        assert reader.read_all()["id"].to_pylist() == want


def test_a_hybrid_query_for_curl_has_the_rows_of_the_page(page, movies, module_space, server, tmp_path):
    visit(page, module_space, q="lantern like:id=5")
    want = ids(page)
    command = snippet(page, "curl")
    subprocess.run(["sh", "-ec", command], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    with pa.ipc.open_stream((tmp_path / "rows.arrows").read_bytes()) as reader:
        got = reader.read_all()
    assert got["id"].to_pylist()[: len(want)] == want and {"_distance", "_score", "_relevance_score"} < set(got.schema.names)


@pytest.mark.parametrize("format", ["CSV", "JSON lines", "Arrow file", "Parquet"])
def test_downloads_hold_all_rows(page, movies, module_space, tmp_path, format):
    visit(page, module_space, q="rating > 5")
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name=format, exact=True).click()
    file = tmp_path / waited.value.suggested_filename
    waited.value.save_as(file)
    want = movies.search().where("rating > 5").limit(1000).to_arrow()
    if format == "Arrow file":
        assert pa.ipc.open_file(file).read_all().select(want.schema.names).equals(want)
    elif format == "Parquet":
        assert pa.parquet.read_table(file).select(want.schema.names).equals(want)
    elif format == "CSV":
        read = pa.csv.read_csv(file)
        assert read["id"].equals(want["id"]) and read["title"].equals(want["title"]) and read["rating"].equals(want["rating"])
    else:
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["id"] for line in lines] == want["id"].to_pylist() and lines[0]["vector"] == pytest.approx(want["vector"][0].as_py())


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow", "parquet"])
def test_a_file_becomes_a_table(page, db, module_space, tmp_path, kind):
    name = f"loaded_{kind}"
    file = tmp_path / f"{name}.{kind}"
    data = pa.table({
        "id": list(range(12_000)), "price": [i / 4 for i in range(12_000)], "ok": [i % 2 == 0 for i in range(12_000)],
        "name": [None if i == 1 else f'a "quoted", {i}' for i in range(12_000)], "day": [datetime.date(2024, 2, 29)] * 12_000, "vector": [[i, 0.5, -1.0] for i in range(12_000)],
    }, schema=pa.schema({"id": pa.int64(), "price": pa.float64(), "ok": pa.bool_(), "name": pa.string(), "day": pa.date32(), "vector": pa.list_(pa.float32(), 3)}))
    rows = [{**row, "day": str(row["day"])} for row in data.to_pylist()]
    if kind == "csv":
        with file.open("w", newline="") as out:
            writer = csv.DictWriter(out, data.schema.names)
            writer.writeheader()
            writer.writerows({**row, "vector": json.dumps(row["vector"])} for row in rows)
            out.write("7,what,true,x,2024-02-30x,\"[1,2,3]\"\n")
    elif kind == "jsonl":
        file.write_text("\n".join(json.dumps({**row, "day": row["day"]}) for row in rows))
    elif kind == "arrow":
        with pa.ipc.new_file(file, data.schema) as writer:
            writer.write_table(data)
    else:
        pa.parquet.write_table(data, file)
    page.evaluate("location.hash = '#/load'")
    page.set_input_files("input[type=file]", file)
    page.get_by_role("region", name="Columns").wait_for()
    if kind == "csv":
        shoot(page, "load")
    if kind == "parquet":
        page.get_by_label("Type of vector").select_option("vector")
        page.get_by_label("Dimensions of vector").fill("3")
    page.fill("input[name=table]", f"{module_space}/{name}")
    page.locator("button.main", has_text="Load").click()
    if kind == "csv":
        expect(page.get_by_role("alert")).to_contain_text("line 12,002, price: what is not float64")
        page.get_by_role("link", name=f"Open {module_space} / {name}").click()
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert shown(page) == 12_000
    loaded = db.open_table(name, namespace_path=[module_space]).search().limit(20_000).to_arrow()
    if kind == "parquet":
        loaded = loaded.set_column(4, "day", loaded["day"].cast(pa.date32()))
    assert loaded.cast(data.schema).equals(data)


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

    visit(page, module_space, "types", order="id")
    page.set_viewport_size({"width": 24_000, "height": 800})  # all columns are in view then
    settle(page)
    heads = page.locator("#results .head-name b").all_inner_texts()
    rows = [row.locator("[role=gridcell]").all_inner_texts() for row in page.locator("#results .grid-row").all()]
    assert [head.removesuffix(" ↑") for head in heads] == table.schema.names
    assert [table.schema.names, *rows] == line("query", f"{module_space}/types", "--order-by", "id")
    first = dict(zip(table.schema.names, rows[0]))
    assert {name: first[name] for name in types.TEXTS} == types.TEXTS
    visit(page, module_space, "types", tab="overview")
    cells = "rows => rows.map(row => [row.cells[0].innerText, row.cells[1].innerText])"
    told = dict(page.get_by_role("region", name="Columns").locator("tbody tr").evaluate_all(cells))
    assert {name: told[name] for name in types.TYPES} == types.TYPES
    columns = {row[0]: row[1] for row in line("table", "show", f"{module_space}/types") if len(row) > 1}
    assert {name: columns[name] for name in types.TYPES} == types.TYPES


def test_a_refusal_of_the_server_names_its_request(page, movies, module_space):
    refused = {"status": 500, "json": {"error": "internal error", "code": 18, "request_id": "the-request"}}
    page.route("**/query", lambda route: route.fulfill(**refused))
    visit(page, module_space)
    expect(page.get_by_role("alert")).to_contain_text("the-request")


def test_the_address_of_the_server_leads_to_the_console(browser, server):
    page = browser.new_page()
    page.goto(server.url)
    page.locator("input[name=token]").wait_for()
    assert page.url == f"{server.url}/console/" and page.request.get(f"{server.url}/favicon.ico").ok
    page.close()


def differing(page) -> list[list[str]]:
    """The lines of the rows that differ on the page that is shown: kind, key, column, and the value in either version."""
    rows = page.locator("table.differing tbody tr")
    rows.first.wait_for()
    return [[text.strip() for text in row.split("\t")] for row in rows.all_inner_texts()]


def compare(page, key: str) -> None:
    page.get_by_role("cell", name="Deleted rows", exact=True).wait_for()
    page.select_option("select[name=key]", key)
    page.get_by_role("button", name="Compare", exact=True).click()
    settle(page)


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
    visit(page, module_space, name, tab="compare", a=1, b=changed)
    compare(page, "id")
    assert sorted(differing(page)) == [["+ added", "7", "all", "", "id 7 n -1 v 1.5"], ["± changed", "14500", "v", "0.5", "0.25"], ["− removed", "12000", "all", "id 12000 n 24001 v 0.5", ""]]
    compare(page, "")
    assert sorted(row[0] for row in differing(page)) == (["+ added", "± changed", "− removed"] if stable else ["+ added", "+ added", "− removed", "− removed"])
    assert maintain(wire, f"{module_space}${name}", compact=True)["fragments_added"] > 0
    visit(page, module_space, name, tab="compare", a=changed, b=table.version)
    compare(page, "n")
    page.get_by_text("No rows differ.").wait_for()
    if not stable:  # all rows were written again, more than the service lists
        page.get_by_text("These are all rows that have one.").wait_for()
        compare(page, "")
        page.get_by_text("The service lists the first 20,000 rows of each kind").wait_for()


@pytest.mark.embedded("the page does not see what serves it")
def test_all_differing_rows_are_paged_through(page, db, module_space):
    """More rows are written than the service lists the ids of; each that differs is shown once."""
    count = 50_000
    table = db.create_table("paged", pa.table({"id": range(count), "v": [0.5] * count, "w": ["a"] * count}), namespace_path=[module_space])
    table.update("id >= 0", {"w": "w"})
    table.update("id % 400 = 7", {"v": 0.25, "w": "b"})
    table.delete("id = 49999")
    visit(page, module_space, "paged", tab="compare", a=2, b=4)
    compare(page, "id")
    shown = []
    for _ in range(10):
        shown += differing(page)
        if not page.get_by_role("button", name="Next", exact=True).is_enabled():
            break
        press(page, "Next")
    keys = [row[1] for row in shown if len(row) == 5]
    assert sorted(map(int, keys)) == [*range(7, count, 400), count - 1]
    assert [row for row in shown if len(row) == 3] == [["w", "w", "b"]] * 125  # the second cell of each changed row
    press(page, "Previous")
    assert differing(page)[0][1] in keys
    visit(page, module_space, "paged", tab="compare", a=1, b=4)
    compare(page, "id")
    assert differing(page)[0] == ["± changed", "0", "w", "a", "w"]
    page.get_by_text("were compared, in the order of id, up to 2000.").wait_for()


def test_a_change_is_taken_back_from_the_list_of_versions(page, db, module_space):
    table = db.create_table("mistaken", films().slice(0, 30), namespace_path=[module_space])
    table.update("id < 10", {"rating": 0.0})
    visit(page, module_space, "mistaken", tab="versions")
    page.get_by_role("link", name="Compare with the one before version 2").click()
    settle(page)
    changed = differing(page)
    assert len(changed) == 10 and all(row[0] == "± changed" and row[2] == "rating" and row[4] == "0" for row in changed)
    page.go_back()
    press(page, "the last day")
    assert "a=1" in page.url and "b=2" in page.url and differing(page) == changed
    page.get_by_text("The oldest version is younger than that.").wait_for()
    page.go_back()
    page.get_by_role("link", name="Rows of version 1", exact=True).click()
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert "0" not in column(page, "rating")
    page.go_back()
    page.get_by_role("button", name="Restore version 1").focus()
    page.keyboard.press("Enter")
    form = page.locator(".action", has_text="Restore a version")
    expect(form.locator("input[name=version]")).to_have_value("1")
    expect(form.locator("input[name=version]")).to_be_focused()
    page.keyboard.press("Enter")
    page.locator("#said", has_text="Version 1 is restored").wait_for()
    table.checkout_latest()
    assert table.version == 3 and table.count_rows("rating = 0") == 0


@pytest.mark.embedded("the page does not see what serves it")
def test_refusals_are_told_in_the_words_of_the_service(page, movies, module_space):
    visit(page, module_space, q="where nothing_like_it > 3")
    page.get_by_role("alert").wait_for()
    assert "nothing_like_it" in page.get_by_role("alert").inner_text()


def test_versions_and_their_difference(page, movies, module_space):
    visit(page, module_space, tab="versions")
    page.locator("tbody tr").first.wait_for()
    assert page.locator("tbody tr").count() == len(movies.list_versions())
    deleted = page.get_by_role("row").filter(has=page.get_by_role("link", name="Delete", exact=True))
    assert re.search(r"\t(\S+)\tDelete\t599\t1\t1\t", deleted.inner_text())  # by whom, what, rows and deleted rows
    made_by_a_job = page.get_by_role("row").filter(has=page.get_by_role("link", name="CreateIndex", exact=True))
    assert "\t\tCreateIndex" in made_by_a_job.inner_text()
    shoot(page, "versions")
    visit(page, module_space, tab="compare", a=1, b=3)
    compare(page, "id")
    rows = sorted(differing(page))
    assert [row[:2] for row in rows] == [["± changed", "5"], ["− removed", "3"]]
    assert rows[0][2] == "rating" and rows[0][4] == "9.9"
    shoot(page, "compare")


def test_maintenance_is_begun_and_followed(page, movies, module_space):
    visit(page, module_space, tab="indices")
    page.get_by_text("all but 20 rows").wait_for()
    visit(page, module_space, tab="health")
    page.get_by_text("1 index takes in").wait_for()
    page.get_by_role("button", name="Maintain now").click()
    page.get_by_text("the table is in order").wait_for()
    visit(page, module_space, tab="indices")
    page.get_by_text("100 %").wait_for()
    page.get_by_role("link", name="Jobs").click()
    page.locator("tbody tr", has_text="movies").first.wait_for()
    assert page.locator(".state.done").count() >= 1


def test_changes_are_made_by_forms(page, db, module_space):
    table = db.create_table("changed", films().slice(0, 50), namespace_path=[module_space])
    table.delete("id < 10")
    visit(page, module_space, "changed", tab="indices")
    page.get_by_text("Create an index").click()
    form = page.locator(".action")
    assert form.locator("select[name=column]").input_value() == "vector" and form.locator("select[name=type]").input_value() == "IVF_FLAT"
    form.locator("select[name=column]").select_option("genre")
    form.locator("select[name=type]").select_option("BITMAP")
    assert 'table.create_index("genre", config=Bitmap())' in form.locator("pre.snippet").inner_text()
    press(page, "Create")
    page.get_by_role("cell", name="genre_idx", exact=True).wait_for()
    assert [index.index_type for index in table.list_indices()] == ["Bitmap"]
    visit(page, module_space, "changed", tab="versions")
    for title, button, done in (("Tag a version", "Tag", "is tagged before"), ("Restore a version", "Restore", "is restored")):
        page.get_by_text(title).click()
        form = page.locator(".action", has_text=title)
        form.locator("input[name=version]").fill("1")
        if button == "Tag":
            form.locator("input[name=tag]").fill("before")
        form.get_by_role("button", name=button, exact=True).click()
        page.locator("#said", has_text=f"Version 1 {done}").wait_for()
    expect(page.locator(".badge", has_text="before")).to_be_visible()
    assert table.tags.get_version("before") == 1
    table.checkout_latest()
    assert table.count_rows() == 50

    visit(page, module_space, "changed", tab="overview")

    def act(title: str, button: str, said: str, **fields) -> None:
        page.locator("summary", has_text=title).click()
        form = page.locator(".action", has_text=title)
        for name, value in fields.items():
            field = form.locator(f"[name={name}]")
            field.select_option(value) if name == "dropped" else field.fill(value)
        form.get_by_role("button", name=button, exact=True).click()
        page.locator("#said", has_text=said).wait_for()
        settle(page)

    act("Add a column", "Add", "The column twice is added.", column="twice", expression="rating * 2")
    act("Drop a column", "Drop the column", "The column poster is dropped.", dropped="poster")
    act("Make a branch", "Make the branch", "The branch trial is made.", branch="trial")
    table.checkout_latest()
    assert "twice" in table.schema.names and "poster" not in table.schema.names and list(table.branches.list()) == ["trial"]
    page.select_option("select[name=branch]", "trial")
    page.get_by_role("tab", name="Rows").click()
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert shown(page) == 50 and "branch=trial" in page.url
    visit(page, module_space, "changed", tab="overview")
    act("Drop the table", "Drop the table", "The table is dropped.", confirm="changed")
    assert "changed" not in db.list_tables(namespace_path=[module_space]).tables


@pytest.mark.embedded("the page does not see what serves it")
def test_embeddings_are_drawn_and_lead_to_a_search(page, movies, module_space):
    visit(page, module_space, tab="embeddings")
    plot = page.get_by_role("application", name=f"{movies.count_rows()} vectors in the plane")
    plot.wait_for()
    settle(page)
    page.get_by_text("laid out so that neighbours lie together").wait_for()
    genres = dict(re.match(r"(\D+?)\s+(\d+)", text.strip()).groups() for text in page.locator(".legend li").all_inner_texts())
    rows = movies.search().limit(1000).to_arrow()
    assert {name: int(n) for name, n in genres.items()} == {name: rows["genre"].to_pylist().count(name) for name in GENRES}
    shoot(page, "embeddings")

    # Marked by keys: a group, then what is in view; Esc clears.
    press(page, f"comedy {genres['comedy']}")
    page.get_by_text(f"{genres['comedy']} rows marked").wait_for()
    press(page, "Open as rows")
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert shown(page) == int(genres["comedy"]) and set(column(page, "genre")) == {"comedy"}
    page.go_back()
    plot.wait_for()
    settle(page)
    press(page, "Mark what is in view")
    page.get_by_text(f"{movies.count_rows()} rows marked").wait_for()
    plot.focus()
    page.keyboard.press("Escape")
    assert page.get_by_text("rows marked").count() == 0

    # By the pointer: a box around all, and an outline around nothing.
    box = plot.bounding_box()
    for mode, places, want in (("Box", [(4, 4), (box["width"] - 4, box["height"] - 4)], movies.count_rows()), ("Lasso", [(2, 2), (10, 2), (10, 10)], 0)):
        press(page, mode)
        page.mouse.move(box["x"] + places[0][0], box["y"] + places[0][1])
        page.mouse.down()
        for x, y in places:
            page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
        page.mouse.up()
        expect(page.get_by_text("rows marked")).to_have_count(1 if want else 0)

    # The point nearest to the middle has a card, and Enter searches for rows like it.
    card = page.locator(".point-card")
    plot.focus()
    for key in ["0", *["-"] * 6]:  # all points are near the middle then
        page.keyboard.press(key)
    expect(card).to_contain_text(re.compile("drama|comedy|thriller|documentary"))
    expect(card.locator("img")).to_have_count(1)
    row = re.search(r"_rowid (\d+)", card.inner_text())[1]
    page.keyboard.press("Enter")
    page.locator("#results [role=gridcell]").first.wait_for()
    settle(page)
    assert page.input_value("#query") == f"like:_rowid={row}" and float(column(page, "_distance")[0]) == 0


@pytest.mark.embedded("the page does not see what serves it")
def test_many_embeddings_move_smoothly(page, db, module_space):
    """The bound is generous, because other tests run beside this one; a frame takes 6 ms of the processor."""
    count = 100_000
    vectors = np.random.default_rng(3).normal(size=count * 8).astype("f4")
    db.create_table("crowd", pa.table({"id": range(count), "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors), 8)}), namespace_path=[module_space])
    visit(page, module_space, "crowd", tab="embeddings")
    page.get_by_label("Layout").select_option("pca")
    page.get_by_label("Rows").select_option(str(count))
    page.get_by_role("application", name="100,000 vectors in the plane").wait_for()
    settle(page)
    frame = page.evaluate("""async () => {
      const plot = document.querySelector("canvas.plot"), next = () => new Promise(requestAnimationFrame);
      await next();
      const start = performance.now();
      for (let i = 0; i < 40; i++) {
        plot.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 2 ? 90 : -90, clientX: 700, clientY: 500, cancelable: true }));
        await next();
      }
      return (performance.now() - start) / 40;
    }""")
    print(f"a frame of 100,000 vectors: {frame:.1f} ms")
    assert frame < 200


SHOUT = "upper(text)"


@pytest.fixture(scope="module")
def shout(db, server, module_space, movies):
    """A function in SQL, and a column of movies that it computes."""
    wire = server.wire()
    answer = wire.post(f"/v1/function/{module_space}$shout/create", {
        "artifact": {"kind": "sql_expression", "digest": "sha256:" + hashlib.sha256(SHOUT.encode()).hexdigest(), "content": {"encoding": "base64", "data": base64.b64encode(SHOUT.encode()).decode()}},
        "signature": {"inputs": [{"name": "text", "arrow_type": "utf8", "nullable": True}], "output": {"kind": "scalar", "arrow_type": "utf8", "nullable": False}}, "runtime": {"kind": "sql"},
    })
    assert answer.status == 202, answer.json
    while wire.post("/v1/jobs/describe", answer.json).json["job_state"] == "IN_PROGRESS":
        time.sleep(0.05)
    table = db.create_table("shouted", films().select(["id", "title"]), namespace_path=[module_space])
    table.add_columns({"loud": db.get_function("shout", version="1", namespace_path=[module_space])(text=col("title"))})


@pytest.mark.embedded("the page does not see what serves it")
def test_functions_are_listed_with_the_columns_that_they_compute(page, shout, module_space):
    page.get_by_role("link", name="Functions", exact=True).click()
    page.evaluate("hash => { location.hash = hash; }", f"#/functions/{module_space}")
    made = page.get_by_role("region", name="Made here")
    expect(made.get_by_role("row", name="shout")).to_contain_text(re.compile(r"text utf8 or null\s*utf8\s*SQL\s*1"))
    page.get_by_role("button", name="Find the columns that they compute").focus()
    page.keyboard.press("Enter")
    expect(made.get_by_role("row", name="shout")).to_contain_text(f"{module_space} / shouted: loud")
    page.evaluate("location.hash = '#/functions'")
    expect(page.get_by_role("region", name="Part of every deployment")).to_contain_text("split_text")


@pytest.mark.embedded("the functions have no key for secrets, and refuse them")
def test_secrets_are_written_and_never_shown(page, wire, space):
    page.evaluate("hash => { location.hash = hash; }", f"#/secrets/{space}")
    page.get_by_text(f"There are no secrets in {space}.").wait_for()
    page.get_by_text("Create a secret").click()
    page.get_by_role("textbox", name="Name").fill("api-key")
    page.get_by_label("Value", exact=True).fill("hunter2")
    page.keyboard.press("Enter")
    row = page.get_by_role("row", name="api-key")
    row.wait_for()
    assert page.get_by_label("Value", exact=True).input_value() == "" and "hunter2" not in page.content()
    expect(row).to_contain_text("never")
    page.get_by_role("button", name="Replace the value of api-key").click()
    page.get_by_role("dialog").get_by_label("Value").fill("hunter3")
    page.keyboard.press("Enter")
    page.locator("#said", has_text="has a new value").wait_for()
    settle(page)
    assert "never" not in row.inner_text()
    told = wire.post(f"/v1/secret/{space}$api-key/describe").json
    assert told["updated_at_millis"] > told["created_at_millis"]
    page.get_by_role("button", name="Delete api-key").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    page.get_by_text(f"There are no secrets in {space}.").wait_for()
    assert wire.post(f"/v1/namespace/{space}/secret/list").json["secrets"] == []


def test_views_are_made_watched_and_refreshed(page, db, module_space):
    table = db.create_table("source", films().slice(0, 100), namespace_path=[module_space])
    visit(page, module_space, "source", tab="views")
    page.get_by_text("Make a materialized view").click()
    form = page.locator(".action")
    for name in ("poster", "vector", "plot"):
        form.get_by_label(name, exact=True).uncheck()
    form.locator("input[name=filter]").fill("rating > 5")
    form.get_by_label("follows its source").uncheck()
    good = table.count_rows("rating > 5")
    expect(form.get_by_role("region")).to_contain_text(f"The view would have {good} rows now")
    assert form.locator(".preview-of-view th").all_inner_texts() == ["id", "title", "genre", "rating"]
    form.locator("input[name=view]").fill("good")
    assert "WHERE rating > 5" in form.locator("pre.snippet").inner_text()
    press(page, "Make the view")
    page.get_by_role("heading", name="This is a materialized view").wait_for()
    expect(page.locator("pre.snippet").first).to_contain_text("SELECT id, title, genre, rating FROM")

    def state() -> str:
        page.reload()
        settle(page)
        return page.locator("#tab-content").inner_text()

    until(lambda: "up to date" in state())
    shoot(page, "view")
    table.delete("id < 20")
    left = table.count_rows("rating > 5")
    text = state()
    assert "1 version behind its source" in text and "20 removed" in text
    page.get_by_role("button", name="Refresh").focus()
    page.keyboard.press("Enter")
    page.locator("#said", has_text="The job is done.").wait_for()
    expect(page.locator("#tab-content")).to_contain_text("up to date")
    assert db.open_table("good", namespace_path=[module_space]).count_rows() == left
    visit(page, module_space, "source", tab="views")
    expect(page.locator("#tab-content")).to_contain_text("Views of this table in its namespace: good.")


def until(done) -> None:
    for _ in range(100):
        if done():
            return
        time.sleep(0.2)
    raise AssertionError("it did not happen")


EVENT = {"specversion": "1.0", "source": "here", "subject": "a$b", "time": "2026-01-02T03:04:05Z", "datacontenttype": "application/json"}


def test_events_appear_as_they_happen(browser, server):
    """The answers are written here: what a server announces is judged elsewhere."""
    context = browser.new_context()
    page = context.new_page()
    log = [{**EVENT, "id": "1", "type": "tiltyard.table.created", "data": {"id": ["a", "b"], "uid": "u"}}]

    def events(route):
        cursor = json.loads(route.request.post_data)["cursor"]
        known = len(log) if cursor == "latest" else int(cursor or 0)
        return route.fulfill(json={"events": log[known:], "cursor": str(len(log)), "more": False})

    page.route("**/v1/event/list", events)
    sign_in(page, server)
    page.get_by_role("link", name="Events", exact=True).click()
    page.get_by_text("1 event since the oldest that is kept.").wait_for()
    log.append({**EVENT, "id": "2", "type": "tiltyard.table.committed", "data": {"id": ["a", "b"], "uid": "u", "version": 2, "operation": "Append", "rows": 30, "rows_added": 10, "rows_deleted": 0}})
    expect(page.locator("tbody tr").first).to_contain_text("version 2, Append, 10 added, 30 rows then")
    assert page.locator("tbody tr").first.get_by_role("link").get_attribute("href") == "#/table/a/b?version=2"
    press(page, "Pause")
    log.append({**EVENT, "id": "3", "type": "tiltyard.table.dropped", "data": {"id": ["a", "b"], "uid": "u"}})
    page.get_by_text("Paused.").wait_for()
    press(page, "Go on")
    expect(page.locator("tbody tr").first).to_contain_text("table dropped")
    context.close()


def test_what_the_token_may_not_do_is_not_offered(browser, server, movies, module_space):
    context = browser.new_context()
    page = context.new_page()

    def reading(route):
        answer = route.fetch()
        told = answer.json()
        for one in told["operations"]:
            one["allowed"] = one["access"] == "read" and not (one["operation"] == "ListSecrets")
        return route.fulfill(response=answer, json=told)

    page.route("**/v1/access/explain", reading)
    page.route("**/v1/event/list", lambda route: route.fulfill(status=501, json={"error": "no events"}))
    sign_in(page, server)
    page.get_by_role("link", name="Functions", exact=True).wait_for()
    assert page.get_by_role("link", name="Secrets", exact=True).count() + page.get_by_role("link", name="Events", exact=True).count() == 0
    visit(page, module_space, tab="versions")
    page.get_by_role("link", name="Rows of version 1", exact=True).wait_for()
    assert page.get_by_role("button", name=re.compile("^Restore")).count() == 0
    for tab in ("views", "compare"):
        visit(page, module_space, tab=tab)
        assert page.locator(".action").count() == 0
    page.evaluate("location.hash = '#/secrets'")
    page.get_by_role("heading", name="Secrets").wait_for()
    settle(page)
    assert page.get_by_text("Create a secret").count() == 0
    context.close()


HOSTILE = '<img src=x onerror="document.title=1">'


def test_values_and_names_are_only_ever_text(page, wire, space):
    data = pa.table({"id": [1], "text": [HOSTILE], HOSTILE.replace(".", ""): ["x"], "long": [HOSTILE * 20]})
    body = expensive.stream(data)
    created = wire.call("POST", f"/v1/table/{space}%24%C3%BC%20x/create", body, {"Content-Type": "application/vnd.apache.arrow.stream"})
    assert created.status == 200, created.body
    visit(page, space, "%C3%BC%20x", tab="overview")
    page.get_by_role("heading", name="ü x").wait_for()
    visit(page, space, "%C3%BC%20x")
    page.get_by_role("gridcell", name=HOSTILE, exact=True).wait_for()
    assert page.locator("main img").count() == 0 and page.title() == "Tiltyard"


PAGES = [{}, {"row": "2"}, {"panel": "column", "about": "rating"}, {"q": "lantern", "panel": "plan"}, {"panel": "code"}, *({"tab": tab} for tab in ("overview", "versions", "compare", "indices", "views", "health", "embeddings", "access"))]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.embedded("the page does not see what serves it")
def test_narrow_screens_and_both_schemes(browser, server, movies, module_space, scheme):
    context = browser.new_context(viewport={"width": 390, "height": 780}, color_scheme=scheme)
    page = context.new_page()
    sign_in(page, server)
    page.get_by_role("heading", name="Tables").wait_for()
    for parameters in PAGES:
        visit(page, module_space, **parameters)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, f"{parameters} is wider than the screen"
    for place in ("#/", "#/jobs", "#/transactions", "#/usage", "#/load", "#/connect", "#/functions", f"#/secrets/{module_space}", "#/events"):
        page.evaluate("hash => { location.hash = hash; }", place)
        page.wait_for_timeout(100)
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, f"{place} is wider than the screen"
    visit(page, module_space)
    shoot(page, f"narrow-{scheme}")
    page.get_by_role("button", name="Tables").click()
    page.get_by_role("treeitem").first.wait_for()
    ink, ground = page.evaluate("[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]")
    assert contrast(ink, ground) > 7
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.embedded("the page does not see what serves it")
def test_no_page_violates_the_rules_of_axe(browser, server, movies, module_space, scheme):
    script = subprocess.run([ROOT / "scripts/npm.sh", "shared/http/console/source", "node", "-p", "require.resolve('axe-core/axe.min.js')"], capture_output=True, text=True, check=True)
    context = browser.new_context(viewport={"width": 1360, "height": 860}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(f"{server.url}/console/")
    page.locator("input[name=token]").wait_for()
    page.add_script_tag(path=script.stdout.strip())
    found = {"sign in": violations(page)}
    page.fill("input[name=token]", server.token)
    page.keyboard.press("Enter")
    page.get_by_role("tree").wait_for()
    for place in ("#/", "#/jobs", "#/transactions", "#/usage", "#/load", "#/connect", "#/functions", f"#/secrets/{module_space}", "#/events"):
        page.evaluate("hash => { location.hash = hash; }", place)
        page.wait_for_timeout(100)
        settle(page)
        open_forms(page)
        found[place] = violations(page)
    for parameters in PAGES:
        visit(page, module_space, **parameters)
        open_forms(page)
        found[str(parameters)] = violations(page)
    page.route("**/v1/table", lambda route: route.fulfill(json={"tables": []}))
    page.evaluate("location.hash = '#/'")
    page.get_by_role("heading", name="The catalog is empty").wait_for()
    settle(page)
    found["empty"] = violations(page)
    context.close()
    assert {place: broken for place, broken in found.items() if broken} == {}


def open_forms(page) -> None:
    """Opens all that can be opened, such as the forms of changes."""
    page.evaluate("for (const one of document.querySelectorAll('main details:not(.menu)')) one.open = true")
    page.wait_for_timeout(400)
    settle(page)


def violations(page) -> list[str]:
    """The rules of axe that the page breaks, with the first place."""
    result = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in result["violations"]]


@pytest.mark.embedded("the page does not see what serves it")
def test_the_first_view_comes_soon(browser, server):
    """The bound is generous, because other tests run beside this one; a view takes 100 ms on an idle machine. It asks the
    server for the page, and not for scripts and styles."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{server.url}/console/")
    page.locator("input[name=token]").wait_for()
    times = []
    for _ in range(5):
        page.reload()
        page.locator("input[name=token]").wait_for()
        times.append(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
    page.wait_for_function("() => window.Arrow")
    loaded = "performance.getEntriesByType('resource').filter((one) => /[.](js|css)/.test(one.name)).map((one) => [one.name, one.transferSize])"
    files = page.evaluate(loaded)
    assert len(files) == 3 and all("?v=" in name and size == 0 for name, size in files), files
    context.close()
    print(f"first view: {sorted(times)} ms")
    assert min(times) < 1000


SHIFTS = """() => {
  window.shifts = [];
  new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts.push(one.value); }).observe({ type: "layout-shift", buffered: true });
}"""


@pytest.mark.parametrize("width", [390, 1360])
@pytest.mark.embedded("the page does not see what serves it")
def test_nothing_moves_while_a_page_loads(browser, server, movies, module_space, width):
    """The layout shift of the home page and the page of a table, loaded and reached by a link."""
    context = browser.new_context(viewport={"width": width, "height": 860})
    page = context.new_page()
    sign_in(page, server)
    moved = {}
    for name, place in (("home", "#/"), ("table", f"#/table/{module_space}/movies")):
        page.goto("about:blank")
        page.goto(f"{server.url}/console/{place}")
        page.evaluate(SHIFTS)
        page.locator("main h1").wait_for()
        page.wait_for_timeout(300)
        settle(page)
        page.wait_for_timeout(300)
        moved[name] = sum(page.evaluate("window.shifts"))
    context.close()
    print(f"layout shift at {width} px: {moved}")
    assert max(moved.values()) < 0.1  # more is felt


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as the accessibility guidelines of the W3C define it."""

    def luminance(color: str) -> float:
        parts = [int(part) / 255 for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
        linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_access_is_explained(page, movies, module_space):
    visit(page, module_space, tab="access")
    table = page.get_by_role("region", name="Operations")
    expect(table.get_by_role("row", name="QueryTable")).to_contain_text("yes")
    expect(table.get_by_role("row", name="DropTableIndex")).to_contain_text("yes")
    page.get_by_text("Ask about somebody else").click()
    page.get_by_label("Subject").fill("ada")
    page.get_by_label("Scopes").fill("tiltyard:read")
    page.get_by_role("button", name="Explain").click()
    expect(table.get_by_role("row", name="DropTableIndex")).to_contain_text("no")
    expect(table.get_by_role("row", name="QueryTable")).to_contain_text("yes")
