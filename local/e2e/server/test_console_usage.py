"""The page about the usage of tenants: it shows the sums of the table of usage, and tells who sees none why."""

from __future__ import annotations

import datetime
import hashlib
import re
import subprocess

import pyarrow as pa
import pytest

from process import Server
from test_console import ROOT, WAIT, complains, settle, violations
from wire import Wire

COUNTS = ["requests", "refused", "failed", "compute_ms", "received_bytes", "sent_bytes", "read_bytes", "written_bytes", "storage_reads", "storage_writes", "returned_rows", "written_rows", "jobs"]
GIB = 1 << 30


def usage(now: datetime.datetime, stored: bool) -> pa.Table:
    """Some days of two tenants, as the server keeps them: acme reads and bolt writes. Without stored bytes, the table is
    that of an older release."""
    midnight = now.replace(hour=0)
    rows = [
        (now - datetime.timedelta(hours=1), "acme", "query", dict(requests=1200, refused=7, compute_ms=90_000, read_bytes=3 * GIB)),
        (now - datetime.timedelta(hours=2), "acme", "query", dict(requests=300, compute_ms=500, read_bytes=GIB)),
        (now - datetime.timedelta(days=3), "acme", "data", dict(requests=5, written_rows=70)),
        (now - datetime.timedelta(hours=1), "bolt", "data", dict(requests=40, failed=2, written_rows=81_000, jobs=3)),
        (now - datetime.timedelta(days=40), "bolt", "data", dict(requests=1_000_000)),
    ]
    if stored:
        rows += [
            (midnight - datetime.timedelta(days=days), tenant, "storage", dict(stored_bytes=gib * GIB))
            for days, tenant, gib in [(1, "acme", 3), (1, "", 1), (2, "acme", 5), (2, "idle", 2)]
        ]
    return pa.table({
        "hour": pa.array([hour for hour, *_ in rows], pa.timestamp("us", "UTC")),
        "tenant": [tenant for _, tenant, *_ in rows], "namespace": [tenant for _, tenant, *_ in rows], "kind": [kind for *_, kind, _ in rows],
        **{name: pa.array([counts.get(name, 0) for *_, counts in rows], pa.int64()) for name in COUNTS},
        **({"stored_bytes": pa.array([counts.get("stored_bytes") for *_, counts in rows], pa.int64())} if stored else {}),
    })


def make_table(server: Server, now: datetime.datetime, stored: bool = False) -> None:
    wire = Wire(server.url, server.token)
    assert wire.post("/v1/namespace/__system/create", {}).status == 200
    assert wire.upload("/v1/table/__system$usage/create", usage(now, stored)).status == 200


def open_page(browser, server: Server, token: str, **context):
    page = browser.new_context(**{"viewport": {"width": 1360, "height": 860}, **context}).new_page()
    page.set_default_timeout(WAIT)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if complains(message) else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{server.url}/console/")
    page.fill("input[name=token]", token)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Usage", exact=True).click()
    page.get_by_role("heading", name="Usage").wait_for()
    settle(page)
    return page


def table(page, caption: str) -> list[list[str]]:
    """The cells of a table of the page, row by row."""
    settle(page)
    rows = page.get_by_role("region", name=caption, exact=True).locator("tbody tr")
    rows.first.wait_for()
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def choose(page, field: str, text: str) -> None:
    page.locator(f"select[name={field}]").select_option(label=text)
    page.wait_for_timeout(50)
    settle(page)


@pytest.mark.embedded("the page does not see what serves it")
def test_the_page_of_usage_shows_the_sums_of_its_table(browser, tmp_path):
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
    with Server(tmp_path / "root") as server:
        make_table(server, now)
        page = open_page(browser, server, server.token)
        assert table(page, "Tenants") == [
            ["acme", "1,505", "7", "0", "90.5 s", "4.0 GiB", "0 B", "70", "0"],
            ["bolt", "40", "0", "2", "0 ms", "0 B", "0 B", "81,000", "3"],
        ]
        days = table(page, "All tenants together")
        assert days[-1] == [str((now - datetime.timedelta(days=3)).date()), "5", "0", "0", "0 ms", "0 B", "0 B", "70", "0"]
        assert sum(int(day[1].replace(",", "")) for day in days) == 1545
        assert [text for text in page.locator("figure strong").all_inner_texts()] == ["Requests: 1,545", "Compute: 90.5 s", "Read: 4.0 GiB", "Rows written: 81,070"]
        assert page.locator("figure").first.locator("rect").count() == len(days)
        assert page.locator("figure figcaption span").first.inner_text() == str((now - datetime.timedelta(days=6)).date())

        page.get_by_role("link", name="acme", exact=True).click()
        page.get_by_role("button", name="Hours", exact=True).click()
        hours = table(page, "Usage of acme")
        name = (now - datetime.timedelta(hours=1)).strftime("%Y-%m-%d %H:%M")
        assert hours[0] == [name, "1,200", "7", "0", "90 s", "3.0 GiB", "0 B", "0", "0"] and len(hours) == 3
        assert "tenant=acme" in page.url and "by=hour" in page.url
        page.reload()
        assert table(page, "Usage of acme") == hours

        choose(page, "period", "the last 24 hours")
        assert len(table(page, "Usage of acme")) == 2
        choose(page, "tenant", "bolt")
        choose(page, "period", "the last 90 days")
        assert [row[1] for row in table(page, "Usage of bolt")] == ["40", "1,000,000"]
        page.evaluate("location.hash = '#/usage?tenant=nobody'")
        page.get_by_text("The tenant nobody has sent no request in the hours of this period that have ended.").wait_for()
        assert not page.complaints
        page.context.close()


@pytest.mark.embedded("the page does not see what serves it")
def test_the_page_of_usage_shows_what_is_stored(browser, tmp_path):
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
    with Server(tmp_path / "root") as server:
        make_table(server, now, stored=True)
        page = open_page(browser, server, server.token)
        assert [[row[0], row[1], row[-1]] for row in table(page, "Tenants")] == [
            ["acme", "1,505", "5.0 GiB"], ["bolt", "40", "0 B"], ["idle", "0", "2.0 GiB"], ["tables of the root", "0", "1.0 GiB"],
        ]
        days = {row[0]: row for row in table(page, "All tenants together")}
        assert [days[str((now - datetime.timedelta(days=ago)).date())][-1] for ago in (1, 2, 3)] == ["4.0 GiB", "7.0 GiB", "0 B"]
        assert page.locator("figure strong").all_inner_texts()[-1] == "Stored: 4.0 GiB"
        page.get_by_role("link", name="idle", exact=True).click()
        assert [row[1:] for row in table(page, "Usage of idle")] == [["0", "0", "0", "0 ms", "0 B", "0 B", "0", "0", "2.0 GiB"]]
        page.get_by_role("button", name="Hours", exact=True).click()
        page.get_by_text("The tenant idle has sent no request in the hours of this period that have ended.").wait_for()
        assert not page.complaints
        page.context.close()


@pytest.mark.embedded("the page does not see what serves it")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_usage_fits_narrow_screens_and_the_rules_of_axe(browser, tmp_path, scheme):
    script = subprocess.run([ROOT / "scripts/npm.sh", "shared/http/console/source", "node", "-p", "require.resolve('axe-core/axe.min.js')"], capture_output=True, text=True, check=True)
    with Server(tmp_path / "root") as server:
        make_table(server, datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0), stored=True)
        page = open_page(browser, server, server.token, viewport={"width": 390, "height": 780}, color_scheme=scheme, bypass_csp=True)
        page.add_script_tag(path=script.stdout.strip())
        for place in ("#/usage", "#/usage?period=90", "#/usage?tenant=acme&by=hour", "#/usage?tenant=nobody"):
            page.evaluate("hash => { location.hash = hash; }", place)
            page.wait_for_timeout(100)
            settle(page)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, f"{place} is wider than the screen"
            assert violations(page) == [], place
        page.context.close()


@pytest.mark.embedded("the page does not see what serves it")
def test_the_page_tells_how_usage_is_metered(browser, tmp_path):
    with Server(tmp_path / "root") as server:
        page = open_page(browser, server, server.token)
        page.get_by_text("There is no usage yet.", exact=True).wait_for()
        assert page.get_by_text("tiltyard serve --usage on").count() == 1 and page.get_by_text("needs the rights").count() == 0
        assert not page.complaints
        page.context.close()


@pytest.mark.embedded("the files are those of a server")
@pytest.mark.parametrize("given", ["", "DescribeTable", "read"])
def test_the_page_names_the_right_that_a_token_needs(browser, tmp_path, given):
    keys, policies = tmp_path / "keys.txt", tmp_path / "policies.cedar"
    keys.write_text(f"bo {hashlib.sha256(b'bo-key').hexdigest()}\n")
    lines = ['permit (principal == User::"token", action, resource);']
    if given:
        action = f'{"in" if given == "read" else "=="} Action::"{given}"'
        lines.append(f'permit (principal == User::"key:bo", action {action}, resource == Table::"__system$usage");')
    policies.write_text("\n".join(lines) + "\n")
    with Server(tmp_path / "root", settings={"TILTYARD_API_KEYS": str(keys), "TILTYARD_POLICIES": str(policies)}) as server:
        make_table(server, datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0))
        page = open_page(browser, server, "bo-key")
        if given == "read":
            assert [row[0] for row in table(page, "Tenants")] == ["acme", "bolt"]
        else:
            said = "There is no usage yet, or your token may not see it." if given == "" else "Your token may not read the usage of tenants."
            page.get_by_text(said, exact=True).wait_for()
            page.get_by_text(re.compile("needs the rights to DescribeTable and QueryTable on the table __system.usage, by a policy")).wait_for()
            policy = page.get_by_label("The policy", exact=True).inner_text()
            assert re.fullmatch(r'permit \(principal == User::"(key:bo|NAME)", action in Action::"read", resource == Table::"__system\$usage"\);', policy), policy
        assert not page.complaints
        page.context.close()
