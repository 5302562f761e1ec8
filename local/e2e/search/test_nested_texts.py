"""Texts in structs inside of lists, which searches and indices name by the path of the member, such as parts.t: whoever
built the index, the service finds what native Lance finds, with the same scores, and each keeps the other's indices.
"""

from __future__ import annotations

import datetime
import json
import random

import lance
import lancedb.index
import pyarrow as pa
import pytest
from lance.query import DocumentGranularity, MatchQuery, MultiMatchQuery, PhraseQuery
from test_maintenance import maintain

PARTS = pa.list_(pa.struct([("x", pa.int64()), ("t", pa.string()), ("tags", pa.list_(pa.string()))]))
OUTER = pa.struct([("parts", pa.large_list(pa.struct([("t", pa.string())])))])
MINUTE = datetime.timedelta(minutes=1)
WORDS = [f"word{i}" for i in range(8)]
PATHS = ["parts.t", "parts.tags", "outer.parts.t"]
CLOSE = 1e-5


def rows(seed: int, start: int, count: int) -> pa.Table:
    rng = random.Random(seed)

    def words() -> str | None:
        return None if rng.random() < 0.1 else " ".join(rng.choices(WORDS, k=rng.randrange(6)))

    def part() -> dict | None:
        return None if rng.random() < 0.1 else {"x": rng.randrange(9), "t": words(), "tags": [words() for _ in range(rng.randrange(3))]}

    def listed(make) -> list | None:
        return None if rng.random() < 0.1 else [make() for _ in range(rng.randrange(4))]

    return pa.table({
        "id": pa.array(range(start, start + count), pa.int64()),
        "parts": pa.array([listed(part) for _ in range(count)], PARTS),
        "outer": pa.array([None if rng.random() < 0.1 else {"parts": listed(lambda: {"t": words()})} for _ in range(count)], OUTER),
        "s": pa.array([words() for _ in range(count)]),
    })  # fmt: skip


def pairs() -> list[tuple[dict, object]]:
    """Queries as the service and as native Lance take them."""
    found = []
    for path in PATHS:
        for terms in ("word3", "word1 word7"):
            found.append(({"match": {"column": path, "terms": terms}}, MatchQuery(terms, path)))
        found.append(({"phrase": {"column": path, "terms": "word2 word5"}}, PhraseQuery("word2 word5", path)))
    both = {"query": "word4", "columns": ["parts.t", "s"]}
    return [*found, ({"multi_match": both}, MultiMatchQuery("word4", ["parts.t", "s"]))]


def agree(wire, name: str, native: lance.LanceDataset) -> None:
    for ours, theirs in pairs():
        want = native.to_table(columns=["id", "_score"], full_text_query=theirs).to_pylist()
        asked = {"vector": [], "k": 10_000, "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}}
        answer = wire.post(f"/v1/table/{name}/query", asked)
        assert answer.status == 200, f"{ours}: {answer.body}"
        left, right = ({r["id"]: r["_score"] for r in found} for found in (answer.table.to_pylist(), want))
        assert left.keys() == right.keys() and len(left) > 3, f"{ours}: {sorted(left)}, want {sorted(right)}"
        wrong = {i: (left[i], right[i]) for i in left if abs(left[i] - right[i]) > CLOSE}
        assert not wrong, f"{ours}: {len(wrong)} of {len(left)} scores: {list(wrong.items())[:3]}"


def indexed(wire, name: str) -> dict[str, tuple[int, int]]:
    found = wire.post(f"/v1/table/{name}/index/list", {}).json["indexes"]
    return {x["columns"][0]: (x["num_indexed_rows"], x["num_unindexed_rows"]) for x in found}


@pytest.mark.parametrize("builder", ["native", "service"])
@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable ids"])
@pytest.mark.embedded("scores are the same wherever the engine runs")
def test_found_rows_and_scores_are_the_peers(stable, builder, server, outside, space, db):
    place, name = outside / f"nested-{space}.lance", f"{space}$t"
    native = lance.write_dataset(rows(1, 0, 300), place, max_rows_per_file=130, enable_stable_row_ids=stable, data_storage_version="2.2")
    wire = server.wire()
    assert wire.post(f"/v1/table/{name}/register", {"location": str(place)}).status == 200
    table = db.open_table("t", namespace_path=[space])
    for path in [*PATHS, "s"]:
        if builder == "native":
            native.create_scalar_index(path, "INVERTED", with_position=True)
        else:
            table.create_index(path, config=lancedb.index.FTS(with_position=True), wait_timeout=MINUTE)
    fields = [x["fields"] for x in lance.dataset(place).list_indices()]
    assert sorted(map(tuple, fields)) == [("outer.parts.item.t",), ("parts.item.t",), ("parts.item.tags",), ("s",)]

    def merge(at):
        return at.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()

    for step, happens in [
        ("plain", lambda: None),
        ("native deletes", lambda: lance.dataset(place).delete("id % 7 = 3")),
        ("we append", lambda: table.add(rows(2, 1_000, 40))),
        ("we merge", lambda: merge(table).execute(rows(3, 20, 30))),
        ("we update another column", lambda: table.update(where="id % 5 = 1", values={"s": "word4"})),
        ("we fold in", lambda: maintain(wire, name, indices=True)),
        ("native appends", lambda: lance.dataset(place).insert(rows(4, 2_000, 40))),
        ("native merges", lambda: merge(lance.dataset(place)).execute(rows(5, 200, 30))),
        ("native optimizes", lambda: lance.dataset(place).optimize.optimize_indices()),
        ("we compact", lambda: maintain(wire, name, compact=True)),
        ("native compacts", lambda: lance.dataset(place).optimize.compact_files()),
        ("native optimizes again", lambda: lance.dataset(place).optimize.optimize_indices()),
    ]:  # fmt: skip
        happens()
        try:
            agree(wire, name, lance.dataset(place))
        except AssertionError as error:
            raise AssertionError(f"{step}: {error}") from error
    assert all(left == 0 for _, left in indexed(wire, name).values()), indexed(wire, name)
    plan = wire.post(f"/v1/table/{name}/explain_plan", {"query": {"vector": [], "k": 9, "full_text_query": {"structured_query": {"query": pairs()[0][0]}}}})
    assert "indices=[parts.t_idx]" in json.dumps(plan.json), plan.json
    wire.close()


@pytest.mark.embedded("registers a table of native Lance")
def test_words_without_columns_and_elements_as_documents(wire, outside, space, db):
    place, name = outside / f"elements-{space}.lance", f"{space}$t"
    lance.write_dataset(rows(7, 0, 200), place)
    assert wire.post(f"/v1/table/{name}/register", {"location": str(place)}).status == 200
    table = db.open_table("t", namespace_path=[space])
    table.create_index("parts.t", config=lancedb.index.FTS(), wait_timeout=MINUTE)
    native = lance.dataset(place)
    want = native.to_table(columns=["id"], full_text_query="word3")["id"].to_pylist()
    for text in ({"query": "word3"}, {"query": "word3", "columns": ["parts.t"]}):  # the first is for the indexed columns
        answer = wire.post(f"/v1/table/{name}/query", {"vector": [], "k": 999, "columns": ["id"], "full_text_query": {"string_query": text}})
        assert sorted(answer.table["id"].to_pylist()) == sorted(want) and want
    config = lancedb.index.FTS(document_granularity=lancedb.index.DocumentGranularity.LIST_ELEMENT)
    table.create_index("outer.parts.t", config=config, name="elements", wait_timeout=MINUTE)
    query = MatchQuery("word3", "outer.parts.t", document_granularity=DocumentGranularity.LIST_ELEMENT)
    want = lance.dataset(place).to_table(columns=["id", "_score"], full_text_query=query)
    ours = {"match": {"column": "outer.parts.t", "terms": "word3", "document_granularity": "list_element"}}
    for indexed in (True, False):
        answer = wire.post(f"/v1/table/{name}/query", {"vector": [], "k": 999, "columns": ["id"], "full_text_query": {"structured_query": {"query": ours}}})
        got, want_rows = ([(r["id"], tuple(r["_doc_index"]), round(r["_score"], 4)) for r in t.to_pylist()] for t in (answer.table, want))
        assert sorted(got) == sorted(want_rows) and len(got) > 20, f"by an index: {indexed}"
        if indexed:
            table.drop_index("elements")
            want = lance.dataset(place).to_table(columns=["id", "_score"], full_text_query=query)


@pytest.mark.embedded("registers a table of native Lance")
def test_what_cannot_be_searched_is_refused(wire, outside, space):
    table = f"/v1/table/{space}$t"
    lance.write_dataset(rows(8, 0, 20), outside / f"refused-{space}.lance")
    assert wire.post(f"{table}/register", {"location": str(outside / f"refused-{space}.lance")}).status == 200
    nested = {"document_granularity": "list_element"}
    for path, kind, more, status, said in [
        ("parts.u", "FTS", {}, 404, "parts.u"),
        ("parts.t.u", "FTS", {}, 404, "parts.t.u"),
        ("parts.item.t", "FTS", {}, 404, "parts.item.t"),
        ("parts", "FTS", {}, 400, "texts in the structs of lists"),
        ("parts.x", "FTS", {}, 400, "texts in the structs of lists"),
        ("parts.tags", "FTS", nested, 501, "lists in lists"),
        ("parts.x", "BTREE", {}, 501, "inside of the list"),
    ]:
        answer = wire.post(f"{table}/create_index", {"column": path, "index_type": kind} | more)
        assert answer.status == status and said in json.dumps(answer.json), f"{path}: {answer.status} {answer.body}"
        if kind == "FTS":
            match = {"match": {"column": path, "terms": "word1"} | more}
            answer = wire.post(f"{table}/query", {"vector": [], "k": 9, "full_text_query": {"structured_query": {"query": match}}})
            assert answer.status == status, f"{path}: {answer.status} {answer.body}"
