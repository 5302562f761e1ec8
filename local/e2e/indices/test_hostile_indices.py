"""Files of indices that are damaged at random, and entries of indices in a manifest: the server answers as it
does without the index, and logs a warning.

The files of an index have no checksums. Where a changed byte leaves a file that can be read, an index may
find other rows than it did; the server has to answer all the same, soon, and without more memory. Where a
file is cut, empty, gone or another's, the answer has to be the right one.

E2E_DAMAGES is how often each file is changed, and --seed the first seed:

    E2E_DAMAGES=200 make test-e2e ARGS='-k hostile_indices --seed 7'
"""

from __future__ import annotations

import os
import pathlib
import random
import secrets
import shutil
import time

import lance
import numpy as np
import pyarrow as pa
import pytest
from lance.indices import IndexConfig
from lance.query import DocumentGranularity

import protobuf

DAMAGES = int(os.environ.get("E2E_DAMAGES", 8))
SECONDS = 20  # that a request may take
GROWTH = 32 << 20  # bytes by which the server may grow for each copy, of which its cache keeps parts
ROWS, DIMENSIONS = 40_000, 16  # so many that filters use indices
NEAR = 1_200  # rows with vectors, which searches always find by an index

FILTERS = {
    "tree": ("BTREE", {}, "tree = 77.5"),
    "map": ("BITMAP", {}, "map = 77.5 AND spread >= 0"),
    "zone": ("ZONEMAP", {}, "zone = 77.5"),
    "bloom": ("BLOOMFILTER", {}, "bloom = 77.5"),
    "labels": ("LABEL_LIST", {}, "array_has(labels, 'l155')"),
    "grams": ("NGRAM", {}, "contains(grams, 'w0155')"),
    "texts": (IndexConfig(index_type="fm", parameters={}), {}, "contains(texts, 'w0155')"),
    "words": ("INVERTED", {"stem": False, "max_token_length": None}, "contains_tokens(words, 'w0155')"),
}
TEXTS = {
    "plain": {},
    "positions": {"with_position": True},
    "blocks": {"with_position": True, "block_size": 256},
    "first": {"with_position": True, "format_version": 1},
    "elements": {"document_granularity": DocumentGranularity.LIST_ELEMENT},  # of lists, each a document
}
GRAPH = {"m": 8, "ef_construction": 60}
VECTORS = {
    "lists": ("IVF_FLAT", {}),
    "sq": ("IVF_SQ", {}),
    "pq": ("IVF_PQ", {"num_sub_vectors": 4}),
    "rq": ("IVF_RQ", {}),
    "graph_flat": ("IVF_HNSW_FLAT", GRAPH),
    "graph_sq": ("IVF_HNSW_SQ", GRAPH),
    "graph_pq": ("IVF_HNSW_PQ", {**GRAPH, "num_sub_vectors": 4}),
}


def resident(pid: int) -> int:
    """Returns the bytes of memory that a process has."""
    pages = int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


class Indexed:
    """A table with one index of each of some kinds, and its copies in which one of them is damaged."""

    def __init__(self, place: pathlib.Path, wire, space: str, process):
        self.place, self.wire, self.space, self.process, self.copies = place, wire, space, process, 0
        self.answers = {}  # of the whole table, by the index that finds them

    @property
    def native(self) -> lance.LanceDataset:
        return lance.dataset(self.place)

    def files(self, index: str) -> list[pathlib.Path]:
        (uuid,) = (x["uuid"] for x in self.native.list_indices() if x["name"] == index)
        return sorted((self.place / "_indices" / uuid).iterdir())

    def damaged(self, file: pathlib.Path, data: bytes | None) -> tuple[str, pathlib.Path]:
        """Registers a copy, in which a file has other bytes or is not there."""
        self.copies += 1
        name = f"{self.place.stem.replace('-', '_')}_{self.copies}"
        place = self.place.parent / f"{name}.lance"
        shutil.copytree(self.place, place, copy_function=os.link)
        twin = place / file.relative_to(self.place)
        twin.unlink()
        if data is not None:
            twin.write_bytes(data)
        path = f"/v1/table/{self.space}${name}"
        assert self.wire.post(f"{path}/register", {"location": str(place)}).status == 200
        return path, place

    def ask(self, path: str, query: dict, told: str) -> list[int]:
        began = time.monotonic()
        answer = self.wire.post(f"{path}/query", query)
        assert answer.status == 200, f"{told}: {answer.status}: {answer.body[:500]}"
        assert time.monotonic() - began < SECONDS, told
        return answer.table["id"].to_pylist()

    def check(self, index: str, query: dict, file: pathlib.Path, data: bytes | None, told: str, sure: bool) -> bool:
        """Asks a damaged copy, and reports whether the answer is the right one, which it has to be if sure."""
        right = self.answers.setdefault(index, self.ask(f"/v1/table/{self.space}${self.place.stem}", query, index))
        logged = len(self.process.log())
        path, place = self.damaged(file, data)
        try:
            got = self.ask(path, query, told)
            if sure:
                plan = self.wire.post(f"{path}/analyze_plan", query)
                assert plan.status == 200, f"{told}: {plan.body[:500]}"
                log = self.process.log()[logged:].decode()
                warned = "an index is not used" in log and "index_not_used=" in plan.json
                scanned = self.scanned(query, right)
                assert got in (right, scanned), f"{told}: got {got[:20]}, want {right[:20]} or {scanned[:20]}"
                assert warned or got == right, f"{told}: no warning\n{plan.json}\n{log}"
            return got == right
        finally:
            assert self.wire.post(f"{path}/deregister", {}).status == 200
            shutil.rmtree(place)

    def scanned(self, query: dict, right: list[int]) -> list[int]:
        """The answer of a scan, which finds the nearest vectors. Filters and words find what indices do."""
        if not query["vector"]:
            return right
        return self.ask(f"/v1/table/{self.space}${self.place.stem}", query | {"bypass_vector_index": True}, "a scan")


def filtered(place: pathlib.Path, stable: bool) -> None:
    ids = np.arange(ROWS)
    columns = {"id": pa.array(ids), "spread": pa.array(np.random.default_rng(1).integers(0, 2**60, ROWS))}
    for name in ("tree", "map", "zone", "bloom"):
        columns[name] = pa.array(ids // 20 / 2, mask=ids % 50 == 7)
    columns["labels"] = pa.array([[f"l{i // 20}", f"m{i % 7}"] if i % 50 != 7 else None for i in ids])
    for name in ("grams", "texts", "words"):
        columns[name] = pa.array([f"some w{i // 20:04} x y{i % 9}" if i % 50 != 7 else None for i in ids])
    native = lance.write_dataset(pa.table(columns), place, max_rows_per_file=15_000, enable_stable_row_ids=stable)
    for column, (kind, options, _) in FILTERS.items():
        native.create_scalar_index(column, kind, **options)


def searched(place: pathlib.Path, stable: bool) -> None:
    chance, ids = np.random.default_rng(2), np.arange(NEAR)
    columns = {"id": pa.array(ids)}
    for name in TEXTS:
        columns[name] = pa.array([" ".join(f"word{min(int(x), 99)}" for x in chance.exponential(9, 12)) for _ in ids])
    texts = columns["elements"].to_pylist()
    columns["elements"] = pa.array([[text[:40], text[40:], None][: 1 + i % 3] for i, text in enumerate(texts)])
    values = chance.normal(size=(NEAR, DIMENSIONS)).astype(np.float32)
    for name in VECTORS:
        columns[name] = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), DIMENSIONS)
    native = lance.write_dataset(pa.table(columns), place, max_rows_per_file=500, enable_stable_row_ids=stable)
    for name, options in TEXTS.items():
        native.create_scalar_index(name, "INVERTED", name=f"{name}_idx", **options)
    for name, (kind, options) in VECTORS.items():
        native.create_index(name, kind, num_partitions=3, **options)


@pytest.fixture(scope="module", params=[False, True], ids=["addresses", "stable ids"])
def indexed(request, server, outside, module_space):
    if server.process is None:
        pytest.skip("reads the log of the server, and changes files")
    wire, made = server.wire(), {}
    for make in (filtered, searched):
        place = outside / f"{module_space}-{make.__name__}-{secrets.token_hex(4)}.lance"
        make(place, request.param)
        assert wire.post(f"/v1/table/{module_space}${place.stem}/register", {"location": str(place)}).status == 200
        made[make] = Indexed(place, wire, module_space, server.process)
    yield {**dict.fromkeys(FILTERS, made[filtered]), **dict.fromkeys([*TEXTS, *VECTORS], made[searched])}
    wire.close()


def query_of(column: str) -> dict:
    if column in FILTERS:
        return {"vector": [], "k": ROWS, "columns": ["id"], "filter": FILTERS[column][2]}
    if column in TEXTS:
        text = {"string_query": {"query": "word7 word31", "columns": [column]}}
        if column == "elements":
            match = {"column": column, "terms": "word7 word31", "document_granularity": "list_element"}
            text = {"structured_query": {"query": {"match": match}}}
        return {"vector": [], "k": 3 * NEAR, "columns": ["id"], "full_text_query": text}
    return {"vector": {"single_vector": [0.1] * DIMENSIONS}, "vector_column": column, "k": 10, "columns": ["id"], "nprobes": 2}


COLUMNS = [*FILTERS, *TEXTS, *VECTORS]


@pytest.mark.many
@pytest.mark.embedded("changes files of tables")
@pytest.mark.parametrize("column", COLUMNS)
def test_files_that_are_cut_or_gone(column, indexed, request):
    table, query = indexed[column], query_of(column)
    chance = random.Random(request.config.getoption("--seed"))
    files = table.files(f"{column}_idx")
    for file in files:
        whole = file.read_bytes()
        others = [f.read_bytes() for f in files if f != file] or [b"\0" * len(whole)]
        damages = {
            "gone": None,
            "empty": b"",
            "zeros": b"\0" * len(whole),
            "another": others[0],
            "without its footer": whole[:-40] + b"\0" * 40,
            "with more": whole + b"more",
        }
        for n in [1, len(whole) // 2, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(2))]:
            damages[f"cut at {n}"] = whole[:n]
        for name, data in damages.items():
            table.check(f"{column}_idx", query, file, data, f"{column}, {file.name} {name}", sure=True)


@pytest.mark.many
@pytest.mark.embedded("changes files of tables")
@pytest.mark.parametrize("column", COLUMNS)
def test_files_with_other_bytes(column, indexed, request):
    """Not every answer can be right; the footer and the metadata, which are at the end, are changed often."""
    table, query = indexed[column], query_of(column)
    seed = request.config.getoption("--seed")
    before = resident(table.process.pid)
    for file in table.files(f"{column}_idx"):
        whole = file.read_bytes()
        for i in range(DAMAGES):
            chance = random.Random(f"{seed} {column} {file.name} {i}")
            data = mutated(chance, whole)
            table.check(f"{column}_idx", query, file, data, f"{column}, {file.name}, change {i} of seed {seed}", sure=False)
    assert resident(table.process.pid) - before < GROWTH * DAMAGES * len(table.files(f"{column}_idx"))


def mutated(chance: random.Random, whole: bytes) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.choice([1, 1, 2, 8])):
        at = chance.choice([chance.randrange(len(data)), max(0, len(data) - 1 - int(chance.expovariate(1 / 300)))])
        match chance.randrange(5):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + 4] = chance.randbytes(4)
            case 2:
                data[at : at + 8] = chance.choice([b"\xff" * 8, b"\0" * 8, b"\xff" * 7 + b"\x7f"])
            case 3:
                data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 4:
                digit = next((i for i in range(at, len(data)) if 0x30 <= data[i] <= 0x39), at)  # of a number in JSON
                data[digit] = chance.choice(b"0999-")
    return bytes(data)


@pytest.mark.many
@pytest.mark.embedded("changes files of tables")
@pytest.mark.parametrize("column", COLUMNS)
def test_entries_with_other_bytes(column, indexed, request):
    """What the manifest has of an index: the files, their sizes, the fragments that it covers, its version,
    and the details of its kind."""
    table, query = indexed[column], query_of(column)
    seed = request.config.getoption("--seed")
    manifest = max((table.place / "_versions").glob("*.manifest"), key=lambda f: f.stat().st_mtime_ns)
    whole = manifest.read_bytes()
    entry = protobuf.index_entry(whole, f"{column}_idx")
    parts = {"fragment_bitmap": entry[5], "index_version": entry.get(7, [])}
    for field, name in ((6, "index_details"), (10, "files")):
        for span in entry[field]:
            for number, values in protobuf.spans(whole, *span).items():
                parts.setdefault(f"{name} {number}", []).extend(values)
    for part, values in parts.items():
        for i in range(DAMAGES):
            chance = random.Random(f"{seed} {column} {part} {i}")
            start, end = chance.choice(values or [(0, 0)])
            if start == end:
                continue
            data, at = bytearray(whole), chance.randrange(start, end)
            free = 0x7F if end - start < 6 else 0xFF  # a number stays as long as it is
            data[at] = data[at] & ~free | (chance.choice([data[at] ^ 1 << chance.randrange(8), 0, 0xFF, chance.randrange(256)]) & free)
            table.check(f"{column}_idx", query, manifest, bytes(data), f"{column}, {part}, change {i} of seed {seed}", sure=False)
