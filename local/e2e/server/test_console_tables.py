"""The console in a real browser: weighted searches, downloads, and the pages of versions and health."""

from __future__ import annotations

import base64
import csv
import datetime
import decimal
import json
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet  # noqa: F401
import pytest
from lancedb.index import Bitmap
from playwright.sync_api import expect

from all_types import all_types
from process import binary
from test_console import column, films, ids, movies, page, press, settle, shown, snippet, visit  # noqa: F401


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
    assert '"rerank":{"method":"rrf","weights":{"vector":0.4,"text":1.6}}' in page.locator(".panel pre.snippet").inner_text()
    press(page, "curl")
    subprocess.run(["sh", "-ec", page.locator(".panel pre.snippet").inner_text()], env={**os.environ, "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    with pa.ipc.open_stream((tmp_path / "rows.arrows").read_bytes()) as reader:
        assert reader.read_all()["id"].to_pylist() == want


def download(page, tmp_path, format: str):
    """The path of the file that the page saves."""
    page.locator("summary", has_text="Download").click()
    with page.expect_download() as waited:
        page.get_by_role("button", name=format, exact=True).click()
    file = tmp_path / waited.value.suggested_filename
    waited.value.save_as(file)
    return file


@pytest.fixture(scope="module")
def long(server, module_space) -> pa.Table:
    """The rows of a table that is longer than one batch of an answer, by far."""
    wire, count = server.wire(), 130_000
    rows = pa.table({"n": np.arange(count), "text": [f'row "{i}", of many' for i in range(count)], "raw": [i.to_bytes(4, "big") for i in range(count)]})
    assert wire.upload(f"/v1/table/{module_space}$long/create", rows).status == 200
    wire.close()
    return rows


@pytest.mark.parametrize("format", ["CSV", "JSON lines", "Arrow file", "Parquet"])
@pytest.mark.embedded("a gateway does not carry so large answers")
def test_downloads_hold_any_number_of_rows(page, long, module_space, tmp_path, format):
    visit(page, module_space, "long", q="n >= 10000")
    page.evaluate("() => { window.pieces = []; const made = Blob; window.Blob = class extends made { constructor(...all) { super(...all); window.pieces.push(all[0].length); } }; }")
    file = download(page, tmp_path, format)
    want = long.slice(10_000)
    if format == "Arrow file":
        assert pa.ipc.open_file(file).read_all().equals(want)
    elif format == "Parquet":
        read = pa.parquet.ParquetFile(file)
        assert read.read().equals(want) and [read.metadata.row_group(i).num_rows for i in range(read.num_row_groups)] == [65_536, 120_000 - 65_536]
        return  # it is smaller than a piece
    elif format == "CSV":
        with file.open(newline="") as lines:
            head, *read = csv.reader(lines)
        assert head == ["n", "text", "raw"]
        assert [(int(n), text, base64.b64decode(raw)) for n, text, raw in read] == list(zip(*want.to_pydict().values(), strict=True))
    else:
        read = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["n"] for line in read] == want["n"].to_pylist() and read[-1]["text"] == want["text"][-1].as_py()
    assert page.evaluate("window.pieces.length") > 1  # it was not kept in memory as a whole


@pytest.mark.parametrize("format", ["CSV", "JSON lines", "Parquet"])
@pytest.mark.embedded("the page does not see what serves it")
def test_downloads_come_in_parts_behind_a_gateway(page, long, db, module_space, tmp_path, format):
    """The gateway carries at most 3,000 rows in an answer; rows that are inserted meanwhile are of another version."""
    visit(page, module_space, "long", q="n >= 120000")
    parts = []

    def gateway(route):
        asked = route.request.post_data_json
        if asked.get("k", 10_000) > 3000:
            return route.fulfill(status=413, json={"error": "the answer is too large"})
        parts.append((asked["offset"], asked["k"], asked.get("version")))
        if len(parts) == 2:
            db.open_table("long", namespace_path=[module_space]).add(long.slice(129_000))
        return route.continue_()

    page.route("**/query", gateway)
    file = download(page, tmp_path, format)
    rows = pa.parquet.read_table(file).num_rows if format == "Parquet" else len(file.read_text().splitlines()) - (format == "CSV")
    assert [(offset, k) for offset, k, _ in parts] == [(0, 2500), (2500, 2500), (5000, 2500), (7500, 2500)]
    assert len({version for _, _, version in parts[1:]}) == 1 and rows == 10_000
    db.open_table("long", namespace_path=[module_space]).restore(parts[1][2])
    page.unroute("**/query")
    page.route("**/query", lambda route: route.fulfill(status=413, json={"error": "the answer is too large"}))
    page.locator("summary", has_text="Download").click()
    page.get_by_role("button", name="Arrow file", exact=True).click()
    page.locator("#said", has_text="the answer is too large").wait_for()


def nested() -> dict[str, pa.Array]:
    """Columns of four rows whose nulls and empty lists stand at every level, and of no nulls."""
    deep = pa.list_(pa.struct({"lists": pa.list_(pa.list_(pa.decimal128(9, 2))), "vector": pa.list_(pa.float32(), 2), "in": pa.struct({"text": pa.string()})}))
    amount = decimal.Decimal("-1.25")
    return {
        "deep": pa.array([[], [None, {"lists": None, "vector": [-0.0, 1]}, {"lists": [[], None, [amount, None]], "in": {}}], None, [{"lists": [], "in": {"text": "a"}}]], deep),
        "signs": pa.array([0.0, -0.0, 0.0, -0.0]), "none": pa.array([None] * 4, pa.int16()), "no_lists": pa.array([None] * 4, pa.list_(pa.utf8())),
        "certain": pa.array([1, 2, 3, 2**63 - 1]), "certain_list": pa.array([["a"], [], ["b", None], [""]]), "certain_vector": pa.array([[1, 2]] * 4, pa.list_(pa.float32(), 2)),
    }


def as_pyarrow_writes(rows: pa.Table, tmp_path) -> pa.Table:
    """What is read of a Parquet file that pyarrow has written."""
    pa.parquet.write_table(rows, tmp_path / "peer.parquet")
    return pa.parquet.read_table(tmp_path / "peer.parquet")


@pytest.mark.embedded("the page does not see what serves it")
def test_parquet_files_have_the_types_and_values_that_pyarrow_writes(page, wire, module_space, tmp_path):
    columns = {**dict(zip((every := all_types()).column_names, every.columns, strict=True)), **nested()}
    fields = [pa.field(name, values.type, not name.startswith("certain")) for name, values in columns.items()]
    rows = pa.table(list(columns.values()), schema=pa.schema(fields))
    assert wire.upload(f"/v1/table/{module_space}$typed/create", rows).status == 200
    visit(page, module_space, "typed")
    saved = []
    page.on("download", lambda one: saved.append(one))
    page.locator("summary", has_text="Download").click()
    page.get_by_role("button", name="Parquet", exact=True).click()
    page.locator("#said", has_text="The column duration_s is of type").wait_for()
    assert saved == []

    kept = [name for name in columns if not name.startswith("duration")]
    for query, count in (("id >= 0", 4), ("id > 9", 0)):
        visit(page, module_space, "typed", q=query, hide=",".join(set(columns) - set(kept)))
        read = pa.parquet.read_table(download(page, tmp_path, "Parquet"))
        want = as_pyarrow_writes(wire.post(f"/v1/table/{module_space}$typed/query", {"filter": query, "k": 9, "columns": {"column_names": kept}}).table, tmp_path)
        assert read.num_rows == count and read.schema.equals(want.schema)
        for name in want.column_names:
            assert str(read[name].to_pylist()) == str(want[name].to_pylist()), name  # as texts, NaN is like NaN, and 0 is not like -0


@pytest.mark.embedded("the page does not see what serves it")
def test_a_parquet_file_of_long_values_has_small_row_groups(page, wire, module_space, tmp_path):
    count = 6000
    vectors = np.random.default_rng(3).random((count, 512), np.float32)
    rows = pa.table({"id": np.arange(count), "vector": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 512)})
    assert wire.upload(f"/v1/table/{module_space}$vectors/create", rows).status == 200
    visit(page, module_space, "vectors")
    page.evaluate("() => { window.pieces = []; const made = Blob; window.Blob = class extends made { constructor(...all) { super(...all); window.pieces.push(all[0].length); } }; }")
    read = pa.parquet.ParquetFile(download(page, tmp_path, "Parquet"))
    assert read.read().equals(rows) and read.num_row_groups >= 3
    assert page.evaluate("window.pieces.length") > 2  # it was not kept in memory as a whole


@pytest.mark.embedded("the page does not see what serves it")
def test_a_download_is_cancelled_or_fails_as_a_whole(page, movies, module_space):
    visit(page, module_space)
    saved = []
    page.on("download", lambda one: saved.append(one))
    page.route("**/query", lambda route: None)  # no answer comes
    page.locator("summary", has_text="Download").click()
    page.get_by_role("button", name="CSV", exact=True).click()
    page.get_by_role("button", name="Cancel the download").click()
    page.locator("#said", has_text="The download is cancelled").wait_for()
    page.unroute("**/query")
    for format in ("CSV", "JSON lines", "Parquet"):
        page.evaluate("""() => {
          const before = window.fetch;
          window.fetch = async (...asked) => {
            window.fetch = before;
            const reader = (await before(...asked)).body.getReader();
            return new Response(new ReadableStream({ async pull(control) {
              const { value } = await reader.read();
              control.enqueue(value.subarray(0, 2000));
              control.error(new TypeError("the line is cut"));
            } }));
          };
        }""")
        page.locator("summary", has_text="Download").click()
        page.get_by_role("button", name=format, exact=True).click()
        page.locator("#said", has_text="broke off the answer, and nothing is saved").wait_for()
        page.locator("summary", has_text="Download").wait_for()
    assert saved == []


@pytest.mark.embedded("the page does not see what serves it")
def test_the_command_for_a_download_writes_the_same_rows(page, movies, server, module_space, tmp_path):
    visit(page, module_space, q="title <> 'it''s' AND rating > 5", version=2, hide="poster,vector")
    count = shown(page)
    page.locator("summary", has_text="Download").click()
    command = page.get_by_label("The download as a command").inner_text()
    assert server.token not in command
    (tmp_path / "tiltyard").symlink_to(binary())
    subprocess.run(["sh", "-ec", command], env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TOKEN": server.token}, check=True, cwd=tmp_path, timeout=60)
    got = pa.parquet.read_table(tmp_path / "movies.parquet")
    assert got.num_rows == count and got.column_names == ["id", "title", "genre", "rating", "plot"]
    visit(page, module_space, q="lantern", mode="text")
    page.locator("summary", has_text="Download").click()
    assert page.get_by_label("The download as a command").count() == 0


def instant(time: datetime.datetime) -> str:
    """A time as the address of the page has it."""
    return time.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def listed(page) -> list[str]:
    """The versions of the list, newest first."""
    page.wait_for_timeout(50)
    settle(page)
    return page.locator("tbody td:first-child a").all_inner_texts()


@pytest.mark.embedded("the times of versions in S3 are whole seconds")
def test_versions_are_filtered_by_text_and_time(page, db, wire, module_space):
    table = db.create_table("dated", pa.table({"id": range(40)}), namespace_path=[module_space])
    for i in range(30):
        table.add(pa.table({"id": [100 + i]}))
    table.delete("id = 1")
    table.add(pa.table({"id": [200]}))
    table.tags.create("spring-release", 7)
    answer = wire.post(f"/v1/table/{module_space}$dated/version/list", {"limit": 100}).json
    times = {one["version"]: datetime.datetime.fromtimestamp(one["timestamp_millis"] / 1000).astimezone() for one in answer["versions"]}

    visit(page, module_space, "dated", tab="versions")
    assert listed(page) == [str(version) for version in range(33, 8, -1)]
    form = page.get_by_role("search", name="Filter versions")
    form.get_by_label("Operation").fill("DELETE")
    form.get_by_role("button", name="Filter").click()
    page.wait_for_function("() => location.hash.includes('find=DELETE')")
    assert listed(page) == ["32"]
    form.get_by_label("Operation").fill("release spring")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('find=release')")
    assert listed(page) == ["7"]  # which is not among those that are read first without a filter
    form.get_by_label("Operation").fill("nothing like it")
    form.get_by_role("button", name="Filter").click()
    page.get_by_text("No version is like that.").wait_for()
    page.reload()
    page.get_by_text("No version is like that.").wait_for()
    form.get_by_role("button", name="All versions").click()
    page.wait_for_function("() => !location.hash.includes('find')")
    assert len(listed(page)) == 25

    first, last = min(times.values()), max(times.values())
    day, minute = datetime.timedelta(days=1), "%Y-%m-%dT%H:%M"
    form.get_by_label("From").fill((first - day).strftime(minute))
    form.get_by_label("Until").fill((first - day / 2).strftime(minute))
    form.get_by_role("button", name="Filter").click()
    page.get_by_text("No version is like that.").wait_for()
    form.get_by_label("Until").fill((last + day).strftime(minute))
    form.get_by_role("button", name="Filter").click()
    page.locator("tbody tr").first.wait_for()
    assert len(listed(page)) == 33
    expect(form.get_by_label("Until")).to_have_value((last + day).strftime(minute))
    visit(page, module_space, "dated", tab="versions", **{"from": instant(times[20]), "until": instant(times[24])})
    assert listed(page) == ["24", "23", "22", "21", "20"]
    visit(page, module_space, "dated", tab="versions", until=instant(times[3]))
    assert listed(page) == ["3", "2", "1"]
    visit(page, module_space, "dated", tab="versions", **{"from": instant(last + day)})
    page.get_by_text("No version is like that.").wait_for()


@pytest.mark.embedded("the page does not see what serves it")
def test_the_list_of_versions_is_as_wide_as_the_page(page, db, module_space):
    table = db.create_table("wide", films().slice(0, 100), namespace_path=[module_space])
    table.create_index("genre", config=Bitmap())
    table.wait_for_index(["genre_idx"])
    table.delete("id < 25")
    table.tags.create("spring", 2)
    for width in (1360, 1920):
        page.set_viewport_size({"width": width, "height": 860})
        visit(page, module_space, "wide", tab="versions")
        settle(page)
        list_ = page.locator("#tab-content .scroll").first
        assert list_.evaluate("list => list.scrollWidth - list.clientWidth") <= 0, width


def test_the_health_of_a_branch_is_its_own(page, db, module_space):
    table = db.create_table("forked", films().slice(0, 100), namespace_path=[module_space])
    table.create_index("genre", config=Bitmap())
    table.wait_for_index(["genre_idx"])
    branch = table.branches.create("trial")
    branch.delete("id < 25")
    branch.add(films().slice(100, 40))
    table.delete("id = 99")
    visit(page, module_space, "forked", tab="health")
    health = page.get_by_role("region", name="Health")
    expect(health.get_by_role("row", name="Deleted rows")).to_contain_text("1 of 100")
    expect(page.get_by_role("button", name="Maintain now")).to_be_visible()
    page.select_option("select[name=branch]", "trial")
    page.get_by_text("Health of the branch trial").wait_for()
    settle(page)
    expect(health.get_by_role("row", name="Deleted rows")).to_contain_text("25 of 140")
    expect(health.get_by_role("row", name="Index genre_idx")).to_contain_text("all but 40 rows")
    expect(health.get_by_role("row", name="Small fragments")).to_contain_text("of 2")
    assert page.get_by_role("button", name="Maintain now").count() == 0
    page.get_by_role("link", name="Show its health").click()
    expect(page.get_by_role("button", name="Maintain now")).to_be_visible()
    expect(health.get_by_role("row", name="Deleted rows")).to_contain_text("1 of 100")
