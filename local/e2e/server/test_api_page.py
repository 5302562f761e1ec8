"""The page of the API in a real browser: what it sends is what the clients get to see.

SCREENSHOTS names a folder for pictures of the pages; make screenshots writes those of the docs.
"""

from __future__ import annotations

import json
import os
import pathlib

import pytest


@pytest.fixture
def page(browser, server):
    """The page before anybody has signed in. It must not complain, nor try what its policy forbids."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text) if complains(message) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.set_default_timeout(60_000)
    page.goto(f"{server.url}/docs")
    page.locator("#search").wait_for()
    yield page
    context.close()
    assert not complaints


def complains(message) -> bool:
    """Whether the browser says that the page is wrong; it also notes each refusal by the server."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource: the server responded with")


def sign_in(page, token: str) -> None:
    page.fill("input[name=token]", token)
    page.keyboard.press("Enter")


def visit(page, operation: str) -> None:
    """Opens an operation without loading the page again."""
    page.evaluate("name => { location.hash = `#/${name}`; }", operation)
    page.get_by_role("heading", level=1, name=operation, exact=True).wait_for()


def send(page, status: str):
    """Sends the request of the form, and returns the answer when it has the status."""
    page.get_by_role("button", name="Send", exact=True).click()
    answer = page.get_by_role("region", name="Answer")
    answer.locator(".state", has_text=status).wait_for()
    return answer


def test_operations_are_found_and_tried(page, server, db, module_space):
    """Somebody finds an operation by the keys, signs in, makes a table, counts and queries its rows."""
    assert page.url.endswith("/docs/")
    page.keyboard.press("/")
    page.keyboard.type("count rows")
    assert "GetTableStats" in page.locator("li:not([hidden]) > a").all_inner_texts()
    page.fill("#search", "count match")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="CountTableRows").wait_for()

    page.fill("input[name='path:id']", f"{module_space}$points")
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_role("alert").get_by_text("Sign in first").wait_for()
    sign_in(page, "not the token")
    page.locator("#side").get_by_role("alert").wait_for()
    sign_in(page, server.token)
    page.locator("#leave").wait_for()
    page.fill("textarea[name=body]", "{}")
    assert json.loads(send(page, "404").locator("pre").inner_text())["retryable"] is False

    visit(page, "CreateTable")
    page.fill("input[name='path:id']", f"{module_space}$points")
    created = json.loads(send(page, "200").locator("pre").inner_text())
    table = db.open_table("points", namespace_path=[module_space])
    assert created["version"] == table.version
    assert [row["vector"] for row in table.search().to_list()] == [pytest.approx([0.1, 0.2]), pytest.approx([0.3, 0.4])]
    assert {field.name: str(field.type) for field in table.schema} == {"id": "int64", "name": "string", "vector": "fixed_size_list<item: float>[2]"}

    visit(page, "CountTableRows")
    page.fill("input[name='path:id']", f"{module_space}$points")
    page.fill("textarea[name=body]", '{"predicate": "id > 1"}')
    assert send(page, "200").locator("pre").inner_text() == "1"

    visit(page, "QueryTable")
    assert page.input_value("input[name='path:id']") == f"{module_space}$points"
    page.get_by_label("example").select_option("vector")
    page.fill("textarea[name=body]", page.input_value("textarea[name=body]").replace("id > 10", "id > 0"))
    answer = send(page, "200")
    assert answer.locator("tbody tr > td:first-child").all_inner_texts() == ["1", "2"]
    assert answer.locator("caption").inner_text() == "2 rows"
    shoot(page, "api-page")

    page.get_by_role("button", name="Copy as curl").click()
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"curl -X POST '{server.url}/v1/table/{module_space}%24points/query'")
    assert server.token not in copied
    kept = page.evaluate("JSON.stringify([localStorage, document.cookie, location.href])")
    assert server.token not in kept
    page.locator("#leave").click()
    page.locator("input[name=token]").wait_for()


def test_parameters_and_lists_are_sent(page, server, db, module_space):
    table = db.create_table("merged", [{"id": 1, "name": "old"}, {"id": 2, "name": "kept"}], namespace_path=[module_space])
    sign_in(page, server.token)
    page.locator("#leave").wait_for()
    visit(page, "MergeInsertIntoTable")
    page.fill("input[name='path:id']", f"{module_space}$merged")
    page.fill("textarea[name='query:on']", "id")
    page.locator("select[name='query:when_matched_update_all']").select_option("true")
    page.locator("select[name='query:when_not_matched_insert_all']").select_option("true")
    page.fill("textarea[name=rows]", '[{"id": 1, "name": "new"}, {"id": 3, "name": null}]')
    merged = json.loads(send(page, "200").locator("pre").inner_text())
    assert (merged["num_updated_rows"], merged["num_inserted_rows"]) == (1, 1)
    table.checkout_latest()
    assert sorted((row["id"], row["name"]) for row in table.search().to_list()) == [(1, "new"), (2, "kept"), (3, None)]

    visit(page, "ListTables")
    page.fill("input[name='path:id']", module_space)
    page.locator("select[name=method]").select_option("GET")
    page.fill("input[name='query:limit']", "1")
    page.get_by_text("Delimiter and headers").click()
    page.fill("input[name='header:x-request-timeout-ms']", "none")
    assert "x-request-timeout-ms" in send(page, "400").locator("pre").inner_text()
    page.fill("input[name='header:x-request-timeout-ms']", "20000")
    assert len(json.loads(send(page, "200").locator("pre").inner_text())["tables"]) == 1


@pytest.mark.embedded("the page is the same in front of functions")
def test_each_operation_has_a_page(page):
    """All parts of all operations open, and none is wider than a phone."""
    names = page.locator(".operations a").all_inner_texts()
    assert len(names) > 100
    page.set_viewport_size({"width": 390, "height": 800})
    for name in names:
        visit(page, name)
        opened = page.evaluate(OPEN_ALL)
        assert opened >= 2, name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
        assert page.get_by_role("button", name="Send", exact=True).count() == 1
    page.get_by_role("button", name="Operations").click()
    page.locator(".operations a", has_text="DropTable").first.click()
    page.get_by_role("heading", level=1, name="DropTable", exact=True).wait_for()
    assert not page.locator("#side").is_visible()


# Opens what is closed, also what opens inside of it, two levels deep.
OPEN_ALL = """async () => {
  let count = 0;
  for (let level = 0; level < 2; level++) {
    const closed = [...document.querySelectorAll("main details:not([open])")];
    for (const one of closed) one.open = true;
    count += closed.length;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  }
  return count;
}"""


@pytest.mark.embedded("the page is the same in front of functions")
def test_the_page_is_dark_where_people_like_it(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert light != dark
    page.get_by_role("button", name="Change between dark and light").click()
    assert page.evaluate(ground) == light


def shoot(page, name: str) -> None:
    """Keeps a picture of the page where they are asked for."""
    if folder := os.environ.get("SCREENSHOTS"):
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")
