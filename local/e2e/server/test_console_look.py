"""The look of ten pages of the console, compared with the pictures in the folder look.

Each pixel of a picture is the average of a cell of 8 by 8 pixels of the page. So colours, sizes and places of things
count, and the edges of letters do not. The pictures are valid for the browser and the fonts with which they were taken.
On machines with others the test is skipped. make look takes the pictures again.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import struct
import zlib

import numpy as np
import pytest
from lancedb.index import FTS

from test_console import WAIT, films, settle, sign_in, visit

LOOK = pathlib.Path(__file__).parent / "look"
FONTS = LOOK / "fonts.json"
WIDTH, HEIGHT, CELL = 1360, 856, 8  # pixels; four more lines are not compared
LEVELS = 10  # by which a channel of a cell may differ, of 255
CELLS = 6  # that may differ more
MEAN = 0.3  # levels by which all cells may differ on average

# What differs from run to run: times, durations, the port, and the version of the server.
FREEZE = """() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode, of = text.parentElement;
    if (of.closest('time')) text.data = '11/29/2026, 9:20:33 AM';
    else if (of.closest('#server')) text.data = '(1.0.0)';
    else if (of.closest('.plan')) text.data = text.data.replace(/^[\\d.,]+$/, '10').replace(/[\\d.,]+ (B|KiB) read/, '10 B read');
    else text.data = text.data.replace(/[\\d.]+ ms/g, '10 ms').replace(/127\\.0\\.0\\.1:\\d+/g, '127.0.0.1:10024');
  }
  for (const bar of document.querySelectorAll('.plan meter')) bar.value = bar.max / 2;
}"""

# The widths of texts in the fonts of the pages.
MEASURE = """() => Object.fromEntries(['span', 'b', 'code'].map((name) => {
  const text = document.createElement(name);
  text.textContent = 'The quick brown fox jumps over 1,234,567,890 lazy dogs ⌕ ◐ ▾ ☰ ✕ ⟳ …';
  text.style.cssText = 'position: absolute; white-space: nowrap';
  document.body.append(text);
  const { width } = text.getBoundingClientRect();
  text.remove();
  return [name, Math.round(width * 10) / 10];
}))"""

# The average colours of the cells of a picture, row by row, as base64.
AVERAGE = """async ([png, cell]) => {
  const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const { width, height } = image, canvas = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
  canvas.drawImage(image, 0, 0);
  const { data } = canvas.getImageData(0, 0, width, height), across = width / cell, sums = new Uint32Array(across * height / cell * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0, to = Math.floor(y / cell) * across * 3; x < width; x++, at += 4) {
      sums[to] += data[at];
      sums[to + 1] += data[at + 1];
      sums[to + 2] += data[at + 2];
      if (x % cell === cell - 1) to += 3;
    }
  }
  return btoa(Array.from(sums, (sum) => String.fromCharCode(Math.round(sum / cell / cell))).join(''));
}"""


def png(pixels: np.ndarray) -> bytes:
    """The file of a picture: height by width by three bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in pixels.astype("u1"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


class Gallery:
    """The pictures that the test takes, and those that are stored."""

    def __init__(self, page, folder: pathlib.Path):
        self.page, self.folder = page, folder
        self.canvas = page.context.browser.new_page()  # in a window of its own: a page in the background draws once a second
        self.taken, self.wrong = [], []

    def pixels(self, picture: bytes, cell: int) -> np.ndarray:
        averages = base64.b64decode(self.canvas.evaluate(AVERAGE, [base64.b64encode(picture).decode(), cell]))
        return np.frombuffer(averages, "u1").astype(int).reshape(HEIGHT // CELL, WIDTH // CELL, 3)

    def compare(self, name: str) -> None:
        """Compares the page with the picture of the name, or stores it as that picture."""
        self.page.mouse.move(0, 0)  # nothing is pointed at
        settle(self.page)
        self.page.evaluate(FREEZE)
        shot = self.page.screenshot(animations="disabled", clip={"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT})
        now, stored = self.pixels(shot, CELL), LOOK / f"{name}.png"
        self.taken.append(name)
        if os.environ.get("LOOK") == "renew":
            stored.write_bytes(png(now))
            return
        differs = np.abs(now - self.pixels(stored.read_bytes(), 1)) if stored.exists() else np.full(now.shape, 255)
        cells = int((differs.max(axis=2) > LEVELS).sum())
        print(f"{name}: {cells} cells, {differs.mean():.3f} levels, at most {differs.max()}")
        if cells > CELLS or differs.mean() > MEAN:
            (self.folder / f"{name}.png").write_bytes(shot)
            drawn = np.clip(255 - 4 * differs, 0, 255).repeat(CELL, axis=0).repeat(CELL, axis=1)
            (self.folder / f"{name}-difference.png").write_bytes(png(drawn))
            self.wrong.append(f"{name}: {cells} cells differ by more than {LEVELS} levels, and all by {differs.mean():.2f} on average")


def make_table(db):
    """A table with versions, a tag, indices and rows that no index covers."""
    db.create_namespace(["library"])
    table = db.create_table("movies", films(), namespace_path=["library"])
    table.delete("id = 3")
    table.update("id = 5", {"rating": 9.9})
    table.tags.create("first", 1)
    table.create_index("plot", config=FTS())
    table.wait_for_index(["plot_idx"])
    table.add(films().slice(0, 20))


@pytest.mark.embedded("the pages are the same, and their look too")
def test_pages_look_as_their_pictures(browser, own_server, tmp_path):
    context = browser.new_context(viewport={"width": WIDTH, "height": 860}, color_scheme="light", locale="en-US", timezone_id="UTC")
    page = context.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{own_server.url}/console/")
    page.locator("input[name=token]").wait_for()
    fonts, renew = {"chromium": browser.version, **page.evaluate(MEASURE)}, os.environ.get("LOOK") == "renew"
    if renew:
        LOOK.mkdir(exist_ok=True)
        FONTS.write_text(json.dumps(fonts) + "\n")
    elif fonts != (of := json.loads(FONTS.read_text())):
        pytest.skip(f"*** the look of the console was NOT compared: the pictures were taken with another browser or other fonts (version and widths {of}, here {fonts}) ***")

    gallery = Gallery(page, tmp_path)
    gallery.compare("sign-in")
    sign_in(page, own_server)
    page.get_by_role("heading", name="The catalog is empty").wait_for()
    gallery.compare("empty")

    make_table(own_server.lancedb())
    page.reload()
    page.get_by_role("treeitem", name="library").wait_for()
    page.locator("main").get_by_role("link", name="movies").first.wait_for()
    gallery.compare("tables")

    def look(name: str, **parameters) -> None:
        visit(page, "library", **parameters)
        if "tab" not in parameters:
            page.locator("#results [role=gridcell]").first.wait_for()
            page.wait_for_timeout(100)
        gallery.compare(name)

    look("rows")
    look("row", row=4)
    look("search", q="lantern harbor like:id=5 where rating > 3")
    look("plan", q="river", panel="plan")
    visit(page, "library", tab="indices")
    page.get_by_text("Create an index").click()
    gallery.compare("indices")
    look("versions", tab="versions")
    look("health", tab="health")
    context.close()
    told = "\n".join(gallery.wrong)
    assert not gallery.wrong, f"{told}\nThe pages and their differences are in {tmp_path}. If they are right, make look takes new pictures."
    assert sorted(path.stem for path in LOOK.glob("*.png")) == sorted(gallery.taken) and len(gallery.taken) == 10
