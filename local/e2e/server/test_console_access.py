"""The page about access gives somebody the right to read a table: its commands are run, and the key reads that table alone."""

from __future__ import annotations

import re
import subprocess

import pyarrow as pa
import pytest

from process import Server
from wire import Wire


def shown(page, label: str) -> str:
    return page.get_by_label(label, exact=True).inner_text()


@pytest.mark.embedded("the files are those of a server")
def test_a_colleague_gets_read_access_to_one_table(browser, tmp_path):
    rows = pa.table({"id": range(3)})
    page = browser.new_context().new_page()
    with Server(tmp_path / "root", token="operator") as server:
        wire = Wire(server.url, server.token)
        assert wire.post("/v1/namespace/shop/create", {}).status == 200
        for name in ("orders", "secrets"):
            assert wire.upload(f"/v1/table/shop${name}/create", rows).status == 200
        page.goto(f"{server.url}/console/")
        page.fill("input[name=token]", server.token)
        page.keyboard.press("Enter")
        page.locator("[role=tree]").wait_for(state="attached")
        page.evaluate("() => { location.hash = '#/table/shop/orders?tab=access'; }")
        page.get_by_text("Give somebody read access").click()
        page.get_by_label("A name for their key").fill("bo")
        page.get_by_role("button", name="Show how").click()
        key = shown(page, "The key")
        for label in ("The line of the key", "The policies"):
            subprocess.run(["sh", "-ec", shown(page, label)], cwd=tmp_path, check=True)
        options = re.fullmatch(r"tiltyard serve (--api-keys) (\S+) (--policies) (\S+)", shown(page, "The server")).groups()
    assert len(key) == 32
    settings = {"TILTYARD_API_KEYS": str(tmp_path / options[1]), "TILTYARD_POLICIES": str(tmp_path / options[3])}
    with Server(tmp_path / "root", token="operator", settings=settings) as server:
        bo = Wire(server.url, key)
        assert bo.post("/v1/table/shop$orders/count_rows", {}).json == 3
        assert bo.upload("/v1/table/shop$orders/insert", rows).status == 403
        assert bo.post("/v1/table/shop$secrets/count_rows", {}).status == 404
        assert bo.post("/v1/namespace/shop/drop", {}).status == 403
        assert Wire(server.url, server.token).upload("/v1/table/shop$orders/insert", rows).status == 200
        page = browser.new_context().new_page()
        page.goto(f"{server.url}/console/")
        page.fill("input[name=token]", key)
        page.keyboard.press("Enter")
        tree = page.locator("[role=tree]")
        tree.get_by_text("shop", exact=True).click()
        tree.get_by_text("orders", exact=True).click()
        page.locator("#results [role=gridcell]").first.wait_for()
        assert tree.get_by_text("secrets", exact=True).count() == 0
